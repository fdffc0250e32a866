"""Forecast a run with sleep from a run without: replay its messages as flows over links that sleep."""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tagloom.graph.floods import with_copies
from tagloom.graph.flows import flows_of
from tagloom.graph.kernel import kernel
from tagloom.graph.rows import places
from tagloom.predict.performance import arrival_latency
from tagloom.records.forecast import Replay
from tagloom.records.simulation import NEVER, Network

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.simulation import Program
    from tagloom.records.sleep import Eee

CALL, FIRST, LAST = 0, 1, 2  # kinds of events
FRAMES_UP_TO = 1_000_000  # of a run: up to here each frame is replayed by itself, beyond it messages are flows
OTHERWISE = 16  # more replays whose computations last a little longer or shorter, for the interval
UNSTEADY = 0.01  # standard deviation over mean of a computation from one run of a program to the next: our choice
HELD = 0.05, 0.95  # quantiles: of the added time of replays, here and of several orders, the interval holds nine in ten


def awake(network: Network) -> Network:
    """Return the same network with links that never sleep.

    The time that sleep adds is the replay with sleep less the replay without, so what a replay leaves out cancels.
    """
    return network._replace(timeout_seconds=np.full_like(network.timeout_seconds, NEVER))


def network_of(
    fabric: Fabric,
    routes: Routes,
    sent: NDArray[np.float64],
    eee: Eee | None,
    *,
    every_link: bool,
    floods: bool = False,
) -> Network:
    """Return the links that messages cross by the planned paths; `sent` float64[H, H], above 0 where pairs send any.

    Channels are numbered as in `Flows`. Links of hosts sleep by `eee`, with `every_link` those between switches too.
    With `floods`, messages to uplinks without an address are copied to all that their flooded frames come to
    (`with_copies`). Raises ValueError if a path is missing.
    """
    hosts, inner = len(fabric.hosts), len(fabric.tail)
    flows = flows_of(fabric, routes, sent)
    flows = with_copies(fabric, routes, flows) if floods else flows
    size = flows.path_end - flows.first[:-1]
    copies = np.diff(flows.first) - size
    length = np.zeros(hosts * hosts, np.int64)
    length[flows.source.astype(np.int64) * hosts + flows.destination] = size + 1 + 2 * copies
    end = np.cumsum(size + 1 + 2 * copies)
    begin = end - (size + 1 + 2 * copies)
    path = np.full(end[-1] if len(end) else 0, -1, np.int64)
    path[places(begin, size)] = flows.channel[places(flows.first[:-1], size)]
    spread = np.repeat(begin + size + 1, copies) + 2 * places(np.zeros_like(copies), copies)
    path[spread] = flows.channel[places(flows.path_end, copies)]
    sleeps = np.arange(2 * hosts + inner) < (2 * hosts + inner if every_link else 2 * hosts)
    sleep, wake, timeout = (eee.sleep_seconds, eee.wake_seconds, eee.timeout_seconds) if eee else (0.0, 0.0, NEVER)
    found = Network(
        flows.capacity_bps,
        np.concatenate([np.arange(hosts) + hosts, np.arange(hosts), 2 * hosts + (np.arange(inner) ^ 1)]).astype(
            np.int64
        ),
        np.where(sleeps, timeout, NEVER),
        np.where(sleeps, sleep, 0.0),
        np.where(sleeps, wake, 0.0),
        sleeps & (eee is not None and eee.together),
        arrival_latency(fabric),
        np.concatenate([[0], np.cumsum(length)]),
        path,
    )
    if flows.copies is None:
        return _with_branches(found)
    child, sibling = _branches(fabric, path, np.repeat(np.arange(len(flows)), end - begin))
    return found._replace(child=child, sibling=sibling)


