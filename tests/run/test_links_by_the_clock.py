"""Links go off by the clock without traffic data, from what really runs: after a push, a rollback, a failed run."""

import json

import pytest

from command_line.terminal import Terminal
from tagloom import pipeline
from tagloom.lab import process
from tagloom.read import read_fabric

pytestmark = pytest.mark.slow

NIGHT = 'dwell_seconds: 0\nrules: [{when: "0 0 * * *", off: [s0:g2, s1:g4]}]\n'
DAY = 'dwell_seconds: 0\nrules: [{when: "0 0 * * *", off: []}]\n'


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Start a ring of three with two links between neighbors, that runs a build; plan one with half of them off."""
    terminal = Terminal(tmp_path_factory.mktemp("clock"))
    (terminal.home / "night.yml").write_text(NIGHT)
    (terminal.home / "day.yml").write_text(DAY)
    with terminal.double_ring(3):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal whose rack runs the build, without any state of a timetable."""
    running.fresh()
    for path in (running.rack / "run").glob("*"):
        if path.is_file():
            path.unlink()
    return running


def once(terminal, table, *words, expect=0):
    page = terminal.answer("run", table, "--once", "--no-watch", *words, expect=expect)
    return [each["text"] for each in page.get("told", [])]


def off(terminal):
    """Count the links that are off at both ends."""
    fabric = read_fabric(terminal.home / "f.yml")
    state = pipeline.parse(fabric, process.configurations(terminal.rack))[0]
    ends = [((link.a, link.a_port), (link.b, link.b_port)) for link in fabric.links]
    return sum(all(not state[fabric.switches[s].name].enabled[p - 1] for s, p in both) for both in ends)


def test_a_change_by_the_clock_is_a_run_like_any_other_and_is_followed_and_taken_back(terminal):
    assert once(terminal, "day.yml") == [
        f"{terminal.home}/b runs, by the journal: 0 of 6 links off",
        "all-on: remembered; the switches hold it still",
    ]
    assert once(terminal, "night.yml") == ["off s0:g2, s1:g4: 2 of 6 links off (the timetable); changed 3 switches"]
    assert off(terminal) == 2
    assert process.ping(terminal.rack)["lost"] == 0
    page = terminal.answer("status", expect=0)
    assert page["source"] == str(terminal.rack / "run" / "build")
    terminal("plan", "f.yml", "--off", "s0:g2", "s1:g4", "-o", "follows", "--force", "--protect", "none")
    followed = terminal.answer("apply", "follows", "--check")
    assert (followed["changed"], followed["pending"]) == ([], False)
    terminal("rollback")
    assert off(terminal) == 0
    told = once(terminal, "night.yml")
    assert told[0] == f"{terminal.home}/b runs, by the journal: 0 of 6 links off"
    assert told[1].startswith("off s0:g2, s1:g4: 2 of 6 links off (the timetable); changed 3 switches")
    assert once(terminal, "day.yml")[-1] == "all-on: 0 of 6 links off (the timetable); changed 3 switches"
    check = terminal.answer("apply", "b", "--check")
    assert (check["changed"], check["pending"]) == ([], False)  # the paths and VLANs of before the night


@pytest.mark.daily
def test_a_timetable_starts_from_the_build_that_was_applied_last(terminal):
    terminal("apply", "night")
    assert once(terminal, "day.yml", "--check") == [
        f"{terminal.home}/night runs, by the journal: 3 of 6 links off",
        "would change to all-on: 0 of 6 links off (the timetable)",
    ]
    assert not (terminal.rack / "run" / "state.db").exists()
    told = once(terminal, "night.yml", "--check")
    assert told[1] == "would change to off s0:g2, s1:g4: 2 of 6 links off (the timetable)"
    assert once(terminal, "day.yml")[-1] == "all-on: 0 of 6 links off (the timetable); changed 3 switches"
    assert off(terminal) == 0


def test_a_timetable_refuses_to_begin_where_a_push_is_unfinished(terminal):
    process.quirks(terminal.rack, {"s2": {"reject_line": "shutdown"}})
    terminal("apply", "night", expect=3)
    process.quirks(terminal.rack, {"s2": {"reject_line": ""}})
    before = process.configurations(terminal.rack)
    for more in ((), ("--check",)):
        page = terminal.answer("run", "day.yml", "--once", "--no-watch", *more, expect=1)
        assert page["advice"] == ["apply --resume", "rollback"]
        assert "stands in wave" in page["witness"]
    assert process.configurations(terminal.rack) == before
    terminal("rollback")
    assert once(terminal, "day.yml")[-1] == "all-on: remembered; the switches hold it still"


@pytest.mark.daily
def test_a_remembered_list_that_the_timetable_lacks_now_is_found_by_the_journal(terminal):
    once(terminal, "night.yml")
    told = once(terminal, "day.yml")
    assert told[0] == f"{terminal.rack / 'run' / 'build'} runs, by the journal: 2 of 6 links off"
    assert told[1] == "all-on: 0 of 6 links off (the timetable); changed 3 switches"


def test_a_change_reads_each_switch_once_and_opens_sessions_only_for_lines(terminal):
    """What made a change slow (benchmarks/results/clock.md): switches read twice, waves without lines, idle waits."""
    once(terminal, "day.yml")
    seen = set(terminal.runs.glob("*-check"))
    once(terminal, "night.yml")
    (reading,) = set(terminal.runs.glob("*-check")) - seen
    assert sorted(path.name for path in (reading / "outcomes").iterdir()) == ["1.s0.json", "1.s1.json", "1.s2.json"]
    pushed = max(terminal.runs.glob("*-apply*/outcomes"), key=lambda each: each.stat().st_mtime_ns).parent
    order = json.loads((pushed / "order.json").read_text())
    sent = {}
    for path in (pushed / "outcomes").iterdir():
        outcome = json.loads(path.read_text())
        sent.setdefault(str(outcome["number"]), {})[outcome["switch"]] = outcome["sent"]
    assert {number: sorted(of) for number, of in sent.items()} == {
        number: sorted(wave["switches"]) for number, wave in order["waves"].items()
    }
    assert all(lines for wave in sent.values() for lines in wave.values())
    moves = {n for n, wave in sent.items() if any("pvid" in line for lines in wave.values() for line in lines)}
    assert {n for n, wave in order["waves"].items() if wave["drain_seconds"]} == moves


@pytest.mark.daily
def test_a_wave_that_raises_links_waits_no_longer_than_until_snmp_shows_them_up(terminal):
    """Of an hour that a slow port might take, nothing is waited."""
    terminal("apply", "night")
    terminal("rollout", "night", "b", "-o", "back", "--force")
    path = terminal.home / "back" / "rollout.json"
    page = json.loads(path.read_text())
    raising = [wave for wave in page["waves"] if wave["until_up"]]
    assert raising == page["waves"][:1]
    raising[0]["drain_seconds"] = 3600.0
    path.write_text(json.dumps(page))
    terminal("apply", "back")
    assert off(terminal) == 0
    terminal("rollback")
    assert off(terminal) == 3
