"""Stored forecasts, later measurements, and the errors between them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

UNITS = {"watts": "W", "seconds": "s", "bytes": "B", "percent": "%", "joules": "J", "bps": "bit/s"}


@dataclass(frozen=True, slots=True)
class Quantity:
    """One forecast number; `low` and `high` are its interval, None if the model gives none."""

    value: float
    low: float | None = None
    high: float | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class KeptForecast:
    """A stored forecast: its number in the file, its time, fabric and build, its quantities."""

    number: int
    at: float
    fabric: str
    build: str
    quantities: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True, order=True)
class Measured:
    """One measured number: `at` in seconds since the epoch, None if unknown; `origin` says who measured it."""

    quantity: str
    value: float
    origin: str
    at: float | None = None
    fabric: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """A forecast beside its measured value: the error in percent of the measured value, None if that is 0.

    `inside` tells whether the measured value lies in the forecast's interval, None if there is none. `good` is
    `inside`, or, without an interval, whether the error is within the requested tolerance.

    width            of the interval, None if an end is open or there is none
    interval_score   Winkler's, for intervals that hold nine in ten: the width, and twenty times what the measured value
                     is outside; without an interval that of the number alone, None if an end is open
    unchanged_score  the same of the forecast that nothing changes, None if the quantity has no value before
    """

    quantity: str
    unit: str
    forecast_number: int
    forecast: float
    measured: float
    at: float | None
    origin: str
    error_percent: float | None
    low: float | None
    high: float | None
    inside: bool | None
    good: bool
    width: float | None = None
    interval_score: float | None = None
    unchanged_score: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the score with the keys of the command line."""
        return asdict(self)


def unit_of(quantity: str) -> str:
    """Return the unit that a quantity's name implies, "" if none.

    >>> unit_of("watts_after"), unit_of("out_bps/s0/3")
    ('W', 'bit/s')
    """
    parts = quantity.split("/", maxsplit=1)[0].split("_")
    return next((UNITS[part] for part in parts if part in UNITS), "")
