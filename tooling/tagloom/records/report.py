"""What a report shows of a build, gathered from whoever knows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.forecast import Forecast
    from tagloom.records.sleep import Eee

ON, OFF, SLOW, SLEEPING = "on", "off", "slow", "eee"  # how a link stands


@dataclass(frozen=True, slots=True)
class GapPoint:
    """What a message waits after an idle gap, and the share of the gap asleep, both means over gaps like it."""

    gap_seconds: float
    periodic_wait_seconds: float
    random_wait_seconds: float
    asleep_share: float


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """A sleeping link under Poisson frames: power over an awake port's, mean waiting time."""

    load: float
    power_relative: float
    mean_delay_seconds: float


@dataclass(frozen=True, slots=True)
class PowerStep:
    """What the switches draw from a time on, in seconds since the first midnight by the clock on the wall."""

    at_seconds: float
    settings: str
    watts: float
    links_off: int


@dataclass(frozen=True, eq=False)
class Report:
    """A whole report.

    reason     why the paths are what they are; average_hops: switches on a path
    load       float64[C], what each channel carries, in `load_unit`, scaled to 1 Gb/s of capacity
    share      float64[C], the share of its capacity, None if nobody said how long the traffic took
    states     how each link stands, by link; host_states: how each host's port stands, ON or SLEEPING
    trees      the links that carry each VLAN, by its id
    waves      a rollout's waves, as rollout.json has them
    day        power over the days named in `days`, after which it begins anew; () if no timetable was given
    left_out   what is not shown, and what would show it
    """

    fabric: Fabric
    reason: str
    average_hops: float
    vlans: int
    assignment: str
    proof: Findings
    forecast: Forecast
    eee: Eee
    load: NDArray[np.float64]
    load_unit: str
    share: NDArray[np.float64] | None
    states: tuple[str, ...]
    host_states: tuple[str, ...]
    link_names: tuple[tuple[str, str], ...]
    trees: dict[int, tuple[int, ...]]
    gaps: tuple[GapPoint, ...]
    loads: tuple[LoadPoint, ...]
    rollout: dict[str, Any] = field(default_factory=dict)
    waves: tuple[dict[str, Any], ...] = ()
    days: tuple[str, ...] = ()
    day: tuple[PowerStep, ...] = ()
    left_out: tuple[str, ...] = ()
