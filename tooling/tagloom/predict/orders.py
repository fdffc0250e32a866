"""Forecast a run whose messages are known but not their order: replay some dozen random orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.predict.trace import awake, replay
from tagloom.records.forecast import Replay
from tagloom.records.simulation import Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.simulation import Network
    from tagloom.records.traffic import Traffic

ORDERS = 32  # replayed: our choice, of which predict-errors.md says what it is worth
HELD = 0.05, 0.95  # quantiles: of the added time of random orders, the interval holds nine in ten
MOST_MESSAGES = 10_000  # replayed per order; if there are more, a part of the run is replayed for the whole
MOST_PAIRS = 10_000  # that send: even one message of each would be too many
UNEVEN = 0.1  # standard deviation over mean of a computation between two steps, over ranks and steps
MOST_SPLIT = 64  # messages of a pair, if the traffic does not say how many
MEDIAN_VARIES = np.pi / 2  # variance of the median of n normal numbers, times n over theirs
LEAST_SPLIT_BYTES = 1460.0  # a full frame: smaller messages are not split


def can_be_replayed(traffic: Traffic) -> bool:
    """Return whether orders of the traffic can be replayed: 1 to MOST_PAIRS pairs send, in known time."""
    return bool(traffic.seconds and 0 < np.count_nonzero(traffic.messages) <= MOST_PAIRS)


def replay_orders(
    before: Network, afters: Sequence[Network], traffic: Traffic, seed: int = 1, orders: int = ORDERS
) -> list[Replay]:
    """Return replays of the traffic in random orders, over `before` awake, then over an after awake and as it sleeps.

    One for each of `afters`, which differ in how they sleep alone, over the same orders.

    A run is a number of steps. A pair that sent n messages sends them in n of the steps, drawn at random, all of the
    pair's mean size. In every step a rank computes, sends, and waits for what is sent to it. It computes as long as the
    run over `before` needs to take the traffic's seconds; if the messages alone take longer, all is scaled to these.

    If there are more than MOST_MESSAGES, a part of the steps is replayed. As steps are alike and independent, the whole
    adds in proportion, and varies by the root of that; what the median of few orders is off by is added to that.

    Medians of the added seconds, and the quantiles HELD of their sum. The traffic `can_be_replayed`.
    """
    assert traffic.seconds is not None  # noqa: S101 - it can be replayed
    chance = np.random.default_rng(seed)
    quiet = awake(afters[0])
    paths_change, sleep = not _alike(before, quiet), [bool(np.isfinite(each.timeout_seconds).any()) for each in afters]
    if not paths_change and not any(sleep):
        count, steps = _counted(traffic, chance)
        return [Replay(round(count.sum()), steps, traffic.seconds, 0.0, 0.0, orders, 0.0, 0.0)] * len(afters)
    found, messages, steps, part, compute = np.empty((len(afters), orders, 3)), 0.0, 0, 1.0, (0.0, 0.0)
    for i in range(orders):
        count, steps = _counted(traffic, chance)
        messages = float(count.sum())
        kept = max(1, round(steps * min(1.0, MOST_MESSAGES / messages)))
        part = kept / steps
        program = _draw(traffic.volume_bytes, count, kept, part, chance)
        uneven = chance.gamma(UNEVEN**-2, UNEVEN**2, program.compute_seconds.shape)
        if i == 0 or traffic.messages is not count:
            compute = _computing(program, uneven, before, part * traffic.seconds)
        program, first = _lasting(program, uneven, compute, before, part * traffic.seconds)
        second = replay(quiet, program) if paths_change else first
        for k, after in enumerate(afters):
            third = replay(after, program) if sleep[k] else second
            found[k, i] = np.array([first, second - first, third - second]) * (traffic.seconds / first)
    narrow = np.sqrt(part + MEDIAN_VARIES / orders)
    return [_summed_up(each, round(messages), steps, narrow) for each in found]


def _summed_up(found: NDArray[np.float64], messages: int, steps: int, narrow: float) -> Replay:
    """Return the replay that orders, float64[orders, 3], come to: seconds before, added by paths, added by sleep."""
    middle = np.median(found, axis=0)
    added = found[:, 1] + found[:, 2]
    total = float(np.median(added))
    low, high = (total + narrow * (float(end) - total) for end in np.quantile(added, HELD, method="weibull"))
    return Replay(messages, steps, float(middle[0]), total - middle[1], float(middle[1]), len(found), low, high)


def _alike(one: Network, other: Network) -> bool:
    """Return whether messages cross the same channels at the same speeds, whatever sleeps."""
    same = (one.rate_bps, other.rate_bps), (one.path_start, other.path_start), (one.path, other.path)
    return all(np.array_equal(a, b) for a, b in same)


def _counted(traffic: Traffic, chance: np.random.Generator) -> tuple[NDArray[np.float64], int]:
    """Return the messages of each pair and the number of steps.

    The steps are the calls of a process if a profile says, else as many as the messages of the busiest pair: it sends
    at most one in a step, as in an exchange or a collective. If no pair has more than one message, nobody counted them:
    then the bytes of each are split, into as many for all as drawn.
    """
    count = traffic.messages
    if traffic.calls is None and count.max() <= 1.0:
        drawn = np.exp(chance.uniform(0.0, np.log(MOST_SPLIT)))
        count = np.where(count > 0, np.clip(traffic.volume_bytes / LEAST_SPLIT_BYTES, 1.0, drawn), 0.0)
        count = np.round(count)
    return count, max(1, round(traffic.calls if traffic.calls is not None else float(count.max())))


def _draw(
    volume_bytes: NDArray[np.float64],
    count: NDArray[np.float64],
    steps: int,
    part: float,
    chance: np.random.Generator,
) -> Program:
    """Return a program of `steps` that sends `part` of the messages in random order and computes nothing."""
    hosts = len(count)
    source, destination = np.nonzero(count)
    wanted = part * count[source, destination]
    sent = (wanted + chance.random(len(wanted))).astype(np.int64)  # the mean is what is wanted
    sent[int(wanted.argmax())] |= not sent.any()
    drawn = [
        chance.choice(steps, n, replace=False) if n <= steps else chance.integers(steps, size=n)
        for n in sent[sent > 0].tolist()
    ]
    pair, step = np.repeat(np.arange(len(sent)), sent), np.concatenate(drawn)
    order = np.lexsort((chance.random(len(pair)), source[pair], step))
    pair = pair[order]
    each = np.bincount(step[order] * hosts + source[pair], minlength=steps * hosts)
    size = volume_bytes[source, destination] / count[source, destination]
    first = np.concatenate([[0], np.cumsum(each)]).astype(np.int64)
    return Program(np.arange(hosts), np.zeros((steps, hosts)), first, destination[pair].astype(np.int64), size[pair])


def _computing(program: Program, uneven: NDArray[np.float64], network: Network, seconds: float) -> tuple[float, float]:
    """Return the mean computing seconds of a step that make a program take about `seconds`, and what each adds to it.

    `uneven` float64[K, R] are the times over their mean. Both are 0 if the messages alone take longer.
    """
    alone = replay(network, program)
    left = max(0.0, seconds - alone)
    if not left:
        return 0.0, 0.0
    each = left / len(uneven)
    gained = (replay(network, program._replace(compute_seconds=each * uneven)) - alone) / each
    return left / gained, gained


def _lasting(
    program: Program, uneven: NDArray[np.float64], compute: tuple[float, float], network: Network, seconds: float
) -> tuple[Program, float]:
    """Return the program with computing times such that it takes `seconds`, and how long it takes over the network."""
    each, gained = compute
    tried = program._replace(compute_seconds=each * uneven)
    taken = replay(network, tried)
    if not gained:
        return tried, taken
    right = max(0.0, each + (seconds - taken) / gained)
    tried = program._replace(compute_seconds=right * uneven)
    return tried, replay(network, tried)
