"""The command line against a rack over real SSH: runs killed, stopped, refused or failing, and what is true after."""

import fcntl
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from command_line import commands
from command_line.aftermath import remove_runs
from command_line.loaded import parent
from command_line.terminal import without_waits
from fabrics import make_fabric
from tagloom import pipeline, platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access
from tagloom.apply.abort import at_work
from tagloom.apply.journal import Journal
from tagloom.apply.lock import FabricLock
from tagloom.errors import PlanError
from tagloom.lab import process
from tagloom.lab.device import Quirks
from tagloom.lab.directory import Order
from tagloom.operate import waves
from tagloom.records.change import difference
from tagloom.records.switch_state import SwitchEditor
from tagloom.render import render_commands
from tagloom.share import share_directory
from thinned import few
from waiting import until
from watchdogs import end_watchdog

pytestmark = pytest.mark.slow

TEMPLATES = share_directory() / "templates"
FABRIC = make_fabric("ring", 3, model="powerconnect-5324", extra="switches:\n  s1: {model: powerconnect-6248}\n")
NAMES = ("s0", "s1", "s2")
FOREVER = 3600.0  # seconds, until a test mends a switch


class Ring:
    """Hold a rack of three switches, two builds of it, and the rollout from the one to the other."""

    def __init__(self, home):
        self.home, self.rack = home, home / "rack"
        old, proof, texts = pipeline.plan(FABRIC, TEMPLATES)
        pipeline.write_build(old, proof, texts, home / "old")
        new, proof, texts = pipeline.plan(FABRIC, TEMPLATES, routing="tree", previous=old)
        pipeline.write_build(new, proof, texts, home / "new")
        change = pipeline.rollout_between(old, new)
        pipeline.write_rollout(new, change, TEMPLATES, home / "change")
        without_waits(home / "change")
        self.states = [old.state, *(wave.state for wave in change.waves)]
        self.order = waves.read_sequence(home / "change")
        self.info = process.up(Order(FABRIC, TEMPLATES), self.rack)

    @property
    def runs(self):
        return self.rack / "runs"

    @property
    def journal(self):
        return Journal(self.runs / "journal.db")

    def running(self, *, startup=False):
        return pipeline.parse(FABRIC, process.configurations(self.rack, startup=startup))[0]

    def connection(self, name):
        access = Access(
            "127.0.0.1", self.info.ports[name], "lab", "lab", known_hosts=str(self.rack / "known_hosts"), fast_cli=True
        )
        return connect(name, platforms.of(FABRIC.switches[FABRIC.index[name]]), access)

    def type(self, name, *lines, save=True):
        with self.connection(name) as wire:
            wire.send(lines)
            if save:
                wire.save()

    def hold_back(self, *names, line=""):
        """Let switches take the next line of configuration, or the next that is like `line`, only once mended."""
        for name in names:
            process.fault(self.rack, name, "slow", at=1, line=line, lasts=FOREVER)

    def until_held_back(self, begun, *names):
        """Wait until these switches do not take a line."""
        until(lambda: not any(process.faults(self.rack)["waiting"][name] for name in names), begun)

    def load(self, wave=0):
        """Make every switch hold what it does after a wave, saved, with nobody's journal, no faults and no quirks."""
        process.mend(self.rack)
        process.quirks(self.rack, {"*": asdict(Quirks())})
        remove_runs(self.rack)
        self.hold(wave)

    def hold(self, wave):
        """Make every switch hold what it does after a wave, saved."""
        held = self.running()
        for name in NAMES:
            platform = platforms.of(FABRIC.switches[FABRIC.index[name]])
            wanted = self.order.state_after(held[name], name, wave)
            changes = difference(held[name], wanted)
            self.type(name, *render_commands(platform, changes, held[name]))

    def standing(self, state, wave):
        """Tell whether every switch holds what it must after a wave."""
        return all(state[name] == self.order.state_after(state[name], name, wave) for name in NAMES)

    def start(self, *words, inventory=None):
        """Begin a command that is not awaited at once."""
        return commands.Begun([*words, "-i", inventory or self.rack, "--json"], self.home)

    def answer(self, *words, expect=0, inventory=None):
        done = commands.run([*words, "-i", inventory or self.rack, "--json"], self.home)
        return self.read(done.returncode, done.stdout, done.stderr, expect)

    @staticmethod
    def read(status, out, err, expect):
        page = json.loads(out)
        went_wrong = [each for each in page.pop("outcomes", []) if each["error"]]
        assert status == expect, f"{status}\n{page}\n{went_wrong}\n{err}"
        assert "Traceback" not in err
        return page | {"said": err, "errors": " ".join(each["error"] for each in went_wrong)}

    def until(self, begun, question, *values):
        """Wait until the journal answers a question with a row, and give it."""

        def row():
            try:
                with closing(sqlite3.connect(f"file:{self.runs}/journal.db?mode=ro", uri=True)) as wire:
                    return wire.execute(question, values).fetchone()
            except sqlite3.Error:  # not there yet
                return None

        return until(row, begun)

    def until_asked(self, begun, name):
        """Wait until somebody has asked the run to stop, by the file of this name."""
        until(lambda: list(self.runs.glob(f"*/{name}")), begun)


