"""The rows of docs/papers.md on Miwa, Aita, Nakamura 2013."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import eee_error
from paper_rows import HERE, NOT_RUN, UNKNOWN, WHY_NOT, Row, column

from judges.networks import star
from judges.simulate import simulate
from tagloom.predict.eee import POWERCONNECT_5548, delay_seconds, idle_seconds

TITLE = (
    "Miwa, Aita, Nakamura: *Performance estimation of high performance computing systems with Energy Efficient "
    "Ethernet technology*, Computer Science - Research and Development 29(3), 2013"
)
WORST = (4096, 100)  # bytes and microseconds of Miwa's worst slow-down, 25.8 %


def slowdown(timeout_seconds: float) -> float:
    """Return the percent by which sleep slows the paper's synthetic application where its worst was, simulated."""
    program = eee_error.synthetic(4, 40, np.random.default_rng(1), (WORST[0],), (WORST[1],))[0]
    policies = None, replace(POWERCONNECT_5548, timeout_seconds=timeout_seconds)
    awake, asleep = (simulate(star(4, 1e9, policy), program).seconds for policy in policies)
    return 100 * (asleep / awake - 1)


def rows() -> list[Row]:
    """Return the rows of Miwa, Aita, Nakamura 2013."""
    errors = "[errors](../benchmarks/results/eee-errors.md), `python benchmarks/eee_error.py`"
    device = "### PowerConnect 5548"
    four, sixteen = (column("eee-errors.md", device, f"{n} processes", slice(4, 5))[0] for n in (4, 16))
    waits = ", ".join(f"{1e6 * delay_seconds(gap * 1e-6, POWERCONNECT_5548):.0f}" for gap in (1000, 1001, 1100, 1182))
    worst = "; ".join(f"{1e6 * h:.0f} us: {slowdown(h):.1f} %" for h in (1e-3, 250e-6, 200e-6, 150e-6))
    return [
        ("T1 to T3", UNKNOWN, UNKNOWN, NOT_RUN, WHY_NOT),
        (
            "eq. 4",
            "gap between 1,000 messages of 1,024 bits in 1 s at 1 Gb/s, us",
            "999",
            f"{1e6 * idle_seconds(1.0, 1000, 1024, 1e9):.3f}",
            HERE,
        ),
        ("F1, F2", UNKNOWN, UNKNOWN, NOT_RUN, WHY_NOT),
        (
            "F3",
            "wait after a gap, PowerConnect 5548, us",
            "0 up to 1 ms, about 100 just above, 60 later",
            f"after 1000, 1001, 1100, 1182 us: {waits}",
            f"{HERE}; where the paper sees 100 our model reaches Ts + Tw, over a stretch of Ts alone",
        ),
        ("F4", UNKNOWN, UNKNOWN, NOT_RUN, WHY_NOT),
        ("F5", "the synthetic application: all-to-all every usleep", "the program", "the same, simulated", errors),
        ("F6 to F9", UNKNOWN, UNKNOWN, NOT_RUN, WHY_NOT),
        ("F10, F11", UNKNOWN, "not in our notes but for the next rows", NOT_RUN, WHY_NOT),
        ("text", "error of its model, 4 processes, mean / worst", "2.63 / 20.0 %", four, errors),
        ("text", "the same, 16 processes", "1.11 / 15.3 %", sixteen, errors),
        (
            "text",
            f"worst slow-down: {WORST[0] // 1024} KB, usleep of {WORST[1]} us, 4 processes",
            "25.8 %",
            f"by time-out: {worst}",
            (
                f"{HERE}. A round takes 0.3 ms (our slack of 60 us in it), so with the paper's own time-out of 1 ms no "
                "link falls asleep: its policy does not explain its worst case. A time-out between 150 and 200 us would"
            ),
        ),
    ]
