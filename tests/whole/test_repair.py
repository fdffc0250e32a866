"""A cable that is pulled and a switch that dies: tagloom repair names them and restores every pair that it can."""

import json
import signal
import socket
import sys
from contextlib import contextmanager

import pytest

from command_line import commands
from command_line.terminal import Terminal
from tagloom.apply.abort import JOURNAL
from tagloom.apply.journal import SAVED, Journal
from tagloom.apply.run_states import DONE
from tagloom.lab import process
from tagloom.platforms.port_names import link_ends
from tagloom.read import read_fabric
from waiting import until

REPAIRED = ("dead_links", "dead_switches", "pairs_cut", "pairs_restored", "pairs_apart", "means")
CABLE, SECOND = "s3:g3 - s0:g1", "s3:g4 - s0:g2"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Start a ring of four with two links between neighbours, that runs a build; plan one with half of them off."""
    terminal = Terminal(tmp_path_factory.mktemp("repair"))
    with terminal.double_ring(4):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal whose rack runs the build, with nothing dead."""
    return running.fresh()


def seen(page):
    return [page[key] for key in REPAIRED]


def lost(terminal, **how):
    return terminal.answer("lab", "ping", **how)["lost"]


@pytest.mark.slow
def test_pairs_that_a_pulled_cable_cut_off_are_restored_and_go_home_when_it_is_back(terminal):
    page = terminal.answer("repair")
    assert seen(page) == [[], [], 0, 0, 0, None]
    terminal("lab", "fault", "s0", "cable", "--port", "g2")
    cut = lost(terminal, expect=1)
    before = process.configurations(terminal.rack)
    proposed = terminal.answer("repair", "--propose", expect=1)
    assert seen(proposed) == [[SECOND], [], cut, cut, 0, "replan"]
    assert (process.configurations(terminal.rack), proposed["hitless"]) == (before, True)

    page = terminal.answer("repair")
    assert seen(page) == seen(proposed)
    assert (page["failed"], page["hitless"], page["interrupted_pairs"]) == ([], True, 0)
    assert lost(terminal) == 0
    page = terminal.answer("repair")
    assert seen(page) == [[SECOND], [], 0, 0, 0, None]

    process.mend(terminal.rack)
    preview = terminal.answer("rollback", "--check", expect=1)
    assert (preview["hitless"], preview["interrupted_seconds_max"]) == (False, None)
    assert any(SECOND in line and "tagloom repair leads paths home" in line for line in preview["remarks"])
    page = terminal.answer("repair", "--hold", "0s")
    assert (page["dead_links"], page["means"], page["hitless"]) == ([], "replan", True)
    assert lost(terminal) == 0
    assert terminal.answer("apply", "b")["changed"] == []


@pytest.mark.daily
@pytest.mark.slow
def test_a_repair_waits_for_as_long_as_hold_has_it_by_the_switches_own_clocks(terminal):
    process.fault(terminal.rack, "s0", "cable", port="g2")
    assert terminal.answer("repair")["dead_links"] == [SECOND]
    process.elapse(terminal.rack, 7200)
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "1h")  # it has been up for a moment, whenever the switches booted
    assert (page["dead_links"], page["changed"]) == ([SECOND], [])
    process.elapse(terminal.rack, 3600)
    process.fault(terminal.rack, "s0", "cable", port="g2")
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "1h")  # it went down once more
    assert (page["dead_links"], page["changed"]) == ([SECOND], [])
    process.elapse(terminal.rack, 3600)
    page = terminal.answer("repair", "--hold", "1h")
    assert (page["dead_links"], page["hitless"]) == ([], True)
    assert page["changed"] != []
    assert lost(terminal) == 0


