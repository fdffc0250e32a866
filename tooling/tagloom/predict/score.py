"""Score forecasts: select the stored quantities, and compute their errors against measurements, also over time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tagloom.graph.floods import reported_load
from tagloom.records.forecast import NO_TRAFFIC
from tagloom.records.kept import Measured, Quantity, Score, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tagloom.records.fabric import Fabric
    from tagloom.records.kept import KeptForecast
    from tagloom.records.routes import Routes
    from tagloom.records.traffic import Traffic

DERIVED = {"joules": "watts_after times seconds_predicted", "slowdown_percent": "", "saving_percent": ""}
OUT_BPS = "out_bps"
MISSED = 0.1  # of the measured values lie outside an interval as it should be: it holds nine in ten
BEFORE = {
    "seconds_predicted": "seconds_base",
    "watts_after": "watts_before",
    "joules": "joules_before",
    "communication_seconds_after": "communication_seconds_before",
    "relative_bandwidth_after": "relative_bandwidth_before",
    "latency_seconds_after": "latency_seconds_before",
    "cost_after": "cost_before",
    "co2_kg_after": "co2_kg_before",
}  # the quantity that is forecast if nothing changes
CHANGES = ("slowdown_percent", "saving_percent", "saved_watts")  # 0 if nothing changes
CARRIED = "payload bytes of the traffic over its seconds; counters count frames' headers too"


def quantities_of(
    payload: Mapping[str, Any], fabric: Fabric, routes: Routes, assignment: str, traffic: Traffic | None
) -> dict[str, Quantity]:
    """Return the quantities of a forecast to store: every figure with its interval, and each channel's load.

    A channel is named ``out_bps/SWITCH/PORT`` by the port number it leaves by, as SNMP counts it. Of several networks,
    each has its run, ``seconds_predicted/NETWORK``, and until its last byte is moved,
    ``communication_seconds_after/NETWORK``.
    """
    found: dict[str, Quantity] = {}
    for key, source in {**payload["sources"], **DERIVED}.items():
        value = payload.get(key)
        if source == NO_TRAFFIC or not isinstance(value, int | float):
            continue
        if key in {"joules", "slowdown_percent"} and not payload["seconds_base"]:
            continue
        low, high = payload["intervals"].get(key, (None, None))
        found[key] = Quantity(float(value), low, high, source)
    for name, network in payload["networks"].items():
        low, high = (network[f"seconds_predicted_{end}"] for end in ("low", "high"))
        for key, least, most in (("seconds_predicted", low, high), ("communication_seconds_after", None, None)):
            if network[key] is not None and network["volume_bytes"]:
                found[f"{key}/{name}"] = Quantity(network[key], least, most, payload["sources"].get(key, ""))
    if traffic is not None and traffic.seconds:
        load = reported_load(fabric, routes, assignment, traffic.volume_bytes)
        for c, scaled in enumerate(load.tolist()):
            link = fabric.links[c // 2]
            if link.up:
                bps = 8.0 * scaled * link.capacity_mbps() / 1000.0 / traffic.seconds
                name = f"{OUT_BPS}/{fabric.switches[fabric.tail[c]].name}/{fabric.tail_port[c]}"
                found[name] = Quantity(bps, source=CARRIED)
    return found


def score(
    forecasts: Sequence[KeptForecast], measured: Iterable[Measured], tolerance_percent: float
) -> tuple[list[Score], list[Measured]]:
    """Return the scores in the order of their times, and the measurements left over.

    Each measurement is compared with the last forecast of its quantity made before it, without a fabric with that of
    any fabric. A measurement is left over if it is older than all forecasts, or nobody knows when it was made, or its
    quantity was never forecast.
    """
    scores, left = list[Score](), list[Measured]()
    for m in measured:
        fitting = [
            f
            for f in forecasts
            if m.quantity in f.quantities
            and (not m.fabric or m.fabric == f.fabric)
            and m.at is not None
            and f.at <= m.at
        ]
        if not fitting:
            left.append(m)
            continue
        last = max(fitting, key=lambda f: (f.at, f.number))
        q = last.quantities[m.quantity]
        error = 100.0 * (q.value - m.value) / m.value if m.value else (0.0 if q.value == m.value else None)
        inside = q.low <= m.value <= q.high if q.low is not None and q.high is not None else None
        good = inside if inside is not None else error is not None and abs(error) <= tolerance_percent
        given = (q.value, m.value, m.at, m.origin, error, q.low, q.high, inside, good, *_winkler(q, m, last))
        scores.append(Score(m.quantity, unit_of(m.quantity), last.number, *given))
    return sorted(scores, key=lambda s: (s.at or 0.0, s.quantity)), left


def _winkler(q: Quantity, m: Measured, forecast: KeptForecast) -> tuple[float | None, float | None, float | None]:
    """Return the interval's width and score, and the score of the forecast that nothing changes (Winkler 1972)."""
    low, high = (q.value, q.value) if q.low is None and q.high is None else (q.low, q.high)
    own = None if low is None or high is None else interval_score(low, high, m.value)
    width = None if q.low is None or q.high is None else q.high - q.low
    same = forecast.quantities.get(BEFORE.get(m.quantity, ""))
    before = 0.0 if m.quantity in CHANGES else same.value if same is not None else None
    return width, own, None if before is None else interval_score(before, before, m.value)


