"""Huawei's switches with a PowerConnect among them: pushed over netmiko, read by SNMP, pinged, taken back."""

import json

import pytest

from tagloom.adapters.ssh import Access, SshSwitch
from tagloom.cli import main
from tagloom.errors import DeviceError
from tagloom.lab import process
from tagloom.platforms import load
from thinned import few

FABRIC = """\
name: vrp
switches:
  s0: {model: huawei-s5731-s24t4x}
  s1: {model: huawei-s5731-s48t4x}
  s2: {model: huawei-s5720-52x-ei}
  s3: {model: powerconnect-5548}
links: [["s0:GE0/0/1", "s1:GE0/0/1"], ["s1:GE0/0/2", "s2:XGE0/0/1"],
        ["s2:GE0/0/2", "s3:gi1/0/1"], ["s3:gi1/0/2", "s0:GE0/0/2"]]
hosts:
  h0: {switch: s0, port: GE0/0/5}
  h1: {switch: s1, port: GE0/0/5}
  h2: {switch: s2, port: GE0/0/5}
  h3: {switch: s3, port: gi1/0/5}
"""
RACK = "inventory/lab"
PLANS = [["--assignment", "fixed"], ["--assignment", "renamed"], ["--assignment", "pinned", "--routing", "tree"]]


@pytest.fixture
def racked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(FABRIC)
    assert main(["lab", "up", "f.yml"]) == 0
    yield tmp_path
    assert main(["lab", "down"]) == 0


def said(capsys, *words):
    capsys.readouterr()
    status = main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def login(directory, name="s0", model="huawei-s5731-s24t4x", **more):
    info = process.read_info(directory / RACK)
    known = str(directory / RACK / "known_hosts")
    return SshSwitch(name, load(model), Access("127.0.0.1", info.ports[name], "lab", "lab", known_hosts=known, **more))


@pytest.mark.parametrize("words", few(PLANS, 0), ids=lambda words: words[1])
@pytest.mark.usefixtures("racked")
def test_every_assignment_is_pushed_carries_every_pair_and_is_read_by_snmp(capsys, words):
    assert main(["plan", "f.yml", "-o", "b", *words]) == 0
    status, pushed = said(capsys, "apply", "b", "--allow", "interrupt")
    assert (status, len(pushed["changed"])) == (0, 4)
    assert said(capsys, "lab", "ping")[1]["lost"] == 0
    assert main(["observe", "--against", "b"]) == 0
    status, again = said(capsys, "apply", "b")
    assert (status, again["changed"], len(again["unchanged"])) == (0, [], 4)
    assert main(["plan", "f.yml", "-o", "c", "--off", "s2:GE0/0/2", "--previous", "b", *words]) == 0
    assert main(["apply", "c", "--allow", "interrupt"]) == 0
    assert said(capsys, "lab", "ping")[1]["lost"] == 0
    assert main(["rollback", "--allow", "interrupt"]) == 0
    assert said(capsys, "lab", "ping")[1]["lost"] == 0


def test_what_somebody_changed_by_hand_is_found_and_put_right(racked, capsys):
    assert main(["plan", "f.yml", "-o", "b"]) == 0
    assert main(["apply", "b", "--allow", "interrupt"]) == 0
    with login(racked) as console:
        console.send(["interface GigabitEthernet0/0/5", "port hybrid pvid vlan 101", "quit"])
        console.send(["undo mac-address static 0200-0000-0001 GigabitEthernet0/0/1 vlan 100"])
    assert main(["apply", "b"]) == 1
    status, pushed = said(capsys, "apply", "b", "--drift", "overwrite", "--allow", "interrupt")
    assert (status, pushed["changed"]) == (0, ["s0"])
    assert said(capsys, "lab", "ping")[1]["lost"] == 0


def test_a_link_that_is_shut_and_slowed_is_told_at_both_ends(racked, capsys):
    assert main(["plan", "f.yml", "-o", "b", "--off", "s2:GE0/0/2"]) == 0
    assert main(["apply", "b", "--allow", "interrupt"]) == 0
    with login(racked, "s2", "huawei-s5720-52x-ei") as console:
        text = console.running_configuration()
    block = text.partition("interface GigabitEthernet0/0/2\n")[2].partition("#")[0]
    assert " shutdown" in block.splitlines()
    assert said(capsys, "lab", "ping")[1]["lost"] == 0
    assert main(["observe", "--against", "b"]) == 0


@pytest.mark.parametrize("echo", [True, False])
def test_a_session_says_yes_where_it_is_asked_moves_between_views_and_names_what_is_refused(racked, echo):
    with login(racked, fast_cli=True, echo=echo) as console:
        assert console.mode == ""
        with pytest.raises(DeviceError, match="Unrecognized command"):
            console.send(["vlan batch 7 9", "no such line"])
        assert console.mode == ""
        ((_, answer),) = console.send(["stp disable"])
        assert "global STP state will be changed" in answer
        assert "stp disable" in console.running_configuration()
        console.send(["interface GigabitEthernet0/0/9", "description a [strange] <name>", "quit"])
        assert "strange" in console.running_configuration()
        assert console.save()
        assert console.startup_configuration() == console.running_configuration()
        with pytest.raises(DeviceError, match="ended in"):
            console.send(["interface GigabitEthernet0/0/9"])


def test_a_port_changes_its_link_type_in_vlan_1_alone(racked):
    with login(racked, fast_cli=True) as console:
        console.send(
            ["vlan batch 7", "interface GE0/0/9", "port link-type hybrid", "port hybrid tagged vlan 7", "quit"]
        )
        with pytest.raises(DeviceError, match="renew the default configurations"):
            console.send(["interface GE0/0/9", "port link-type access", "quit"])
        console.send(["interface GE0/0/9", "undo port hybrid vlan 7", "port link-type access", "quit"])


def test_pages_that_stop_are_read_whole_and_help_is_asked_without_a_trace(racked):
    with login(racked, fast_cli=True) as console:
        before = console.running_configuration()
        console.ask("undo screen-length temporary")
        assert console.running_configuration() == before
        assert console.erases()
        assert "system-view" in console.help("")
        console.ask("system-view")
        assert "hybrid" not in console.help("port ")
        console.ask("interface GigabitEthernet0/0/9")
        assert "hybrid" in console.help("port link-type ")
        console.ask("return")
        assert console.running_configuration() == before