@pytest.mark.long
def test_where_something_was_changed_by_hand_the_answer_names_what_leads_on(terminal):
    """Found by the story of seed 339: it named the same command again."""
    port = next(host.port for host in read_fabric(terminal.home / "f.yml").hosts if host.name == "h1")
    terminal.type("s1", f"interface ethernet g{port}", "switchport general pvid 1", "exit")
    process.fault(terminal.rack, "s0", "cable", port="g2")
    page = terminal.answer("repair", expect=1)
    assert (len(page["drift"]), page["changed"], page["advice"]) == (1, [], ["apply BUILD --drift overwrite"])
    first, then = page["next"].split(", then ")
    assert first.startswith("tagloom apply ")
    assert first.endswith(" --drift overwrite")
    assert terminal.answer(*first.split()[1:])["failed"] == []
    page = terminal.answer(*then.split()[1:])
    assert (page["pairs_cut"] == page["pairs_restored"], page["advice"], page["next"]) == (True, [], "")
    assert lost(terminal) == 0


@pytest.fixture
def guarded(terminal):
    """Apply a build with detours."""
    terminal("plan", "f.yml", "--protect", "link", "--previous", "b", "-o", "guarded")
    terminal("apply", "guarded")


@pytest.mark.long
@pytest.mark.usefixtures("guarded")
def test_a_detour_that_was_installed_beforehand_takes_one_wave_of_pvids(terminal):
    process.fault(terminal.rack, "s0", "cable", port="g2")
    cut = lost(terminal, expect=1)
    page = terminal.answer("repair")
    assert (page["dead_links"], page["means"], page["waves"]) == ([SECOND], "detour", 1)
    assert (page["pairs_cut"], page["pairs_restored"], page["hitless"]) == (cut, cut, True)
    assert lost(terminal) == 0
    assert terminal.answer("repair")["means"] is None
    process.mend(terminal.rack)
    assert terminal.answer("repair", "--hold", "0s")["dead_links"] == []
    assert terminal.answer("apply", "guarded")["changed"] == []


@pytest.mark.daily
@pytest.mark.slow
def test_a_detour_beside_renamed_vlans_takes_one_wave_of_pvids_and_goes_home(tmp_path):
    terminal = Terminal(tmp_path)
    terminal("new", "ring", "--dims", 4, "--parallel", 2, "-o", "f.yml")
    planned = terminal.answer("plan", "f.yml", "--protect", "link", "--assignment", "renamed", "-o", "b")
    assert (planned["assignment"], planned["unprotected"]) == ("renamed", 0)
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        home = process.configurations(terminal.rack)
        process.fault(terminal.rack, "s0", "cable", port="g2")
        cut = lost(terminal, expect=1)
        page = terminal.answer("repair")
        assert (page["dead_links"], page["means"], page["waves"]) == ([SECOND], "detour", 1)
        assert (page["pairs_cut"], page["pairs_restored"], page["hitless"]) == (cut, cut, True)
        assert lost(terminal) == 0
        process.mend(terminal.rack)
        page = terminal.answer("repair", "--hold", "0s")
        assert (page["dead_links"], page["hitless"]) == ([], True)
        assert (lost(terminal), process.configurations(terminal.rack)) == (0, home)


@pytest.mark.long
@pytest.mark.usefixtures("guarded")
def test_a_detour_does_not_overwrite_what_was_changed_by_hand_where_it_leads(terminal):
    detours = json.loads((terminal.home / "guarded" / "plan.json").read_text())["detours"]
    host = next(iter(next(each for each in detours if each["dead"] == SECOND.split(" - "))["pvids"]))
    switch = f"s{host.removeprefix('h')}"
    terminal.type(switch, "interface ethernet g5", "switchport general pvid 1", "exit")
    process.fault(terminal.rack, "s0", "cable", port="g2")
    before = process.configurations(terminal.rack)
    for _ in range(2):  # and not when it is asked again
        page = terminal.answer("repair", expect=1)
        assert [switch in each["where"] for each in page["drift"]] == [True]
    assert process.configurations(terminal.rack) == before


