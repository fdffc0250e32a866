"""Turn series of numbers into SVG paths and axes with round ticks; series differ in dash and name."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from tagloom.report.decimals import decimal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 62, 28, 14, 46
TICKS = 5


@dataclass(frozen=True, slots=True)
class Series:
    """One curve: its name, its points in the units of the axes, and its style's number."""

    name: str
    points: tuple[tuple[float, float], ...]
    style: int


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart in pixels, WIDTH by HEIGHT: SVG paths by series, and ticks with labels.

    `rows` are the numbers behind it, for a table; `mark` is a vertical line with a label, or None.
    """

    title: str
    x_label: str
    y_label: str
    paths: tuple[tuple[str, str, int], ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    mark: tuple[float, str] | None = None


def chart(
    title: str,
    labels: tuple[str, str],
    series: Sequence[Series],
    *,
    log_x: bool = False,
    from_zero: bool = True,
    x_range: tuple[float, float] | None = None,
    x_ticks: Sequence[tuple[float, str]] | None = None,
    mark: tuple[float, str] | None = None,
) -> Chart:
    """Return a chart of series that share their x values; `x_ticks` replace the round ones."""
    xs = [x for each in series for x, _ in each.points]
    ys = [y for each in series for _, y in each.points]
    left, right = x_range or (min(xs), max(xs))
    steps = round_ticks(0.0 if from_zero else min(ys), max(ys))
    low, high = steps[0], steps[-1]

    def across(x: float) -> float:
        share = (log10(x / left) / log10(right / left)) if log_x else (x - left) / ((right - left) or 1.0)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def down(y: float) -> float:
        return round(HEIGHT - BOTTOM - (y - low) / ((high - low) or 1.0) * (HEIGHT - TOP - BOTTOM), 1)

    ticks = list(x_ticks or _x_ticks(left, right, log_x=log_x))
    shown = series[0].points
    return Chart(
        title,
        *labels,
        tuple((each.name, _path(each.points, across, down), each.style) for each in series),
        tuple((across(x), word) for x, word in ticks),
        tuple((down(y), decimal(y, 6)) for y in steps),
        (labels[0], *(each.name for each in series)),
        tuple(
            (decimal(x), *(decimal(each.points[i][1]) for each in series)) for i, (x, _) in enumerate(shown)
        ),
        (across(mark[0]), mark[1]) if mark is not None and left <= mark[0] <= right else None,
    )  # fmt: skip


def _path(
    points: Sequence[tuple[float, float]], across: Callable[[float], float], down: Callable[[float], float]
) -> str:
    return "M" + "L".join(f"{across(x)} {down(y)}" for x, y in points)


def round_ticks(low: float, high: float) -> list[float]:
    """Return about TICKS round numbers from at most `low` to at least `high`.

    >>> round_ticks(0, 61.2)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    """
    span = (high - low) or abs(high) or 1.0
    rough = span / (TICKS - 1)
    power = 10.0 ** floor(log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(n * step, 12) for n in range(first, max(last, first + 1) + 1)]


def _x_ticks(left: float, right: float, *, log_x: bool) -> list[tuple[float, str]]:
    if not log_x:
        return [(x, decimal(x, 6)) for x in round_ticks(left, right) if left <= x <= right * (1 + 1e-9)]
    decades = range(ceil(log10(left) - 1e-9), floor(log10(right) + 1e-9) + 1)
    return [(10.0**d, decimal(10.0**d, 6)) for d in decades]
