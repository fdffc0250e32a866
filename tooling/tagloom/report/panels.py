"""Lay out the rest of a forecast beside its three main numbers: performance, energy, interruption, sleeping ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom import platforms
from tagloom.report.decimals import decimal
from tagloom.report.terminal import break_even, count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tagloom.records.fabric import Fabric
    from tagloom.records.forecast import Interruption, PortVerdict
    from tagloom.records.report import Report

Page = dict[str, Any]

COMPUTATION, COMMUNICATION, ADDED, WHOLE = "p0", "p1", "p2", "p3"  # CSS classes of a bar's parts
PART_WORDS = {COMPUTATION: "computation", COMMUNICATION: "communication", ADDED: "waiting for sleeping links"}
MOST_PAIRS = 200  # rows of the table of interrupted pairs
LOOKED_UP_TO = 256  # hosts: up to here the page can look up any pair, one digit each
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
VERDICT_WORDS = {"on": "on", "off": "off", "lengthen": "lengthen the time-out"}


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: a name, its label, and its parts as (class, percent of the group's longest bar)."""

    name: str
    words: str
    parts: tuple[tuple[str, float], ...]
    interval: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Bars of one unit, with their meaning and source."""

    name: str
    bars: tuple[Bar, ...]
    source: str
    key: tuple[tuple[str, str], ...] = ()


def performance_groups(payload: Mapping[str, Any]) -> list[Group]:
    """Return bars of bandwidth, time and latency before and after; none if no traffic was given."""
    groups = []
    if payload["seconds_base"]:
        groups.append(_run(payload))
    if "relative_bandwidth_before" in payload:
        groups += [
            _pair(payload, "relative_bandwidth", "Bandwidth beside one ideal switch", 100.0, "%", full=1.0),
            _pair(payload, "communication_seconds", "All traffic, begun at once, has been moved", 1.0, "s"),
            _pair(payload, "latency_seconds", "What switches add to a message", 1e6, "us"),
        ]
    return groups


def energy_groups(payload: Mapping[str, Any]) -> list[Group]:
    """Return bars of watts, and of one run's joules, cost and CO2, before and after."""
    groups = [_pair(payload, "watts", "Power of all switches", 1.0, "W")]
    if payload["seconds_base"] and "joules_before" in payload:
        after, there = payload["joules"], payload["transition_joules"]
        longest = max(payload["joules_before"], after) or 1.0
        parts = ((WHOLE, 100 * (after - there) / longest), (ADDED, 100 * there / longest))
        bars = (
            Bar(
                "before",
                _amount(payload["joules_before"], "J"),
                ((WHOLE, 100 * payload["joules_before"] / longest),),
                _interval(payload, "joules_before", 1.0, "J"),
            ),
            Bar("after", _amount(after, "J"), parts, _interval(payload, "joules", 1.0, "J")),
        )
        key = ((ADDED, f"links that change, there and back: {_amount(there, 'J')}"),) if there else ()
        groups.append(Group("Energy of one run", bars, payload["sources"]["joules"], key))
        groups += [
            _pair(payload, key, name, 1.0, unit)
            for key, name, unit in (
                ("cost", "Cost of one run", payload.get("currency", "")),
                ("co2_kg", "CO2 of one run", "kg"),
            )
            if f"{key}_before" in payload
        ]
    return groups


