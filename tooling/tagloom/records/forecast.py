"""What a configuration will cost in time and save in watts, with the source of every figure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Figure:
    """One predicted number with its unit and the model, equation or table it comes from.

    `low` and `high` bound it where the model leaves something open (the source says what); else they are None.
    """

    value: float
    unit: str
    source: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class PortVerdict:
    """What sleep does to one host's link, and what to do about it.

    verdict          "on", "off", or "lengthen" (the time-out, to `timeout_seconds`)
    slowdown         added seconds over the run's seconds, at the asked time-out
    lpi_share        time share in LPI at the asked time-out
    """

    host: str
    verdict: str
    reason: str
    timeout_seconds: float
    slowdown: float
    lpi_share: float


@dataclass(frozen=True, eq=False)
class Performance:
    """What the fabric itself does to traffic, all links on (before) and as forecast (after).

    communication_before, communication_after  until the whole traffic, begun at once, has been moved, max-min fair
    bandwidth_before, bandwidth_after          one ideal switch's time for the same over that time: 1 is as good
    latency_before, latency_after              what switches add to a message, mean over all messages, in seconds
    busy                                       float64[2H + C], share of the communication time that each channel sends:
                                               first the hosts' links, sending, then receiving, then the fabric's
    """

    communication_before: Figure
    communication_after: Figure
    bandwidth_before: Figure
    bandwidth_after: Figure
    latency_before: Figure
    latency_after: Figure
    busy: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SwitchPower:
    """One switch's watts, and those of its ports in use, by their names: before and after."""

    switch: str
    watts_before: float
    watts_after: float
    ports: dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Energy:
    """The energy to solution of one run, the transitions into the forecast state charged, and what it costs.

    `joules_*` are those of the switches and of the hosts, where their watts are given. Costs are in the currency of the
    price per kWh, `co2_kg_*` in kilograms; both are None where no rate was given.
    """

    joules_before: Figure
    joules_after: Figure
    transition_joules: Figure
    pays_after_seconds: Figure | None  # how long the links must stay so to earn their transitions
    kwh_saved_per_year: Figure  # if the switches stay so, whatever runs
    cost_before: Figure | None = None
    cost_after: Figure | None = None
    co2_kg_before: Figure | None = None
    co2_kg_after: Figure | None = None
    break_even_host_watts: Figure | None = None  # per host: above it, the slow-down of a run costs what is saved
    switches: tuple[SwitchPower, ...] = ()


@dataclass(frozen=True, eq=False)
class Interruption:
    """What a rollout interrupts, by ordered host pair: seconds and bytes lost, float64[H, H].

    `lost_bytes` is None where nobody said how fast pairs send. `waves` are the (name, why, seconds) that interrupt.
    """

    seconds: NDArray[np.float64]
    lost_bytes: NDArray[np.float64] | None
    waves: tuple[tuple[str, str, float], ...]
    source: str


@dataclass(frozen=True, slots=True)
class Replay:
    """The messages of a run, replayed over the links as forecast: what sleep adds, and what the paths and speeds do.

    seconds   of the replay before, with every link on and awake
    sleep_seconds, network_seconds   what the replay takes longer by sleep, and by other paths and speeds
    """

    messages: int
    steps: int
    seconds: float
    sleep_seconds: float
    network_seconds: float


@dataclass(frozen=True, slots=True)
class RateSwitch:
    """What links lose whose speed is switched while they carry the traffic, both directions and all links together.

    links            how many change speed; outage_seconds: how long the slowest of them is away
    lost_packets     of 1500 bytes
    pause_seconds    how long one PAUSE frame could hold a gigabit sender instead
    """

    links: int
    outage_seconds: float
    lost_bytes: float
    lost_packets: int
    pause_seconds: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """The dry run of one configuration; seconds are those of one run of the application.

    `causes` says what the slow-down, the loss and the saving are made of, each part with its amount, the largest first;
    `assumed` is what nobody measured, in sentences.
    """

    watts_before: Figure
    watts_after: Figure
    seconds_base: Figure
    seconds_predicted: Figure
    idle_seconds: Figure  # the mean gap between two messages of a host, Miwa et al. 2013, eq. 4
    overhead_seconds: Figure  # per message, eq. 3
    toggle_seconds: Figure
    lost_bytes: Figure
    eee_saved_watts: Figure  # of the switches' host ports, not yet taken off watts_after
    ports: tuple[PortVerdict, ...] = ()
    saved_watts: Figure | None = None
    computation_seconds: Figure | None = None  # of seconds_base, where a profile says
    performance: Performance | None = None
    energy: Energy | None = None
    interruption: Interruption | None = None
    replay: Replay | None = None
    rate_switch: RateSwitch | None = None
    causes: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkForecast:
    """One direction of a link that sleeps: power over an awake port's, time share in LPI, mean waiting time."""

    power_relative: float
    lpi_share: float
    mean_delay_seconds: float
    wakes_per_second: float
