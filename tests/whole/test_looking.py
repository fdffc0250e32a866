"""Looks at a running rack: what runs, what differs, what is dead and what to type next; and backups of all of it."""

import getpass
import json
import os
import re
import shutil
import signal
import socket
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from command_line import commands
from command_line.terminal import Terminal
from fabrics import ROOT
from tagloom.apply.abort import JOURNAL
from tagloom.apply.journal import Journal
from tagloom.apply.lock import FabricLock
from tagloom.apply.site import Site
from tagloom.lab import process
from tagloom.operate.backup import DailyBackups
from tagloom.platforms.secrets import scrub
from tagloom.read import read_fabric
from tagloom.read.build_directory import read_texts
from thinned import few
from waiting import until

pytestmark = pytest.mark.slow

KEYS = {
    *("fabric", "build", "source", "applied_at", "applied_by", "state", "run", "wave", "locked_by", "clock"),
    *("dead_switches", "dead_links", "differs", "armed", "next", "findings"),
}


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Start a ring of three with two links between neighbours, that runs a build; plan one with half of them off."""
    terminal = Terminal(tmp_path_factory.mktemp("status"))
    with terminal.double_ring(3):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal whose rack runs the build, with nothing dead."""
    return running.fresh()


def running_configurations(terminal):
    return {name: text.strip("\n") + "\n" for name, text in process.configurations(terminal.rack).items()}


def look(terminal, *words, expect=1):
    return terminal.answer("status", *words, expect=expect)


def test_what_runs_since_when_and_by_whom(terminal):
    page = look(terminal, expect=0)
    assert page.keys() >= KEYS
    assert (page["fabric"], page["build"], page["source"]) == ("ring", str(terminal.home / "b"), page["build"])
    assert page["applied_at"] == look(terminal, "--offline", "--log", expect=0)["log"][0]["ended"]
    assert page["applied_by"] == f"{getpass.getuser()}@{socket.gethostname()}"
    assert (page["state"], page["wave"], page["locked_by"], page["clock"]) == ("done", 1, "", None)
    assert [page[key] for key in ("dead_switches", "dead_links", "differs", "findings")] == [[], [], [], []]
    assert (page["armed"], page["next"]) == (None, "")
    assert re.search("applied .+ by", " ".join(terminal("status", "--offline").split()))
    files = sorted(terminal.runs.iterdir())
    look(terminal, expect=0)
    assert sorted(terminal.runs.iterdir()) == files, "a look leaves nothing behind"


@pytest.mark.parametrize("lost", few(["changed", "removed"], 0))
def test_what_was_applied_is_found_after_its_directory_was_lost(terminal, lost):
    build, copy = terminal.home / "b", terminal.home / "copy"
    shutil.copytree(build, copy)
    try:
        if lost == "removed":
            shutil.rmtree(build)
        else:
            terminal("plan", "f.yml", "-o", "b", expect=2)
            terminal("plan", "f.yml", "-o", "b", "--off", "s0:g1", "--force")
        page = look(terminal, expect=0)
        assert (page["source"], page["source_state"]) == (str(build), lost)
        kept = terminal.home / page["build"]
        assert read_texts(read_fabric(copy / "fabric.yml"), kept / "configs") == read_texts(
            read_fabric(copy / "fabric.yml"), copy / "configs"
        )
        planned = terminal.answer("plan", "f.yml", "-o", "next")
        assert (Path(planned["previous"]).resolve(), planned["previous_use"]) == (kept.resolve(), "ids")
        process.fault(terminal.rack, "s0", "cable", port="g3")
        process.fault(terminal.rack, "s0", "cable", port="g4")
        assert terminal.answer("repair")["pairs_restored"] > 0
        process.mend(terminal.rack)
        terminal("repair", "--hold", "0s")
        assert look(terminal, expect=0)["findings"] == []
    finally:
        shutil.rmtree(build, ignore_errors=True)
        copy.rename(build)


