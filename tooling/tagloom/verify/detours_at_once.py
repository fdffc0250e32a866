"""Follow all frames after every failure with known detours, path by path in compiled loops, in little memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.graph.kernel import kernel
from tagloom.graph.search import matrix
from tagloom.verify.forwarding import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tagloom.verify.forwarding import Forwarding

WITNESSES = 3  # pairs named per failure


class Effects(NamedTuple):
    """The effects of F failures on frames of H hosts, which T tours (frames entering at a node) follow.

    arrives, heard  bool[T, H], the hosts that entries lead to; and those with the ports of hosts on the first switch
    turns           int64, the dependencies of all tours, as held * C + wanted, ascending
    total, saved, unprotected  int64[F], ordered pairs that are connected; with a path by detours alone; without one
    witness         int64[F, WITNESSES], the first unprotected pairs as source * H + destination, -1 for none
    load            int64[F + 1, C], the pairs that pass each channel: without a failure, then after each
    """

    arrives: NDArray[np.bool_]
    heard: NDArray[np.bool_]
    turns: NDArray[np.int64]
    total: NDArray[np.int64]
    saved: NDArray[np.int64]
    unprotected: NDArray[np.int64]
    witness: NDArray[np.int64]
    load: NDArray[np.int64]


class Moves(NamedTuple):
    """The U changes of hosts after failures, by tour; start int64[T + 2], the changes to each, to none last."""

    start: NDArray[np.int64]
    failure: NDArray[np.int32]
    host: NDArray[np.int32]
    number: NDArray[np.int32]


class Cases(NamedTuple):
    """The failures, F of them, and what they leave connected; sets of hosts are W words of 64.

    link, switch  int32[F], what is dead, -1 for none of the kind
    side          int32[F, H], for each host the row of `together` that is connected to it
    together      uint64[X, W]; the row 0 is empty, for hosts of a dead switch
    pairs         uint64[H, W], the hosts that each host is to reach
    into          int32[E], channels by the switch they lead to; into_start int64[N + 1]
    """

    link: NDArray[np.int32]
    switch: NDArray[np.int32]
    side: NDArray[np.int32]
    together: NDArray[np.uint64]
    pairs: NDArray[np.uint64]
    into: NDArray[np.int32]
    into_start: NDArray[np.int64]


class _Part(NamedTuple):
    """Nodes that lead to each other: their entries and egresses, by their places in the part."""

    pin: NDArray[np.int32]  # [n, H], the port that an entry leads to, 0 for none
    to: NDArray[np.int32]  # [n, ports + 1], the next node, -1 if frames go no further
    channel: NDArray[np.int32]  # [n, ports + 1]
    host: NDArray[np.int32]  # [n, ports + 1], the host there, -1 for none


class _Found(NamedTuple):
    """What is written for all tours; as Effects, and the pairs that each change finds broken."""

    arrives: NDArray[np.bool_]
    heard: NDArray[np.bool_]
    turned: NDArray[np.bool_]  # [C, ports + 1], turns from a channel to that of a port
    saved: NDArray[np.int64]
    unprotected: NDArray[np.int64]
    witness: NDArray[np.int64]
    load: NDArray[np.int64]
    broken: NDArray[np.uint64]  # [U, W]


def packed(flags: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return rows of flags as bits, uint64[K, W]: flag i is bit ``i & 63`` of word ``i >> 6``."""
    octets = np.zeros((len(flags), 8 * -(-flags.shape[1] // 64)), np.uint8)
    part = np.packbits(flags, axis=1, bitorder="little")
    octets[:, : part.shape[1]] = part
    return octets.view("<u8").astype(np.uint64)


def followed(
    model: Forwarding,
    nodes: NDArray[np.int64],
    home: NDArray[np.int64],
    changes: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    cases: Cases,
) -> Effects:
    """Return what every failure does.

    `nodes` are those by which each tour enters, int64[T]; `home` is each host's tour without a failure, int64[H], and
    `changes` are (failure, host, tour) where it is another one after a failure, int64[U] each. Tours are -1 where
    frames are dropped at once. Parts of the nodes that lead to each other, under fixed assignment the nodes of one
    VLAN, are taken one after another, so that entries are looked up in small tables.
    """
    hosts, tours, failures = len(home), len(nodes), len(cases.link)
    channels, ports = max(1, len(model.fabric.tail)), max(model.fabric.ports, default=0) + 1
    words = cases.pairs.shape[1]
    failure, host, tour = changes
    by_tour = np.argsort(np.where(tour < 0, tours, tour), kind="stable")
    start = np.searchsorted(np.where(tour < 0, tours, tour)[by_tour], np.arange(tours + 2))
    moves = Moves(start, failure[by_tour].astype(np.int32), host[by_tour].astype(np.int32), by_tour.astype(np.int32))
    number = np.full((failures, hosts), -1, np.int32)  # of the change of each host after each failure
    number[failure, host] = np.arange(len(failure))
    found = _Found(
        np.zeros((tours, hosts), np.bool_), np.zeros((tours, hosts), np.bool_), np.zeros((channels, ports), np.bool_),
        np.zeros(failures, np.int64), np.zeros(failures, np.int64), np.full((failures, WITNESSES), -1, np.int64),
        np.zeros((failures + 1, channels), np.int64), np.zeros((len(failure), words), np.uint64),
    )  # fmt: skip
    of_home = np.argsort(np.where(home < 0, tours, home), kind="stable")
    home_start = np.searchsorted(np.where(home < 0, tours, home)[of_home], np.arange(tours + 2))
    out_port = np.append(model.fabric.tail_port, 0).astype(np.int32)
    in_port = np.append(model.fabric.head_port, 0).astype(np.int32)
    label = _labels(model)
    for few, at_home in ((np.unique(home), True), (np.unique(tour), False)):  # at home first: `broken` is compared
        for part, which, first in _parts(model, label, nodes, few):
            _follow(
                part, which, first, model.nodes + 1, out_port, in_port, cases, moves, number, of_home, home_start,
                found, at_home,
            )  # fmt: skip
    found.load[1:] += found.load[0]
    held, port = np.nonzero(found.turned)
    turns = held * channels + model.fabric.port_channel[model.fabric.head[held], port] if len(held) else held
    return Effects(
        found.arrives, found.heard, np.unique(turns), _connected_pairs(cases), found.saved, found.unprotected,
        found.witness, found.load,
    )  # fmt: skip


def _labels(model: Forwarding) -> NDArray[np.int32]:
    """Return numbers of the nodes, alike where frames go from one to the other, int32[K]."""
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - a third of a second few commands need

    on = np.flatnonzero((model.egress_to != NOWHERE) & ~model.egress_down)
    near = matrix(model.nodes, model.egress_node[on].astype(np.int64), model.egress_to[on].astype(np.int64))
    label: NDArray[np.int32] = connected_components(near, directed=False)[1]
    return label


def _parts(
    model: Forwarding, label: NDArray[np.int32], nodes: NDArray[np.int64], tours: NDArray[np.int64]
) -> Iterator[tuple[_Part, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield parts of nodes that lead to each other, the tours in each, their first nodes; -1 is a tour by itself."""
    hosts, ports = len(model.fabric.hosts), max(model.fabric.ports, default=0) + 1
    entered = np.unique(label[nodes[tours[tours >= 0]]])
    place = np.full(int(label.max(initial=0)) + 1, -1, np.int64)
    place[entered] = np.arange(len(entered))
    tour_at, node_at = place[label[nodes[tours[tours >= 0]]]], place[label]
    kept = np.flatnonzero(node_at[model.entry_node] >= 0)
    rows = [
        _grouped(each, at, len(entered))
        for each, at in (
            (tours[tours >= 0], tour_at),
            (np.arange(model.nodes), node_at),
            (kept, node_at[model.entry_node[kept]]),
        )
    ]
    table = model.egress_table()
    local = np.empty(model.nodes, np.int64)
    if (tours < 0).any():
        none = np.full((0, ports), -1, np.int32)
        yield _Part(np.zeros((0, hosts), np.int32), none, none, none), tours[tours < 0], tours[tours < 0]
    for which, mine, entries in zip(*rows, strict=True):
        local[mine] = np.arange(len(mine))
        pin = np.zeros((len(mine), hosts), np.int32)
        pin[local[model.entry_node[entries]], model.entry_host[entries]] = model.entry_port[entries]
        egress = table[mine]
        to = np.where(egress >= 0, model.egress_to[egress], NOWHERE)
        to = np.where(to >= 0, local[to], NOWHERE).astype(np.int32)
        channel = np.where(egress >= 0, model.egress_channel[egress], -1).astype(np.int32)
        host = np.where(egress >= 0, model.egress_host[egress], -1).astype(np.int32)
        yield _Part(pin, to, channel, host), which, local[nodes[which]]


def _grouped(rows: NDArray[np.int64], at: NDArray[np.int64], count: int) -> Sequence[NDArray[np.int64]]:
    """Return the rows of each group, by their group numbers, of which -1 is none."""
    small = at.astype(np.int16) if count < 1 << 15 else at  # 16 bits are sorted by counting
    order = np.argsort(small, kind="stable")
    bounds = np.cumsum(np.bincount(at + 1, minlength=count + 1))
    return [rows[order[low:high]] for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]


@kernel
def _count_bits(x: np.uint64) -> np.int64:
    """Return how many bits of a word are set, by sums in ever wider fields of it."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _connected_pairs(cases: Cases) -> NDArray[np.int64]:
    """Return how many ordered pairs each failure leaves connected, int64[F]."""
    total = np.zeros(len(cases.link), np.int64)
    for f in range(len(total)):
        for h in range(cases.side.shape[1]):
            for w in range(cases.pairs.shape[1]):
                total[f] += _count_bits(cases.pairs[h, w] & cases.together[cases.side[f, h], w])
    return total


@kernel
def _note_witness(row: NDArray[np.int64], source: int, hosts: int, broken: NDArray[np.uint64]) -> None:
    """Insert the first broken pairs of a source among the first ones of all, ascending; -1 is a free place."""
    kept = 0
    for b in range(hosts):
        if not (broken[b >> 6] >> np.uint64(b & 63)) & np.uint64(1):
            continue
        if kept == len(row):
            return
        kept += 1
        pair = source * hosts + b
        for i in range(len(row)):
            if row[i] < 0 or pair < row[i]:
                row[i], pair = pair, row[i]
                if pair < 0:
                    break


@kernel
def _break(
    cases: Cases, f: int, h: int, missed: NDArray[np.uint64], passing: NDArray[np.uint64], broken: NDArray[np.uint64]
) -> None:
    """Write to `broken` the hosts connected to h after failure f that its frames do not reach, uint64[W]."""
    link, switch = cases.link[f], cases.switch[f]
    for w in range(len(broken)):
        lost = missed[w]
        if link >= 0:
            lost |= passing[2 * link, w] | passing[2 * link + 1, w]
        else:
            for i in range(cases.into_start[switch], cases.into_start[switch + 1]):
                lost |= passing[cases.into[i], w]
        broken[w] = cases.pairs[h, w] & cases.together[cases.side[f, h], w] & lost


@kernel
def _follow(  # noqa: C901, PLR0912, PLR0913 - one compiled loop: split, each part would take all of its arrays
    part: _Part,
    tours: NDArray[np.int64],
    first: NDArray[np.int64],
    steps: int,
    out_port: NDArray[np.int32],
    in_port: NDArray[np.int32],
    cases: Cases,
    moves: Moves,
    number: NDArray[np.int32],
    of_home: NDArray[np.int64],
    home_start: NDArray[np.int64],
    found: _Found,
    at_home: bool,
) -> None:
    """Follow the tours of a part, and count what failures do to the hosts that take them: `at_home`, or moved."""
    hosts, words = cases.pairs.shape
    channels = found.load.shape[1]
    passing = np.zeros((channels, words), np.uint64)
    load = np.zeros(channels, np.int64)
    met = np.empty(channels, np.int64)  # the channels of the tour
    missed, broken = np.empty(words, np.uint64), np.empty(words, np.uint64)
    for i in range(len(tours)):
        t, count = tours[i], 0
        missed[:] = ~np.uint64(0)
        for h in range(hosts if t >= 0 else 0):
            v, held, came = first[i], -1, 0
            for _ in range(steps):
                port = part.pin[v, h]
                if port <= 0 or port == came:  # no frame leaves by the port it came in by
                    break
                if part.host[v, port] == h:
                    found.arrives[t, h] = True
                    missed[h >> 6] &= ~(np.uint64(1) << np.uint64(h & 63))
                c = part.channel[v, port]
                if c < 0 or part.to[v, port] < 0:
                    break
                if load[c] == 0:
                    met[count] = c
                    count += 1
                load[c] += 1
                passing[c, h >> 6] |= np.uint64(1) << np.uint64(h & 63)
                if held >= 0:
                    found.turned[held, out_port[c]] = True
                v, held, came = part.to[v, port], c, in_port[c]
        if t >= 0:
            for h in range(hosts):
                found.heard[t, h] = found.arrives[t, h]
            for port in range(part.host.shape[1]):
                if part.host[first[i], port] >= 0:
                    found.heard[t, part.host[first[i], port]] = True
        row = t if t >= 0 else len(home_start) - 2
        if at_home:
            for j in range(home_start[row], home_start[row + 1]):
                h = of_home[j]
                for k in range(count):
                    found.load[0, met[k]] += load[met[k]]
                for f in range(len(cases.link)):
                    _break(cases, f, h, missed, passing, broken)
                    if number[f, h] >= 0:
                        found.broken[number[f, h]] = broken
                        for k in range(count):
                            found.load[f + 1, met[k]] -= load[met[k]]
                        continue
                    few = np.int64(0)
                    for w in range(words):
                        few += _count_bits(broken[w])
                    if few:
                        found.unprotected[f] += few
                        _note_witness(found.witness[f], h, hosts, broken)
        else:
            for j in range(moves.start[row], moves.start[row + 1]):
                f, h = moves.failure[j], moves.host[j]
                _break(cases, f, h, missed, passing, broken)
                few = np.int64(0)
                for w in range(words):
                    few += _count_bits(broken[w])
                    found.saved[f] += _count_bits(found.broken[moves.number[j], w] & ~broken[w])
                if few:
                    found.unprotected[f] += few
                    _note_witness(found.witness[f], h, hosts, broken)
                for k in range(count):
                    found.load[f + 1, met[k]] += load[met[k]]
        for k in range(count):
            load[met[k]] = 0
            passing[met[k]] = 0
