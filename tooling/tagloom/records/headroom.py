"""How sure the load of the busiest channel under link settings is."""

from __future__ import annotations

from dataclasses import dataclass

MEASURED, GUARANTEED, ESTIMATED, UNKNOWN = "measured", "guaranteed", "estimated", "unknown"
ORDER = (MEASURED, GUARANTEED, ESTIMATED, UNKNOWN)  # ever less sure


@dataclass(frozen=True, slots=True)
class Headroom:
    """What is known of the busiest channel's load.

    kind     MEASURED: who sent to whom was measured. Else counters were: GUARANTEED where the load is within its limit
             whatever traffic fits them, ESTIMATED where some traffic that fits them exceeds it, UNKNOWN where they
             bound nothing
    bound    the most load that traffic which fits the counters can make, in the load's unit; None if it is measured or
             unknown
    missing  what the counters lack, if it is unknown
    notes    what the bound rests on, and what makes it higher than it could be
    """

    kind: str = MEASURED
    bound: float | None = None
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
