"""Faults in the middle of a rollout while all hosts send: none costs a frame but its own, and all are mended."""

import os
import random
import resource
import signal
import subprocess
import time
from collections import Counter

import pytest

from command_line.loaded import family
from stage import BAD, command, kill, tagloom
from tagloom.lab import process
from thinned import few

pytestmark = pytest.mark.slow

LINES = 18 + 3 + 3  # that configure one switch of the ring, in its three waves

# What strikes at a line, by whether the apply can end well all the same, and how it is got over.
AT_A_LINE = [
    ("drop-inside", {}, "rollback"),
    ("ignore", {}, "resume"),
    ("late", {"lasts": 30.0}, "rollback"),
    ("reboot", {"lasts": 2.0}, "resume"),
    ("cable", {"port": "g2"}, "resume"),
    ("drop-before", {}, "resume"),
    ("drop-after", {}, "resume"),
    ("reject", {}, "rollback"),
    ("no-echo", {}, "resume"),
    ("garble", {}, "rollback"),
    ("slow", {"lasts": 30.0}, "resume"),
    ("refuse-login", {}, "resume"),
    ("lock", {}, "rollback"),
]
HARMS = {"reboot", "cable"}  # frames may be lost to these
FORGET = {"reboot", "ignore"}


def recover(stage, how):
    """Get over what happened, once the fault is gone, and see that the fabric is where it should be."""
    process.mend(stage.rack)
    words = ("apply", "--resume") if how == "resume" else ("rollback",)
    page = stage(*words)
    assert page["failed"] == []
    stage.check_end("r/build" if how == "resume" else "a")


@pytest.mark.parametrize(("kind", "how", "way"), few(AT_A_LINE, 0, 3), ids=[kind for kind, _, _ in AT_A_LINE])
def test_a_fault_at_a_line_of_the_rollout(ring, seed, kind, how, way):
    chance = random.Random(f"{seed} {kind}")
    switch, line = chance.choice(ring.names), chance.randrange(1, LINES + 1)
    if kind == "cable":
        switch, line = "s1", 2  # the cable to s2, which both builds use
    elif kind in ("refuse-login", "lock"):
        line = min(line, 20)  # so that there is a login, and a `configure`, after it
    print(f"{kind} at line {line} of {switch}, seed {seed}")
    ring.fault(switch, kind, at=line, seed=seed, **how)
    page = ring("apply", "r", expect=(0, 3))
    (struck,) = ring.struck()
    assert (struck["switch"], struck["kind"]) == (switch, kind)
    harmless = page["failed"] == []
    # A line that only leaves a mode may be passed over by a switch without anybody's loss; a cable is not configured.
    assert page["failed"] in ([], [switch]) if kind in ("ignore", "cable") else page["failed"] == [switch]
    ring.check_journal(forgetful=[switch] if kind in FORGET else [])
    ring.check_frames(may_lose=HARMS & {kind})
    if harmless:
        process.mend(ring.rack)
        ring.check_end("r/build")
    else:
        recover(ring, way)
    ring.check_frames(may_lose=HARMS & {kind})
    ring.check_sessions()


@pytest.mark.daily
@pytest.mark.parametrize("policy", few(["finish", "undo"], 0))
def test_a_switch_that_stays_away_is_left_behind_or_waited_for(ring, policy):
    """s2 goes down in the flip wave and does not come back while the command runs."""
    ring.fault("s2", "reboot", at=20, lasts=600.0)
    page = ring("apply", "r", "--on-failure", policy, expect=(3,))
    assert page["failed"] == ["s2"]
    if policy == "finish":  # the flip wave is left to s2; of the last, what its host may still need stays
        assert page["wave"] == 3
        assert page["remarks"][0].startswith("finished what can be without s2, up to wave 3 of 3; left on ")
    ring.check_journal(forgetful=["s2"])
    ring.check_frames(may_lose={"reboot"})
    process.mend(ring.rack)
    process.traffic(ring.rack, "start")
    ping = process.ping(ring.rack)
    assert (ping["lost"], ping["storm"], ping["duplicated"]) == (0, "", []), "back from its startup configuration"
    recover(ring, "resume" if policy == "finish" else "rollback")
    ring.check_frames()


