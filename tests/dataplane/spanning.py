"""A VLAN of others on rings under a real kernel's spanning tree: pruned, then without it, it joins what it joined."""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fabrics import ROOT, make_irregular
from tagloom import pipeline, platforms
from tagloom.platforms.factory import factory_state
from tagloom.records.change import difference
from tagloom.records.fabric import Host
from tagloom.records.switch_state import OWNED_VLAN_NAME, Membership, PortMode, SwitchEditor
from tagloom.render import render_commands
from tagloom.rollout import settled
from tagloom.rollout.foreign import cells_to_prune, without_members
from tagloom.verify import prove_running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench import Bench
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState

VLAN = 10
NAME = "VLAN of others"
TIMERS = "ip link set dev tagloom type bridge hello_time 100 forward_delay 200 max_age 600 stp_state 1"
OFF = "ip link set dev tagloom type bridge stp_state 0"
CONVERGED_SECONDS = 4.0  # some hellos of a second each; who learns of a better root tells the others at once
PATIENCE = 0.05


@dataclass(frozen=True)
class Shared:
    """A network that others share: the texts of its switches, and a port outside the fabric at each as its host."""

    name: str
    fabric: Fabric
    texts: dict[str, str]
    slip: str = ""


def shared(count: int, seed: int) -> Iterator[Shared]:
    """Give small random networks, and the texts of switches with a VLAN of others on most links, spanning tree off."""
    rng = random.Random(seed)
    for number in range(count):
        size = rng.randint(3, 5)
        links = [(rng.randrange(s), s) for s in range(1, size)]
        links += [tuple(rng.sample(range(size), 2)) for _ in range(rng.randint(1, 3))]
        rng.shuffle(links)
        bare = make_irregular([0] * (size - 1) + [1], links, model="linux-bridge")
        port = max(max(ports, default=0) for ports in bare.used_ports) + 1
        ends = tuple(Host(f"x{s}", s, port, 0x02_00_00_00_AA_00 + s) for s in range(size))
        fabric = replace(bare, hosts=ends, shape=None)
        state = _state(fabric, [i for i in range(len(fabric.links)) if rng.random() < 0.85])
        yield Shared(f"{NAME} {number + 1}", fabric, pipeline.render(fabric, state, ROOT / "templates"))


def _state(fabric: Fabric, links: list[int]) -> FabricState:
    found = {}
    for s, switch in enumerate(fabric.switches):
        editor = SwitchEditor.of(factory_state(platforms.of(switch)))
        editor.create_vlan(VLAN)
        editor.name_vlan(VLAN, OWNED_VLAN_NAME)  # as all VLANs of a Linux bridge are
        editor.spanning_tree = False
        for port in fabric.used_ports[s]:
            editor.mode[port - 1] = PortMode.GENERAL
            editor.set_member(1, port, Membership.NONE)
            editor.set_pvid(port, 0)
        for link in (fabric.links[i] for i in links):
            for at, port in ((link.a, link.a_port), (link.b, link.b_port)):
                if at == s:
                    editor.set_member(VLAN, port, Membership.TAGGED)
        end = fabric.hosts[s].port
        editor.set_member(VLAN, end, Membership.UNTAGGED)
        editor.set_pvid(end, VLAN)
        found[switch.name] = editor.freeze()
    return found


def show_shared(bench: Bench, texts: dict[str, str], folder: Path) -> list[str]:
    """Let the kernel's spanning tree settle, prune, and end it; list what is not as the planner says."""
    fabric = bench.fabric
    wrong = [
        f"{name}: {each}" for name, said in bench.configure(texts, folder, one_by_one=False).items() for each in said
    ]
    state = bench.state()
    _type(bench, TIMERS)
    time.sleep(CONVERGED_SECONDS)
    identity, blocked = spanning(bench)
    tree = settled(fabric, identity)
    if tree.blocked != blocked:
        wrong.append(f"expected spanning tree to block {sorted(tree.blocked)}, actual {sorted(blocked)}")
    before = _heard(bench, wrong, "under spanning tree")
    proof = prove_running(fabric, state, blocked)
    said = proof.reachable_pairs, proof.storm_free, proof.proven
    seen = len(before), True, len(before) == len(fabric.hosts) * (len(fabric.hosts) - 1)
    if said != seen:
        wrong.append(f"expected the proof of what runs to say {seen}, actual {said}: {proof.findings}")
    forwards = np.array([not blocked & {(x.a, x.a_port), (x.b, x.b_port)} for x in fabric.links], np.bool_)
    pruned = without_members(state, cells_to_prune(fabric, [VLAN], state, state, forwards))
    for name in (name for name in state if state[name] != pruned[name]):
        platform = platforms.of(fabric.switches[fabric.index[name]])
        wrong += bench.type(name, render_commands(platform, difference(state[name], pruned[name]), state[name]))
    if (now := _heard(bench, wrong, "pruned, under spanning tree")) != before:
        wrong.append(f"expected {before} to hear each other once pruned, actual {now}")
    _type(bench, OFF)
    if not before <= (now := _heard(bench, wrong, "without spanning tree")):
        wrong.append(f"expected {before} to hear each other without spanning tree, actual {now}")
    return wrong


def _type(bench: Bench, line: str) -> None:
    """Type a line at every switch, and wait until each port forwards or is blocked."""
    bench.machine.request("batch", orders={str(s): [line] for s in range(len(bench.fabric.switches))})


def spanning(bench: Bench) -> tuple[list[int], set[tuple[int, int]]]:
    """Return the order of the bridges' identities, and the ports of links that the kernel blocks."""
    bridges: list[str] = []
    blocked = set()
    for s in range(len(bench.fabric.switches)):
        links: list[dict[str, Any]] = json.loads(bench.machine.request("show", switch=s)["links"])
        for link in links:
            info = link.get("linkinfo", {})
            if info.get("info_kind") == "bridge":
                bridges.append(info["info_data"]["bridge_id"])
            elif info.get("info_slave_data", {}).get("state") == "blocking":
                blocked.add((s, int(link["ifname"].removeprefix("swp"))))
    order = sorted(bridges, key=lambda each: [int(part, 16) for part in each.replace(".", ":").split(":")])
    return [order.index(each) for each in bridges], blocked


def _heard(bench: Bench, wrong: list[str], when: str) -> set[tuple[int, int]]:
    """Broadcast from every end; return who hears whom."""
    found = set()
    for a in range(len(bench.fabric.hosts)):
        (seen,) = bench.broadcasts([a], PATIENCE)
        if seen.storm:
            wrong.append(f"expected no storm {when}, actual {seen.storm}")
            return found
        found |= {(a, b) for b in seen.heard}
    return found