@pytest.mark.daily
def test_a_path_is_that_of_what_runs_unless_a_build_is_named(terminal):
    wanted = terminal.answer("path", "h0", "h1", "--build", "b")
    assert terminal.answer("path", "h0", "h1") == wanted
    assert terminal.answer("path", "h0", "h1", "-i", "inventory/lab") == wanted
    for port in ("g3", "g4"):
        process.fault(terminal.rack, "s0", "cable", port=port)
    terminal("repair")
    around = terminal.answer("path", "h0", "h1")
    assert [hop["switch"] for hop in around["hops"]] == ["s0", "s2", "s1"]
    assert [hop["switch"] for hop in wanted["hops"]] == ["s0", "s1"]


def test_the_log_says_who_sent_which_lines_where_and_what_became_of_them(terminal):
    assert look(terminal, "--offline", expect=0)["log"] is None
    with Journal(terminal.runs / "journal.db") as journal:
        what = {"fabric": "ring", "source": "night", "command": "tagloom apply night", "operator": "eve@desk"}
        run = journal.begin(name="r2", kind="apply", waves=2, proven=True, order=terminal.home / "b", **what)
        journal.begin_wave(run.id, 1)
        journal.wave_journal(run.id, 1, "s1").intend(["interface ethernet g2", "shutdown"], "", "")
        journal.wave_journal(run.id, 1, "s1").note("failed", sent=1, error="session was dropped")
    last, first = look(terminal, "--offline", "--log")["log"]
    assert (last["by"], last["command"], last["state"], last["ended"]) == (
        *("eve@desk", "tagloom apply night", "interrupted", None),
    )
    (row,) = last["switches"]
    assert (row["switch"], row["wave"], row["lines"]) == ("s1", 1, ["interface ethernet g2", "shutdown"])
    assert (row["sent"], row["error"]) == (1, "session was dropped")
    assert first["by"] == f"{getpass.getuser()}@{socket.gethostname()}"
    assert first["began"] <= first["switches"][0]["at"] <= first["ended"]
    assert [(each["switch"], each["state"]) for each in first["switches"]] == [(f"s{n}", "saved") for n in range(3)]
    for each in first["switches"]:
        assert each["sent"] == len(each["lines"]) > 0
    assert [each["run"] for each in look(terminal, "--offline", "--log", 1)["log"]] == ["r2"]
    said = terminal("status", "--offline", "--log", "-v", expect=1)
    assert "s1 took 1 of 2 lines in wave 1: session was dropped" in " ".join(said.split())
    assert "vlan database" in said


def test_who_works_on_the_switches_is_named(terminal):
    with FabricLock(terminal.runs / "lock", "tagloom apply night", print):
        page = look(terminal, "--offline", expect=1)
    assert f"process {os.getpid()}" in page["locked_by"]
    assert "tagloom apply night" in page["locked_by"]
    assert page["next"] == ""


def test_a_cable_that_is_pulled_is_dead(terminal):
    process.fault(terminal.rack, "s0", "cable", port="g2")
    page = look(terminal)
    assert (page["dead_links"], page["dead_switches"], page["differs"]) == (["s2:g4 - s0:g2"], [], [])
    assert page["next"] == "tagloom repair"


@pytest.mark.long
def test_a_link_that_repair_led_around_stays_named_and_is_called_home_when_it_is_back(terminal):
    process.fault(terminal.rack, "s0", "cable", port="g2")
    terminal("repair")
    page = look(terminal)
    assert (page["dead_links"], page["differs"], page["next"]) == (["s2:g4 - s0:g2"], [], "")
    assert page["build"] == str(terminal.runs / "repair" / "build")
    process.mend(terminal.rack)
    page = look(terminal)
    assert (page["dead_links"], page["next"]) == ([], "tagloom repair")


def test_what_was_changed_by_hand_differs_from_the_build(terminal):
    terminal.type("s0", "interface ethernet g5", "switchport general pvid 1", "exit")
    page = look(terminal)
    assert (page["differs"], page["dead_links"]) == (["s0: g5 PVID"], [])
    assert [each["actual"] for each in page["findings"]] == ["1 over SNMP"]
    assert page["next"] == f"tagloom apply {terminal.home / 'b'} --check --diff"