def test_a_wave_is_undone_around_a_switch_that_has_done_it_and_is_then_out_of_reach(ring):
    """s1 refuses its line of the flip wave, and s3, which took it, refuses every login after it."""
    ring.fault("s1", "reject", at=20)
    ring.fault("s3", "refuse-login", at=21)
    page = ring("apply", "r", "--on-failure", "undo", expect=(3,))
    assert page["remarks"] == ["wave 2 was undone on 2 switches; s3 could not be reached"]
    assert (page["failed"], page["state"], page["wave"]) == (["s1"], "stopped", 2)
    ring.check_frames()
    here, flipped, before = (ring.read(texts) for texts in (process.configurations(ring.rack), *ring.texts_of(2, 1)))
    assert not ring.missing("s3", here["s3"], flipped["s3"])
    assert not any(ring.missing(name, here[name], before[name]) for name in ("s0", "s1", "s2"))
    recover(ring, "rollback")
    ring.check_frames()
    ring.check_sessions()


# --- hosts that are paused on purpose ---------------------------------------------------------------------------------


def lost_by_wave(stage, begun):
    """Watch a run: give how many frames were lost while the journal stood in one wave, by wave, and between two."""
    lost, inside, between = 0, Counter(), Counter()
    while True:
        over = begun.poll() is not None
        first, page, then = stage.wave(), process.traffic(stage.rack, "report"), stage.wave()
        (inside if first == then else between)[first] += page["lost"] - lost
        lost = page["lost"]
        if over:
            return inside, between
        time.sleep(0.02)


@pytest.mark.daily
def test_a_pause_is_announced_and_costs_frames_in_itself_alone(ring):
    """What hosts send between the wave that silences them and the one that lets them speak is dropped as it enters."""
    tagloom(ring.home, "rollout", "a", "b", "-o", "paused", "--strategy", "drain", "--allow", "drain")
    page = ring.without_waits("paused")
    names, seconds = [wave["name"] for wave in page["waves"]], page["downtime_seconds"]
    assert seconds > 0
    refused = ring("apply", "paused", expect=(1,))
    assert f"pauses them for about {seconds:.0f} s" in refused["witness"]
    assert ring.differences("a") == {}, "nothing was sent"
    ring.check_frames()

    begun = ring.start("apply", "paused", "--allow", "drain")
    inside, between = lost_by_wave(ring, begun)
    assert begun.wait() == 0, (ring.home / "started.log").read_text()
    assert f"pausing   hosts for about {seconds:.0f} s" in (ring.home / "started.log").read_text()
    silent = {names.index("pause") + 1, names.index("resume") + 1}
    assert sum(inside.values()) + sum(between.values()) > 0, "hosts were paused"
    assert {wave for wave, lost in inside.items() if lost} <= silent
    assert {wave for wave, lost in between.items() if lost} <= silent | {min(silent) - 1}
    found = process.traffic(ring.rack, "report")
    assert [found[each] for each in BAD if each != "lost"] == [0] * (len(BAD) - 1), found["witnesses"][:5]
    assert {len(each["path"]) for each in found["witnesses"]} == {0}, "each was dropped as it entered"
    ring.check_end("paused/build")
    process.traffic(ring.rack, "start")
    ring.check_frames()


# --- people with hands ------------------------------------------------------------------------------------------------


