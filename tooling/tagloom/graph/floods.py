"""Count the copies of frames to uplinks without an address: they are flooded along the sender's own tree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.rows import places
from tagloom.graph.trees import pruned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.graph.flows import Flows
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes


def unknown_uplinks(fabric: Fabric) -> NDArray[np.int64]:
    """Return the uplinks without an address of their own, int64[U]: all that is sent to them is flooded."""
    return np.array([u for u in fabric.uplinks.tolist() if not fabric.hosts[u].macs], np.int64)


def flooded_bytes(fabric: Fabric, volume_bytes: NDArray[np.float64]) -> float:
    """Return the bytes to uplinks without an address, of float64[H, H] from host to host."""
    return float(volume_bytes[:, unknown_uplinks(fabric)].sum())


def uncounted_floods(fabric: Fabric, volume_bytes: NDArray[np.float64]) -> tuple[str, ...]:
    """Return what is to be said where links are chosen, which counts no copies; nothing if nothing is flooded."""
    if not (amount := flooded_bytes(fabric, volume_bytes)):
        return ()
    names = ", ".join(fabric.hosts[u].name for u in unknown_uplinks(fabric).tolist())
    return (f"{amount:,.0f} bytes to {names} are flooded: their copies are not counted in this choice (predict does)",)


def with_copies(fabric: Fabric, routes: Routes, flows: Flows) -> Flows:
    """Return the flows with the channels and hosts' ports that copies of flooded frames take, beside their paths.

    Each frame crosses every channel of its sender's tree that leads to a host of the sender's network, once, and leaves
    by the port of every such host, as in an 802.1Q switch that has not learnt the address. The paths of every source
    must be a tree, as with fixed assignment.
    """
    flooded = np.flatnonzero(np.isin(flows.destination, unknown_uplinks(fabric)))
    if not len(flooded):
        return flows
    taken, of_host = np.empty(0, np.int64), -1  # flows are ordered by source
    network = np.empty(len(fabric.hosts), np.int64)
    for n, mine in enumerate(fabric.networks.values()):
        network[mine] = n
    parts = list(zip(fabric.by_network, fabric.networks.values(), strict=True))
    rows: list[NDArray[np.int64]] = []
    for f in flooded.tolist():
        if (a := int(flows.source[f])) != of_host:
            part, mine = parts[network[a]]
            tree = pruned(part, routes.trees[routes.source_of_host[a]][None, :])[0]
            ports = np.setdiff1d(fabric.host_link[mine], fabric.host_link[[a]])
            inner = 2 * flows.hosts + tree[tree >= 0]
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
