"""Forecast a run with sleep from the trace of one without: every message pays for the gaps its links really had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.simulation import Network, Program, Run


def by_trace(network: Network, program: Program, trace: Run) -> float:
    """Give the run time in seconds on `network`, whose links sleep, from a `trace` of the program on links that do not.

    One sweep over the messages in the order of the trace. A message that reaches a link after a gap above the time-out
    waits as `eee.delay_seconds` says; one that comes while it wakes waits for the rest; one that found others before
    it in the queue keeps its place behind them. A call comes as much later as the last message that it waited for;
    where others than those of the trace become the last, they are. No frame is sent: bandwidth stays as in the trace.
    """
    steps, ranks = program.compute_seconds.shape
    source = np.repeat(np.arange(steps * ranks), np.diff(program.first_message))
    message, hop = np.nonzero(~np.isnan(trace.reached_seconds))
    order = np.lexsort((hop, trace.reached_seconds[message, hop]))
    pair = program.host[source % ranks] * network.hosts + program.host[program.destination]
    return float(
        _sweep(
            message[order], hop[order], network.path_start[pair], network.path, network.back, network.together,
            network.timeout_seconds, network.sleep_seconds, network.wake_seconds, network.rate_bps, program.wire_bits,
            source // ranks, source % ranks, program.destination, program.waits,
            trace.reached_seconds, trace.channel_idle_seconds, trace.cable_idle_seconds,
            trace.delivered_seconds, program.compute_seconds,
        )
    )  # fmt: skip


@kernel
def _sweep(
    message: NDArray[np.int64],
    hop: NDArray[np.int64],
    way: NDArray[np.int64],
    path: NDArray[np.int64],
    back: NDArray[np.int64],
    together: NDArray[np.bool_],
    timeout: NDArray[np.float64],
    sleep: NDArray[np.float64],
    wake: NDArray[np.float64],
    rate: NDArray[np.float64],
    bits: NDArray[np.float64],
    step: NDArray[np.int64],
    source: NDArray[np.int64],
    destination: NDArray[np.int64],
    waits: bool,
    reached: NDArray[np.float64],
    channel_idle: NDArray[np.float64],
    cable_idle: NDArray[np.float64],
    delivered: NDArray[np.float64],
    compute: NDArray[np.float64],
) -> float:
    """Sweep over (message, hop) in the order of the trace; give the time the last rank is done."""
    steps, ranks = compute.shape
    channels = len(back)
    later = np.zeros(len(way))  # how much later than in the trace a message is by now
    ended = np.zeros((steps, ranks))  # when each step ends, by the messages swept so far
    closed = np.zeros(ranks, np.int64)  # steps whose end is known, by rank
    seen, cable_seen = np.zeros(channels), np.zeros(channels)  # idle time so far at the last message
    lag, cable_lag = np.zeros(channels), np.zeros(channels)  # how much later that one was when it was sent
    woken, free = np.zeros(channels), np.zeros(channels)
    last = 0.0
    for i in range(len(message)):
        m, h = message[i], hop[i]
        if h == 0:
            r, k = source[m], step[m]
            while closed[r] < k:  # all messages to those steps of this rank came before it called again
                j = closed[r]
                begin = ended[j - 1, r] if j > 0 else 0.0
                ended[j, r] = max(ended[j, r], begin + compute[j, r])
                closed[r] += 1
            call = (ended[k - 1, r] if k > 0 else 0.0) + compute[k, r]
            later[m] = call - reached[m, 0]
        c = path[way[m] + h]
        u = min(c, back[c]) if together[c] else c
        at = reached[m, h] + later[m]
        idle = cable_idle[m, h] - cable_seen[u]
        gap = at - max(free[u], reached[m, h] - idle + cable_lag[u])
        if gap > timeout[c]:
            wait = max(timeout[c] + sleep[c] - gap, 0.0) + wake[c]
            woken[u] = at + wait
        else:
            wait = max(0.0, woken[u] - at, lag[c] - later[m] - (channel_idle[m, h] - seen[c]))
        later[m] += wait
        seen[c], cable_seen[u] = channel_idle[m, h], cable_idle[m, h]
        lag[c] = cable_lag[u] = later[m]
        free[u] = max(free[u], at + wait + bits[m] / rate[c])
        if path[way[m] + h + 1] < 0:
            last = max(last, delivered[m] + later[m])
            if waits:
                ended[step[m], destination[m]] = max(ended[step[m], destination[m]], delivered[m] + later[m])
    for r in range(ranks):
        for j in range(closed[r], steps):
            begin = ended[j - 1, r] if j > 0 else 0.0
            ended[j, r] = max(ended[j, r], begin + compute[j, r])
        if steps > 0:
            last = max(last, ended[steps - 1, r])
    return last
