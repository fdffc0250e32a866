"""Follow one frame through a fabric, switch by switch, by the states of its switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.platforms.port_names import port_name
from tagloom.records.way import Hop, Way
from tagloom.verify.forwarding import NOWHERE, Forwarding, forwarding

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState


def way(fabric: Fabric, state: FabricState, source: int, destination: int) -> Way:
    """Return the way of an untagged frame from one host to the address of another.

    By the rules of `forwarding`. Where a switch floods, every copy is followed, and one that comes to a VLAN of a
    switch for the second time is not followed again. A link that the fabric declares down ends the way.
    """
    model = forwarding(fabric, state)
    start = fabric.hosts[source]
    node, switch, port = int(model.inject[source]), start.switch, start.port
    hops: list[Hop] = []
    if node == NOWHERE or not fabric.switches[switch].up:
        why = (
            f"{port_name(fabric, switch, port)} takes no untagged frame" if fabric.switches[switch].up else "it is down"
        )
        pvid = int(state[fabric.switches[switch].name].pvid[port - 1])
        return Way(*_names(fabric, source, destination), reaches=False, hops=(_hop(fabric, switch, port, pvid, why),))
    reaches, seen, waiting = False, {node}, [(node, port)]
    while waiting:
        node, port = waiting.pop(0)
        hop, onward, there = _step(model, node, port, destination)
        hops.append(hop)
        reaches |= there
        waiting += [(to, at) for to, at in onward if to not in seen]
        seen |= {to for to, _ in onward}
    return Way(*_names(fabric, source, destination), reaches, tuple(hops))


def _step(model: Forwarding, node: int, port_in: int, destination: int) -> tuple[Hop, list[tuple[int, int]], bool]:
    """Return what a node does with a frame, the (node, port) that its copies come to, and whether the host has one."""
    fabric = model.fabric
    switch, vlan = int(model.node_switch[node]), int(model.node_vlan[node])
    pinned = model.entry_port[(model.entry_node == node) & (model.entry_host == destination)].tolist()
    egresses = range(int(model.egress_start[node]), int(model.egress_start[node + 1]))
    members = {int(model.egress_port[e]): e for e in egresses}
    ports = sorted(pinned or members)
    out: list[str] = []
    why: list[str] = []
    onward: list[tuple[int, int]] = []
    there = False
    for port in ports:
        if port == port_in:
            why += [f"its entry points back to {port_name(fabric, switch, port)}"] if pinned else []
            continue
        word = port_name(fabric, switch, port)
        egress = members.get(port)
        if egress is None:
            why.append(f"{word} is shut, or no member of VLAN {vlan}")
            continue
        out.append(word)
        channel = int(model.egress_channel[egress])
        if channel < 0:
            host = int(model.egress_host[egress])
            there |= host == destination
            why += [f"{word} sends it tagged, which no host takes"] if host == NOWHERE else []
            continue
        far, far_port, to = int(fabric.head[channel]), int(fabric.head_port[channel]), int(model.egress_to[egress])
        if not fabric.switches[far].up:
            why.append(f"{fabric.switches[far].name} is down")
        elif model.egress_down[egress]:
            why.append(f"the link at {word} is down")
        elif to == NOWHERE:
            why.append(f"{port_name(fabric, far, far_port)} does not take it in")
        else:
            onward.append((to, far_port))
    said = "" if onward or there else "; ".join(why) or f"no other port of VLAN {vlan} is there"
    by = "entry" if pinned else "flood"
    name = fabric.switches[switch].name
    return Hop(name, port_name(fabric, switch, port_in), vlan, tuple(out), by, said), onward, there


def _hop(fabric: Fabric, switch: int, port: int, vlan: int, why: str) -> Hop:
    return Hop(fabric.switches[switch].name, port_name(fabric, switch, port), vlan, (), "", why)


def _names(fabric: Fabric, source: int, destination: int) -> tuple[str, str]:
    return fabric.hosts[source].name, fabric.hosts[destination].name
