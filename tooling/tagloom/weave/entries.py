"""Find the static entries that the paths of a VLAN need, switch by switch, and which channels of a tree are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.graph.kernel import kernel, kernel_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

Block = tuple["NDArray[np.int32]", "NDArray[np.int32]"]  # switch * H + rank of the host by address, ascending; port


class PathEntries:
    """The static entries of one network's VLANs, collected VLAN by VLAN and sorted by switch, VLAN, address.

    An entry stands at every switch of a path and nowhere else; hosts without an address have none. `ranked` are the
    hosts by their addresses, `trees` the sources and their detours in all.
    """

    def __init__(self, fabric: Fabric, trees: int) -> None:
        self.fabric = fabric
        self.cells = trees * len(fabric.hosts)  # of all VLANs
        self.ranked = np.argsort(fabric.host_mac, kind="stable")
        self._most = np.array([platforms.of(switch).mac_table for switch in fabric.switches])
        self._ports = np.zeros((len(fabric.switches), len(fabric.hosts)), np.int32)
        self._count = np.zeros(len(fabric.switches), np.int64)
        self._blocks: list[tuple[int, Block]] = []

    def add(self, vlan: int, parent: NDArray[np.int32], home: NDArray[np.int32], alone: NDArray[np.int64]) -> None:
        """Add the paths of a VLAN's sources: trees int32[K, N] from the switches `home`, int32[K].

        `alone` is the one host of a source, int64[K], which sends nothing to itself; -1 where there are several.
        """
        fabric, hosts = self.fabric, len(self.ranked)
        rank = np.append(np.argsort(self.ranked), -1)  # of no host: -1
        switch, port = fabric.host_switch[self.ranked], fabric.host_port[self.ranked]
        kernel_for(_note_ports, self.cells)(
            parent, home, rank[alone], switch, port, fabric.tail, fabric.tail_port, self._ports
        )
        self._ports[:, : np.count_nonzero(fabric.host_mac == 0)] = 0
        flat = np.flatnonzero(self._ports).astype(np.int32)
        ports = self._ports.ravel()
        self._blocks.append((vlan, (flat, ports[flat])))
        self._count += np.bincount(flat // max(1, hosts), minlength=len(self._count))
        ports[flat] = 0

    def refuse_overflow(self) -> None:
        """Raise PlanError if a switch has more entries so far than its model holds."""
        for s in np.flatnonzero(self._count > self._most)[:1].tolist():
            rule = f"a {platforms.of(self.fabric.switches[s]).title} holds at most {self._most[s]} MAC addresses"
            needed = f"{self.fabric.switches[s].name} would need more static entries than that"
            raise PlanError(rule, needed, "use --protect none")

    def by_switch(self) -> list[tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32]]]:
        """Return the columns VLAN, address and port of each switch's entries."""
        bounds = np.append(0, np.cumsum(self._count))
        following = bounds[:-1].copy()
        vlans, ranks, ports = np.empty((3, int(bounds[-1])), np.int32)
        place = kernel_for(_place, self.cells)
        for vlan, (flat, port) in self._blocks:
            place(flat, port, vlan, max(1, len(self.ranked)), following, vlans, ranks, ports)
        mac = self.fabric.host_mac[self.ranked]
        return [
            (vlans[low:high], mac[ranks[low:high]], ports[low:high])
            for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        ]


@kernel
def _note_ports(
    parent: NDArray[np.int32],
    home: NDArray[np.int32],
    alone: NDArray[np.int64],
    host_switch: NDArray[np.int32],
    host_port: NDArray[np.int32],
    tail: NDArray[np.int32],
    tail_port: NDArray[np.int32],
    port: NDArray[np.int32],
) -> None:
    """Write to `port`, int32[N, H], the port towards each host wherever a path of one of the sources needs it."""
    for k in range(len(parent)):
        for h in range(len(host_switch)):
            v = host_switch[h]
            if h == alone[k] or (parent[k, v] < 0 and v != home[k]):
                continue
            port[v, h] = host_port[h]
            c = parent[k, v]
            while c >= 0:
                v = tail[c]
                port[v, h] = tail_port[c]
                c = parent[k, v]


@kernel
def _place(
    flat: NDArray[np.int32],
    port: NDArray[np.int32],
    vlan: int,
    hosts: int,
    following: NDArray[np.int64],
    vlans: NDArray[np.int32],
    ranks: NDArray[np.int32],
    ports: NDArray[np.int32],
) -> None:
    """Append the entries of a VLAN to those of their switches, which go on at `following`."""
    for i in range(len(flat)):
        switch = flat[i] // hosts
        at = following[switch]
        vlans[at], ranks[at], ports[at] = vlan, flat[i] - switch * hosts, port[i]
        following[switch] = at + 1


@kernel
def needed_channels(
    parent: NDArray[np.int32], tail: NDArray[np.int32], ends: NDArray[np.int32], found: NDArray[np.int32]
) -> None:
    """Write to `found` trees, int32[K, N], without the branches that lead to none of the switches `ends`."""
    for k in range(len(parent)):
        for v in range(parent.shape[1]):
            found[k, v] = -1
        for end in ends:
            v = end
            while parent[k, v] >= 0 and found[k, v] < 0:
                found[k, v] = parent[k, v]
                v = tail[parent[k, v]]


@kernel
def note_links(parent: NDArray[np.int32], marks: NDArray[np.uint8]) -> None:
    """Mark the links of each tree as bits, uint8[K, ceil(L / 8)]."""
    for k in range(len(parent)):
        for v in range(parent.shape[1]):
            if parent[k, v] >= 0:
                link = parent[k, v] // 2
                marks[k, link >> 3] |= np.uint8(1 << (link & 7))
