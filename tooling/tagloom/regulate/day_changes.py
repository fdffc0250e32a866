"""Decide when each change of a day begins, so that no channel exceeds its headroom while hosts move to other paths."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tagloom.records.timetable import History, Schedule

LATE, EARLY, VIA, NONE = 0, 1, 2, 3  # after the interval began; before; early to everything on, late from there; never
ROUNDING = 1 + 1e-6  # rates are float32


@dataclass(frozen=True)
class Change:
    """A change of a schedule at the start of interval `t`, between settings by index, and how it is made.

    `worst` is a bound on the bytes per second of the busiest channel meanwhile, whichever hosts have moved already.
    """

    t: int
    before: int
    after: int
    mode: int
    worst: float


class ChangeRule:
    """The modes that each change of a day may have.

    Each host moves at its own moment, so meanwhile a channel carries at most what each host sends over it before or
    after, whichever is more. That must be within `limit`, unless one of the two settings exceeds it by itself in the
    same interval. An early change is under way in the `seconds` before its interval, a late one in those after, both
    from a full minute on. By everything on, the new settings follow `settled` seconds after the interval began. Where a
    change is a whole interval late, the former settings carry no channel's `most`: else they give way to everything on
    an interval before.
    """

    def __init__(
        self,
        history: History,
        limit: float,
        seconds: float,
        excess: Callable[[int, int, int], float],
        most: float = np.inf,
        settled: float = 0.0,
    ) -> None:
        """Keep `excess(one, other, t)`: the bytes per second of the busiest channel while hosts move in interval t."""
        self._most = most
        self._limit, self._known, self._excess = limit, history.known, excess
        ends = history.start_seconds + history.seconds
        span = float(history.seconds.sum())
        self._windows: dict[int, list[NDArray[np.int64]]] = {EARLY: [], LATE: [], VIA: []}
        for start in history.start_seconds.tolist():
            minute, whole = 60.0 * (start // 60), 60.0 * math.ceil(round(start) / 60)
            late = start, whole + max(seconds, 1.0)
            early = minute - seconds, max(start, minute - seconds + 1.0)
            for mode, begin, end in ((EARLY, *early), (LATE, *late), (VIA, start, late[1] + settled)):
                inside = np.zeros(len(ends), np.bool_)
                for shift in (-span, 0.0, span):  # the day repeats
                    inside |= (history.start_seconds + shift < end) & (ends + shift > begin)
                self._windows[mode].append(np.flatnonzero(inside))
        self.barred: set[tuple[int, object, object, int]] = set()

    def modes(self, busiest: NDArray[np.float64], gains: NDArray[np.bool_], names: list[object]) -> NDArray[np.int8]:
        """Return the mode of each change, int8[T, K, K] from row to column, NONE where there is none.

        `busiest` is float64[K, T], `gains` bool[K, K] whether links come up or get faster, `names` what `barred` calls
        the settings; index 0 has everything on. Late is
        taken within the limit, then early, late where the interval's own settings exceed it too, by everything on.
        """
        count, intervals = busiest.shape
        can: dict[int, NDArray[np.bool_]] = {
            m: np.zeros((intervals, count, count), np.bool_) for m in (LATE, EARLY, VIA)
        }
        roomy = np.zeros((intervals, count), np.bool_)
        for t in range(intervals):
            for mode, allowed in can.items():
                here = self._windows[mode][t]
                load, known = busiest[:, here], self._known[here]
                fits = (load[None, :, :] <= np.maximum(self._limit, load[:, None, :]) * ROUNDING).all(axis=2)
                safe = (np.arange(count) == 0) | bool(known.all())
                # fits[x, y]: y is within the limit, or within what x, whose interval it is, carries anyway
                allowed[t] = fits & safe if mode == EARLY else (fits & safe).T
            can[EARLY][t] &= gains | (np.arange(count) == 0)[:, None]  # without links to bring up, the clock may wait
            roomy[t] = (busiest[:, self._windows[LATE][t]] <= self._limit * ROUNDING).all(axis=1)
        via = can[EARLY][:, :, 0, None] & can[VIA][:, 0, None, :]
        via[:, 0, :] = via[:, :, 0] = False
        can[VIA] = via
        index = {name: k for k, name in enumerate(names)}
        for t, one, other, mode in self.barred:
            if one in index and other in index:
                can[mode][t, index[one], index[other]] = False
        order = [can[LATE] & roomy[:, :, None], can[EARLY], can[LATE], can[VIA]]
        found = np.select(order, [LATE, EARLY, LATE, VIA], NONE).astype(np.int8)
        full = self._most * ROUNDING < busiest.T
        full[:, 0] = False  # nothing carries more than everything on
        found[full] = NONE
        return found

    def changes(self, schedule: Schedule, modes: NDArray[np.int8]) -> list[Change]:
        """Return a schedule's changes, each with its worst load."""
        found = []
        for t, (a, k) in enumerate(zip(np.roll(schedule.setting, 1).tolist(), schedule.setting.tolist(), strict=True)):
            if a != k:
                mode = int(modes[t, a, k])
                worst = max(load for load, _ in self._loads(t, a, k, mode))
                found.append(Change(t, a, k, mode, worst))
        return found

    def holds(self, change: Change, busiest: NDArray[np.float64]) -> bool:
        """Return whether a change keeps the limit, or exceeds it no more than a setting does by itself meanwhile."""
        loads = self._loads(change.t, change.before, change.after, change.mode)
        return all(load <= max(self._limit, busiest[own, s]) * ROUNDING for load, (own, s) in loads)

    def _loads(self, t: int, a: int, k: int, mode: int) -> list[tuple[float, tuple[int, int]]]:
        """Return the worst load in each interval that a change touches, with (the settings of the interval, it)."""
        return [(self._excess(one, other, s), (own, s)) for one, other, s, own in self._touched(t, a, k, mode)]

    def touched(self, change: Change) -> list[tuple[int, int, int, int]]:
        """Return the intervals that a change touches: (settings before, settings after, interval, its own settings)."""
        return self._touched(change.t, change.before, change.after, change.mode)

    def _touched(self, t: int, a: int, k: int, mode: int) -> list[tuple[int, int, int, int]]:
        parts = {LATE: [(LATE, a, k, k)], EARLY: [(EARLY, a, k, a)], VIA: [(EARLY, a, 0, a), (VIA, 0, k, k)]}[mode]
        return [(one, other, s, own) for window, one, other, own in parts for s in self._windows[window][t].tolist()]
