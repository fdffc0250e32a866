"""Links that are off, slowed or asleep, the trees that hosts send over, and the saving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from tagloom.records.headroom import Headroom

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric

MEASURED_LOAD = Headroom()
STEPS_MBPS = (10, 100, 1000, 2500, 5000, 10_000, 25_000, 40_000, 100_000)


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """What link settings mean for one of several networks: its own bytes and paths, before and after.

    Channel loads are its bytes on the channel that carries most of them, scaled to 1 Gb/s of capacity; hops are
    switches on a path between two of its hosts, on average with a host and itself among them. None if not computed.
    """

    name: str
    max_channel_load_before: float
    max_channel_load_after: float | None
    average_hops_before: float
    average_hops_after: float | None
    max_hops_before: int
    max_hops_after: int | None


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """The links (indices) to shut down or slow, with the figures behind the choice.

    Channel loads are bytes on the busiest unidirectional channel, scaled to 1 Gb/s of capacity. `lower_bound_watts`
    bounds every choice under the same rules, by the program `bound_source`, over every routing if `bound_holds_for` is
    "any", else over that assignment. `forest` are the trees, as links, that
    hosts send over if the method chose them, and `tree_of_host` is each host's tree (its port's PVID). `average_hops`
    are switches on a path over all ordered host pairs, including a host with itself, and `max_hops` those of the
    longest path; None if not computed.
    `survive_watts` is the cost of surviving: any one link may die, and waking one other mends it; None if not computed.
    `seconds` is the time in which channels carry their loads, None if unknown, and `headroom` says how sure the load
    afterwards is, its bound in bytes as loads are.
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
    bound_holds_for: str = "any"
    links_slowed: tuple[tuple[int, int], ...] = ()  # (link, Mb/s)
    links_asleep: tuple[int, ...] = ()  # EEE on, at both ends
    hosts_asleep: tuple[int, ...] = ()  # EEE on the host's port and at the host
    forest: tuple[tuple[int, ...], ...] = ()
    tree_of_host: tuple[int, ...] = ()
    average_hops_before: float | None = None
    average_hops_after: float | None = None
    max_hops_before: int | None = None
    max_hops_after: int | None = None
    remarks: tuple[str, ...] = ()
    survive_watts: float | None = None
    networks: tuple[NetworkSettings, ...] = ()  # of the hosts, if there are several
    power_unknown: tuple[str, ...] = ()  # models whose watts nobody knows: others' stood in, and no sum is shown
    seconds: float | None = None
    headroom: Headroom = MEASURED_LOAD

    @property
    def saving_percent(self) -> float:
        """Return the saved share of the switches' total power, in percent."""
        return 100.0 * (self.watts_before - self.watts_after) / self.watts_before if self.watts_before else 0.0


def speeds_mbps(fabric: Fabric) -> list[int]:
    """Return every link's speed in Mb/s, 0 if it is off."""
    return [(link.speed_mbps or DEFAULT_SPEED_MBPS) if link.up else 0 for link in fabric.links]


def lost_speed_steps(whole: Fabric, fabric: Fabric) -> frozenset[tuple[int, int]]:
    """Return the speed steps, (link, Mb/s), that links have in the whole fabric and lack in another of its cabling.

    A link that is off lacks all its steps, one at 100 Mb/s those above. Several settings together lack the steps that
    all of them lack. A link that gains a step comes up or gets faster.
    """
    pairs = enumerate(zip(speeds_mbps(whole), speeds_mbps(fabric), strict=True))
    return frozenset((i, step) for i, (full, now) in pairs for step in STEPS_MBPS if now < step <= full)
