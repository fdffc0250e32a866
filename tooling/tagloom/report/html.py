"""Render a report as one self-contained HTML page: nothing is fetched, nothing is sent."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from itertools import accumulate
from math import atan2, cos, pi, sin
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom import platforms
from tagloom.records.forecast import NO_TRAFFIC
from tagloom.records.report import OFF, ON, SLEEPING, SLOW
from tagloom.report.charts import HEIGHT, WIDTH, Chart, Series, chart
from tagloom.report.decimals import decimal
from tagloom.report.layout import draw
from tagloom.report.networks import network_rows, owners_of_vlans
from tagloom.report.panels import (
    VERDICT_WORDS,
    energy_facts,
    energy_groups,
    energy_verdict,
    interruption_panel,
    performance_groups,
    port_rows,
)
from tagloom.report.terminal import count, forecast_payload

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jinja2
    from numpy.typing import NDArray

    from tagloom.records.report import Live, Report
    from tagloom.report.layout import Drawn

RING_RADIUS, RING_PORTS = 18.0, 20  # of hosts' ports around a switch
TURNS = 24  # rotations of a ring that are tried
LEVELS = 5  # classes of load, each with its own colour and width
LABELLED_UP_TO = 100  # links: up to here those that are not simply on get a label
HOURS_A_YEAR = 365.25 * 24
STATE_WORDS = {ON: "on", OFF: "off", SLOW: "slow", SLEEPING: "EEE"}


def html_document(report: Report, written: str, live: Live | None = None) -> str:
    """Return the HTML document; `written` says when and by what, for its foot. A `live` one loads itself anew."""
    forecast, cut = forecast_payload(report.forecast, report.fabric), report.forecast.interruption
    ports, sleeps, unknown = port_rows(report), _sleeps(report), report.forecast.power_unknown
    return _template().render(
        name=report.fabric.name,
        written=written,
        headline=_headline(report),
        cards=_cards(report, forecast),
        figure=_figure(report, ports),
        networks=network_rows(report),
        loads_in=report.load_unit,
        performance=performance_groups(forecast),
        energy=[] if unknown else energy_groups(forecast),
        energy_head=_energy_head(forecast),
        energy_facts=[] if unknown else energy_facts(forecast),
        energy_verdict=None if unknown else energy_verdict(forecast),
        interruption=interruption_panel(cut, report.fabric, forecast) if cut is not None else None,
        ports=ports,
        verdicts=[(v, words, sum(port["verdict"] == v for port in ports)) for v, words in VERDICT_WORDS.items()],
        asleep=(sum(port["state"] == SLEEPING for port in ports), forecast["sources"]["idle_seconds"]),
        power=_power(report),
        yearly=_yearly(report),
        curves=[_gap_chart(report), _sleep_chart(report), *_link_charts(report)] if sleeps else [],
        waves=_waves(report),
        rollout=report.rollout,
        proofs=_proofs(report),
        findings=[str(finding) for finding in report.proof.findings],
        sources=_sources(forecast),
        eee=report.eee if sleeps else None,
        left_out=report.left_out,
        size=(WIDTH, HEIGHT),
        css=_text("page.css"),
        js=_text("page.js"),
        live=live,
    )


@cache
def _template() -> jinja2.Template:
    import jinja2  # noqa: PLC0415 - only a report needs it

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_text("page.html.j2"))


def _text(name: str) -> str:
    return (files("tagloom.report") / name).read_text("utf-8")


def _headline(report: Report) -> str:
    fabric = report.fabric
    models = ", ".join(sorted({switch.model for switch in fabric.switches}))
    off = sum(state == OFF for state in report.states)
    return (
        f"{count(len(fabric.switches), 'switch')} ({models}), {count(len(fabric.links), 'link')}"
        f"{f', {off} of them off' if off else ''}, {count(len(fabric.hosts), 'host')}. "
        f"{report.reason[:1].upper()}{report.reason[1:]}; {report.average_hops:.2f} switches on a path, "
        f"{count(report.vlans, 'VLAN')} ({report.assignment} assignment)."
    )


def _cards(report: Report, forecast: dict[str, Any]) -> list[dict[str, str]]:
    """Return the three main numbers, each with its interval and source."""
    base, sources = forecast["seconds_base"], forecast["sources"]
    low, high = forecast["intervals"].get("seconds_predicted", (base, base))
    slower = [100.0 * (x - base) / base if base else 0.0 for x in (low, high)]
    return [
        {
            "name": "Slow-down",
            "value": f"{forecast['slowdown_percent']:.2f} %" if base else "unknown",
            "detail": f"{decimal(base)} s -> {decimal(forecast['seconds_predicted'])} s{_between(slower, 2)}"
            if base
            else "no traffic was given",
            "source": sources["seconds_predicted"] if base else "",
        },
        {
            "name": "Loss",
            "value": f"{forecast['lost_bytes']:,} bytes",
            "detail": f"{report.proof.reachable_pairs:,} of {count(report.proof.pairs, 'pair')} reached",
            "source": sources["lost_bytes"],
        },
        _saving_card(forecast),
    ]


def _saving_card(forecast: dict[str, Any]) -> dict[str, str]:
    if unknown := forecast["power_unknown"]:
        detail = f"no watts of {', '.join(unknown)} are known: give them with --power FILE"
        return {"name": "Saving", "value": "unknown", "detail": detail, "source": ""}
    between = _between(forecast["intervals"].get("saving_percent", (forecast["saving_percent"],) * 2), 1)
    return {
        "name": "Saving",
        "value": f"{forecast['saving_percent']:.1f} %",
        "detail": f"{forecast['watts_before']:,.1f} W -> {forecast['watts_after']:,.1f} W{between}",
        "source": forecast["sources"]["watts_after"],
    }


def _between(percents: Sequence[float], digits: int) -> str:
    """Return the words for an interval of percent, "" where both ends read the same."""
    low, high = (f"{end:.{digits}f} %" for end in percents)
    return f", between {low} and {high}" if low != high else ""


def _energy_head(forecast: dict[str, Any]) -> str:
    """Return the heading over what is drawn: energy, and cost and CO2 where their prices were given."""
    given = {"cost": "cost", "co2_kg": "CO2"}
    *some, last = ["Energy", *(word for key, word in given.items() if f"{key}_after" in forecast)]
    return f"{', '.join(some)} and {last}" if some else last


def _sources(forecast: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the figures of each source, and that source; figures that no traffic was given for have none."""
    figures: dict[str, list[str]] = {}
    for key, text in forecast["sources"].items():
        figures.setdefault(text, []).append(key.replace("_", " "))
    return [(", ".join(names), text) for text, names in figures.items() if text != NO_TRAFFIC]