def test_a_run_that_nobody_works_on_any_more_is_to_be_resumed_or_gone_round_what_died(terminal):
    source = str(terminal.home / "b")
    with Journal(terminal.runs / "journal.db") as journal:
        what = {"fabric": "ring", "source": source, "command": "tagloom apply b", "operator": "eve@desk"}
        run = journal.begin(name="r2", kind="apply", waves=1, proven=False, order=terminal.home / "b", **what)
        journal.begin_wave(run.id, 1)
    page = look(terminal, "--offline")
    assert (page["run"], page["state"], page["wave"], page["applied_by"]) == ("r2", "interrupted", 1, "eve@desk")
    assert page["next"] == "tagloom apply --resume"
    with Journal(terminal.runs / "journal.db") as journal:
        assert journal.run(run.id).state == "running", "a look writes nothing"
    process.fault(terminal.rack, "s1", "reboot", lasts=3600.0)
    page = look(terminal, "--timeout", 0.3)
    assert page["next"] == f"tagloom apply {source} --without s1 --drift overwrite"


@pytest.mark.long
def test_a_switch_that_was_gone_round_stays_named_and_is_readmitted_when_it_is_back(terminal):
    process.fault(terminal.rack, "s1", "reboot", lasts=3600.0)
    terminal("apply", "b", "--without", "s1")
    page = look(terminal, "--timeout", 0.3)
    assert (page["dead_switches"], page["differs"], page["next"]) == (["s1"], [], "")
    process.mend(terminal.rack)
    page = look(terminal)
    assert (page["dead_switches"], page["back"], page["differs"]) == ([], ["s1"], [])
    assert page["next"] == f"tagloom apply {terminal.home / 'b'} --readmit s1"
    terminal("apply", "b", "--readmit", "s1")
    assert look(terminal, expect=0)["next"] == ""


@pytest.mark.long
def test_a_run_that_failed_is_to_be_resumed_and_then_taken_back(terminal):
    process.quirks(terminal.rack, {"s2": {"reject_line": "shutdown"}})
    terminal("apply", "night", expect=3)
    process.quirks(terminal.rack, {"s2": {"reject_line": ""}})
    page = look(terminal)
    assert (page["state"], page["source"]) == ("failed", str(terminal.home / "night"))
    assert (page["wave"] > 0, page["next"]) == (True, "tagloom apply --resume")
    terminal("rollback")
    page = look(terminal, expect=0)
    assert (page["kind"], page["state"], page["source"]) == ("rollback", "done", str(terminal.home / "b"))


def test_a_switch_that_does_not_answer_is_named_and_where_none_does_the_journal_still_speaks(terminal):
    process.fault(terminal.rack, "s1", "reboot", lasts=3600.0)
    page = look(terminal, "--timeout", 0.3)
    assert (page["dead_switches"], len(page["dead_links"]), page["differs"]) == (["s1"], 4, [])
    assert page["next"] == "tagloom repair"
    process.mend(terminal.rack)
    process.quirks(terminal.rack, {"s1": {"mute": True}})
    page = look(terminal, "--timeout", 0.3)
    assert (page["dead_switches"], page["silent_switches"], page["next"]) == ([], ["s1"], "")
    process.quirks(terminal.rack, {"*": {"mute": True}})
    page = look(terminal, "--timeout", 0.1, "--retries", 0, expect=3)
    assert (page["state"], page["silent_switches"]) == ("done", ["s0", "s1", "s2"])
    assert look(terminal, "--offline", expect=0)["silent_switches"] == []


def test_a_run_that_cannot_see_the_fabric_or_read_the_journal_is_blind_until_it_can_again(terminal):
    (terminal.home / "day.yml").write_text('repair: auto\nrules: [{when: "0 7 * * *", settings: all-on}]\n')
    words = ["run", "day.yml", "--every", "1s", "--repair-every", "1s"]
    words += ["--timeout", "0.2", "--retries", "0", "--metrics-file", "run.prom"]
    journal, kept, told = terminal.runs / JOURNAL, terminal.runs / "kept", terminal.runs / "clock.json"

    def error():
        return json.loads(told.read_text())["status"]["look"]["error"] if told.exists() else None

    with commands.Begun(words, terminal.home, stdout=None, stderr=None) as running:
        try:
            until(lambda: error() == "", running)
            look(terminal, "--offline", expect=0)
            process.quirks(terminal.rack, {"*": {"mute": True}})
            until(lambda: "no switch answers" in (error() or ""), running)
            page = look(terminal, "--offline", expect=1)["clock"]["look"]
            assert ("no switch answers" in page["error"], page["good_at"] is None) == (True, False)
            assert "blind     tagloom run last saw the fabric at" in terminal("status", "--offline", expect=1)
            (shown,) = re.findall(
                r'^tagloom_run_look_failed{error="(.*)"} 1.0$', (terminal.home / "run.prom").read_text(), re.MULTILINE
            )
            assert "no switch answers" in shown
            process.quirks(terminal.rack, {"*": {"mute": False}})
            until(lambda: error() == "", running)
            journal.rename(kept)
            journal.write_bytes(b"no journal" * 1000)
            until(lambda: journal.name in (error() or ""), running)
            kept.rename(journal)
            until(lambda: error() == "", running)
        finally:
            running.send_signal(signal.SIGTERM)
    assert running.returncode == 0