def _branches(
    fabric: Fabric, path: NDArray[np.int64], flow: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return child and sibling of each place of `path`, int64[P], of the flow `flow`, int64[P] (`Network`).

    A frame and its copies enter a switch once, and leave it by each of their channels that begins there.
    """
    hosts, switches = len(fabric.hosts), len(fabric.switches)
    nowhere = np.full(hosts, -1)
    into = np.concatenate([fabric.host_switch, nowhere, fabric.head])[path]
    out_of = np.concatenate([nowhere, fabric.host_switch, fabric.tail])[path]
    comes, leaves = (np.flatnonzero((path >= 0) & (at >= 0)) for at in (into, out_of))
    entered = flow[comes] * switches + into[comes]
    order = np.argsort(entered)
    parent = comes[order][np.searchsorted(entered, flow[leaves] * switches + out_of[leaves], sorter=order)]
    order = np.lexsort((leaves, parent))
    parent, leaves = parent[order], leaves[order]
    first = np.ones(len(parent), np.bool_)
    first[1:] = parent[1:] != parent[:-1]
    child, sibling = np.full(len(path), -1, np.int64), np.full(len(path), -1, np.int64)
    child[parent[first]] = leaves[first]
    sibling[leaves[:-1][~first[1:]]] = leaves[1:][~first[1:]]
    return child, sibling


def replay_run(
    program: Program, before: Network, afters: Sequence[Network], networks: Sequence[NDArray[np.int64]] = ()
) -> list[Replay]:
    """Return replays of a run with every link on and awake, then as forecast, without sleep and with it.

    One for each of `afters`, which differ in how they sleep alone. `networks` are the hosts of several networks,
    whose runs the program joins. Messages go frame by frame, up to FRAMES_UP_TO: as flows, those of several frames wait
    too long for each other where they share links.

    The seconds added lie between `least_seconds` and `most_seconds` in nine of ten replays of the run with each
    computation UNSTEADY: where messages meet at a link, a little more or less lets another go first. Both are 0 where
    nothing changes. As flows, messages add as much as do frames in the part of the run that is FRAMES_UP_TO long, at
    the least.
    """
    whole, program = program, in_frames(program)
    first, second = (rank_ends(network, program) for network in (before, awake(afters[0])))
    others = _otherwise(program, before, afters[0])
    scale = 1.0 if program is not whole or whole.frames.max(initial=1) == 1 else _of_frames(whole, before, afters[0])
    hosts = before.hosts
    steps, ranks = program.compute_seconds.shape
    sender = np.repeat(np.arange(steps * ranks), np.diff(whole.first_message)) % ranks

    def of(ends: NDArray[np.float64], mine: NDArray[np.int64]) -> Replay:
        a, b, c = (float(each[mine].max(initial=0.0)) for each in (first, second, ends))
        own = np.flatnonzero(np.isin(sender, mine))
        added = np.append(np.diff(others[:, :, mine].max(axis=2, initial=0.0), axis=1)[:, 0], c - a)
        low, high = np.quantile(added, HELD, method="weibull").tolist()
        low, high = min(low, scale * low), max(high, scale * high)
        return Replay(len(own), steps if len(own) or a else 0, a, c - b, b - a, 1, min(low, c - a), max(high, c - a))

    found = []
    for after in afters:
        ends, asleep = ends_and_sleep(after, program)
        parts = tuple(of(ends, np.flatnonzero(np.isin(program.host, mine))) for mine in networks)
        shares = tuple((asleep[:hosts] / max(float(ends.max(initial=0.0)), 1e-12)).tolist())
        found.append(replace(of(ends, np.arange(ranks)), networks=parts, asleep=(shares,)))
    return found


def _otherwise(program: Program, before: Network, after: Network) -> NDArray[np.float64]:
    """Return when each rank is done, float64[OTHERWISE, 2, R], before and after, of runs that compute a little else.

    Fewer of a run of many frames, so that all together have some FRAMES_UP_TO times four, but at least four.
    """
    chance = np.random.default_rng(1)
    runs = int(np.clip(4 * FRAMES_UP_TO // max(1, len(program.destination)), 4, OTHERWISE))
    found = np.zeros((runs, 2, program.compute_seconds.shape[1]))
    fields: Iterable[tuple[Any, Any]] = zip(before, after, strict=True)
    if all(np.array_equal(a, b) for a, b in fields):
        return found
    for each in found:
        drawn = chance.gamma(UNSTEADY**-2, UNSTEADY**2, program.compute_seconds.shape)
        other = program._replace(compute_seconds=drawn * program.compute_seconds)
        each[:] = rank_ends(before, other), rank_ends(after, other)
    return found


def _of_frames(program: Program, before: Network, after: Network) -> float:
    """Return the share that frames add of what flows do, at most 1, over the first steps of a run of many frames."""
    ranks = program.compute_seconds.shape[1]
    ends = np.append(0, np.cumsum(program.frames))[program.first_message]
    kept = max(1, int(np.searchsorted(ends[::ranks], FRAMES_UP_TO, side="right")) - 1)
    sent = int(program.first_message[kept * ranks])
    part = program._replace(
        compute_seconds=program.compute_seconds[:kept],
        first_message=program.first_message[: kept * ranks + 1],
        destination=program.destination[:sent],
        volume_bytes=program.volume_bytes[:sent],
        awaited=np.minimum(program.awaited[:sent], kept - 1),
    )
    frames, flows = (replay(after, each) - replay(before, each) for each in (in_frames(part), part))
    return float(np.clip(frames / flows, 0.0, 1.0)) if flows > 0 else 1.0


def in_frames(program: Program) -> Program:
    """Return the same program with a message for each frame, the last the shortest; unchanged if these are too many.

    A link serves frames in the order in which they arrive. As a flow, a message comes at the rate that it had when its
    first frame came to the link before; where another message joins there, it comes at less, and until its last bit the
    links after it are taken for busier than they are.
    """
    frames = program.frames
    if frames.sum() > FRAMES_UP_TO or frames.max(initial=1) == 1:
        return program
    volume = np.repeat(np.full(len(frames), program.frame_bytes), frames)
    last = np.cumsum(frames) - 1
    volume[last] = program.volume_bytes - (frames - 1) * program.frame_bytes
    return program._replace(
        first_message=np.concatenate([[0], np.cumsum(frames)])[program.first_message].astype(np.int64),
        destination=np.repeat(program.destination, frames),
        volume_bytes=volume,
        awaited=np.repeat(program.awaited, frames) if len(program.awaited) else program.awaited,
    )


def replay(network: Network, program: Program) -> float:
    """Return the run time in seconds of a program: when the last of its ranks is done, as `rank_ends` has it."""
    return float(rank_ends(network, program).max())


def rank_ends(network: Network, program: Program) -> NDArray[np.float64]:
    """Return when each rank of a program is done, float64[R] in seconds, as `ends_and_sleep` has it."""
    return ends_and_sleep(network, program)[0]


def ends_and_sleep(network: Network, program: Program) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return when each rank is done, float64[R], and how long each channel is in LPI, float64[C] in seconds.

    Messages are flows. A message is two events on each link, whatever its size.

    A rank calls when its computation is done and all messages to it have arrived. So a delay shifts everything that
    depends on it, and the order of arrivals at a link is that of the run with sleep. A link serves bits in order of
    arrival: the first frame of a message arrives at once, the others evenly until its last. A message has arrived when
    its last bit and all bits before it are through (Lindley's recursion with fluid input). A link that is idle for
    longer than the time-out begins to wake when work comes, but not before it has fallen asleep. With `together`, both
    directions of a cable must be idle. PAUSE and full buffers are left out; the gaps between frames of a message from a
    slower link count as work.
    """
    steps, ranks = program.compute_seconds.shape
    rows = np.repeat(np.arange(steps * ranks), np.diff(program.first_message))
    missing = np.zeros((steps, ranks), np.int64)
    awaited = program.awaited if len(program.awaited) else rows // ranks
    if program.waits:
        np.add.at(missing, (awaited, program.destination), 1)
    asleep = np.zeros(len(network.rate_bps))
    full = 8.0 * (program.frame_bytes + program.overhead_bytes)
    head = np.where(program.frames > 1, full, program.wire_bits)
    messages = _Messages(program.wire_bits, head, awaited, rows % ranks)
    pair = program.host[rows % ranks] * network.hosts + program.host[program.destination]
    first_place = np.concatenate([[0], np.cumsum(np.diff(network.path_start)[pair])])
    return _replay(_with_branches(network), program, messages, missing, network.hosts, first_place, asleep), asleep


def _with_branches(network: Network) -> Network:
    """Return the same network with each place's child, where nothing is flooded: the next place of its path."""
    if len(network.child):
        return network
    child = np.where(np.append(network.path[1:], -1) >= 0, np.arange(len(network.path)) + 1, -1)
    child[network.path < 0] = -1
    return network._replace(child=child, sibling=np.full_like(network.path, -1))


class _Messages(NamedTuple):
    """By message: bits, bits of the first frame, the step in which it is awaited, and the sending rank."""

    bits: NDArray[np.float64]
    head: NDArray[np.float64]
    awaited: NDArray[np.int64]
    source: NDArray[np.int64]


@kernel
def _replay(  # noqa: C901, PLR0912, PLR0915 - one compiled loop: split, each part would take all of its arrays
    network: Network,
    program: Program,
    messages: _Messages,
    missing: NDArray[np.int64],
    hosts: int,
    place: NDArray[np.int64],
    asleep: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Process calls, first frames and last frames in order of time; return the time at which each rank is done.

    `place`, int64[M + 1], is where the hops of each message begin in arrays of all. `asleep`, float64[C], is increased
    by each channel's seconds in LPI.
    """
    rate, back, together, latency = network.rate_bps, network.back, network.together, network.latency_seconds
    timeout, sleep, wake = network.timeout_seconds, network.sleep_seconds, network.wake_seconds
    path_start, path, child, sibling = network.path_start, network.path, network.child, network.sibling
    host, compute, waits = program.host, program.compute_seconds, program.waits
    first_message, destination = program.first_message, program.destination
    bits, head, awaited, source = messages
    steps, ranks = compute.shape
    channels = len(rate)
    queued, inflow = np.zeros(channels), np.zeros(channels)  # bits at `seen`; bits per second that arrive from then on
    seen, awake = np.zeros(channels), np.zeros(channels)  # the link sends from `awake` on
    empty, flows = np.zeros(channels), np.zeros(channels, np.int64)  # idle from then on; messages that are arriving
    came, speed = np.zeros(place[-1]), np.zeros(place[-1])  # time and rate at which each message reached each link
    step, calling = np.zeros(ranks, np.int64), np.zeros(ranks, np.bool_)
    there = np.zeros((steps, ranks))  # the time of the rank's own call, or of the last message to it
    heap = [(0.0, CALL, 0, 0)]
    heappop(heap)
    for r in range(ranks):
        heappush(heap, (compute[0, r], CALL, r, 0))
    end = np.zeros(ranks)
    while len(heap) > 0:
        now, kind, one, hop = heappop(heap)
        first, last = one, one + 1
        if kind == CALL:
            row = step[one] * ranks + one
            first, last = first_message[row], first_message[row + 1]
        for m in range(first, last):
            k, d = awaited[m], destination[m]
            a, b = host[source[m]], host[d]
            gone = now
            onward, copied = False, False
            if a != b:
                start = path_start[a * hosts + b]
                at = start + hop
                c = path[at]
                following, here = child[at], place[m] + hop
                onward, copied = following >= 0, hop > 0 and path[at - 1] < 0
                held = min(max(awake[c] - seen[c], 0.0), now - seen[c])
                served = rate[c] * (now - seen[c] - held)
                queued[c] = max(0.0, queued[c] + inflow[c] * (now - seen[c]) - served)
                seen[c] = now
                idle = now - (max(empty[c], empty[back[c]]) if together[c] else empty[c])
                if kind != LAST and idle > timeout[c]:
                    awake[c] = now + max(timeout[c] + sleep[c] - idle, 0.0) + wake[c]
                    asleep[c] += max(idle - timeout[c] - sleep[c], 0.0)
                    if together[c]:
                        asleep[back[c]] += max(idle - timeout[c] - sleep[c], 0.0)
                        awake[back[c]], seen[back[c]], queued[back[c]] = awake[c], now, 0.0
                begin = max(now, awake[c])
                out = begin + (queued[c] + head[m]) / rate[c]
                pace = rate[c]  # rate towards the next link; its last bit corrects the error
                if kind == CALL or head[m] == bits[m]:
                    queued[c] += bits[m]
                elif kind == FIRST:
                    alone = begin == now and queued[c] == 0.0
                    inflow[c] += speed[here]
                    flows[c] += 1
                    pace *= speed[here] / (max(inflow[c], rate[c]) if alone else inflow[c])
                    queued[c] += head[m]
                else:
                    queued[c] = max(0.0, queued[c] + bits[m] - head[m] - speed[here] * (now - came[here]))
                    flows[c] -= 1
                    inflow[c] = inflow[c] - speed[here] if flows[c] > 0 else 0.0
                gone = begin + queued[c] / rate[c]
                empty[c] = gone if flows[c] == 0 else np.inf
                while following >= 0:
                    after = following - start
                    if kind != LAST:
                        came[place[m] + after], speed[place[m] + after] = out + latency[c], pace
                        heappush(heap, (out + latency[c], FIRST, m, after))
                    if head[m] < bits[m] and kind != FIRST:
                        heappush(heap, (gone + latency[c], LAST, m, after))
                    following = sibling[following]
                gone += latency[c]
            if onward or copied or (kind == FIRST and head[m] < bits[m]):
                continue
            end[d] = max(end[d], gone)
            if waits:
                there[k, d] = max(there[k, d], gone)
                missing[k, d] -= 1
                end[d] = max(end[d], _go_on(d, step, calling, missing, there, compute, heap))
        if kind == CALL:
            calling[one] = True
            there[step[one], one] = max(there[step[one], one], now)
            end[one] = max(end[one], _go_on(one, step, calling, missing, there, compute, heap))
    last_end = end.max()
    for c in range(channels):
        idle = last_end - (max(empty[c], empty[back[c]]) if together[c] else empty[c])
        asleep[c] += max(idle - timeout[c] - sleep[c], 0.0)
    return end


@kernel
def _go_on(
    rank: int,
    step: NDArray[np.int64],
    calling: NDArray[np.bool_],
    missing: NDArray[np.int64],
    there: NDArray[np.float64],
    compute: NDArray[np.float64],
    heap: list[tuple[float, int, int, int]],
) -> float:
    """Start a rank's next computation if it has called and awaits no message; return its step's end, else 0."""
    k = step[rank]
    if not calling[rank] or missing[k, rank] > 0:
        return 0.0
    calling[rank] = False
    step[rank] = k + 1
    if k + 1 < len(compute):
        heappush(heap, (there[k, rank] + compute[k + 1, rank], CALL, rank, 0))
    return float(there[k, rank])