def energy_facts(payload: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the energy figures that no bar shows: (name, amount, source)."""
    wanted = (
        ("kwh_saved_per_year", "saved in a year", "kWh"),
        ("eee_saved_watts", "host ports asleep save", "W"),
        ("pays_after_seconds", "a link's change pays after", "s"),
        ("break_even_host_watts", "a slower run costs what is saved where a host draws", "W"),
    )
    shown = {**payload, "break_even_host_watts": break_even(payload)}
    return [(name, _amount(shown[key], unit), payload["sources"][key]) for key, name, unit in wanted if shown.get(key)]


def energy_verdict(payload: Mapping[str, Any]) -> tuple[bool, str]:
    """Return whether the saving pays: (good, sentence); a slower run can cost more than it saves."""
    if payload["warnings"]:
        return False, f"{payload['warnings'][0][0].upper()}{payload['warnings'][0][1:]}."
    if payload["saving_percent"] <= 0 and not payload["eee_saved_watts"]:
        return True, "Nothing is saved, and nothing lost by saving: every link is on, at its best speed, and awake."
    if not payload["seconds_base"]:
        return (
            True,
            f"The switches draw {payload['saving_percent']:.1f} % less. What that does to a run needs --traffic.",
        )
    before, after = payload["joules_before"], payload["joules"] - payload["transition_joules"]
    said = f"The saving pays: {100 * (1 - after / before):.1f} % less energy to the end of a run."
    even = break_even(payload)
    return True, f"{said} Where a host draws over {even:,.0f} W, the slower run costs more than that." if even else said


def interruption_panel(cut: Interruption, fabric: Fabric, payload: Mapping[str, Any]) -> Page:
    """Return whom a rollout cuts off and how long: the waves, the worst pairs, and a table to look up any pair."""
    hosts, names = len(cut.seconds), [host.name for host in fabric.hosts]
    cut_off = int(np.count_nonzero(cut.seconds))
    worst = float(cut.seconds.max(initial=0.0))
    values = np.unique(np.append(cut.seconds, 0.0))
    requested = hosts <= LOOKED_UP_TO and len(values) <= len(DIGITS) and cut_off > 0
    order = np.argsort(-cut.seconds, axis=None, kind="stable")[: min(cut_off, MOST_PAIRS)]
    source, destination = (axis.tolist() for axis in np.divmod(order, max(hosts, 1)))
    return {
        "words": f"{count(cut_off, 'pair')} of {hosts * (hosts - 1):,} cut off, for up to {worst:.1f} s in all; "
        + (
            f"{payload['lost_bytes']:,} bytes lost."
            if cut.lost_bytes is not None
            else "no traffic says what that loses."
        )
        if cut_off
        else "No host pair loses connectivity.",
        "waves": [(name, why, f"{seconds:.1f} s") for name, why, seconds in cut.waves],
        "pairs": [
            (
                names[a],
                names[b],
                f"{cut.seconds[a, b]:.1f} s",
                "" if cut.lost_bytes is None else f"{cut.lost_bytes[a, b]:,.0f}",
            )
            for a, b in zip(source, destination, strict=True)
        ],
        "left_out": max(0, cut_off - MOST_PAIRS),
        "hosts": names if requested else [],
        "values": " ".join(f"{value:.1f}" for value in values),
        "digits": "".join(DIGITS[at] for at in np.searchsorted(values, cut.seconds).ravel().tolist())
        if requested
        else "",
        "source": cut.source,
    }


def port_rows(report: Report) -> list[Page]:
    """Return every host's port: its name, its state, and the forecast's verdict on its sleep."""
    fabric = report.fabric
    of_port = np.unique(fabric.host_link, return_inverse=True)[1].tolist()
    ports: Sequence[PortVerdict | None] = report.forecast.ports or (None,) * len(fabric.hosts)
    verdicts = [ports[port] for port in of_port]  # hosts that share a port share what is said of it
    return [
        {
            "host": host.name,
            "port": f"{switch.name}:{platforms.of(switch).port_name(host.port)}",
            "state": state,
            "verdict": verdict.verdict if verdict else "",
            "say": VERDICT_WORDS[verdict.verdict] if verdict else "",
            "asleep": f"{100 * verdict.lpi_share:.1f} %" if verdict else "",
            "slower": f"{100 * verdict.slowdown:.2f} %" if verdict else "",
            "timeout": f"{verdict.timeout_seconds * 1e6:,.0f} us" if verdict else "",
            "reason": verdict.reason if verdict else "",
        }
        for host, state, verdict in zip(fabric.hosts, report.host_states, verdicts, strict=True)
        for switch in (fabric.switches[host.switch],)
    ]


def _run(payload: Mapping[str, Any]) -> Group:
    """Return a run split into computation, communication and added sleep, as far as known."""
    base, after = payload["seconds_base"], payload["seconds_predicted"]
    asleep = sum(seconds for name, seconds in payload["causes"].get("slow-down", ()) if name == "sleeping links")
    longest = max(base, after)
    inside = payload.get("computation_seconds")

    def parts(seconds: float, waiting: float) -> tuple[tuple[str, float], ...]:
        split: tuple[tuple[str, float], ...] = ((WHOLE, seconds - waiting),)
        if inside is not None:
            split = ((COMPUTATION, inside), (COMMUNICATION, max(0.0, seconds - waiting - inside)))
        return tuple((kind, 100 * part / longest) for kind, part in (*split, (ADDED, waiting)) if part > 0)

    bars = (
        Bar("before", _amount(base, "s"), parts(base, 0.0)),
        Bar("after", _amount(after, "s"), parts(after, asleep), _interval(payload, "seconds_predicted", 1.0, "s")),
    )
    kinds = {kind for bar in bars for kind, _ in bar.parts}
    key = tuple((kind, word) for kind, word in PART_WORDS.items() if kind in kinds)
    return Group("One run of the application", bars, payload["sources"]["seconds_predicted"], key)


def _pair(payload: Mapping[str, Any], key: str, name: str, scale: float, unit: str, full: float = 0.0) -> Group:
    """Return a figure's `_before` and `_after` as bars, on a scale up to at least `full`."""
    both = [(when, payload[f"{key}_{when}"]) for when in ("before", "after")]
    longest = max(full, *(value for _, value in both)) or 1.0
    bars = tuple(
        Bar(
            when,
            _amount(value * scale, unit),
            ((WHOLE, 100 * value / longest),),
            _interval(payload, f"{key}_{when}", scale, unit),
        )
        for when, value in both
    )
    return Group(name, bars, payload["sources"][f"{key}_after"])


def _interval(payload: Mapping[str, Any], key: str, scale: float, unit: str) -> str:
    low, high = (_amount(end * scale, "") for end in payload["intervals"].get(key, (0.0, 0.0)))
    return f"{low} to {high} {unit}".rstrip() if low != high else ""


def _amount(value: float, unit: str) -> str:
    return f"{decimal(value)} {unit}".rstrip()
