"""A day of traffic, the settings worth having over it, and the times at which each begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

ALL_ON = "all-on"  # the settings that turn nothing off


@dataclass(frozen=True, eq=False)
class History:
    """What hosts sent over a day, interval by interval, in order and without gaps.

    start_seconds  float64[T]: since midnight of the first day, by the clock on the wall
    seconds        float64[T]: how long each lasts
    rate           float32[T, H, H]: bytes per second from host to host, zero on the diagonal
    known          bool[T]: False if nobody measured: only everything on is safe there
    """

    start_seconds: NDArray[np.float64]
    seconds: NDArray[np.float64]
    rate: NDArray[np.float32]
    known: NDArray[np.bool_]
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.seconds)


@dataclass(frozen=True, eq=False)
class Offer:
    """What each of K settings costs over T intervals of a day, and what changing between them costs.

    seconds        float64[T]
    joules         float64[K, T], inf if the settings cannot carry the interval's traffic
    change_joules  float64[K, K], from row to column: links that are on and carry nothing, and time lost
    """

    seconds: NDArray[np.float64]
    joules: NDArray[np.float64]
    change_joules: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Which settings are in force in each interval of a day that repeats.

    setting   int64[T], indices of an Offer
    joules    of the day, changes charged
    changes   the day's, from its last interval to its first counted too
    exact     whether no choice of so many settings out of the Offer does better
    """

    setting: NDArray[np.int64]
    joules: float
    changes: int
    exact: bool

    @property
    def used(self) -> tuple[int, ...]:
        """List the settings in use, each once, ascending."""
        return tuple(np.unique(self.setting).tolist())


@dataclass(frozen=True, slots=True)
class Rule:
    """In cron words when settings begin to hold; `settings` names a file, or is ALL_ON."""

    when: str
    settings: str


@dataclass(frozen=True)
class Timetable:
    """Rules and the settings files they name.

    `dwell_seconds` is the least time between two changes on purpose, `changes_a_day` the most of them in 24 hours;
    a link that must come back up waits for neither. `repair` says what becomes of what dies: auto, propose or off;
    paths go home once it has been back for `repair_hold_seconds`. `backup` says how often running configurations are
    kept: daily or off; `protect` for which single failures detours are installed with every plan: none, link or switch,
    or "" for those of the build that was applied before.
    `traps` is the address at which notifications of switches are heard, if any.
    """

    rules: tuple[Rule, ...]
    timezone: str = "UTC"
    dwell_seconds: float = 900.0
    changes_a_day: int = 12
    files: dict[str, Path] = field(default_factory=dict)
    repair: str = "propose"
    repair_hold_seconds: float = 300.0
    backup: str = "off"
    protect: str = ""
    traps: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Watch:
    """At what load all links come on, and when they may go off again.

    `raise_above` and `lower_below` are shares of a channel's speed; `hold_seconds` is how long the load must have
    stayed below the second before settings hold again. The last two are those of a Timetable.
    """

    raise_above: float = 0.7
    lower_below: float = 0.35
    hold_seconds: float = 600.0
    dwell_seconds: float = 900.0
    changes_a_day: int = 12


@dataclass(frozen=True, slots=True)
class TimetableProgress:
    """What a running timetable remembers; times are seconds since the epoch.

    settings    the names whose links are on together, () if it is not known what runs
    raised      whether load brought all links up; `busy_at` when it was last too high to let them go again
    changed_at  when settings last changed; `lowered_at` when links last went off, within a day
    """

    settings: tuple[str, ...] = ()
    raised: bool = False
    busy_at: float = 0.0
    changed_at: float = 0.0
    lowered_at: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class DeadStatus:
    """How repair stands: what is dead, pairs that are cut off, repairs done and failed since the start.

    `away` tells that something is dead, or that paths have not gone home yet: settings of links wait.
    """

    dead_links: int = 0
    dead_switches: int = 0
    pairs_cut: int = 0
    repairs: int = 0
    failures: int = 0
    away: bool = False


@dataclass(frozen=True, slots=True)
class ClockStatus:
    """How a running timetable stands, for those who watch it."""

    at: float
    settings: tuple[str, ...]
    scheduled: str
    raised: bool
    links_off: int
    watts: float
    full_watts: float
    busiest_share: float | None
    jobs: int
    next_at: float | None
    changes: int
    failures: int
    dead: DeadStatus = field(default_factory=DeadStatus)
