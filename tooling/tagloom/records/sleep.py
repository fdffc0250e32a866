"""The sleep policy of a port."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Eee:
    """A port's sleep policy in seconds: idle time before it sleeps, time to fall asleep, time to wake.

    `together`: it sleeps only when both directions are idle, and wakes both. `lpi_power` is power in LPI over awake.
    """

    timeout_seconds: float
    sleep_seconds: float
    wake_seconds: float
    source: str = "given"
    together: bool = False
    lpi_power: float = 0.1
