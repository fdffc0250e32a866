"""What a fabric's journal keeps of runs, of switches, of confirmations, reloads and typed lines; without a switch."""

import sqlite3
import tarfile
import time
from contextlib import closing
from datetime import datetime

import pytest

from tagloom.apply import abort, confirmations
from tagloom.apply.confirmations import Confirmation, Confirmations, must_be_answered
from tagloom.apply.journal import READ_BACK, SAVED, SENDING, Journal, _reason
from tagloom.apply.lock import FabricLock, operator
from tagloom.apply.run_states import DONE, INTERRUPTED, LEFT, RUNNING, Move
from tagloom.apply.scheduled_reloads import Armed, ScheduledReload, ScheduledReloads
from tagloom.apply.typed_lines import Typed, TypedLines, typed
from tagloom.errors import DeviceError, InputError, PlanError
from tagloom.operate.status import sent_log


@pytest.fixture
def journal(tmp_path):
    (tmp_path / "order").mkdir()
    (tmp_path / "order/rollout.json").write_text("{}")
    with Journal(tmp_path / "runs/journal.db") as journal:
        yield journal


def begin(journal, name="r", **more):
    """Record a run that has begun."""
    words = {"name": name, "kind": "apply", "fabric": "ring", "source": "b", "command": "c", "operator": "o"}
    words |= {"waves": 3, "proven": True, "order": journal.path.parents[1] / "order"}
    return journal.begin(**words | more)


def change(journal, statement, *values):
    """Write to the file what tagloom would not."""
    with closing(sqlite3.connect(journal.path)) as wire, wire:
        wire.execute(statement, values)


def read(journal, what):
    """Return one cell of the file."""
    with closing(sqlite3.connect(journal.path)) as wire:
        return wire.execute(what).fetchone()[0]


def test_a_run_is_recorded_as_it_began_and_ends(journal, clock):
    since = clock()
    run = begin(journal, undoes=7, kind="rollback", proven=False)
    assert since <= run.began <= clock()
    assert (run.name, run.kind, run.fabric, run.source, run.command, run.operator) == (
        *("r", "rollback", "ring", "b", "c", "o"),
    )
    assert (run.state, run.note, run.waves, run.wave) == (RUNNING, "", 3, 0)
    assert (run.proven, run.undoes, run.ended) == (False, 7, None)
    journal.begin_wave(run.id, 2)
    assert journal.run(run.id).to_json() == {"run": "r", "kind": "rollback", "state": RUNNING, "wave": 2, "waves": 3}
    journal.move(run.id, Move.COMPLETE, "well")
    ended = journal.run(run.id)
    assert (ended.state, ended.note, ended.unfinished) == (DONE, "well", False)
    assert run.began <= ended.ended <= clock()
    journal.move(run.id, Move.UNDO)
    assert journal.run(run.id).note == ""


def test_a_run_that_goes_on_has_no_end(journal):
    run = begin(journal)
    journal.move(run.id, Move.STOP, "as asked")
    assert journal.run(run.id).ended is not None
    journal.move(run.id, Move.GO_ON)
    assert journal.run(run.id).ended is None


def test_a_sentence_says_where_a_run_left_the_fabric(journal):
    run = begin(journal)
    journal.move(run.id, Move.STOP, "as asked")
    said = "apply r was stopped (as asked)"
    assert journal.run(run.id).standing == f"{said}; no wave was begun, nothing was sent"
    change(journal, "update runs set wave = 2")
    assert journal.run(run.id).standing == f"{said}, in wave 2 of 3: every state inside that wave is proven"
    change(journal, "update runs set proven = 0")
    assert journal.run(run.id).standing == f"{said}, in wave 2 of 3: a set-up in one go, not proven"
    journal.move(run.id, Move.LEAVE)
    assert journal.run(run.id).standing == "apply r was left"


