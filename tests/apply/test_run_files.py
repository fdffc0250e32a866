"""What commands and Ansible's plugins leave for each other, and what is made of it; without a switch."""

import json
import os
import signal
import socket
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tagloom.apply import controller, playbook, switch
from tagloom.apply.build import WaveOrder
from tagloom.apply.controller import ACCESS, GO, LOCK, PACKAGE, READY, Controller, check_package
from tagloom.apply.outcomes import Fault, Outcome, Outcomes
from tagloom.apply.own_lines import OwnLines, checked_secrets
from tagloom.apply.playbook import (
    Ansible,
    ansible_environment,
    inventory_source,
    playbook_words,
    refused_in,
    trouble_in,
)
from tagloom.apply.private_files import write_backup, write_fault, write_private
from tagloom.apply.run_directory import Job, RunDirectory, request_stop
from tagloom.apply.site import Site
from tagloom.apply.survey import survey
from tagloom.errors import DeviceError, Finding, InputError
from tagloom.records.change import Cell, Change, difference
from tagloom.records.fabric import Fabric, Host, Link, Switch
from tagloom.records.site_lines import MASK, SiteLine
from tagloom.records.switch_state import FlowControl, Frames, Membership, PortMode, SwitchEditor

BAD = Outcome("s1", "two", 2, error="refused", fault=Fault.REFUSED, findings=(Finding("s1", "a", "b"),))
GOOD = Outcome("s0", "one", 1, changed=True, commands=("a", "b"), sent=("a",), read=True, before="x", after="y")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# Outcomes.


def test_an_outcome_is_read_back_as_it_was_written():
    for outcome in (BAD, replace(GOOD, own_lines=("c",), unsaved=True, saved=True, volatile=True, seconds=1.5)):
        plain = json.loads(json.dumps(outcome.to_json()))
        assert Outcome.from_json(plain) == outcome
        assert plain["failed"] == outcome.failed == bool(outcome.error)
    assert set(BAD.to_json()) == {*Outcome.__dataclass_fields__, "failed"}
    blank = Outcome("s0")
    assert (blank.wave, blank.number, blank.seconds, blank.fault) == ("", 1, 0.0, Fault.NONE)
    assert not any((blank.changed, blank.read, blank.unsaved, blank.saved, blank.volatile, blank.failed))


def test_a_failure_names_the_line_and_a_change_is_shown_with_one_line_around():
    assert BAD.trouble == str(DeviceError("s1", "", "refused"))
    texts = {"before": "a\nb\nc\nd\ne\n", "after": "a\nb\nX\nd\ne\n"}
    assert replace(GOOD, **texts, own_lines=("sntp x",)).diff == (
        "--- s0\n+++ s0\n@@ -2,3 +2,3 @@\n b\n-c\n+X\n d\n+sntp x\n"
    )
    assert replace(GOOD, before="a\n", after="a\n").diff == ""


def test_a_run_groups_its_outcomes_by_switch():
    later = replace(GOOD, number=2, changed=False)
    found = Outcomes(("s0", "s1", "s2", "s3"), (GOOD, Outcome("s2"), BAD, later), waves=2, reached=2, seconds=3.0)
    assert found.by_switch == {"s0": (GOOD, later), "s1": (BAD,), "s2": (Outcome("s2"),), "s3": ()}
    assert (found.failed, found.changed, found.unchanged, found.good) == (("s1",), ("s0",), ("s2",), False)
    assert found.failed_by(Fault.REFUSED, Fault.DRIFT) == ("s1",)
    assert found.failed_by(Fault.DEVICE) == ()
    page = found.to_json()
    assert page.pop("outcomes") == [each.to_json() for each in found.outcomes]
    assert page == {
        "changed": ["s0"],
        "unchanged": ["s2"],
        "failed": ["s1"],
        "seconds": 3.0,
        "waves": 2,
        "waves_reached": 2,
        "stopped": False,
        "error": "",
    }
    changed_and_failed = Outcomes(("s1",), (replace(BAD, number=1, changed=True, error="", fault=Fault.NONE), BAD))
    assert (changed_and_failed.changed, changed_and_failed.unchanged) == ((), ())


