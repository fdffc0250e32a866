"""Count the copies of frames to uplinks without an address: they are flooded along the sender's own tree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tagloom.graph.paths import channel_load
from tagloom.graph.rows import places
from tagloom.graph.trees import pruned

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tagloom.graph.flows import Flows
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes

    # (fabric, routes, bytes from host to host, float64[H, H]) -> bytes on each channel, float64[C], at 1 Gb/s
    LoadOf = Callable[[Fabric, Routes, NDArray[np.float64]], NDArray[np.float64]]

Real = TypeVar("Real", np.float32, np.float64)


def unknown_uplinks(fabric: Fabric) -> NDArray[np.int64]:
    """Return the uplinks without an address of their own, int64[U]: all that is sent to them is flooded."""
    return np.array([u for u in fabric.uplinks.tolist() if not fabric.hosts[u].macs], np.int64)


def flooded_bytes(fabric: Fabric, volume_bytes: NDArray[np.float64]) -> float:
    """Return the bytes to uplinks without an address, of float64[H, H] from host to host."""
    return float(volume_bytes[:, unknown_uplinks(fabric)].sum())


def flood_along_trees(fabric: Fabric, routes: Routes, assignment: str) -> bool:
    """Return whether a flooded frame takes its sender's own tree, so that its copies follow from the paths.

    It does under `fixed` and `renamed` where the paths of every source are a tree. Under `pinned` all floods take one
    tree, which is every sender's own only where no other link leads a path.
    """
    if assignment != "pinned" or routes.parent is None:
        return routes.parent is not None
    links = np.flatnonzero(channel_load(fabric, routes).reshape(-1, 2).any(axis=1))
    ends = np.unique(np.concatenate([fabric.tail[2 * links], fabric.head[2 * links]]))
    return len(links) == max(0, len(ends) - 1)  # paths join all hosts: so many links are a tree


def flooded_channels(fabric: Fabric, routes: Routes) -> NDArray[np.bool_]:
    """Return the channels that a flooded frame of each host crosses along its own tree, bool[H, C].

    They are those that lead to a host of the sender's network. Raises PlanError if the paths of a source are no tree.
    """
    crossed = np.zeros((len(fabric.hosts), len(fabric.tail)), np.bool_)
    for part, mine in zip(fabric.by_network, fabric.networks.values(), strict=True):
        sources, of_host = np.unique(routes.source_of_host[mine], return_inverse=True)
        trees = pruned(part, routes.trees[sources])
        row, switch = np.nonzero(trees >= 0)
        taken = np.zeros((len(sources), len(fabric.tail)), np.bool_)
        taken[row, trees[row, switch]] = True
        crossed[mine] = taken[of_host.reshape(-1)]
    return crossed


def flooded_by(fabric: Fabric, volume_bytes: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return what each host sends to uplinks without an address, float64[..., H], of bytes [..., H, H]."""
    sums: NDArray[np.float64] = volume_bytes[..., unknown_uplinks(fabric)].sum(axis=-1, dtype=np.float64)
    return sums


def unflooded_bytes(fabric: Fabric, volume_bytes: NDArray[Real]) -> NDArray[Real]:
    """Return bytes from host to host without those to uplinks without an address, [..., H, H]."""
    if not len(unknown := unknown_uplinks(fabric)):
        return volume_bytes
    kept = volume_bytes.copy()
    kept[..., unknown] = 0.0
    return kept


