"""Decide whether counters guarantee that no channel exceeds its limit under link settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.graph.counted_loads import ALL, HOSTS, NEITHER, TERMS, CountedLoads
from tagloom.records.headroom import ESTIMATED, GUARANTEED, ORDER, UNKNOWN, Headroom
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tagloom.graph.counted_loads import Setting

ROUNDING = 1 + 1e-6  # as for loads: rates are float32


def headroom_of(
    loads: CountedLoads | None, settings: Sequence[Setting], among: NDArray[np.bool_] | None, limit: float
) -> Headroom:
    """Return how sure it is that no channel exceeds `limit` bytes per second, at 1 Gb/s, in the intervals `among`.

    Of several settings each host may be under any. Without `loads` the traffic was measured.
    """
    if loads is None:
        return Headroom()
    among = np.ones(len(loads.counts), np.bool_) if among is None else among
    bound = loads.busiest(settings, among=among)[among]
    if missing := _missing(loads, among):
        return Headroom(UNKNOWN, None, missing)
    most = float(bound.max(initial=0.0))
    return Headroom(GUARANTEED if most <= limit * ROUNDING else ESTIMATED, most, (), _notes(loads, among))


def worst_of(each: Iterable[Headroom]) -> Headroom:
    """Return one for several: the least sure kind, the highest bound, and all that is missing."""
    found = list(each) or [Headroom()]
    kind = max((one.kind for one in found), key=ORDER.index)
    bounds = [one.bound for one in found if one.bound is not None]
    missing = dict.fromkeys(what for one in found for what in one.missing)
    notes = dict.fromkeys(what for one in found for what in one.notes)
    return Headroom(kind, max(bounds) if bounds and kind != UNKNOWN else None, tuple(missing), tuple(notes))


def _missing(loads: CountedLoads, among: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return why counts bound nothing in some of the intervals, nothing if they do."""
    if loads.too_many:
        return (f"{loads.groups:,} kinds of host pairs: loads are bounded of up to {TERMS:,}",)
    counts, found = loads.counts, list[str]()
    none = among & np.isnan(counts.sent).any(axis=1)
    if counts.missing and (none.any() or len(counts) == 1):
        found += counts.missing
    elif none.any():
        found.append(f"no port was counted in {number_of(int(none.sum()), 'interval')}")
    if (against := among & ~none & (loads.fits == NEITHER)).any():
        t = int(np.flatnonzero(against)[0])
        sums = 8e-6 * counts.sent[t].sum(), 8e-6 * counts.received[t].sum()
        found.append(
            f"hosts' ports contradict one another in {number_of(int(against.sum()), 'interval')}: what they sent does "
            f"not fit what they received ({sums[0]:,.1f} and {sums[1]:,.1f} Mb/s in the first)"
        )
    return tuple(found)


def _notes(loads: CountedLoads, among: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return what bounds rest on, and what makes them higher than they could be."""
    found = []
    if (among & (loads.fits == ALL)).any():
        found.append(
            "if the switches ran other paths than those planned with all links on, and these explain the counts by "
            "chance, the bound can be too low"
        )
    other = int((among & (loads.fits == HOSTS)).sum())
    if other:
        found.append(
            f"in {number_of(other, 'interval')} links counted what the paths planned with all links on don't explain, "
            "were down, or ran slower than in the fabric file: the bound is by hosts' ports alone"
        )
    unread = np.isnan(loads.counts.channel[among & (loads.fits == ALL)]).any(axis=0).reshape(-1, 2).any(axis=1)
    if unread.any():
        links = number_of(int(unread.sum()), "link")
        found.append(f"{links} had no counts, or two ends that counted differently: the bound could be lower")
    return tuple(found)


def to_json(headroom: Headroom, of: float) -> dict[str, Any]:
    """Return the keys of the command line, with the bound as a share of `of`."""
    return {
        "headroom_is": headroom.kind,
        "max_channel_share_bound": None if headroom.bound is None else round(headroom.bound / of, 6),
        "headroom_missing": list(headroom.missing),
    }
