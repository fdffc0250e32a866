"""When paths are woven anew for the traffic that ports counted: limits, forecast, memory and state."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReweaveLimits:
    """What must be true before a running fabric is given other paths.

    interval_seconds  the time over which counters make one matrix
    intervals         how many matrices in a row have to gain; paths are planned for their sum
    gain              the least share by which the busiest channel's load must fall in each of them, above 0 to 1
    changes_a_day     the most changes of paths in 24 hours
    """

    interval_seconds: float = 900.0
    intervals: int = 2
    gain: float = 0.2
    changes_a_day: int = 6


@dataclass(frozen=True, slots=True)
class ReweaveForecast:
    """What other paths would change, for each of the matrices that were measured last, and what the change costs.

    before, after    the busiest channel's load under each matrix, as a share of its speed, with the paths that are in
                     use and with the others; of no paths in particular, `after` is a lower bound for all
    rollout_seconds  how long the proven waves take; `waves` how many, `lines` sent in all
    """

    before: tuple[float, ...]
    after: tuple[float, ...]
    rollout_seconds: float = 0.0
    waves: int = 0
    lines: int = 0

    @property
    def gains(self) -> tuple[float, ...]:
        """Return by which share of itself the busiest channel's load falls under each matrix, below 0 if it rises."""
        both = zip(self.before, self.after, strict=True)
        return tuple(1.0 - after / before if before > 0 else 0.0 for before, after in both)


@dataclass(frozen=True, slots=True)
class ReweaveStatus:
    """The state of weaving anew, for observers.

    mode      off, propose or auto
    woven     whether the paths in use were planned for measured traffic
    gain      the least of the last forecast's gains, None without one
    changes, failures  since the start
    why       the last decision's reason
    """

    mode: str = "off"
    woven: bool = False
    gain: float | None = None
    changes: int = 0
    failures: int = 0
    why: str = ""
