"""A plan's own detours on the rack: pushed, rolled back, and taken by the service when a cable is pulled."""

import json
import shlex
import signal
import subprocess

import pytest

from command_line.terminal import HEARS_INTERRUPTS, Terminal
from tagloom import pipeline
from tagloom.lab import process
from waiting import until

CABLE = "s3:g4 - s0:g2"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Start a ring of four with two links between neighbours, that runs a plan as tagloom makes it by default."""
    terminal = Terminal(tmp_path_factory.mktemp("failover"))
    terminal("new", "ring", "--dims", 4, "--parallel", 2, "-o", "f.yml")
    page = terminal.answer("plan", "f.yml", "-o", "a")
    assert (page["protect"], page["unprotected"], page["vlans"]) == ("auto", 0, 2)
    with terminal.lab("f.yml", ("apply", "a", "--allow", "interrupt")):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal whose rack runs the build, with nothing dead."""
    return running.fresh()


def lost(terminal):
    return terminal.answer("lab", "ping", expect=None)["lost"]


@pytest.mark.daily
@pytest.mark.slow
def test_rollouts_lead_between_builds_with_and_without_detours_and_back(terminal):
    for name, more in (("b", ("--off", "s0:g2")), ("c", ("--protect", "none"))):
        page = terminal.answer("plan", "f.yml", "-o", name, *more)
        assert page["previous"] is not None
        page = terminal.answer("apply", name)
        assert (page["failed"], page["hitless"]) == ([], True)
        assert lost(terminal) == 0
        page = terminal.answer("rollback")
        assert (page["failed"], page["hitless"]) == ([], True)
        assert lost(terminal) == 0
    assert pipeline.read_build(terminal.home / "b").protection is not None
    terminal("apply", "c")
    page = terminal.answer("apply", "a")
    assert (page["failed"], page["hitless"]) == ([], True)
    assert lost(terminal) == 0


@pytest.mark.slow
def test_a_pulled_cable_is_repaired_by_a_detour_and_paths_return(terminal):
    process.fault(terminal.rack, "s0", "cable", port="g2")
    cut = lost(terminal)
    page = terminal.answer("repair")
    assert (page["dead_links"], page["means"], page["pairs_restored"]) == ([CABLE], "detour", cut)
    assert (page["hitless"], lost(terminal)) == (True, 0)
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "0s")
    assert (page["dead_links"], page["hitless"], lost(terminal)) == ([], True, 0)


@pytest.mark.slow
def test_the_service_repairs_without_a_word_and_status_tells_whether_it_is_there(terminal):
    """The command is that of the unit, started as systemd does."""
    page = terminal.answer("status", "--offline", expect=None)
    assert page["failover"] == "not running"
    inventory = ("-i", "inventory/lab")
    unit = terminal.answer("run", "--install-service", "--check", "--repair-every", "0.5s", *inventory)["unit"]
    (line,) = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    words, log = shlex.split(line.partition("=")[2]), (terminal.home / "run.log").open("w")
    before = process.configurations(terminal.rack)
    with log, subprocess.Popen([*HEARS_INTERRUPTS, *words], cwd=terminal.home, stdout=log, stderr=log) as service:

        def failover():
            return terminal.answer("status", "--offline", expect=None)["failover"] == "armed"

        until(failover, service)
        assert process.configurations(terminal.rack) == before, "without a timetable it leaves links as they are"
        assert "without a timetable" in terminal("status", "--offline", expect=None)
        process.fault(terminal.rack, "s0", "cable", port="g2")
        until(lambda: "detour" in (terminal.home / "run.log").read_text(), service)
        assert until(lambda: not lost(terminal), service)
        service.send_signal(signal.SIGKILL)
    page = terminal.answer("status", "--offline", expect=None)
    assert (page["failover"], page["clock"]["at_work"]) == ("not running", False)
    assert json.loads((terminal.runs / "clock.json").read_text())["pid"] == service.pid
