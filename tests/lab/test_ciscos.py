"""Cisco's SG300 and CBS350 with a PowerConnect among them: pushed over netmiko, read by SNMP, pinged."""

import json

import pytest

from tagloom.adapters.ssh import Access, SshSwitch
from tagloom.cli import main
from tagloom.lab import process
from tagloom.platforms import load

FABRIC = """\
name: ciscos
switches:
  s0: {model: cisco-cbs350-24t-4g}
  s1: {model: cisco-sg300-28}
  s2: {model: cisco-cbs350-24t-4x}
  s3: {model: powerconnect-5548}
links: [["s0:gi1", "s1:gi1"], ["s1:gi2", "s2:gi1/0/1"], ["s2:te1/0/2", "s3:gi1/0/1"], ["s3:gi1/0/2", "s0:gi2"]]
hosts:
  h0: {switch: s0, port: gi5}
  h1: {switch: s1, port: gi5}
  h2: {switch: s2, port: gi1/0/5}
  h3: {switch: s3, port: gi1/0/5}
"""
RACK = "inventory/lab"


@pytest.fixture
def racked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(FABRIC)
    assert main(["plan", "f.yml", "-o", "b"]) == 0
    assert main(["lab", "up", "f.yml"]) == 0
    yield tmp_path
    assert main(["lab", "down"]) == 0


def said(capsys, *words):
    capsys.readouterr()
    status = main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_fabric_of_ciscos_is_pushed_read_by_snmp_and_refused_while_a_trunk_carries_all(racked, capsys):
    status, pushed = said(capsys, "apply", "b", "--allow", "interrupt")
    assert (status, len(pushed["changed"])) == (0, 4)
    assert said(capsys, "lab", "ping")[1]["lost"] == 0
    assert main(["observe", "--against", "b"]) == 0  # PVIDs and members of every port, by SNMP
    info = process.read_info(racked / RACK)
    access = Access("127.0.0.1", info.ports["s0"], "lab", "lab", known_hosts=str(racked / RACK / "known_hosts"))
    with SshSwitch("s0", load("cisco-cbs350-24t-4g"), access) as console:
        console.send(["interface GigabitEthernet20", "switchport mode trunk", "exit"])
        assert console.save()
    status, checked = said(capsys, "apply", "b", "--check")
    assert status != 0
    assert "gi20" in json.dumps(checked)