def test_a_run_is_good_where_nothing_failed_or_ended_it():
    good = Outcomes(("s0",), (GOOD,))
    assert good.good
    assert (good.waves, good.reached, good.seconds, good.stopped) == (1, 0, 0.0, False)
    assert not replace(good, error="no inventory").good
    assert not replace(good, stopped=True).good
    assert not replace(good, outcomes=(BAD,)).good


def test_what_a_switch_holds_is_remembered_from_the_look_or_from_the_read_back():
    unread = Outcome("s2", error="gone")
    found = Outcomes((), (GOOD, unread, replace(GOOD, number=2, before="y", after="z")))
    held = {"s0": "old", "s2": "old", "s3": "old"}
    found.remember(held)
    assert held == {"s0": "z", "s3": "old"}
    found.remember(held, 2)
    assert held == {"s0": "y", "s3": "old"}
    found.remember(held, 1)
    assert held == {"s0": "x", "s3": "old"}
    Outcomes((), (replace(GOOD, error="lost"),)).remember(held)
    assert held == {"s3": "old"}  # one that failed may stand at any line
    Outcomes((), (replace(GOOD, number=0, error="drift"),)).remember(held, 0)
    assert held == {"s0": "x", "s3": "old"}


# The files of a run.


def test_a_job_reads_back_as_it_was_written(tmp_path):
    files = RunDirectory(tmp_path / "run")
    files.path.mkdir()
    jobs = [
        Job(tmp_path),
        Job(tmp_path, check=True, limit=("s0",), first_wave=1, last_wave=2, proven=("p",), journal="j", run=4),
        Job(tmp_path, only_own=True, reload_seconds=60.0, call_off=("s1",), access=True, own_lines={"s0": [{}]}),
    ]
    for job in jobs:
        files.start(job)
        assert files.read_job() == job
    blank = jobs[0]
    assert (blank.first_wave, blank.last_wave, blank.run, blank.reload_seconds) == (0, 0, 0, 0.0)
    assert not any((blank.check, blank.only_own, blank.access))


def test_a_rerun_starts_over_and_keeps_backups(tmp_path):
    files = RunDirectory(tmp_path)
    files.start(Job(tmp_path))
    files.write(GOOD)
    write_backup(files.backups, "s0", "text")
    request_stop(tmp_path, now=True)
    files.complete(1)
    for path in (files.begun, files.hosts, files.addresses, files.held, files.order, files.findings):
        path.write_text("1")
    files.start(Job(tmp_path))
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"job.json", "s0.cfg"}


def test_outcomes_are_read_once_each_wave_by_wave(tmp_path):
    files, found = RunDirectory(tmp_path), {}
    for number in (10, 2):
        files.write(replace(GOOD, number=number))
    (files.outcomes / "9.s0.new").write_text("{")  # half written
    assert [each.number for each in files.read(found)] == [2, 10]
    assert list(files.read(found)) == []
    files.write(replace(BAD, number=3))
    files.write(replace(BAD, switch="s1.example", number=1))
    assert [each.switch for each in files.read(found)] == ["s1.example", "s1"]
    assert [each.number for each in files.read_switch("s0")] == [2, 10]
    assert [each.number for each in files.read_switch("s1.example")] == [1]
    assert not list(files.outcomes.glob("*.10.*"))


def test_what_was_last_read_is_of_this_run_or_of_before(tmp_path):
    files = RunDirectory(tmp_path)
    assert files.last_read() == {}
    files.held.write_text(json.dumps({"s0": "old", "s1": "old", "s2": "old"}))
    files.write(GOOD)
    files.write(BAD)
    files.write(Outcome("s2"))
    assert files.last_read() == {"s0": "y", "s2": "old"}


def test_only_the_last_wave_is_complete_at_a_time(tmp_path):
    files = RunDirectory(tmp_path)
    assert files.completed_at(1) is None
    files.complete(1)
    assert files.completed_at(1) > 0.0
    assert files.completed_at(2) is None


@pytest.mark.parametrize("now", [False, True])
def test_a_run_is_asked_to_stop_after_its_wave_or_at_once(tmp_path, now):
    request_stop(tmp_path, now=now) if now else request_stop(tmp_path)
    files = RunDirectory(tmp_path)
    assert files.stop.exists()
    assert files.stop_now.exists() == now
    request_stop(tmp_path, now=now)  # a second time


# Files for their owner alone.


