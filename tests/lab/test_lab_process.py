import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import netmiko
import pytest
import yaml

from fabrics import make_fabric
from lab_fabrics import TEMPLATES, fabric, torus
from tagloom.errors import DeviceError, InputError
from tagloom.lab import process
from tagloom.lab.directory import Order, read_order, write_order
from tagloom.read import format_fabric, read_fabric

pytestmark = pytest.mark.usefixtures("executed")


@pytest.fixture
def ended():
    """Collect directories whose racks must not outlive the test."""
    directories = []
    yield directories
    for directory in directories:
        if (directory / "rack.json").exists():
            process.down(directory)


def test_sixteen_switches_come_up_answer_and_leave_nothing(tmp_path, ended):
    ended.append(tmp_path)
    info = process.up(Order(torus(4, 4), TEMPLATES), tmp_path)
    assert len(set(info.ports.values())) == 16
    answer = process.ping(tmp_path)
    assert (answer["pairs"], answer["reached"], answer["lost"], answer["storm"]) == (240, 240, 0, "")
    told = process.broadcast(tmp_path)
    assert (told["hosts"], told["exactly_once"], told["storm"]) == (16, 16, "")
    status = process.status(tmp_path)
    assert status["pid"] == info.pid
    assert status["switches"]["s3"]["address"] == f"127.0.0.1:{info.ports['s3']}"
    frames = process.ask(tmp_path, "counters")["frames"]
    assert frames["s0"]["g24"][0] > 0
    process.down(tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(info.pid, 0)
    assert not Path(info.socket).parent.exists()
    assert not (tmp_path / "rack.json").exists()
    assert (tmp_path / "rack.log").read_text() == ""


def test_the_directory_is_an_inventory(tmp_path, ended):
    ended.append(tmp_path)
    made = fabric(2, [(0, 1, 1, 1, 100)], models=["powerconnect-5324", "powerconnect-6248"])
    info = process.up(Order(made, TEMPLATES), tmp_path)
    read = read_fabric(tmp_path / "fabric.yml")
    assert [s.address for s in read.switches] == [f"127.0.0.1:{info.ports[name]}" for name in ("s0", "s1")]
    assert (read.hosts, read.links, read.ports) == (made.hosts, made.links, made.ports)
    assert yaml.safe_load((tmp_path / "tagloom.yml").read_text()) == {"plugin": "tagloom", "fabric": "fabric.yml"}
    variables = yaml.safe_load((tmp_path / "group_vars" / "all.yml").read_text())
    assert (variables["ansible_user"], variables["ansible_password"]) == ("lab", "lab")
    assert f"[127.0.0.1]:{info.ports['s1']} ssh-rsa" in (tmp_path / "known_hosts").read_text()
    assert read_order(tmp_path).fabric.links == made.links


def test_an_order_has_all_that_the_fabric_says(tmp_path):
    said = (
        "flow_control: true\neee: false\nreturned_ports: shut\nspanning_tree: outside\nreserved: {s1: [g20]}\n"
        "management: {vlan: 40, controller: s0:g24, links: [s0:g1, s1:g2, s2:g2]}\n"
        "networks: {compute: {hosts: [h0, h1], routing: up-down, links: ['s0:g1', 's1:g1', 's0:g2']}, "
        "storage: {hosts: [h2], tagged: [h0, h1], vlan: 20}}\n"
    )
    made = make_fabric("ring", 4, extra=said, model="powerconnect-5324")
    write_order(tmp_path, Order(made, TEMPLATES))
    read = read_order(tmp_path).fabric
    assert format_fabric(read) == format_fabric(made)
    assert (read.tags, read.routings) == (made.tags, made.routings) != ((), ())


def test_hosts_are_plugged_in_elsewhere_while_the_rack_runs(tmp_path, ended):
    ended.append(tmp_path)
    made = fabric(2, [(0, 1, 1, 1, 100)])
    process.up(Order(made, TEMPLATES), tmp_path)
    moved = replace(made.hosts[0], switch=1, port=20)
    process.plug(tmp_path, [moved, *made.hosts[1:]])
    sent = process.ping(tmp_path, "h0", "h1")
    assert (sent["path"][0][:2], sent["copies"]) == (["s1", 20], 1)


def test_a_rack_of_old_switches_is_reached_by_the_pinned_paramiko(tmp_path, ended):
    ended.append(tmp_path)
    info = process.up(Order(fabric(1), TEMPLATES, legacy_ssh=True), tmp_path)
    connection = netmiko.ConnectHandler(
        device_type="dell_powerconnect", host="127.0.0.1", port=info.ports["s0"], username="lab", password="lab"
    )
    transport = connection.remote_conn_pre.get_transport()
    assert transport.host_key_type == "ssh-rsa"
    assert transport.remote_cipher in ("aes128-cbc", "3des-cbc")  # type: ignore[attr-defined]
    connection.disconnect()


def test_a_second_rack_in_one_directory_is_refused(tmp_path, ended):
    ended.append(tmp_path)
    order = Order(fabric(1), TEMPLATES)
    info = process.up(order, tmp_path)
    with pytest.raises(InputError, match="no rack running there"):
        process.up(order, tmp_path)
    assert process.status(tmp_path)["pid"] == info.pid


def test_orders_that_cannot_be_are_findings(tmp_path, ended):
    ended.append(tmp_path)
    process.up(Order(fabric(2), TEMPLATES, quirks={"*": {"raw": True}, "s1": {"raw": False}}), tmp_path)
    quirks = {name: s["quirks"]["raw"] for name, s in process.status(tmp_path)["switches"].items()}
    assert quirks == {"s0": True, "s1": False}
    for wrong in (
        lambda: process.ping(tmp_path, "h0"),
        lambda: process.ping(tmp_path, "h0", "h9"),
        lambda: process.broadcast(tmp_path, "h9"),
        lambda: process.reboot(tmp_path, "s9"),
        lambda: process.quirks(tmp_path, {"s0": {"slow": True}}),
        lambda: process.ask(tmp_path, "dance"),
    ):
        with pytest.raises(InputError):
            wrong()


def test_where_no_rack_was_started_there_is_nothing_to_ask(tmp_path):
    for question in (process.status, process.ping, process.down):
        with pytest.raises(InputError, match="none was started here"):
            question(tmp_path)


def test_a_model_without_a_command_line_and_quirks_of_nobody_are_findings():
    with pytest.raises(InputError) as caught:
        Order(fabric(1, model="sf-0420g"), TEMPLATES, quirks={"s9": {"raw": True}, "*": {"slow": 1}})
    assert [f.where for f in caught.value.findings] == ["switches.s0.model", "quirks.s9", "quirks.*.slow"]


def test_a_rack_that_cannot_start_says_why(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(DeviceError, match="in use"):
            process.up(Order(fabric(1), TEMPLATES, base_port=taken.getsockname()[1]), tmp_path)
    assert not (tmp_path / "rack.json").exists()


def test_a_rack_that_was_killed_is_noticed_and_replaced(tmp_path, ended):
    ended.append(tmp_path)
    order = Order(fabric(1), TEMPLATES)
    info = process.up(order, tmp_path)
    os.kill(info.pid, signal.SIGKILL)
    os.waitpid(info.pid, 0)
    with pytest.raises(DeviceError, match="does not answer"):
        process.ping(tmp_path)
    again = process.up(order, tmp_path)
    assert again.pid != info.pid
    assert not Path(info.socket).parent.exists()
    assert process.ping(tmp_path)["pairs"] == 0


def test_a_new_rack_begins_without_the_runs_of_a_former_one(tmp_path, ended):
    ended.append(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs-1").mkdir()
    (tmp_path / "runs" / "journal.db").write_text("of a former rack")
    process.up(Order(fabric(1), TEMPLATES), tmp_path)
    assert (tmp_path / "runs-2" / "journal.db").read_text() == "of a former rack"
    assert not (tmp_path / "runs").exists()


def test_a_rack_that_does_not_end_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(process, "STOP_SECONDS", 0.2)
    info = process.up(Order(fabric(1), TEMPLATES), tmp_path)
    os.kill(info.pid, signal.SIGSTOP)  # it takes neither the order nor SIGTERM
    process.down(tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(info.pid, 0)
    assert not (tmp_path / "rack.json").exists()
    assert not Path(info.socket).parent.exists()


STARTS_AND_WAITS = """
import sys
from tagloom.cli import main
main(["lab", "up", *sys.argv[1:]])
sys.stdin.read()
"""


def test_a_rack_has_ended_whether_or_not_its_parent_asks_how(tmp_path):
    (tmp_path / "f.yml").write_text("name: one\nmodel: powerconnect-5324\nshape: {family: ring, dims: [3]}\n")
    words = [sys.executable, "-c", STARTS_AND_WAITS, tmp_path / "f.yml", "--dir", tmp_path / "lab"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        parent.stdout.readline()
        process.down(tmp_path / "lab")
        assert parent.poll() is None
        parent.stdin.close()


def test_down_never_ends_a_process_that_is_not_the_rack(tmp_path):
    page = {"pid": os.getpid(), "socket": str(tmp_path / "none"), "ports": {}}
    (tmp_path / "rack.json").write_text(json.dumps(page))
    process.down(tmp_path)  # we are still here
    assert not (tmp_path / "rack.json").exists()