def interval_score(low: float, high: float, value: float) -> float:
    """Return Winkler's score of an interval that is to hold nine in ten, the less the better.

    >>> interval_score(10.0, 12.0, 11.0), interval_score(10.0, 12.0, 13.0)
    (2.0, 22.0)
    """
    return high - low + 2.0 / MISSED * max(low - value, value - high, 0.0)


def _skill(rows: Sequence[Score]) -> dict[str, Any]:
    """Return the mean width and interval score, and the skill: 1 less the score over that of "nothing changes"."""
    widths = [row.width for row in rows if row.width is not None]
    scored = [row.interval_score for row in rows if row.interval_score is not None]
    both = [
        (row.interval_score, row.unchanged_score)
        for row in rows
        if row.interval_score is not None and row.unchanged_score is not None
    ]
    own, unchanged = (sum(each) for each in zip(*both, strict=True)) if both else (0.0, 0.0)
    return {
        "mean_width": sum(widths) / len(widths) if widths else None,
        "interval_score": sum(scored) / len(scored) if scored else None,
        "skill": 1.0 - own / unchanged if unchanged else None,
        "worse_than_unchanged": own > unchanged,
    }


def score_payload(
    scores: Sequence[Score], left: Sequence[Measured], forecasts: int, tolerance: float
) -> dict[str, Any]:
    """Return scores by the keys of the command line: each, by quantity, by day (UTC, "" if no time is known)."""
    by_quantity: dict[str, list[Score]] = {}
    by_day: dict[str, list[Score]] = {}
    for each in scores:
        channel = each.quantity.startswith(f"{OUT_BPS}/")  # all of them are one row, each network one of its own
        by_quantity.setdefault(OUT_BPS if channel else each.quantity, []).append(each)
        day = "" if each.at is None else datetime.fromtimestamp(each.at, UTC).strftime("%Y-%m-%d")
        by_day.setdefault(day, []).append(each)
    rows = [{"quantity": name, "unit": own[0].unit, **_sum_up(own), **_skill(own)} for name, own in by_quantity.items()]
    return {
        "forecasts": forecasts,
        "scored": len(scores),
        "good": sum(each.good for each in scores),
        **_in_all(scores, rows),
        "tolerance_percent": tolerance,
        "by_quantity": rows,
        "over_time": [{"day": day, **_sum_up(rows)} for day, rows in sorted(by_day.items())],
        "scores": [each.to_json() for each in scores],
        "left_over": [{"quantity": m.quantity, "value": m.value, "at": m.at, "origin": m.origin} for m in left],
    }


def _in_all(scores: Sequence[Score], rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the coverage (a share), the mean skill, and the mean interval score where all have one unit."""
    bounded = [each.inside for each in scores if each.inside is not None]
    scored = [each.interval_score for each in scores if each.interval_score is not None]
    skills = [row["skill"] for row in rows if row["skill"] is not None]
    one_unit = len({row["unit"] for row in rows}) == 1
    return {
        "coverage": sum(bounded) / len(bounded) if bounded else None,
        "interval_score": sum(scored) / len(scored) if scored and one_unit else None,
        "skill": sum(skills) / len(skills) if skills else None,
    }


def _sum_up(rows: Sequence[Score]) -> dict[str, Any]:
    """Return counts and errors of some scores; percents are None if no measured value allows any.

    The coverage is None if no forecast has an interval.
    """
    errors = [abs(row.error_percent) for row in rows if row.error_percent is not None]
    bounded = [row.inside for row in rows if row.inside is not None]
    return {
        "count": len(rows),
        "good": sum(row.good for row in rows),
        "mean_error_percent": round(sum(errors) / len(errors), 6) if errors else None,
        "worst_error_percent": round(max(errors), 6) if errors else None,
        "inside": sum(bounded),
        "with_interval": len(bounded),
        "coverage_percent": round(100.0 * sum(bounded) / len(bounded), 6) if bounded else None,
    }
