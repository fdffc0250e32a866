"""tagloom run as a service: the unit starts the same command, systemd takes it, and nobody else's unit is replaced."""

import os
import shlex
import subprocess
import sys

import pytest

from tagloom.apply.lock import began_at
from tagloom.cli import parser
from tagloom.read.service_unit import Service, is_written_here, service_unit

OWN = os.geteuid() != 0


@pytest.fixture
def project(tmp_path, run, monkeypatch):
    """Write a project, and go there; units of the user are in it, too."""
    assert run("init", tmp_path / "my rack", "--switches", 4)[0] == 0
    monkeypatch.chdir(tmp_path / "my rack")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("tagloom.adapters.systemd.BOOTED", tmp_path / "no systemd here")
    if not OWN:
        monkeypatch.setattr("os.geteuid", lambda: 1000)  # else the unit would be one of this computer
    return tmp_path / "my rack"


def value_of(unit, key):
    (line,) = [line for line in unit.splitlines() if line.startswith(f"{key}=")]
    return line.partition("=")[2]


def taken_by_systemd(unit, place):
    path = place / "tagloom-x.service"
    path.write_text(unit)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True, check=False
    )
    return done.returncode, [line for line in done.stderr.splitlines() if "tagloom-x" in line]


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("user", ["root", ""])
def test_systemd_takes_the_unit(user, tmp_path):
    home = tmp_path / "50% of my racks"
    home.mkdir()
    command = sys.executable, "-m", "tagloom.cli", "run", "-i", str(home / "inventory"), "--on-event", "sh -c 'echo $1'"
    unit = service_unit(Service("ring", command, home, home / "inventory", user, home / "vault password"))
    assert taken_by_systemd(unit, tmp_path) == (0, [])


@pytest.mark.needs("systemd-analyze")
def test_init_writes_a_unit_that_systemd_takes(project, tmp_path):
    unit = (project / "tagloom.service").read_text()
    assert taken_by_systemd(unit, tmp_path) == (0, [])
    assert is_written_here(unit)
    command = shlex.split(value_of(unit, "ExecStart"))
    assert command == [sys.executable, "-P", "-m", "tagloom.cli", "run", "-i", str(project / "inventory")]
    assert value_of(unit, "Restart") == "always"


def test_a_check_shows_the_unit_and_writes_nothing(project, tmp_path, answer, run):
    status, page = answer("run", "--install-service", "--check", "-i", "inventory", "--every", "5s", "--no-watch")
    assert (status, page["wrote"], page["started"]) == (0, "", False)
    assert not (tmp_path / "config").exists()
    command = shlex.split(value_of(page["unit"], "ExecStart"))
    args = parser().parse_args(command[4:])
    assert (args.command, args.every, args.no_watch, args.timetable) == ("run", "5s", True, None)
    assert args.inventory == project / "inventory"
    assert page["commands"][0] == "systemctl --user daemon-reload"
    status, out, _ = run("run", "--install-service", "--check", "-i", "inventory")
    assert (status, "[Service]" in out, "does not run on this computer" in out) == (0, True, True)


@pytest.mark.usefixtures("project")
def test_a_unit_is_written_once_and_one_of_somebody_else_only_with_force(tmp_path, answer):
    words = "run", "--install-service", "-i", "inventory"
    status, page = answer(*words)
    path = tmp_path / "config" / "systemd" / "user" / "tagloom-my-rack.service"
    assert (status, page["path"], page["wrote"]) == (0, str(path), str(path))
    assert path.read_text() == page["unit"]
    assert answer(*words)[0] == 0, "tagloom's own unit is replaced"
    path.write_text(page["unit"].replace("RestartSec=5s", "RestartSec=60s"))
    for more in ((), ("--check",)):
        status, refused = answer(*words, *more)
        assert (status, refused["findings"][0]["where"]) == (2, str(path))
    assert "RestartSec=60s" in path.read_text()
    assert answer(*words, "--force")[0] == 0
    assert path.read_text() == page["unit"]


def test_all_that_is_wrong_is_told_at_once(project, answer):
    (project / "day.yml").write_text("rules: [{when: never, settings: all-on}]\n")
    words = "day.yml", "--install-service", "-i", "inventory", "--once"
    status, page = answer("run", *words)
    assert status == 2
    assert [each["where"] for each in page["findings"]] == ["day.yml: rules[0].when", "--once"]
    status, page = answer("run", "-i", "inventory", "--no-watch")
    assert (status, [each["where"] for each in page["findings"]]) == (2, ["--no-watch"])


def test_a_process_that_got_the_number_of_a_former_one_began_at_another_time():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert began_at(os.getpid()) <= began_at(other.pid)
        assert began_at(os.getpid()) > 0
        other.communicate()
    assert began_at(other.pid) == 0