def test_no_backup_is_overwritten(tmp_path):
    place = tmp_path / "a/backups"
    paths = [write_backup(place, "s0", text) for text in ("one", "two", "three")]
    assert [path.name for path in paths] == ["s0.cfg", "s0.2.cfg", "s0.3.cfg"]
    assert [path.read_text() for path in paths] == ["one", "two", "three"]
    assert {mode(path) for path in paths} == {0o600}
    assert mode(place) == 0o700
    place.chmod(0o755)
    write_backup(place, "s1", "four")
    assert mode(place) == 0o700
    write_private(paths[0], "five")
    assert (paths[0].read_text(), mode(paths[0])) == ("five", 0o600)
    (place / ".s0.cfg.new").write_text("left by a command that died")
    (place / ".s0.cfg.new").chmod(0o644)
    write_private(paths[0], "six")
    assert (paths[0].read_text(), mode(paths[0])) == ("six", 0o600)
    assert not (place / ".s0.cfg.new").exists()


def test_a_fault_is_kept_without_what_it_may_quote(tmp_path):
    def fail():
        try:
            os.environ["HUNTER2"]
        except KeyError:
            raise TypeError("no such thing") from None

    try:
        fail()
    except TypeError as error:
        said = write_fault(tmp_path / "faults/s0.txt", error)
    assert said == f"tagloom has a fault: TypeError, traceback in {tmp_path}/faults/s0.txt"
    text = (tmp_path / "faults/s0.txt").read_text()
    assert text.startswith("TypeError: no such thing\n")
    assert "\nwhile handling:\nKeyError\n" in text
    assert "HUNTER2" not in text.replace('os.environ["HUNTER2"]', "")
    assert "in fail" in text
    (tmp_path / "file").write_text("")
    cause, error = ValueError("hunter2"), ValueError("hunter2")
    error.__cause__, cause.__cause__ = cause, error  # a circle
    assert write_fault(tmp_path / "file/s0.txt", error) == (
        "tagloom has a fault: ValueError, traceback in no file (File exists)"
    )


# Where runs are kept.


def test_a_sites_runs_are_beside_its_inventory_for_their_owner_alone(tmp_path):
    site = Site(tmp_path / "inventory.yml", tmp_path, {}, "7")
    assert site.home == tmp_path / "runs"
    with site.open_log() as log:
        log.write(b"one\n")
    with site.open_log() as log:
        assert log.tell() in {0, 4}
        log.write(b"two\n")
    assert site.log == tmp_path / "runs/7-ansible.log"
    assert site.log.read_bytes() == b"one\ntwo\n"
    assert (mode(site.log), mode(site.home)) == (0o600, 0o700)
    place = site.directory("push")
    assert (place, mode(place)) == (tmp_path / "runs/7-push", 0o700)
    assert site.directory("push") == place
    bad = Site(tmp_path / "inventory.yml/deeper", tmp_path, {}, "7")
    (tmp_path / "inventory.yml").write_text("")
    with pytest.raises(InputError, match="a file that can be written"):
        bad.open_log()
    with pytest.raises(InputError, match="7-push: expected a directory that can be made, actual Not a directory"):
        bad.directory("push")


# Ansible's environment and command line.


def test_ansible_finds_our_plugins_and_nothing_of_the_current_directory(tmp_path):
    share = tmp_path / "share"
    found = ansible_environment({"PATH": "/bin", "PYTHONPATH": f"/x{os.pathsep}{os.pathsep}/y"}, share)
    assert found["PATH"] == "/bin"
    ours = [] if PACKAGE.parent.name in {"site-packages", "dist-packages"} else [str(PACKAGE.parent)]
    assert found["PYTHONPATH"].split(os.pathsep) == [*ours, "/x", "/y"]
    assert found["ANSIBLE_ROLES_PATH"] == str(share / "roles")
    assert found["ANSIBLE_INVENTORY_PLUGINS"] == str(share / "playbooks/inventory_plugins")
    assert (found["PYTHONSAFEPATH"], found["ANSIBLE_FORKS"]) == ("1", "64")


def test_an_installed_tagloom_needs_no_module_path(tmp_path, monkeypatch):
    for name in ("site-packages", "dist-packages"):
        monkeypatch.setattr(playbook, "PACKAGE", tmp_path / name / "tagloom")
        assert ansible_environment({}, tmp_path)["PYTHONPATH"] == ""
    monkeypatch.setattr(playbook, "PACKAGE", tmp_path / "lib/tagloom")
    assert ansible_environment({"PYTHONPATH": "/x"}, tmp_path)["PYTHONPATH"] == f"{tmp_path}/lib{os.pathsep}/x"


