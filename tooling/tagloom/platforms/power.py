"""Add up what the switches of a fabric draw: the chassis, and every port in use by its speed."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from math import exp, expm1, fsum
from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.platforms import PortWatts
from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from tagloom.storage.document import read_yaml, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tagloom.records.fabric import Fabric

STAND_IN = "powerconnect-5324"  # whose ports stand in for those of models whose watts are not known
LPI_POWER = 0.1  # of a port's watts while it sleeps, as the Vigo group's simulators take it; Miwa et al. quote 0.3
LATENCY_SECONDS = 2.75e-6  # of a PowerConnect 5324, U-(T)-U of Koibuchi et al. 2011, table 4
ABSURD_WATTS = 100_000.0  # more of a switch or a port is taken for another unit
KEYS = {"base", "per_port", "transceiver", "source", "datasheet"}


def fabric_watts(fabric: Fabric, power: Mapping[str, PortWatts] | None = None) -> float:
    """Return the watts of all switches: base + sum over ports in use (Koibuchi et al. 2011, table 2).

    A port is in use where a host is plugged in or a link is wanted up; a link that is off saves at both ends, but not
    its transceivers. The paper measured no difference between an idle and a busy port. `power` holds tables that go
    before the models' own. Raises InputError for models of unknown power.
    """
    if unknown := power_unknown(fabric, power):
        expected = "a model whose watts are known, or a table of it (--power)"
        raise InputError([Finding(f"model {m}", expected, "no figure") for m in unknown])
    return fsum(watts for base, ports in switch_watts(fabric, power) for watts in (base, *ports.values()))


def power_unknown(fabric: Fabric, power: Mapping[str, PortWatts] | None = None) -> tuple[str, ...]:
    """Return the models of a fabric whose watts nobody knows: with one of them, no sum of watts is known."""
    return tuple(sorted({s.model for s in fabric.switches if _table(s.model, power) is None}))


def stand_in_power(fabric: Fabric, power: Mapping[str, PortWatts] | None = None) -> Mapping[str, PortWatts] | None:
    """Return tables to compare links by where a model's watts are not known: its ports count as `STAND_IN`'s do."""
    unknown = power_unknown(fabric, power)
    like = platforms.load(STAND_IN).watts
    if not unknown or like is None:
        return power
    return {**(power or {}), **dict.fromkeys(unknown, PortWatts(0.0, like.per_port, like.source))}


def stand_in_remarks(models: Sequence[str]) -> tuple[str, ...]:
    """Return what is to be said where links were compared by `stand_in_power` of these models."""
    said = f"links are chosen as if a port of {', '.join(models)} drew what a {platforms.load(STAND_IN).title}'s does"
    return (said,) if models else ()


def switch_watts(fabric: Fabric, power: Mapping[str, PortWatts] | None = None) -> list[tuple[float, dict[int, float]]]:
    """Return every switch's watts: the chassis with its transceivers, and every port in use by its number."""
    tables = [_table(switch.model, power) for switch in fabric.switches]
    base = [table.base_watts if table else 0.0 for table in tables]
    ports: list[dict[int, float]] = [{} for _ in tables]
    for link in fabric.links:
        for cable in link.cables:
            for s, port in zip((link.a, link.b), cable, strict=True):
                table = tables[s]
                base[s] += table.transceiver_watts if table else 0.0
                speed = link.speed_mbps or DEFAULT_SPEED_MBPS
                ports[s][port] = port_watts(fabric.switches[s].model, speed, power) if link.up else 0.0
    for host in fabric.one_host_a_port.hosts:
        table = tables[host.switch]
        base[host.switch] += table.transceiver_watts if table else 0.0
        ports[host.switch][host.port] = port_watts(fabric.switches[host.switch].model, DEFAULT_SPEED_MBPS, power)
    return list(zip(base, ports, strict=True))


def link_watts(fabric: Fabric, link: int, speed_mbps: int = 0, power: Mapping[str, PortWatts] | None = None) -> float:
    """Return the watts of a link's ports, two a cable, while it is up, at its own speed or another, without optics."""
    cable = fabric.links[link]
    speed = speed_mbps or cable.speed_mbps or DEFAULT_SPEED_MBPS
    return len(cable.cables) * fsum(port_watts(fabric.switches[s].model, speed, power) for s in (cable.a, cable.b))


def port_watts(model: str, speed_mbps: int, power: Mapping[str, PortWatts] | None = None) -> float:
    """Return one port's watts at a speed; a speed the table does not have counts as the nearest lower one it has."""
    table = _table(model, power)
    if table is None:
        return 0.0
    known = [s for s in sorted(table.per_port) if s <= speed_mbps]
    return table.per_port[known[-1] if known else min(table.per_port)]


def latency_seconds(model: str) -> float:
    """Return what a switch adds to a short message (Koibuchi et al. 2011, table 4); a 5324's where nobody measured."""
    measured = platforms.load(model).latency_seconds
    return LATENCY_SECONDS if measured is None else measured


def power_sources(fabric: Fabric, power: Mapping[str, PortWatts] | None = None) -> str:
    """Return where the watts of a fabric's switches are from, each source once."""
    tables = [_table(model, power) for model in sorted({switch.model for switch in fabric.switches})]
    return "; ".join(dict.fromkeys(table.source for table in tables if table is not None))


