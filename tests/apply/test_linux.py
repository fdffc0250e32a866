"""Real ansible-playbook, real SSH, Linux machines of the virtual rack: a ring is pushed, changed, rebooted, refused."""

import json
import os
import subprocess
import sys
from dataclasses import asdict

import pytest
import yaml

from command_line.terminal import Terminal
from tagloom.adapters.shell import LinuxSwitch
from tagloom.adapters.ssh import Access
from tagloom.apply.playbook import ansible_environment, inventory_source
from tagloom.errors import DeviceError
from tagloom.lab import process
from tagloom.lab.device import Device, Quirks
from tagloom.lab.manners import MANNERS
from tagloom.platforms import load
from tagloom.render import parse_configuration
from tagloom.share import share_directory
from thinned import few

pytestmark = pytest.mark.slow

LINUX = load("linux-bridge")
ALL = ["s0", "s1", "s2", "s3"]
SCRIPT = Device.BOOT


class Ring(Terminal):
    """Hold a planned ring of four Linux switches and its running rack."""

    def __init__(self, home):
        super().__init__(home)
        self("new", "ring", "--dims", 4, "--model", "linux-bridge", "-o", "f.yml")
        self("plan", "f.yml", "-o", "b")
        self("plan", "f.yml", "-o", "off", "--off", "s0:swp1", "--previous", "b")
        self("lab", "up", "f.yml")

    def fresh(self):
        """Put every machine back to one without a bridge or a script, and every setting back."""
        process.quirks(self.rack, {"*": asdict(Quirks())})
        for name in ALL:
            with self.connection(name) as shell:
                if any('"ifname":"tagloom"' in line for line in shell.running_configuration().splitlines()):
                    shell.send(["ip link del dev tagloom"])
                shell.send([f"rm -f {SCRIPT}"])
        self.variables(tagloom_save_to=SCRIPT, tagloom_become=None)

    def variables(self, **changes):
        page = self.rack / "group_vars" / "all.yml"
        variables = yaml.safe_load(page.read_text()) | changes
        page.write_text(yaml.safe_dump({key: value for key, value in variables.items() if value is not None}))

    def connection(self, name, **changes):
        port, known_hosts = process.read_info(self.rack).ports[name], str(self.rack / "known_hosts")
        access = {"user": "lab", "password": "lab", "known_hosts": known_hosts, "fast_cli": True} | changes
        return LinuxSwitch(name, LINUX, Access("127.0.0.1", port, **access))

    def state(self, name):
        return parse_configuration(LINUX, process.configurations(self.rack)[name]).state

    def planned(self, name, build="b"):
        return parse_configuration(LINUX, (self.home / build / "configs" / f"{name}.cfg").read_text()).state

    def reached(self):
        return process.ping(self.rack)["reached"]


@pytest.fixture(scope="module")
def running_ring(tmp_path_factory):
    made = Ring(tmp_path_factory.mktemp("linux"))
    yield made
    made("lab", "down")


@pytest.fixture
def ring(running_ring):
    running_ring.fresh()
    return running_ring


def test_a_ring_is_checked_pushed_and_found_unchanged_and_a_change_goes_by_rollout(ring):
    assert ring.reached() == 0, "machines without a bridge forward nothing"
    shown = ring("apply", "b", "--check", "--diff=full")
    assert shown.count("+ip link add name tagloom type bridge vlan_filtering 1 ") == len(ALL)
    assert all(ring.state(name) != ring.planned(name) for name in ALL), "check mode sends nothing"

    page = ring.answer("apply", "b")
    assert (page["changed"], page["failed"]) == (ALL, [])
    assert all(outcome["sent"] == outcome["commands"] for outcome in page["outcomes"])
    assert not any(outcome["volatile"] for outcome in page["outcomes"])
    assert all(ring.state(name) == ring.planned(name) for name in ALL)
    assert ring.reached() == 12

    page = ring.answer("apply", "b")
    assert (page["changed"], page["unchanged"], page["failed"]) == ([], ALL, [])

    assert "in 2 waves" in ring("apply", "off", "--check")
    page = ring.answer("apply", "off")
    assert (page["changed"], page["failed"], page["waves"], page["waves_reached"]) == (ALL, [], 2, 2)
    assert not ring.state("s0").enabled[0]
    assert ring.reached() == 12


def test_the_script_it_keeps_is_what_a_reboot_finds(ring):
    ring("apply", "b")
    assert process.configurations(ring.rack, startup=True) == {
        name: (ring.home / "b/configs" / f"{name}.cfg").read_text() for name in ALL
    }
    process.reboot(ring.rack)
    assert all(ring.state(name) == ring.planned(name) for name in ALL)
    assert ring.reached() == 12


