"""Measurements: ping-pong points, power samples, a link's sleep policy, file transfers, and rows to store."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import sqrt
from typing import Any, Protocol

NETPIPE_MBPS = float(1 << 20)  # NetPIPE 3.7's "Mbps": 2^20 bits per second
SLEPT, AWAKE = "sleeps", "never sleeps"


class Meter(Protocol):
    """A source of watts, one sample at a time.

    If `paces_itself`, `read` blocks until the next record; other meters are read every `interval_seconds`. `sees` says
    what its watts include. `read` raises DeviceError if the meter is gone.
    """

    name: str
    sees: str
    paces_itself: bool
    interval_seconds: float

    def read(self) -> Sample:
        """Return the next sample."""

    def close(self) -> None:
        """Close the meter."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A power reading and its arrival time, in seconds of CLOCK_MONOTONIC."""

    at_seconds: float
    watts: float


@dataclass(frozen=True, slots=True)
class PowerTrace:
    """A meter's samples in order of arrival; `lag_seconds` is their delay, None if unknown."""

    meter: str
    sees: str
    samples: tuple[Sample, ...]
    lag_seconds: float | None = None
    lag_sigma_seconds: float | None = None
    complete: bool = True
    why: str = ""


@dataclass(frozen=True, slots=True)
class Energy:
    """The energy of one message size: mean power, bits per joule, joules per bit, each with its standard deviation.

    `bits_per_joule_least` and `bits_per_joule_most` are the extremes (b -+ sigma_b) / (p +- sigma_p); the most is None
    if the power's standard deviation is not below its mean.
    """

    watts: float
    watts_sigma: float
    bits_per_joule: float
    bits_per_joule_sigma: float
    joules_per_bit: float
    joules_per_bit_sigma: float
    samples: int
    bits_per_joule_least: float
    bits_per_joule_most: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """One message size: one-way seconds (half the round trip) of every trial, and of single messages.

    `percentiles_seconds` are of single one-way times, measured in a separate pass, by percent. `content` tells whether
    the bytes arrived unchanged, None if unchecked. `began_seconds` and `ended_seconds` are on CLOCK_MONOTONIC, around
    all trials. `lost` counts datagram trials that had to be repeated.
    """

    bytes: int
    repeats: int
    trials_seconds: tuple[float, ...]
    percentiles_seconds: dict[str, float] = field(default_factory=dict)
    content: bool | None = None
    began_seconds: float = 0.0
    ended_seconds: float = 0.0
    lost: int = 0
    energy: Energy | None = None

    @property
    def seconds(self) -> float:
        """Return the shortest one-way time of all trials, as NetPIPE does."""
        return min(self.trials_seconds)

    @property
    def bits_per_second(self) -> float:
        """Return the bandwidth of the best trial in bits per second."""
        return 8.0 * self.bytes / self.seconds

    @property
    def mean_seconds(self) -> float:
        """Return the mean one-way time of all trials."""
        return sum(self.trials_seconds) / len(self.trials_seconds)

    @property
    def sigma_seconds(self) -> float:
        """Return the standard deviation of the trials, 0 if there is only one."""
        n, mean = len(self.trials_seconds), self.mean_seconds
        return (sum((t - mean) ** 2 for t in self.trials_seconds) / (n - 1)) ** 0.5 if n > 1 else 0.0

    @property
    def mean_sigma_seconds(self) -> float:
        """Return the standard deviation of the mean of the trials: that of the trials over the root of their number."""
        return self.sigma_seconds / sqrt(len(self.trials_seconds))

    def to_json(self) -> dict[str, Any]:
        """Return the point with the keys of the command line."""
        return {
            "bytes": self.bytes,
            "bits_per_second": self.bits_per_second,
            "seconds": self.seconds,
            "netpipe_mbps": self.bits_per_second / NETPIPE_MBPS,
            "mean_seconds": self.mean_seconds,
            "sigma_seconds": self.sigma_seconds,
            "mean_sigma_seconds": self.mean_sigma_seconds,
            "spread_seconds": max(self.trials_seconds) - self.seconds,
            "trials_seconds": list(self.trials_seconds),
            "repeats": self.repeats,
            "percentiles_seconds": self.percentiles_seconds,
            "content": self.content,
            "lost_trials": self.lost,
            "began_seconds": self.began_seconds,
            "ended_seconds": self.ended_seconds,
            "energy": asdict(self.energy) if self.energy is not None else None,
        }


@dataclass(frozen=True, slots=True)
class PeerClock:
    """The peer's wall clock minus ours, and the uncertainty (half the round trip)."""

    offset_seconds: float
    uncertainty_seconds: float


@dataclass(frozen=True, slots=True)
class PingPong:
    """A run: its points in the order they were measured, whether it was complete, and if not, why.

    `timer_seconds` is what reading the clock costs, twice in every trial; None if unknown.
    """

    protocol: str
    peer: str
    points: tuple[Point, ...]
    began_wall_seconds: float
    clock: PeerClock | None = None
    complete: bool = True
    why: str = ""
    timer_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @property
    def sigma(self) -> float:
        """Return the standard deviation of the normal distribution with this interval."""
        return (self.high - self.low) / 3.92


@dataclass(frozen=True, slots=True)
class SleepPolicy:
    """A link's sleep policy as probed: time-out H, overshoot Ts + Tw, Ts, Tw and the awake round trip, in seconds.

    `verdict` is "sleeps" or "never sleeps" (within the gaps that were tried); then the times are None.
    """

    verdict: str
    awake: Interval
    timeout: Interval | None = None
    overshoot: Interval | None = None
    sleep: Interval | None = None
    wake: Interval | None = None


@dataclass(frozen=True, slots=True)
class GapPoint:
    """The round trips after idle gaps of nearly one length, both in seconds and in the order measured."""

    gap_seconds: tuple[float, ...]
    round_trip_seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Transfer:
    """One file transfer while the link was blocked for `blocked_seconds` once a second."""

    protocol: str
    blocked_seconds: float
    bytes: int
    seconds: float
    disruptions: int
    sent_packets: int = 0
    received_packets: int | None = None

    @property
    def lost_percent(self) -> float | None:
        """Return the percentage of packets lost, None if they were not counted."""
        if self.received_packets is None or not self.sent_packets:
            return None
        return 100.0 * max(0.0, 1.0 - self.received_packets / self.sent_packets)


@dataclass(frozen=True, slots=True)
class StoredMeasurement:
    """One row of a file of measurements: SI units, one number, its standard deviation or None."""

    kind: str
    fabric: str
    parameters: dict[str, Any]
    quantity: str
    value: float
    unit: str
    uncertainty: float | None = None