@pytest.mark.long
def test_links_that_slept_are_woken_and_one_that_does_not_come_up_is_led_around_too(terminal):
    terminal("apply", "night")
    process.fault(terminal.rack, "s0", "cable", port="g1")
    process.fault(terminal.rack, "s0", "cable", port="g2")  # the one that sleeps beside it: nobody can see that
    cut = lost(terminal, expect=1)
    page = terminal.answer("repair")
    assert (page["means"], page["links_woken"]) == ("wake", [SECOND])
    assert (page["dead_links"], page["pairs_cut"], page["pairs_restored"]) == ([CABLE, SECOND], cut, cut)
    assert lost(terminal) == 0
    process.mend(terminal.rack)
    assert terminal.answer("repair", "--hold", "0s")["dead_links"] == []
    assert terminal.answer("apply", "night")["changed"] == []


@pytest.mark.long
def test_a_dead_switch_is_named_and_led_around_and_joins_again_when_it_is_back(terminal):
    process.fault(terminal.rack, "s1", "reboot", lasts=3600.0)
    cut = lost(terminal, expect=1)
    page = terminal.answer("repair")
    assert (page["dead_switches"], len(page["dead_links"]), page["hosts_apart"]) == (["s1"], 4, ["h1"])
    assert (page["pairs_cut"], page["pairs_restored"], page["pairs_apart"]) == (cut, cut - 6, 6)
    assert lost(terminal, expect=1) == 6
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "0s")
    assert (page["dead_switches"], page["pairs_restored"], page["failed"]) == ([], 6, [])
    assert lost(terminal) == 0
    assert terminal.answer("apply", "b")["changed"] == []


@pytest.mark.long
def test_a_way_home_that_broke_off_at_another_switch_is_gone_on_with(tmp_path):
    terminal = Terminal(tmp_path)
    terminal("new", "torus", "--dims", 4, 4, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "b")
    terminal("lab", "up", "f.yml")
    try:
        terminal("apply", "b", "--allow", "interrupt")
        process.fault(terminal.rack, "s2", "reboot", lasts=3600.0)
        terminal("repair")
        process.mend(terminal.rack)
        process.fault(terminal.rack, "s7", "drop-after", at=3)
        page = terminal.answer("repair", "--hold", "0s", expect=3)
        assert (page["failed"], page["pairs_cut"], page["pairs_restored"]) == (["s7"], 30, 0)
        process.mend(terminal.rack)
        page = terminal.answer("repair", "--hold", "0s")
        assert (page["hitless"], page["pairs_cut"], page["pairs_restored"], page["failed"]) == (True, 30, 30, [])
        assert lost(terminal) == 0
        assert terminal.answer("apply", "b", "--check")["changed"] == []
    finally:
        process.down(terminal.rack)


@pytest.mark.long
def test_a_change_that_broke_off_is_finished_where_it_left_links_raised_at_one_end(terminal):
    terminal("apply", "night")
    process.fault(terminal.rack, "s2", "drop-after", at=2)
    assert terminal.answer("apply", "b", expect=3)["failed"] == ["s2"]
    process.mend(terminal.rack)
    proposed = terminal.answer("repair", "--propose", expect=1)
    assert len(proposed["dead_links"]) == 2
    page = terminal.answer("repair")
    assert (page["reason"], page["dead_links"], page["failed"]) == ("a change that had broken off is finished", [], [])
    assert (page["state"], lost(terminal)) == ("done", 0)
    assert terminal.answer("apply", "b", "--check")["changed"] == []