@pytest.mark.daily
def test_members_changed_by_hand_are_shown_and_kept_where_that_proves_and_else_overwritten(ring):
    ring.type("s0", "interface ethernet g3", "switchport general allowed vlan add 1 untagged", "exit")
    before = process.configurations(ring.rack)
    member = {"where": "s0: VLAN 1 g3 member", "expected": "none", "actual": "untagged"}
    assert ring("apply", "r", expect=(1,))["drift"] == [member]
    assert process.configurations(ring.rack) == before, "nothing was sent"
    page = ring("apply", "r", "--drift", "keep")
    assert (page["state"], page["waves"]) == ("done", 3)
    assert page["remarks"] == ["changed by hand, kept: s0: VLAN 1 g3 member: expected none, actual untagged"]
    (left,) = ring.differences("r/build")["s0"]
    assert (left.cell, left.vlan, left.port) == ("member", 1, 3)
    assert ring.differences("r/build") == ring.differences("r/build", startup=True) == {"s0": (left,)}
    ring.check_frames()

    page = ring("apply", "r", expect=(1,))
    assert page["refused"].startswith("a rollout is applied where it starts from"), "nobody's hand, but a run, was here"

    ring.type("s1", "interface ethernet g1", "switchport general allowed vlan remove 102", "exit")
    assert process.ping(ring.rack)["lost"] > 0, "whoever did this has cut pairs off"
    before = process.configurations(ring.rack)
    page = ring("apply", "r/build", expect=(1,))
    assert [each["where"] for each in page["drift"]] == [member["where"], "s1: VLAN 102 g1 member"]
    page = ring("apply", "r/build", "--drift", "keep", expect=(1,))
    assert page["refused"] == "what was changed by hand is kept only where the fabric proves with it"
    assert process.configurations(ring.rack) == before, "nothing was sent"
    assert ring("apply", "r/build", "--drift", "overwrite")["changed"] == ["s0", "s1"]
    ring.check_end("r/build")
    process.traffic(ring.rack, "start")
    ring.check_frames()


@pytest.mark.long
def test_a_disk_that_is_full_stops_a_rollout_before_a_line_is_sent(pair):
    """The files the controller writes may not grow, as on a disk that is full: EFBIG stands for ENOSPC."""

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = subprocess.run(
        command("apply", "r", "-i", "inventory", "--json"),
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},  # compiled modules would be cut short
        cwd=pair.home, preexec_fn=full, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (2, 3), (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert pair.differences("a") == {}
    pair.check_frames()
    pair("apply", "r")
    pair.check_end("r/build")
    pair.check_frames()


@pytest.mark.parametrize("who", few(["controller", "worker", "speaker", "everything"], 2))
def test_killed_at_a_line(pair, seed, who):
    """A sample; `sweep.py` takes every command there is."""
    chance = random.Random(f"{seed} {who}")
    switch, hold = chance.choice(pair.names), chance.choice(["slow", "late"])
    kill_at(pair, who, switch, hold, chance.randrange(1, 16), "")


def kill_at(stage, who, switch, hold, at, line):
    """Kill somebody while a switch holds a line back (slow) or its answer (late), then resume; tell how it went."""
    print(f"kill -9 of {who} while {switch} is {hold} at line {at} {line}")
    stage.fault(switch, hold, at=at, line=line, lasts=600.0)
    running = stage.start("apply", "r")
    try:
        if not stage.wait_for_strike(running):
            assert running.wait() == 0
            return "not reached"
        if who == "controller":
            kill([running.pid])
        elif who == "everything":
            kill(family(running.pid))
        else:
            found = getattr(stage, who)(running.pid, switch)
            assert found or stage.struck()[-1]["line"] == "exit", "nobody talks to it, and nobody has logged out"
            kill(found)
        process.mend(stage.rack)
        running.wait()
    finally:
        if running.poll() is None:
            kill(family(running.pid))
            running.wait()
    run = stage.check_journal() if who == "everything" else None
    page = stage("apply", "--resume", expect=(0, 2))
    if page.get("findings"):
        assert "interrupted" in page["findings"][0]["expected"] + page["findings"][0]["where"], page
        assert stage.differences("a") == {} or stage.differences("r/build") == {}
        stage("apply", "r")
    stage.check_end("r/build")
    stage.check_frames()
    stage.check_sessions()
    return f"in wave {run.wave}" if run else "recovered"
