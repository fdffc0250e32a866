"""Law: rollouts that change hosts, links and what ports carry cut no pair of both, and no tag leads across."""

import random
from contextlib import suppress
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import make_fabric, without_switch
from sending import line_by_line
from tagloom import platforms
from tagloom.errors import InputError, PlanError
from tagloom.lab.dataplane import UNTAGGED, Dataplane
from tagloom.pipeline.rollouts import rollout_between
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric
from tagloom.records.fabric import Host
from tagloom.records.fabric_pair import FabricPair, without_members
from tagloom.records.switch_state import Membership, SwitchState
from tagloom.records.wave_proof import ProofAssumptions
from tagloom.render import lines_of
from tagloom.verify import prove_wave, verify
from test_networks import NOBODY, planned, spoilt
from test_tagged_networks import TRUNK, heard_across, tags_of, trunks
from thinned import examples

TAGS = {"voice": 20, "storage": 30}
MODEL = "powerconnect-5324"


def member(fabric, host):
    return fabric.switches[host.switch].name, host.port, host.tag


def machines(fabric):
    """Return by machine its switch, port, addresses, and the network of each tag that its port carries."""
    found = {}
    for host in fabric.hosts:
        name = host.name.partition("@")[0]
        found.setdefault(name, (host.switch, host.port, host.mac, {}))[3][host.tag] = host.network
    return found


def of_machines(fabric, plugged):
    """Return the fabric with hosts as `machines` returns them."""
    first, beside = [], []
    for name, (s, port, mac, carried) in plugged.items():
        for number, (tag, network) in enumerate(sorted(carried.items())):
            host = Host(f"{name}@{network}" if number else name, s, port, mac, network=network, tag=tag)
            (beside if number else first).append(host)
    hosts = (*first, *beside)
    tags = tuple(sorted((name, tag) for name, tag in TAGS.items() if any(h.network == name for h in hosts)))
    routings = tuple((name, "tree") for name, _ in tags)
    return replace(fabric, hosts=hosts, tags=tags, routings=routings, shape=None)


def carrying(draw):
    """Draw what a port carries: a network untagged, or none, and others tagged."""
    plain = draw(st.sampled_from(["compute", "compute", "default", "voice", ""]))
    tagged = {tag: name for name, tag in TAGS.items() if name != plain and draw(st.integers(0, 2)) == 0}
    carried = ({0: plain} if plain else {}) | tagged
    return carried or {0: "compute"}


def started(draw):
    family, dims = draw(st.sampled_from([("ring", (4,)), ("mesh", (3,)), ("mesh", (2, 2)), ("complete", (3,))]))
    fabric = make_fabric(family, *dims, hosts=2, parallel=draw(st.integers(1, 2)), model=MODEL)
    plugged = {name: (s, p, mac, carrying(draw)) for name, (s, p, mac, _) in machines(fabric).items()}
    return of_machines(fabric, plugged)


def changed(draw, fabric):
    """Draw what ports carry otherwise, and perhaps a host or a link that goes or comes."""
    plugged, links = machines(fabric), fabric.links
    for name in draw(st.lists(st.sampled_from(sorted(plugged)), max_size=3, unique=True)):
        s, port, mac, carried = plugged[name]
        now = carrying(draw) if draw(st.booleans()) else {**carried, **carrying(draw)}
        now = {tag: network for tag, network in now.items() if tag or network not in {now.get(t) for t in now if t}}
        plugged[name] = s, port, mac, now
    kind = draw(st.sampled_from(["ports alone", "host goes", "host comes", "link goes", "host moves", "switch goes"]))
    name = draw(st.sampled_from(sorted(plugged)))
    if kind == "host goes":
        del plugged[name]
    elif kind == "host comes":
        s = draw(st.integers(0, len(fabric.switches) - 1))
        plugged["new"] = s, 24, 0x0200_0000_9999, carrying(draw)
    elif kind == "host moves":
        plugged[name] = draw(st.integers(0, len(fabric.switches) - 1)), 23, *plugged[name][2:]
    elif kind == "link goes":
        lost = draw(st.integers(0, len(links) - 1))
        links = tuple(link for i, link in enumerate(links) if i != lost)
    later = of_machines(replace(fabric, links=links), plugged)
    if kind == "switch goes":
        lost = draw(st.integers(0, len(fabric.switches) - 1))
        later = without_switch(later, lost)
    return later, kind


