"""A change that is to be confirmed has switches reload from what they have saved, unless their lines go well."""

import json
import os
import re
import shutil
import signal
from dataclasses import asdict
from pathlib import Path

import pytest

from command_line import commands
from command_line.aftermath import remove_runs
from command_line.terminal import without_waits
from fabrics import make_fabric
from tagloom import pipeline, platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access
from tagloom.apply.abort import at_work
from tagloom.apply.scheduled_reloads import ScheduledReloads
from tagloom.lab import process
from tagloom.lab.device import Quirks
from tagloom.lab.directory import Order
from tagloom.operate import waves
from tagloom.operate.protection import TIMER, WATCHDOG, protection_of, protection_sentences
from tagloom.share import share_directory
from tagloom.verify import Plan, verify
from thinned import few
from waiting import until
from watchdogs import ConfirmedRack, end_watchdog

pytestmark = pytest.mark.slow

TEMPLATES = share_directory() / "templates"
FABRIC = make_fabric("ring", 3, model="cisco-sg350-28", extra="switches:\n  s2: {model: powerconnect-5324}\n")
CISCOS = ("s0", "s1")
FOREVER = 3600.0
UNKNOWN = "none: no words for it are known of its family"


class Ring(ConfirmedRack):
    """A rack of two Ciscos and a 5324 that runs one build, the rollout to another, and the commands for it."""

    def __init__(self, home):
        super().__init__(home)
        old, proof, texts = pipeline.plan(FABRIC, TEMPLATES)
        pipeline.write_build(old, proof, texts, home / "old")
        new, proof, texts = pipeline.plan(FABRIC, TEMPLATES, routing="tree", previous=old)
        pipeline.write_build(new, proof, texts, home / "new")
        pipeline.write_rollout(new, pipeline.rollout_between(old, new), TEMPLATES, home / "change")
        without_waits(home / "change")
        self.order = waves.read_sequence(home / "change")
        self.info = process.up(Order(FABRIC, TEMPLATES), self.rack)
        self.answer("apply", "old", "--allow", "interrupt")

    @property
    def written_down(self):
        return [each.switch for each in ScheduledReloads(self.journal).all()]

    @property
    def scheduled(self):
        """Return the switches of the rack that will reload."""
        shown = process.status(self.rack)["switches"]
        return [name for name, each in shown.items() if each["reloads_in"] is not None]

    def running(self, *, startup=False):
        return pipeline.parse(FABRIC, process.configurations(self.rack, startup=startup))[0]

    def proves(self, *, alone=""):
        """Return whether the rack's state has no loop and no cycle; `alone` is a switch that is no longer there."""
        fabric = FABRIC.with_links_up()
        if alone:
            fabric = fabric.with_switches_down({fabric.index[alone]})
        found = verify(fabric, self.running(), Plan(duplicates_allowed=True))
        return found.storm_free and found.deadlock_free

    def standing(self, wave):
        state = self.running()
        return all(state[name] == self.order.state_after(state[name], name, wave) for name in state)

    def hold_back(self, name):
        """Let a switch take its second line of configuration only once mended."""
        process.fault(self.rack, name, "slow", at=2, lasts=FOREVER)

    def until_held_back(self, begun, name):
        until(lambda: not process.faults(self.rack)["waiting"][name], begun)

    def first(self):
        """Return the first Cisco that the change sends lines to, and the wave in which it does."""
        for number in range(1, self.order.waves + 1):
            for name in CISCOS:
                if self.order.states[number][name] != self.order.states[number - 1][name]:
                    return name, number
        raise AssertionError("the change leaves the Ciscos alone")

    def lose_the_computer(self, begun):
        """End a command and all that it has started at once, as a computer does that loses its power."""
        end_watchdog(self.rack / "runs")
        theirs = [begun.pid]
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "cmdline").read_text()
            except OSError:
                continue
            if f"{self.rack}/tagloom.yml" in words and "ansible" in words:
                theirs.append(int(place.name))
        for pid in theirs:
            os.kill(pid, signal.SIGKILL)
        begun.communicate()
        until(lambda: not at_work(self.rack / "runs"))


@pytest.fixture(scope="module")
def running_ring(tmp_path_factory):
    made = Ring(tmp_path_factory.mktemp("ring"))
    process.keep(made.rack)
    shutil.copytree(made.rack / "runs", made.home / "kept")
    yield made
    process.down(made.rack)


@pytest.fixture
def ring(running_ring):
    """Return a rack that runs the old build, with the journal of that."""
    process.mend(running_ring.rack)
    process.quirks(running_ring.rack, {"*": asdict(Quirks())})
    remove_runs(running_ring.rack)
    process.restore(running_ring.rack)
    shutil.copytree(running_ring.home / "kept", running_ring.rack / "runs")
    for name in CISCOS:
        process.play(running_ring.rack, name, None)
    return running_ring


def reloads_of(page):
    return {each["switch"]: each["reload"] for each in page["outcomes"] if each["sent"]}


