"""Export a fabric as Slurm's topology.conf: which nodes are near each other, as a tree of switches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

GRIDS, LEVELS = {"mesh", "torus", "hypercube"}, {"fat-tree", "tree"}
NUMBERED = re.compile(r"(.*?)(\d+)")


def topology_conf(fabric: Fabric) -> str:
    """Return topology.conf of Slurm's topology/tree: switches with their nodes, and groups of near switches above.

    Slurm knows trees alone. A mesh, torus or hypercube is grouped by dimension, lowest first (rows, planes, ...), a
    dragonfly by its groups, a tree or fat tree by what its levels connect, anything else not at all; one switch is on
    top of all. Switches without hosts, dead ones and uplinks are left out: they are no place for a job.
    """
    nodes: dict[int, list[str]] = {}
    for host in fabric.hosts:
        if not host.uplink and fabric.switches[host.switch].up:
            nodes.setdefault(host.switch, []).append(host.name)
    leaves = np.array(sorted(nodes), np.int64)
    lines = [f"# {fabric.name}: TopologyPlugin=topology/tree in slurm.conf"]
    lines += [f"SwitchName={fabric.switches[s].name} Nodes={host_list(nodes[s])}" for s in leaves.tolist()]
    below, names = np.arange(len(leaves)), [fabric.switches[s].name for s in leaves.tolist()]
    levels = [*groups(fabric, leaves), np.zeros(len(leaves), np.int64)]
    for level, group in enumerate(levels, 1):
        if len(np.unique(group)) in {0, len(names)}:
            continue  # it brings no two of those below together
        _, group_of = np.unique(group, return_inverse=True)
        members: dict[int, dict[str, None]] = {}
        for own, under in zip(group_of.tolist(), below.tolist(), strict=True):
            members.setdefault(own, {})[names[under]] = None
        above = [free_name(f"group-{level}-{own}", fabric) for own in range(len(members))]
        lines += [f"SwitchName={above[own]} Switches={host_list(members[own])}" for own in sorted(members)]
        below, names = group_of, above
    return "\n".join(lines) + "\n"


def groups(fabric: Fabric, leaves: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the group of each of some switches, int64[leaves], a level each, the nearest first; each within the next.

    A group's numbers ascend with its lowest switch.
    """
    family = fabric.shape.family if fabric.shape is not None else ""
    at = fabric.points
    found: list[NDArray[np.int64]] = []
    if family in GRIDS:
        found = [_numbered(at[leaves, d:]) for d in range(1, at.shape[1])]
    elif family == "dragonfly" and at.shape[1]:
        found = [_numbered(at[leaves, :1])]
    elif family in LEVELS and at.shape[1]:
        rank = at[:, 0].max() - at[:, 0] if family == "tree" else at[:, 0]
        tail, head = fabric.tail[fabric.channel_up], fabric.head[fabric.channel_up]
        for level in range(1, int(rank.max(initial=0)) + 1):
            inside = (rank[tail] <= level) & (rank[head] <= level)
            ends = np.ones(int(inside.sum())), (tail[inside], head[inside])
            _, part = connected_components(coo_array(ends, shape=(len(rank), len(rank))), directed=False)
            found.append(_numbered(part[leaves, None]))
    return found


def _numbered(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each row among the different ones, in the order in which they first stand."""
    _, first, own = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[own.ravel()], np.int64)


def free_name(name: str, fabric: Fabric) -> str:
    """Return a name that no switch of a fabric has."""
    while name in fabric.index:
        name += "-"
    return name


def host_list(names: Iterable[str]) -> str:
    """Return names as Slurm's host list: numbers that follow each other as a range.

    >>> host_list(["h0", "h1", "h2", "h5", "login", "n08", "n09", "n10"])
    'h[0-2,5],login,n[08-10]'
    """
    split = [(name, NUMBERED.fullmatch(name)) for name in names]
    padded = {(match[1], len(match[2])) for _, match in split if match and match[2][0] == "0" and len(match[2]) > 1}
    parts: dict[tuple[str, int], list[list[int]]] = {}  # runs of numbers, by prefix and width (0: as they come)
    for name, match in split:
        if match is None:
            parts[name, -1] = []
            continue
        key = (match[1], len(match[2]))
        runs = parts.setdefault(key if key in padded else (match[1], 0), [])
        if runs and runs[-1][1] + 1 == int(match[2]):
            runs[-1][1] += 1
        else:
            runs.append([int(match[2])] * 2)
    return ",".join(prefix + _ranges(runs, width) for (prefix, width), runs in parts.items())


def _ranges(runs: list[list[int]], width: int) -> str:
    """Return runs of numbers in brackets; a lone number, and none, without."""
    words = [f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in runs if width >= 0]
    return f"[{','.join(words)}]" if len(words) > 1 or any("-" in word for word in words) else "".join(words)
