"""The contents of a build's report."""

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

ON, OFF, SLOW, SLEEPING = "on", "off", "slow", "eee"  # the states of a link


@dataclass(frozen=True, slots=True)
class GapPoint:
    """The mean wait of a message after an idle gap, and the mean share of such gaps asleep."""

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
    """The switches' power from a time on, in seconds since the first midnight, local time."""

    at_seconds: float
    settings: str
    watts: float
    links_off: int


@dataclass(frozen=True, slots=True, eq=False)
class NetworkLoad:
    """One of several networks: its ordered host pairs, the VLANs that its hosts' ports are in, what it loads.

    load  float64[C], of its own pairs alone, in the unit of the report's
    """

    name: str
    hosts: int
    pairs: int
    vlans: tuple[int, ...]
    load: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Live:
    """What a page says of the moment it is served: its version, which changes with its contents, and lines on top."""

    version: str
    lines: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Report:
    """A whole report.

    reason     why the paths are what they are; average_hops: switches on a path
    load       float64[C], the load of each channel in `load_unit`, scaled to 1 Gb/s of capacity
    share      float64[C], the share of its capacity, None if the traffic's duration is unknown
    states     the state of each link, by index; host_states: that of each host's port, ON or SLEEPING
    trees      the links that carry each VLAN, by its id
    waves      a rollout's waves, as in rollout.json
    day        power over the days in `days`, which then repeat; () without a timetable
    per_kwh    what a kWh costs and emits: (amount, unit), as far as given
    left_out   what is not shown, and the option that would show it
    networks   those of the hosts, if there are several; their loads add up to `load`
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
    per_kwh: tuple[tuple[float, str], ...] = ()
    left_out: tuple[str, ...] = ()
    networks: tuple[NetworkLoad, ...] = ()
