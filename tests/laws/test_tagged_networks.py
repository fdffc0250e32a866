"""Law: a port may carry several networks, one untagged and others tagged, and no frame of one is heard in another."""

from dataclasses import replace

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import InputError, PlanError
from tagloom.lab.dataplane import UNTAGGED, Dataplane
from tagloom.pipeline.rollouts import rollout_between
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric
from tagloom.records.switch_state import Frames, Membership
from tagloom.records.tagged_ports import lines_without_tags, without_tags
from tagloom.render import lines_of
from tagloom.render.hosts import learning
from tagloom.verify import prove_wave, verify
from test_every_plan_is_what_frames_do import damaged, families, graphs
from test_networks import NOBODY, planned, spoilt, with_networks
from thinned import examples

TRUNK = "networks: {compute: [h0, h2, h4, h6], storage: {hosts: [h1, h3], tagged: [h0, h4, h7], vlan: 20}}\n"


def with_tagged(draw, fabric):
    """Let some ports carry a network in VLAN 20 or 30 tagged too, or that alone."""
    tags = {name: tag for name, tag in (("voice", 20), ("storage", 30)) if name == "voice" or draw(st.booleans())}
    hosts, beside = [], []
    for each in fabric.hosts:
        host = each
        carried = [name for name in tags if name != host.network and draw(st.integers(0, 2)) == 0]
        if carried and draw(st.integers(0, 4)) == 0:
            first = carried.pop(0)
            host = replace(host, network=first, tag=tags[first])
        hosts.append(host)
        beside += [replace(host, name=f"{host.name}@{name}", network=name, tag=tags[name]) for name in carried]
    fabric = replace(fabric, hosts=(*hosts, *beside))
    given = {name: tag for name, tag in tags.items() if name in fabric.networks}
    routings = tuple((name, "tree") for name in sorted(given))
    return replace(fabric, tags=tuple(sorted(given.items())), routings=routings)


def tags_of(state):
    return [UNTAGGED, *sorted({vlan for held in state.values() for vlan in held.vlans.tolist()}), 4094]


def heard_across(fabric, state):
    """Send all that all hosts may, by every port, untagged and with every tag: (sender's networks, hearer's network).

    What a port sends with the tag of a network that it carries is of that network, else of all that it carries. What
    leaves by a port with a tag that no host there has is heard by all there.
    """
    plane, found = Dataplane(fabric, state), set()
    there = {}
    for host in fabric.hosts:
        there.setdefault((host.switch, host.port), {})[host.tag] = host
    for hosts in there.values():
        one = next(iter(hosts.values()))
        for tag in tags_of(state):
            if tag == UNTAGGED and UNTAGGED not in hosts:
                plain = replace(one, tag=0, name="plain")
                plane.plug(replace(fabric, hosts=(*fabric.hosts, plain)))
                name = "plain"
            else:
                name = one.name if tag else hosts[UNTAGGED].name
            sent = [plane.broadcast(name, tag), plane.broadcast(name, tag, NOBODY)]
            others = [b for b in fabric.hosts if b.network not in {h.network for h in hosts.values()}]
            sent += [plane.unicast(name, b.name, tag) for b in others[:3]]
            plane.plug(fabric)
            own = frozenset({hosts[tag].network} if tag in hosts else {h.network for h in hosts.values()})
            for hop in (hop for each in sent for hop in each.path):
                held, place = state[hop.switch], (fabric.index[hop.switch], hop.out_port)
                if place not in there:
                    continue
                how = held.membership[held.vlan_index[hop.vlan], hop.out_port - 1]
                out = hop.vlan if how == Membership.TAGGED else UNTAGGED
                ears = (
                    {there[place][out].network} if out in there[place] else {h.network for h in there[place].values()}
                )
                if not own & ears:
                    found |= {(a, b) for a in own for b in ears}
    return found


@examples(10)
@given(st.one_of(graphs(least=3), families()), st.data())
def test_hosts_of_each_network_reach_each_other_and_nobody_else_by_any_tag(fabric, data):
    fabric = with_tagged(data.draw, with_networks(data.draw, damaged(data.draw, fabric)))
    try:
        build, proof, _ = planned(fabric, routing=data.draw(st.sampled_from(["auto", "up-down", "tree"])))
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        if "one order of channels" not in refused.rule:
            raise
        return
    assert proof.proven, [str(finding) for finding in proof.findings]
    plane = Dataplane(fabric, build.state)
    for a in fabric.hosts:
        mine = {b.name for b in fabric.hosts if b.network == a.network and b != a}
        assert plane.broadcast(a.name).delivered_to == dict.fromkeys(mine, 1)
        assert plane.broadcast(a.name, mac=NOBODY).delivered_to == dict.fromkeys(mine, 1)
        for b in mine:
            sent = plane.unicast(a.name, b)
            assert (sent.delivered_to, sent.flooded) == ({b: 1}, ())
    assert heard_across(fabric, build.state) == set()
    for (s, port), hosts in fabric.tagged_hosts.items():
        held = build.state[fabric.switches[s].name]
        tagged = held.vlans[held.membership[:, port - 1] == Membership.TAGGED].tolist()
        assert tagged == sorted(tag for tag in hosts if tag), "a host hears the tags of its networks, and no others"


