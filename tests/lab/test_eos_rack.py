"""Arista switches of the rack: pushed over netmiko's driver, read by SNMP, pinged, led back, and what is refused."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tagloom.adapters.ssh import Access, SshSwitch
from tagloom.cli import main
from tagloom.errors import DeviceError
from tagloom.lab import process
from tagloom.observe.address_pages import address_page
from tagloom.platforms import load
from tagloom.read import read_fabric
from tagloom.render import parse_configuration

pytestmark = pytest.mark.slow

MODEL = "arista-7010t-48"
FABRIC = f"""\
name: eos
switches:
  s0: {{model: {MODEL}}}
  s1: {{model: arista-7050tx-64}}
  s2: {{model: {MODEL}}}
  s3: {{model: powerconnect-5548}}
links: [["s0:Et1", "s1:Et1"], ["s1:Et49/1", "s2:Et52"], ["s2:Et2", "s3:gi1/0/1"], ["s3:gi1/0/2", "s0:Et2"]]
hosts:
  h0: {{switch: s0, port: Et5, mac: "02:00:00:00:00:01"}}
  h1: {{switch: s1, port: Et5, mac: "02:00:00:00:00:02"}}
  h2: {{switch: s2, port: Et5, mac: "02:00:00:00:00:03"}}
  h3: {{switch: s3, port: gi1/0/5, mac: "02:00:00:00:00:04"}}
