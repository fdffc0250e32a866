"""Assign one VLAN to each network, in which static entries alone lead unicasts, and floods keep to one tree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.graph.cycles import ranks
from tagloom.graph.next_channels import Parting, next_channels
from tagloom.graph.paths import channel_load, dependencies
from tagloom.graph.trees import flooding_links
from tagloom.platforms.port_names import channel_name
from tagloom.records.switch_state import Membership
from tagloom.weave.broadcast import broadcast_tree, closes_no_cycle, turns, without_bare_ends
from tagloom.weave.draft import Draft

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from tagloom.graph.next_channels import NextChannels
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState


def pinned(
    fabric: Fabric, routes: Routes, first_vlan: int, tree: Collection[int], *, movable: bool = False
) -> tuple[FabricState, int]:
    """Return the state of every switch in which each network has one VLAN, and the number of VLANs.

    A network's VLAN holds its hosts and every link of their paths and of the part of `tree` that joins them. It is the
    one that its hosts' tags name, else the next from `first_vlan`. Ports of hosts are untagged members, or tagged ones
    where they tag; those of links are tagged ones, so that a rollout can lay the next paths beside these in another
    VLAN. Each switch that frames for a host may reach has a static entry for it, to the next channel of its path.
    Whatever no entry names floods over `tree`, the links of a broadcast tree of all networks, and over no other link:
    ports of other links flood nothing. So in each VLAN floods keep to a part of one tree. No port learns, as a learned
    address would lead frames off the tree. Where a switch cannot be told so, `tree` must hold all links of the paths;
    then all ports flood and learn, as by default.

    If paths are `movable`, for detours, each VLAN holds all links that are up, and every switch has an entry for every
    host of it.

    Raises PlanError if the next channel depends on more than switch and destination, or if ports of a switch that
    cannot be told so would have to flood nothing.
    """
    draft, given, free = Draft(fabric), dict(fabric.tags), 0
    used = np.zeros(len(fabric.links), np.bool_)
    for part, (name, hosts) in zip(fabric.by_network, fabric.networks.items(), strict=True):
        vlan = given.get(name, first_vlan + free)
        free += name not in given
        mine = routes.of_hosts(hosts)
        spare = _order(fabric, routes, tree) if movable else None
        used |= _join_network(draft, part, mine, vlan, tree, spare)
    on_tree = np.zeros(len(fabric.links), np.bool_)
    on_tree[list(tree)] = True
    state = draft.states(tagged_links=True)
    unable = sorted({each.title for each in map(platforms.of, fabric.live) if not each.floods_by_port})
    if unable and (used & ~on_tree).any():
        raise _cannot_confine(fabric, unable, np.flatnonzero(used & ~on_tree))
    confined = state if unable else _confined(fabric, state, np.flatnonzero(np.repeat(~on_tree, 2)))
    return confined, free + len(given)


def _join_network(
    draft: Draft,
    fabric: Fabric,
    routes: Routes,
    vlan: int,
    tree: Collection[int],
    spare: NDArray[np.int64] | None,
) -> NDArray[np.bool_]:
    """Add the VLAN of the one network of `fabric`; return the links of its paths, bool[L].

    With an order `spare` of the channels that are up, the VLAN holds all of them, and switches that no path passes have
    entries along it.
    """
    found = next_channels(fabric, routes)
    if isinstance(found, Parting):
        raise _parted(fabric, routes, found)
    used = np.zeros(len(fabric.links), np.bool_)
    used[found.channel[found.channel >= 0] // 2] = True
    inside = used.copy()
    inside[list(without_bare_ends(fabric, tree))] = True
    if spare is not None:
        inside |= fabric.channel_up[::2]
        found = found._replace(channel=_with_spare(fabric, found, spare))
    channels = np.flatnonzero(np.repeat(inside, 2))
    draft.join(fabric.tail[channels], vlan, fabric.tail_port[channels], Membership.TAGGED)
    how = np.where(fabric.host_tag > 0, int(Membership.TAGGED), int(Membership.UNTAGGED))
    draft.join(fabric.host_switch, vlan, fabric.host_port, how)
    plain = fabric.host_tag == 0
    draft.pvid[fabric.host_switch[plain], fabric.host_port[plain]] = vlan
    _enter(fabric, draft, found, vlan)
    return used


def flood_tree(fabric: Fabric, routes: Routes, previous: FabricState) -> frozenset[int]:
    """Return the links over which broadcasts and unknown unicasts flood: a tree that closes no cycle with the paths.

    All networks share it. If the links of all paths close no cycle, it holds them all. Otherwise the tree of `previous`
    is kept as far as it can be, since a flood cannot change its tree while it runs, and no port then changes. Raises
    PlanError if none is found.
    """
    used = np.unique(np.flatnonzero(channel_load(fabric, routes)) // 2).tolist()
    if closes_no_cycle(fabric, used):
        return broadcast_tree(fabric, routes, used)
    return broadcast_tree(fabric, routes, _flooding_links(fabric, previous))


def _flooding_links(fabric: Fabric, state: FabricState) -> list[int]:
    """Return the links over which `state` lets floods pass, [] if that is all or it lacks a switch."""
    if any(switch.name not in state for switch in fabric.switches):
        return []
    floods = flooding_links(fabric, state)
    return [] if floods.all() else np.flatnonzero(floods & fabric.channel_up[::2]).tolist()


def _enter(fabric: Fabric, draft: Draft, found: NextChannels, vlan: int) -> None:
    """Enter at every switch the port towards each host whose frames may come there."""
    by_mac = np.argsort(fabric.host_mac)  # so that entries are in the order of a switch's state
    column = np.searchsorted(found.targets, fabric.host_switch[by_mac])
    port_of = np.append(fabric.tail_port, 0)  # NO_CHANNEL indexes the last one
    for s in range(len(fabric.switches)):
        port = port_of[found.channel[s, column]]
        port = np.where(fabric.host_switch[by_mac] == s, fabric.host_port[by_mac], port)
        there = np.flatnonzero(port > 0)
        draft.enter(s, np.full(len(there), vlan), fabric.host_mac[by_mac[there]], port[there])


def _order(fabric: Fabric, routes: Routes, tree: Collection[int]) -> NDArray[np.int64]:
    """Return the channels that are up in an order that all paths and floods ascend."""
    paths, floods = dependencies(fabric, routes), turns(fabric, tree)
    held, wanted = (np.concatenate(column) for column in zip(paths, floods, strict=True))
    order = np.argsort(ranks(max(1, len(fabric.tail)), held, wanted)[: len(fabric.tail)], kind="stable")
    return order[fabric.channel_up[order]]


def _with_spare(fabric: Fabric, found: NextChannels, order: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the next channels with those of switches that no path passes, along an order of the channels."""
    place = np.full(len(fabric.tail) + 1, -1, np.int64)
    place[order] = np.arange(len(order))
    channel = found.channel.copy()
    onward = np.where(channel >= 0, place[channel], -1)
    onward[found.targets, np.arange(len(found.targets))] = len(order)
    for p in range(len(order) - 1, -1, -1):
        v, w = fabric.tail[order[p]], fabric.head[order[p]]
        can = (onward[v] < 0) & (onward[w] > p)
        channel[v, can], onward[v, can] = order[p], p
    return channel


