"""Forecast a run whose messages are known but not their order: replay some dozen random orders."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.predict.partners import with_partners
from tagloom.predict.trace import HELD, awake, ends_and_sleep, rank_ends
from tagloom.records.forecast import Replay
from tagloom.records.simulation import Program, joined_programs
from tagloom.records.traffic import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.simulation import Network
    from tagloom.records.traffic import Traffic

# In which of its steps a pair sends: at random; at even distances; in a burst, one after the other. Pipelined, a host
# sends one message in a step, to any of its partners, as in a wave front.
KINDS = "random", "even", "bursty", "pipelined"
ORDERS = 32  # replayed: our choice, of which predict-errors.md says what it is worth
MOST_MESSAGES = 10_000  # replayed per order; if there are more, a part of the run is replayed for the whole
MOST_COPIES = 100_000  # channels that copies of flooded frames cross, per order: as above
MOST_PAIRS = 10_000  # that send: even one message of each would be too many
UNEVEN = 0.1  # standard deviation over mean of a computation between two steps, over ranks and steps
MOST_SPLIT = 64  # messages of a pair, if the traffic does not say how many
MEDIAN_VARIES = np.pi / 2  # variance of the median of n normal numbers, times n over theirs
LEAST_SPLIT_BYTES = 1460.0  # a full frame: smaller messages are not split


def can_be_replayed(traffic: Traffic) -> bool:
    """Return whether orders of the traffic can be replayed: 1 to MOST_PAIRS pairs send, in known time."""
    return bool(traffic.seconds and 0 < np.count_nonzero(traffic.messages) <= MOST_PAIRS)


def replay_orders(
    before: Network,
    afters: Sequence[Network],
    traffic: Traffic,
    seed: int = 1,
    orders: int = ORDERS,
    runs: Sequence[Run] = (),
) -> list[Replay]:
    """Return replays of the traffic in random orders, over `before` awake, then over an after awake and as it sleeps.

    One for each of `afters`, which differ in how they sleep alone, over the same orders.

    A run is a number of steps. A pair that sent n messages sends them in n of the steps, all of the pair's mean size;
    in which, each of KINDS says for its share of the orders. In every step a rank computes, sends, and waits for what
    is sent to it. It computes as long as the run over `before` needs to take the traffic's seconds; if the messages
    alone take longer, all is scaled to these.

    If there are more than MOST_MESSAGES, or copies of them on more than MOST_COPIES channels, a part of the steps is
    replayed. As steps are alike and independent, the whole adds in proportion, and orders of one kind vary by the root
    of that; what the median of few orders is off by is added to that.

    Several networks' `runs`, which `traffic` sums, each have steps and seconds of their own. They begin at once and
    share what channels their paths share; the whole is as long as the last of them. Of traffic that is `spread`, each
    order has partners of its own.

    Medians of the added seconds, and the quantiles HELD of their sum. The traffic `can_be_replayed`.
    """
    assert traffic.seconds is not None  # noqa: S101 - it can be replayed
    chance = np.random.default_rng(seed)
    sending = [run for run in runs if run.traffic.messages.any()] or [Run(np.arange(len(traffic.messages)), traffic)]
    lasts = np.array([run.traffic.seconds for run in sending], np.float64)
    quiet = awake(afters[0])
    copies = np.maximum(before.copies, quiet.copies)
    paths_change, sleep = not _alike(before, quiet), [bool(np.isfinite(each.timeout_seconds).any()) for each in afters]
    if not paths_change and not any(sleep):
        counted = [_counted(run.traffic, chance) for run in sending]
        still = [Replay(round(count.sum()), steps, last, 0.0, 0.0, orders, 0.0, 0.0)
                 for (count, steps), last in zip(counted, lasts.tolist(), strict=True)]  # fmt: skip
        return [_whole(still, still[int(lasts.argmax())], sending, runs)] * len(afters)
    # Of each run, and last of all together: seconds before, added by paths, added by sleep.
    found = np.empty((len(afters), orders, len(sending) + 1, 3))
    asleep = np.zeros((len(afters), orders, before.hosts))
    narrow, counted = np.empty((orders, len(sending) + 1)), []
    computing: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for i in range(orders):
        kind = KINDS[i % len(KINDS)]
        drawn_for = [with_partners(run, chance) if run.traffic.spread else run for run in sending]
        counted = [_counted(run.traffic, chance, kind) for run in drawn_for]
        kept, part = _kept(counted, copies)
        each = zip(drawn_for, counted, kept.tolist(), part.tolist(), strict=True)
        drawn = [_draw(run, count, own, some, chance, kind) for run, (count, _), own, some in each]
        program = joined_programs(drawn)
        uneven = _uneven(program, sending, kept, chance)
        lasting = _Lasting(uneven, kept, sending, before, part * lasts)
        known = all(run.traffic.messages is count for run, (count, _) in zip(sending, counted, strict=True))
        if kind not in computing or not known:
            computing[kind] = _computing(program, lasting)
        program, first = _lasting(program, lasting, computing[kind])
        second = _ends(quiet, program, sending) if paths_change else first
        for k, after in enumerate(afters):
            third = second
            if sleep[k]:
                ends, lpi = ends_and_sleep(after, program)
                third, asleep[k, i] = _of_runs(ends, sending), lpi[: before.hosts] / max(float(ends.max()), 1e-12)
            for n in range(len(sending)):
                a, b, c = float(first[n]), float(second[n]), float(third[n])
                found[k, i, n] = np.array([a, b - a, c - b]) * (lasts[n] / a)
            a, b, c = (float((ends / part).max()) for ends in (first, second, third))
            found[k, i, -1] = np.array([a, b - a, c - b]) * (traffic.seconds / a)
        narrow[i] = np.sqrt(np.array([*part, part.max()]) + MEDIAN_VARIES / orders)
    sums = [*((round(count.sum()), steps) for count, steps in counted)]
    sums.append((sum(n for n, _ in sums), max(steps for _, steps in sums)))
    result = []
    for drawn_by, lpi in zip(found, asleep, strict=True):
        parts = [_summed_up(drawn_by[:, n], *sums[n], narrow[:, n]) for n in range(len(sums))]
        whole = replace(parts[-1], asleep=tuple(tuple(row) for row in lpi.tolist()))
        result.append(_whole(parts[:-1], whole, sending, runs))
    return result


def _kept(
    counted: Sequence[tuple[NDArray[np.float64], int]], copies: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return how many steps of each run are replayed, and which part of its own that is."""
    share = min(1.0, MOST_MESSAGES / sum(float(count.sum()) for count, _ in counted))
    share = min(share, MOST_COPIES / max(1.0, sum(float((count * copies).sum()) for count, _ in counted)))
    steps = np.array([steps for _, steps in counted])
    kept = np.array([max(1, round(each * share)) for each in steps.tolist()])
    return kept, kept / steps


