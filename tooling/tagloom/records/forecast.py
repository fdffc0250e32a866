"""Hold what a configuration will cost in time and save in watts, with the source of every figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """Hold one predicted number with its unit and the model, equation or table it comes from.

    `low` and `high` bound it where the model leaves something open (the source says what); else they are None.
    """

    value: float
    unit: str
    source: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class PortVerdict:
    """Hold what sleep does to one host's link, and what to do about it.

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


@dataclass(frozen=True, slots=True)
class Forecast:
    """Hold the dry run of one configuration; seconds are those of one run of the application."""

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


@dataclass(frozen=True, slots=True)
class LinkForecast:
    """Hold one direction of a link that sleeps: power over an awake port's, time share in LPI, mean waiting time."""

    power_relative: float
    lpi_share: float
    mean_delay_seconds: float
    wakes_per_second: float