@pytest.mark.daily
def test_what_tagloom_run_does_is_told_while_it_is_at_work(terminal):
    (terminal.home / "day.yml").write_text('- {when: "0 7 * * *", settings: all-on}\n')
    words = ["run", "day.yml", "--no-watch", "--every", "1h"]
    told = terminal.runs / "clock.json"
    with commands.Begun(words, terminal.home, stdout=None, stderr=None) as running:
        try:
            until(told.exists, running)
            page = look(terminal, "--offline", expect=0)
        finally:
            running.send_signal(signal.SIGTERM)
    assert (page["clock"]["settings"], page["clock"]["links_off"]) == (["all-on"], 0)
    assert (page["clock"]["at_work"], page["clock"]["timetable"]) == (True, str(terminal.home / "day.yml"))
    assert datetime.fromisoformat(page["clock"]["next_at"]).astimezone(UTC).hour == 7
    assert running.returncode == 0
    assert look(terminal, "--offline", expect=0)["clock"] is None


def test_all_that_is_wrong_is_told_at_once_and_nothing_applied_is_no_yes(tmp_path, run):
    status, out, _ = run("status", "-i", tmp_path / "nowhere", "--timeout", "0", "--log", "0", "--json")
    assert status == 2
    assert [each["where"] for each in json.loads(out)["findings"]] == ["-i", "--timeout", "--log"]
    (tmp_path / "fabric.yml").write_text("name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [3]}\n")
    (tmp_path / "tagloom.yml").write_text("plugin: tagloom.network.fabric\nfabric: fabric.yml\n")
    status, out, _ = run("status", "-i", tmp_path, "--offline", "--json")
    page = json.loads(out)
    assert (status, page["build"], page["state"], page["applied_at"]) == (1, None, "", None)
    assert page["next"] == f"tagloom plan {tmp_path / 'fabric.yml'} -o build"
    assert not (tmp_path / "runs").exists()


# --- backups ----------------------------------------------------------------------------------------------------------

HIDDEN = "snmp-server community <hidden>"


def kept(directory):
    return {path.stem: path.read_text() for path in Path(directory).glob("*.cfg")}


def test_backups_are_dated_private_and_without_secrets_and_say_what_changed(terminal):
    shutil.rmtree(terminal.rack / "backups", ignore_errors=True)  # what tests before it left
    terminal.type("s0", "snmp-server community vault ro")
    page = terminal.answer("backup")
    assert (page["switches"], page["changed"], page["unchanged"]) == (["s0", "s1", "s2"], ["s0", "s1", "s2"], [])
    backup = terminal.home / page["backup"]
    assert backup.parent == terminal.rack / "backups"
    assert kept(backup) == {name: scrub(text) for name, text in running_configurations(terminal).items()}
    assert HIDDEN in kept(backup)["s0"]
    for path in (terminal.rack / "backups").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert not [path for path in terminal.runs.iterdir() if "backup" in path.name], "no copy with secrets is left"

    (backup / "s0.cfg").write_text('!System Up Time "0 days 2 hrs"\n' + kept(backup)["s0"])  # as a 6224 would have
    terminal.type("s1", "interface ethernet g9", "description door", "exit")
    process.quirks(terminal.rack, {"s2": {"refuse_login": True}})
    later = terminal.answer("backup", "--secrets", "-o", "elsewhere", expect=3)
    assert (later["switches"], later["failed"]) == (["s0", "s1"], ["s2"])
    assert "refused" in later["errors"]["s2"]
    assert "vault" in kept(terminal.home / later["backup"])["s0"]
    later = terminal.answer("backup", expect=3)
    assert (later["changed"], later["unchanged"], later["failed"]) == (["s1"], ["s0"], ["s2"])
    assert later["backup"] != page["backup"]


