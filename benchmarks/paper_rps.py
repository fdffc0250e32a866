"""The rows of docs/papers.md on Blanquicet, Christensen 2007."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import rate_switch
from paper_rows import HERE, NOT_RUN, UNKNOWN, WHY_NOT, Row

from judges.transfers import tcp_transfer, udp_transfer

TITLE = (
    "Blanquicet, Christensen: *An Initial Performance Evaluation of Rapid PHY Selection (RPS) for Energy Efficient "
    "Ethernet*, IEEE LCN, 2007"
)


def rows() -> list[Row]:
    """Return the rows of Blanquicet, Christensen 2007."""
    rates = "[rates](../benchmarks/results/rate-switch.md), `python benchmarks/rate_switch.py`"
    off, on = (", ".join(f"{rate_switch.TABLE_1[t][i]:.2f}" for t in rate_switch.OUTAGES) for i in (0, 1))
    took = ", ".join(f"{tcp_transfer(rate_switch.UNDISTURBED, t, 1.0).seconds:.2f}" for t in rate_switch.OUTAGES)
    holds = ", ".join(f"{1e3 * rate_switch.hold_seconds(t):.1f}" for t in rate_switch.OUTAGES)
    udp = [udp_transfer(rate_switch.UDP_BYTES, rate_switch.UDP_BPS, t, 1.0) for t in rate_switch.OUTAGES]
    lost = ", ".join(f"{100 * each.loss_share:.2f}" for each in udp)
    return [
        (
            "eq. 1",
            "bytes lost, of two conditions printed under it swapped",
            "L = max(0, min(B, R T) - S)",
            "the same",
            f"{rates}; its points there are ours",
        ),
        ("T1", "seconds of a TCP transfer, T = 1, 10, 20 ms, PAUSE off", off, took, rates),
        (
            "T1",
            "the same, PAUSE on",
            on,
            f"{took}, and holds of {holds} ms each that one PAUSE frame does not explain",
            rates,
        ),
        (
            "T2",
            "percent of a UDP stream lost",
            ", ".join(f"{x:.2f}" for x in rate_switch.TABLE_2.values()),
            lost,
            rates,
        ),
        ("T2", "its times, s", UNKNOWN, f"{udp[0].seconds:.2f}, whatever T: a steady stream without PAUSE", HERE),
        ("F1 to F3", UNKNOWN, UNKNOWN, NOT_RUN, WHY_NOT),
    ]