@pytest.fixture(scope="session")
def running_ring(tmp_path_factory):
    made = Ring(tmp_path_factory.mktemp("ring"))
    yield made
    process.down(made.rack)


@pytest.fixture
def ring(running_ring):
    running_ring.load()
    return running_ring


def processes_of(inventory):
    """Find the processes of an inventory's ansible-playbook, the controller's own not among them."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_text()
        except OSError:
            continue
        if f"{inventory}/tagloom.yml" in words and "ansible" in words:
            found.append(int(place.name))
    return found


def test_a_rollout_saves_at_every_boundary_keeps_a_true_journal_and_is_rolled_back(ring):
    before = ring.running()
    process.quirks(ring.rack, {"*": {"delay_seconds": 0.02}})  # so that samples fall between lines, some of hundreds
    samples, over = [], threading.Event()

    def sample():
        while not over.wait(0.02):
            samples.append((process.configurations(ring.rack), process.configurations(ring.rack, startup=True)))

    watcher = threading.Thread(target=sample)
    watcher.start()
    page = ring.answer("apply", "change")
    over.set()
    watcher.join()
    assert (page["changed"], page["state"], page["wave"], page["resume_with"]) == (list(NAMES), "done", 3, "")
    assert ring.standing(ring.running(), 3)
    moving = 0
    for texts in {json.dumps(sample): sample for sample in samples}.values():
        running, startup = (pipeline.parse(FABRIC, held)[0] for held in texts)
        wave = max(next(k for k in range(4) if not ring.order.drifted_cells(running[n], n, k)) for n in NAMES)
        moving += not any(ring.standing(running, k) for k in range(4))
        for name in NAMES:
            kept = [k for k in range(4) if startup[name] == ring.order.state_after(startup[name], name, k)]
            assert kept, f"{name} would start with something that is no boundary"
            assert max(kept) >= wave - 1, f"{name} would start before wave {wave}, which had begun"
    assert moving > 3, "the run was seen in the middle of its waves"

    run = ring.journal.runs()[0]
    rows = ring.journal.switches(run.id)
    assert [(row.wave, row.switch, row.state) for row in rows] == [(k, n, "saved") for k in (1, 2, 3) for n in NAMES]
    for row in rows:
        assert row.sent == len(row.lines) > 0
        assert row.before != row.after
    assert (ring.runs / "journal.db").stat().st_mode & 0o777 == 0o600
    assert ring.runs.stat().st_mode & 0o777 == 0o700
    written = b"".join(path.read_bytes() for path in ring.runs.glob("journal.db*"))
    assert b"watchtower" not in written
    assert b"username" not in written

    page = ring.answer("rollback", "change")
    assert (page["changed"], page["kind"], page["state"]) == (list(NAMES), "rollback", "done")
    assert ring.running() == ring.running(startup=True) == before
    assert ring.journal.run(run.id).state == "undone"
    page = ring.answer("rollback", expect=1)
    assert page["witness"] == "the journal has no run that was not undone yet"


@pytest.mark.daily
def test_a_vlan_that_was_cut_off_from_its_name_goes_with_the_rollback(ring):
    before = ring.running()
    ring.hold_back("s0")
    begun = ring.start("apply", "change")
    ring.until_held_back(begun, "s0")
    begun.send_signal(signal.SIGSTOP)
    for pid in processes_of(ring.rack):
        os.kill(pid, signal.SIGKILL)
    begun.kill()
    begun.communicate()
    process.mend(ring.rack)
    ring.hold(0)
    new = min(set(ring.states[1]["s0"].owned_vlans) - set(ring.states[0]["s0"].owned_vlans))
    ring.type("s0", "vlan database", f"vlan {new}", "exit", save=False)  # where one of its commands may leave it
    page = ring.answer("rollback")
    assert (page["changed"], page["kind"], page["state"]) == (["s0"], "rollback", "done")
    assert ring.running() == ring.running(startup=True) == before
    assert ring.journal.unfinished() is None


@pytest.mark.parametrize(("victims", "wave"), few([("controller", 2), ("everybody", 1), ("one worker", 2)], 1))
def test_a_killed_run_is_refused_anew_and_goes_on_or_back_from_where_it_stands(ring, victims, wave):
    ring.hold_back("s1", line=f"^{pvid_line(ring, 2)}$" if wave == 2 else "")
    begun = ring.start("apply", "change")
    ring.until_held_back(begun, "s1")
    if victims == "one worker":
        workers = [pid for pid in processes_of(ring.rack) if parent(pid) in processes_of(ring.rack)]
        os.kill(max(workers), signal.SIGKILL)
    elif victims == "everybody":
        for pid in processes_of(ring.rack):
            os.kill(pid, signal.SIGKILL)
    if victims != "one worker":
        begun.kill()
    begun.communicate()
    assert begun.returncode == (3 if victims == "one worker" else -signal.SIGKILL)
    process.mend(ring.rack)
    if victims == "controller":
        refused = ring.answer("apply", "change", expect=1)
        assert "stands in wave" in refused["witness"]
        assert "taken over from a command that died" in refused["said"]
    page = ring.answer("rollback") if wave == 1 else ring.answer("apply", "change", "--resume")
    # killed before the first line landed, there is nothing to take back
    assert page["state"] == ("done" if wave == 2 or page["kind"] == "rollback" else "undone")
    assert ring.standing(ring.running(), 0 if wave == 1 else 3)
    assert ring.running() == ring.running(startup=True)
    assert ring.journal.unfinished() is None


# --- a switch that fails ----------------------------------------------------------------------------------------------


def pvid_line(ring, wave):
    """Give a line that s1 is sent in a wave and in no other."""
    lines = {
        number: (ring.home / f"change/waves/{number}/commands/s1.txt").read_text().splitlines() for number in (1, 2, 3)
    }
    others = {line for number in (1, 2, 3) if number != wave for line in lines[number]}
    return next(line for line in lines[wave] if line not in others and "pvid" in line)


def test_a_failure_stops_in_the_wave_and_resume_finishes_it(ring):
    process.quirks(ring.rack, {"s1": {"reject_line": f"^{pvid_line(ring, 2)}$"}})
    page = ring.answer("apply", "change", expect=3)
    assert (page["failed"], page["state"], page["wave"]) == (["s1"], "failed", 2)
    assert page["resume_with"] == f"tagloom apply --resume -i {ring.rack}"
    held = ring.running()
    assert all(not ring.order.drifted_cells(held[name], name, 2) for name in NAMES), "inside the proven wave"
    assert all(held[name] == ring.order.state_after(held[name], name, 2) for name in ("s0", "s2"))
    assert [(r.switch, r.state) for r in ring.journal.switches(1, 2)] == [
        ("s0", "saved"),
        ("s1", "failed"),
        ("s2", "saved"),
    ]
    process.quirks(ring.rack, {"s1": {"reject_line": ""}})
    assert ring.answer("apply", "--resume")["state"] == "done"
    assert ring.standing(ring.running(), 3)


def test_a_failure_takes_the_wave_back_where_that_is_wanted(ring):
    process.quirks(ring.rack, {"s1": {"reject_line": f"^{pvid_line(ring, 2)}$"}})
    page = ring.answer("apply", "change", "--on-failure", "undo", expect=3)
    assert page["failed"] == ["s1"]
    assert page["remarks"][0].startswith("wave 2 was undone on")
    assert ring.standing(ring.running(), 1)
    assert ring.running(startup=True) == ring.running()
    process.quirks(ring.rack, {"s1": {"reject_line": ""}})
    assert ring.answer("rollback")["state"] == "done"
    assert ring.standing(ring.running(), 0)


@pytest.mark.daily
def test_the_others_finish_as_far_as_is_proven_and_leave_what_the_one_that_failed_may_need(ring):
    process.quirks(ring.rack, {"s1": {"reject_line": f"^{pvid_line(ring, 2)}$"}})
    page = ring.answer("apply", "change", "--on-failure", "finish", expect=3)
    assert (page["failed"], page["state"], page["wave"]) == (["s1"], "failed", 3)
    assert page["remarks"][0].startswith("finished what can be without s1, up to wave 3 of 3; left on ")
    held = ring.running()
    assert all(not ring.order.drifted_cells(held[name], name, 2 if name == "s1" else 3) for name in NAMES)
    assert any(held[name] != ring.order.state_after(held[name], name, 2) for name in ("s0", "s2")), (
        "some of wave 3 was sent"
    )
    assert any(held[name] != ring.order.state_after(held[name], name, 3) for name in ("s0", "s2")), (
        "some of it must wait"
    )
    assert ring.running(startup=True) == {**held, "s1": ring.running(startup=True)["s1"]}
    assert process.ping(ring.rack)["lost"] == 0, "frames of s1's host may still take the old VLANs"
    process.quirks(ring.rack, {"s1": {"reject_line": ""}})
    assert ring.answer("apply", "--resume")["state"] == "done"
    assert ring.standing(ring.running(), 3)


# --- what is proven is what is pushed ---------------------------------------------------------------------------------


def edit(path):
    """Let a configuration set another aging time."""
    with path.open("a") as file:
        file.write("bridge aging-time 77\n")


def test_what_is_edited_after_the_proof_reaches_no_switch(ring):
    """First in the directory that was named, while switches are read; then in the run's own copy, between two waves."""
    shutil.copytree(ring.home / "change", ring.home / "edited", dirs_exist_ok=True)
    ring.hold_back("s1", line=f"^{pvid_line(ring, 2)}$")
    begun = ring.start("apply", "edited")
    until(lambda: list(ring.runs.glob("*-check/hosts.json")), begun)
    for path in ring.home.glob("edited/**/*.cfg"):
        if path.stem == "s0":
            edit(path)
    ring.until_held_back(begun, "s1")
    (own,) = ring.runs.glob("*-apply/order/waves/3/s2.cfg")
    edit(own)
    process.mend(ring.rack)
    out, err = begun.communicate()
    page = json.loads(out)
    assert begun.returncode == 3, err
    assert "stopped before wave 3" in page["error"]
    assert "expected the configurations that were proven, actual others" in page["error"]
    assert ring.standing(ring.running(), 2), "as proven, not as edited"
    assert ring.answer("apply", "--resume")["state"] == "done", "of the journal's own copy"
    assert ring.standing(ring.running(), 3)


