"""Who may work on a fabric, and on a switch whichever inventory names it; locks without a switch."""

import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tagloom.apply import lock, switch_locks
from tagloom.apply.lock import FabricLock, Holder, alive, held, holder, operator
from tagloom.apply.switch_locks import NAME, SwitchLocks
from tagloom.errors import InputError, PlanError
from waiting import until

ADDRESS = ("192.0.2.1", 22)
HOLD = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs/lock"


@pytest.fixture
def other(path):
    """Let another process hold the lock; yield it, and end it by closing its standard input."""
    path.parent.mkdir()
    words = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.stdin.close()


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(lock, "_POLL_SECONDS", 0.001)


def dead():
    """Return the number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def write_holder(path, **changes):
    """Write who holds the lock, as that command does."""
    words = {"user": "anna", "host": socket.gethostname(), "pid": os.getpid(), "since": "noon", "command": "apply"}
    path.with_suffix(".holder").write_text(json.dumps(words | {"directory": "/runs"} | changes))


def test_a_lock_names_its_holder_while_it_is_held(path):
    assert not held(path)
    with FabricLock(path, "apply b", print) as taken:
        assert held(path)
        who = holder(path)
        assert (who.command, who.pid, who.host) == ("apply b", os.getpid(), socket.gethostname())
        assert who.directory == str(path.parent)
        assert f"{who.user}@{who.host}" == operator() == taken.operator
        assert str(who) == f"{who.user} on {who.host}, process {who.pid}, since {who.since}: apply b"
        assert path.with_suffix(".holder").stat().st_mode & 0o777 == 0o600
        taken.announce(path.parent / "1-push")
        assert holder(path).directory == str(path.parent / "1-push")
    assert not held(path)
    assert holder(path) is None
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert taken.taken_over is None
    assert taken.descriptor == -1


def test_a_lock_that_is_released_twice_is_released_and_frees_no_other_file(path):
    taken = FabricLock(path, "apply", print)
    taken.__exit__()  # never taken
    with taken:
        pass
    first = os.open(os.devnull, os.O_RDONLY)  # takes the number of the descriptor
    taken.__exit__()
    os.close(first)


def test_a_request_to_stop_that_an_older_command_left_is_removed(path):
    path.parent.mkdir()
    for name in ("stop", "stop-now"):
        path.with_name(name).touch()
    with FabricLock(path, "apply", print):
        assert not any(path.with_name(name).exists() for name in ("stop", "stop-now"))


@pytest.mark.usefixtures("quick")
def test_a_lock_that_somebody_holds_is_refused_with_his_name(path, other):
    write_holder(path, pid=other.pid)
    with pytest.raises(PlanError, match=f"held by anna on .*, process {other.pid}, since noon: apply"):
        FabricLock(path, "apply", print).__enter__()
    write_holder(path, host="elsewhere", pid=dead())  # a process there may well live
    with pytest.raises(PlanError, match="held by anna on elsewhere"):
        FabricLock(path, "apply", print).__enter__()
    assert holder(path).host == "elsewhere"  # another's name is left
    path.with_suffix(".holder").unlink()
    with pytest.raises(PlanError, match="held by another command that has just begun"):
        FabricLock(path, "apply", print).__enter__()


def test_a_holder_that_has_not_said_its_name_yet_is_given_a_moment(path, other, monkeypatch):
    """Somebody who only looks whether the lock is held has it for an instant."""
    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 4:
            other.stdin.close()
            other.wait()

    monkeypatch.setattr(lock.time, "sleep", wait)
    with FabricLock(path, "apply", print):
        assert waits == [0.2] * 4
    assert held(path) is False


@pytest.mark.usefixtures("quick")
def test_what_a_dead_command_left_on_the_switches_is_waited_for_and_taken_over(path, other):
    gone = dead()
    write_holder(path, pid=gone)
    said = []

    def say(text):
        said.append(text)
        if len(said) == 1:
            other.stdin.close()  # what it had begun is over

    with FabricLock(path, "apply", say) as taken:
        assert taken.taken_over.pid == gone
        assert holder(path).pid == os.getpid()
    assert [text.split()[0] for text in said] == ["waiting", "lock"]
    assert f"process {gone}, which died" in said[0]
    assert said[1].endswith(f"taken over from a command that died: {taken.taken_over}")


def test_a_lock_that_cannot_be_made_is_said_and_leaves_nothing_open(tmp_path, descriptors):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a lock that can be taken, actual File exists"):
        FabricLock(tmp_path / "file/lock", "apply", print).__enter__()
    (tmp_path / "lock.holder").mkdir()  # the name cannot be written
    taken = FabricLock(tmp_path / "lock", "apply", print)
    with pytest.raises(InputError):
        taken.__enter__()
    assert taken.descriptor == -1
    assert descriptors(tmp_path) == 0


@pytest.mark.parametrize("text", ["", "[]", "{", '{"user": 1}'])
def test_a_damaged_name_is_none(path, text):
    path.parent.mkdir()
    path.with_suffix(".holder").write_text(text)
    assert holder(path) is None


def test_another_commands_name_is_not_removed(path):
    with FabricLock(path, "apply", print):
        write_holder(path, host="elsewhere")
    assert holder(path).host == "elsewhere"
    with FabricLock(path, "apply", print):
        write_holder(path, pid=1)
    assert holder(path) == Holder("anna", socket.gethostname(), 1, "noon", "apply", "/runs")


def test_processes_live_until_they_end_and_a_zombie_does_not():
    assert alive(os.getpid())
    assert alive(1)  # of another user, or our own
    assert not alive(dead())
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not alive(process.pid)


def test_a_process_of_another_user_lives(monkeypatch):
    def denied(_pid, _signal):
        raise PermissionError

    monkeypatch.setattr(lock.os, "kill", denied)
    assert alive(1)


# Locks on switches.


@pytest.fixture
def places(tmp_path):
    """Two directories that all users share."""
    made = (tmp_path / "a", tmp_path / "b")
    for each in made:
        each.mkdir()
    return made


def test_a_switch_is_locked_by_its_address_whatever_its_name(places):
    first, second = SwitchLocks(places), SwitchLocks(places)
    first.take({"s0": ADDRESS, "s1": ("192.0.2.2", 22)})
    with pytest.raises(PlanError) as raised:
        second.take({"other": ("192.0.2.3", 22), "edge": ADDRESS})
    assert "edge (192.0.2.1:22) is held by process " in str(raised.value)
    assert second.descriptors == ()
    second.take({"other": ("192.0.2.3", 22), "same host": ("192.0.2.1", 2222)})
    first.take({"s0": ADDRESS, "s2": ("192.0.2.4", 22)})  # again, and one more
    assert len(first.descriptors) == len(second.descriptors) == 2
    first.release()
    second.take({"edge": ADDRESS})
    for each in (first, second):
        each.release()
        assert each.descriptors == ()


def test_the_holder_of_a_switch_is_named(places):
    with subprocess.Popen(["sleep", "60"]) as sleeper:  # some process with a smaller or a larger number
        taken = SwitchLocks(places[:1])
        taken.take({"s0": ADDRESS})
        with pytest.raises(PlanError) as raised:
            SwitchLocks(places).take({"s0": ADDRESS})
        words = Path("/proc/self/cmdline").read_bytes().decode().split("\0")
        assert f"is held by process {os.getpid()}: {' '.join(words).strip()}" in str(raised.value)
        taken.release()
        sleeper.kill()


def test_a_holder_that_cannot_be_seen_is_anothers(places):
    file = os.open(places[0] / NAME, os.O_RDWR | os.O_CREAT)
    assert switch_locks._holder(file, 5) == "a process of another user"
    os.close(file)


def test_one_place_that_all_can_write_to_is_enough_and_without_any_nothing_is_locked(places, tmp_path):
    locks = SwitchLocks((tmp_path / "none", places[1]))
    locks.take({"s0": ADDRESS})
    assert len(locks.descriptors) == 1
    locks.release()
    with pytest.raises(InputError) as raised:
        SwitchLocks((tmp_path / "none", tmp_path / "neither")).take({"s0": ADDRESS})
    assert f"in {tmp_path}/none or {tmp_path}/neither" in str(raised.value)


def test_a_lock_file_is_for_all_users_and_never_a_link(places, tmp_path):
    before = os.umask(0o077)
    try:
        locks = SwitchLocks(places)
        locks.take({"s0": ADDRESS})
        assert stat.S_IMODE((places[0] / NAME).stat().st_mode) == 0o666
        assert not any(os.get_inheritable(each) for each in locks.descriptors)
        locks.release()
    finally:
        os.umask(before)
    (places[0] / NAME).chmod(0o600)  # an existing one stays as it is
    locks.take({"s0": ADDRESS})
    assert stat.S_IMODE((places[0] / NAME).stat().st_mode) == 0o600
    locks.release()
    (tmp_path / "target").touch()
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / NAME).symlink_to(tmp_path / "target")
    with pytest.raises(InputError):
        SwitchLocks((tmp_path / "c",)).take({"s0": ADDRESS})


def test_a_switch_is_known_by_all_its_addresses_or_by_its_name():
    assert switch_locks._identities(("127.0.0.1", 22)) == {"127.0.0.1 22"}
    assert switch_locks._identities(("::1", 2200)) == {"::1 2200"}
    assert switch_locks._identities(("Nowhere.invalid", 22)) == {"nowhere.invalid 22"}
    assert switch_locks._identities(("x" * 70 + ".invalid", 22)) == {"x" * 70 + ".invalid 22"}
    bytes_of = {switch_locks._byte_of(f"{host} 22") for host in range(1000)}
    assert len(bytes_of) == 1000
    assert 1 << 55 < max(bytes_of) < 1 << 62


def test_one_byte_is_locked_and_children_keep_it(places):
    locks = SwitchLocks(places[:1])
    locks.take({"s0": ADDRESS})
    start = switch_locks._byte_of("192.0.2.1 22")
    other = os.open(places[0] / NAME, os.O_RDWR)
    assert not switch_locks._lock(other, start)
    assert switch_locks._lock(other, start - 1)
    assert switch_locks._lock(other, start + 1)
    with subprocess.Popen(["sleep", "60"], pass_fds=locks.descriptors) as child:
        locks.release()
        assert not switch_locks._lock(other, start)
        child.kill()
    until(lambda: switch_locks._lock(other, start))
    os.close(other)


def test_a_lock_that_fails_otherwise_is_no_holder(places):
    read_only = os.open(places[0], os.O_RDONLY)
    with pytest.raises(OSError, match="Bad file descriptor"):
        switch_locks._lock(read_only, 0)
    os.close(read_only)


def test_a_fabrics_lock_covers_its_switches(path, places, monkeypatch):
    monkeypatch.setattr(switch_locks.SwitchLocks.__init__, "__defaults__", (places,))
    with FabricLock(path, "apply", print) as taken:
        descriptors = taken.over({"s0": ADDRESS})
        assert descriptors[0] == taken.descriptor
        assert len(descriptors) == 3
        with pytest.raises(PlanError):
            SwitchLocks(places).take({"s0": ADDRESS})
    free = SwitchLocks(places)
    free.take({"s0": ADDRESS})
    free.release()