@pytest.mark.daily
def test_without_a_file_to_keep_it_in_a_reboot_forgets_and_apply_says_so(ring):
    ring.variables(tagloom_save_to=None)
    shown = ring("apply", "b")
    assert "forgets it all on s0, s1, s2, s3: set tagloom_save_to" in " ".join(shown.split())
    process.reboot(ring.rack, "s1")
    page = ring.answer("apply", "b", "--allow", "interrupt")
    assert (page["changed"], page["unchanged"]) == (["s1"], ["s0", "s2", "s3"])
    assert [outcome["switch"] for outcome in page["outcomes"] if outcome["volatile"]] == ["s1"]


@pytest.mark.daily
def test_a_folder_that_is_not_there_is_a_failure_to_save(ring):
    ring.variables(tagloom_save_to="/nowhere/bridge.sh")
    assert "s1, s2, s3 were not read" in ring.answer("apply", "b", "--limit", "s0", expect=1)["witness"]
    page = ring.answer("apply", "b", "--limit", "s0", "--allow", "interrupt", expect=3)
    assert page["failed"] == ["s0"]
    assert page["outcomes"][0]["error"] == "tee: /nowhere/bridge.sh.new: No such file or directory"


@pytest.mark.daily
def test_commands_may_be_run_by_sudo(ring):
    ring.variables(tagloom_become="sudo -n")
    assert ring.answer("apply", "b")["changed"] == ALL
    assert ring.reached() == 12


def test_failures_are_told_by_line_and_the_next_push_goes_on_from_there(ring):
    process.quirks(ring.rack, {"s0": {"reject_line": "^bridge fdb"}, "s1": {"refuse_login": True}})
    process.quirks(ring.rack, {"s2": {"drop_after": 18}, "s3": {"ignore_line": " pvid "}})
    page = ring.answer("apply", "b", "--allow", "interrupt", expect=3)
    assert page["failed"] == ALL
    refused, locked_out, dropped, ignored = page["outcomes"]
    assert refused["error"] == "RTNETLINK answers: Operation not permitted"
    assert refused["command"].startswith("bridge fdb replace ")
    assert refused["sent"] == refused["commands"][: refused["commands"].index(refused["command"])]
    assert (locked_out["command"], locked_out["error"]) == ("login", "refused for user 'lab'")
    assert dropped["error"] == "the session was dropped"
    assert 0 < len(dropped["sent"]) < len(dropped["commands"])
    assert ignored["findings"][0] == {
        "where": "s3: swp3 pvid",
        "expected": str(ring.planned("s3").pvid[2]),
        "actual": "0",
    }
    assert process.configurations(ring.rack, startup=True)["s3"] == ""

    process.quirks(ring.rack, {"*": asdict(Quirks())})
    assert ring.answer("apply", "b", "--allow", "interrupt")["failed"] == []
    assert ring.reached() == 12


def test_a_bridge_of_the_same_name_by_other_rules_is_refused_and_nothing_is_sent(ring):
    with ring.connection("s0") as shell:  # a push cut short behind its first line
        shell.send([next(line for line in configs(ring) if line.startswith("ip link add"))])
    page = ring.answer("apply", "b", "--limit", "s0", expect=3)
    assert page["failed"] == ["s0"]
    assert "refused, nothing was sent: s0: bridge tagloom: expected ports, actual none" in page["outcomes"][0]["error"]
    assert page["outcomes"][0]["sent"] == []


def configs(ring):
    return (ring.home / "b/configs/s0.cfg").read_text().splitlines()


def play(ring, playbook, **arguments):
    share = share_directory()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ansible", "playbook", str(share / "playbooks" / playbook)),
            *("--inventory", str(inventory_source(ring.rack)), "--extra-vars", json.dumps(arguments)),
        ],
        env=ansible_environment({key: os.environ[key] for key in ("PATH", "HOME")}, share),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.daily
def test_ansible_playbook_alone_pushes_and_reads(ring):
    play(
        ring,
        "apply.yml",
        tagloom_apply_build=str(ring.home / "b"),
        tagloom_apply_allow="interrupt",
        tagloom_apply_directory=str(ring.home / "by-hand"),
    )
    assert ring.reached() == 12
    play(ring, "read.yml", tagloom_read_directory=str(ring.home / "running"))
    for name in ALL:
        text = (ring.home / "running" / f"{name}.cfg").read_text()
        assert parse_configuration(LINUX, text).state == ring.planned(name)


@pytest.mark.parametrize("name", few([name for name, each in MANNERS.items() if each.of_shells], 0))
def test_a_shell_is_talked_to_whatever_it_greets_with(ring, name):
    process.manner(ring.rack, "s0", name)
    try:
        with ring.connection("s0") as shell:
            assert '"ifname":"swp1"' in shell.running_configuration()
            with pytest.raises(DeviceError):
                shell.send(["ip link set dev nothing up"])
    finally:
        process.manner(ring.rack, "s0")