def test_a_look_refuses_a_rollout_that_was_edited_as_a_push_does(ring):
    shutil.copytree(ring.home / "change", ring.home / "swapped", dirs_exist_ok=True)
    page = json.loads((ring.home / "swapped/rollout.json").read_text())
    page["waves"] = [page["waves"][2]]  # what switches hold at the end is proven; the way there is not
    (ring.home / "swapped/rollout.json").write_text(json.dumps(page))
    before = process.configurations(ring.rack)
    refusals = [ring.answer("apply", "swapped", *words, expect=1) for words in (["--check"], [])]
    assert refusals[0]["refused"] == refusals[1]["refused"]
    assert refusals[0]["refused"].startswith("every state on the way must be proven, and wave 1 of 1 is not from")
    assert refusals[0]["witness"] == refusals[1]["witness"]
    assert process.configurations(ring.rack) == before


# --- two operators, and people with hands -----------------------------------------------------------------------------


def test_the_second_operator_is_told_who_holds_the_lock_and_a_dead_one_is_taken_over(ring):
    with FabricLock(ring.runs / "lock", "tagloom apply by hand", print):
        page = ring.answer("apply", "old", expect=1)
    assert f"process {os.getpid()}, since " in page["witness"]
    assert "tagloom apply by hand" in page["witness"]
    assert page["next"].endswith("tagloom abort")
    ended = subprocess.Popen(["true"])
    ended.wait()
    note = {
        "user": "anna",
        "host": os.uname().nodename,
        "pid": ended.pid,
        "since": "noon",
        "command": "tagloom apply x",
    }
    (ring.runs / "lock.holder").write_text(json.dumps(note | {"directory": str(ring.runs)}))
    page = ring.answer("apply", "old")
    assert page["unchanged"] == list(NAMES)
    assert f"taken over from a command that died: anna on {os.uname().nodename}, process {ended.pid}" in page["said"]
    assert not (ring.runs / "lock.holder").exists()


