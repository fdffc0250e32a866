"""Hold the verifier's verdict, pair by pair and reason by reason, against what frames did in the kernel."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.paths import paths_to
from tagloom.lab.dataplane import Dataplane
from tagloom.platforms.port_names import port_numbers
from tagloom.records.change import difference
from tagloom.records.switch_state import Membership
from tagloom.verify import Plan, verify
from tagloom.verify.broadcast import flood
from tagloom.verify.forwarding import forwarding
from tagloom.verify.unicast import walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench import Bench, Seen
    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState

STORM_FRAMES = 1000  # on one port while the busiest sends 5000; a frame that does not go round is sent a few times
PATIENCE = 0.2  # seconds, for a second look: is a frame lost or late?


@dataclass
class Prediction:
    """What the verifier says of a state: why a pair fails (its own words), and the copies of broadcasts."""

    proof: Findings
    lost: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    off_path: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    copies: dict[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, fabric: Fabric, state: FabricState, routes: Routes, *, duplicates_allowed: bool) -> Prediction:
        model = forwarding(fabric, state)
        sent, shout = walk(model, routes), flood(model)
        found = cls(verify(fabric, state, Plan(routes, duplicates_allowed)))
        for kept, troubles in ((found.lost, sent.lost), (found.off_path, sent.off_path)):
            for trouble in troubles:
                for at in range(len(trouble.source)):
                    a, b, why = trouble.say(at)
                    kept.setdefault((a, b), []).append(why)
        hosts = range(len(fabric.hosts))
        found.copies = {(a, b): int(a != b) for a in hosts for b in hosts}
        found.copies |= {(a, b): copies for a, b, copies in shout.wrong}
        return found


@dataclass
class Figures:
    """What was seen of one fabric, for the table."""

    pairs: int = 0
    arrived: int = 0
    overheard: int = 0
    broadcasts: int = 0
    once: int = 0
    other_way_back: int = 0
    storm_rate: float = 0.0


def held(wanted: FabricState, found: FabricState) -> list[str]:
    """Compare what the kernel holds with what was said, cell by cell."""
    return [
        f"{name} holds another state than was said: {cell}"
        for name in wanted
        for cell in difference(wanted[name], found[name])
    ]


def all_pairs(fabric: Fabric) -> list[tuple[int, int]]:
    hosts = range(len(fabric.hosts))
    return [(a, b) for a in hosts for b in hosts if a != b]


def judge(
    bench: Bench,
    state: FabricState,
    said: Prediction,
    routes: Routes,
    figures: Figures,
    pairs: list[tuple[int, int]] | None = None,
) -> list[str]:
    """Send broadcasts of all hosts and unicasts of all pairs (or of `pairs`); list what the verifier said otherwise."""
    wrong, stormed = _broadcasts(bench, said, figures)
    if stormed:
        return wrong
    return wrong + _unicasts(bench, state, said, routes, figures, pairs or all_pairs(bench.fabric))


def taught(bench: Bench, state: FabricState, routes: Routes, figures: Figures) -> list[str]:
    """Teach bridges without static entries: before, frames arrive flooded; after, on the planned path and nowhere else.

    Hosts send their tagged broadcasts one VLAN after the other, the last host first.
    """
    fabric, pairs = bench.fabric, all_pairs(bench.fabric)
    wrong = [
        f"h{a} -> h{b}: expected one copy before anybody has taught, actual {_told(seen)}"
        for (a, b), seen in zip(pairs, bench.unicasts(pairs), strict=True)
        if seen.heard.get(b) != 1 or seen.storm
    ]
    vlans = sorted({vlan for held_there in state.values() for vlan in held_there.owned_vlans})
    turns = [(host, vlan) for vlan in vlans for host in reversed(range(len(fabric.hosts)))]
    for (a, vlan), seen in zip(turns, bench.teach(turns), strict=True):
        figures.broadcasts += 1
        figures.once += (once := seen.heard == {b: 1 for b in range(len(fabric.hosts)) if b != a})
        wrong += [] if once else [f"h{a} in VLAN {vlan}: expected one copy at every host, actual {_told(seen)}"]
    for (a, b), seen in zip(pairs, bench.taught(pairs), strict=True):
        path = _planned(fabric, routes, a, b)
        figures.pairs += 1
        figures.arrived += seen.heard.get(b, 0) == 1
        figures.overheard += bool(seen.heard.keys() - {b})
        if {(s, p) for s, p, _ in seen.hops} != path or seen.hops.total() != len(path) or seen.heard != {b: 1}:
            wrong.append(f"h{a} -> h{b}: expected the planned path {sorted(path)}, actual {_told(seen)}")
    return wrong


def _broadcasts(bench: Bench, said: Prediction, figures: Figures) -> tuple[list[str], bool]:
    """Broadcast from host after host until one storms: then the others are not asked."""
    wrong: list[str] = []
    hosts = range(len(bench.fabric.hosts))
    for a in hosts:
        (seen,) = bench.broadcasts([a])
        if seen.storm:
            return wrong + _storm(bench.fabric, said, seen, figures), True
        if said.proof.storm_free:
            copies = {b: said.copies[a, b] for b in hosts if said.copies[a, b]}
            if seen.heard != copies:
                (seen,) = bench.broadcasts([a], PATIENCE)
            figures.broadcasts += 1
            figures.once += seen.heard == {b: 1 for b in hosts if b != a}
            if seen.heard != copies:
                wrong.append(f"broadcast of h{a}: expected copies {copies}, actual {seen.heard}")
    if not said.proof.storm_free:
        wrong.append("expected a storm, actual none")
    return wrong, False


def _storm(fabric: Fabric, said: Prediction, seen: Seen, figures: Figures) -> list[str]:
    """A storm must be foretold, and go round where the verifier says that copies go round; and it must have ended."""
    if (-1, -1) in seen.storm:
        return ["the storm did not end when every bridge was down"]
    figures.storm_rate = max(seen.storm.values(), default=0) / seen.seconds
    if said.proof.storm_free:
        return [f"expected no storm, actual {seen.storm}"]
    (finding,) = [f for f in said.proof.findings if f.where == "broadcast" and f.expected == "no storm"]
    ways = re.findall(r"(\S+):swp(\d+) \(VLAN", finding.actual)
    calm = [f"{s}:swp{p}" for s, p in ways if seen.storm.get((fabric.index[s], int(p)), 0) < STORM_FRAMES]
    return [f"expected a storm at {', '.join(calm)}, actual {seen.storm}"] if calm or not ways else []


def _unicasts(
    bench: Bench,
    state: FabricState,
    said: Prediction,
    routes: Routes,
    figures: Figures,
    pairs: list[tuple[int, int]],
) -> list[str]:
    fabric, wrong = bench.fabric, []
    plane = Dataplane(fabric, state)
    found, grown, counted = _counted(bench, pairs, 0.0)
    stormed = any(seen.storm for seen in found)  # frames that go round are counted by the thousand
    if grown != counted and not stormed:
        found, grown, counted = _counted(bench, pairs, PATIENCE)
    if grown != counted and not stormed:
        wrong.append(f"the ports' own counters differ from the frames seen: {grown} and {counted}")
    tags: dict[tuple[int, int], int] = {}
    for (a, b), first in zip(pairs, found, strict=True):
        problem = _pair(fabric, state, said, routes, plane, (a, b), first)
        seen = first
        if problem:
            (seen,) = bench.unicasts([(a, b)], PATIENCE)
            problem = _pair(fabric, state, said, routes, plane, (a, b), seen)
        wrong += [f"h{a} -> h{b}: {each}" for each in problem]
        figures.pairs += 1
        figures.arrived += seen.heard.get(b, 0) == 1
        figures.overheard += bool(seen.heard.keys() - {b})
        tags[a, b] = next((tag for _, _, tag in seen.hops if tag), 0)
    figures.other_way_back += sum(tags[a, b] != tags[b, a] for a, b in tags if (b, a) in tags)
    return wrong


def _counted(
    bench: Bench, pairs: list[tuple[int, int]], patience: float
) -> tuple[list[Seen], Counter[tuple[int, int]], Counter[tuple[int, int]]]:
    """Send a frame for each pair; return what was seen, and frames by port as the kernel counts them and as seen."""
    before = bench.sent()
    found = bench.unicasts(pairs, patience)
    seen = Counter((switch, port) for each in found for switch, port, _ in each.hops.elements())
    return found, bench.sent() - before, seen


def _pair(
    fabric: Fabric,
    state: FabricState,
    said: Prediction,
    routes: Routes,
    plane: Dataplane,
    pair: tuple[int, int],
    seen: Seen,
) -> Iterable[str]:
    """Say in what a pair's frame did not do as the verifier, the plan and the virtual rack's data plane say."""
    a, b = pair
    reasons = said.lost.get(pair, []) + said.off_path.get(pair, [])
    wrong = [f"expected {why!r}, actual {_told(seen)}" for why in reasons if not _true(fabric, state, pair, why, seen)]
    arrived = seen.heard.get(b, 0) > 0
    if arrived == (pair in said.lost):
        wrong.append(f"expected it {'lost' if pair in said.lost else 'to arrive'}, actual {_told(seen)}")
    if not reasons:
        path = _planned(fabric, routes, a, b)
        if {(s, p) for s, p, _ in seen.hops} != path or seen.hops.total() != len(path):
            wrong.append(f"expected the planned path {sorted(path)}, actual {_told(seen)}")
        if seen.heard != {b: 1}:
            wrong.append(f"expected one copy and nobody else to hear it, actual {_told(seen)}")
    plane.configure(state)
    rack = plane.unicast(fabric.hosts[a].name, fabric.hosts[b].name)
    if bool(rack.storm) != bool(seen.storm):
        wrong.append(f"the rack says {rack.storm or 'no storm'!r}, actual {_told(seen)}")
    if not rack.storm:
        hops: dict[tuple[int, int, int], int] = {}
        for hop in rack.path:
            how = state[hop.switch].member(hop.vlan, hop.out_port)
            key = fabric.index[hop.switch], hop.out_port, hop.vlan if how is Membership.TAGGED else 0
            hops[key] = hops.get(key, 0) + 1
        if hops != seen.hops:
            wrong.append(f"the rack sends {hops}, actual {_told(seen)}")
    return wrong


def _told(seen: Seen) -> str:
    storm = f", goes round: {seen.storm}" if seen.storm else ""
    return f"copies sent {dict(seen.hops.most_common(12))}, heard by {seen.heard}{storm}"


def _planned(fabric: Fabric, routes: Routes, a: int, b: int) -> set[tuple[int, int]]:
    """Give the (switch, port) that a frame of a planned pair leaves by, the host's own port last."""
    target = np.array([fabric.host_switch[b]])
    channels = paths_to(fabric, routes, target)[routes.source_of_host[a], 0]
    ways = {(int(fabric.tail[c]), int(fabric.tail_port[c])) for c in channels if c >= 0}
    return ways | {(int(fabric.host_switch[b]), int(fabric.host_port[b]))}