def _whole(parts: Sequence[Replay], whole: Replay, sending: Sequence[Run], runs: Sequence[Run]) -> Replay:
    """Return the replay of all runs together, with that of each network's own; of those that send nothing, nothing."""
    of = {id(run): part for run, part in zip(sending, parts, strict=True)}
    nothing = Replay(0, 0, 0.0, 0.0, 0.0, whole.orders, 0.0, 0.0)
    drawn = any(run.traffic.spread for run in sending)
    return replace(whole, partners_drawn=drawn, networks=tuple(of.get(id(run), nothing) for run in runs))


def _summed_up(found: NDArray[np.float64], messages: int, steps: int, narrow: NDArray[np.float64]) -> Replay:
    """Return the replay that orders, float64[orders, 3], come to: seconds before, added by paths, added by sleep.

    `narrow`, float64[orders]: what the deviation of the whole run is of that of the part that was replayed, from the
    median of the orders of its kind.
    """
    middle = np.median(found, axis=0)
    added = found[:, 1] + found[:, 2]
    total = float(np.median(added))
    for kind in range(len(KINDS)):
        alike = slice(kind, None, len(KINDS))
        usual = np.median(added[alike])
        added[alike] = usual + narrow[alike] * (added[alike] - usual)
    low, high = (float(end) for end in np.quantile(added, HELD, method="weibull"))
    return Replay(messages, steps, float(middle[0]), total - middle[1], float(middle[1]), len(found), low, high)


def _alike(one: Network, other: Network) -> bool:
    """Return whether messages cross the same channels at the same speeds, whatever sleeps."""
    same = (one.rate_bps, other.rate_bps), (one.path_start, other.path_start), (one.path, other.path)
    return all(np.array_equal(a, b) for a, b in same)


def _counted(traffic: Traffic, chance: np.random.Generator, kind: str = "random") -> tuple[NDArray[np.float64], int]:
    """Return the messages of each pair and the number of steps.

    The steps are the calls of a process if a profile says, else as many as the messages of the busiest pair: it sends
    at most one in a step, as in an exchange or a collective. Of pipelined orders, they are as many as the busiest
    host's messages. If no pair has more than one message, nobody counted them: then the bytes of each are split, into
    as many for all as drawn.
    """
    count = traffic.messages
    if traffic.calls is None and count.max() <= 1.0:
        drawn = np.exp(chance.uniform(0.0, np.log(MOST_SPLIT)))
        count = np.where(count > 0, np.clip(traffic.volume_bytes / LEAST_SPLIT_BYTES, 1.0, drawn), 0.0)
        count = np.round(count)
    steps = float(count.max()) if traffic.calls is None else traffic.calls
    if kind == "pipelined":
        steps = max(float(count.sum(axis=1).max()), traffic.calls or 0.0)
    return count, max(1, round(steps))