def test_of_two_applies_at_once_one_is_refused_and_what_a_hand_changes_between_waves_stops_the_other(ring):
    """Be it even to what the next wave brings: a proof is of one hand at work. The inventories are copies."""
    copied = ring.home / "copied"
    shutil.copytree(ring.rack, copied, ignore=shutil.ignore_patterns("runs"), dirs_exist_ok=True)

    ring.hold_back("s0", line="^copy running-config")  # the end of wave 1
    first = ring.start("apply", "change")
    ring.until_held_back(first, "s0")
    second = ring.start("apply", "change", inventory=copied)
    ring.until(first, "select count(*) from switches where wave = 1 and state = 'saved' having count(*) = 2")
    ring.type("s1", "interface ethernet 1/g3", f"{pvid_line(ring, 2)}", "exit")
    held = process.configurations(ring.rack)

    said, err = second.communicate()
    refused = json.loads(said)
    assert second.returncode == 1, err
    assert refused["refused"] == "one command at a time works on a switch, whichever inventory names it"
    assert re.match(rf"s\d \(127\.0\.0\.1:\d+\) is held by process {first.pid}: .* apply change", refused["witness"])

    process.mend(ring.rack)
    out, err = first.communicate()
    page = json.loads(out)
    assert first.returncode == 1, err
    assert process.configurations(ring.rack) == held, "no line of wave 2 was sent to anybody"
    assert [finding["where"] for finding in page["drift"]] == ["s1: 1/g3 pvid"]
    assert (page["state"], page["wave"]) == ("stopped", 2)
    assert ring.answer("apply", "--resume")["state"] == "done", "from what was read, proven anew"
    assert ring.standing(ring.running(), 3)