@examples(10)
@given(graphs(least=3), st.data())
def test_a_slip_that_lets_a_frame_across_is_found(fabric, data):
    fabric = with_tagged(data.draw, with_networks(data.draw, fabric))
    try:
        build, _, _ = planned(fabric)
    except PlanError:
        return
    state = spoilt(data.draw, fabric, build.state)
    heard, proof = heard_across(fabric, state), verify(fabric, state)
    told = {(leak.network, leak.other) for leak in proof.leaks}
    event("heard" if heard else "told alone" if told else "harmless")
    if heard:
        assert told, "what is heard across is a leak"


def trunks(model="powerconnect-5324", extra=TRUNK):
    return make_fabric("ring", 4, parallel=2, hosts=2, extra=extra, model=model)


@pytest.fixture(scope="module")
def built():
    fabric = trunks()
    return fabric, planned(fabric)[0].state


@examples(60)
@given(data=st.data())
def test_a_wave_is_proven_only_if_frames_arrive_after_it(built, data):
    """Take the lines of a slip at a port: after what the wave's proof accepts, frames of every network arrive."""
    fabric, state = built
    after = spoilt(data.draw, fabric, state)
    proof = prove_wave(fabric, state, lines_of(fabric, state, after))
    event(f"proven: {proof.proven}")
    if proof.proven:
        ping = Dataplane(fabric, after).ping_all()
        assert (ping.lost, ping.duplicated, ping.storm) == ((), (), "")
        assert heard_across(fabric, after) == set()


MODELS = ["powerconnect-5324", "powerconnect-5548", "powerconnect-6224", "n-series", "linux-bridge"]


@pytest.mark.parametrize("model", MODELS)
def test_every_family_writes_ports_of_several_networks_and_reads_them_back(model):
    fabric = trunks(model)
    build, proof, texts = pipeline.plan(fabric, ROOT / "templates", effort=0)
    assert proof.proven
    assert texts
    ping = Dataplane(fabric, build.state).ping_all()
    assert (ping.pairs, ping.lost, ping.overheard) == (4 * 3 + 5 * 4, (), ())
    again = parse_fabric(format_fabric(fabric), "again")
    assert (again.hosts, again.tags, again.routings) == (fabric.hosts, fabric.tags, fabric.routings)


def test_a_port_that_carries_a_network_tagged_alone_takes_nothing_else():
    fabric = trunks()
    build, _, _ = planned(fabric)
    alone = next(host for host in fabric.hosts if host.name == "h7")
    held = build.state[fabric.switches[alone.switch].name]
    assert held.frames[alone.port - 1] == Frames.TAGGED_ONLY
    assert (held.membership[:, alone.port - 1] != Membership.NONE).sum() == 1


def test_the_id_of_a_tagged_network_stays_through_rollouts():
    fabric = trunks()
    one = planned(fabric)[0]
    two = planned(fabric, routing="up-down", previous=one)[0]
    change = rollout_between(one, two)
    assert change.waves
    assert all(wave.proof.proven for wave in change.waves)
    for state in (one.state, two.state, change.after):
        assert all(20 in held.owned_vlans for held in state.values())
        ping = Dataplane(fabric, state).ping_all()
        assert (ping.lost, ping.overheard) == ((), ())


def test_a_wave_that_takes_the_tag_from_a_port_is_refused():
    fabric = trunks()
    build, _, _ = planned(fabric)
    host = next(host for host in fabric.hosts if host.name == "h0@storage")
    name = fabric.switches[host.switch].name
    held = build.state[name]
    members = held.membership.copy()
    members[held.vlan_index[20], host.port - 1] = Membership.NONE
    after = {**build.state, name: replace(held, membership=members)}
    proof = prove_wave(fabric, build.state, lines_of(fabric, build.state, after))
    assert any("h0@storage" in str(finding) for finding in proof.findings)


