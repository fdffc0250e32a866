"""Write results/rate-switch.md: Tables I and II of Blanquicet and Christensen, predicted and measured."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from judges.transfers import tcp_transfer, udp_transfer
from tagloom import platforms
from tagloom.predict.rate_switch import longest_pause_seconds, lost_bytes

OUTAGES = (1e-3, 10e-3, 20e-3)
UNDISTURBED = 15.64  # Table I: the transfer without interruptions, in seconds
TABLE_1 = {1e-3: (15.64, 16.16), 10e-3: (15.64, 16.41), 20e-3: (15.93, 16.65)}  # measured, PAUSE off and on
TABLE_2 = {1e-3: 0.05, 10e-3: 1.00, 20e-3: 1.98}  # measured UDP loss, percent
UDP_BYTES, UDP_BPS = 500e6, 142.5e6
BUFFERS = (0, 9e3, 128e3)
FIGURE = (0, 1e6, 2e6, 2.5e6, 5e6, 7.5e6)  # switch buffers of the paper's loss curves, T = 10 ms, B = 10 MB


def hold_seconds(outage: float) -> float:
    """Return how long each interruption of Table I with PAUSE on held the sender beyond its own length."""
    interrupted = tcp_transfer(UNDISTURBED, outage, 1.0)
    return (TABLE_1[outage][1] - interrupted.seconds) / interrupted.switches


def fitting_buffer(outage: float) -> float:
    """Return the buffer in bytes with which eq. 1 loses what Table II says; below 0 if none loses as much."""
    switches = udp_transfer(UDP_BYTES, UDP_BPS, outage, 1.0).switches
    return UDP_BPS * outage / 8 - TABLE_2[outage] / 100 * UDP_BYTES / switches


def fits() -> str:
    """Return the buffer that fits each row of Table II, in words."""
    found = [fitting_buffer(outage) / 1e3 for outage in OUTAGES]
    return ", ".join(f"{s:.1f} kB" if s > 0 else "none" for s in found)


def page() -> str:
    """Lay all tables out as Markdown."""
    lines = [
        "# Switching a link's rate: predicted beside measured",
        "",
        "Written by `python benchmarks/rate_switch.py`; a test checks that it still says so.",
        "",
        "## Table I: a TCP transfer, one interruption a second",
        "",
        "| T, ms | predicted, s | measured, PAUSE off | error | predicted, held, s | PAUSE on, s | error | hold, ms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for outage in OUTAGES:
        cells = [f"{outage * 1e3:.0f}"]
        for measured, held in zip(TABLE_1[outage], (0.0, longest_pause_seconds(1e9)), strict=True):
            predicted = tcp_transfer(UNDISTURBED, outage, 1.0, held).seconds
            cells += [f"{predicted:.3f}", f"{measured:.2f}", f"{100 * (predicted / measured - 1):+.2f} %"]
        cells.append(f"{1e3 * hold_seconds(outage):.1f}")
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "With PAUSE on, each of the 15 interruptions cost more than its own T: the column 'hold' divides what the",
        "measured transfer took besides. One PAUSE frame of the longest time, 33.6 ms at 1 Gb/s, which nobody took",
        "back (the column 'held' adds it), is the hold where T is 1 ms. It does not explain the holds of the other two",
        "rows, which are 8 and 14 ms longer: what else held the sender is not known to us, and what the paper says of",
        "it was not readable here.",
        "",
        "## Table II: loss of a UDP stream, one interruption a second, PAUSE off",
        "",
        "| T, ms | measured, % | " + " | ".join(f"predicted, S = {s / 1e3:.0f} kB" for s in BUFFERS) + " |",
        "|---|---|" + "---|" * len(BUFFERS),
    ]
    for outage in OUTAGES:
        shares = [100 * udp_transfer(UDP_BYTES, UDP_BPS, outage, 1.0, s).loss_share for s in BUFFERS]
        cells = [f"{outage * 1e3:.0f}", f"{TABLE_2[outage]:.2f}", *(f"{share:.2f}" for share in shares)]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        f"No buffer fits all three rows. Row by row, the buffers that fit are: {fits()}. The path had hardly any",
        "buffer; 128 kB would have lost nothing in 1 ms. (28 interruptions in 28.07 s.)",
        "",
        "## Loss of a burst, percent: L = max(0, min(B, R T) - S), T = 10 ms, B = 10 MB",
        "",
        "| R, Gb/s | " + " | ".join(f"S = {s / 1e6:g} MB" for s in FIGURE) + " |",
        "|---|" + "---|" * len(FIGURE),
    ]
    for rate in (2e9, 4e9, 6e9):
        cells = [f"{100 * lost_bytes(10e6, rate, 10e-3, s) / 10e6:.0f}" for s in FIGURE]
        lines.append(f"| {rate / 1e9:g} | {' | '.join(cells)} |")
    names = {
        "powerconnect-5324": "5324",
        "powerconnect-6224": "6224",
        "powerconnect-6248": "6248",
        "sf-0420g": "SF-420G",
    }
    keys = ("on_off", "1000_100", "100_1000", "100_10", "10_100", "1000_10", "10_1000")
    lines += [
        "",
        "## Seconds a link is away at least (Koibuchi et al. 2011, Table 6), and what 1 Gb/s loses without buffers",
        "",
        "| switch | " + " | ".join(keys) + " | lost in on_off, at least |",
        "|---|" + "---|" * (len(keys) + 1),
    ]
    for model, name in names.items():
        # YAML 1.1 reads the key 1000_100 as the number 1000100
        seconds = {str(key).replace("_", ""): value for key, value in platforms.load(model).toggle_seconds.items()}
        lost = lost_bytes(1e12, 1e9, seconds["onoff"], 0.0)
        lines.append(
            f"| {name} | {' | '.join(str(seconds[key.replace('_', '')]) for key in keys)} | {lost / 1e6:.0f} MB |"
        )
    lines += ["", "So paths are moved away before a link is touched, and a forecast says 0 bytes lost.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "rate-switch.md"
    target.write_text(page(), "utf-8")
    sys.stdout.write(f"wrote {target.name}\n")
