"""Many switches at once: all side by side, each its own result, and nothing of a process that was killed."""

import multiprocessing
import os
import signal

import pytest

from tagloom.adapters.worker_pool import AT_ONCE, run_parallel
from waiting import until

NAMES = [f"s{number}" for number in range(AT_ONCE)]


def test_everybody_is_at_work_at_the_same_time():
    everybody = multiprocessing.get_context("fork").Barrier(len(NAMES))

    def prepare(name):
        return lambda _released: (everybody.wait(30), name.upper())[1]

    assert run_parallel(prepare, NAMES) == {name: name.upper() for name in NAMES}


def test_more_than_may_be_at_work_at_once_and_none_at_all():
    names = [f"s{number}" for number in range(3 * AT_ONCE)]
    assert run_parallel(lambda name: lambda _released: len(name), names) == {name: len(name) for name in names}
    assert run_parallel(lambda name: lambda _released: name, []) == {}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="with one processor, one process does all the work")
def test_what_was_done_by_a_process_that_was_killed_is_missing():
    def prepare(name):
        return lambda _released: os.kill(os.getpid(), signal.SIGKILL) if name == "s1" else os.getpid()

    done = run_parallel(prepare, NAMES)
    assert 0 < len(done) < len(NAMES)
    assert "s1" not in done
    assert os.getpid() not in done.values()


@pytest.mark.parametrize("word", [True, False])
def test_everybody_waits_for_the_word_and_hears_it(word):
    everybody = multiprocessing.get_context("fork").Barrier(len(NAMES) + 1)
    heard = multiprocessing.get_context("fork").Value("i", 0)

    def prepare(_name):
        def work(released):
            everybody.wait(30)
            said = released()
            with heard:
                heard.value += 1
            return said

        return work

    def release():
        everybody.wait(30)  # they have all begun before the word is given
        assert heard.value == 0
        return word

    assert run_parallel(prepare, NAMES, release) == dict.fromkeys(NAMES, word)


def test_nobody_waits_for_the_word_of_one_who_was_killed(tmp_path):
    """As a worker of Ansible's may be, which leaves its crews behind."""
    caller = os.fork()
    if not caller:
        os.setsid()

        def prepare(name):
            return lambda released: (tmp_path / name).write_text(str(released()))

        run_parallel(prepare, NAMES, lambda: os.kill(os.getpid(), signal.SIGKILL))
    os.waitpid(caller, 0)
    until(lambda: [path.read_text() for path in tmp_path.iterdir()] == ["False"] * len(NAMES))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(NAMES, "False")


@pytest.mark.parametrize("count", [3, 3 * AT_ONCE])
@pytest.mark.parametrize("good", [True, False])
def test_all_agree_or_hear_that_one_does_not_however_many_they_are(count, good):
    names = [f"s{number}" for number in range(count)]
    told = multiprocessing.get_context("fork").Value("i", 0)

    def prepare(name):
        def work(turn):
            if name == "s2":  # one that ends stands in nobody's way
                return True
            with told:
                told.value += 1
            agreed = turn.agree(good or name != "s1")
            return agreed is good and told.value == count - 1

        return work

    assert run_parallel(prepare, names) == dict.fromkeys(names, True)


def test_nobody_agrees_with_one_who_was_killed(tmp_path):
    caller = os.fork()
    if not caller:
        os.setsid()
        asker = os.getpid()

        def prepare(name):
            def work(turn):
                if name == "s1":
                    os.kill(asker, signal.SIGKILL)
                try:
                    said = str(turn.agree(True))
                except InterruptedError as error:
                    said = str(error)
                (tmp_path / f".{name}").write_text(said)
                (tmp_path / f".{name}").rename(tmp_path / name)

            return work

        run_parallel(prepare, ["s0", "s1", "s2"])
    os.waitpid(caller, 0)
    until(lambda: len(list(tmp_path.glob("s*"))) == 3)
    said = {path.name: path.read_text() for path in tmp_path.glob("s*")}
    assert said == dict.fromkeys(["s0", "s1", "s2"], "the process that asks all switches of the wave is gone")
