"""Follow frames to addresses that no entry names, flooded to every uplink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.search import reached
from tagloom.units import number_of
from tagloom.verify.broadcast import copies_below
from tagloom.verify.looked_up import flooding_alike
from tagloom.verify.unicast import Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from numpy.typing import NDArray

    from tagloom.verify.forwarding import Forwarding


@dataclass(frozen=True, eq=False)
class UplinkFloods:
    """The outcome of frames that hosts send to addresses behind uplinks.

    lost, repeated  pairs (host, uplink) of which no copy arrives, or several; of an uplink with itself, any
    links, ports    the most channels that one frame takes, and the most ports of hosts
    """

    lost: list[Trouble]
    repeated: list[Trouble]
    links: int
    ports: int


NO_UPLINKS = UplinkFloods([], [], 0, 0)


def floods_to_uplinks(model: Forwarding, strange: Collection[int]) -> UplinkFloods:
    """Return the outcome of every host's frames to addresses behind each uplink; floods must be acyclic.

    Static entries for the broadcast address narrow nothing here. A switch that has learned an address at an uplink
    sends frames for it only to the port where it was learned, in that VLAN, and each still arrives. If that were
    another port than the one by which a flood leaves for the uplink, the uplink's own frames, which arrived there,
    would leave by the other and return to it; that is checked as well. Of the hosts `strange`, some switch may drop
    frames for their sender.
    """
    hosts, uplinks = len(model.fabric.hosts), model.fabric.uplinks.tolist()
    copies, links, ports = np.zeros((hosts, len(uplinks)), np.int64), 0, 0
    for host, first, before, after in _floods(model, strange):

        def reaching(takers: NDArray[np.bool_], steps: _Floods = (host, first, before, after)) -> NDArray[np.int64]:
            mine, entered, held, wanted = steps
            below = copies_below(len(takers), held, wanted, takers)
            return np.bincount(mine, below[entered], hosts).astype(np.int64)

        links = max(links, int(reaching(model.egress_channel >= 0).max(initial=0)))
        ports = max(ports, int(reaching(model.egress_host >= 0).max(initial=0)))
        for i, u in enumerate(uplinks):
            copies[:, i] += reaching(model.egress_host == u)
    lost, repeated = list[Trouble](), list[Trouble]()
    for i, u in enumerate(uplinks):
        others = np.arange(hosts) != u
        _note(lost, others & (copies[:, i] == 0), u, _unheard)
        _note(repeated, copies[:, i] > others, u, _repeated, copies[:, i])
    return UplinkFloods(lost, repeated, links, ports)


def heard_at_uplinks(model: Forwarding, strange: Collection[int]) -> NDArray[np.bool_]:
    """Return whose frames to an unknown address reach each uplink, bool[H, U], with or without storms."""
    heard = np.zeros((len(model.fabric.hosts), len(model.fabric.uplinks)), np.bool_)
    for host, first, before, after in _floods(model, strange):
        for i, u in enumerate(model.fabric.uplinks.tolist()):
            leads = reached(len(model.egress_node), after, before, np.flatnonzero(model.egress_host == u))
            heard[host[leads[first]], i] = True
    return heard


_Floods = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.int64]"]


def _floods(model: Forwarding, strange: Collection[int]) -> Iterator[_Floods]:
    """Yield floods that go on alike: (host, first egress), then the steps (egress, next egress) of all of them."""
    for senders, allowed in flooding_alike(model, ~model.egress_down & model.egress_floods, strange):
        host, first = model.injections(allowed)
        mine = np.isin(host, senders)
        before, after, _ = model.followed(allowed, np.unique(first[mine]))
        yield host[mine], first[mine], before, after


def _note(
    kept: list[Trouble], which: NDArray[np.bool_], u: int, why: Callable[..., str], *details: NDArray[np.integer]
) -> None:
    if which.any():
        sources = np.flatnonzero(which)
        columns = tuple(detail[sources] for detail in details)
        kept.append(Trouble(0, sources, np.full(len(sources), u), why, columns))


def _unheard() -> str:
    return "to an address behind it: flooded, and no copy arrives"


def _repeated(copies: int) -> str:
    return f"to an address behind it: {number_of(copies, 'copy')}"
