"""The rows of docs/papers.md on Mansbach 2009."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from paper_rows import HERE, NOT_RUN, RESULTS, UNKNOWN, WHY_NOT, Row

from tagloom.measure.energy import bandwidth

TITLE = (
    "Mansbach: *Power Measurement and Modulization in the Network Protocol Independent Performance Evaluator "
    "(NetPIPE)*, Journal of Young Investigators, 2009"
)


def rows() -> list[Row]:
    """Return the rows of Mansbach 2009."""
    kept = (RESULTS / "measuring.md").read_text("utf-8")
    beside = kept.partition("| where | NPtcp")[2].partition("\n\n")[0]
    peaks = [float(line.strip("| ").split(" | ")[-1]) for line in beside.splitlines()[2:]]
    measure = "`tagloom measure pingpong --meter M` ([measuring](measure.md))"
    b, sigma = bandwidth(8e6, 100, 2.0, 0.1)
    return [
        ("eq. 1", "repeats", "i = r o / (t n)", "the same", measure),
        ("eq. 2", "bandwidth", "b = 2 i m / t", f"100 round trips of 1 MB in 2 s: {b / 1e6:.0f} Mb/s", HERE),
        (
            "eq. 3",
            "its deviation",
            "b / (sigma_t t), a misprint",
            f"b sigma_t / t, of 0.1 s here {sigma / 1e6:.0f} Mb/s",
            HERE,
        ),
        (
            "eq. 4 to 6",
            "bits per joule, joules per bit, their deviations",
            "relative errors in quadrature",
            "the same",
            measure,
        ),
        (
            "abstract",
            "peak bandwidth of Python's module over C's",
            "about one half",
            f"{min(peaks):g} to {max(peaks):g} of NPtcp's",
            "[measuring](measure.md), `python benchmarks/pingpong.py`",
        ),
        (
            "text",
            "lag of the meter, s",
            "2 +- 0.3 and 1.7 +- 0.1",
            NOT_RUN,
            "none: no meter here; `tagloom measure power --calibrate` finds it",
        ),
        (
            "text",
            "correlation of bandwidth and bits per joule, C and Python",
            "0.98908 and 0.99877",
            NOT_RUN,
            f"none: no meter here; {measure} prints it",
        ),
        ("F1 to F18", UNKNOWN, UNKNOWN, NOT_RUN, WHY_NOT),
    ]
