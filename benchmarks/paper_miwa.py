"""The rows of docs/papers.md on Miwa, Aita, Nakamura 2013."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import miwa
from paper_rows import HERE, NOT_RUN, Row, column

from judges.application import predicted_seconds
from tagloom.predict.eee import POWERCONNECT_5548, delay_seconds, idle_seconds, overhead_seconds
from tagloom.predict.link import one_link
from tagloom.predict.phy import load_phy

TITLE = (
    "Miwa, Aita, Nakamura: *Performance estimation of high performance computing systems with Energy Efficient "
    "Ethernet technology*, Computer Science - Research and Development 29(3), 2013"
)
FIGURES = "[figures](../benchmarks/results/miwa.md), `python benchmarks/miwa.py`"
PHYS = ("100BASE-TX", "1000BASE-T", "10GBASE-T")
SCATTER = 0.1  # of the intervals between pings: our choice, with which the peak of Fig. 3 is as high as the paper's
GAPS = np.linspace(0.5e-3, 4e-3, 351)  # of Fig. 3


def micro(seconds: float | None) -> str:
    """Return a time in microseconds, as short as it is exact."""
    return "-" if seconds is None else f"{1e6 * seconds:g}"


def table_1() -> str:
    """Return Ts and Tw of the three PHYs of table 1."""
    return ", ".join(f"{micro(load_phy(name).sleep_seconds)} / {micro(load_phy(name).wake_seconds)}" for name in PHYS)


def saved(lpi_power: float) -> float:
    """Return the percent of power that an idle link saves at this power in LPI."""
    return 100 * (1 - one_link(replace(POWERCONNECT_5548, lpi_power=lpi_power), 0.0, 1500, 1e9).power_relative)


def peak(variation: float) -> float:
    """Return the longest mean wait of Fig. 3 in microseconds, where intervals vary by this share of their mean."""
    return 1e6 * max(overhead_seconds(gap, POWERCONNECT_5548, variation) for gap in GAPS.tolist())


def platforms() -> list[Row]:
    """Return the rows on EEE, the switch and the two platforms."""
    waits = ", ".join(micro(round(delay_seconds(gap * 1e-6, POWERCONNECT_5548), 9)) for gap in (1000, 1001, 1182, 4000))
    probe = "`tagloom measure idle-gap --emulate 1e-3,182e-6,60e-6`"
    refresh = one_link(POWERCONNECT_5548, 0.0, 1500, 1e9, 20e-3, 198e-6)
    found = column("measuring.md", "## A link's sleep policy", "virtual, 1 ms", slice(1, 4))
    return [
        (
            "Sect. 1",
            "interconnects of all power; power that a port saves in LPI",
            "33 %; up to 70 %",
            f"an idle link saves {saved(0.3):.0f} % at an LPI power of 0.3, {saved(0.1):.0f} % at our 0.1",
            f"`tagloom eee --phy PowerConnect-5548 --load 0 --lpi-power 0.3`, {HERE}; the 33 % are another work's",
        ),
        (
            "T1",
            "least Ts / Tw of 100BASE-TX, 1000BASE-T, 10GBASE-T, us",
            "200 / 30, 182 / 16, 2.88 / 4.48",
            table_1(),
            f"`tagloom eee --phy 1000BASE-T --load 0.1 --idle-timeout 0`, {HERE}; IEEE 802.3-2022 has 16.5",
        ),
        (
            "F1",
            "a drawing of sleep, quiet, refresh and wake",
            "no number",
            f"an idle 1000BASE-T link draws {100 * refresh.power_relative:.2f} % with refreshes of 198 us every 20 ms",
            f"`tagloom eee --phy 1000BASE-T --load 0 --idle-timeout 0 --refresh`, {HERE}",
        ),
        (
            "Sect. 2",
            "a mode change beside a reset of an Ethernet controller",
            "100 times faster",
            NOT_RUN,
            "none: the reset is another work's measurement of another controller",
        ),
        (
            "Sect. 4.1",
            "policy: time-out, then sleep; wake on demand",
            "the policy",
            "the same, with Ts that cannot be interrupted",
            "`tagloom predict BUILD --eee TIMEOUT,TS,TW`",
        ),
        (
            "T2",
            "PowerConnect 5548, DL360p Gen8 with EEE, T400s without",
            "the devices",
            "the switch's times, as a device that commands know by name",
            "`tagloom eee --phy PowerConnect-5548 --load 0.01`; `tagloom measure idle-gap --connect HOST` on real ones",
        ),
        (
            "F2",
            "two nodes at a switch: one link sleeps, the other does not",
            "the platform",
            "one emulated link that sleeps",
            probe,
        ),
        (
            "Sect. 5.1.1",
            "1,000 pings at intervals of 0.5 to 4 ms, EEE on less EEE off",
            "the procedure",
            "89 gaps of 0.5 to 4 ms, finer where the policy shows, 40 messages after each; `--baseline` is EEE off",
            f"{probe} ([measuring](measure.md))",
        ),
        (
            "F3",
            "time-out and Tw found, us",
            "1000 and 60; the console says 60",
            f"{found[0]} and {found[2]}, Ts {found[1]}",
            f"{probe}, of a link with these times ([measured](../benchmarks/results/measuring.md))",
        ),
        (
            "F3",
            "wait after an interval, us",
            "0 up to 1 ms, around 100 just above, near 60 later",
            (
                f"after exactly 1000, 1001, 1182 and 4000 us: {waits}; the highest mean where intervals vary by "
                f"{100 * SCATTER:.0f} %: {peak(SCATTER):.0f}"
            ),
            f"{HERE}; Ts + Tw is the most of one message, the mean of 1,000 pings is lower",
        ),
    ]


def equations() -> list[Row]:
    """Return the rows on eqs. 1 to 4."""
    gap = idle_seconds(1.0, 1000, 1024, 1e9)
    overhead = overhead_seconds(gap, POWERCONNECT_5548)
    command = "`tagloom predict BUILD --eee FILE`"
    return [
        (
            "eq. 1, eq. 2",
            "run time asleep, T + n f(I)",
            "the equations",
            f"the program of eq. 4's example takes {predicted_seconds(1.0, 1000, overhead, 1):.4f} s with our f",
            f"{command}: `eq. 3`, JSON `seconds_by_fit`, for the curve that `tagloom fit` found; this one: {HERE}",
        ),
        (
            "eq. 3",
            "f(I): 0 up to t, then c (1 - exp(-alpha (I - t0)))",
            "t, t0, c, alpha fitted, no values in the text",
            "fitted, t0 = t unless the pairs jump; and an f without a fit: "
            + ", ".join(f"{1e6 * overhead_seconds(i * 1e-6, POWERCONNECT_5548):.1f}" for i in (500, 1000, 10000))
            + " us after gaps of 500, 1000 and 10000 us",
            f"`tagloom fit --pairs FILE -o switch.yml`, then {command}; {HERE}",
        ),
        (
            "eq. 4",
            "gap between 1,000 messages of 1,024 bits in 1 s at 1 Gb/s, us",
            "999",
            f"{1e6 * gap:.3f}",
            HERE,
        ),
    ]


def rows() -> list[Row]:
    """Return the rows of Miwa, Aita, Nakamura 2013."""
    four, sixteen = (column("miwa.md", "## Figs. 6", name, slice(2, 10)) for name in ("6 (4", "7 (16"))
    fits = [f"t {cells[1]} us, c {cells[3]} us, alpha {cells[4]} / s" for cells in (four, sixteen)]
    worst = column("miwa.md", "## Figs. 8", "4,096", slice(1, 5))
    long = column("miwa.md", "## Figs. 8", "131,072", slice(1, 2))[0]
    lost = [column("miwa.md", "## Fig. 11", name.upper(), slice(1, 2))[0] for name in miwa.eee_error.NPB]
    seconds = float(worst[0]) * miwa.WORST[2] / 100
    return [
        *platforms(),
        *equations(),
        (
            "T3",
            "four nodes of two 8-core processors at 2.7 GHz, 1000BASE-T",
            "the devices",
            "1 and 4 processes on each of four hosts at 1 Gb/s; what they compute is given, not simulated",
            FIGURES,
        ),
        ("F4", "four nodes around one switch", "the platform", "the same, simulated frame by frame", FIGURES),
        (
            "F5",
            "the synthetic application: MPI_Alltoall and usleep, 100,000 times, 256 B to 128 KB, 0 to 1000 us",
            "the program",
            "the same 66 runs, 40 calls each; a usleep takes 60 us more than its argument",
            FIGURES,
        ),
        (
            "F6",
            "overhead by mean gap, 4 processes, and eq. 3 fitted",
            "points and a curve without numbers",
            f"gaps of {four[0]} us; {fits[0]}",
            f"{FIGURES}; ours rises at the time-out, theirs before, since some of their gaps are longer than the mean",
        ),
        (
            "F7",
            "the same, 16 processes",
            "points and a curve without numbers; gaps said too short",
            f"gaps of {sixteen[0]} us, a quarter of the true ones; {fits[1]}",
            f"{FIGURES}; the processes of a node call together, and n counts each, as in the paper",
        ),
        (
            "F6 text",
            "two runs of one configuration apart, s",
            "up to 13.2",
            NOT_RUN,
            "none: their firmware changed the processors' clock; simulated processors have none",
        ),
        (
            "F8 text",
            "seconds of one call of 128 KB, 4 processes",
            "around 1.8 ms",
            f"{1e3 * float(long) / miwa.CALLS:.2f} ms with a usleep of 100 us",
            f"{FIGURES}; most of theirs is work before and after the transfer, which is not simulated",
        ),
        (
            "F8 text",
            "1.73 KB over 1 Gb/s, us",
            "1.73, a slip: bytes for bits",
            f"{8 * 1730 / 1e9 * 1e6:.2f}",
            HERE,
        ),
        (
            "F8",
            "error of eqs. 1 to 4, 4 processes, mean / worst",
            "2.63 / 20.0 %",
            four[6],
            f"{FIGURES}; ours is fitted to runs without scatter of clocks",
        ),
        ("F9", "the same, 16 processes", "1.11 / 15.3 %", sixteen[6], FIGURES),
        (
            "F10",
            f"worst slow-down: {miwa.WORST[0] // 1024} KB, usleep of {miwa.WORST[1]} us, 4 processes",
            f"{miwa.WORST[2]} %",
            f"{worst[3]} of {float(worst[0]):.1f} s; the worst of all, {four[7]}",
            (
                f"{FIGURES}. A call of 0.2 ms leaves no gap near the time-out of 1 ms, so sleep costs nothing in ours; "
                f"{miwa.WORST[2]} % of our run are {seconds:.1f} s, less than the 13.2 s by which their runs of one "
                "configuration differ"
            ),
        ),
        (
            "F11",
            "NAS benchmarks, class B, 16 processes",
            "EEE on like EEE off in most; bars without numbers",
            f"class S, {', '.join(name.upper() for name in miwa.eee_error.NPB)}: {', '.join(lost)}",
            f"{FIGURES}; no matrices of class B are kept here, and ours compute 1 ms between exchanges",
        ),
        (
            "Sect. 5.2.1",
            "10 runs of each, mean; TAU's paraprof counts calls and bytes",
            "the procedure",
            "one run of each, since a simulation repeats itself; profiles of TAU, mpiP and paraprof are read",
            (
                f"`tagloom predict BUILD --profile FILE`, {FIGURES}. Of paraprof's summary times and calls count; its "
                "bytes are sums of mean sizes, so the forecast is an interval"
            ),
        ),
        (
            "errors",
            "eqs. 1 to 4 with a fit to a ping-pong instead, 4 / 16 processes, mean / worst",
            "2.63 / 20.0 %, 1.11 / 15.3 % (fitted to the runs themselves)",
            " and ".join(
                column("eee-errors.md", "### PowerConnect 5548", f"{n} processes", slice(4, 5))[0] for n in (4, 16)
            ),
            "[errors](../benchmarks/results/eee-errors.md), `python benchmarks/eee_error.py`",
        ),
    ]
