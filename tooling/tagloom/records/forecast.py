"""Hold what a configuration will cost in time and save in watts, with the source of every figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """Hold one predicted number with its unit and the model, equation or table it comes from."""

    value: float
    unit: str
    source: str


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