def test_a_lock_of_another_computer_is_nobodys_who_died(tmp_path):
    """Its process number means another process here, or none."""
    lock = tmp_path / "lock"
    ended = subprocess.Popen(["true"])
    ended.wait()
    note = {"user": "anna", "host": "elsewhere", "pid": ended.pid, "since": "noon", "command": "tagloom apply x"}
    (tmp_path / "lock.holder").write_text(json.dumps(note | {"directory": str(tmp_path)}))
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with (
            pytest.raises(PlanError, match="held by anna on elsewhere"),
            FabricLock(lock, "tagloom apply y", pytest.fail),
        ):
            pytest.fail("two hold it")


def test_what_was_changed_by_hand_is_shown_and_kept_or_overwritten_on_demand(ring):
    assert ring.answer("apply", "change")["state"] == "done"
    ring.type("s0", "interface ethernet g24", "description spare", "exit", "bridge aging-time 77")
    before = process.configurations(ring.rack)
    page = ring.answer("apply", "change/build", expect=1)
    assert [finding["where"] for finding in page["drift"]] == ["s0: aging"]
    assert (page["drift"][0]["actual"], page["run"]) == ("77", "")
    assert page["advice"] == ["--drift overwrite", "--drift keep"]
    assert process.configurations(ring.rack) == before, "nothing was sent"
    page = ring.answer("rollback", expect=1)
    assert (page["drift"][0]["actual"], page["advice"]) == ("77", [])  # set back by hand, or by another apply
    page = ring.answer("apply", "change/build", "--drift", "keep")
    assert page["changed"] == []
    assert ring.running()["s0"].aging_seconds == 77
    page = ring.answer("apply", "change/build", "--drift", "overwrite")
    assert page["changed"] == ["s0"]
    assert ring.standing(ring.running(), 3)


@pytest.mark.daily
def test_what_cannot_be_kept_and_what_comes_too_late_are_told_and_a_resume_is_previewed(ring):
    here = ring.running()["s0"].member(100, 2).name.lower()
    there = "untagged" if here == "tagged" else "tagged"
    member = "interface ethernet g2", "switchport general allowed vlan {} 100 {}", "exit"
    ring.type("s0", *(line.format("add", there) for line in member))
    page = ring.answer("apply", "change", "--drift", "keep", expect=1)
    assert page["refused"] == "what was changed by hand is kept only in a VLAN that stays"
    assert page["witness"] == f"s0: VLAN 100 g2 member: expected {here}, actual {there}"
    back = ("remove", "") if here == "none" else ("add", here)
    ring.type("s0", *(line.format(*back) for line in member))

    process.quirks(ring.rack, {"s1": {"reject_line": f"^{pvid_line(ring, 2)}$"}})
    assert ring.answer("apply", "change", expect=3)["wave"] == 2
    page = ring.answer("apply", "--resume", "--drift", "keep", "--limit", "s1", expect=2)
    assert [each["where"] for each in page["findings"]] == ["--drift", "--limit"]
    held = process.configurations(ring.rack)
    page = ring.answer("apply", "--resume", "--check")
    assert page["remarks"] == ["all would go on from wave 2 of 3, every line proven from here"]
    assert page["changed"] == list(NAMES)
    assert process.configurations(ring.rack) == held

    run = ring.journal.unfinished()
    page = ring.answer("rollback", "--check")
    assert page["remarks"] == ["each state on the way back is proven from what was read"]
    assert (page["changed"], page["waves"], page["state"]) == (list(NAMES), 2, "failed")
    assert (process.configurations(ring.rack), ring.journal.unfinished()) == (held, run)
    process.quirks(ring.rack, {"*": asdict(Quirks())})
    page = ring.answer("rollback")
    assert (page["changed"], page["waves"], page["state"]) == (list(NAMES), 2, "done")
    assert ring.standing(ring.running(), 0)


