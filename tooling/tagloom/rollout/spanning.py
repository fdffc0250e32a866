"""Compute the result of IEEE 802.1D's spanning tree: the root, each switch's path there, the blocked ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom import platforms
from tagloom.errors import AT_ONCE, Finding, InputError, PlanError
from tagloom.platforms.port_names import port_name
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

    Port = tuple[int, int]


class Spanning(NamedTuple):
    """An active tree.

    links    bool[L], the links that carry data
    depth    int64[N], links between each switch and the root of its component; -1 if spanning tree does not run there
    blocked  (switch index, port number) of every port that forwards nothing
    """

    links: NDArray[np.bool_]
    depth: NDArray[np.int64]
    blocked: frozenset[Port]


def settled(fabric: Fabric, identity: Sequence[int], running: NDArray[np.bool_] | None = None) -> Spanning:
    """Return the active tree among the switches that run spanning tree, over all cables, each at the same cost.

    Every switch takes as its root port the one with the least (cost to the root, sender's identity, sender's port, own
    port), and every link is served by the end with the least (cost, identity, port): the priority vectors of IEEE
    802.1D-2004, 17.6. `identity` orders the switches, the least becomes root. Switches that do not run it neither send
    BPDUs nor forward them.
    """
    runs = np.array([s.up for s in fabric.switches]) & (running if running is not None else True)
    switches = len(fabric.switches)
    best = [(identity[s], 0) if runs[s] else (switches, 0) for s in range(switches)]
    ends = [(x.a, x.a_port, x.b, x.b_port) for x in fabric.links]
    directions = [(i, *end) for i, (a, p, b, q) in enumerate(ends) for end in ((a, p, b, q), (b, q, a, p))]
    directions = [direction for direction in directions if runs[direction[1]] and runs[direction[3]]]
    for _ in range(switches):
        for _, s, _, t, _ in directions:
            best[s] = min(best[s], (best[t][0], best[t][1] + 1))
    chosen: dict[int, tuple[tuple[int, int, int, int], int, Port]] = {}
    for link, s, p, t, q in directions:
        if best[s] == (best[t][0], best[t][1] + 1):
            vector = (best[t][1], identity[t], q, p)
            if s not in chosen or vector < chosen[s][0]:
                chosen[s] = (vector, link, (s, p))
    roots = {port for _, _, port in chosen.values()}
    links = np.zeros(len(fabric.links), np.bool_)
    links[[link for _, link, _ in chosen.values()]] = True
    blocked = {
        (s, p)
        for _, s, p, t, q in directions
        if (s, p) not in roots and (best[s][1], identity[s], p) > (best[t][1], identity[t], q)
    }
    depth = np.array([best[s][1] if runs[s] else -1 for s in range(switches)], np.int64)
    return Spanning(links, depth, frozenset(blocked))


def read_back(fabric: Fabric, root: int, blocked: Collection[Port]) -> Spanning:
    """Return the active tree from the ports that switches report as blocked; `root` is the reported root.

    Raises PlanError if the links without a blocked end are no tree of all switches.
    """
    shut = frozenset(blocked)
    links = np.array([not shut & {(x.a, x.a_port), (x.b, x.b_port)} for x in fabric.links], np.bool_)
    for x, link in enumerate(fabric.links):
        links[x] &= fabric.switches[link.a].up and fabric.switches[link.b].up
    depth = np.full(len(fabric.switches), -1, np.int64)
    depth[root] = 0
    here = [root]
    while here:
        s = here.pop()
        for c in np.flatnonzero((fabric.tail == s) & np.repeat(links, 2)).tolist():
            if depth[fabric.head[c]] < 0:
                depth[fabric.head[c]] = depth[s] + 1
                here.append(int(fabric.head[c]))
    live = [i for i, switch in enumerate(fabric.switches) if switch.up]
    if links.sum() != len(live) - 1 or (depth[live] < 0).any():
        raise PlanError(
            "the links that spanning tree does not block must be a tree of all switches",
            f"{int(links.sum())} of them, {int((depth[live] >= 0).sum())} of {number_of(len(live), 'switch')} joined",
            "read the blocked ports again (show spanning-tree)",
        )
    return Spanning(links, depth, shut)


def active_tree(
    fabric: Fabric, root: str | None, blocked: Sequence[str], where: str = "", outside: Sequence[str] = ()
) -> tuple[Spanning, str]:
    """Return the tree that spanning tree keeps active, and what of it was not read from switches.

    `root` names the root, by default the first switch that is up; "" says that it is none of the fabric's, which is
    then reached over a port `outside`. `blocked` lists ports that are blocked, as ``switch:port``.
    Without them the tree is computed as by 802.1D with equal costs and bridge addresses in the order of the fabric.
    `where` is the file that tells both, where one does: a port in it that is at no link of the fabric has a cable that
    the fabric lacks, which would close a loop once spanning tree is off. So would what joins two ports `outside`,
    which lead to switches of others: spanning tree may block it at their ends, and hears them no more. Raises
    InputError for names that are not of the fabric, PlanError for two such ports.
    """
    findings: list[Finding] = []
    beyond = sorted({end.partition(":")[0] for end in outside}) if root == "" and blocked else []
    if root == "" and blocked and len(beyond) != 1:
        known = "several switches lead" if beyond else "no port is known to lead"
        raise PlanError(
            "the root of spanning tree must be known, so that spanning tree goes off there last",
            f"it is no switch of the fabric, and {known} outside",
            "make a switch of the fabric the root (spanning-tree priority), or: rollout --greenfield BUILD --root S",
            ("rollout --greenfield BUILD --root S",),
        )
    root = beyond[0] if beyond else root or None
    top = fabric.index.get(root) if root is not None else next(i for i, s in enumerate(fabric.switches) if s.up)
    if top is None or not fabric.switches[top].up:
        findings.append(Finding(where or "--root", "a switch of the fabric that is up", repr(root)))
    shut = set()
    for end in blocked:
        name, _, word = end.partition(":")
        s = fabric.index.get(name)
        port = platforms.of(fabric.switches[s]).port_number(word) if s is not None else None
        if s is None or port is None or fabric.port_channel[s, port] < 0:
            lacking = f"{end}, whose cable the fabric lacks: pull it, or add it to the fabric's links"
            actual = lacking if where and s is not None and port is not None else repr(end)
            findings.append(Finding(where or "--blocked", "switch:port of a link of the fabric", actual))
        else:
            shut.add((s, port))
    if findings or top is None:
        raise InputError(findings)
    used = {port_name(fabric, s, port) for s, ports in enumerate(fabric.used_ports) for port in ports}
    if len(ways := [end for end in outside if end not in used]) > 1:
        raise PlanError(
            "while spanning tree goes off, one port at most leads to switches that are not the fabric's",
            f"{', '.join(ways)}: where those switches are joined, VLAN 1 would loop over them",
            f"shut or unplug all of them but one, and tagloom adopt again; or pause the hosts, and: tagloom {AT_ONCE}",
            (AT_ONCE,),
        )
    if shut:
        return read_back(fabric, top, shut), ""
    order = [top, *(s for s in range(len(fabric.switches)) if s != top)]
    tree = settled(fabric, [order.index(s) for s in range(len(fabric.switches))])
    ports = " ".join(sorted(port_name(fabric, *port) for port in tree.blocked))
    return tree, (
        f"{fabric.switches[top].name} is the root, all links cost the same, and bridge addresses rise in the order "
        f"of the fabric: compare with show spanning-tree, or say --blocked; blocked: {ports or 'none'}"
    )
