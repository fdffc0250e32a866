"""Present measurements: lines for a terminal, CSV, and plots."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError
from tagloom.report.terminal import count, row, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_POINT_COLUMNS = (
    "bytes",
    "bits_per_second",
    "netpipe_mbps",
    "seconds",
    "mean_seconds",
    "sigma_seconds",
    "mean_sigma_seconds",
    "spread_seconds",
    "repeats",
    "content",
    "lost_trials",
)
_ENERGY_COLUMNS = (
    "watts",
    "watts_sigma",
    "bits_per_joule",
    "bits_per_joule_sigma",
    "bits_per_joule_least",
    "bits_per_joule_most",
    "joules_per_bit",
    "joules_per_bit_sigma",
)
SHOWN_POINTS = 12
MICRO, GIGA = 1e6, 1e-9


def pingpong_lines(payload: Mapping[str, Any], *, everything: bool) -> list[str]:
    """Return a ping-pong's results: lowest latency, highest bandwidth, and some or all of its sizes."""
    points = payload["points"]
    lines = row("pingpong", f"{payload['protocol']} to {payload['peer']}, {count(len(points), 'size')}")
    if points:
        quick, wide = min(points, key=lambda p: p["seconds"]), max(points, key=lambda p: p["bits_per_second"])
        lines += row("latency", f"{quick['seconds'] * MICRO:.2f} us one way ({quick['bytes']} bytes)")
        lines += row(
            "bandwidth",
            f"{wide['bits_per_second'] * GIGA:.3f} Gb/s at {wide['bytes']:,} bytes "
            f"(NetPIPE's Mbps of 2^20 b/s: {wide['netpipe_mbps']:.1f})",
        )
        wrong = [p["bytes"] for p in points if p["content"] is False]
        if wrong:
            lines += row("content", f"NOT as sent at {', '.join(map(str, wrong))} bytes")
        step = 1 if everything else max(1, -(-len(points) // SHOWN_POINTS))
        rows = [_point_cells(p) for p in points[::step]]
        heads = ("bytes", "us", "+-", "p50", "p99", "Gb/s", "bit/J")
        lines += table(heads, rows, right=tuple(range(len(heads))))
    if payload["clock"] is not None:
        c = payload["clock"]
        lines += row(
            "clock",
            f"the peer's is {c['offset_seconds'] * 1e3:+.3f} ms off, +- {c['uncertainty_seconds'] * 1e3:.3f} ms",
        )
    if payload["timer_seconds"] is not None and payload["shortest_trial_seconds"]:
        cost, shortest = 2 * payload["timer_seconds"], payload["shortest_trial_seconds"]
        lines += row(
            "timer",
            f"read twice in a trial: {cost * MICRO:.2f} us, {100 * cost / shortest:.2g} % of the shortest one",
        )
    if payload["correlation"] is not None:
        lines += row("energy", f"bandwidth and bits per joule correlate with {payload['correlation']:.5f}")
    return lines + _end_lines(payload)


def _point_cells(p: Mapping[str, Any]) -> tuple[str, ...]:
    shares, energy = p["percentiles_seconds"], p["energy"]
    return (
        f"{p['bytes']:,}",
        f"{p['seconds'] * MICRO:.2f}",
        f"{p['sigma_seconds'] * MICRO:.2f}",
        f"{shares['50'] * MICRO:.2f}" if shares else "-",
        f"{shares['99'] * MICRO:.2f}" if shares else "-",
        f"{p['bits_per_second'] * GIGA:.3f}",
        f"{energy['bits_per_joule']:.3g}" if energy else "-",
    )


def _end_lines(payload: Mapping[str, Any]) -> list[str]:
    return [] if payload["complete"] else row("ended", f"early: {payload['why']}; what there is stands above")


def power_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return a meter's power, energy and lag."""
    lines = row("meter", f"{payload['meter']}: {payload['sees']}")
    if payload["samples"]:
        lines += row(
            "power",
            f"{payload['watts']:.2f} W +- {payload['watts_sigma']:.2f} W, "
            f"{count(len(payload['samples']), 'sample')} in "
            f"{payload['seconds']:.1f} s; {payload['joules']:.1f} J",
        )
    if payload["lag_seconds"] is not None:
        lines += row(
            "lag", f"{payload['lag_seconds']:.2f} s +- {payload['lag_sigma_seconds']:.2f} s, found by switching a load"
        )
    return lines + _end_lines(payload)


def points_csv(points: Sequence[Mapping[str, Any]]) -> str:
    """Return points as CSV, SI units in the column names; only the header if nothing was measured."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    shares = sorted({name for p in points for name in p["percentiles_seconds"]}, key=float)
    writer.writerow([*_POINT_COLUMNS, *(f"p{name}_seconds" for name in shares), *_ENERGY_COLUMNS])
    for p in points:
        energy = p["energy"] or {}
        writer.writerow(
            [
                *(p[name] for name in _POINT_COLUMNS),
                *(p["percentiles_seconds"].get(name, "") for name in shares),
                *(energy.get(name, "") for name in _ENERGY_COLUMNS),
            ]
        )
    return text.getvalue()


def samples_csv(samples: Sequence[Mapping[str, Any]]) -> str:
    """Return samples as the CSV that the csv: meter replays, seconds from the first."""
    first = samples[0]["at_seconds"] if samples else 0.0
    return "".join(["seconds,watts\n", *(f"{s['at_seconds'] - first:.6f},{s['watts']:g}\n" for s in samples)])


def plot_points(points: Sequence[Mapping[str, Any]], suffix: str, title: str) -> bytes:
    """Draw bandwidth and latency against size, and trials against time, with error bars of one standard deviation.

    That of a bandwidth is the standard deviation of the mean of its trials (Mansbach 2009, eq. 3). With energies, also
    bits per joule, and how bandwidth and bits per joule differ where the highest of either is 1 (his figs. 13 and 14).
    Trials are repeats and mean seconds by the time since the first (his figs. 15 and 16). Returns a file of the kind
    that the suffix names (default .png). Raises InputError if matplotlib is not installed, or does not support that
    kind.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - heavy, and only plots need it
    except ImportError:
        raise InputError([Finding("--plot", "matplotlib (pip install matplotlib)", "not installed")]) from None

    measured = [p for p in points if p["energy"]]
    timed = any(p["ended_seconds"] for p in points)  # a file of NetPIPE's has no times
    count = 2 + 2 * bool(measured) + timed
    figure = Figure(figsize=(7, 3 * count), layout="constrained")
    panels = list(figure.subplots(count, 1))
    by_size = panels[: count - timed]
    size = [p["bytes"] for p in points]
    relative = [p["mean_sigma_seconds"] / p["mean_seconds"] for p in points]
    bandwidth = [p["bits_per_second"] for p in points]
    panels[0].errorbar(size, bandwidth, [b * r for b, r in zip(bandwidth, relative, strict=True)], fmt=".-", capsize=2)
    panels[0].set_ylabel("bandwidth (bit/s)")
    panels[1].errorbar(size, [p["seconds"] for p in points], [p["sigma_seconds"] for p in points], fmt=".-", capsize=2)
    panels[1].set_ylabel("one-way time (s)")
    panels[1].set_yscale("log")
    if measured:
        energy = [p["energy"] for p in measured]
        rates, sigmas = [e["bits_per_joule"] for e in energy], [e["bits_per_joule_sigma"] for e in energy]
        panels[2].errorbar([p["bytes"] for p in measured], rates, sigmas, fmt=".-", capsize=2)
        panels[2].set_ylabel("energy rate (bit/J)")
        for label, values in scaled(measured).items():
            panels[3].plot([p["bytes"] for p in measured], values, ".-", label=label)
        panels[3].set_ylabel("highest = 1")
        panels[3].legend()
    for panel in by_size:
        panel.set_xscale("log", base=2)
        panel.set_xlim(by_size[0].get_xlim())
    by_size[-1].set_xlabel("message (bytes)")
    if timed:
        at = [p["began_seconds"] - points[0]["began_seconds"] for p in points]
        panels[-1].plot(at, [p["repeats"] for p in points], ".-", label="repeats")
        panels[-1].plot(
            at, [2 * p["repeats"] * p["mean_seconds"] for p in points], ".-", label="mean seconds of a trial"
        )
        panels[-1].set_yscale("log")
        panels[-1].set_xlabel("time since the first trial (s)")
        panels[-1].legend()
    panels[0].set_title(title)
    drawn = io.BytesIO()
    try:
        figure.savefig(drawn, format=suffix.removeprefix(".") or "png")
    except ValueError as error:
        raise InputError([Finding("--plot", "a file that can be written, .svg, .png or .pdf", str(error))]) from None
    return drawn.getvalue()


def scaled(points: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Return bandwidth and bits per joule of points that have both, each over its highest, and their difference."""
    both = [[p["bits_per_second"] for p in points], [p["energy"]["bits_per_joule"] for p in points]]
    bandwidth, rate = ([value / max(each) for value in each] for each in both)
    difference = [b - r for b, r in zip(bandwidth, rate, strict=True)]
    return {"bandwidth": bandwidth, "energy rate": rate, "difference": difference}


def policy_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return the measured sleep policy, with 95 % confidence intervals."""
    lines = row("link", f"{payload['verdict']}, tried with {count(len(payload['gaps']), 'gap')}")
    names = (
        ("awake_seconds", "awake", "round trip while awake"),
        ("timeout_seconds", "time-out", "idle time before it falls asleep"),
        ("overshoot_seconds", "overshoot", "Ts + Tw, the longest delay of a message"),
        ("sleep_seconds", "Ts", "to fall asleep"),
        ("wake_seconds", "Tw", "to wake"),
    )
    for key, label, words in names:
        if (each := payload[key]) is not None:
            low, high = each["low"] * MICRO, each["high"] * MICRO
            lines += row(label, f"{each['value'] * MICRO:.1f} us ({low:.1f} to {high:.1f}): {words}")
    if payload["assumed"]:
        lines += row("assumed", payload["assumed"])
    if payload["eee"]:
        lines.append(f"next      tagloom predict BUILD --eee {payload['eee']}")
    return lines + _end_lines(payload)


def transfer_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return the paper's two tables beside ours: a file by TCP, and by UDP, over a blocked link."""
    lines = []
    for protocol in ("tcp", "udp"):
        found = [t for t in payload["transfers"] if t["protocol"] == protocol]
        if not found:
            continue
        lines += ["", f"a file of {found[0]['bytes']:,} bytes by {protocol.upper()}, blocked once a second"]
        cells: list[tuple[str, ...]] = []
        for t in found:
            ms = f"{t['blocked_seconds'] * 1e3:g} ms"
            if protocol == "tcp":
                _, off, on = t["paper_seconds"]
                paper = (f"{off:.2f} s", f"{on:.2f} s") if off is not None else ("-", "-")
                slow = f"{t['slowdown_percent']:+.2f} %" if t["slowdown_percent"] is not None else "-"
                cells.append((ms, f"{t['seconds']:.2f} s", slow, f"+{t['expected_slowdown_percent']:.2f} %", *paper))
            else:
                lost = f"{t['lost_percent']:.2f} %" if t["lost_percent"] is not None else "-"
                paper_lost = f"{t['paper_lost_percent']:.2f} %" if t["paper_lost_percent"] is not None else "-"
                theirs = ["-" if s is None else f"{s:.2f} s" for s in t["paper_seconds"]]
                losses = (lost, f"{t['expected_lost_percent']:.2f} %", paper_lost)
                cells.append((ms, f"{t['sent_packets']:,}", *losses, f"{t['seconds']:.2f} s", *theirs))
        heads = (
            ("blocked", "time", "slower", "expected", "paper", "with PAUSE")
            if protocol == "tcp"
            else ("blocked", "packets", "lost", "expected", "paper", "time", "paper", "with PAUSE")
        )
        lines += table(heads, cells, right=tuple(range(len(heads))))
    return lines + _end_lines(payload)