def assumed_watts(fabric: Fabric, power: Mapping[str, PortWatts] | None = None) -> tuple[str, ...]:
    """Return what is assumed of the watts of a fabric's models that nobody has measured."""
    models = sorted({switch.model for switch in fabric.switches})
    found = {model: table.like for model in models if (table := _table(model, power)) is not None and table.like}
    return tuple(
        f"watts of {model} as a {platforms.load(like).title}'s; --power has yours" for model, like in found.items()
    )


def watts_as_if(
    fabric: Fabric, power: Mapping[str, PortWatts] | None = None
) -> tuple[Mapping[str, PortWatts] | None, ...]:
    """Return the tables of watts among which that of a model lies which nobody has measured: of each that was measured.

    Where every model of the fabric was measured, or has a table in `power`, there is none.
    """
    tables = {switch.model: _table(switch.model, power) for switch in fabric.switches}
    assumed = [model for model, table in tables.items() if table is not None and table.like]
    measured = [
        page.watts for model in platforms.models() if (page := platforms.load(model)).watts and not page.watts.like
    ]
    return tuple({**(power or {}), **dict.fromkeys(assumed, each)} for each in measured) if assumed else ()


def _table(model: str, power: Mapping[str, PortWatts] | None) -> PortWatts | None:
    known = (power or {}).get(model) or (power or {}).get(platforms.page_of(model))
    return known or platforms.load(model).watts


def read_power(path: Path) -> dict[str, PortWatts]:
    """Read power tables by model, to go before those tagloom has. Raises InputError with all findings.

    ``MODEL: {base: W, per_port: {1000: W, 100: W}, transceiver: W, source: TEXT}``; speeds in Mb/s. `transceiver` is
    what a plugged module draws per port whether the port is up or not (0 without it). ``datasheet: NAME`` instead of
    `base` takes the typical watts of a data sheet tagloom has for the chassis (`datasheets`), which stand too high by
    the ports that were in use there.
    """
    raw: Any = read_yaml(path)
    if not isinstance(raw, dict) or not raw:
        raise InputError([Finding(str(path), "MODEL: {base, per_port, source}", shown(raw))])
    findings: list[Finding] = []
    tables: dict[str, PortWatts] = {}
    for model, table in raw.items():
        where = f"{path}: {shown(model, 200).strip(chr(39))}"
        keys = set(table) if isinstance(table, dict) else set()
        if not {"per_port", "source"} <= keys or len({"base", "datasheet"} & keys) != 1 or keys - KEYS:
            expected = "the keys base or datasheet, per_port, source, and at most transceiver"
            findings.append(Finding(where, expected, shown(table)))
            continue
        if "datasheet" in table:
            sheet = datasheets().get(str(table["datasheet"]))
            if sheet is None:
                known = "one of " + ", ".join(datasheets())
                findings.append(Finding(f"{where}.datasheet", known, shown(table["datasheet"])))
                continue
            table |= {"base": sheet[0], "source": f"{table['source']}; chassis: {sheet[1]}"}
        ports = table["per_port"]
        if not isinstance(ports, dict) or not ports or not all(isinstance(s, int) and s > 0 for s in ports):
            findings.append(Finding(f"{where}.per_port", "watts by speed in Mb/s", shown(ports)))
            continue
        numbers = {"base": table["base"], "transceiver": table.get("transceiver", 0.0)}
        numbers |= {f"per_port.{s}": watts for s, watts in ports.items()}
        wrong = [
            Finding(f"{where}.{key}", f"watts from 0 to {ABSURD_WATTS:g}", shown(value))
            for key, value in numbers.items()
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= ABSURD_WATTS
        ]
        if not str(table["source"] or "").strip():
            wrong.append(Finding(f"{where}.source", "where the figures are from", shown(table["source"])))
        findings += wrong
        if not wrong:
            per_port = {s: float(watts) for s, watts in ports.items()}
            source = str(table["source"])
            tables[str(model)] = PortWatts(float(table["base"]), per_port, source, float(numbers["transceiver"]))
    if findings:
        raise InputError(findings)
    return tables


@cache
def datasheets() -> Mapping[str, tuple[float, str]]:
    """Return the typical watts of models by vendors' data sheets, and where they are from (CC0-1.0, ETH Zurich)."""
    text = (files("tagloom.platforms") / "datasheets.csv").read_text("utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {row["model"]: (float(row["typical_watts"]), row["datasheet"]) for row in rows}


def lpi_share(
    load: float, frames_per_second: float, sleep_seconds: float, wake_seconds: float, timeout_seconds: float = 0.0
) -> float:
    """Return the share of time a direction spends in low power idle, Poisson frames, time-out policy; exact.

    After the queue empties the port waits `timeout_seconds`, falls asleep (which cannot be aborted), sleeps until a
    frame comes, wakes and sends until the queue is empty. `load` is the share of time it sends. With x = rate Ts, a
    cycle without sending lasts Z = Ts + exp(-x) / rate + Tw + (exp(rate H) - 1) / rate, of which exp(-x) / rate is
    sleep; cycles without sending fill 1 - load of the time.

    >>> round(1 - 0.9 * lpi_share(0.1, 0.1e9 / 12000, 182e-6, 16.5e-6), 3)  # 1000BASE-T, 1500 bytes, LPI at a tenth
    0.905
    """
    if load >= 1:
        return 0.0
    if frames_per_second <= 0:
        return 1.0
    rate = frames_per_second
    if rate * timeout_seconds > 700:  # exp would overflow: the time-out never ends
        return 0.0
    asleep = exp(-rate * sleep_seconds) / rate
    cycle = sleep_seconds + asleep + wake_seconds + expm1(rate * timeout_seconds) / rate
    return (1 - load) * asleep / cycle