def heard_bytes(fabric: Fabric, volume_bytes: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the bytes that come to each host's port from each host, copies of flooded frames too, [..., H, H].

    Whatever a host floods comes to all other hosts of its network; to itself nothing does.
    """
    heard = volume_bytes.astype(np.float64)
    if not len(unknown := unknown_uplinks(fabric)):
        return heard
    heard[..., unknown] = 0.0
    flooded = flooded_by(fabric, volume_bytes)
    for mine in fabric.networks.values():
        others = ~np.eye(len(mine), dtype=np.bool_)
        heard[..., mine[:, None], mine[None, :]] += flooded[..., mine, None] * others
    return heard


def load_with_copies(fabric: Fabric, routes: Routes, volume_bytes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the load of each channel as `channel_load` does, float64[C], with all copies of what is flooded.

    Bytes to uplinks without an address take every channel of their sender's tree once. The paths of every source must
    be a tree if there are such bytes.
    """
    flooded = flooded_by(fabric, volume_bytes)
    if not flooded.any():
        return channel_load(fabric, routes, volume_bytes)
    capacity_mbps = np.repeat([link.capacity_mbps() for link in fabric.links], 2)
    copies = flooded @ flooded_channels(fabric, routes)
    scaled: NDArray[np.float64] = copies * 1000.0 / capacity_mbps if len(copies) else copies
    return channel_load(fabric, routes, unflooded_bytes(fabric, volume_bytes)) + scaled


def load_by(fabric: Fabric, routes: Routes, assignment: str) -> LoadOf:
    """Return what adds up bytes on channels under an assignment: with copies, where they follow from the paths."""
    return load_with_copies if flood_along_trees(fabric, routes, assignment) else channel_load


def reported_load(
    fabric: Fabric, routes: Routes, assignment: str, volume_bytes: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the load of each channel that plan, report, regulate and predict report, float64[C].

    It is in bytes at 1 Gb/s by `load_by`; without bytes, the number of host pairs of one network that cross a channel,
    whatever its capacity.
    """
    if volume_bytes is None:
        return channel_load(fabric, routes)
    return load_by(fabric, routes, assignment)(fabric, routes, volume_bytes)


def uncounted_floods(fabric: Fabric, volume_bytes: NDArray[np.float64]) -> tuple[str, ...]:
    """Return what is to be said where copies are not counted; nothing if nothing is flooded."""
    if not (amount := flooded_bytes(fabric, volume_bytes)):
        return ()
    names = ", ".join(fabric.hosts[u].name for u in unknown_uplinks(fabric).tolist())
    why = "pinned floods over one tree, which is not that of the paths"
    return (f"{amount:,.0f} bytes to {names} are flooded: their copies are not counted here ({why})",)


def with_copies(fabric: Fabric, routes: Routes, flows: Flows) -> Flows:
    """Return the flows with the channels and hosts' ports that copies of flooded frames take, beside their paths.

    Each frame crosses every channel of its sender's tree that leads to a host of the sender's network, once, and leaves
    by the port of every such host, as in an 802.1Q switch that has not learnt the address. The paths of every source
    must be a tree (`flood_along_trees`).
    """
    flooded = np.flatnonzero(np.isin(flows.destination, unknown_uplinks(fabric)))
    if not len(flooded):
        return flows
    taken, of_host = np.empty(0, np.int64), -1  # flows are ordered by source
    network = np.empty(len(fabric.hosts), np.int64)
    for n, mine in enumerate(fabric.networks.values()):
        network[mine] = n
    parts = list(fabric.networks.values())
    rows: list[NDArray[np.int64]] = []
    crossed = flooded_channels(fabric, routes)
    for f in flooded.tolist():
        if (a := int(flows.source[f])) != of_host:
            ports = np.setdiff1d(fabric.host_link[parts[network[a]]], fabric.host_link[[a]])
            inner = 2 * flows.hosts + np.flatnonzero(crossed[a])
            taken, of_host = np.concatenate([inner, flows.hosts + ports]).astype(np.int64), a
        path = flows.channel[flows.first[f] : flows.first[f + 1]]
        rows.append(np.setdiff1d(taken, path))
    copies = np.zeros(len(flows), np.int64)
    copies[flooded] = [len(row) for row in rows]
    length = np.diff(flows.first)
    first = np.concatenate([[0], np.cumsum(length + copies)])
    channel = np.empty(first[-1], np.int32)
    channel[places(first[:-1], length)] = flows.channel
    channel[places(first[:-1] + length, copies)] = np.concatenate(rows)
    return replace(flows, first=first, channel=channel, copies=copies)