def plugged_in(wave, old, new):
    """Return a fabric of all that is plugged in, and by (switch, port) the networks of each tag, as (former, own)."""
    one, other = wave.fabrics
    switches = list({s.name: s for fabric in (other, one, new, old) for s in fabric.switches}.values())
    index = {switch.name: s for s, switch in enumerate(switches)}
    links = {}
    for fabric in (one, other):
        for x in fabric.links:
            a, b = fabric.switches[x.a].name, fabric.switches[x.b].name
            links[frozenset({(a, x.a_port), (b, x.b_port)})] = replace(x, a=index[a], b=index[b])
    was, will = ({member(fabric, host): host for host in fabric.hosts} for fabric in (old, new))
    taken = {end for ends in links for end in ends}
    hosts, networks = [], {}
    for at in sorted(was.keys() | will.keys()):
        host = will.get(at) or was[at]
        name, port, tag = at
        if (name, port) in taken or name not in {*one.index, *other.index}:
            continue
        hosts.append(replace(host, name="{} {} {}".format(*at), switch=index[name]))
        former, own = (each[at].network if at in each else None for each in (was, will))
        networks.setdefault((name, port), {})[tag] = (former or own, own or former)
    ports = tuple(platforms.of(switch).ports for switch in switches)
    fabric = replace(
        new, switches=tuple(switches), hosts=tuple(hosts), links=tuple(links.values()), ports=ports, shape=None
    )
    return fabric, networks


def isolated(a, b):
    return a[0] != b[0] and a[1] != b[1]


def judge(fabric, networks, pairs, here, chance, where, *, apart):
    """Follow frames: those of both arrive, no broadcast circulates, and none is heard where it may not be.

    `apart` are the ports that carry something before and after; of others isolation is proven at the ends alone.
    """
    plane = Dataplane(fabric, here)
    for a, b in pairs:
        sent = plane.unicast(a, b)
        assert sent.delivered_to.get(b) == 1, (where, a, b, sent)
        assert not sent.flooded, (where, a, b, sent)
    ports = sorted({(host.switch, host.port) for host in fabric.hosts})
    for s, port in ports if apart else ():
        hosts = {host.tag: host for host in fabric.hosts if (host.switch, host.port) == (s, port)}
        mine = networks[fabric.switches[s].name, port]
        if (fabric.switches[s].name, port) not in apart:
            continue
        for tag in chance.sample(tags_of(here), min(3, len(tags_of(here)))) + sorted(hosts):
            plain = replace(next(iter(hosts.values())), name="plain", tag=0)
            plane.plug(replace(fabric, hosts=(*fabric.hosts, plain)))
            copies = [plane.broadcast("plain", tag), plane.broadcast("plain", tag, NOBODY)]
            plane.plug(fabric)
            assert not any(each.storm for each in copies if tag in hosts), (where, s, port, tag)
            own = [mine[tag]] if tag in mine else list(mine.values())
            for hop in (hop for each in copies for hop in each.path):
                place = (hop.switch, hop.out_port)
                if place not in networks or place not in apart:
                    continue
                held = here[hop.switch]
                how = held.membership[held.vlan_index[hop.vlan], hop.out_port - 1]
                out = hop.vlan if how == Membership.TAGGED else UNTAGGED
                there = networks[place]
                ears = [there[out]] if out in there else list(there.values())
                assert not all(isolated(a, b) for a, b in product(own, ears)), (where, s, port, tag, hop)


def watch(change, old, new, chance, every):
    """Send every line of every wave in random order, and follow frames after each few."""
    fabrics = FabricPair(old, new)
    both = {at: (was.network, known.network) for at, (was, known) in fabrics.hosts.items()}
    apart = {at[:2] for at in both}
    pairs = [
        ("{} {} {}".format(*a), "{} {} {}".format(*b)) for a in both for b in both if a != b and both[a] == both[b]
    ]
    for number, wave in enumerate(change.waves):
        here = {**change.growth.left, **wave.before}
        assert number == 0 or wave.before == change.waves[number - 1].state
        fabric, networks = plugged_in(wave, old, new)
        for switch in fabric.switches:
            here.setdefault(switch.name, SwitchState.factory(platforms.of(switch).ports))
        for _ in line_by_line(fabric, wave, here, chance, every):
            judge(fabric, networks, pairs, here, chance, wave.name, apart=apart)
        assert all(here[name] == held for name, held in wave.state.items())