@pytest.mark.long
def test_a_torus_whose_rings_are_open_leads_around_a_dead_corner_without_a_cut(tmp_path):
    terminal = Terminal(tmp_path)
    terminal("new", "torus", "--dims", 4, 4, "-o", "f.yml")
    rings = [f"s{n}:g{port}" for n in range(4) for port in (3,)] + [f"s{4 * n}:g1" for n in range(4)]
    terminal("plan", "f.yml", "--off", *rings, "-o", "night")
    with terminal.lab("f.yml", ("apply", "night", "--allow", "interrupt")):
        process.fault(terminal.rack, "s0", "cable", port="g2")
        cut = lost(terminal, expect=1)
        page = terminal.answer("repair")
        assert (page["hitless"], page["pairs_cut"], page["pairs_restored"]) == (True, cut, cut)
        assert lost(terminal) == 0


@pytest.mark.long
def test_switches_that_were_cut_off_together_are_readmitted_only_where_their_own_pairs_may_be_cut(terminal):
    for switch, port in (("s3", "g3"), ("s3", "g4"), ("s1", "g3"), ("s1", "g4")):
        process.fault(terminal.rack, switch, "cable", port=port)
    terminal.answer("repair")
    assert lost(terminal, expect=1) == 8  # s2 and s3 go on by themselves
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "0s", expect=1)
    assert (page["hitless"], page["interrupted_pairs"], page["changed"]) == (False, 2, [])
    assert page["next"] == "tagloom repair --hold 0s --allow interrupt"
    page = terminal.answer(*page["next"].split()[1:])
    assert (page["interrupted_pairs"], page["failed"]) == (2, [])
    assert lost(terminal) == 0
    assert terminal.answer("apply", "b")["changed"] == []


@contextmanager
def begun(terminal):
    """Begin a repair, and give its process once its first wave has begun; its answer goes to a file."""
    before = runs(terminal)
    with (
        (terminal.home / "said").open("w") as said,
        commands.Begun(["repair", "--json"], terminal.home, stdout=said, stderr=None) as repair,
    ):
        until(lambda: runs(terminal) > before, repair)
        yield repair


def runs(terminal):
    """Return the number of the last run of which a wave has begun."""
    with Journal(terminal.runs / JOURNAL) as journal:
        return max(run.id for run in journal.runs() if run.wave)


@pytest.mark.long
def test_a_second_cable_that_breaks_during_a_repair_is_led_around_in_the_same_repair(terminal):
    process.fault(terminal.rack, "s0", "cable", port="g2")
    with begun(terminal) as repair:
        process.fault(terminal.rack, "s1", "cable", port="g3")
    page = json.loads((terminal.home / "said").read_text())
    assert (repair.returncode, set(page["dead_links"])) == (0, {SECOND, "s1:g3 - s2:g1"})
    assert lost(terminal) == 0


@pytest.mark.long
def test_a_repair_that_was_killed_in_the_middle_is_gone_on_with_by_the_next(terminal):
    process.fault(terminal.rack, "s0", "cable", port="g2")
    with begun(terminal) as repair:
        repair.kill()
    page = terminal.answer("repair")
    assert (page["dead_links"], page["failed"]) == ([SECOND], [])
    assert lost(terminal) == 0
    assert terminal.answer("repair")["means"] is None