def test_a_switch_that_runs_what_it_must_but_would_start_with_something_else_is_saved(ring):
    ring.load(3)
    ring.type("s2", "bridge aging-time 77", save=True)
    ring.type("s2", f"bridge aging-time {ring.states[3]['s2'].aging_seconds}", save=False)
    page = ring.answer("apply", "change/build")
    assert (page["changed"], page["unchanged"]) == ([], list(NAMES))
    assert page["remarks"][0].startswith("saved s2")
    assert ring.running(startup=True) == ring.running()


@pytest.mark.daily
def test_nothing_is_finished_where_not_even_the_first_save_was_done(ring):
    """s2 would start with something that no wave knows, and refuses to be saved: no line may be sent to anybody."""
    ring.type("s2", "bridge aging-time 77", save=True)
    ring.type("s2", f"bridge aging-time {ring.states[0]['s2'].aging_seconds}", save=False)
    process.fault(ring.rack, "s2", "reject", line="^copy running-config")
    before = process.configurations(ring.rack)
    page = ring.answer("apply", "change", "--on-failure", "finish", expect=3)
    assert (page["failed"], page["changed"], page["wave"], page["state"]) == (["s2"], [], 0, "failed")
    assert process.configurations(ring.rack) == before


# --- abort ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("now", few([False, True], 1), ids=["at the end of the wave", "before the next line"])
def test_abort_stops_a_run_in_a_proven_state_and_says_how_to_go_on(ring, now):
    ring.hold_back(*NAMES)
    begun = ring.start("apply", "change")
    ring.until_held_back(begun, *NAMES)
    abort = ring.start("abort", *(["--now"] if now else []))
    ring.until_asked(begun, "stop-now" if now else "stop")
    process.mend(ring.rack)
    page = json.loads(abort.communicate()[0])
    out, _ = begun.communicate()
    assert (abort.returncode, begun.returncode) == (0, 1)
    assert json.loads(out)["state"] == page["state"] == "stopped"
    assert (page["wave"], page["unfinished"]) == (1, True)
    assert page["resume_with"].startswith("tagloom apply --resume")
    held = ring.running()
    assert ring.standing(held, 1) is not now
    assert all(not ring.order.drifted_cells(held[name], name, 1) for name in NAMES)
    assert process.ping(ring.rack)["lost"] == 0


@pytest.mark.parametrize("times", few([1, 2, 3], 0), ids=["after the wave", "before the line", "at once"])
def test_each_interrupt_stops_a_run_sooner_and_always_in_a_proven_state(ring, times):
    ring.hold_back(*NAMES)
    begun = ring.start("apply", "change")
    ring.until_held_back(begun, *NAMES)
    for asked in ("stop", "stop-now", "")[:times]:
        begun.send_signal(signal.SIGINT)
        if asked:
            ring.until_asked(begun, asked)
    if times < 3:
        process.mend(ring.rack)
    out, err = begun.communicate()
    page = json.loads(out)
    assert (begun.returncode, page["state"]) == ((3, "failed") if times == 3 else (1, "stopped")), err
    assert page["wave"] == 1
    held = ring.running()
    assert ring.standing(held, 1) is (times == 1)
    assert all(not ring.order.drifted_cells(held[name], name, 1) for name in NAMES)
    assert process.ping(ring.rack)["lost"] == 0
    process.mend(ring.rack)
    assert ring.answer("apply", "--resume")["state"] == "done"
    assert ring.standing(ring.running(), 3)