def _sleeps(report: Report) -> bool:
    """Return whether any port can sleep: a model has EEE (IEEE 802.3az)."""
    return any(platforms.of(switch).eee for switch in report.fabric.switches)


def _figure(report: Report, ports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the drawn fabric: links with load class, state and labels, switches, hosts' ports, trees as bit sets."""
    fabric, drawn = report.fabric, draw(report.fabric)
    top = float(report.load.max(initial=0.0))
    shown = report.share if report.share is not None else report.load / (top or 1.0)
    busiest = np.maximum(shown[0::2], shown[1::2])
    edge = max(float(busiest.max(initial=0.0)), 1e-12)
    relative = _levels(busiest / edge)
    level = relative if report.share is None else _levels(busiest)
    links = []
    for i, link in enumerate(fabric.links):
        a, b = report.link_names[i]
        loads = [_load_words(report, 2 * i), _load_words(report, 2 * i + 1)]
        state = STATE_WORDS[report.states[i]]
        speed = f"{link.speed_mbps} Mb/s" if link.speed_mbps else "full speed"
        cables = f", {len(link.cables)} cables" if len(link.cables) > 1 else ""
        links.append(
            {
                "path": drawn.paths[i],
                "level": int(level[i]) if link.up else 0,
                "relative": int(relative[i]) if link.up else 0,
                "state": report.states[i],
                "label": "100" if report.states[i] == SLOW and link.speed_mbps == 100 else state,
                "at": drawn.middle[i],
                "words": (f"{a}", f"{b}", state, f"{speed}{cables}", *loads),
            }
        )
    hosts = np.bincount(fabric.host_switch, minlength=len(fabric.switches)) if fabric.hosts else np.zeros(1, int)
    tall, owners = drawn.height / drawn.width, owners_of_vlans(report)
    return {
        "width": round(drawn.width, 1),
        "height": round(drawn.height, 1),
        "tall": tall,
        "links": links,
        "switches": [
            {"name": switch.name, "at": drawn.points[i], "up": switch.up, "hosts": int(hosts[i]), "model": switch.model}
            for i, switch in enumerate(fabric.switches)
        ],
        "ports": [
            {"at": at, "state": port["state"], "words": _port_words(port)}
            for at, port in zip(_around(report, drawn), ports, strict=True)
        ],
        "port_states": [
            (state, STATE_WORDS[state], sum(report.host_states[h] == state for h in np.unique(fabric.host_link)))
            for state in ((ON, SLEEPING) if _sleeps(report) else (ON,))
        ],
        "labelled": len(fabric.links) <= LABELLED_UP_TO,
        "leads": [(x, y, fabric.switches[s].name) for x, y, s in drawn.leads],
        "levels": _level_words(report, 1.0 if report.share is not None else edge, top),
        "relative_levels": _level_words(report, edge, top) if report.share is not None else [],
        "states": [
            (state, STATE_WORDS[state], sum(each == state for each in report.states)) for state in STATE_WORDS
        ],
        "trees": [
            (vlan, len(links_of), _bits(links_of, len(fabric.links)), ", ".join(owners.get(vlan, ())))
            for vlan, links_of in report.trees.items()
        ],
        "local": report.assignment == "renamed",
    }  # fmt: skip


def _around(report: Report, drawn: Drawn) -> list[tuple[float, float]]:
    """Return the positions of hosts' ports in rings around their switches, turned farthest from the links' ends."""
    fabric, at = report.fabric, np.array(drawn.points).reshape(-1, 2)
    leaves: list[list[float]] = [[] for _ in drawn.points]
    for link, wraps in zip(fabric.links, drawn.wraps, strict=True):
        for a, b in ((link.a, link.b), (link.b, link.a)):
            offset = (at[a] - at[b]) if wraps else (at[b] - at[a])
            leaves[a].append(atan2(offset[1], offset[0]))
    count_of, placed = np.bincount(fabric.host_switch, minlength=len(at)), [0] * len(at)
    turn_of = [_free_turn(ends, min(RING_PORTS, n)) for ends, n in zip(leaves, count_of.tolist(), strict=True)]
    found = []
    for host in fabric.hosts:
        s = host.switch
        ring, n = divmod(placed[s], RING_PORTS)
        placed[s] += 1
        turn = turn_of[s] + 2 * pi * n / min(RING_PORTS, int(count_of[s]) - RING_PORTS * ring)
        radius, (x, y) = RING_RADIUS + 5.0 * ring, drawn.points[s]
        found.append((round(x + radius * cos(turn), 1), round(y + radius * sin(turn), 1)))
    return found


def _free_turn(ends: list[float], ports: int) -> float:
    """Return the angle of the first of some evenly spread ports that leaves most room to links' ends."""
    if not ends or not ports:
        return pi / 4
    step = 2 * pi / ports
    turns = pi / 4 + np.arange(TURNS) * step / TURNS
    apart = (np.array(ends)[None, :] - turns[:, None] + step / 2) % step - step / 2
    return float(turns[np.abs(apart).min(axis=1).round(6).argmax()])


def _port_words(port: dict[str, Any]) -> str:
    said = f"{port['host']} at {port['port']}: {STATE_WORDS[port['state']]}"
    return f"{said}; EEE {port['say']}: {port['reason']}" if port["verdict"] else said


def _load_words(report: Report, channel: int) -> str:
    amount = f"{report.load[channel]:,.0f} {report.load_unit}"
    return amount if report.share is None else f"{amount} ({decimal(100 * report.share[channel], 2)} %)"


def _levels(share: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the class of each load, given as its share of the most: 0 for none, 1 to LEVELS."""
    return np.where(share > 0, np.clip(np.ceil(LEVELS * share), 1, LEVELS), 0).astype(np.int64)


def _level_words(report: Report, edge: float, top: float) -> list[tuple[int, str]]:
    """Return the meaning of each load class."""

    def word(part: int) -> str:
        value = edge * part / LEVELS
        return (
            f"{decimal(100 * value, 2)} %"
            if report.share is not None
            else (f"{value * top:,.0f}" if top >= 100 else decimal(value * top, 3))
        )

    unit = "of capacity" if report.share is not None else report.load_unit
    return [(0, "nothing"), *((n, f"up to {word(n)} {unit}") for n in range(1, LEVELS + 1))]


def _bits(links: tuple[int, ...], count_of: int) -> str:
    """Return a set of links as hexadecimal digits, four links each, the lowest in the lowest bit."""
    there = np.zeros(-(-count_of // 4) * 4, np.uint8)
    there[list(links)] = 1
    return "".join(f"{value:x}" for value in (there.reshape(-1, 4) @ np.array([1, 2, 4, 8])).tolist())


def _power(report: Report) -> Chart | None:
    """Return a chart of the switches' power under a timetable, over a day or a week."""
    if not report.day or report.forecast.watts_before is None:
        return None
    days = len(report.days)
    points: list[tuple[float, float]] = []
    for step in report.day:
        points += [(step.at_seconds / 3600, points[-1][1])] if points else []
        points.append((step.at_seconds / 3600, step.watts))
    points.append((24.0 * days, points[-1][1]))
    full = report.forecast.watts_before.value
    series = [
        Series("timetable", tuple(points), 0),
        Series("all on", tuple((x, full) for x, _ in points), 1),
    ]
    if days == 1:
        ticks, label = [(float(h), f"{h:02d}:00") for h in range(0, 25, 6)], "time of day"
    else:
        ticks, label = [(24.0 * n, day) for n, day in enumerate(report.days)], "midnight of"
    return chart("Power by the timetable", (label, "watts"), series, from_zero=False, x_ticks=ticks)


def _yearly(report: Report) -> str:
    """Return what the timetable saves in a year beside all links on, and its worth; "" without a timetable."""
    if not report.day or report.forecast.watts_before is None:
        return ""
    begins = [step.at_seconds for step in report.day]
    spans = np.diff([*begins, 86_400.0 * len(report.days)])
    full = report.forecast.watts_before.value
    mean = float(np.average([step.watts for step in report.day], weights=spans))
    saved = (full - mean) * HOURS_A_YEAR / 1000.0
    worth = " and ".join(f"{saved * amount:,.0f} {unit}" for amount, unit in report.per_kwh)
    said = f"{mean:,.1f} W on average, {100 * (1 - mean / full):.1f} % less than all links on: {saved:,.0f} kWh a year"
    return f"{said}, {worth}." if worth else f"{said}."


def _gap_chart(report: Report) -> Chart:
    """Return a chart of a message's wait after an idle gap, with this traffic's own mean gap marked."""
    rows = report.gaps
    series = [
        Series("regular gaps", tuple((p.gap_seconds * 1e6, p.periodic_wait_seconds * 1e6) for p in rows), 0),
        Series("random gaps of this mean", tuple((p.gap_seconds * 1e6, p.random_wait_seconds * 1e6) for p in rows), 1),
    ]
    return chart(
        "Wait of a message after an idle gap",
        ("idle gap, us", "wait, us"),
        series,
        log_x=True,
        mark=_own_gap(report),
    )


def _own_gap(report: Report) -> tuple[float, str] | None:
    own = report.forecast.idle_seconds.value * 1e6
    return (own, f"this traffic: {own:,.0f} us") if own > 0 else None


def _sleep_chart(report: Report) -> Chart:
    rows = tuple((p.gap_seconds * 1e6, 100 * p.asleep_share) for p in report.gaps)
    return chart(
        "Share of an idle gap asleep",
        ("idle gap, us", "% asleep"),
        [Series("random gaps of this mean", rows, 1)],
        log_x=True,
        mark=_own_gap(report),
    )


def _link_charts(report: Report) -> list[Chart]:
    """Return charts of power and mean wait of one host link by load, for full-size frames with Poisson arrivals."""
    rows = report.loads
    power = Series("sleeping link", tuple((100 * p.load, 100 * p.power_relative) for p in rows), 0)
    delay = Series("sleeping link", tuple((100 * p.load, 1e6 * p.mean_delay_seconds) for p in rows), 0)
    return [
        chart("Power of a link under load", ("load, %", "% of an awake port's power"), [power], log_x=True),
        chart("Mean wait of a frame under load", ("load, %", "wait, us"), [delay], log_x=True),
    ]


def _waves(report: Report) -> list[dict[str, Any]]:
    """Return every wave's place on the rollout's time, in percent: sending, then waiting."""
    spans = [float(wave["expected_seconds"]) for wave in report.waves]
    begins = [0.0, *accumulate(spans)]
    whole = begins[-1] or 1.0
    return [
        {
            "number": number,
            "name": wave["name"],
            "why": wave["why"],
            "switches": len(wave["switches"]),
            "changes": wave.get("changes", 0),
            "states": wave.get("proven_states", 0),
            "paused": float(wave.get("downtime_seconds", 0.0)),
            "seconds": span,
            "wait_seconds": float(wave["drain_seconds"]),
            "left": 100 * begin / whole,
            "send": 100 * max(0.0, span - float(wave["drain_seconds"])) / whole,
            "wait": 100 * min(span, float(wave["drain_seconds"])) / whole,
        }
        for number, (wave, begin, span) in enumerate(zip(report.waves, begins, spans, strict=False), start=1)
    ]


def _proofs(report: Report) -> list[tuple[str, str, bool]]:
    """Return what was proven from the texts in the build, as (proof, figure, holds)."""
    proof = report.proof
    on_path = max(0, proof.reachable_pairs - proof.off_path_pairs)
    apart = f"{len(proof.networks)} networks" if proof.isolated else count(len(proof.leaks), "leak")
    return [
        ("Every pair arrives on its own path", f"{on_path:,} of {proof.pairs:,}", on_path == proof.pairs),
        ("No storm", "no cycle of floods" if proof.storm_free else "a flood goes round", proof.storm_free),
        (
            "Each broadcast exactly once",
            "repeats are allowed by the plan"
            if proof.duplicates_allowed
            else f"at every other host{' of its network' if proof.networks else ''}",
            proof.broadcast_exactly_once or proof.duplicates_allowed,
        ),
        (
            "No deadlock",
            f"{count(proof.channels, 'channel')}, {count(proof.dependencies, 'dependency')}",
            proof.deadlock_free,
        ),
        *([("No frame of a network at ports of others", apart, proof.isolated)] if proof.networks else []),
    ]