def test_ansibles_settings_are_those_named_or_the_users_or_our_own(tmp_path):
    def settings(**environment):
        return ansible_environment(environment, tmp_path)["ANSIBLE_CONFIG"]

    own = settings(HOME=str(tmp_path))
    assert own in {str(tmp_path / "playbooks/ansible.cfg"), "/etc/ansible/ansible.cfg"}
    assert settings() == own
    (tmp_path / ".ansible.cfg").write_text("")
    assert settings(HOME=str(tmp_path)) == str(tmp_path / ".ansible.cfg")
    (tmp_path / "named").mkdir()
    (tmp_path / "named/ansible.cfg").write_text("")
    for named in ("named", "named/ansible.cfg"):
        assert settings(ANSIBLE_CONFIG=str(tmp_path / named), HOME="") == str(tmp_path / "named/ansible.cfg")
    with pytest.raises(InputError, match="ANSIBLE_CONFIG: expected a file that can be read, actual nowhere"):
        settings(ANSIBLE_CONFIG="nowhere")


def test_a_playbook_is_run_on_a_directorys_own_file_with_variables_of_its_role(tmp_path):
    words = playbook_words(Path("/share"), "read", tmp_path, directory="d", package=3)
    assert words[:4] == [sys.executable, "-P", "-m", "ansible"]
    assert words[4:7] == ["playbook", "/share/playbooks/read.yml", "--inventory"]
    assert json.loads(words[words.index("--extra-vars") + 1]) == {
        "tagloom_read_directory": {"__ansible_unsafe": "d"},  # no template
        "tagloom_read_package": 3,
    }
    assert words[-2:] == ["--skip-tags", "tagloom_read_by_hand,always"]
    assert inventory_source(tmp_path) == tmp_path
    (tmp_path / "tagloom.yml").write_text("")
    assert inventory_source(tmp_path) == tmp_path / "tagloom.yml"


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        ("", "ansible-playbook is silent"),
        (" \n\n", "ansible-playbook is silent"),
        ("one\n two \n\n", "two"),
        ("one\n  fatal: s0 \nERROR! two\nthree\n", "fatal: s0"),
        ("a\nFAILED! => b\nc", "FAILED! => b"),
    ],
)
def test_the_line_that_says_what_stopped_ansible_is_found(said, trouble):
    assert trouble_in(said) == trouble


WRONG = (Finding("f.yml:2  model", "one of a, b", "'c'"), Finding("f.yml:3  links[0]", "a switch", "'s9:g1'"))


@pytest.mark.parametrize(
    "said",
    [
        "[WARNING]: Failed to parse inventory with 'tagloom' plugin: {}\n\nFailed to parse inventory.\n",
        "[WARNING]:  * Failed to parse /x/tagloom.yml with tagloom plugin: {}\n[WARNING]: No inventory was parsed\n",
    ],
    ids=["today", "before"],
)
def test_a_fabric_file_that_ansible_refused_is_told_with_all_its_findings(said, files, tmp_path):
    text = said.format("\n".join(map(str, WRONG)))
    assert refused_in(f"[WARNING]: other\n{text}PLAY RECAP\n") == WRONG
    site = Site(tmp_path / "tagloom.yml", tmp_path, {}, "1")
    with site.open_log() as log:
        log.write(text.encode())
    assert Ansible(site)._findings(files, "t") == WRONG


@pytest.mark.parametrize(
    "said", ["", "PLAY RECAP", "Failed to parse inventory with 'yaml' plugin: f: expected x, actual y\n\n"]
)
def test_what_refuses_no_fabric_file_is_no_finding_of_one(said):
    assert refused_in(said) == ()


# What a run comes to.


def gathered(files, found, *, waves=((1, None), (2, ("s0", "s1"))), trouble="", status=0):
    orders = [WaveOrder(number, f"w{number}", files.path, switches=switches) for number, switches in waves]
    return playbook._gather(files, ("s2", "s1", "s0"), orders, found, trouble, status)


