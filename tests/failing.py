"""Fail each link or switch of a plan with detours, and follow every frame before and after hosts take them."""

import networkx as nx

from fabrics import ROOT
from tagloom import pipeline
from tagloom.lab.dataplane import Dataplane
from tagloom.platforms.port_names import link_at
from tagloom.records.switch_state import SwitchEditor


def alive(fabric, link, switch):
    """Return the ordered pairs of names of one network's hosts that are connected without a link and a switch."""
    graph = nx.MultiGraph()
    graph.add_nodes_from(s for s in range(len(fabric.switches)) if s != switch)
    graph.add_edges_from(
        (x.a, x.b) for i, x in enumerate(fabric.links) if x.up and i != link and switch not in {x.a, x.b}
    )
    part = {s: i for i, nodes in enumerate(nx.connected_components(graph)) for s in nodes}
    return {
        (a.name, b.name)
        for a in fabric.hosts
        for b in fabric.hosts
        if a is not b and a.network == b.network and part.get(a.switch, -1) == part.get(b.switch, -2)
    }


def moved(fabric, state, pvids):
    """Return the states with other PVIDs at the ports of some hosts, and nothing else changed."""
    changed = dict(state)
    for host in fabric.hosts:
        if host.name in pvids:
            name = fabric.switches[host.switch].name
            editor = SwitchEditor.of(changed[name])
            editor.pvid[host.port - 1] = pvids[host.name]
            changed[name] = editor.freeze()
    return changed


def behind(uplink):
    """Return an address that somebody behind an uplink has, whom no entry names."""
    return 0x0A00_0000_0000 + uplink.port + (uplink.switch << 8)


def talk(fabric, plane):
    """Let those behind uplinks send, such that switches learn them."""
    for u in (host for host in fabric.hosts if host.uplink):
        plane.broadcast(u.name, sender=behind(u))
        for b in fabric.hosts:
            if b is not u and not b.uplink and b.network == u.network:
                plane.unicast(u.name, b.name, sender=behind(u))


def sent_everywhere(fabric, plane, waits, broadcast="flood"):
    """Send every unicast and every broadcast; note the dependencies, and return the pairs that arrive.

    Frames to an uplink are for addresses behind it, which nobody knows, or which switches have learnt. Broadcasts may
    take a "tree" of their own; then pairs arrive if both do. With "static-arp" they may come several times.
    """
    arrived = set()
    for a in fabric.hosts:
        shout = plane.broadcast(a.name)
        assert not shout.storm
        assert set(shout.delivered_to.values()) <= {1} or broadcast == "static-arp"
        for b in fabric.hosts:
            if a is b:
                continue
            if b.uplink:
                sent = plane.unicast(a.name, b.name, mac=behind(b))
                assert not sent.storm
                assert a.name not in sent.delivered_to
                assert set(sent.delivered_to.values()) <= {1}
                note(fabric, sent, waits)
                if b.name in sent.delivered_to:
                    arrived.add((a.name, b.name))
                continue
            sent = plane.unicast(a.name, b.name)
            assert not sent.storm
            note(fabric, sent, waits)
            if sent.copies and not sent.flooded:
                assert sent.delivered_to == {b.name: 1}
                arrived.add((a.name, b.name))
        heard, mine = {(a.name, name) for name in shout.delivered_to}, {pair for pair in arrived if pair[0] == a.name}
        if broadcast == "tree":
            arrived -= mine - heard
        assert heard == mine or broadcast != "flood"
        note(fabric, shout, waits)
    return arrived


def note(fabric, sent, waits):
    """Add the dependencies of one frame's copies: each switch it enters by a channel, and leaves by another."""
    for hop in sent.path:
        s = fabric.index[hop.switch]
        before, after = fabric.port_channel[s, hop.in_port], fabric.port_channel[s, hop.out_port]
        if before >= 0 and after >= 0:
            waits.add_edge(int(before) ^ 1, int(after))


def holds(fabric, kind, prefer="vlans", judge=lambda _state: None, **how):
    """Plan with detours, and judge each failure frame by frame before, when and after hosts take theirs."""
    build, proof, texts = pipeline.plan(fabric, ROOT / "templates", protect=kind, prefer=prefer, **how)
    assert proof.proven, [str(finding) for finding in proof.findings]
    state, unknown = pipeline.parse(fabric, texts)
    assert not unknown
    waits = nx.DiGraph()
    assert len(sent_everywhere(fabric, Dataplane(fabric, state), waits, build.broadcast)) == proof.pairs
    protected = unprotected = 0
    for detour in build.detours:
        link = link_at(fabric, detour.dead[0]) if len(detour.dead) > 1 else -1
        switch = -1 if len(detour.dead) > 1 else fabric.index[detour.dead[0]]
        there = alive(fabric, link, switch)
        after = moved(fabric, state, detour.pvids)
        back = Dataplane(fabric, after)  # the wave may come when the link is back
        talk(fabric, back)
        sent_everywhere(fabric, back, waits, build.broadcast)
        judge(after)
        plane = Dataplane(fabric, after)
        talk(fabric, plane)
        pulled = {(x.a, p): "pulled" for i, x in enumerate(fabric.links) if i == link for p, _ in x.cables}
        plane.break_off({switch: "dead"} if switch >= 0 else {}, pulled)
        reached = sent_everywhere(fabric, plane, waits, build.broadcast)
        assert reached <= there | {pair for pair in reached if switch >= 0}
        protected += len(reached & there)
        unprotected += len(there - reached)
    assert nx.is_directed_acyclic_graph(waits)
    assert (build.protection.protected, build.protection.unprotected) == (protected, unprotected)
    assert sum(x.up for x in fabric.links) + (kind == "switch") * len(fabric.live) == len(build.detours)
    return build
