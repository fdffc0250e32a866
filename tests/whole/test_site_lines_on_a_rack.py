"""Lines of the operator's own over real SSH: shown, sent after the forwarding, read back, and their secrets nowhere."""

import json
import shutil
import subprocess
import sys

import pytest
import yaml

from command_line.terminal import Terminal
from tagloom.lab import process

pytestmark = pytest.mark.slow

RING = """\
name: ring
model: powerconnect-5324
shape: {family: ring, dims: [3]}
switches: {s1: {model: powerconnect-6248}}
"""
COMMUNITY, PASSWORD = "kellerfalle7", "tiefseefisch9"
SITE = """\
hostname {{ fabric.name }}-{{ switch.name }}
sntp server {{ site.ntp }}
snmp-server community {{ secret.community }} ro
username night password {{ secret.night }} level 1
{% for port in switch.ports %}
{{ port.interface }}
description "to {{ port.peer }}"
{% endfor %}
"""
NAMES = ["s0", "s1", "s2"]
LINES = 7  # of each switch


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    terminal = Terminal(tmp_path_factory.mktemp("lines"))
    (terminal.home / "f.yml").write_text(RING + "site: {ntp: 192.0.2.7}\n")
    terminal("plan", "f.yml", "-o", "plain", "--protect", "none")
    applied = ("apply", "plain", "--allow", "interrupt")
    with terminal.lab("f.yml", applied), pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(terminal.home / "key"))
        (terminal.home / "key").write_text("opens the vault")
        (terminal.rack / "group_vars/all").mkdir()
        (terminal.rack / "group_vars/all.yml").rename(terminal.rack / "group_vars/all/lab.yml")
        write_secrets(terminal)
        yield terminal