@pytest.mark.daily
def test_backups_in_git_are_committed_where_a_switch_changed(terminal):
    def commits():
        words = ["git", "log", "--reverse", "--format=%an: %s"]
        told = subprocess.run(words, cwd=terminal.home / "kept", capture_output=True, text=True, check=True)
        return told.stdout.splitlines()

    (terminal.home / "kept").mkdir(mode=0o755)
    first = terminal.answer("backup", "--git", "-o", "kept", "--secrets")
    assert not [path for path in (terminal.home / "kept").rglob("*") if path.stat().st_mode & 0o077]
    shutil.rmtree(terminal.home / "kept")
    first = terminal.answer("backup", "--git", "-o", "kept")
    assert (first["backup"], first["changed"]) == ("kept", ["s0", "s1", "s2"])
    terminal.type("s1", "interface ethernet g9", "description door", "exit")
    assert terminal.answer("backup", "--git", "-o", "kept")["changed"] == ["s1"]
    again = terminal.answer("backup", "--git", "-o", "kept")
    assert (again["changed"], again["unchanged"]) == ([], ["s0", "s1", "s2"])
    assert commits() == ["tagloom: Back up s0, s1, s2", "tagloom: Back up s1"]
    assert kept(terminal.home / "kept") == {n: scrub(t) for n, t in running_configurations(terminal).items()}


@pytest.mark.daily
def test_tagloom_run_keeps_a_backup_a_day_and_tries_again_after_an_hour_where_it_kept_none(terminal):
    (terminal.home / "day.yml").write_text('backup: daily\nrules: [{when: "0 7 * * *", settings: all-on}]\n')
    shutil.rmtree(terminal.rack / "backups", ignore_errors=True)
    once = terminal.answer("run", "day.yml", "--no-watch", "--once")
    (directory,) = (terminal.rack / "backups").iterdir()
    assert sorted(kept(directory)) == ["s0", "s1", "s2"]
    assert "kept 3 configurations in inventory/lab/backups/" in once["told"][-1]["text"]

    told = []
    tomorrow = datetime.now().replace(hour=12).timestamp() + 86_400  # noqa: DTZ005 - by the computer's calendar
    site = Site(terminal.rack, ROOT, dict(os.environ), "run")
    fabric = read_fabric(terminal.home / "f.yml")
    daily = DailyBackups(fabric, site, directory.parent, lambda _, text: told.append(text))
    process.quirks(terminal.rack, {"*": {"refuse_login": True}})
    daily.look(tomorrow)
    process.quirks(terminal.rack, {"*": {"refuse_login": False}})
    daily.look(tomorrow + 60)
    assert [text.partition(";")[0] for text in told] == ["backup: kept none, 0 changed"]
    (directory.parent / f"{datetime.fromtimestamp(tomorrow):%Y%m%d}T110000").mkdir()  # noqa: DTZ006 - a full disk's
    for seconds in (3600, 3700, 8000):
        daily.look(tomorrow + seconds)
    assert len(told) == 2, "one a day"
    assert told[1].endswith(", 0 changed")
    assert len(list(directory.parent.glob("*/s0.cfg"))) == 2


def test_a_place_for_backups_that_is_none_is_told_with_all_else(tmp_path, run, monkeypatch):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    (tmp_path / "file").touch()
    for place, expected in (("full", "an empty directory, or a git repository"), ("file", "a directory")):
        status, out, _ = run("backup", "-i", tmp_path / "nowhere", "--git", "-o", tmp_path / place, "--json")
        assert status == 2
        found = json.loads(out)["findings"]
        assert [each["where"] for each in found] == ["-i", str(tmp_path / place)]
        assert found[1]["expected"] == expected
    monkeypatch.setenv("PATH", str(tmp_path))
    _, out, _ = run("backup", "-i", tmp_path / "nowhere", "--git", "-o", tmp_path / "new", "--json")
    assert [each["where"] for each in json.loads(out)["findings"]] == ["-i", "--git"]