def test_abort_with_nothing_to_stop_says_so(ring):
    page = ring.answer("abort")
    assert (page["asked"], page["unfinished"], page["stands"]) == ("", False, "no run is in the journal")


# --- a full disk ------------------------------------------------------------------------------------------------------


@pytest.mark.daily
def test_no_line_is_sent_that_the_journal_has_no_room_for(ring):
    """The kernel refuses to let any file grow, as a full disk would; SQLite's log must."""
    before = process.configurations(ring.rack)

    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    # Compiled modules and what measures coverage would be cut short.
    uncompiled = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    uncompiled.pop("COVERAGE_PROCESS_CONFIG", None)
    command = [sys.executable, "-m", "tagloom.cli", "apply", "change", "-i", str(ring.rack), "--json"]
    done = subprocess.run(
        command, cwd=ring.home, env=uncompiled, preexec_fn=no_room, capture_output=True, text=True, check=False
    )
    page = ring.read(done.returncode, done.stdout, done.stderr, expect=3)
    intended = {row.switch for row in ring.journal.switches(1)}
    after = process.configurations(ring.rack)
    assert set(page["failed"]) >= set(NAMES) - intended != set()
    assert {name for name in NAMES if after[name] != before[name]} <= intended
    assert "expected a journal that can be written" in page["errors"]


# --- a change that is to be confirmed ---------------------------------------------------------------------------------


def until_it_waits(ring, begun):
    """Wait until a change that is to be confirmed is on all switches."""
    ring.until(begun, "select 1 from runs, confirmations where run = id and state = 'done' and kind = 'apply'")


def left_waiting(ring):
    """Kill a command whose change waits for its confirmation, and its watchdog."""
    begun = ring.start("apply", "change", "--confirm", "1h")
    until_it_waits(ring, begun)
    begun.kill()
    begun.communicate()
    end_watchdog(ring.runs)


def let_time_pass(ring):
    """Let the time of all confirmations be over."""
    with closing(sqlite3.connect(ring.runs / "journal.db")) as wire, wire:
        wire.execute("update confirmations set seconds = 1e-3")


def test_what_nobody_confirms_is_taken_back(ring):
    before = ring.running()
    page = ring.answer("apply", "change", "--confirm", "1s", expect=1)
    assert (page["kind"], page["state"], page["failed"]) == ("rollback", "done", [])
    assert page["confirmation"]["state"] == "taken back"
    assert "unless somebody types: tagloom confirm" in page["said"]
    assert ring.running() == ring.running(startup=True) == before
    assert ring.journal.run(1).state == "undone"
    assert ring.answer("confirm", expect=1)["confirmed"] is False


@pytest.mark.daily
def test_another_terminal_confirms_and_meanwhile_the_status_says_what_is_armed(ring):
    begun = ring.start("apply", "change", "--confirm", "1h")
    until_it_waits(ring, begun)
    page = ring.answer("status", "--offline", expect=1)
    assert (page["armed"]["state"], page["armed"]["seconds"]) == ("waiting", 3600)
    assert page["armed"]["source"] == str(ring.home / "change")
    assert page["next"] == f"tagloom confirm -i {ring.rack}"
    page = ring.answer("confirm")
    assert (page["confirmed"], page["confirmation"]["state"]) == (True, "confirmed")
    said = ring.read(None, *begun.communicate(), expect=None)
    assert (begun.returncode, said["confirmation"]["state"], said["kind"]) == (0, "confirmed", "apply")
    assert ring.standing(ring.running(), 3)
    assert ring.answer("status", "--offline")["armed"] is None


@pytest.mark.parametrize("how", few(["confirm", "rollback", "resume", "run"], 2))
def test_a_killed_command_leaves_its_change_armed_and_the_next_one_keeps_it_or_takes_it_back(ring, how):
    before = ring.running()
    left_waiting(ring)
    page = ring.answer("apply", "old", expect=1)
    assert page["advice"] == ["confirm", "rollback"]
    if how == "confirm":
        assert ring.answer("confirm")["confirmed"]
        assert ring.standing(ring.running(), 3)
    elif how == "rollback":
        assert ring.answer("rollback")["state"] == "done"
    else:
        let_time_pass(ring)
        page = ring.answer("status", "--offline", expect=1)
        assert (page["armed"]["state"], page["next"]) == ("expired", f"tagloom rollback -i {ring.rack}")
        if how == "resume":
            assert ring.answer("apply", "--resume", expect=1)["confirmation"]["state"] == "taken back"
        else:
            (ring.home / "day.yml").write_text('- {when: "0 7 * * *", settings: all-on}\n')
            page = ring.answer("run", "day.yml", "--once", "--no-watch", "--allow", "interrupt")
            assert "nobody confirmed" in " ".join(each["text"] for each in page["told"])
    if how in {"rollback", "resume"}:
        assert ring.running() == ring.running(startup=True) == before
    # where it was taken back, nothing stands that an apply has brought
    assert ring.answer("status", "--offline", expect=int(how != "confirm"))["armed"] is None
    assert ring.journal.run(1).state == ("done" if how == "confirm" else "undone")


