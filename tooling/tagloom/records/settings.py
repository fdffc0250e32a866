"""Hold which links are off, and what that saves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Hold the links (indices) to shut down, with what was known when they were chosen.

    Channel loads are bytes on the busiest unidirectional channel, scaled to 1 Gb/s of capacity.
    """

    method: str
    links_off: tuple[int, ...]
    max_channel_load_before: float
    max_channel_load_after: float
    watts_before: float
    watts_after: float
    two_connected: bool

    @property
    def saving_percent(self) -> float:
        """Give the saved share of the whole switches' power, in percent."""
        return 100.0 * (self.watts_before - self.watts_after) / self.watts_before if self.watts_before else 0.0