def test_runs_are_found_newest_first_by_fabric_and_by_whether_they_are_over(journal):
    first, second = begin(journal, "first"), begin(journal, "second", fabric="mesh")
    assert [run.name for run in journal.runs()] == ["second", "first"]
    assert [run.name for run in journal.runs("ring")] == ["first"]
    assert (journal.unfinished().name, journal.unfinished("ring").name) == ("second", "first")
    journal.move(second.id, Move.COMPLETE)
    assert journal.unfinished() is None  # a later run is done
    change(journal, "update runs set kind = 'undo' where id = ?", second.id)
    assert journal.unfinished().name == "first"  # an undo of one wave ends nothing else
    journal.move(first.id, Move.COMPLETE)
    assert journal.unfinished() is None
    with pytest.raises(InputError, match="run 99"):
        journal.run(99)


def test_what_the_switches_hold_is_the_newest_apply_that_began_a_wave_and_was_not_undone(journal):
    runs = [begin(journal, name) for name in ("old", "undone", "back", "left", "not begun")]
    change(journal, "update runs set kind = 'rollback' where name = 'back'")
    assert journal.applied() is None
    for run in runs[:-1]:
        journal.begin_wave(run.id, 1)
    assert journal.applied().name == "left"
    journal.move(runs[3].id, Move.LEAVE)
    assert journal.applied().name == "undone"
    journal.move(runs[1].id, Move.UNDO)
    journal.move(runs[0].id, Move.COMPLETE)
    assert journal.applied().name == "old"


def test_each_switch_has_a_record_in_each_wave(journal, clock):
    run, other = begin(journal).id, begin(journal).id
    since = clock()
    for wave, switch in ((2, "s0"), (1, "s1"), (1, "s0")):
        journal.wave_journal(run, wave, switch).intend(["a", "b"], "before", "after")
    rows = journal.switches(run)
    assert [(row.wave, row.switch) for row in rows] == [(1, "s0"), (1, "s1"), (2, "s0")]
    assert {(row.state, row.lines, row.before, row.after, row.sent, row.error) for row in rows} == {
        (SENDING, ("a", "b"), "before", "after", 0, "")
    }
    assert all(since <= row.at <= clock() for row in rows)
    journal.wave_journal(run, 1, "s1").note("failed", 1, "refused")
    journal.wave_journal(run, 1, "s9").note(SAVED)
    (_, noted, alone) = journal.switches(run, 1)
    assert (noted.state, noted.lines, noted.sent, noted.error) == ("failed", ("a", "b"), 1, "refused")
    assert (alone.state, alone.lines, alone.before, alone.after, alone.sent) == (SAVED, (), "", "", 0)
    assert [row.switch for row in journal.switches(run, 2)] == ["s0"]
    assert journal.switches(other) == []


def test_waves_are_withdrawn_where_no_line_was_about_to_be_sent(journal):
    run = begin(journal).id
    journal.begin_wave(run, 2)
    journal.wave_journal(run, 2, "s0").note(READ_BACK)
    assert journal.withdraw(run)
    assert journal.run(run).wave == 0
    journal.begin_wave(run, 1)
    journal.wave_journal(run, 1, "s0").intend(["a"], "", "")
    assert not journal.withdraw(run)
    assert journal.run(run).wave == 1


def test_only_runs_that_run_are_interrupted(journal):
    runs = [begin(journal) for _ in range(3)]
    journal.move(runs[1].id, Move.COMPLETE)
    journal.interrupt()
    assert [journal.run(run.id).state for run in runs] == [INTERRUPTED, DONE, INTERRUPTED]


def test_a_runs_own_copy_of_its_directory_is_unpacked_over_older_files(journal, tmp_path):
    run = begin(journal).id
    (tmp_path / "there").mkdir()
    (tmp_path / "there/rollout.json").write_text("old")
    journal.unpack(run, tmp_path / "there")
    assert (tmp_path / "there/rollout.json").read_text() == "{}"


@pytest.mark.parametrize("pack", ["text", b"no archive", b""], ids=["a text", "no archive", "nothing"])
def test_a_damaged_copy_is_refused(journal, tmp_path, pack):
    run = begin(journal).id
    change(journal, "update runs set pack = ?", pack)
    with pytest.raises(InputError, match=f"the directory of run {run}"):
        journal.unpack(run, tmp_path / "there")
    with pytest.raises(InputError, match="the directory of run 77"):
        journal.unpack(77, tmp_path / "there")