@pytest.fixture
def files(tmp_path):
    files = RunDirectory(tmp_path)
    files.hosts.write_text(json.dumps(["s0", "s1", "s2"]))
    return files


def test_a_run_that_began_no_wave_expects_word_of_nobody(files):
    found = gathered(files, [], trouble="ERROR! no host", status=4)
    assert (found.outcomes, found.reached, found.error, found.stopped) == ((), 0, "ERROR! no host", False)


def test_a_switch_of_the_wave_that_says_nothing_has_failed(files):
    files.begun.write_text("2")
    found = gathered(files, [replace(GOOD, number=2)], status=2)
    silent = found.by_switch["s1"]
    assert [(each.wave, each.number, each.fault) for each in silent] == [("w2", 2, Fault.DEVICE)]
    assert silent[0].error == "no word from it: its push did not end"
    assert found.by_switch["s2"] == ()  # not of this wave
    assert (found.reached, found.error) == (2, "")
    files.begun.write_text("1")
    found = gathered(files, [GOOD], trouble="ERROR! lost", status=2)
    assert [(each.switch, each.error) for each in found.outcomes] == [
        ("s2", "no word from it: ERROR! lost"),
        ("s1", "no word from it: ERROR! lost"),
        ("s0", ""),
    ]


def test_outcomes_are_in_the_order_of_waves_and_of_the_fabric(files):
    names = [(1, "s0"), (2, "s0"), (1, "x"), (1, "s1"), (1, "a")]
    found = gathered(files, [Outcome(switch, number=number) for number, switch in names])
    assert [(each.number, each.switch) for each in found.outcomes] == [
        (1, "s1"),
        (1, "s0"),
        (1, "a"),
        (1, "x"),
        (2, "s0"),
    ]


def test_a_run_was_stopped_where_it_was_asked_to_and_nothing_failed(files):
    stopped = replace(GOOD, error="stopped", fault=Fault.STOPPED)
    assert not gathered(files, [stopped], trouble="t", status=2).stopped
    request_stop(files.path)
    found = gathered(files, [stopped], trouble="t", status=2)
    assert (found.stopped, found.error) == (True, "")
    assert not gathered(files, [stopped]).stopped  # it had ended by itself
    found = gathered(files, [stopped, replace(BAD, fault=Fault.DEVICE)], trouble="t", status=2)
    assert (found.stopped, found.error) == (False, "")


def test_addresses_are_those_that_ansible_wrote(files):
    files.addresses.write_text(json.dumps({"s0": ["192.0.2.1", 22]}))
    assert playbook._addresses(files) == {"s0": ("192.0.2.1", 22)}


def test_why_nothing_could_start_is_what_the_run_says_or_the_inventory(files, tmp_path):
    site = Site(tmp_path / "tagloom.yml", tmp_path, {}, "1")
    where = str(tmp_path / "tagloom.yml")
    rule = "an inventory with switches to reach"
    assert Ansible(site)._findings(files, "t") == (Finding(where, rule, "t"),)
    assert Ansible(site, "s9")._findings(files, "t") == (Finding(f"{where}, limit 's9'", rule, "t"),)
    files.findings.write_text(json.dumps([Finding("a", "b", "c").to_json()]))
    assert Ansible(site)._findings(files, "t") == (Finding("a", "b", "c"),)


# The connection between the two.


@pytest.fixture
def line():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, Controller(theirs.fileno()), theirs


def test_a_plugin_gets_its_job_and_the_locks(line, tmp_path, descriptors):
    command, plugin, _ = line
    socket.send_fds(command, [os.fsencode(tmp_path)], [])
    assert plugin.job() == tmp_path
    assert command.recv(100) == READY
    with (tmp_path / "lock").open("w") as lock:
        socket.send_fds(command, [LOCK], [lock.fileno()] * 5)
    assert descriptors(tmp_path) == 0
    assert plugin.hold_lock()
    assert descriptors(tmp_path / "lock") == 5  # open in this process and its children
    assert command.recv(100) == LOCK
    command.send(GO)
    assert plugin.says_go()
    assert not plugin.gone
    command.close()
    assert plugin.gone
    assert plugin.job() is None
    assert not plugin.hold_lock()
    assert not plugin.says_go()


def test_a_run_by_hand_waits_for_nobody():
    by_hand = Controller(-1)
    assert by_hand.by_hand
    assert not Controller(0).by_hand
    assert by_hand.hold_lock()
    assert by_hand.says_go()
    assert not by_hand.gone


