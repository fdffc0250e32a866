"""Write results/rate-switch.md: Tables I and II of Blanquicet and Christensen, predicted and measured.

With `--burst` and others: what one burst loses of a switch's buffer, and how likely it is to lose anything.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from judges.transfers import tcp_transfer, udp_transfer
from tagloom import platforms
from tagloom.predict.rate_switch import longest_pause_seconds, loss_probability, lost_bytes, lost_packets

OUTAGES = (1e-3, 10e-3, 20e-3)
UNDISTURBED = 15.64  # Table I: the transfer without interruptions, in seconds
TABLE_1 = {1e-3: (15.64, 16.16), 10e-3: (15.64, 16.41), 20e-3: (15.93, 16.65)}  # measured, PAUSE off and on
TABLE_2 = {1e-3: 0.05, 10e-3: 1.00, 20e-3: 1.98}  # measured UDP loss, percent
UDP_UNDISTURBED = 28.08
UDP_SECONDS = {1e-3: (28.18, 28.25), 10e-3: (28.14, 28.35), 20e-3: (28.14, 28.68)}  # measured, PAUSE off and on
VOICE_PACKETS, VOICE_BYTES = 50, 214.0  # a second, on the wire: 20 ms of uncompressed speech each (G.711)
WEB_BYTES, WEB_BPS = 300e3, 10e6  # of a page and its pictures over the internet: our choice, of 2007
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


def voice(outage: float, seconds: float = 600.0) -> tuple[float, float]:
    """Return the share of a call's packets that wait for a link that is away once a second, and their longest wait.

    The voice's clock is not the link's: packets come at every moment of the second alike.
    """
    each = np.arange(round(seconds * VOICE_PACKETS))
    at = (each + each // VOICE_PACKETS * (np.sqrt(5.0) - 1.0) / 2.0) / VOICE_PACKETS % 1.0  # no two seconds are alike
    waits = np.maximum(outage - at, 0.0)
    return float((waits > 0).mean()), float(waits.max())


def web(outage: float) -> tuple[float, float]:
    """Return how long a page takes to come, and the longest that a link that is away once a second adds."""
    lasting = 8.0 * WEB_BYTES / WEB_BPS
    return lasting, np.ceil(lasting + outage) * outage


def answer(burst: float, rate: float, outage: float, buffer: float, period: float) -> str:
    """Return what a burst loses by eq. 1, and the probability that it loses anything."""
    lost = lost_bytes(burst, rate, outage, buffer)
    packets = lost_packets(lost, 1500.0)
    chance = loss_probability(burst, rate, outage, buffer, period)
    return (
        f"a burst of {burst:,.0f} bytes at {rate:g} b/s loses up to {lost:,.0f} bytes ({100 * lost / burst:.1f} %, "
        f"{packets:,} packets of 1500 bytes)\n"
        f"it loses something with a probability of {100 * chance:.3g} %, if the link is away for {outage:g} s every "
        f"{period:g} s\n"
    )


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
        "rows, which are 8 and 14 ms longer. The paper leaves it at 'some interaction between PAUSE flow control and",
        "TCP flow control'. [Transfers](rps-transfers.md) simulates that, frame by frame.",
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
        "## Table II: its times, s",
        "",
        "| T, ms | measured, PAUSE off | predicted | measured, PAUSE on | predicted |",
        "|---|---|---|---|---|",
        *(
            f"| {outage * 1e3:.0f} | {off:.2f} | {sending.seconds:.2f} | {on:.2f} | {waiting.seconds:.2f} |"
            for outage, (off, on) in UDP_SECONDS.items()
            for sending, waiting in [
                [udp_transfer(UDP_BYTES, UDP_BPS, outage, 1.0, pause=pause) for pause in (False, True)]
            ]
        ),
        "",
        f"The undisturbed transfer took {UDP_UNDISTURBED} s. With PAUSE the sender waits as long as the link is away,",
        "and nothing is lost. The measured times with PAUSE off differ by up to 0.1 s from the undisturbed one without",
        "an order: that is what one of these times may be off by.",
        "",
        "## Question 1: how likely a burst loses anything, percent, one interruption of 10 ms a second, B = 10 MB",
        "",
        "| R, Gb/s | " + " | ".join(f"S = {s / 1e6:g} MB" for s in FIGURE) + " |",
        "|---|" + "---|" * len(FIGURE),
        *(
            f"| {rate / 1e9:g} | "
            + " | ".join(f"{100 * loss_probability(10e6, rate, 10e-3, s, 1.0):.2f}" for s in FIGURE)
            + " |"
            for rate in (2e9, 4e9, 6e9)
        ),
        "",
        "The paper leaves this open. A burst loses bytes if it overlaps an interruption by more than S / R",
        "seconds. Other values: `python benchmarks/rate_switch.py --burst 10e6 --rate 4e9 --buffer 1e6 --outage",
        "10e-3 --period 1`.",
        "",
        "## Voice and web, one interruption a second",
        "",
        "| T, ms | voice packets that wait, % | longest wait, ms | 300 KB at 10 Mb/s, ms | later by up to, ms |",
        "|---|---|---|---|---|",
        *(
            f"| {outage * 1e3:.0f} | {100 * voice(outage)[0]:.2f} | {1e3 * voice(outage)[1]:.1f} "
            f"| {1e3 * web(outage)[0]:.0f} | {1e3 * web(outage)[1]:.0f} |"
            for outage in OUTAGES
        ),
        "",
        "The paper's two listeners noticed no difference. A player of speech waits for packets that are 20 ms",
        "late, and an interruption holds one packet or two of 214 bytes, which any buffer takes.",
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


def main() -> None:
    """Write the page, or answer for one burst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--burst", type=float, help="bytes of the burst, B")
    parser.add_argument("--rate", type=float, default=1e9, help="bits per second at which it comes, R")
    parser.add_argument("--buffer", type=float, default=0.0, help="bytes of the switch's buffer, S")
    parser.add_argument("--outage", type=float, default=10e-3, help="seconds the link is away, T")
    parser.add_argument("--period", type=float, default=1.0, help="seconds between two interruptions")
    args = parser.parse_args()
    if args.burst is not None:
        sys.stdout.write(answer(args.burst, args.rate, args.outage, args.buffer, args.period))
        return
    target = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "rate-switch.md"
    target.write_text(page(), "utf-8")
    sys.stdout.write(f"wrote {target.name}\n")


if __name__ == "__main__":
    main()
