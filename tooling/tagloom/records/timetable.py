"""A day of traffic, the candidate settings for it, and the times at which each begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.reweave import ReweaveLimits, ReweaveStatus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tagloom.records.counted import PortCounts

ALL_ON = "all-on"  # the settings that turn nothing off


def list_name(ends: Sequence[str]) -> str:
    """Return the name of settings that list the links which are off, each by one end."""
    return f"off {', '.join(ends)}" if ends else ALL_ON


@dataclass(frozen=True, eq=False)
class History:
    """The traffic between hosts over a day, interval by interval, in order and without gaps.

    start_seconds  float64[T]: since midnight of the first day, local time
    seconds        float64[T]: the duration of each
    rate           float32[T, H, H]: bytes per second from host to host, zero on the diagonal
    known          bool[T]: False without a measurement: only everything on is safe then
    counts         what ports counted, of which `rate` is an estimate; None where it was measured
    """

    start_seconds: NDArray[np.float64]
    seconds: NDArray[np.float64]
    rate: NDArray[np.float32]
    known: NDArray[np.bool_]
    remarks: tuple[str, ...] = ()
    counts: PortCounts | None = None

    def __len__(self) -> int:
        return len(self.seconds)


@dataclass(frozen=True, eq=False)
class Offer:
    """The cost of each of K settings over T intervals of a day, and of changing between them.

    seconds        float64[T]
    joules         float64[K, T], inf if the settings cannot carry the interval's traffic
    change_joules  float64[T, K, K], at the start of each interval, from row to column: links that are on and carry
                   nothing, and time lost; inf if there is no change
    """

    seconds: NDArray[np.float64]
    joules: NDArray[np.float64]
    change_joules: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Schedule:
    """The settings in force in each interval of a day that repeats.

    setting   int64[T], indices of an Offer
    joules    of the day, including changes
    changes   of the day, including one from its last interval to its first
    exact     whether no choice of as many settings out of the Offer is better
    """

    setting: NDArray[np.int64]
    joules: float
    changes: int
    exact: bool

    @property
    def used(self) -> tuple[int, ...]:
        """Return the settings in use, each once, ascending."""
        return tuple(np.unique(self.setting).tolist())


@dataclass(frozen=True, slots=True)
class Rule:
    """The time in cron words at which settings begin to apply.

    `settings` names a file or a timetable's own list of links that are off, or is ALL_ON.
    """

    when: str
    settings: str


@dataclass(frozen=True)
class Timetable:
    """Rules and the settings files they name.

    dwell_seconds   least time between two deliberate changes; a link that must come up does not wait for it
    changes_a_day   the most of them in 24 hours; likewise
    repair          what to do when a part dies: auto, propose or off
    repair_hold_seconds  how long a part must be back before paths return to it
    backup          how often running configurations are stored: daily or off
    protect         the single failures for which every plan installs detours, as --protect has them; "" = as in the
                    build that was applied before
    traps           the address at which switches' notifications are received, if any
    reweave         what to do when other paths suit the traffic that was measured better: auto, propose or off
    reweave_limits  how much better, and how often
    links           the links of settings that list them in the timetable itself, each by one end, by their name
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
    reweave: str = "off"
    reweave_limits: ReweaveLimits = field(default_factory=ReweaveLimits)
    links: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """List the settings that turn something off."""
        return (*self.files, *self.links)


@dataclass(frozen=True, slots=True)
class Watch:
    """The load at which all links come on, and when they may go off again.

    `raise_above` and `lower_below` are shares of a channel's speed; `hold_seconds` is how long the load must have
    stayed below the second before settings apply again. The last two are those of a Timetable.
    """

    raise_above: float = 0.7
    lower_below: float = 0.35
    hold_seconds: float = 600.0
    dwell_seconds: float = 900.0
    changes_a_day: int = 12


@dataclass(frozen=True, slots=True)
class TimetableProgress:
    """The memory of a running timetable; times are seconds since the epoch.

    settings    the names whose links are on together, () if unknown
    raised      whether load brought all links up; `busy_at` when it was last too high to let them go off
    changed_at  when settings or paths last changed; `lowered_at` when links last went off, within a day
    woven       the directory of the build in use, where its paths were planned for measured traffic, else ""
    applied     the journal's run that switches held then, "" if there was none
    woven_at    when paths were changed for measured traffic, within a day
    """

    settings: tuple[str, ...] = ()
    raised: bool = False
    busy_at: float = 0.0
    changed_at: float = 0.0
    lowered_at: tuple[float, ...] = ()
    woven: str = ""
    woven_at: tuple[float, ...] = ()
    applied: str = ""


@dataclass(frozen=True, slots=True)
class DeadStatus:
    """The state of repair: dead parts, pairs cut off, repairs done and failed since the start.

    `away` tells that something is dead, or that paths have not returned yet: link settings wait. `mode` is auto where
    failures are repaired, propose where repairs are only written, "" where nothing is looked for.
    """

    dead_links: int = 0
    dead_switches: int = 0
    pairs_cut: int = 0
    repairs: int = 0
    failures: int = 0
    away: bool = False
    mode: str = ""


@dataclass(frozen=True, slots=True)
class LookStatus:
    """When the fabric was last seen, None if never, and why the looks since then failed, "" if the last one did not."""

    good_at: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class ClockStatus:
    """The state of a running timetable, for observers."""

    at: float
    settings: tuple[str, ...]
    scheduled: str
    raised: bool
    links_off: int
    watts: float | None  # None where a model's are not known
    full_watts: float | None
    busiest_share: float | None
    jobs: int
    next_at: float | None
    changes: int
    failures: int
    dead: DeadStatus = field(default_factory=DeadStatus)
    reweave: ReweaveStatus = field(default_factory=ReweaveStatus)
    look: LookStatus = field(default_factory=LookStatus)