def test_logins_pass_over_the_connection(line):
    command, plugin, _ = line
    plugin.tell_access({"s0": {"password": "p", "path": Path("/x")}, "s1": {}})
    said = [command.recv(1000) for _ in range(2)]
    assert [json.loads(each.removeprefix(ACCESS)) for each in said] == [
        ["s0", {"password": "p", "path": "/x"}],
        ["s1", {}],
    ]


def test_another_tagloom_than_the_commands_is_refused():
    check_package("")
    check_package(str(PACKAGE))
    with pytest.raises(InputError, match="tagloom of Ansible's Python: expected /elsewhere"):
        check_package("/elsewhere")
    assert controller.MESSAGE_BYTES >= 4096  # PATH_MAX


def test_a_command_counts_what_a_process_still_owes(line, tmp_path):
    command, _, theirs = line
    ansible = Ansible(Site(tmp_path, tmp_path, {}, "1"))
    assert ansible.end() == 0  # none was started
    ansible._line, ansible._owed = command, 2
    assert ansible._receive(command) == b""  # nothing said: no answer, and the line stays
    assert ansible._owed == 2
    theirs.send(READY)
    assert ansible._receive(command) == READY
    assert ansible._owed == 1
    theirs.send(LOCK)
    assert ansible._receive_lock_request()
    theirs.send(READY)
    assert not ansible._receive_lock_request()
    assert ansible._owed == 0
    ansible._owed = 1
    theirs.close()
    assert not ansible._receive_lock_request()
    assert ansible._line is None
    ansible._say(b"nobody hears it")
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_what_is_said_to_a_process_that_has_ended_is_no_error(line, tmp_path):
    command, _, theirs = line
    ansible = Ansible(Site(tmp_path, tmp_path, {}, "1"))
    ansible._line = command
    ansible._say(b"what it never reads")
    theirs.close()
    ansible._say(b"a job")  # the connection is reset
    ansible._say(b"a job")  # and closed
    assert ansible._receive(command) == b""
    assert ansible._line is None


def test_a_message_that_was_never_read_is_no_error_to_the_next_receive(line, tmp_path):
    command, _, theirs = line
    ansible = Ansible(Site(tmp_path, tmp_path, {}, "1"))
    ansible._line = command
    ansible._say(b"what it never reads")
    theirs.close()
    assert ansible._receive(command) == b""
    assert ansible._line is None


def test_a_command_without_a_job_leaves_no_log(tmp_path):
    site = Site(tmp_path, tmp_path, {}, "1")
    with Ansible(site) as ansible:
        site.open_log().close()
        assert ansible.limit == ""
    assert not site.log.exists()


# A look at all switches.


class Recorded:
    """What does a job by writing down which."""

    def __init__(self, stop=False):
        self.stop = stop

    def do(self, job, directory, switches, *, on_progress=None):
        self.done = (job, directory, switches, on_progress)
        if self.stop:
            request_stop(directory)
        return Outcomes(tuple(switches), ())


def test_a_look_reads_all_live_switches_and_sends_nothing(tmp_path):
    fabric = Fabric(
        name="pair",
        switches=(Switch("s0", "powerconnect-5324"), Switch("s1", "powerconnect-5324")),
        hosts=(Host("h0", 0, 24, 1),),
        links=(Link(0, 1, 1, 2),),
        ports=(24, 24),
    )
    pusher = Recorded()
    found = survey(
        pusher, tmp_path, tmp_path / "b", fabric, wave=2, own_lines={"s0": [{"text": "a"}]}, on_progress=print
    )
    job, place, switches, progress = pusher.done
    assert job == Job(tmp_path / "b", check=True, first_wave=2, last_wave=2, own_lines={"s0": [{"text": "a"}]})
    assert (place, switches, progress, found.switches) == (tmp_path, ["s0", "s1"], print, ("s0", "s1"))
    survey(pusher, tmp_path, tmp_path / "b", fabric)
    assert pusher.done[0] == Job(tmp_path / "b", check=True)
    with pytest.raises(KeyboardInterrupt):
        survey(Recorded(stop=True), tmp_path, tmp_path / "b", fabric)


# Secrets of the operator's own lines.