def test_switches_are_armed_before_their_first_line_and_disarmed_after_their_last(ring):
    name, _ = ring.first()
    ring.hold_back(name)
    begun = ring.start("apply", "change", "--confirm", "1h")
    ring.until_held_back(begun, name)
    assert name in ring.scheduled
    left = process.status(ring.rack)["switches"][name]["reloads_in"]
    assert 3500 < left <= 3600  # as --confirm says
    page = ring.answer("status", "--offline", expect=1)
    assert name in [each["switch"] for each in page["reloads"]]
    assert re.search(rf"armed +{name} reloads from what it has saved by", commands_said(ring))
    process.mend(ring.rack)
    ring.until_it_waits(begun)
    assert (ring.scheduled, ring.written_down) == ([], [])  # all is saved, and waits for tagloom's own way back
    assert ring.answer("confirm")["confirmed"]
    out, _ = begun.communicate()
    page = json.loads(out)
    assert begun.returncode == 0
    assert {each for name, each in reloads_of(page).items() if name in CISCOS} == {"called off"}
    assert set(reloads_of(page).values()) <= {"called off", UNKNOWN}
    assert (ring.scheduled, ring.written_down, ring.standing(ring.order.waves)) == ([], [], True)


def commands_said(ring):
    return commands.run(["status", "--offline", "-i", ring.rack], ring.home).stdout


@pytest.mark.daily
def test_nothing_is_armed_once_the_change_is_taken_back(ring):
    before = ring.running()
    page = ring.answer("apply", "change", "--confirm", "1s", expect=1)
    assert page["confirmation"]["state"] == "taken back"
    assert (ring.scheduled, ring.written_down, ring.running()) == ([], [], before)
    assert ring.running(startup=True) == before


@pytest.mark.daily
@pytest.mark.parametrize("what", few(["a line is refused", "a line is not done", "it is stopped at once"], 0))
def test_what_fails_in_a_session_that_stands_is_disarmed(ring, what):
    name, _ = ring.first()
    before = ring.running()
    if what == "it is stopped at once":
        ring.hold_back(name)
        begun = ring.start("apply", "change", "--confirm", "1h")
        ring.until_held_back(begun, name)
        assert name in ring.scheduled
        abort = ring.start("abort", "--now")
        until(lambda: [*(ring.rack / "runs").glob("*/stop-now")], begun)
        process.mend(ring.rack)
        abort.communicate()
        begun.communicate()
        assert begun.returncode == 1
    else:
        quirk = "reject_line" if what == "a line is refused" else "ignore_line"
        process.quirks(ring.rack, {name: {quirk: "^switchport general pvid"}})
        ring.answer("apply", "change", "--confirm", "1h", expect=3)
        process.quirks(ring.rack, {name: {quirk: ""}})
    assert (ring.scheduled, ring.written_down) == ([], [])
    if what == "it is stopped at once":
        assert ring.answer("rollback")["state"] == "done"
    assert ring.running() == before


@pytest.mark.daily
@pytest.mark.parametrize("then", few(["it reloads", "resume", "rollback"], 0))
def test_a_computer_lost_with_switches_armed_leaves_a_proven_state_whatever_comes_next(ring, then):
    name, wave = ring.first()
    ring.hold_back(name)
    begun = ring.start("apply", "change", "--confirm", "1h")
    ring.until_held_back(begun, name)
    ring.lose_the_computer(begun)
    process.mend(ring.rack)
    assert name in ring.scheduled
    assert name in ring.written_down
    armed = ring.scheduled
    if then == "it reloads":
        saved = ring.running(startup=True)
        assert process.elapse(ring.rack, 3600) == armed
        state = ring.running()
        for each in armed:  # an end of the wave, which every state of it was proven with
            assert state[each] == saved[each]
            # one that is not held back may have saved all, and not have been told yet that its reload is called off
            ends = (wave - 1,) if each == name else (wave - 1, wave)
            assert any(state[each] == ring.order.state_after(state[each], each, end) for end in ends)
            assert not ring.order.drifted_cells(state[each], each, wave)
        assert ring.proves()
        assert all(ring.proves(alone=each) for each in armed)  # while it starts
        assert ring.scheduled == []
    page = ring.answer("status", "--offline", expect=1)
    written = ring.written_down  # before a switch is told
    assert [each["switch"] for each in page["reloads"]] == written
    assert {*armed} <= {*written}
    assert page["next"] == f"tagloom apply --resume -i {ring.rack}"
    if then == "resume":
        ring.answer("apply", "--resume", "--check")  # which changes nothing
        assert (ring.scheduled, ring.written_down) == (armed, written)
    if then == "resume":
        begun = ring.start("apply", "--resume")
        ring.until_it_waits(begun)
        assert (ring.scheduled, ring.written_down) == ([], [])
        assert ring.answer("confirm")["confirmed"]
        assert "is called off" in begun.communicate()[1]
        assert ring.standing(ring.order.waves)
    else:
        assert "is called off" in ring.answer("rollback")["said"]
        assert ring.standing(0)
    assert (ring.scheduled, ring.written_down) == ([], [])


