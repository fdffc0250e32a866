"""The sleep policy of a port, and the curve of overheads fitted to measurements of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp


@dataclass(frozen=True, slots=True)
class Fit:
    """The fitted c, alpha and t of Miwa et al. 2013, eq. 3, and the root mean square distance of the pairs from it.

    `offset_seconds` is the paper's t0; None if it is t, so that the curve begins at 0 without a jump.
    """

    plateau_seconds: float
    alpha: float
    threshold_seconds: float
    residual_seconds: float
    offset_seconds: float | None = None

    def overhead_seconds(self, gap_seconds: float) -> float:
        """Return a message's mean overhead after a gap, eq. 3: 0 up to t, then c (1 - exp(-alpha (I - t0)))."""
        if gap_seconds <= self.threshold_seconds:
            return 0.0
        begin = self.threshold_seconds if self.offset_seconds is None else self.offset_seconds
        return self.plateau_seconds * (1.0 - exp(-self.alpha * (gap_seconds - begin)))


@dataclass(frozen=True, slots=True)
class Eee:
    """A port's sleep policy in seconds: idle time before it sleeps, time to fall asleep, time to wake.

    `together`: it sleeps only when both directions are idle, and wakes both. `lpi_power` is power in LPI over awake.
    `least` and `most` are the ends of the 95 % intervals of the three times, in their order, where they were measured.
    `fit` is the curve fitted to the same measurements, and `residual_seconds` the distance of the times from these.
    """

    timeout_seconds: float
    sleep_seconds: float
    wake_seconds: float
    source: str = "given"
    together: bool = False
    lpi_power: float = 0.1
    least: tuple[float, float, float] | None = None
    most: tuple[float, float, float] | None = None
    fit: Fit | None = None
    residual_seconds: float | None = None

    def corners(self) -> tuple[Eee, ...]:
        """Return the policies that wait least and most, and sleep most and least, within the intervals; () without."""
        if self.least is None or self.most is None:
            return ()
        (h, ts, tw), (late, long, slow) = self.least, self.most
        times = (late, ts, tw), (h, long, slow), (h, ts, tw), (late, long, slow)
        return tuple(
            replace(self, timeout_seconds=h, sleep_seconds=ts, wake_seconds=tw, least=None, most=None)
            for h, ts, tw in times
        )

    @property
    def by_curve(self) -> bool:
        """Return whether the fitted curve explains the measurements better than the three times do."""
        return self.fit is not None and (
            self.residual_seconds is None or self.fit.residual_seconds < self.residual_seconds
        )