def test_secrets_are_words_of_the_inventory_and_never_shown():
    wanted = [SiteLine("community <secret:c>"), SiteLine("key <secret:k>", block="user <secret:b>")]
    values = {"c": "hunter2", "k": 7, "b": "x", "other": "y"}
    assert checked_secrets("s0", wanted, values) == {"b": "x", "c": "hunter2", "k": "7"}
    rule = "a value, from a vault"
    for known, actual in (
        ({}, "none"),
        (None, "none"),
        ("text", "none"),
        ({"c": ["x"]}, "list"),
        ({"c": True}, "bool"),
    ):
        with pytest.raises(InputError) as raised:
            checked_secrets("s0", wanted[:1], known)
        assert raised.value.findings == (Finding("s0: tagloom_secrets.c", rule, actual),)
    for bad in ("", "two words", "a'b", 'a"b', "a?", "schlüssel", "a\tb"):
        with pytest.raises(InputError) as raised:
            checked_secrets("s0", wanted, values | {"c": bad, "k": bad})
        assert [finding.where[-1] for finding in raised.value.findings] == ["c", "k"]
        assert all(finding.actual == "another, which is not shown" for finding in raised.value.findings)
    own = OwnLines(
        tuple(wanted), lambda text, lines, _secrets: (*lines[: len(text)],), tuple, {"a": "lock", "b": "lockout"}
    )
    assert own.hide("a lockout of a lock") == f"a {MASK} of a {MASK}"  # the longer one first
    assert own.lacking("x") == (wanted[0],)


# What is said of cells.


def test_cells_that_differ_are_said_in_words():
    said = {
        "s0: VLAN 100 g3 member: expected tagged, actual none": Change(
            Cell.MEMBER, Membership.TAGGED, Membership.NONE, port=3, vlan=100
        ),
        "s0: VLAN 7: expected absent, actual present": Change(Cell.VLAN, False, True, vlan=7),
        "s0: VLAN 7 name: expected 'a', actual no name": Change(Cell.VLAN_NAME, "a", "", vlan=7),
        "s0: g2 pvid: expected 1, actual 100": Change(Cell.PVID, 1, 100, port=2),
        "s0: g2 mode: expected access, actual general": Change(Cell.MODE, PortMode.ACCESS, PortMode.GENERAL, port=2),
        "s0: g2 lag: expected none, actual g25": Change(Cell.LAG, 0, 25, port=2),
        "s0: g2 enabled: expected on, actual off": Change(Cell.ENABLED, True, False, port=2),
        "s0: spanning-tree: expected off, actual on": Change(Cell.SPANNING_TREE, False, True),
        "s0: aging: expected 300, actual 0": Change(Cell.AGING, 300, 0),
    }
    assert {str(switch.cell_finding("s0", each)) for each in said.values()} == set(said)
    entry = Change(Cell.ENTRY, (1, 3), (), vlan=7, mac=0x0200_0000_0009)
    finding = switch.cell_finding("s0", entry, "p{}".format)
    assert finding.where.startswith("s0: VLAN 7 ")
    assert (finding.expected, finding.actual) == ("p1 p3", "none")
    frames = switch.cell_finding("s0", Change(Cell.FRAMES, Frames.ALL, Frames.UNTAGGED_ONLY, port=2))
    assert (frames.expected, frames.actual) == ("all", "untagged only")
    pause = switch.cell_finding("s0", Change(Cell.FLOW_CONTROL, FlowControl.OFF, FlowControl.ON, port=2))
    assert (pause.expected, pause.actual) == ("off", "on")


def test_cells_between_what_was_and_what_is_wanted_have_not_drifted():
    def state(*members):
        editor = SwitchEditor.blank(4)
        editor.create_vlan(7)
        for port in members:
            editor.set_member(7, port, Membership.TAGGED)
        return editor.freeze()

    assumed, wanted = state(1, 2), state(2, 3)
    for found in (assumed, wanted, state(2), state(1, 2, 3)):
        assert switch.drifted_cells(found, assumed, wanted) == ()
    drifted = switch.drifted_cells(state(1, 4), assumed, wanted)
    assert {(each.port, each.before, each.after) for each in drifted} == {
        (2, Membership.TAGGED, Membership.NONE),
        (4, Membership.NONE, Membership.TAGGED),
    }
    assert set(drifted) <= set(difference(assumed, state(1, 4)))