@examples(12)
@given(st.data())
def test_no_line_cuts_a_pair_of_both_or_lets_a_frame_across(data):
    old = started(data.draw)
    new, kind = changed(data.draw, old)
    a = b = None
    with suppress(PlanError, InputError):  # no order of channels, or a link that all need is gone
        a = planned(old, routing="up-down")[0]
        b = planned(new, routing="up-down", keep=a if data.draw(st.booleans()) else None)[0]
    if a is None or b is None:
        event("no plan")
        return
    try:
        change = rollout_between(a, b)
    except PlanError as refused:
        event(f"{kind}: refused, {refused.rule}")
        return
    event(f"{kind}: {len(change.waves)} waves")
    if change.growth is not None:
        watch(change, old, new, random.Random(data.draw(st.integers(0, 999))), every=6)
    assert verify(new, {switch.name: change.after[switch.name] for switch in new.switches}).proven
    for name, tag in new.tags:
        for host in new.hosts:
            held = change.after[new.switches[host.switch].name]
            if host.network == name:
                assert tag in held.owned_vlans, "hosts send with the id that they were given"


@pytest.fixture(scope="module")
def running():
    fabric = trunks()
    return fabric, planned(fabric)[0].state


@examples(60)
@given(data=st.data())
def test_a_wave_under_which_a_network_comes_to_a_port_is_proven_only_if_nothing_crosses(running, data):
    """Take the lines of a slip at a port, while a network comes or goes: its host is not there yet, but sends."""
    fabric, state = running
    host = data.draw(st.sampled_from(fabric.hosts))
    at = member(fabric, host)
    part = without_members(fabric, {at})
    after = spoilt(data.draw, fabric, state)
    here = {(h.switch, h.port) for h in part.hosts}
    tags = frozenset({(*at, host.network)} if (host.switch, host.port) in here else ())
    proof = prove_wave(part, state, lines_of(part, state, after), assumptions=ProofAssumptions(transient_tags=tags))
    event(f"proven: {proof.proven}")
    if proof.proven and tags:
        assert heard_across(fabric, after) == set()
        assert not Dataplane(fabric, after).broadcast(host.name).storm


def test_transient_tags_are_read_back_from_a_rollouts_file():
    under = ProofAssumptions(transient_tags=frozenset({("s0", 3, 20, "storage"), ("s1", 4, 0, "compute")}))
    assert ProofAssumptions.from_json(under.to_json()) == under
    assert "transient_tags" not in ProofAssumptions().to_json()


@pytest.mark.parametrize("changed", ["name", "order"])
def test_a_tagged_network_gets_another_name_without_a_cut(changed):
    """Its hosts are of both in the files of the waves, tagged ones too."""
    old = make_fabric("ring", 4, parallel=2, hosts=2, extra=TRUNK, model=MODEL)
    extra = TRUNK.replace("storage:", "disks:") if changed == "name" else TRUNK.replace("[h1, h3]", "[h3, h1]")
    new = make_fabric("ring", 4, parallel=2, hosts=2, extra=extra, model=MODEL)
    a = planned(old)[0]
    change = rollout_between(a, planned(new, keep=a)[0])
    assert not change.waves
    between = FabricPair(old, new).united(new_addresses=True)
    again = parse_fabric(format_fabric(between), "again")
    assert [host.networks for host in again.hosts] == [host.networks for host in between.hosts]


@pytest.mark.parametrize("strategy", ["park", "slides"])
def test_no_tree_for_all_hosts_leads_from_plan_to_plan(strategy):
    fabric = make_fabric("ring", 4, parallel=2, hosts=2, extra=TRUNK, model=MODEL)
    a, b = (planned(fabric, routing="up-down", root=root)[0] for root in ("s0", "s2"))
    with pytest.raises(PlanError, match="one tree for all hosts would join the networks"):
        rollout_between(a, b, strategy=strategy)


def test_the_id_of_a_network_is_not_taken_from_what_has_it():
    old = make_fabric("ring", 4, extra="vlans: {first: 20}\nnetworks: {a: [h0, h1]}\n", model=MODEL)
    said = "vlans: {first: 200}\nnetworks: {a: {hosts: [h0, h1], tagged: [h2], vlan: 20}}\n"
    new = make_fabric("ring", 4, extra=said, model=MODEL)
    with pytest.raises(PlanError, match=r"VLAN 20 of network a is in use"):
        rollout_between(planned(old)[0], planned(new)[0])
