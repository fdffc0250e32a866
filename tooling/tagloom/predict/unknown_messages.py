"""Guess the messages of a run of which a profile has times and calls alone, between the best and the worst for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.predict.forecast import widened
from tagloom.records.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tagloom.predict.performance import Moved
    from tagloom.records.forecast import Forecast

LEAST_BYTES = 64.0  # of a message: a frame without payload
MOST_BYTES = 1e9  # of a message
MOST_PATTERNS = 32  # in which every host sends to one other: so many are compared
SAID = "the least and most that messages between any hosts, of any size that fits into the MPI time, would cost"
ASSUMED = (
    "who sent what to whom is unknown: the forecast is for messages spread evenly over all hosts that take half of the "
    "MPI time, its interval reaches from messages that cost nothing to those that cost most (--traffic FILE beside the "
    "profile, TAU's own profiles with TAU_COMM_MATRIX=1 or --trace FILE narrow it)"
)


def guesses(profile: Traffic, moves: Callable[[Traffic], tuple[Moved, Moved]]) -> list[Traffic]:
    """Return traffic that a profile without messages may be of; the first lies between the others.

    Every call of a rank sends a message to one other rank, to one after another, or to all others. Hosts send to the
    one other host that the change slows least or most of some patterns, `moves` tells, which returns how traffic moves
    before and after the change. All their bytes take the profile's time inside MPI calls before it, or almost none.

    Raises InputError if all ranks are on one host, or if no calls of messages are known.
    """
    assert profile.ranks is not None  # noqa: S101 - the traffic is `unknown`
    hosts = np.flatnonzero(profile.ranks)
    findings = []
    if len(hosts) < 2:
        findings.append(Finding("--profile", "ranks on 2 hosts or more (--ranks, --placement)", "one host"))
    if not profile.calls:
        findings.append(Finding("--profile", "MPI calls that wait for messages", "none"))
    if findings:
        raise InputError(findings)
    ranks, calls = profile.ranks.astype(np.float64), float(profile.calls or 0.0)
    every = calls * np.outer(ranks, ranks)
    np.fill_diagonal(every, 0.0)
    even = every / max(1.0, ranks.sum() - 1.0)
    singles = [calls * ranks[:, None] * one for one in _single_partners(even, hosts, moves)]
    slower = [_slowed(moves(_of(profile, single))) for single in singles]
    best, worst = singles[int(np.argmin(slower))], singles[int(np.argmax(slower))]
    found = [_filling(_of(profile, even), 0.5, moves)]
    for messages in (even, every, best, worst):
        found += [_of(profile, messages), _filling(_of(profile, messages), 1.0, moves)]
    return found


def spanned(found: Sequence[Forecast]) -> Forecast:
    """Return the first of some forecasts of one run, whose figures reach as far as those of all and as no cost."""
    first = found[0]
    base = first.seconds_base
    still = replace(first, seconds_predicted=base, overhead_seconds=replace(first.overhead_seconds, value=0.0, low=0.0))
    lost = max(found, key=lambda each: each.rate_switch.lost_bytes if each.rate_switch is not None else 0.0)
    whole = widened(first, [*found[1:], still], SAID)
    return replace(whole, performance=None, rate_switch=lost.rate_switch, assumed=(ASSUMED, *whole.assumed))


def _of(profile: Traffic, messages: NDArray[np.float64], size: float = LEAST_BYTES) -> Traffic:
    return replace(profile, messages=messages.copy(), volume_bytes=messages * size)


def _filling(traffic: Traffic, share: float, moves: Callable[[Traffic], tuple[Moved, Moved]]) -> Traffic:
    """Return traffic of the same messages, so long that they take a share of the time inside MPI calls to move."""
    moved, inside = moves(traffic)[0], traffic.communication_seconds or 0.0
    times = max(1.0, (share * inside - moved.waiting) / moved.seconds)
    return _of(traffic, traffic.messages, min(MOST_BYTES, LEAST_BYTES * times))


def _slowed(moved: tuple[Moved, Moved]) -> float:
    before, after = moved
    return after.seconds / before.seconds


def _single_partners(
    even: NDArray[np.float64], hosts: NDArray[np.int64], moves: Callable[[Traffic], tuple[Moved, Moved]]
) -> Iterator[NDArray[np.float64]]:
    """Yield patterns, bool[H, H], in which each of the hosts sends to one other at most.

    Those a number of hosts further on, and for each channel that is among the busiest after the change, one in which as
    many pairs as can be cross it.
    """
    count = len(hosts)
    for step in np.unique(np.linspace(1, count - 1, min(count - 1, MOST_PATTERNS)).astype(np.int64)):
        pattern = np.zeros(even.shape)
        pattern[hosts, np.roll(hosts, -int(step))] = 1.0
        yield pattern
    after = moves(Traffic(even * LEAST_BYTES, even))[1].flows
    flow = np.repeat(np.arange(len(after)), np.diff(after.first))
    load = np.bincount(after.channel)
    load[: 2 * after.hosts] = 0
    for channel in np.argsort(-load, kind="stable")[:MOST_PATTERNS].tolist():
        if load[channel] == 0:
            return
        crossing = flow[after.channel == channel]
        pattern = np.zeros(even.shape)
        for a, b in zip(after.source[crossing].tolist(), after.destination[crossing].tolist(), strict=True):
            if not pattern[a].any() and not pattern[:, b].any():
                pattern[a, b] = 1.0
        yield pattern
