"""Hold which links are off, slowed or asleep, the trees that hosts send over, and what that saves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Hold the links (indices) to shut down or slow, with what was known when they were chosen.

    Channel loads are bytes on the busiest unidirectional channel, scaled to 1 Gb/s of capacity. `lower_bound_watts` is
    what no choice under the same rules falls below, by the program `bound_source` names. `forest` are the trees, as
    links, that hosts send over where the method chose them, `tree_of_host` which (its port's PVID).
    """

    method: str
    links_off: tuple[int, ...]
    max_channel_load_before: float
    max_channel_load_after: float
    watts_before: float
    watts_after: float
    two_connected: bool
    lower_bound_watts: float = 0.0
    bound_source: str = ""
    links_slowed: tuple[tuple[int, int], ...] = ()  # (link, Mb/s)
    links_asleep: tuple[int, ...] = ()  # EEE on, at both ends
    hosts_asleep: tuple[int, ...] = ()  # EEE on the host's port and at the host
    forest: tuple[tuple[int, ...], ...] = ()
    tree_of_host: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def saving_percent(self) -> float:
        """Give the saved share of the whole switches' power, in percent."""
        return 100.0 * (self.watts_before - self.watts_after) / self.watts_before if self.watts_before else 0.0