def _true(fabric: Fabric, state: FabricState, pair: tuple[int, int], why: str, seen: Seen) -> bool:
    """Tell whether the kernel's frame did what a reason says. An unknown reason is a failure of this judge."""
    ways = {(s, p) for s, p, _ in seen.hops}
    reached = {int(fabric.host_switch[pair[0]])}
    entered = {(int(fabric.host_switch[pair[0]]), int(fabric.host_port[pair[0]]))}
    for s, p in ways:
        if (c := int(fabric.port_channel[s, p])) >= 0:
            reached.add(int(fabric.head[c]))
            entered.add((int(fabric.head[c]), int(fabric.head_port[c])))
    arrived = seen.heard.get(pair[1], 0) > 0
    if match := re.fullmatch(r"flooded at (\S+) in VLAN (\d+)", why):
        s, vlan = fabric.index[match[1]], int(match[2])
        out = {p for at, p in ways if at == s}
        member = {p for p in fabric.used_ports[s] if state[match[1]].member(vlan, p) and _live(fabric, state, s, p)}
        return s in reached and out <= member and len(member - out) <= 1
    if match := re.fullmatch(r"dropped at (\S+) in VLAN \d+: the entry's port \S+ leads nowhere", why):
        s = fabric.index[match[1]]
        return s in reached and all(at != s for at, _ in ways)
    number = port_numbers(fabric)
    if match := re.fullmatch(r"led out of port (\S+) of (\S+) in VLAN \d+, where that host is not", why):
        return (fabric.index[match[2]], number(match[2], match[1])) in ways and not arrived
    if match := re.fullmatch(r"dropped on entering (\S+?):(\S+)", why):
        s = fabric.index[match[1]]
        return (s, number(match[1], match[2])) in entered and all(at != s for at, _ in ways)
    if re.fullmatch(r"goes round for ever by .*", why):
        return max(seen.storm.values(), default=0) >= STORM_FRAMES
    if why == "flooded, and no copy arrives":
        return not arrived
    if why == "another path than planned":
        return arrived
    raise ValueError(f"a reason this judge does not know: {why!r}")


def _live(fabric: Fabric, state: FabricState, s: int, port: int) -> bool:
    c = int(fabric.port_channel[s, port])
    far = c < 0 or state[fabric.switches[int(fabric.head[c])].name].enabled[int(fabric.head_port[c]) - 1]
    return bool(state[fabric.switches[s].name].enabled[port - 1] and far)