def test_a_switch_that_its_lines_cut_off_comes_back_by_its_reload(ring):
    name, wave = ring.first()
    before = ring.running()
    process.fault(ring.rack, name, "refuse-login", at=2)
    process.fault(ring.rack, name, "drop-before", at=3)
    page = ring.answer("apply", "change", "--confirm", "1h", expect=3)
    end_watchdog(ring.rack / "runs")  # which would take the change back once the switch answers
    (outcome,) = [each for each in page["outcomes"] if each["switch"] == name and each["reload"]][:1]
    assert outcome["reload"].startswith("reloads at ")
    assert "from what it held before the wave" in outcome["error"]
    assert (ring.scheduled, ring.written_down) == ([name], [name])
    assert process.elapse(ring.rack, 3600) == [name]
    process.mend(ring.rack)
    state = ring.running()
    assert state[name] == ring.order.state_after(state[name], name, wave - 1)
    assert ring.proves()
    ring.answer("rollback")
    assert (ring.running(), ring.written_down) == (before, [])


def test_a_switch_that_does_not_offer_the_words_or_reloads_for_others_is_not_armed(ring, tmp_path):
    name, _ = ring.first()
    other = next(each for each in CISCOS if each != name)
    access = Access(
        "127.0.0.1", ring.info.ports[other], "lab", "lab", known_hosts=str(ring.rack / "known_hosts"), fast_cli=True
    )
    with connect(other, platforms.of(FABRIC.switches[FABRIC.index[other]]), access) as console:
        assert console.why_no_reload() == ""
        assert console.schedule_reload(600) == ""
        assert console.why_no_reload().startswith("somebody else has scheduled one")
    page = {"context": "", "kind": "help", "typed": "reload ", "answer": ["  <cr>"], "seconds": 0.0}
    transcript = {"format": 1, "model": "cisco-sg350-28", "family": "cbs350", "firmware": "1.0.0", "tagloom": "0"}
    (tmp_path / "old.json").write_text(json.dumps(transcript | {"manners": {}, "pages": [page]}))
    process.play(ring.rack, name, tmp_path / "old.json")
    begun = ring.start("apply", "change", "--confirm", "1h")
    ring.until_it_waits(begun)
    assert ring.scheduled == [other]  # theirs
    ring.answer("confirm")
    said = reloads_of(json.loads(begun.communicate()[0]))
    assert said[name] == "none: reload ? does not offer in, cancel"
    if other in said:
        assert said[other].startswith("none: somebody else has scheduled one")
    assert ring.scheduled == [other]


@pytest.mark.daily
def test_what_a_switch_runs_and_has_not_saved_is_saved_before_it_is_armed(ring):
    name, wave = ring.first()
    platform = platforms.of(FABRIC.switches[FABRIC.index[name]])
    access = Access(
        "127.0.0.1", ring.info.ports[name], "lab", "lab", known_hosts=str(ring.rack / "known_hosts"), fast_cli=True
    )
    with connect(name, platform, access) as console:
        console.send(["hostname renamed"])  # others' line, not saved
    ring.hold_back(name)
    begun = ring.start("apply", "change", "--confirm", "1h")
    ring.until_held_back(begun, name)
    ring.lose_the_computer(begun)
    process.mend(ring.rack)
    assert name in process.elapse(ring.rack, 3600)
    assert "hostname renamed" in process.configurations(ring.rack)[name]
    state = ring.running()
    assert state[name] == ring.order.state_after(state[name], name, wave - 1)


@pytest.mark.parametrize("model", [model for model in platforms.models() if platforms.load(model).netmiko_driver])
def test_every_model_that_is_pushed_to_is_protected_by_its_own_timer_or_by_the_watchdog(model):
    fabric = make_fabric("mesh", 2, model=model)
    timed = "cisco" in model
    assert protection_of(fabric, ["s0"]) == {"s0": TIMER if timed else WATCHDOG}
    first, last = protection_sentences(protection_of(fabric, ["s0"]))
    assert first.startswith("own timer: 1 switch (s0)" if timed else "this computer's watchdog: 1 switch (s0)")
    assert "keep this computer on" in last


def test_many_switches_are_counted_and_the_first_named():
    first, *_ = protection_sentences({f"s{number}": WATCHDOG for number in range(20)})
    assert "20 switches (s0, s1, s2, s3, s4, s5, s6, s7 and 12 more)" in first
    assert protection_sentences({}) == ()


def test_the_preview_names_what_protects_each_switch(ring):
    page = ring.answer("apply", "change", "--confirm", "1h", "--check")
    assert page["protection"] == {name: TIMER if name in CISCOS else WATCHDOG for name in page["changed"]}
    assert page["next"] == "" or "--confirm 1h" in page["next"]
    shown = commands.run(["apply", "change", "--confirm", "1h", "--check", "-i", ring.rack], ring.home).stdout
    words = " ".join(shown.split())
    assert "tagloom apply change --confirm 1h" in words
    assert re.search(r"^protect   own timer: ", shown, re.MULTILINE)
    assert "this computer's watchdog: 1 switch (s2)" in words
    assert "keep this computer on, and connected to the switches" in words
    assert ring.answer("apply", "change", "--check")["protection"] == {}
