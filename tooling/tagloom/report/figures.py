"""Draw a forecast's figures for papers: load, sleep, savings; equal numbers give equal bytes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from tagloom.records.report import Report

FORMATS = ("pdf", "png")
NAMES = ("load", "wait", "sleep", "saving")
COLUMN_INCHES = (3.5, 2.4)  # one column of a two-column page
BLUE, VERMILION = "#005f99", "#d55e00"  # Okabe and Ito 2008
STYLE: dict[Any, Any] = {"font.size": 8, "pdf.fonttype": 42, "axes.grid": True, "grid.alpha": 0.3}
ABOVE: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 2, "frameon": False}
UNDATED: dict[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "png": {"Software": None}}


def figures(report: Report) -> dict[str, bytes]:
    """Draw load, wait, sleep and saving as PDF and PNG, and return the files by name.

    Raises InputError if matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415 - only figures need it, and it takes half a second
    except ImportError:
        raise InputError(
            [Finding("--figures", "matplotlib:  pip install 'tagloom[figures]'", "not installed")]
        ) from None
    files = {}
    with mpl.rc_context(STYLE):
        for name, draw in zip(NAMES, (_load, _wait, _sleep, _saving), strict=True):
            if name == "saving" and report.forecast.power_unknown:
                continue
            figure, axes = _sheet()
            draw(axes, report)
            for kind in FORMATS:
                drawn = io.BytesIO()
                figure.savefig(drawn, format=kind, dpi=300, metadata=UNDATED[kind])
                files[f"{name}.{kind}"] = drawn.getvalue()
    return files


def _sheet() -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # noqa: PLC0415 - as above

    figure = Figure(figsize=COLUMN_INCHES, layout="constrained")
    return figure, figure.add_subplot()


def _load(axes: Any, report: Report) -> None:
    """Draw the cumulative number of channels by load, of those that carry anything."""
    load = np.sort(report.load[report.load > 0])
    axes.step(load, np.arange(1, len(load) + 1), where="post", color=BLUE)
    axes.set(
        xlabel=f"load of a channel, {report.load_unit}", ylabel="channels in use, at most so loaded", ylim=(0, None)
    )


def _wait(axes: Any, report: Report) -> None:
    gap = [1e6 * p.gap_seconds for p in report.gaps]
    axes.semilogx(gap, [1e6 * p.periodic_wait_seconds for p in report.gaps], color=BLUE, label="regular gaps")
    random = [1e6 * p.random_wait_seconds for p in report.gaps]
    axes.semilogx(gap, random, color=VERMILION, linestyle="--", label="random gaps of this mean")
    axes.set(xlabel="idle gap, us", ylabel="wait of a message, us")
    axes.legend(**ABOVE)


def _sleep(axes: Any, report: Report) -> None:
    load = [100 * p.load for p in report.loads]
    axes.semilogx(load, [100 * p.power_relative for p in report.loads], color=BLUE, label="power, % of awake")
    axes.semilogx(
        load, [1e6 * p.mean_delay_seconds for p in report.loads], color=VERMILION, linestyle="--", label="mean wait, us"
    )
    axes.set(xlabel="load of a link, %", ylabel="% and us", ylim=(0, None))
    axes.legend(**ABOVE)


def _saving(axes: Any, report: Report) -> None:
    """Draw the switches' watts: with all links on, with these settings, and with host ports asleep besides."""
    f = report.forecast
    before, after, asleep = f.watts_before, f.watts_after, f.eee_saved_watts
    assert before and after and asleep  # noqa: S101, PT018 - drawn only where all watts are known
    bars = {"all on": before.value, "settings": after.value}
    if f.seconds_base.value:
        bars["settings and EEE"] = after.value - asleep.value
    drawn = axes.bar(list(bars), list(bars.values()), color=BLUE, width=0.6)
    axes.bar_label(drawn, fmt="%.1f")
    axes.margins(y=0.12)
    axes.set(ylabel="watts of all switches")
