"""A change that nobody confirms is taken back by a watchdog where the command that sent it is gone."""

import json
import os
import re
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from command_line import commands
from command_line.aftermath import remove_runs
from command_line.terminal import without_waits
from fabrics import make_fabric
from tagloom import pipeline
from tagloom.apply.abort import at_work
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.operate import waves
from tagloom.operate.protection import TIMER, WATCHDOG
from tagloom.operate.watchdog import WATCHDOG as FILE
from tagloom.operate.watchdog import read_watchdog
from tagloom.share import share_directory
from waiting import until
from watchdogs import ConfirmedRack, end_watchdog

pytestmark = pytest.mark.slow

TEMPLATES = share_directory() / "templates"
FABRIC = make_fabric("ring", 3, model="powerconnect-5324", extra="switches:\n  s0: {model: cisco-sg350-28}\n")
FOREVER = 3600.0
TAKES_BACK_SECONDS = 300.0  # with the wait for spanning tree, on a busy machine


class Bench(ConfirmedRack):
    """Hold a rack, and run commands on it."""

    def __init__(self, home, fabric):
        super().__init__(home)
        self.fabric = fabric
        self.order = None  # the waves of the change, where there is one
        process.up(Order(fabric, TEMPLATES), self.rack)

    def running(self, *, startup=False):
        return pipeline.parse(self.fabric, process.configurations(self.rack, startup=startup))[0]

    def shown(self):
        """Return the words of the status page."""
        done = commands.run(["status", "--offline", "-i", self.rack], self.home)
        return " ".join(done.stdout.split())

    def kill(self, begun):
        """Kill the command alone, by its id."""
        os.kill(begun.pid, signal.SIGKILL)
        begun.communicate()

    def let_time_pass(self):
        with closing(sqlite3.connect(self.journal.path)) as db, db:
            db.execute("update confirmations set seconds = 1e-3")

    def until_watched_no_more(self):
        until(lambda: read_watchdog(self.runs) is None, seconds=TAKES_BACK_SECONDS)

    def change(self):
        """Return the newest run that is an apply of the change."""
        return next(run for run in self.journal.runs() if run.source.endswith("change") and run.kind == "apply")


@pytest.fixture(scope="module")
def running_ring(tmp_path_factory):
    made = Bench(tmp_path_factory.mktemp("watched"), FABRIC)
    old, proof, texts = pipeline.plan(FABRIC, TEMPLATES)
    pipeline.write_build(old, proof, texts, made.home / "old")
    new = pipeline.plan(FABRIC, TEMPLATES, routing="tree", previous=old)[0]
    pipeline.write_rollout(new, pipeline.rollout_between(old, new), TEMPLATES, made.home / "change")
    without_waits(made.home / "change")
    made.order = waves.read_sequence(made.home / "change")
    made.answer("apply", "old", "--allow", "interrupt")
    process.keep(made.rack)
    shutil.copytree(made.runs, made.home / "kept")
    yield made
    process.down(made.rack)


@pytest.fixture
def ring(running_ring):
    """Return a rack that runs the old build, with the journal of that."""
    process.mend(running_ring.rack)
    remove_runs(running_ring.rack)
    process.restore(running_ring.rack)
    shutil.copytree(running_ring.home / "kept", running_ring.runs)
    yield running_ring
    assert read_watchdog(running_ring.runs) is None


def left_waiting(ring):
    begun = ring.start("apply", "change", "--confirm", "1h")
    ring.until_it_waits(begun)
    ring.kill(begun)


def test_a_killed_command_leaves_its_change_to_the_watchdog_which_takes_it_back_in_time(ring):
    before = ring.running()
    left_waiting(ring)
    assert ring.running() != before
    page = ring.answer("status", "--offline", expect=1)
    assert (page["watchdog"]["at_work"], page["watchdog"]["tries"], page["armed"]["state"]) == (True, 0, "waiting")
    assert "watchdog takes the change back unless it is confirmed" in ring.shown()
    ring.let_time_pass()
    ring.until_watched_no_more()
    assert ring.running() == ring.running(startup=True) == before
    assert ring.change().state == "undone"
    page = ring.answer("status", "--offline")
    assert (page["armed"], page["watchdog"], page["kind"], page["state"]) == (None, None, "rollback", "done")


def test_a_change_that_is_confirmed_in_time_stays_and_the_watchdog_ends(ring):
    left_waiting(ring)
    page = ring.answer("confirm")
    assert page["confirmed"] is True
    ring.until_watched_no_more()
    state = ring.running()
    assert all(ring.order.state_after(state[name], name, ring.order.waves) == state[name] for name in state)
    assert ring.change().state == "done"