"""
RACK = Path("inventory/lab")
TREE = ["--assignment", "pinned", "--routing", "tree"]


@pytest.fixture
def rack(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(getattr(request, "param", FABRIC))
    assert main(["lab", "up", "f.yml"]) == 0
    yield RACK.absolute()
    assert main(["lab", "down"]) == 0


def said(capsys, *words):
    capsys.readouterr()
    status = main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def login(rack, name="s0", model=MODEL, **more):
    port, known = process.read_info(rack).ports[name], f"{rack}/known_hosts"
    return SshSwitch(name, load(model), Access("127.0.0.1", port, "lab", "lab", known_hosts=known, **more))


def test_a_tree_is_pushed_carries_every_pair_is_changed_in_one_go_and_led_back(rack, capsys):
    assert main(["plan", "f.yml", "-o", "b", *TREE]) == 0
    status, shown = said(capsys, "apply", "b", "--check", "--allow", "interrupt")
    assert (status, len(shown["changed"])) == (0, 4)
    with login(rack) as console:
        assert "vlan 100" not in console.running_configuration(), "check mode sends nothing"
    status, pushed = said(capsys, "apply", "b", "--allow", "interrupt")
    assert (status, len(pushed["changed"])) == (0, 4)
    assert said(capsys, "lab", "ping")[1]["lost"] == 0
    assert main(["observe", "--against", "b"]) == 0
    status, refused = said(capsys, "rollback")
    assert (status, refused["advice"]) == (1, [])
    assert sorted(path.name for path in Path().glob(f"{refused['next'].rpartition(' ')[2]}/*")) == [
        f"s{n}.cfg" for n in range(4)
    ]
    status, again = said(capsys, "apply", "b")
    assert (status, again["changed"], len(again["unchanged"])) == (0, [], 4)
    for name, text in process.configurations(rack).items():
        model = {"s1": "arista-7050tx-64", "s3": "powerconnect-5548"}.get(name, MODEL)
        planned = Path(f"b/configs/{name}.cfg").read_text()
        assert parse_configuration(load(model), text).state == parse_configuration(load(model), planned).state
    # another tree: no port can be in both VLANs untagged, so there is no order of lines that keeps a pair
    assert main(["plan", "f.yml", "-o", "c", "--off", "s0:Et1", "--previous", "b", *TREE]) == 0
    status, refused = said(capsys, "apply", "c")
    assert status == 1
    assert "untagged in one VLAN" in json.dumps(refused)
    assert "--allow interrupt" in json.dumps(refused)
    status, pushed = said(capsys, "apply", "c", "--allow", "interrupt")
    assert (status, pushed["hitless"], pushed["interrupted_pairs"]) == (0, False, 12)
    assert said(capsys, "lab", "ping")[1]["lost"] == 0
    assert main(["observe", "--against", "c"]) == 0
    # what was set up in one go has no proven way back, and spanning tree none either: the former build leads there
    before = process.configurations(rack)
    status, refused = said(capsys, "rollback")
    assert (status, refused["advice"]) == (1, ["apply BUILD --allow interrupt"])
    assert process.configurations(rack) == before
    assert main(shlex.split(refused["next"].partition(",")[0])[1:]) == 0
    assert said(capsys, "lab", "ping")[1]["lost"] == 0
    assert main(["observe", "--against", "b"]) == 0


BESIDE = FABRIC.replace('["s1:Et49/1"', '["s0:Et3", "s1:Et3"], ["s1:Et49/1"')


@pytest.mark.daily
@pytest.mark.parametrize("rack", [BESIDE], indirect=True)
def test_a_link_off_the_tree_goes_off_line_by_line_under_traffic_and_is_led_back(rack, capsys):
    """A rollout between two builds, proven at every line; no frame that hosts send meanwhile is lost."""
    assert main(["plan", "f.yml", "-o", "b", *TREE]) == 0
    assert main(["apply", "b", "--allow", "interrupt"]) == 0
    assert main(["plan", "f.yml", "-o", "c", "--off", "s0:Et3", "--previous", "b", *TREE]) == 0
    process.traffic(rack, "start")
    status, way = said(capsys, "rollout", "b", "c", "-o", "r")
    assert (status, way["hitless"], way["peak_lost_pairs"]) == (0, True, 0)
    status, pushed = said(capsys, "apply", "r")
    assert (status, pushed["changed"], pushed["hitless"]) == (0, ["s0", "s1"], True)
    assert "shutdown" in process.configurations(rack)["s0"].partition("interface Ethernet3")[2].partition("!")[0]
    assert main(["observe", "--against", "r/build"]) == 0
    status, back = said(capsys, "rollback")
    assert (status, back["changed"], back["failed"]) == (0, ["s0", "s1"], [])
    report = process.traffic(rack, "stop")
    assert {report[kind] for kind in ("lost", "duplicated", "flooded", "storms")} == {0}
    assert report["lines"] > 0
    assert main(["observe", "--against", "b"]) == 0


@pytest.mark.long
def test_a_set_up_that_stopped_half_way_is_resumed_and_the_refused_way_back_says_what_to_type(rack, capsys):
    assert main(["plan", "f.yml", "-o", "b", *TREE]) == 0
    assert main(["apply", "b", "--allow", "interrupt"]) == 0
    assert main(["plan", "f.yml", "-o", "c", "--off", "s0:Et1", "--previous", "b", *TREE]) == 0
    process.quirks(rack, {"s2": {"reject_line": "mac address-table static"}})
    status, pushed = said(capsys, "apply", "c", "--allow", "interrupt")
    assert (status, pushed["failed"]) == (3, ["s2"])
    process.quirks(rack, {"s2": {"reject_line": ""}})
    status, pushed = said(capsys, "apply", "--resume")
    assert (status, pushed["changed"], pushed["failed"]) == (0, ["s2"], [])
    assert said(capsys, "lab", "ping")[1]["lost"] == 0
    assert main(["observe", "--against", "c"]) == 0
    # over spanning tree there is no way back, and that is said
    before = process.configurations(rack)
    status, refused = said(capsys, "rollout", "--to", "spanning-tree", "c", "-o", "back")
    assert status == 1
    assert "must drop BPDUs" in json.dumps(refused)
    assert process.configurations(rack) == before
    status, pushed = said(capsys, "apply", "b", "--allow", "interrupt")
    assert (status, pushed["failed"]) == (0, [])
    assert main(["observe", "--against", "b"]) == 0
    # a host that comes is refused where the tree would move, and comes without a cut where it is kept
    Path("g.yml").write_text(f"{FABRIC}  h4: {{switch: s2, port: Et6, mac: '02:00:00:00:00:05'}}\n")
    assert main(["plan", "g.yml", "-o", "d", "--previous", "b", *TREE]) == 0
    before = process.configurations(rack)
    status, refused = said(capsys, "apply", "d")
    assert status == 1
    assert "untagged in one VLAN" in refused["witness"] + refused["refused"]
    assert refused["next"].startswith("tagloom plan --keep OLD")
    assert process.configurations(rack) == before
    assert main(["plan", "g.yml", "-o", "d", "--keep", "b", *TREE]) == 0
    status, pushed = said(capsys, "apply", "d")
    assert (status, pushed["failed"], pushed["hitless"]) == (0, [], True)
    process.plug(rack, read_fabric(Path("d/fabric.yml")).hosts)
    reached = said(capsys, "lab", "ping")[1]
    assert (reached["pairs"], reached["lost"]) == (20, 0)


@pytest.mark.daily
def test_a_port_that_leaves_the_fabric_is_given_back_where_the_tree_is_kept_and_else_in_one_go(rack, capsys):
    assert main(["plan", "f.yml", "-o", "b", *TREE]) == 0
    assert main(["apply", "b", "--allow", "interrupt"]) == 0
    Path("g.yml").write_text(re.sub(" +h0: .*\n", "", FABRIC))
    assert main(["plan", "g.yml", "-o", "moved", "--previous", "b", *TREE]) == 0
    status, found = said(capsys, "apply", "moved", "--allow", "interrupt")
    assert (status, found["failed"]) == (0, [])
    assert "access vlan" not in process.configurations(rack)["s0"].partition("interface Ethernet5")[2].partition("!")[0]
    assert main(["observe", "--against", "moved"]) == 0
    assert main(["plan", "f.yml", "-o", "again", "--keep", "moved", *TREE]) == 0
    status, pushed = said(capsys, "apply", "again")
    assert (status, pushed["hitless"]) == (0, True)
    assert main(["plan", "g.yml", "-o", "c", "--keep", "again", *TREE]) == 0
    status, pushed = said(capsys, "apply", "c")
    assert (status, pushed["hitless"]) == (0, True)
    assert "access vlan" not in process.configurations(rack)["s0"].partition("interface Ethernet5")[2].partition("!")[0]
    assert main(["observe", "--against", "c"]) == 0


def test_what_is_saved_outlives_a_reboot_and_drift_is_named_and_goes_again(rack, capsys):
    assert main(["plan", "f.yml", "-o", "b", *TREE]) == 0
    assert main(["apply", "b", "--allow", "interrupt"]) == 0
    with login(rack) as console:
        assert "mac address-table static" in console.startup_configuration()
        console.send(["interface Ethernet5", "switchport access vlan 1", "exit"])
        console.send(["no mac address-table static 0200.0000.0001 vlan 100"])
    assert main(["apply", "b"]) == 1
    status, pushed = said(capsys, "apply", "b", "--drift", "overwrite", "--allow", "interrupt")
    assert (status, pushed["changed"]) == (0, ["s0"])
    assert said(capsys, "lab", "ping")[1]["lost"] == 0


@pytest.mark.daily
def test_a_model_that_refuses_a_static_entry_ends_the_push_before_a_host_is_in_the_vlan(rack, capsys):
    assert main(["plan", "f.yml", "-o", "b", *TREE]) == 0
    process.quirks(rack, {"s0": {"reject_line": "mac address-table static"}})
    status, pushed = said(capsys, "apply", "b", "--allow", "interrupt")
    assert status == 3
    assert "mac address-table static" in json.dumps(pushed)
    with login(rack) as console:
        assert "switchport access vlan" not in console.running_configuration()


@pytest.mark.parametrize("echo", [True, False])
def test_a_session_moves_between_modes_and_names_what_is_refused(rack, echo):
    with login(rack, fast_cli=True, echo=echo) as console:
        console.send(["vlan 7", "name plant", "exit", "interface Ethernet3", "switchport access vlan 7", "exit"])
        assert console.save()
        assert "switchport access vlan 7" in console.startup_configuration()
        with pytest.raises(DeviceError, match="Invalid input"):
            console.send(["interface Ethernet99"])
        with pytest.raises(DeviceError, match="Incomplete"):
            console.send(["mac address-table static"])
        assert console.mode == ""
        assert "DCS-7010T-48" in console.identity()
        assert address_page(load(MODEL), console.address_table()).learned == {}


@pytest.mark.usefixtures("rack")
def test_a_switch_is_recorded_with_its_version_and_without_what_is_its_owners(capsys):
    status, found = said(capsys, "record", "s0", "-o", "s0.json")
    assert (status, found["refuted"]) == (0, [])
    text = Path("s0.json").read_text()
    assert '"firmware": "4.26.14M"' in text
    for private in ("watchtower", "spare-for-plant", "plant", "192.0.2.254"):
        assert private not in text