@pytest.mark.daily
@pytest.mark.parametrize("how", few(["rollback", "resume"], 1))
def test_a_command_killed_in_the_middle_of_its_change_still_asks_for_the_confirmation(ring, how):
    ring.hold_back("s1", line=f"^{pvid_line(ring, 2)}$")
    begun = ring.start("apply", "change", "--confirm", "1h")
    ring.until_held_back(begun, "s1")
    end_watchdog(ring.runs)
    begun.kill()
    begun.communicate()
    process.mend(ring.rack)
    until(lambda: not at_work(ring.runs))  # its Ansible goes on for a moment, while there is nothing to type
    page = ring.answer("status", "--offline", expect=1)
    assert (page["armed"]["state"], page["next"]) == ("under way", f"tagloom apply --resume -i {ring.rack}")
    assert "is under way" in ring.answer("confirm", expect=1)["witness"]
    if how == "rollback":
        ring.answer("rollback")
        assert ring.standing(ring.running(), 0)
    else:
        begun = ring.start("apply", "--resume")
        until_it_waits(ring, begun)
        assert ring.answer("confirm")["confirmed"]
        begun.communicate()
        assert begun.returncode == 0
        assert ring.standing(ring.running(), 3)
    assert ring.answer("status", "--offline", expect=int(how == "rollback"))["armed"] is None


@pytest.mark.daily
def test_a_change_that_fails_is_taken_back_at_once_and_the_switch_is_named(ring):
    before = ring.running()
    process.quirks(ring.rack, {"s1": {"reject_line": f"^{pvid_line(ring, 2)}$"}})
    page = ring.answer("apply", "change", "--confirm", "1h", expect=3)
    assert (page["failed"], page["confirmation"]["state"]) == (["s1"], "taken back")
    assert ring.running() == before


@pytest.mark.daily
@pytest.mark.parametrize("typed", few(["yes\n", "no\n", ""], 2))
def test_the_terminal_answers_too_and_where_it_hangs_up_the_change_is_taken_back_in_time(ring, typed):
    ours, theirs = os.openpty()
    wait = "1h" if typed else "3s"
    words = ["apply", "change", "--confirm", wait, "-i", str(ring.rack)]
    begun = subprocess.Popen(
        ["setsid", "--ctty", sys.executable, "-m", "tagloom.cli", *words],
        cwd=ring.home,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    until_it_waits(ring, begun)
    os.write(ours, typed.encode())
    if typed:
        said = b""
        while begun.poll() is None or b"confirm   " not in said:
            try:
                said += os.read(ours, 65536)
            except OSError:
                break
    os.close(ours)
    assert begun.wait() == (0 if typed == "yes\n" else 1)
    assert ring.standing(ring.running(), 3 if typed == "yes\n" else 0)


def test_what_cannot_be_taken_back_is_not_begun_with_a_confirmation(ring):
    page = ring.answer("apply", "change", "--confirm", "soon", "--on-failure", "undo", expect=2)
    assert [each["where"] for each in page["findings"]] == ["--confirm", "--on-failure"]
    held = ring.running()
    for name in NAMES:  # as they came out of their boxes
        platform = platforms.of(FABRIC.switches[FABRIC.index[name]])
        blank = SwitchEditor.blank(platform.ports).freeze()
        ring.type(name, *render_commands(platform, difference(held[name], blank), held[name]))
    page = ring.answer("apply", "old", "--confirm", "1h", "--allow", "interrupt", expect=1)
    assert page["witness"] == "the fabric would be set up in one go, from a state that does not prove"
    assert not ring.journal.runs()
    assert ring.answer("confirm", expect=1) | {"said": ""} == {
        "confirmed": False,
        "confirmation": None,
        "pending": False,
        "said": "",
        "errors": "",
    }