def _draw(
    run: Run, count: NDArray[np.float64], steps: int, part: float, chance: np.random.Generator, kind: str
) -> Program:
    """Return a program of `steps` on a run's hosts that sends `part` of the messages in an order of a kind."""
    hosts, mine = len(run.hosts), np.ix_(run.hosts, run.hosts)
    count, volume_bytes = count[mine], run.traffic.volume_bytes[mine]
    source, destination = np.nonzero(count)
    wanted = part * count[source, destination]
    sent = (wanted + chance.random(len(wanted))).astype(np.int64)  # the mean is what is wanted
    sent[int(wanted.argmax())] |= not sent.any()
    pair = np.repeat(np.arange(len(sent)), sent)
    step = _steps(kind, source[pair] if kind == "pipelined" else pair, steps, chance)
    order = np.lexsort((chance.random(len(pair)), source[pair], step))
    pair = pair[order]
    each = np.bincount(step[order] * hosts + source[pair], minlength=steps * hosts)
    size = volume_bytes[source, destination] / count[source, destination]
    first = np.concatenate([[0], np.cumsum(each)]).astype(np.int64)
    return Program(run.hosts, np.zeros((steps, hosts)), first, destination[pair].astype(np.int64), size[pair])


def _steps(kind: str, group: NDArray[np.int64], steps: int, chance: np.random.Generator) -> NDArray[np.int64]:
    """Return the step of each message, whose `group` is its pair, or its host if orders are pipelined.

    Messages of a group are in different steps where there are as many.
    """
    found = np.empty(len(group), np.int64)
    for each in np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1]):
        n = len(each)
        if kind == "even":
            found[each] = ((np.arange(n) + chance.random()) * (steps / max(n, 1))).astype(np.int64)
        elif kind == "bursty":
            found[each] = (chance.integers(steps) + np.arange(n)) % steps
        else:
            found[each] = chance.choice(steps, n, replace=False) if n <= steps else chance.integers(steps, size=n)
    return found


class _Lasting(NamedTuple):
    """What makes programs of several networks, side by side, last as long as each is to.

    uneven   float64[K, R], the seconds of each computation over their mean; 0 in steps that a rank's run does not have
    steps    int64[n], of each run; seconds  float64[n], how long it is to last over `network`
    """

    uneven: NDArray[np.float64]
    steps: NDArray[np.int64]
    runs: Sequence[Run]
    network: Network
    seconds: NDArray[np.float64]

    def with_computing(self, program: Program, each: NDArray[np.float64]) -> Program:
        """Return the program with mean computing seconds of a step, float64[n]."""
        of_rank = np.zeros(self.uneven.shape[1])
        for ranks, seconds in zip(_ranks(self.runs), each.tolist(), strict=True):
            of_rank[ranks] = seconds
        return program._replace(compute_seconds=of_rank * self.uneven)


def _uneven(
    program: Program, runs: Sequence[Run], steps: NDArray[np.int64], chance: np.random.Generator
) -> NDArray[np.float64]:
    drawn = chance.gamma(UNEVEN**-2, UNEVEN**2, program.compute_seconds.shape)
    has = np.zeros(drawn.shape, np.bool_)
    for ranks, own in zip(_ranks(runs), steps.tolist(), strict=True):
        has[:own, ranks] = True
    return np.where(has, drawn, 0.0)


def _ends(network: Network, program: Program, runs: Sequence[Run]) -> NDArray[np.float64]:
    """Return when each run is done, float64[n] in seconds."""
    return _of_runs(rank_ends(network, program), runs)


def _of_runs(ends: NDArray[np.float64], runs: Sequence[Run]) -> NDArray[np.float64]:
    return np.array([ends[ranks].max() for ranks in _ranks(runs)])


def _ranks(runs: Sequence[Run]) -> list[NDArray[np.int64]]:
    """Return the ranks of each run, of one for each host, run after run."""
    sizes = [len(run.hosts) for run in runs]
    return np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])


def _computing(program: Program, lasting: _Lasting) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean computing seconds of a step that make runs last about as long as they are to, and what each adds.

    Both float64[n], and 0 where the messages alone take longer.
    """
    alone = _ends(lasting.network, program, lasting.runs)
    each = np.maximum(0.0, lasting.seconds - alone) / lasting.steps
    if not each.any():
        return each, each
    ends = _ends(lasting.network, lasting.with_computing(program, each), lasting.runs)
    gained = np.divide(ends - alone, each, out=np.zeros_like(each), where=each > 0)
    return np.divide(each * lasting.steps, gained, out=np.zeros_like(each), where=gained > 0), gained


def _lasting(
    program: Program, lasting: _Lasting, compute: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> tuple[Program, NDArray[np.float64]]:
    """Return the program with computing times such that its runs last, and how long each lasts over the network."""
    each, gained = compute
    tried = lasting.with_computing(program, each)
    taken = _ends(lasting.network, tried, lasting.runs)
    if not gained.any():
        return tried, taken
    more = np.divide(lasting.seconds - taken, gained, out=np.zeros_like(each), where=gained > 0)
    tried = lasting.with_computing(program, np.maximum(0.0, each + more))
    return tried, _ends(lasting.network, tried, lasting.runs)