def write_secrets(terminal, night=PASSWORD):
    """Write the secrets as an operator does: one encrypted by ansible-vault, one by a variable of its own."""
    sealed = subprocess.run(
        [sys.executable, "-m", "ansible", "vault", "encrypt_string", "--name", "vault_community", COMMUNITY],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    plain = yaml.safe_dump({"tagloom_secrets": {"community": "{{ vault_community }}", "night": night}})
    (terminal.rack / "group_vars/all/secrets.yml").write_text(f"{sealed}\n{plain}")


@pytest.fixture
def terminal(running):
    running.fresh()
    for place in (running.runs, running.home / "b", running.home / "templates"):
        shutil.rmtree(place, ignore_errors=True)
    (running.home / "templates/site").mkdir(parents=True)
    (running.home / "templates/site/all.j2").write_text(SITE)
    running("plan", "f.yml", "-o", "b", "--protect", "none")
    return running


def running_lines(terminal, switch="s0"):
    return [line.strip() for line in process.configurations(terminal.rack)[switch].splitlines()]


def everything_written(terminal):
    """Read every file of builds and runs but backups, which are said to hold what a switch shows."""
    places = (terminal.home / "b", terminal.rack / "runs")
    files = [path for place in places for path in place.rglob("*") if path.is_file() and "backups" not in path.parts]
    assert any(path.name == "journal.db" for path in files)
    return b"\0".join(path.read_bytes() for path in files)


def test_they_are_shown_sent_read_back_and_a_second_apply_finds_nothing_to_do(terminal):
    shown = terminal("apply", "b", "--check", "--diff=full")
    assert "+sntp server 192.0.2.7" in shown
    assert "+snmp-server community ******** ro" in shown
    assert '+interface ethernet g1: description "to s2"' in shown
    assert "sntp server 192.0.2.7" not in running_lines(terminal)

    page = terminal.answer("apply", "b")
    assert (page["changed"], page["failed"]) == (NAMES, [])
    assert {name: len(lines) for name, lines in page["own_lines"].items()} == dict.fromkeys(NAMES, LINES)
    for name in NAMES:
        said = running_lines(terminal, name)
        assert f"hostname ring-{name}" in said
        assert "sntp server 192.0.2.7" in said
        assert f"snmp-server community {COMMUNITY} ro" in said
        assert f"username night password {PASSWORD} level 1" in said
        assert sum(line.startswith("description") and "to " in line for line in said) == 3
    assert process.configurations(terminal.rack, startup=True) == process.configurations(terminal.rack)
    assert terminal.answer("lab", "ping")["reached"] == 6

    held = process.configurations(terminal.rack)
    page = terminal.answer("apply", "b")
    assert (page["changed"], page["unchanged"], page["own_lines"]) == ([], NAMES, {})
    assert process.configurations(terminal.rack) == held


@pytest.mark.daily
def test_what_a_hand_takes_away_is_seen_and_comes_back(terminal):
    terminal("apply", "b")
    terminal.type("s1", "no sntp server 192.0.2.7")
    page = terminal.answer("apply", "b", "--check")
    assert page["own_lines"] == {"s1": ["sntp server 192.0.2.7"]}
    assert page["changed"] == ["s1"]
    page = terminal.answer("apply", "b")
    assert page["changed"] == ["s1"]
    assert "sntp server 192.0.2.7" in running_lines(terminal, "s1")


def test_secrets_stand_in_no_file_of_a_build_or_run_and_in_no_output(terminal):
    said = terminal("apply", "b", "--check", "--diff=full") + terminal("apply", "b", "--diff", "-v")
    terminal.answer("apply", "b", "--check")
    process.quirks(terminal.rack, {"s0": {"reject_line": "night password"}})
    terminal.type("s0", "no username night")
    page = terminal.answer("apply", "b", expect=3)
    assert page["failed"] == ["s0"]
    failed = next(outcome for outcome in page["outcomes"] if outcome["failed"])
    assert failed["command"] == "username night password ******** level 1"
    whole = everything_written(terminal) + said.encode() + json.dumps(page).encode()
    for secret in (COMMUNITY, PASSWORD):
        assert secret.encode() not in whole
    assert b"********" in whole


def test_a_line_that_a_switch_takes_and_does_not_do_is_told_and_not_saved(terminal):
    process.quirks(terminal.rack, {"s2": {"ignore_line": "sntp"}})
    page = terminal.answer("apply", "b", expect=3)
    assert (page["changed"], page["failed"]) == (["s0", "s1"], ["s2"])
    failed = next(outcome for outcome in page["outcomes"] if outcome["failed"])
    assert [finding["where"] for finding in failed["findings"]] == ["s2: sntp server 192.0.2.7"]
    assert "sntp" not in process.configurations(terminal.rack, startup=True)["s2"]
    process.quirks(terminal.rack, {"s2": {"ignore_line": ""}})
    page = terminal.answer("apply", "--resume")
    assert page["failed"] == []
    assert "sntp server 192.0.2.7" in running_lines(terminal, "s2")
    assert terminal.answer("apply", "b")["changed"] == []


@pytest.mark.daily
def test_a_secret_that_nobody_says_or_that_is_two_lines_sends_nothing(terminal):
    before = process.configurations(terminal.rack)
    for value in (None, "a\nshutdown", "a level 15"):
        write_secrets(terminal, value)
        answer = terminal.answer("apply", "b", "--check", expect=3)
        assert answer["failed"] == NAMES
        assert "tagloom_secrets.night" in answer["outcomes"][0]["error"]
        assert process.configurations(terminal.rack) == before
    write_secrets(terminal)


@pytest.mark.daily
def test_a_push_that_fails_holds_them_back_until_it_is_resumed(terminal):
    terminal("plan", "f.yml", "--routing", "tree", "--previous", "plain", "-o", "tree", "--protect", "none")
    process.quirks(terminal.rack, {"s1": {"reject_line": "^vlan 1"}})
    page = terminal.answer("apply", "tree", expect=3)
    assert page["failed"] == ["s1"]
    assert "lines of your own were not sent to s0, s1, s2" in " ".join(page["remarks"])
    assert not any("sntp" in text for text in process.configurations(terminal.rack).values())
    process.quirks(terminal.rack, {"s1": {"reject_line": ""}})
    page = terminal.answer("apply", "--resume")
    assert (page["failed"], page["state"]) == ([], "done")
    assert all("sntp server 192.0.2.7" in running_lines(terminal, name) for name in NAMES)
    assert terminal.answer("apply", "tree")["changed"] == []


@pytest.mark.daily
def test_a_rollback_says_which_lines_it_leaves_and_is_refused_where_they_alone_went_out(terminal):
    terminal("apply", "b")
    (terminal.home / "templates/site/all.j2").write_text(SITE + "exit\nlogging 192.0.2.77\n")
    terminal("plan", "f.yml", "--routing", "tree", "--previous", "b", "-o", "tree", "--protect", "none")
    assert terminal.answer("apply", "tree")["own_lines"]["s0"] == ["logging 192.0.2.77"]
    (terminal.home / "templates/site/all.j2").write_text(SITE + "logging 192.0.2.78\n")
    terminal("plan", "f.yml", "--routing", "tree", "--previous", "tree", "-o", "more", "--protect", "none")
    assert terminal.answer("apply", "more")["kind"] == "lines"
    held = process.configurations(terminal.rack)
    terminal("rollback", expect=1)
    assert process.configurations(terminal.rack) == held, "the last apply changed no forwarding"
    page = terminal.answer("rollback", "tree")
    assert "LEFT AS THEY ARE, lines of your own: s0 (2), s1 (2), s2 (2)" in " ".join(page["remarks"])
    assert "logging 192.0.2.77" in running_lines(terminal)