def test_a_copy_that_grows_beyond_all_measure_is_not_unpacked(journal, tmp_path, monkeypatch):
    """As many bytes as are allowed are unpacked, and one more is refused before any is written."""
    run = begin(journal).id
    monkeypatch.setattr("tagloom.apply.journal._MOST_UNPACKED", 2)  # `{}`
    journal.unpack(run, tmp_path / "there")
    monkeypatch.setattr("tagloom.apply.journal._MOST_UNPACKED", 1)
    with pytest.raises(InputError, match="at most 1 bytes, actual more"):
        journal.unpack(run, tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_out_of_the_directory_is_not_unpacked(journal, tmp_path):
    run = begin(journal).id
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        member = tarfile.TarInfo("../outside")
        archive.addfile(member)
    change(journal, "update runs set pack = ?", (tmp_path / "bad.tar").read_bytes())
    with pytest.raises(InputError):
        journal.unpack(run, tmp_path / "there")
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("update runs set state = 'asleep'", "asleep"),
        ("update runs set began = 'noon'", "noon"),
        ("update runs set waves = 'two'", "two"),
        ("update runs set ended = 'never'", "never"),
    ],
)
def test_a_cell_that_tagloom_would_not_write_is_named(journal, statement, said):
    begin(journal)
    change(journal, statement)
    with pytest.raises(InputError) as raised:
        journal.runs()
    (finding,) = raised.value.findings
    assert finding.where == str(journal.path)
    assert finding.expected.startswith("a whole journal, with cells as tagloom writes them: ")
    assert said in finding.actual


@pytest.mark.parametrize("cell", [7, "[", "{}", "[1]", b"[]"])
def test_lines_that_are_none_are_refused(journal, cell):
    run = begin(journal).id
    journal.wave_journal(run, 1, "s0").intend(["a"], "", "")
    change(journal, "update switches set lines = ?", cell)
    with pytest.raises(InputError, match="lines"):
        journal.switches(run)


def test_what_keeps_a_journal_from_being_written_is_said(journal):
    with pytest.raises(InputError) as raised, journal.writing() as wire:
        wire.execute("select nonsense")
    (finding,) = raised.value.findings
    assert (finding.where, finding.expected) == (str(journal.path), "a journal that can be written")
    assert "nonsense" in finding.actual
    assert _reason(OSError(28, "No space left on device")) == "No space left on device"
    assert _reason(OSError("odd")) == "odd"


def test_intentions_are_on_the_disk_at_once_and_progress_with_the_next_of_them(journal):
    with journal.writing() as wire:
        assert wire.execute("pragma synchronous").fetchone() == (2,)  # full
    with journal.writing(synced=False) as wire:
        assert wire.execute("pragma synchronous").fetchone() == (1,)  # normal
    assert read(journal, "pragma journal_mode") == "wal"
    assert journal.path.stat().st_mode & 0o777 == 0o600
    assert journal.path.parent.stat().st_mode & 0o777 == 0o700


# Confirmations.


def test_a_run_that_nobody_asked_to_confirm_needs_none(journal):
    begin(journal)
    assert Confirmations(journal).newest() is None
    assert Confirmations(journal).open() is None


def test_a_change_waits_from_its_end_for_so_many_seconds_and_expires(journal):
    kept = Confirmations(journal)
    run = begin(journal, confirm_seconds=60.0)
    found = kept.newest()
    assert (found.run.id, found.seconds, found.state, found.by) == (run.id, 60.0, confirmations.UNDER_WAY, "")
    assert found.until is None
    assert found.is_open
    journal.move(run.id, Move.COMPLETE)
    ended = journal.run(run.id).ended
    assert kept.newest().state == confirmations.WAITING
    assert kept.newest(ended + 59.9).state == confirmations.WAITING
    assert kept.newest(ended + 60.0).state == confirmations.EXPIRED
    waiting = kept.open(ended + 1.0)
    assert waiting.until == ended + 60.0
    assert waiting.named == "apply r of b"
    page = waiting.to_json()
    assert datetime.fromisoformat(page.pop("until")).timestamp() == pytest.approx(ended + 60.0, abs=1e-3)
    assert page == {"run": "r", "source": "b", "seconds": 60.0, "state": confirmations.WAITING, "by": ""}
    refusal = must_be_answered(waiting)
    assert isinstance(refusal, PlanError)
    local = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ended + 60.0))
    assert f"apply r of b waits until {local}" in str(refusal)


