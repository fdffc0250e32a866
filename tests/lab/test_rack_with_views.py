"""Switches whose console has views (Comware, Huawei) with a PowerConnect: pushed over netmiko, read by SNMP, pinged."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tagloom.adapters.ssh import Access, SshSwitch
from tagloom.cli import main
from tagloom.errors import DeviceError
from tagloom.lab import process
from tagloom.platforms import load
from thinned import daily, few

pytestmark = pytest.mark.slow

FABRIC = """\
name: views
switches:
  s0: {{model: {models[0]}}}
  s1: {{model: {models[1]}}}
  s2: {{model: {models[2]}}}
  s3: {{model: powerconnect-5548}}
links: [["s0:GE{slot}/1", "s1:GE{slot}/1"], ["s1:GE{slot}/2", "s2:{uplink}"],
        ["s2:GE{slot}/2", "s3:gi1/0/1"], ["s3:gi1/0/2", "s0:GE{slot}/2"]]
hosts:
  h0: {{switch: s0, port: GE{slot}/5}}
  h1: {{switch: s1, port: GE{slot}/5}}
  h2: {{switch: s2, port: GE{slot}/5}}
  h3: {{switch: s3, port: gi1/0/5}}
"""
RACK = Path("inventory/lab")
PLANS = [["--assignment", "fixed"], ["--assignment", "renamed"], ["--assignment", "pinned", "--routing", "tree"]]


@dataclass(frozen=True)
class Kin:
    """A family: its models, its ports, the line that takes an entry away, what makes pages stop, its line of VLANs."""

    models: tuple[str, str, str]
    slot: str
    uplink: str
    no_entry: str
    pages: str
    vlan: str

    @property
    def fabric(self):
        return FABRIC.format(models=self.models, slot=self.slot, uplink=self.uplink)

    def port(self, number):
        return f"interface GigabitEthernet{self.slot}/{number}"


COMWARE = Kin(
    models=("hpe-5130-24g-4sfp", "hpe-5130-48g-4sfp", "hpe-5700-48g-4xg"),
    slot="1/0",
    uplink="XGE1/0/49",
    no_entry="undo mac-address static 0200-0000-0001 interface GigabitEthernet1/0/1 vlan 100",
    pages="undo screen-length disable",
    vlan="vlan 7",
)
HUAWEI = Kin(
    models=("huawei-s5731-s24t4x", "huawei-s5731-s48t4x", "huawei-s5720-52x-ei"),
    slot="0/0",
    uplink="XGE0/0/1",
    no_entry="undo mac-address static 0200-0000-0001 GigabitEthernet0/0/1 vlan 100",
    pages="undo screen-length temporary",
    vlan="vlan batch 7 9",
)
EACH = pytest.mark.parametrize("racked", daily([COMWARE, HUAWEI], 0), ids=["comware", "huawei"], indirect=True)


@pytest.fixture
def racked(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(request.param.fabric)
    assert main(["lab", "up", "f.yml"]) == 0
    yield request.param
    assert main(["lab", "down"]) == 0


def said(capsys, *words):
    capsys.readouterr()
    status = main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def login(kin, number=0, **more):
    name, info = f"s{number}", process.read_info(RACK.absolute())
    access = Access("127.0.0.1", info.ports[name], "lab", "lab", known_hosts=f"{RACK}/known_hosts", **more)
    return SshSwitch(name, load(kin.models[number]), access)


@EACH
@pytest.mark.parametrize("words", few(PLANS, 0), ids=lambda words: words[1])
def test_every_assignment_is_pushed_carries_every_pair_and_is_read_by_snmp(racked, capsys, words):
    assert main(["plan", "f.yml", "-o", "b", *words]) == 0
    status, pushed = said(capsys, "apply", "b", "--allow", "interrupt")
    assert (status, len(pushed["changed"])) == (0, 4)
    assert said(capsys, "lab", "ping")[1]["lost"] == 0
    assert main(["observe", "--against", "b"]) == 0
    status, again = said(capsys, "apply", "b")
    assert (status, again["changed"], len(again["unchanged"])) == (0, [], 4)
    off = f"s2:GE{racked.slot}/2"
    assert main(["plan", "f.yml", "-o", "c", "--off", off, "--previous", "b", *words]) == 0
    assert main(["apply", "c", "--allow", "interrupt"]) == 0
    assert said(capsys, "lab", "ping")[1]["lost"] == 0
    assert main(["rollback", "--allow", "interrupt"]) == 0
    assert said(capsys, "lab", "ping")[1]["lost"] == 0


@EACH
def test_what_somebody_types_is_drift_and_goes_again_where_that_is_asked_for(racked, capsys):
    assert main(["plan", "f.yml", "-o", "b"]) == 0
    assert main(["apply", "b", "--allow", "interrupt"]) == 0
    with login(racked) as console:
        console.send([racked.port(5), "port hybrid pvid vlan 101", "quit"])
        console.send([racked.no_entry])
    assert main(["apply", "b"]) == 1
    status, pushed = said(capsys, "apply", "b", "--drift", "overwrite", "--allow", "interrupt")
    assert (status, pushed["changed"]) == (0, ["s0"])
    assert said(capsys, "lab", "ping")[1]["lost"] == 0


@EACH
def test_a_link_that_is_shut_is_told_at_both_ends(racked, capsys):
    assert main(["plan", "f.yml", "-o", "b", "--off", f"s2:GE{racked.slot}/2"]) == 0
    assert main(["apply", "b", "--allow", "interrupt"]) == 0
    with login(racked, 2) as console:
        text = console.running_configuration()
    assert " shutdown" in text.partition(f"{racked.port(2)}\n")[2].partition("#")[0].splitlines()
    assert said(capsys, "lab", "ping")[1]["lost"] == 0
    assert main(["observe", "--against", "b"]) == 0


@pytest.mark.parametrize("racked", [COMWARE], ids=["comware"], indirect=True)
def test_a_model_that_refuses_the_line_about_senders_ends_the_push_before_any_port_is_in_a_vlan(racked, capsys):
    assert main(["plan", "f.yml", "-o", "b"]) == 0
    process.quirks(RACK.absolute(), {"s0": {"reject_line": "source-check"}})
    status, pushed = said(capsys, "apply", "b", "--allow", "interrupt")
    assert status == 3
    assert "source-check" in json.dumps(pushed)
    with login(racked) as console:
        assert "port hybrid vlan" not in console.running_configuration()


@EACH
@pytest.mark.parametrize("echo", [True, False])
def test_a_session_moves_between_views_and_names_what_is_refused(racked, echo):
    with login(racked, fast_cli=True, echo=echo) as console:
        assert console.mode == ""
        with pytest.raises(DeviceError, match="Unrecognized command"):
            console.send([racked.vlan, "no such line"])
        assert console.mode == ""
        console.send([racked.port(9), "description a [strange] <name>", "quit"])
        assert "strange" in console.running_configuration()
        assert console.save()
        assert console.startup_configuration() == console.running_configuration()
        with pytest.raises(DeviceError, match="ended in"):
            console.send([racked.port(9)])


@EACH
def test_pages_that_stop_are_read_whole_and_help_is_asked_without_a_trace(racked):
    with login(racked, fast_cli=True) as console:
        before = console.running_configuration()
        console.ask(racked.pages)
        assert console.running_configuration() == before
        assert console.erases()
        assert "system-view" in console.help("")
        console.ask("system-view")
        assert "hybrid" not in console.help("port ")
        console.ask(racked.port(9))
        assert "hybrid" in console.help("port link-type ")
        console.ask("return")
        assert console.running_configuration() == before


@pytest.mark.parametrize("racked", [HUAWEI], ids=["huawei"], indirect=True)
@pytest.mark.parametrize("echo", [True, False])
def test_a_huawei_switch_is_told_yes_where_it_asks_and_changes_a_link_type_in_vlan_1_alone(racked, echo):
    with login(racked, fast_cli=True, echo=echo) as console:
        ((_, answer),) = console.send(["stp disable"])
        assert "global STP state will be changed" in answer
        assert "stp disable" in console.running_configuration()
        console.send(["vlan batch 7", racked.port(9), "port link-type hybrid", "port hybrid tagged vlan 7", "quit"])
        with pytest.raises(DeviceError, match="renew the default configurations"):
            console.send([racked.port(9), "port link-type access", "quit"])
        console.send([racked.port(9), "undo port hybrid vlan 7", "port link-type access", "quit"])
