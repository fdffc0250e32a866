"""Follow every copy of every host's broadcast: no storm, each other host once, which channels depend on which."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.channels import find_cycle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.verify.forwarding import Forwarding


@dataclass(slots=True)
class Broadcast:
    """Hold what became of one broadcast from every host.

    storm       the ways of a cycle that copies go round, [] where there is none
    wrong       (source, destination, copies) where copies is not 1; the sender itself must get none
    held, wanted  channel dependencies of all copies, each once
    """

    storm: list[int] = field(default_factory=list)
    wrong: list[tuple[int, int, int]] = field(default_factory=list)
    held: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    wanted: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


def flood(model: Forwarding, *, group_entries: bool = True) -> Broadcast:
    """Flood from every host; static entries for the broadcast address narrow a node's flood where they stand.

    Copies are counted on the graph of ways out, which has no cycle that a frame can reach exactly when there is no
    storm (IEEE 802.1Q forwarding has no hop limit). With `group_entries` off the flood is that of every other group
    address and of unicasts no switch knows; its copies are not counted, only its storm and dependencies are found.
    """
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - a third of a second that most commands need not wait for
    from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415 - as above

    result, fabric = Broadcast(), model.fabric
    ways, hosts = len(model.way_node), len(fabric.hosts)
    allowed = np.ones(ways, np.bool_)
    if group_entries and len(model.group_node):
        named = np.zeros((model.nodes, max(fabric.ports) + 1), np.bool_)
        named[model.group_node, model.group_port] = True
        narrowed = np.isin(model.way_node, model.group_node)
        allowed = ~narrowed | named[model.way_node, model.way_port]
    before, after = model.steps(allowed)
    host, first = model.injections(allowed)
    if not ways:
        result.wrong = [(a, b, 0) for a in range(hosts) for b in range(hosts) if a != b]
        return result
    start = np.unique(first)
    rows = np.concatenate([before, np.full(len(start), ways)])
    graph = csr_matrix((np.ones(len(rows), np.int8), (rows, np.concatenate([after, start]))), (ways + 1, ways + 1))
    live = np.zeros(ways + 1, np.bool_)
    live[breadth_first_order(graph, ways, return_predecessors=False)] = True
    seen = live[before]
    before, after = before[seen], after[seen]
    result.storm = find_cycle(ways, before, after)
    held, wanted = model.way_channel[before].astype(np.int64), model.way_channel[after].astype(np.int64)
    links = (held >= 0) & (wanted >= 0)
    keys = np.unique(held[links] * max(1, len(fabric.tail)) + wanted[links])
    result.held, result.wanted = keys // max(1, len(fabric.tail)), keys % max(1, len(fabric.tail))
    if group_entries and not result.storm:
        # at least int64: a renamed plan can deliver millions of copies without a storm
        step = csr_matrix((np.ones(len(before), np.int64), (before, after)), (ways, ways))
        here = csr_matrix((np.ones(len(host), np.int64), (host, first)), (hosts, ways))
        takers = np.flatnonzero(model.way_host >= 0)
        give = csr_matrix((np.ones(len(takers), np.int64), (takers, model.way_host[takers])), (ways, hosts))
        copies = csr_matrix((hosts, hosts), dtype=np.int64)
        while here.nnz:
            copies = copies + here @ give
            here = here @ step
        expected = np.ones((hosts, hosts), np.int64) - np.eye(hosts, dtype=np.int64)
        counted = copies.toarray()
        result.wrong = [(int(a), int(b), int(counted[a, b])) for a, b in np.argwhere(counted != expected)]
    return result
