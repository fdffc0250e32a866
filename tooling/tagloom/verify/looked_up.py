"""Find where switches that look up senders drop frames, since their sender is pinned at another port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.verify.forwarding import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from tagloom.verify.forwarding import Forwarding

NO_ENTRY = 0


@dataclass(frozen=True, eq=False)
class LookedUp:
    """The ports that senders are pinned at, where switches look them up; row H is for a sender whom none knows.

    pinned  uint16[H + 1, K], the port of a sender at a node, NO_ENTRY if it is not looked up or has none; None if no
            switch looks
    part    int32[K], the nodes that frames can go between
    known   bool[H + 1, P], whether a sender is pinned at some node of a part
    """

    model: Forwarding
    pinned: NDArray[np.uint16] | None
    part: NDArray[np.int32]
    known: NDArray[np.bool_]

    def told_apart(self, host: NDArray[np.int64], node: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the hosts that enter at nodes, H for those whose frames go as all others' do, int64."""
        if self.pinned is None:
            return np.full(len(host), len(self.model.fabric.hosts), np.int64)
        return np.where(self.known[host, self.part[node]], host, len(self.model.fabric.hosts))

    def drops(
        self, sender: NDArray[np.int64], node: NDArray[np.int64], in_port: NDArray[np.integer]
    ) -> NDArray[np.bool_]:
        """Return whether nodes drop frames of senders that come in by ports, bool."""
        if self.pinned is None:
            return np.zeros(len(sender), np.bool_)
        own = self.pinned[sender, node]
        dropped: NDArray[np.bool_] = (own != NO_ENTRY) & (own != in_port)
        return dropped

    def into_drops(self, sender: int) -> NDArray[np.bool_]:
        """Return which egresses lead to a node that drops frames of a sender there, bool[R]."""
        model = self.model
        onward = np.flatnonzero(model.egress_to != NOWHERE)
        came = model.fabric.head_port[model.egress_channel[onward]]
        dropped = np.zeros(len(model.egress_node), np.bool_)
        dropped[onward] = self.drops(np.full(len(onward), sender), model.egress_to[onward].astype(np.int64), came)
        return dropped


def alike(sender: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the places of each sender, ascending."""
    order = np.argsort(sender, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(sender[order])) + 1) if len(sender) else []


def looked_up(model: Forwarding) -> LookedUp:
    """Return where each of a model's hosts is pinned at switches that look up senders."""
    fabric, hosts = model.fabric, len(model.fabric.hosts)
    looking = np.array([switch.up and platforms.of(switch).drops_strange_senders for switch in fabric.switches])
    here = looking[model.node_switch[model.entry_node]] if looking.any() else np.zeros(0, np.bool_)
    if not here.any():
        return LookedUp(model, None, np.zeros(model.nodes, np.int32), np.zeros((hosts + 1, 1), np.bool_))
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - a third of a second that few commands need
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - as above

    host, node = model.entry_host[here], model.entry_node[here]
    pinned = np.zeros((hosts + 1, model.nodes), np.uint16)
    pinned[host, node] = model.entry_port[here]
    onward = np.flatnonzero(model.egress_to != NOWHERE)
    steps = model.egress_node[onward], model.egress_to[onward]
    near = csr_matrix((np.ones(len(onward), np.bool_), steps), (model.nodes, model.nodes))
    parts, part = connected_components(near, directed=False)
    known = np.zeros((hosts + 1, parts), np.bool_)
    known[host, part[node]] = True
    return LookedUp(model, pinned, part, known)


def flooding_alike(
    model: Forwarding, allowed: NDArray[np.bool_], strange: Collection[int]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield hosts whose floods take the same egresses, and these, bool[R]: of `strange` ones each by itself.

    `allowed` are the egresses of a flood that no switch drops for its sender. A host whose frames the first switch
    drops is left out.
    """
    hosts = np.arange(len(model.fabric.hosts))
    yield np.setdiff1d(hosts, np.fromiter(strange, np.int64)), allowed
    looked = looked_up(model) if strange else None
    for host in sorted(strange):
        at = np.array([host])
        if looked is not None and model.inject[host] != NOWHERE:
            node, port = model.inject[at].astype(np.int64), model.fabric.host_port[at]
            if not looked.drops(at, node, port).any():
                yield at, allowed & ~looked.into_drops(host)