@pytest.mark.daily
def test_a_command_killed_while_it_sends_has_its_change_taken_back_at_once(ring):
    before = ring.running()
    process.fault(ring.rack, "s1", "slow", at=2, lasts=FOREVER)
    begun = ring.start("apply", "change", "--confirm", "1h")
    until(lambda: not process.faults(ring.rack)["waiting"]["s1"], begun)
    ring.kill(begun)
    process.mend(ring.rack)
    ring.until_watched_no_more()
    assert ring.running() == ring.running(startup=True) == before
    assert all(each["reloads_in"] is None for each in process.status(ring.rack)["switches"].values())
    assert ring.change().state == "undone"


@pytest.mark.daily
def test_a_switch_with_a_timer_and_one_without_come_back_each_by_its_own_means(ring):
    before = ring.running()
    process.fault(ring.rack, "s0", "slow", at=2, lasts=FOREVER)
    begun = ring.start("apply", "change", "--confirm", "1h")
    until(lambda: not process.faults(ring.rack)["waiting"]["s0"], begun)
    end_watchdog(ring.runs)  # the computer loses its power: its Ansible ends as soon as the switch has answered
    ring.kill(begun)
    reloads = {name: each["reloads_in"] for name, each in process.status(ring.rack)["switches"].items()}
    assert {name for name, left in reloads.items() if left is not None} == {"s0"}
    assert process.elapse(ring.rack, FOREVER) == ["s0"]
    until(lambda: not at_work(ring.runs))
    process.mend(ring.rack)
    assert ring.running()["s0"] == ring.running(startup=True)["s0"]  # by its own timer
    page = ring.answer("status", "--offline", expect=1)
    assert (page["watchdog"]["at_work"], page["armed"]["state"]) == (False, "under way")
    assert "tagloom confirm --watchdog starts it again" in ring.shown()
    page = ring.answer("confirm", "--watchdog")
    assert (page["confirmed"], page["confirmation"]["state"]) == (False, "taken back")
    assert ring.running() == ring.running(startup=True) == before


def test_what_protects_each_switch_is_printed_before_a_line_is_sent(ring):
    process.fault(ring.rack, "s0", "slow", at=1, lasts=FOREVER)
    process.fault(ring.rack, "s1", "slow", at=1, lasts=FOREVER)
    begun = ring.start("apply", "change", "--confirm", "1h")
    said = ""
    while "keep this computer on, and connected to the switches" not in said:
        line = begun.stderr.readline()
        assert line
        said += line
    assert re.search(r"protect +own timer: 1 switch \(s0\)", said)
    assert re.search(r"this computer's watchdog: \d switch(es)? \(s1", said)
    process.mend(ring.rack)
    ring.until_it_waits(begun)
    ring.answer("confirm")
    page = json.loads(begun.communicate()[0])
    assert page["protection"] == {name: TIMER if name == "s0" else WATCHDOG for name in page["protection"]}
    assert set(page["changed"]) <= set(page["protection"])


@pytest.mark.daily
def test_a_watchdog_that_cannot_reach_a_switch_shows_it_and_goes_on_trying(ring):
    before = ring.running()
    left_waiting(ring)
    process.fault(ring.rack, "s2", "refuse-login", lasts=FOREVER)
    ring.let_time_pass()
    until(lambda: getattr(read_watchdog(ring.runs), "tries", 0) >= 2, seconds=TAKES_BACK_SECONDS)
    page = ring.answer("status", "--offline", expect=1)
    dog = page["watchdog"]
    assert dog["error"].startswith("s2 at 'login': refused")
    assert dog["tried_at"] < dog["gives_up_at"]
    assert (dog["at_work"], dog["gave_up"]) == (True, False)
    assert re.search(r"watchdog \d+ tries failed, the last at \S+: s2 at 'login': refused", ring.shown())
    assert ring.running() != before
    process.mend(ring.rack)
    ring.until_watched_no_more()
    assert ring.running() == before
    assert "s2" in (ring.runs / "watchdog.log").read_text()


def test_nothing_is_sent_where_no_watchdog_can_be_started(ring):
    before = ring.running()
    (ring.runs / FILE).mkdir()
    page = ring.answer("apply", "change", "--confirm", "1h", expect=1)
    assert "only while a watchdog runs" in page["refused"]
    assert "watchdog.log" in page["witness"]
    assert ring.running() == before
    (ring.runs / FILE).rmdir()
    assert ring.answer("status", "--offline")["armed"] is None


def test_a_first_push_that_nobody_confirms_returns_to_spanning_tree(tmp_path):
    fabric = make_fabric("ring", 3, model="powerconnect-5548", extra="")
    made = Bench(tmp_path, fabric)
    try:
        before = made.running()
        build, proof, texts = pipeline.plan(fabric, TEMPLATES)
        pipeline.write_build(build, proof, texts, made.home / "change")
        begun = made.start("apply", "change", "--confirm", "1h")
        made.until_it_waits(begun)
        assert not any(held.spanning_tree for held in made.running().values())
        made.kill(begun)
        made.let_time_pass()
        made.until_watched_no_more()
        assert made.running() == before
        assert all(held.spanning_tree for held in before.values())
        assert made.change().state == "undone"
        assert Path(made.runs / "watchdog.log").exists()
    finally:
        process.down(made.rack)