@pytest.mark.parametrize("frames", [Frames.TAGGED_ONLY, Frames.ALL])
def test_a_wave_that_opens_a_port_to_a_tag_of_another_network_is_refused(built, frames):
    fabric, state = built
    alone = next(host for host in fabric.hosts if host.name == "h7")
    name = fabric.switches[alone.switch].name
    held = state[name]
    other = next(vlan for vlan in held.owned_vlans if vlan != 20)
    members, taken = held.membership.copy(), held.frames.copy()
    members[held.vlan_index[other], alone.port - 1] = Membership.TAGGED
    taken[alone.port - 1] = frames
    after = {**state, name: replace(held, membership=members, frames=taken)}
    assert heard_across(fabric, after)
    proof = prove_wave(fabric, state, lines_of(fabric, state, after))
    told = {finding.where for finding in proof.findings}
    assert {"network compute -> storage", "network storage -> compute"} <= told


def test_a_view_without_tags_is_the_state_itself_where_nothing_is_tagged():
    fabric = make_fabric("ring", 4, hosts=2)
    state = planned(fabric)[0].state
    seen, held = without_tags(fabric, state)
    assert (seen is fabric, held is state) == (True, True)
    assert dict(lines_without_tags(fabric, {})) == {}


@examples(8)
@given(st.one_of(graphs(least=3), families()), st.data())
def test_hosts_teach_switches_by_tags_in_the_vlans_of_their_own_network_alone(fabric, data):
    fabric = with_tagged(data.draw, with_networks(data.draw, fabric))
    try:
        build, proof, _ = planned(fabric, learning=True)
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        return
    assert proof.isolated
    assert heard_across(fabric, build.state) == set()
    try:
        scripts = learning(fabric, build.state, "fixed")
    except PlanError:
        return
    vlans = {}
    for name, text in scripts.items():
        network = name.removeprefix("learning-").removesuffix(".sh")
        if len(fabric.networks) > 1 and not name.endswith("-tagged.sh"):
            said = next(line.strip() for line in text.splitlines() if "for vlan in " in line)
            vlans[network] = [int(word) for word in said.removesuffix("; do").split()[3:]]
    names = ("entry_vlan", "entry_mac", "entry_port")
    bare = {s: replace(held, **{n: getattr(held, n)[:0] for n in names}) for s, held in build.state.items()}
    plane = Dataplane(fabric, bare)
    for host in fabric.hosts if vlans else ():
        for vlan in [host.tag] if host.tag else vlans[host.network]:
            sent = plane.broadcast(host.name, vlan)
            assert {b.network for b in fabric.hosts if b.name in sent.delivered_to} <= {host.network}
    for a in fabric.hosts if vlans else ():
        for b in fabric.hosts:
            if a != b and a.network == b.network:
                sent = plane.unicast(a.name, b.name)
                assert (sent.delivered_to, sent.flooded) == ({b.name: 1}, ())


def test_a_host_whose_port_carries_a_network_tagged_has_a_script_of_its_own():
    fabric = trunks()
    scripts = learning(fabric, planned(fabric, learning=True)[0].state, "fixed")
    assert sorted(scripts) == [
        "learning-compute.sh",
        "learning-default.sh",
        "learning-storage-tagged.sh",
        "learning-storage.sh",
    ]
    assert "for vlan in 20; do" in scripts["learning-storage.sh"]
    assert "20" not in scripts["learning-compute.sh"].split("for vlan in")[1].splitlines()[0].split()
    assert "type vlan" not in scripts["learning-storage-tagged.sh"]


def test_everything_wrong_with_tagged_networks_is_found_at_once():
    extra = (
        "networks:\n  a: {tagged: [h0]}\n  b: {hosts: [h1], tagged: [h1, h9, h2, h2], vlan: 20}\n"
        "  c: {tagged: [h0], vlan: 20, routing: dor}\n  d: {tagged: [h3], vlan: 100}\n"
    )
    with pytest.raises(InputError) as caught:
        make_fabric("ring", 4, extra=extra)
    assert [str(finding).partition("  ")[2] for finding in caught.value.findings] == [
        "networks.a.tagged: expected vlan beside it: the id that its frames have, actual none",
        "networks.b.tagged[0]: expected each host once, actual h1 twice",
        "networks.b.tagged[1]: expected a host of this fabric, actual 'h9'",
        "networks.b.tagged[3]: expected each host once, actual h2 twice",
        "networks.c.vlan: expected a VLAN of its own, actual 20 (that of b)",
        "networks.c.routing: expected tree beside vlan: a port has one id for the network, actual dor",
        "networks.d.vlan: expected a VLAN below vlans.first (100): no plan takes it, actual 100",
    ]
