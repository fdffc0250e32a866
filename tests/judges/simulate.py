"""Simulate links that sleep, frame by frame: the judge of every closed form beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.simulation import Network, Program

AWAKE, FALLING, LPI, WAKING = 0, 1, 2, 3
CALL, SENT, ARRIVED, TIMED_OUT, ASLEEP, WOKEN = 0, 1, 2, 3, 4, 5
NOTHING, CONTROL = -1, -2
NO_ORDER, STOP, GO = 0, 1, 2
CONTROL_BITS = 672.0  # a 64-byte MAC control frame with preamble and gap, IEEE 802.3 clause 31


@dataclass(frozen=True, eq=False)
class Run:
    """What one simulated run found.

    seconds          how long it took, until the last rank was done and the last frame delivered
    step_seconds     float64[K, R], when each rank was done with each step
    released_seconds, delivered_seconds  float64[M], when each message was sent and wholly there; inf where it was lost
    state_seconds    float64[C, 4]: awake, falling asleep, in LPI, waking
    busy_seconds     float64[C], sending
    wakes            int64[C]
    paused_seconds   float64[C], held by the other end
    lost_frames      int
    """

    seconds: float
    step_seconds: NDArray[np.float64]
    released_seconds: NDArray[np.float64]
    delivered_seconds: NDArray[np.float64]
    state_seconds: NDArray[np.float64]
    busy_seconds: NDArray[np.float64]
    wakes: NDArray[np.int64]
    paused_seconds: NDArray[np.float64]
    lost_frames: int = field(default=0)

    @property
    def lpi_share(self) -> NDArray[np.float64]:
        """Return the share of the time each channel was in LPI, float64[C]."""
        return np.asarray(self.state_seconds[:, 2] / self.seconds, np.float64)


def simulate(network: Network, program: Program) -> Run:
    """Run a program over a network: FIFO queues, store and forward, time-out sleep, PAUSE where asked for.

    A channel that has sent its last frame waits for its time-out, falls asleep (which nothing can stop), stays in LPI
    until a frame comes, and wakes; `together` needs both directions idle and wakes both. A rank goes on when its
    computing is done and all messages of the step to it are there. Raises ValueError where a rank waits for ever,
    which only lost frames can cause.
    """
    steps, ranks = program.compute_seconds.shape
    frames = program.frames
    start = np.concatenate([[0], np.cumsum(frames)]).astype(np.int64)
    bits = np.full(int(start[-1]), 8.0 * (program.frame_bytes + program.overhead_bytes))
    bits[start[1:] - 1] -= 8.0 * (frames * program.frame_bytes - program.volume_bytes)
    expected = np.zeros((steps, ranks), np.int64)
    if program.waits:
        of_step = np.repeat(np.arange(steps * ranks) // ranks, np.diff(program.first_message))
        np.add.at(expected, (of_step, program.destination), 1)
    messages, channels = len(frames), len(network.rate_bps)
    done, released, delivered = np.full((steps, ranks), np.inf), np.full(messages, np.inf), np.full(messages, np.inf)
    spent, busy, paused = np.zeros((channels, 4)), np.zeros(channels), np.zeros(channels)
    wakes = np.zeros(channels, np.int64)
    seconds, lost = _run(
        network.rate_bps, network.back, network.timeout_seconds, network.sleep_seconds, network.wake_seconds,
        network.together, network.latency_seconds, network.path_start, network.path, network.hosts,
        network.buffer_bits, network.pause, program.host, program.compute_seconds, program.first_message,
        program.destination, start, bits, np.repeat(np.arange(messages), frames), expected,
        done, released, delivered, spent, busy, wakes, paused,
    )  # fmt: skip
    if not np.all(np.isfinite(done)):
        raise ValueError(f"a rank waits for ever: {lost} frames were lost")
    return Run(seconds, done, released, delivered, spent, busy, wakes, paused, lost)


@kernel
def _start(  # noqa: PLR0913 - the arrays of one compiled loop
    c: int,
    now: float,
    rate: NDArray[np.float64],
    state: NDArray[np.int64],
    sending: NDArray[np.int64],
    held: NDArray[np.bool_],
    order: NDArray[np.int64],
    first: NDArray[np.int64],
    following: NDArray[np.int64],
    bits: NDArray[np.float64],
    busy: NDArray[np.float64],
    heap: list[tuple[float, int, int, int]],
) -> None:
    """Put the next frame of channel `c` on the wire where it is awake, free and not held."""
    if state[c] != AWAKE or sending[c] != NOTHING:
        return
    seconds = 0.0
    if order[c] != NO_ORDER:  # control frames overtake, and PAUSE does not hold them
        sending[c], seconds = CONTROL - order[c], CONTROL_BITS / rate[c]
        order[c] = NO_ORDER
    elif first[c] >= 0 and not held[c]:
        sending[c], seconds = first[c], bits[first[c]] / rate[c]
        first[c] = following[first[c]]
    if sending[c] != NOTHING:
        busy[c] += seconds
        heappush(heap, (now + seconds, SENT, c, 0))


@kernel
def _enter(
    c: int,
    new: int,
    now: float,
    state: NDArray[np.int64],
    since: NDArray[np.float64],
    spent: NDArray[np.float64],
) -> None:
    """Take a channel to another state of its PHY, and book the time in the old one."""
    spent[c, state[c]] += now - since[c]
    since[c] = now
    state[c] = new


@kernel
def _run(  # noqa: C901, PLR0912, PLR0913, PLR0915 - one compiled loop: split, each part would take all of its arrays
    rate: NDArray[np.float64],
    back: NDArray[np.int64],
    timeout: NDArray[np.float64],
    sleep: NDArray[np.float64],
    wake: NDArray[np.float64],
    together: NDArray[np.bool_],
    latency: NDArray[np.float64],
    path_start: NDArray[np.int64],
    path: NDArray[np.int64],
    hosts: int,
    buffer_bits: float,
    pause: bool,
    host: NDArray[np.int64],
    compute: NDArray[np.float64],
    first_message: NDArray[np.int64],
    destination: NDArray[np.int64],
    frame_start: NDArray[np.int64],
    bits: NDArray[np.float64],
    message_of: NDArray[np.int64],
    expected: NDArray[np.int64],
    done: NDArray[np.float64],
    released: NDArray[np.float64],
    delivered: NDArray[np.float64],
    spent: NDArray[np.float64],
    busy: NDArray[np.float64],
    wakes: NDArray[np.int64],
    paused: NDArray[np.float64],
) -> tuple[float, int]:
    """Run all events in order of time; write what was found to the last arrays, give the time and the frames lost."""
    steps, ranks = compute.shape
    channels = len(rate)
    state, since = np.zeros(channels, np.int64), np.zeros(channels)
    stamp = np.zeros(channels, np.int64)  # counts what ends an idle time: a time-out of an older count is void
    sending = np.full(channels, NOTHING, np.int64)
    held, held_since = np.zeros(channels, np.bool_), np.zeros(channels)
    stopped = np.zeros(channels, np.bool_)  # the switch at its head has asked it to stop
    order = np.zeros(channels, np.int64)
    first, last = np.full(channels, -1, np.int64), np.full(channels, -1, np.int64)
    stored = np.zeros(channels)  # bits that came in by the channel and wait in the switch at its head
    following, came = np.full(len(bits), -1, np.int64), np.full(len(bits), -1, np.int64)
    hop = np.zeros(len(bits), np.int64)
    way = np.zeros(len(destination), np.int64)  # the pair whose path a message takes
    step_of = np.zeros(len(destination), np.int64)
    missing = np.zeros(len(destination), np.int64)
    step, calling = np.zeros(ranks, np.int64), np.zeros(ranks, np.bool_)
    ready, is_ready = np.zeros(channels, np.int64), np.zeros(channels, np.bool_)
    look, is_look = np.zeros(ranks, np.int64), np.zeros(ranks, np.bool_)
    heap = [(0.0, -1, 0, 0)]
    heappop(heap)
    for c in range(channels):
        if timeout[c] < np.inf and not (together[c] and back[c] < c):
            heappush(heap, (timeout[c], TIMED_OUT, c, 0))
    for r in range(ranks):
        heappush(heap, (compute[0, r], CALL, r, 0))
    now, lost, travelling, working = 0.0, 0, 0, ranks
    while len(heap) > 0 and (working > 0 or travelling > 0):
        now, kind, c, more = heappop(heap)
        n_ready, n_look = 0, 0
        frame = -1  # that has come to the head of channel c
        if kind == CALL:
            r = c
            row = step[r] * ranks + r
            for m in range(first_message[row], first_message[row + 1]):
                d = destination[m]
                released[m], step_of[m] = now, step[r]
                way[m] = path_start[host[r] * hosts + host[d]]
                if host[d] == host[r]:
                    delivered[m] = now
                    expected[step[r], d] -= 1
                    if not is_look[d]:
                        is_look[d] = True
                        look[n_look] = d
                        n_look += 1
                    continue
                out = path[way[m]]
                missing[m] = frame_start[m + 1] - frame_start[m]
                for f in range(frame_start[m], frame_start[m + 1]):
                    if first[out] < 0:
                        first[out] = f
                    else:
                        following[last[out]] = f
                    last[out] = f
                    travelling += 1
                if not is_ready[out]:
                    is_ready[out] = True
                    ready[n_ready] = out
                    n_ready += 1
            calling[r] = True
            if not is_look[r]:
                is_look[r] = True
                look[n_look] = r
                n_look += 1
        elif kind == SENT:
            f = sending[c]
            sending[c] = NOTHING
            if f <= CONTROL:
                stopping = back[c]
                if f == CONTROL - STOP and not held[stopping]:
                    held[stopping] = True
                    held_since[stopping] = now
                elif f == CONTROL - GO and held[stopping]:
                    held[stopping] = False
                    paused[stopping] += now - held_since[stopping]
                    is_ready[stopping] = True
                    ready[n_ready] = stopping
                    n_ready += 1
            else:
                source = came[f]
                if source >= 0:
                    stored[source] -= bits[f]
                    if stopped[source] and stored[source] < buffer_bits / 4:
                        stopped[source] = False
                        order[back[source]] = GO
                        is_ready[back[source]] = True
                        ready[n_ready] = back[source]
                        n_ready += 1
                if latency[c] > 0.0:
                    heappush(heap, (now + latency[c], ARRIVED, c, f))
                else:
                    frame = f
            _start(c, now, rate, state, sending, held, order, first, following, bits, busy, heap)
            o = back[c] if together[c] else c
            out_of_work = sending[c] == NOTHING and first[c] < 0 and order[c] == NO_ORDER
            if out_of_work and sending[o] == NOTHING and first[o] < 0 and order[o] == NO_ORDER and timeout[c] < np.inf:
                u = min(c, o)
                heappush(heap, (now + timeout[c], TIMED_OUT, u, stamp[u]))
        elif kind == ARRIVED:
            frame = more
        elif kind == TIMED_OUT:
            if state[c] == AWAKE and stamp[c] == more:
                _enter(c, FALLING, now, state, since, spent)
                if together[c]:
                    _enter(back[c], FALLING, now, state, since, spent)
                heappush(heap, (now + sleep[c], ASLEEP, c, stamp[c]))
        elif kind == ASLEEP:
            next_state = LPI if stamp[c] == more else WAKING  # something came while it fell asleep
            _enter(c, next_state, now, state, since, spent)
            if together[c]:
                _enter(back[c], next_state, now, state, since, spent)
            if next_state == WAKING:
                heappush(heap, (now + wake[c], WOKEN, c, 0))
        elif kind == WOKEN:
            _enter(c, AWAKE, now, state, since, spent)
            wakes[c] += 1
            _start(c, now, rate, state, sending, held, order, first, following, bits, busy, heap)
            if together[c]:
                o = back[c]
                _enter(o, AWAKE, now, state, since, spent)
                wakes[o] += 1
                _start(o, now, rate, state, sending, held, order, first, following, bits, busy, heap)
        if frame >= 0:
            m = message_of[frame]
            hop[frame] += 1
            at = way[m] + hop[frame]
            r = destination[m]
            if path[at] < 0:  # the destination host
                travelling -= 1
                missing[m] -= 1
                if missing[m] == 0:
                    delivered[m] = now
                    expected[step_of[m], r] -= 1
                    if not is_look[r]:
                        is_look[r] = True
                        look[n_look] = r
                        n_look += 1
            elif stored[c] + bits[frame] > buffer_bits:
                travelling -= 1
                lost += 1
            else:
                out = path[at]
                came[frame] = c
                stored[c] += bits[frame]
                following[frame] = -1
                if first[out] < 0:
                    first[out] = frame
                else:
                    following[last[out]] = frame
                last[out] = frame
                if not is_ready[out]:
                    is_ready[out] = True
                    ready[n_ready] = out
                    n_ready += 1
                if pause and not stopped[c] and stored[c] > buffer_bits / 2:
                    stopped[c] = True
                    order[back[c]] = STOP
                    if not is_ready[back[c]]:
                        is_ready[back[c]] = True
                        ready[n_ready] = back[c]
                        n_ready += 1
        for i in range(n_look):
            r = look[i]
            is_look[r] = False
            if calling[r] and expected[step[r], r] <= 0:
                calling[r] = False
                done[step[r], r] = now
                step[r] += 1
                if step[r] < steps:
                    heappush(heap, (now + compute[step[r], r], CALL, r, 0))
                else:
                    working -= 1
        for i in range(n_ready):
            out = ready[i]
            is_ready[out] = False
            u = min(out, back[out]) if together[out] else out
            stamp[u] += 1
            if state[out] == LPI:
                _enter(u, WAKING, now, state, since, spent)
                if together[u]:
                    _enter(back[u], WAKING, now, state, since, spent)
                heappush(heap, (now + wake[out], WOKEN, u, 0))
            else:
                _start(out, now, rate, state, sending, held, order, first, following, bits, busy, heap)
    for c in range(channels):
        _enter(c, AWAKE, now, state, since, spent)
        if held[c]:
            paused[c] += now - held_since[c]
    return now, lost
