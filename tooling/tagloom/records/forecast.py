"""The forecast cost in time and saving in watts of a configuration, with the source of every figure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_TRAFFIC = "no traffic given"  # the source of a figure that is absent for want of traffic


@dataclass(frozen=True, slots=True)
class Figure:
    """One predicted number with its unit and the model, equation or table it comes from.

    `low` and `high` bound it if the model leaves something open (`source` says what); else they are None.
    """

    value: float
    unit: str
    source: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class PortVerdict:
    """The effect of sleep on one host's link, and the recommendation.

    verdict          "on", "off", or "lengthen" (the time-out, to `timeout_seconds`)
    slowdown         added seconds over the run's seconds, at the requested time-out
    lpi_share        time share in LPI at the requested time-out
    """

    host: str
    verdict: str
    reason: str
    timeout_seconds: float
    slowdown: float
    lpi_share: float


@dataclass(frozen=True, eq=False)
class Performance:
    """The fabric's own effect on traffic, with all links on (before) and as forecast (after).

    communication_before, communication_after  seconds to move the whole traffic, begun at once, max-min fair
    bandwidth_before, bandwidth_after          one ideal switch's time for it over that time; 1 = as good
    latency_before, latency_after              delay by switches per message, mean over all messages, in seconds
    busy                                       float64[2H + C], share of the communication time that each channel sends:
                                               the hosts' links, sending, then receiving, then the fabric's
    pairs, rerouted_pairs                      ordered host pairs that send, and those of them whose path differs
    """

    communication_before: Figure
    communication_after: Figure
    bandwidth_before: Figure
    bandwidth_after: Figure
    latency_before: Figure
    latency_after: Figure
    busy: NDArray[np.float64]
    pairs: int = 0
    rerouted_pairs: int = 0


@dataclass(frozen=True, slots=True)
class SwitchPower:
    """One switch's power in watts and that of its ports in use, by name, as (before, after)."""

    switch: str
    watts_before: float
    watts_after: float
    ports: dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Energy:
    """The energy to solution of one run, including transitions to the forecast state, and its cost.

    `joules_*` count the switches, and the hosts if their watts are given. Costs are in the currency of the price per
    kWh, `co2_kg_*` in kilograms; both are None if no rate was given.
    """

    joules_before: Figure
    joules_after: Figure
    transition_joules: Figure
    pays_after_seconds: Figure | None  # how long the links must stay so to recover the transitions
    kwh_saved_per_year: Figure  # if the switches stay so, whatever runs
    cost_before: Figure | None = None
    cost_after: Figure | None = None
    co2_kg_before: Figure | None = None
    co2_kg_after: Figure | None = None
    break_even_host_watts: Figure | None = None  # per host: above it, the slow-down of a run costs more than is saved
    switches: tuple[SwitchPower, ...] = ()


@dataclass(frozen=True, eq=False)
class Interruption:
    """What a rollout interrupts, by ordered host pair: seconds and bytes lost, float64[H, H].

    `lost_bytes` is None if the pairs' send rates are unknown. `waves` are the (name, why, seconds) that interrupt.
    """

    seconds: NDArray[np.float64]
    lost_bytes: NDArray[np.float64] | None
    waves: tuple[tuple[str, str, float], ...]
    source: str


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay of a run's messages over the links as forecast: the time added by sleep, and by paths and speeds.

    seconds   of the replay before, with every link on and awake
    sleep_seconds, network_seconds   seconds added by sleep, and by other paths and speeds
    orders    1 if the order of the messages was known, else how many were replayed; then the seconds are medians
    least_seconds, most_seconds   nine in ten orders, or replays of a known order, add from the one to the other in all
    networks  the same of the run of each of several networks, while all of them ran; seconds 0 if it sends nothing
    partners_drawn   whether each order drew who sends to whom, since nobody knows (`Traffic.spread`)
    asleep    for each order, the share of the run that each host's link is in LPI
    """

    messages: int
    steps: int
    seconds: float
    sleep_seconds: float
    network_seconds: float
    orders: int = 1
    least_seconds: float = 0.0
    most_seconds: float = 0.0
    partners_drawn: bool = False
    networks: tuple[Replay, ...] = ()
    asleep: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class RateSwitch:
    """The loss on links whose speed is switched under traffic, over both directions of all links.

    links            how many change speed; outage_seconds: the longest outage of one
    lost_packets     of 1500 bytes
    pause_seconds    how long one PAUSE frame could stop a gigabit sender instead
    """

    links: int
    outage_seconds: float
    lost_bytes: float
    lost_packets: int
    pause_seconds: float


@dataclass(frozen=True, slots=True)
class NetworkForecast:
    """One of several networks under the traffic of all of them, with all links on (before) and as forecast (after).

    volume_bytes             what its hosts send each other
    max_channel_load_*       its own bytes on the channel that carries most of them, scaled to 1 Gb/s
    shared_channels          channels between switches that carry its traffic and that of others, after
    communication_seconds_*  until its last byte is moved, all networks' traffic begun at once; None if not followed
    latency_seconds_*        delay by switches per message, mean over its messages
    seconds_base             how long its run takes with all links on and awake; None if it sends nothing
    seconds_predicted        how long as forecast, beside all others, and its interval
    """

    name: str
    hosts: int
    pairs: int
    volume_bytes: float
    max_channel_load_before: float
    max_channel_load_after: float
    shared_channels: int
    communication_seconds_before: float | None
    communication_seconds_after: float | None
    latency_seconds_before: float
    latency_seconds_after: float
    seconds_base: float | None = None
    seconds_predicted: float | None = None
    seconds_predicted_low: float | None = None
    seconds_predicted_high: float | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """The dry run of one configuration; seconds are those of one run of the application.

    `causes` breaks down the slow-down, the loss and the saving into (part, amount), the largest first. `assumed` lists
    in sentences what was not measured. `networks` are those of the hosts, if there are several and traffic is given.
    Watts and energy are None where `power_unknown` has models.
    """

    watts_before: Figure | None
    watts_after: Figure | None
    seconds_base: Figure
    seconds_predicted: Figure
    idle_seconds: Figure  # the mean gap between two messages of a host, Miwa et al. 2013, eq. 4
    overhead_seconds: Figure  # per message, eq. 3
    toggle_seconds: Figure
    lost_bytes: Figure
    eee_saved_watts: Figure | None  # of the switches' host ports, not yet subtracted from watts_after
    ports: tuple[PortVerdict, ...] = ()
    saved_watts: Figure | None = None
    power_unknown: tuple[str, ...] = ()  # models whose watts nobody knows
    computation_seconds: Figure | None = None  # of seconds_base, if a profile has it
    fitted_overhead_seconds: Figure | None = None  # per message, eq. 3 with fitted t, t0, c and alpha
    seconds_by_fit: Figure | None = None  # of the run asleep, eqs. 1 and 2 with that overhead
    performance: Performance | None = None
    energy: Energy | None = None
    interruption: Interruption | None = None
    replay: Replay | None = None
    rate_switch: RateSwitch | None = None
    networks: tuple[NetworkForecast, ...] = ()
    causes: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkForecast:
    """One direction of a sleeping link: power over an awake port's, time share in LPI, mean waiting time."""

    power_relative: float
    lpi_share: float
    mean_delay_seconds: float
    wakes_per_second: float