def test_the_first_answer_counts(journal):
    kept = Confirmations(journal)
    run = begin(journal, confirm_seconds=60.0)
    assert not kept.answer(run.id + 1, keep=True, by="nobody")
    journal.move(run.id, Move.COMPLETE)
    assert kept.answer(run.id, keep=True, by="anna")
    assert not kept.answer(run.id, keep=False, by="ben")
    found = kept.newest()
    assert (found.state, found.by, found.is_open) == (confirmations.CONFIRMED, "anna", False)
    assert kept.open() is None


def test_a_change_is_taken_back_or_superseded(journal):
    kept = Confirmations(journal)
    run = begin(journal, confirm_seconds=60.0)
    journal.begin_wave(run.id, 1)
    journal.move(run.id, Move.COMPLETE)
    kept.answer(run.id, keep=False, by="the time")
    assert (kept.newest().state, kept.open().by) == (confirmations.TAKING_BACK, "the time")
    back = begin(journal, "back", kind="rollback")
    journal.begin_wave(back.id, 1)
    assert kept.newest().state == confirmations.TAKING_BACK  # a rollback is no other change
    later = begin(journal, "later")
    assert kept.newest().state == confirmations.TAKING_BACK  # it has begun no wave
    journal.begin_wave(later.id, 1)
    assert kept.newest().state == confirmations.SUPERSEDED
    journal.move(run.id, Move.UNDO)
    assert kept.newest().state == confirmations.TAKEN_BACK
    assert kept.open() is None
    change(journal, "update runs set state = ? where id = ?", LEFT, run.id)
    change(journal, "update runs set wave = 0 where id = ?", later.id)
    assert kept.newest().state == confirmations.SUPERSEDED


def test_a_later_request_takes_the_place_of_an_earlier_one_for_the_same_run(journal):
    kept = Confirmations(journal)
    first, second = begin(journal, "first"), begin(journal, "second")
    kept.arm(second.id, 30.0)
    kept.arm(first.id, 10.0)
    kept.arm(second.id, 90.0)
    assert (kept.newest().run.name, kept.newest().seconds) == ("second", 90.0)


def test_only_what_ended_well_is_waited_for(journal):
    run = begin(journal, confirm_seconds=60.0)
    journal.move(run.id, Move.FAIL)
    assert Confirmation(journal.run(run.id), 60.0, confirmations.WAITING).until is None
    assert Confirmation(journal.run(run.id), 60.0, confirmations.WAITING).to_json()["until"] is None


# Reloads at a set time.


def test_reloads_are_known_until_they_are_called_off(journal):
    kept = ScheduledReloads(journal)
    assert kept.all() == []
    kept.arm("s1", 4, 100.0)
    Armed(kept, "s0", 5, 60.0).arm(200.0)
    Armed(kept, "s1", 6).arm(300.0)
    assert kept.all() == [ScheduledReload("s0", 5, 200.0), ScheduledReload("s1", 6, 300.0)]
    page = kept.all()[0].to_json()
    assert page["switch"] == "s0"
    assert datetime.fromisoformat(page["until"]).timestamp() == 200.0
    assert "." not in page["until"]
    Armed(kept, "s0", 5).called_off()
    assert [each.switch for each in kept.all()] == ["s1"]
    armed = Armed(kept, "s0", 5)
    assert (armed.seconds, armed.pending) == (0.0, False)


# Lines that were typed outside runs.


class Console:
    """Takes lines up to a bad one."""

    def __init__(self):
        self.taken = []

    def type(self, lines):
        for line in lines:
            if line == "bad":
                raise DeviceError("s0", line, "unknown command")
            self.taken.append(line)


