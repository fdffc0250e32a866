"""The unit that the role installs is one that systemd takes, and runs the command as it is."""

import shlex
import subprocess

import jinja2
import pytest
import yaml

from fabrics import ROOT
from tagloom.cli import parser
from tagloom.operate import backup

ROLE = ROOT / "roles" / "tagloom_run"


def rendered(**values):
    """Return the unit with the role's defaults but for some values, as Ansible renders it."""
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text())
    values = defaults | {"tagloom_run_command": "/bin/true"} | values
    text = (ROLE / "templates" / "tagloom-run.service.j2").read_text()
    return jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False).from_string(text).render(values)  # noqa: S701 - no page of the web


@pytest.fixture
def unit():
    return rendered()


def test_the_unit_may_listen_at_a_low_port_only_where_traps_are_to_be_heard(unit):
    sets = ("CapabilityBoundingSet=", "AmbientCapabilities=")
    assert set(sets) <= set(unit.splitlines())
    hears = rendered(tagloom_run_traps=True).splitlines()
    assert {f"{each}CAP_NET_BIND_SERVICE" for each in sets} <= set(hears)


def test_all_that_the_command_writes_to_is_made_by_the_role_and_may_be_written_to(unit):
    (line,) = [line for line in unit.splitlines() if line.startswith("ReadWritePaths=")]
    written = line.partition("=")[2].split()
    inventory = "/etc/tagloom/inventory"
    assert written == ["/var/lib/tagloom", f"{inventory}/runs", f"{inventory}/{backup.FOLDER}", "-/run/lock"]
    tasks = {task["name"]: task for task in yaml.safe_load((ROLE / "tasks" / "main.yml").read_text())}
    made = [each.rpartition("/")[2] for each in tasks["Make what it may write."]["loop"]]
    assert made == ["{{ tagloom_run_state }}", "runs", backup.FOLDER]


def test_every_default_is_an_option_of_the_role():
    options = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    assert set(options) == set(yaml.safe_load((ROLE / "defaults" / "main.yml").read_text()))


def test_the_command_of_the_unit_is_understood(unit):
    (line,) = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    args = parser().parse_args(shlex.split(line.partition("=")[2])[1:])
    assert (str(args.state), args.metrics_port, args.command) == ("/var/lib/tagloom", "9624", "run")


@pytest.mark.needs("systemd-analyze")
def test_systemd_takes_the_unit(unit, tmp_path):
    (tmp_path / "tagloom-run.service").write_text(unit)
    words = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "tagloom-run.service")]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    ours = [line for line in run.stderr.splitlines() if "tagloom-run" in line]
    assert (run.returncode, ours) == (0, [])
