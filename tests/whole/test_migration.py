"""From spanning tree to a plan and back while all hosts send: loss is counted beside what is announced."""

from dataclasses import replace

import pytest

from command_line.terminal import Terminal, without_waits
from tagloom.lab import process
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline import parse
from tagloom.read import read_fabric
from tagloom.records.fabric import Host

pytestmark = pytest.mark.slow

RING = 4
RACKS = [("ring", (RING,)), pytest.param(("mesh", (4, 4)), marks=pytest.mark.long)]
GUEST = 20
REHEARSAL_MINUTES = 30  # that a campaign must have left for sixteen switches, whose hosts load two cores all the time
ACCESS = ["switchport mode access", "switchport access vlan 10", "exit"]
TAGGED = ["switchport mode general", "switchport general allowed vlan add 10 tagged", "exit"]


@pytest.fixture(scope="module", params=RACKS, ids=lambda rack: rack[0])
def terminal(request, tmp_path_factory):
    """Give a terminal beside a rack under spanning tree, with a VLAN 10 of others on every link and at every switch."""
    family, dims = request.param
    if family == "mesh" and request.config.option.minutes < REHEARSAL_MINUTES:
        pytest.skip(f"sixteen switches take {REHEARSAL_MINUTES} minutes, more than --minutes gives")
    terminal = Terminal(tmp_path_factory.mktemp(family))
    terminal("new", family, "--dims", *dims, "-o", "rack.yml")
    with terminal.lab("rack.yml"):
        fabric = read_fabric(terminal.home / "rack.yml")
        for s, switch in enumerate(fabric.switches):
            ports = [p for p in fabric.used_ports[s] if fabric.port_host[s, p] < 0]
            links = [line for p in ports for line in (f"interface ethernet g{p}", *TAGGED)]
            access = [f"interface ethernet g{GUEST}", *ACCESS]
            terminal.type(switch.name, "vlan database", "vlan 10", "exit", *links, *access)
        process.keep(terminal.rack)
        yield terminal


def running(terminal):
    fabric = read_fabric(terminal.home / "rack.yml")
    return fabric, parse(fabric, process.configurations(terminal.rack))[0]


def guests(terminal):
    """Return which ports in VLAN 10 hear which, by frames over what runs."""
    fabric, state = running(terminal)
    ends = tuple(Host(f"x{s}", s, GUEST, (0x02AA << 32) + s) for s in range(len(fabric.switches)))
    plane = Dataplane(replace(fabric, hosts=ends, shape=None), state)
    sent = {end.name: plane.broadcast(end.name) for end in ends}
    assert not any(each.storm for each in sent.values())
    return {(a, b) for a, each in sent.items() for b, copies in each.delivered_to.items() if copies == 1}


def under_traffic(terminal, *words):
    """Run a command while every host sends to every other: its page, and for how long each pair lost frames."""
    process.traffic(terminal.rack, "start")
    page = terminal.answer(*words)
    process.traffic(terminal.rack, "stop")
    seen = process.traffic(terminal.rack, "report")
    assert (seen["storm"], seen["duplicated"], seen["frames"] > 0) == ("", 0, True)
    lost = {(a, b): seconds for a, b, seconds in seen["cut_seconds"]}
    assert lost.keys() == {tuple(pair) for what in seen["unreached"].values() for pair in what}
    return page, lost


def led_to_a_plan(terminal):
    """Adopt the network, plan, and apply the rollout while all hosts send: what adopt read."""
    terminal("lab", "ping")  # so that switches learn who is where
    fabric, before = running(terminal)
    everyone = len(fabric.switches) * (len(fabric.switches) - 1)
    adopted = terminal.answer("adopt", "-i", "inventory/lab", "-o", "f.yml", "--running", "now", "--replace")
    assert (adopted["proven"], adopted["foreign_vlans"], adopted["hosts"]) == (True, [10], len(fabric.hosts))
    assert adopted["fabric"].count(f'["g{GUEST}"]') == len(fabric.switches), "a port in VLAN 10 alone is reserved"
    terminal("plan", "f.yml", "-o", "build")
    words = ("rollout", "--greenfield", "build", "--running", "now", "-o", "over")
    assert "--foreign prune" in terminal.answer(*words, expect=1)["next"], "VLAN 10 would loop without spanning tree"
    said = terminal.answer(*words, "--foreign", "prune")
    assert (said["hitless"], said["interrupted_pairs"], said["assumed"]) == (True, 0, "")
    assert said["wave_names"][:2] == ["prune", "strip"]
    without_waits(terminal.home / "over")
    page, lost = under_traffic(terminal, "apply", "over")
    assert (sorted(page["changed"]), page["failed"], page["interrupted_pairs"]) == (sorted(before), [], 0)
    assert lost == {}, "pairs that lost a frame: none was announced"
    assert len(guests(terminal)) == everyone, "a tree of VLAN 10 is left"
    assert not any(held.spanning_tree for held in running(terminal)[1].values())
    return adopted, before


def test_a_network_is_led_to_a_plan_while_its_hosts_send_and_no_pair_loses_a_frame(terminal):
    led_to_a_plan(terminal.fresh())


@pytest.mark.long  # twice as many waves
def test_it_is_led_back_to_spanning_tree_and_no_pair_is_cut_longer_than_announced(terminal):
    adopted, before = led_to_a_plan(terminal.fresh())
    words = ("rollout", "--to", "spanning-tree", "over/build", "--running", "now", "--foreign", "prune", "-o", "back")
    said = terminal.answer(*words)
    assert said["wave_names"].count("spanning tree on") == 1
    assert (said["hitless"], said["interrupted_pairs"]) == (False, adopted["pairs"])
    assert 50 < said["interrupted_seconds_max"] < 120
    without_waits(terminal.home / "back")
    assert "--allow drain" in terminal.answer("apply", "back", expect=1)["next"]
    page, lost = under_traffic(terminal, "apply", "back", "--allow", "drain")
    assert page["failed"] == []
    if len(before) == RING:  # sixteen switches take so long that frames meet the pause that is announced
        assert lost == {}, "the rack's spanning tree settles at once"
    assert len(lost) <= said["interrupted_pairs"]
    assert max(lost.values(), default=0.0) <= said["interrupted_seconds_max"], "each pair, as long as was announced"
    assert terminal.answer("lab", "ping")["lost"] == 0
    assert running(terminal)[1] == before
    assert len(guests(terminal)) == len(before) * (len(before) - 1)
