"""Run NetPIPE's ping-pong over all sizes, and return the points measured even if the run ends early."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tagloom.measure.loops import SilenceError
from tagloom.measure.sizes import PERTURBATION_BYTES, STOP_SECONDS, TARGET_SECONDS, TRIALS, repeats, sizes
from tagloom.records.measurement import PingPong, Point

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable

PERCENTILES = (50, 90, 99, 99.9)
STAMPED = 1000  # at most; single messages per size for the percentiles
TIMER_READINGS = 1000
FIRST_REPEATS = 100  # of the smallest size, to calibrate
TIME_LIMIT_SECONDS = 300.0
LOSSES = 5  # trials of one size with a lost datagram, before the run ends
STEP_SECONDS = 0.1  # the wall clock may drift this far from the monotonic clock during a run


class Exchange(Protocol):
    """Round trips in nanoseconds. Raises OSError if the peer is gone, SilenceError after a loss."""

    def trial(self, size: int, repeats: int) -> int:
        """Return the nanoseconds of `repeats` round trips."""

    def stamped(self, size: int, repeats: int) -> array[int]:
        """Return the nanoseconds of each of `repeats` round trips."""

    def content(self, size: int, seed: str) -> bool | None:
        """Return whether bytes arrive unchanged; None if a datagram was lost."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks: `monotonic` never goes back, `wall` may be set by others."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


@dataclass(slots=True)
class SteadyClock:
    """A check whether the wall clock was set since creation; trials and samples use the monotonic one."""

    clocks: Clocks
    _offset: float = field(init=False)

    def __post_init__(self) -> None:
        self._offset = self.clocks.wall() - self.clocks.monotonic()

    def step(self) -> str:
        """Return by how much the wall clock was set, "" if it was not."""
        moved = self.clocks.wall() - self.clocks.monotonic() - self._offset
        return f"the wall clock was set by {moved:+.3f} s during the run" if abs(moved) > STEP_SECONDS else ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure; `max_rate_bps` bounds the run's mean rate, both directions together (None: no bound)."""

    min_bytes: int = 1
    max_bytes: int = 131072
    perturbation: int = PERTURBATION_BYTES
    trials: int = TRIALS
    target_seconds: float = TARGET_SECONDS
    time_limit_seconds: float = TIME_LIMIT_SECONDS
    max_rate_bps: float | None = None
    check_content: bool = True
    percentiles: bool = True


class _EndError(Exception):
    """The end of the run; its text says why."""


def run(
    exchange: Exchange,
    protocol: str,
    peer: str,
    plan: Plan,
    clocks: Clocks,
    note: Callable[[int, int], None] = lambda _done, _of: None,
) -> PingPong:
    """Measure all sizes; return an incomplete run if the peer dies, a clock is set or the time limit is reached."""
    pace = _Pace(plan, clocks)
    points: list[Point] = []
    timer = timer_seconds()
    began_wall, why = clocks.wall(), ""
    wanted = list(sizes(plan.min_bytes, plan.max_bytes, plan.perturbation))
    try:
        old_bytes = plan.min_bytes
        old_seconds = exchange.trial(old_bytes, FIRST_REPEATS) / FIRST_REPEATS / 2e9
        for size in wanted:
            note(len(points), len(wanted))
            point = _point(exchange, size, old_bytes, old_seconds, plan, pace)
            points.append(point)
            old_bytes, old_seconds = size, point.seconds
            if old_seconds > STOP_SECONDS:
                why = f"a message of {size} bytes takes more than {STOP_SECONDS:g} s"
                break
    except _EndError as end:
        why = str(end)
    except SilenceError:
        why = "the peer does not answer any more"
    except (OSError, ValueError, KeyError, TypeError) as error:  # what the control line of a dying peer can cause
        why = f"the peer is gone: {error or type(error).__name__}"
    return PingPong(protocol, peer, tuple(points), began_wall, None, not why, why, timer)


def timer_seconds() -> float:
    """Return what one reading of the trials' clock costs: the mean of many pairs of readings."""
    read = time.perf_counter_ns
    pairs = [(read(), read()) for _ in range(TIMER_READINGS)]
    return float(np.mean([b - a for a, b in pairs[TIMER_READINGS // 10 :]])) / 1e9


def _point(exchange: Exchange, size: int, old_bytes: int, old_seconds: float, plan: Plan, pace: _Pace) -> Point:
    times = repeats(plan.target_seconds, old_bytes, old_seconds, size, plan.trials)
    trials: list[float] = []
    lost, began = 0, pace.now()
    while len(trials) < plan.trials:
        pace.wait(16 * size * times)
        try:
            trials.append(exchange.trial(size, times) / times / 2e9)
        except SilenceError:
            lost += 1
            # One lost datagram spoils a long trial; a shorter one may succeed.
            times = max(times // 2, plan.trials)
            if lost > LOSSES:
                raise _EndError(f"{lost} trials of {size} bytes in a row lost a datagram") from None
    ended = pace.now()
    shares: dict[str, float] = {}
    content: bool | None = None
    try:
        if plan.check_content:
            content = exchange.content(size, f"{size}")
        if plan.percentiles:
            pace.wait(16 * size * min(times, STAMPED))
            single = np.frombuffer(exchange.stamped(size, min(times, STAMPED)), np.int64) / 2e9
            values = np.percentile(single, PERCENTILES)
            shares = {f"{p:g}": float(v) for p, v in zip(PERCENTILES, values, strict=True)} | {
                "100": float(single.max())
            }
    except SilenceError:
        lost += 1
    return Point(size, times, tuple(trials), shares, content, began, ended, lost)


class _Pace:
    """Keeps the mean rate below its bound by waiting between trials, and checks the time limit and the clocks."""

    def __init__(self, plan: Plan, clocks: Clocks) -> None:
        self._plan, self._clocks = plan, clocks
        self._steady = SteadyClock(clocks)
        self._began, self._bits = clocks.monotonic(), 0.0

    def now(self) -> float:
        return self._clocks.monotonic()

    def wait(self, bits: float) -> None:
        """Wait until `bits` more may be sent. Raises _EndError if the run must end."""
        if step := self._steady.step():
            raise _EndError(step)
        left = self._began + self._plan.time_limit_seconds - self.now()
        if self._plan.max_rate_bps is not None:
            idle = self._began + self._bits / self._plan.max_rate_bps - self.now()
            if 0 < idle < left:
                self._clocks.sleep(idle)
            left -= max(idle, 0.0)
        if left <= 0:
            raise _EndError(f"the time limit of {self._plan.time_limit_seconds:g} s")
        self._bits += bits