def _confined(fabric: Fabric, state: FabricState, quiet: NDArray[np.int64]) -> FabricState:
    """Return `state` in which the ports that channels `quiet` leave flood nothing, and no port in use learns.

    So are the ports of links that nothing uses yet: what floods depends on the tree alone, and a rollout to other paths
    with the same tree changes no port.
    """
    changed = dict(state)
    for s, switch in enumerate(fabric.switches):
        held = state[switch.name]
        flooding, learning = held.flooding.copy(), held.learning.copy()
        flooding[fabric.tail_port[quiet[fabric.tail[quiet] == s]] - 1] = False
        learning[np.array(fabric.used_ports[s], np.int64) - 1] = False
        changed[switch.name] = replace(held, flooding=flooding, learning=learning)
    return changed


def _parted(fabric: Fabric, routes: Routes, found: Parting) -> PlanError:
    """Return the refusal of paths of which two part ways."""
    hosts = [fabric.hosts[int(np.flatnonzero(routes.source_of_host == source)[0])].name for source in found.sources]
    target = fabric.hosts[int(np.flatnonzero(fabric.host_switch == found.target)[0])].name
    ways = [f"{host}'s by {channel_name(fabric, c)}" for host, c in zip(hosts, found.channels, strict=True)]
    here = fabric.switches[int(fabric.tail[found.channels[0]])].name
    return PlanError(
        "with pinned assignment the next channel follows from the switch and the destination alone",
        f"{routes.method} routing: frames for {target} leave {here} two ways, {' and '.join(ways)}",
        "plan the routing anew with --assignment pinned, which walks its trees backwards",
    )


def _cannot_confine(fabric: Fabric, titles: list[str], off_tree: NDArray[np.int64]) -> PlanError:
    """Return the refusal of links off the tree at switches that cannot keep floods off a port."""
    first = channel_name(fabric, 2 * int(off_tree[0]))
    fixed = "" if any(platforms.of(switch).assignments[0] for switch in fabric.live) else "--assignment fixed, "
    return PlanError(
        "pinned assignment keeps floods to one tree, or a broadcast would go round in the one VLAN for ever",
        f"a {', '.join(titles)} has no line that keeps floods off one port, and the link {first} is off the tree",
        f"use --routing tree, whose links are all on the tree, {fixed}or Linux bridges",
    )
