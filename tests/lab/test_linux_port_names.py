"""Linux machines with ports of an OpenWrt switch and of servers: pushed over SSH, read by SNMP, pinged."""

import json

import pytest

from tagloom.cli import main

pytestmark = pytest.mark.kernel

FABRIC = """\
name: homemade
switches:
  s0: {model: "linux-bridge:lan1-4,wan"}
  s1: {model: "linux-bridge:eth0-eth3"}
  s2: {model: "linux-bridge:enp3s0-enp3s3"}
links: [["s0:lan1", "s1:eth0"], ["s1:eth1", "s2:enp3s0"], ["s2:enp3s1", "s0:wan"]]
hosts:
  h0: {switch: s0, port: lan3}
  h1: {switch: s1, port: eth3}
  h2: {switch: s2, port: enp3s3}
"""


def test_ports_of_any_names_are_pushed_to_and_read_back(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(FABRIC)
    assert main(["plan", "f.yml", "-o", "b", "--static-arp"]) == 0
    assert "bridge vlan add dev wan vid" in (tmp_path / "b" / "configs" / "s0.cfg").read_text()
    assert main(["lab", "up", "f.yml"]) == 0
    try:
        capsys.readouterr()
        assert main(["apply", "b", "--allow", "interrupt", "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["changed"]) == 3
        assert main(["observe", "--against", "b"]) == 0
        capsys.readouterr()
        assert main(["lab", "ping", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["lost"] == 0
    finally:
        assert main(["lab", "down"]) == 0
