"""Follow one frame through a fabric, switch by switch, by the states of its switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.platforms.port_names import port_name
from tagloom.records.frame_path import FramePath, Hop
from tagloom.records.tagged_ports import without_tags
from tagloom.verify.forwarding import NOWHERE, Forwarding, forwarding

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState


def frame_path(fabric: Fabric, state: FabricState, source: int, destination: int) -> FramePath:
    """Return the path of a frame from one host to the address of another, by the rules of `forwarding`.

    It is sent untagged, or with the tag of a host that has one.

    If a switch floods, every copy is followed, except one that meets a VLAN of a switch for the second time. A link
    that the fabric declares down ends the path.
    """
    for part, hosts in zip(fabric.by_network, fabric.networks.values(), strict=True) if fabric.tagged_hosts else ():
        both = np.searchsorted(hosts, [source, destination]).tolist()
        if hosts[both[0] : both[0] + 1].tolist() == [source] and destination in hosts:
            return frame_path(*without_tags(part, state), *both)
    model = forwarding(fabric, state)
    start = fabric.hosts[source]
    node, switch, port = int(model.inject[source]), start.switch, start.port
    hops: list[Hop] = []
    here, names = fabric.switches[switch], (start.name, fabric.hosts[destination].name)
    if node == NOWHERE or not here.up:
        entered = port_name(fabric, switch, port)
        why = f"{entered} takes no untagged frame" if here.up else f"{here.name} is down"
        refused = Hop(here.name, entered, int(state[here.name].pvid[port - 1]), (), "", why)
        return FramePath(*names, reaches=False, hops=(refused,))
    reaches, seen, waiting = False, {node}, [(node, port)]
    while waiting:
        node, port = waiting.pop(0)
        hop, onward, there = _dropped(model, node, port, source) or _step(model, node, port, destination)
        hops.append(hop)
        reaches |= there
        waiting += [(to, at) for to, at in onward if to not in seen]
        seen |= {to for to, _ in onward}
    return FramePath(*names, reaches, tuple(hops))


def _dropped(model: Forwarding, node: int, port_in: int, source: int) -> tuple[Hop, list[tuple[int, int]], bool] | None:
    """Return the end of a frame at a switch that looks up senders and has its sender elsewhere, else None."""
    fabric, switch = model.fabric, int(model.node_switch[node])
    own = model.entry_port[(model.entry_node == node) & (model.entry_host == source)].tolist()
    platform = platforms.of(fabric.switches[switch])
    if not platform.drops_strange_senders or port_in in own or not own:
        return None
    why = f"a {platform.title} drops frames of {fabric.hosts[source].name}, which it has pinned at "
    why += port_name(fabric, switch, own[0])
    return (
        Hop(fabric.switches[switch].name, port_name(fabric, switch, port_in), int(model.node_vlan[node]), (), "", why),
        [],
        False,
    )


def _step(model: Forwarding, node: int, port_in: int, destination: int) -> tuple[Hop, list[tuple[int, int]], bool]:
    """Return what a node does with a frame, the (node, port) where its copies arrive, and if the host gets one."""
    fabric = model.fabric
    switch, vlan = int(model.node_switch[node]), int(model.node_vlan[node])
    pinned = model.entry_port[(model.entry_node == node) & (model.entry_host == destination)].tolist()
    egresses = range(int(model.egress_start[node]), int(model.egress_start[node + 1]))
    members = {int(model.egress_port[e]): e for e in egresses}
    flooded = (port for port, e in members.items() if model.egress_floods[e])
    ports = sorted(pinned or flooded)
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
    reason = "" if onward or there else "; ".join(why) or f"no other port of VLAN {vlan} is there"
    by = "entry" if pinned else "flood"
    return (
        Hop(fabric.switches[switch].name, port_name(fabric, switch, port_in), vlan, tuple(out), by, reason),
        onward,
        there,
    )
