"""Follow frames to addresses that no entry names, flooded to every uplink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.search import reached
from tagloom.verify.broadcast import copies_below
from tagloom.verify.unicast import Trouble

if TYPE_CHECKING:
    from collections.abc import Callable

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


def floods_to_uplinks(model: Forwarding) -> UplinkFloods:
    """Return the outcome of every host's frames to addresses behind each uplink; floods must be acyclic.

    Static entries for the broadcast address narrow nothing here. A switch that has learned an address at an uplink
    sends frames for it only to the port where it was learned, in that VLAN, and each still arrives. If that were
    another port than the one by which a flood leaves for the uplink, the uplink's own frames, which arrived there,
    would leave by the other and return to it; that is checked as well.
    """
    fabric, hosts = model.fabric, len(model.fabric.hosts)
    allowed = ~model.egress_down & model.egress_floods
    host, first = model.injections(allowed)
    before, after, _ = model.followed(allowed, np.unique(first))

    def most(takers: NDArray[np.bool_]) -> int:
        return int(np.bincount(host, copies_below(len(allowed), before, after, takers)[first], hosts).max(initial=0))

    lost, repeated = list[Trouble](), list[Trouble]()
    for u in fabric.uplinks.tolist():
        below = copies_below(len(allowed), before, after, model.egress_host == u)
        copies = np.bincount(host, below[first], hosts).astype(np.int64)
        others = np.arange(hosts) != u
        _note(lost, others & (copies == 0), u, _unheard)
        _note(repeated, copies > others, u, _repeated, copies)
    return UplinkFloods(lost, repeated, most(model.egress_channel >= 0), most(model.egress_host >= 0))


def heard_at_uplinks(model: Forwarding) -> NDArray[np.bool_]:
    """Return whose frames to an unknown address reach each uplink, bool[H, U], with or without storms."""
    allowed = ~model.egress_down & model.egress_floods
    host, first = model.injections(allowed)
    before, after, _ = model.followed(allowed, np.unique(first))
    heard = np.zeros((len(model.fabric.hosts), len(model.fabric.uplinks)), np.bool_)
    for i, u in enumerate(model.fabric.uplinks.tolist()):
        leads = reached(len(allowed), after, before, np.flatnonzero(model.egress_host == u))
        heard[host[leads[first]], i] = True
    return heard


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
    return f"to an address behind it: {copies} copies"
