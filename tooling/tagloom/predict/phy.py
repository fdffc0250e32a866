"""Sleep and wake times of each PHY, from phys.yml beside this file."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from tagloom.errors import Finding, InputError, one_of
from tagloom.platforms.power import LPI_POWER
from tagloom.platforms.sources import Source, parse_sources

TABLES = "IEEE 802.3-2022 tables 78-2 and 78-4"


@dataclass(frozen=True, slots=True)
class Phy:
    """A PHY's rate and its sleep; None if the standard's number is not known, 0 if there is no such time.

    `together`: it goes quiet only when both directions are idle. `lpi_power` is power in LPI over power awake.
    `timeout_seconds` is the idle time before a device's firmware requests sleep; the standard leaves it open (None).
    `sources` says what each number is and where it is from, by the names in phys.yml.
    """

    name: str
    rate_bps: float
    wake_seconds: float
    sleep_seconds: float | None
    quiet_seconds: float = 0.0
    refresh_seconds: float = 0.0
    together: bool = False
    lpi_power: float = LPI_POWER
    timeout_seconds: float | None = None
    source: str = TABLES
    sources: dict[str, Source] = field(default_factory=dict)


@cache
def phys() -> dict[str, Phy]:
    """Return all PHYs and measured devices by name."""
    payload: dict[str, Any] = yaml.load(
        (files("tagloom.predict") / "phys.yml").read_text("utf-8"), Loader=yaml.CSafeLoader
    )
    rows = {name: (row, TABLES, row.get("sources", {})) for name, row in payload["phys"].items()}
    for name, row in payload["devices"].items():
        phy = payload["phys"][row["phy"]]
        own = {**phy.get("sources", {}), **row["sources"]}
        rows[name] = ({**phy, **row}, row["source"], own)
    return {name: _phy(name, row, source, {**payload["sources"], **own}) for name, (row, source, own) in rows.items()}


def load_phy(name: str) -> Phy:
    """Return a PHY by its name, ignoring case. Raises InputError if there is none."""
    for known, phy in phys().items():
        if known.lower() == name.strip().lower():
            return phy
    raise InputError([Finding("--phy", one_of(phys(), name), repr(name))])


def _phy(name: str, row: dict[str, Any], source: str, said: dict[str, str]) -> Phy:
    numbers = {key for key, value in row.items() if isinstance(value, int | float)} | {"lpi_power"}

    def seconds(key: str) -> float | None:
        return float(row[key]) / 1e6 if key in row else None

    return Phy(
        name,
        float(row["rate_bps"]),
        float(row["wake"]) / 1e6,
        seconds("sleep"),
        seconds("quiet") or 0.0,
        seconds("refresh") or 0.0,
        bool(row.get("together", False)),
        float(row.get("lpi_power", LPI_POWER)),
        seconds("timeout"),
        source,
        parse_sources({key: line for key, line in said.items() if key in numbers}, numbers, name),
    )
