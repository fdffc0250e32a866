"""What hosts get: the list for static ARP, and the script that teaches switches what static entries say."""

import subprocess
from dataclasses import replace

import pytest
import yaml

from fabrics import make_fabric
from tagloom.errors import PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.records.switch_state import SwitchEditor
from tagloom.render import learning, static_arp
from tagloom.route import route
from tagloom.weave import weave


def planned(fabric, assignment="fixed"):
    return weave(fabric, route(fabric, "auto", assignment), assignment).state


def test_static_arp_names_every_host_once():
    fabric = make_fabric("ring", 5, hosts=2)
    page = yaml.safe_load(static_arp(fabric))["tagloom_static_arp_hosts"]
    assert [host["name"] for host in page] == [host.name for host in fabric.hosts]
    assert page[3]["mac"] == "02:00:00:00:00:03"


@pytest.mark.needs("sh")
def test_the_script_is_sound_shell_and_names_every_vlan():
    fabric = make_fabric("mesh", 4, 4)
    text = learning(fabric, planned(fabric), "fixed")["learning.sh"]
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)
    assert "for vlan in 100 101 102 103; do" in text
    assert "aging time, 300 s here: with a second argument, 150 say" in " ".join(text.replace("#", "").split())


def test_tagged_broadcasts_teach_switches_without_static_entries_every_path():
    """One broadcast of each host in each VLAN: V x H addresses in every switch, and no unicast is flooded."""
    fabric = make_fabric("mesh", 3, 3)
    state = planned(fabric)
    intended = {}
    plane = Dataplane(fabric, state)
    pairs = [(a.name, b.name) for a in fabric.hosts for b in fabric.hosts if a is not b]
    for a, b in pairs:
        intended[a, b] = plane.unicast(a, b).path
    bare = {}
    for name, held in state.items():
        editor = SwitchEditor.of(held)
        editor.entries = {}
        bare[name] = editor.freeze()
    plane.configure(bare)
    for host in fabric.hosts:
        bridge = plane._bridges[host.switch]
        untagged = bridge.pvid
        for vlan in (100, 101, 102):  # a tagged frame of that VLAN is classified as an untagged one with that PVID
            bridge.pvid = tuple(vlan if port == host.port else v for port, v in enumerate(untagged, start=1))
            assert set(plane.broadcast(host.name).delivered_to.values()) == {1}
        bridge.pvid = untagged
    assert all(len(plane.learned(switch.name)) == 3 * 9 for switch in fabric.switches)
    for a, b in pairs:
        sent = plane.unicast(a, b)
        assert not sent.flooded
        assert sent.path == intended[a, b]


@pytest.mark.kernel
def test_learning_is_for_fixed_vlans_and_small_fabrics():
    fabric = make_fabric("mesh", 2, 2)
    with pytest.raises(PlanError, match="--assignment fixed"):
        learning(fabric, planned(fabric, "renamed"), "renamed")
    crowded = make_fabric("mesh", 22, 22, model="powerconnect-5324")
    with pytest.raises(PlanError, match=r"8000 MAC addresses with 363 hosts in 22 VLANs; s0 would have to learn 484"):
        learning(crowded, planned(crowded), "fixed")
    hosts = tuple(replace(h, network=("storage", "compute")[h.switch % 2]) for h in crowded.hosts)
    networks = replace(crowded, hosts=hosts)
    with pytest.raises(PlanError, match=r"8000 MAC addresses with \d+ of 2 networks in \d+ VLANs"):
        learning(networks, planned(networks), "fixed")
