"""The sleep policy of a port."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Eee:
    """A port's sleep policy in seconds: idle time before it sleeps, time to fall asleep, time to wake.

    `together`: it sleeps only when both directions are idle, and wakes both. `lpi_power` is power in LPI over awake.
    `least` and `most` are the ends of the 95 % intervals of the three times, in their order, where they were measured.
    """

    timeout_seconds: float
    sleep_seconds: float
    wake_seconds: float
    source: str = "given"
    together: bool = False
    lpi_power: float = 0.1
    least: tuple[float, float, float] | None = None
    most: tuple[float, float, float] | None = None

    def corners(self) -> tuple[Eee, ...]:
        """Return the policies that wait least and most, and sleep most and least, within the intervals; () without."""
        if self.least is None or self.most is None:
            return ()
        (h, ts, tw), (late, long, slow) = self.least, self.most
        times = (late, ts, tw), (h, long, slow), (h, ts, tw), (late, long, slow)
        return tuple(Eee(*each, self.source, self.together, self.lpi_power) for each in times)
