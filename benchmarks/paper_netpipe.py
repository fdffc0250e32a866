"""The rows of docs/papers.md on Mansbach 2009."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from paper_rows import HERE, NOT_RUN, RESULTS, Row

from tagloom.measure.energy import bandwidth, extremes, quotient
from tagloom.measure.sizes import repeats
from tagloom.records.measurement import Point

TITLE = (
    "Mansbach: *Power Measurement and Modulization in the Network Protocol Independent Performance Evaluator "
    "(NetPIPE)*, SULI report, Ames Laboratory, 2009"
)
MEASURE = "`tagloom measure pingpong --local --meter M` ([measuring](measure.md))"
NO_METER = "none: no wall meter was at hand"
PEAKS = "[measured](../benchmarks/results/measuring.md), `python benchmarks/pingpong.py`"
TRIALS = 1.9, 2.0, 2.1  # seconds of 100 round trips of 1 MB: an example
POWER, POWER_SIGMA = 100.0, 2.0  # watts, of the same


def equations() -> list[Row]:
    """Return the rows on eqs. 1 to 6, each with the same example."""
    point = Point(1_000_000, 100, TRIALS)
    b, sigma = bandwidth(8e6, 100, point.mean_seconds, point.mean_sigma_seconds)
    rate, rate_sigma = quotient(b, sigma, POWER, POWER_SIGMA)
    least, most = extremes(b, sigma, POWER, POWER_SIGMA)
    assert most is not None  # the power is certain enough
    return [
        (
            "eq. 1",
            "repeats of the next size",
            "i = r o / (t n)",
            (
                f"the same, not fewer than trials: {repeats(0.1, 1000, 1e-5, 2000, 3):,} for r = 0.1 s, o = 1000 B, "
                "t = 10 us, n = 2000 B"
            ),
            f"{HERE}, {MEASURE}",
        ),
        (
            "eq. 2",
            "bandwidth, b = 2 i m / t",
            "the equation",
            f"100 round trips of 1 MB in 2 s: {b / 1e6:.0f} Mb/s",
            f"{HERE}, {MEASURE}",
        ),
        (
            "eq. 3",
            "its deviation; sigma_t is the standard deviation of the mean",
            "b / (sigma_t t), a misprint: its text says equal percent errors",
            f"b sigma_t / t: {sigma / 1e6:.1f} Mb/s for trials of {', '.join(map(str, TRIALS))} s",
            f"{HERE}, {MEASURE}",
        ),
        (
            "eq. 4, eq. 5",
            "most and least bits per joule, (b +- sigma_b) / (p -+ sigma_p)",
            "the equations",
            f"{most / 1e6:.3f} and {least / 1e6:.3f} Mbit/J at {POWER:.0f} +- {POWER_SIGMA:.0f} W",
            f"{HERE}, {MEASURE}: JSON `bits_per_joule_most`, `_least`",
        ),
        (
            "eq. 6",
            "deviation of bits per joule, in quadrature",
            "the equation",
            f"{rate / 1e6:.3f} +- {rate_sigma / 1e6:.3f} Mbit/J, the same example",
            f"{HERE}, {MEASURE}",
        ),
    ]


def figures() -> list[Row]:
    """Return the rows on Figs. 1 to 18."""
    kept = (RESULTS / "measuring.md").read_text("utf-8").partition("| where | NPtcp")[2].partition("\n\n")[0]
    cells = [line.strip("| ").split(" | ") for line in kept.splitlines()[2:]]
    peaks = [float(row[-1]) for row in cells]
    curves = "a curve without numbers"
    plot = "`tagloom measure pingpong --local --meter M --plot a.svg`"
    no_meter = f"{NO_METER}; {plot} draws ours"
    return [
        (
            "F1",
            "NetPIPE's core: the shortest of some trials, over 2 i",
            "the algorithm",
            "the same, and every trial's time",
            MEASURE,
        ),
        (
            "F2",
            "bandwidth of the C and the Python module, by size",
            "C higher, with a larger spread; Python's peak about one half of C's",
            f"peak {min(peaks):g} to {max(peaks):g} of NPtcp's, in four settings",
            PEAKS,
        ),
        ("F3", "power of both modules, by size", curves, NOT_RUN, no_meter),
        ("F4", "bandwidth per watt of both modules, by size", curves, NOT_RUN, no_meter),
        (
            "F5, F6",
            "bandwidth of each module: a peak, then less",
            "curves without numbers",
            f"peaks of {', '.join(row[2].rpartition(', ')[2] for row in cells)} in the same settings",
            f"{PEAKS}; `tagloom measure pingpong --local --plot a.svg` draws ours",
        ),
        ("F7 to F10", "power beside bandwidth of each module, by size, and means", "curves", NOT_RUN, no_meter),
        ("F11, F12", "bits per joule beside bandwidth of each module", "curves", NOT_RUN, no_meter),
        (
            "F13, F14",
            "both scaled to 1, and their difference",
            "curves",
            NOT_RUN,
            f"{NO_METER}; {plot} draws the difference",
        ),
        (
            "F15, F16",
            "iterations and mean seconds of a trial, by time",
            "curves, alike for both modules",
            "iterations and seconds of every trial by time since the first; NetPIPE's rule, eq. 1",
            "`tagloom measure pingpong --local --plot a.svg`",
        ),
        (
            "F17, F18",
            "latency of each module, by size",
            "curves, alike for both modules",
            f"of small messages {', '.join(row[-2] for row in cells)} of NPtcp's",
            PEAKS,
        ),
    ]


def rows() -> list[Row]:
    """Return the rows of Mansbach 2009."""
    return [
        *equations(),
        *figures(),
        (
            "methods",
            "one computer of two processors, three to four hours of NetPIPE",
            "the experiment",
            "one computer of two processors, both ends pinned; minutes",
            f"{PEAKS}; `--target` and `--trials` of `tagloom measure pingpong` make it as long",
        ),
        (
            "methods",
            "Watts Up? PRO, once a second, read by another process; time stamps match it with sizes",
            "the procedure",
            "the same meter and others, read by another thread; a sample, less the lag, is of the size it falls into",
            MEASURE,
        ),
        (
            "methods",
            "cost of reading the time",
            "assumed negligible; to be validated",
            "measured before every run, and printed beside the shortest trial",
            "`tagloom measure pingpong --local` (`timer`)",
        ),
        (
            "results",
            "lag of the meter, desktop and laptop, s",
            "2 +- 0.3 and 1.7 +- 0.1",
            "lags of 0.3 to 4.45 s, injected, are found within 0.1 s",
            (
                "`tagloom measure power --meter M --calibrate` ([measuring](measure.md)): a load at random, not every "
                "ten seconds"
            ),
        ),
        (
            "results",
            "correlation of bandwidth and bits per joule, C and Python",
            "0.98908 and 0.99877",
            NOT_RUN,
            f"{NO_METER}; {MEASURE} prints it",
        ),
        (
            "discussion",
            "two computers, each with a meter, or one for both",
            "the next experiment",
            "two meters at once: watts add up, variances too",
            "`tagloom measure pingpong --connect HOST --meter A --meter B` ([measuring](measure.md))",
        ),
        (
            "discussion",
            "spikes of the C module's bandwidth at some sizes",
            "unexplained",
            NOT_RUN,
            "none: that module is not published, so that nobody can look for the spikes elsewhere",
        ),
        (
            "discussion",
            "two computers of different networks, over SSH; other operating systems",
            "proposed",
            "one command for both ends over SSH; Linux alone",
            "`tagloom measure pingpong --ends A B` ([measuring](measure.md))",
        ),
    ]