@pytest.fixture
def trap_address():
    """Return where notifications may be listened to, found right before."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()


@pytest.fixture
def daemon(terminal, trap_address, request):
    """Give the events of a tagloom run that repairs by itself, as a function that waits for the next of a kind."""
    home = terminal.home
    keys = {"repair_hold_seconds": 1, "every": "2s", "repair-every": "0.5s", "settings": "all-on"}
    keys |= {key: str(value).format(*trap_address) for key, value in getattr(request, "param", {}).items()}
    every = [word for name in ("every", "repair-every") for word in (f"--{name}", keys.pop(name))]
    rule = f'{{when: "0 0 * * *", settings: {keys.pop("settings")}}}'
    more = "".join(f"{key}: {value}\n" for key, value in keys.items())
    (home / "day.yml").write_text(f"rules: [{rule}]\nrepair: auto\n{more}")
    (home / "hook.py").write_text(
        f"import sys\nwith open({str(home / 'events')!r}, 'a') as file: file.write(sys.stdin.read())\n"
    )
    (home / "events").write_text("")
    words = ["run", "day.yml", *every, "--on-event", f"{sys.executable} hook.py"]
    log = (home / "run.log").open("w")
    with log, commands.Begun(words, home, stdout=log, stderr=log) as running:

        def event(kind, count=1):
            def found():
                events = [json.loads(line) for line in (home / "events").read_text().splitlines()]
                assert not [each for each in events if each["event"] == "repair-failed"], events
                return [each for each in events if each["event"] == kind][count - 1 :]

            return until(found, running)[0]

        yield event
        running.send_signal(signal.SIGINT)
        assert running.wait() == 0, (home / "run.log").read_text()


@pytest.mark.slow
def test_a_running_timetable_repairs_by_itself_and_tells_of_it(terminal, daemon):
    until(lambda: not terminal.answer("lab", "ping", expect=0)["lost"])
    until((terminal.rack / "run" / "state.db").exists)
    process.fault(terminal.rack, "s0", "cable", port="g2")
    assert daemon("dead")["parts"] == [SECOND]
    repaired = daemon("repaired")
    assert (repaired["means"], repaired["dead_links"]) == ("replan", [SECOND])
    assert lost(terminal) == 0
    assert pushed_directly(terminal)[0] > 1
    process.mend(terminal.rack)
    assert daemon("back")["parts"] == [SECOND]
    assert daemon("repaired", 2)["dead_links"] == []
    assert lost(terminal) == 0


@pytest.mark.long
@pytest.mark.parametrize("daemon", [{"repair_hold_seconds": 1}], indirect=True)
def test_a_cable_that_loses_frames_one_way_is_noticed_where_hosts_send_and_led_around_for_good(terminal, daemon):
    until(lambda: "all-on:" in (terminal.home / "run.log").read_text())
    process.fault(terminal.rack, "s0", "one-way", port="g2")
    until(lambda: process.ping(terminal.rack)["lost"] and (terminal.home / "events").read_text())
    dead = daemon("dead")
    assert (dead["parts"], "receives nothing" in dead["why"]) == ([SECOND], True)
    assert daemon("repaired")["dead_links"] == [SECOND]
    assert lost(terminal) == 0
    assert "back" not in (terminal.home / "events").read_text()


@pytest.mark.long
@pytest.mark.parametrize("daemon", [{"repair_hold_seconds": 3600}], indirect=True)
def test_a_cable_that_flaps_moves_paths_once(terminal, daemon):
    process.fault(terminal.rack, "s0", "cable", port="g2")
    daemon("repaired")
    for count in (1, 2, 3):
        process.mend(terminal.rack)
        daemon("back", count)
        process.fault(terminal.rack, "s0", "cable", port="g2")
        daemon("dead", count + 1)
    kinds = [json.loads(line)["event"] for line in (terminal.home / "events").read_text().splitlines()]
    assert kinds.count("repaired") == 1
    assert lost(terminal) == 0


def pushed_directly(terminal):
    """Return waves and lines of the last run, which was proven, written down and backed up, all without Ansible."""
    with Journal(terminal.runs / JOURNAL) as journal:
        run, *_ = journal.runs()
        rows = journal.switches(run.id)
    assert (run.state, run.proven) == (DONE, True)
    assert {row.state for row in rows} == {SAVED}
    backups = {path.name.partition(".")[0] for path in terminal.runs.glob(f"{run.name}-apply{run.id}/backups/*.cfg")}
    assert backups == {row.switch for row in rows}
    assert not list(terminal.runs.glob(f"{run.name}-ansible.log"))
    assert process.configurations(terminal.rack, startup=True) == process.configurations(terminal.rack)
    return run.waves, {line for row in rows for line in row.lines}


NIGHT = {"settings": "night.json", "repair_hold_seconds": 3600}


@pytest.fixture
def night(terminal):
    """Apply a build with half of the links off, and write the settings that say so."""
    fabric = read_fabric(terminal.home / "f.yml")
    off = [{"ends": link_ends(fabric, i)} for i, link in enumerate(fabric.links) if link.parallel_link]
    (terminal.home / "night.json").write_text(json.dumps({"off": off}))
    terminal("apply", "night")


@pytest.mark.long
@pytest.mark.usefixtures("night")  # applied before the daemon begins
@pytest.mark.parametrize("daemon", [NIGHT], indirect=True)
def test_a_link_that_sleeps_is_woken_over_open_sessions(terminal, daemon):
    until(lambda: "night" in (terminal.home / "run.log").read_text())
    process.fault(terminal.rack, "s0", "cable", port="g1")
    repaired = daemon("repaired")
    assert (repaired["means"], repaired["links_woken"]) == ("wake", [SECOND])
    assert repaired["why"].startswith("a spare parallel link replaces the link that is down")
    assert lost(terminal) == 0
    waves, lines = pushed_directly(terminal)
    assert waves == 1
    assert not any("name" in line for line in lines)  # no VLAN is made


@pytest.mark.long
def test_a_parallel_link_takes_the_place_of_a_dead_one_by_lines_on_two_switches_until_that_is_back(terminal):
    terminal("apply", "night")
    home = process.configurations(terminal.rack)
    process.fault(terminal.rack, "s0", "cable", port="g1")
    cut = lost(terminal, expect=1)
    proposed = terminal.answer("repair", "--check", expect=1)
    page = terminal.answer("repair")
    for each in (proposed, page):
        assert (each["means"], each["links_woken"], each["changed"]) == ("wake", [SECOND], ["s0", "s3"])
        assert (each["reason"], each["hitless"], each["pairs_cut"], each["pairs_restored"]) == (
            "a spare parallel link replaces the link that is down", True, cut, cut,
        )  # fmt: skip
    assert lost(terminal) == 0
    assert terminal.answer("repair")["means"] is None  # there is no more to do
    process.mend(terminal.rack)
    assert lost(terminal) == 0  # nothing is sent over the one that is back, and nothing loops
    page = terminal.answer("repair", "--hold", "0s")
    assert (page["dead_links"], page["hitless"], page["failed"]) == ([], True, [])
    assert (lost(terminal), process.configurations(terminal.rack)) == (0, home)  # VLANs have their own ids again
    assert terminal.answer("apply", "night")["changed"] == []


HEARING = {
    "repair_hold_seconds": 3600, "traps": "{{listen: '{}:{}'}}",
    "every": "1h", "repair-every": "1h",
}  # fmt: skip


@pytest.mark.daily
@pytest.mark.slow
@pytest.mark.usefixtures("guarded")  # applied before the daemon begins, which is not told of detours
@pytest.mark.parametrize("daemon", [HEARING], indirect=True)
def test_a_trap_is_heard_and_a_detour_goes_out_over_open_sessions_without_ansible_under_the_same_journal(
    terminal, daemon, trap_address
):
    until(lambda: "detour_vlans" in kept(terminal))
    process.traps(terminal.rack, trap_address, "v3-trap")
    process.fault(terminal.rack, "s0", "cable", port="g2")
    repaired = daemon("repaired")
    assert (repaired["means"], repaired["dead_links"], repaired["pairs_restored"]) == (
        "detour", [SECOND], repaired["pairs_cut"],
    )  # fmt: skip
    assert lost(terminal) == 0
    waves, lines = pushed_directly(terminal)
    assert waves == 1
    assert any("pvid" in line for line in lines)


def kept(terminal):
    """Return what the plan of the build that a running timetable applied last says of protection."""
    plan = terminal.rack / "run" / "build" / "plan.json"
    standing = terminal.rack / "run" / "state.db"
    log = (terminal.home / "run.log").read_text()
    return json.loads(plan.read_text())["summary"] if "all-on:" in log and standing.exists() else {}