def test_typed_lines_are_known_with_what_became_of_them(journal, clock):
    assert typed(journal) == []
    since, console = clock(), Console()
    TypedLines(journal, "login", "s0", "console").type(console, ["one", "username a password hunter2"])
    with pytest.raises(DeviceError):
        TypedLines(journal, "try", "s1", "SSH").type(console, ["three", "bad", "four"])
    with TypedLines(journal, "try", "s2", "SSH").written(["five"]):
        under_way = typed(journal)[0]
    refused, good = typed(journal)[1:]
    assert console.taken == ["one", "username a password hunter2", "three"]
    assert isinstance(good, Typed)
    assert (good.operator, good.command, good.switch, good.place) == (operator(), "login", "s0", "console")
    assert (good.lines[0], good.sent, good.error) == ("one", 2, "")
    assert "hunter2" not in str(good.lines)
    assert (refused.lines, refused.sent, refused.error) == (("three", "bad", "four"), 1, "unknown command")
    assert (under_way.switch, under_way.ended, under_way.sent) == ("s2", None, 0)
    assert since <= good.began <= good.ended <= refused.began <= refused.ended <= clock()


def test_the_log_keeps_the_order_of_what_began_within_one_second(journal):
    at = int(time.time())
    for name, since in (("first", 0.1), ("third", 0.5)):
        begin(journal, command=name)
        change(journal, "update runs set began = ? where command = ?", at + since, name)
    for name, since in (("second", 0.3), ("fourth", 0.7)):
        TypedLines(journal, name, "s0", "console").type(Console(), ["one"])
        change(journal, "update typed set began = ? where command = ?", at + since, name)
    shown = sent_log(journal.path.parent, 4)
    assert [each["command"] for each in shown] == ["fourth", "third", "second", "first"]
    assert len({each["began"] for each in shown}) == 1
    assert [each["command"] for each in sent_log(journal.path.parent, 1)] == ["fourth"]


# What `tagloom abort` asks and says.


def test_nobody_is_asked_to_stop_where_nobody_works(tmp_path):
    home = abort.home_of(tmp_path)
    assert home == tmp_path / "runs" == abort.home_of(tmp_path / "tagloom.yml")
    assert not abort.at_work(home)
    assert abort.ask_to_stop(home, now=True) is None
    assert not home.exists()
    assert abort.standing_payload(home, None) == {
        "asked": "",
        "unfinished": False,
        "stands": "no run is in the journal",
    }


@pytest.mark.parametrize("now", [False, True])
def test_the_command_at_work_is_asked_in_its_run_and_before_the_next(tmp_path, now):
    home = tmp_path / "runs"
    with FabricLock(home / abort.LOCK, "apply", print) as lock:
        (home / "1-push").mkdir()
        lock.announce(home / "1-push")
        asked = abort.ask_to_stop(home, now=now)
        assert (asked.command, asked.directory) == ("apply", str(home / "1-push"))
        for place in (home, home / "1-push"):
            assert (place / "stop").exists()
            assert (place / "stop-now").exists() == now
    with FabricLock(home / abort.LOCK, "apply", print):  # a request is for the command that was asked
        assert not (home / "stop").exists()
        assert not (home / "stop-now").exists()


def test_where_the_fabric_stands_is_that_of_the_unfinished_run_or_the_newest(tmp_path):
    home = tmp_path / "runs"
    (tmp_path / "order").mkdir()
    journal = Journal(home / abort.JOURNAL)
    assert abort.standing_payload(home, None)["stands"] == "no run is in the journal"
    first, second = begin(journal, "first"), begin(journal, "second", kind="undo")
    journal.move(second.id, Move.COMPLETE)
    with FabricLock(home / abort.LOCK, "apply", print) as lock:
        page = abort.standing_payload(home, abort.ask_to_stop(home, now=False))
        assert page["asked"].endswith(": apply")
        assert str(lock.operator).partition("@")[0] in page["asked"]
        assert (page["run"], page["state"], page["unfinished"]) == ("first", RUNNING, True)  # its command is at work
    page = abort.standing_payload(home, None)
    assert (page["state"], page["unfinished"]) == (INTERRUPTED, True)
    assert page["stands"].startswith("apply first was interrupted")
    journal.move(first.id, Move.UNDO)
    page = abort.standing_payload(home, None)
    assert (page["run"], page["unfinished"], page["stands"]) == ("second", False, "undo second is done")
