"""Estimate who sent how much to whom from what ports counted: the likeliest matrix that fits (tomogravity)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.graph.counted_loads import OWN_BYTES, TOLERANCE
from tagloom.graph.paths import paths_to
from tagloom.records.counted import PortCounts
from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from tagloom.records.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from tagloom.records.counted import Counted
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes

SWEEPS = 1000
NEWTON_ROWS = 800  # counts up to which they are met by solving for all at once
NEWTON_STEPS = 60
LONGEST_STEP = 5.0  # of the logarithm of an entry
CLOSE = 1e-9  # of the greatest count: all counts are met
STEADY = 20  # sweeps that must bring the counts closer; counts that contradict one another are never all met
RANKED = 1500  # counts up to which the rank of their equations is computed
BOUNDED = 2_000_000  # terms of the equations up to which every entry is bounded
BOUND_SWEEPS = 20
FRAME_BYTES = 1500.0  # messages are not counted: frames of this size are taken for them


def estimate(fabric: Fabric, routes: Routes, counted: Counted) -> Traffic:
    """Estimate a host matrix whose sums at hosts' ports, and over channels along the routes, are those counted.

    The prior is gravity: what a host sends goes to the others of its network in proportion to what they get. Iterative
    proportional fitting scales it until all counts are met; its limit has the least Kullback-Leibler distance from the
    prior of all matrices that meet them (Csiszar 1975; tomogravity: Zhang et al., SIGMETRICS 2003), and no entry is
    negative. How far counts determine the matrix stands in the remarks: the dimension left free, and the share of bytes
    that no other matrix places elsewhere. Raises InputError where nothing was counted, or hosts' ports were not.
    """
    hosts = len(fabric.hosts)
    sent, received = _host_sums(fabric, counted)
    channel = channel_sums(fabric, counted.carried)
    carried = np.bincount(fabric.host_link, minlength=hosts)[fabric.host_link]  # networks at each host's port
    prior = np.outer(sent / carried, received / carried)
    np.fill_diagonal(prior, 0.0)
    if fabric.within_networks is not None:
        prior *= fabric.within_networks
    total = prior.sum()
    if total <= 0:
        raise InputError([Finding("the counters", "some bytes from one host to another", "none")])
    x = (prior * (sent / carried).sum() / total).ravel()
    rows, sums = _equations(fabric, routes, sent, received, channel)
    x = _fitted(x, rows, sums)
    remarks = (*counted.remarks, *_remarks(rows, sums, x, fabric, counted))
    matrix = x.reshape(hosts, hosts)
    seconds = max(counted.seconds, 1e-9)
    tolerance = np.array([counted.apart_seconds / seconds])
    agreed = channel_sums(fabric, counted.carried, (TOLERANCE + float(tolerance[0]), OWN_BYTES * seconds))
    usual = np.array([links_usual(fabric, counted.down, counted.slowest_bps)])
    counts = PortCounts(
        sent[None] / seconds, received[None] / seconds, agreed[None] / seconds, usual, tolerance, counted.remarks
    )
    return Traffic(matrix, np.ceil(matrix / FRAME_BYTES), counted.seconds, remarks, counts=counts)


def _host_sums(fabric: Fabric, counted: Counted) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bytes that came in and went out by each host's port, of all networks that it carries, float64[H]."""
    pairs = [counted.carried.get((fabric.switches[host.switch].name, host.port)) for host in fabric.hosts]
    if missing := [host.name for host, pair in zip(fabric.hosts, pairs, strict=True) if pair is None]:
        expected = "two readings of the port of every host"
        raise InputError([Finding("the counters", expected, f"none of {', '.join(missing[:8])}")])
    both = np.array(pairs, np.float64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def links_usual(fabric: Fabric, down: Collection[tuple[str, int]], slowest_bps: Mapping[tuple[str, int], int]) -> bool:
    """Return whether no port of a link that is up in the fabric file was down, or slower than the link is there."""
    ends = (((fabric.switches[end].name, port), 1e6 * (link.speed_mbps or DEFAULT_SPEED_MBPS))
            for link in fabric.links if link.up for cable in link.cables
            for end, port in zip((link.a, link.b), cable, strict=True))  # fmt: skip
    return not any(end in down or slowest_bps.get(end, speed) < speed for end, speed in ends)


def channel_sums(
    fabric: Fabric, carried: Mapping[tuple[str, int], tuple[float, float]], differ: tuple[float, float] = (np.inf, 0.0)
) -> NDArray[np.float64]:
    """Return bytes by channel: the mean of what left one end and entered the other, or what one end counted.

    It is NaN where neither end was read, and where the mean differs from either end by more than `differ`: a share of
    it and a number of bytes. One of two such ends is wrong (frames were lost in between, or a counter stood still), and
    no counter says which.
    """
    sums = np.full(2 * len(fabric.links), np.nan)
    for i, link in enumerate(fabric.links):
        ends = ((fabric.switches[link.a].name, 0), (fabric.switches[link.b].name, 1))
        seen = [[carried.get((name, cable[side])) for cable in link.cables] for name, side in ends]
        for direction in range(2):
            reported = [
                sum(pair[1 if side == direction else 0] for pair in seen[side] if pair is not None)
                for side in range(2)
                if all(pair is not None for pair in seen[side])
            ]
            mean = sum(reported) / len(reported) if reported else np.nan
            if all(abs(end - mean) <= differ[0] * mean + differ[1] for end in reported if end != mean):
                sums[2 * i + direction] = mean
    return sums


def _equations(
    fabric: Fabric,
    routes: Routes,
    sent: NDArray[np.float64],
    received: NDArray[np.float64],
    channel: NDArray[np.float64],
) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
    """List the entries that add up to each count: of every host's port in and out, and of every channel that was read.

    Entries of pairs of different networks are in none.
    """
    hosts = len(fabric.hosts)
    h, ports = np.arange(hosts), np.unique(fabric.host_link)
    at = [np.flatnonzero(fabric.host_link == first) for first in ports]
    targets, column = np.unique(fabric.host_switch, return_inverse=True)
    paths = paths_to(fabric, routes, targets)
    rows = [np.concatenate([h[h != a] + a * hosts for a in mine]) for mine in at]
    rows += [np.concatenate([b + h[h != b] * hosts for b in mine]) for mine in at]
    over: list[list[NDArray[np.int64]]] = [[] for _ in channel]
    for a in range(hosts):
        path = paths[routes.source_of_host[a]][column]
        target, step = np.nonzero(path >= 0)
        crossed = path[target, step]
        order = np.argsort(crossed, kind="stable")
        parts, begin = np.unique(crossed[order], return_index=True)
        for c, some in zip(parts.tolist(), np.split(target[order], begin[1:]), strict=False):
            over[c].append(some + a * hosts)
    read = [c for c in np.flatnonzero(~np.isnan(channel)).tolist() if over[c]]
    rows += [np.concatenate(over[c]) for c in read]
    sums = np.r_[sent[ports], received[ports], channel[read]]
    if fabric.within_networks is None:
        return rows, sums
    within = fabric.within_networks.ravel() > 0
    rows = [row[within[row]] for row in rows]
    filled = [i for i, row in enumerate(rows) if len(row)]
    return [rows[i] for i in filled], sums[filled]


def _fitted(x: NDArray[np.float64], rows: list[NDArray[np.int64]], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale entries until they add up to the counts: count by count, then where there are few by all counts at once.

    The latter is Newton's method on the dual (x times exp of a price of each count), which does not slow down where
    counts leave some entries nothing.
    """
    close = CLOSE * sums.max(initial=0.0)
    last = np.inf
    for sweep in range(SWEEPS):
        worst = 0.0
        for row, amount in zip(rows, sums.tolist(), strict=True):
            have = float(x[row].sum())
            if have > 0:
                worst = max(worst, abs(have - amount))
                x[row] *= amount / have
        if worst <= close:
            return x
        if sweep % STEADY == STEADY - 1:
            if worst > last * (0.5 if len(rows) <= NEWTON_ROWS else 1 - 1e-3):
                break
            last = worst
    if len(rows) > NEWTON_ROWS:
        return x
    matrix = _matrix(rows, len(x))
    best, least = x, np.inf
    for _ in range(NEWTON_STEPS):
        missed = sums - matrix @ x
        if float(np.abs(missed).max()) < least:
            best, least = x, float(np.abs(missed).max())
        if least <= close:
            break
        try:
            price = np.linalg.lstsq((matrix.multiply(x) @ matrix.T).toarray(), missed, rcond=1e-10)[0]
        except np.linalg.LinAlgError:  # LAPACK gave up on the singular values: counts that are nearly met stay so
            break
        x = x * np.exp(np.clip(matrix.T @ price, -LONGEST_STEP, LONGEST_STEP))
    return best


def _matrix(rows: list[NDArray[np.int64]], entries: int) -> Any:
    """Return the equations as a sparse matrix of ones."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - a third of a second that most commands need not wait for

    at = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return csr_matrix((np.ones(len(at)), (at, np.concatenate(rows))), (len(rows), entries))


def _remarks(
    rows: list[NDArray[np.int64]], sums: NDArray[np.float64], x: NDArray[np.float64], fabric: Fabric, counted: Counted
) -> list[str]:
    matrix = _matrix(rows, len(x))
    at, columns = matrix.nonzero()
    pairs = fabric.pairs
    have = matrix @ x
    worst = 100 * float(np.abs(have - sums).max()) / max(float(sums.max()), 1e-300)
    exact = len(rows) <= RANKED
    rank = int(np.linalg.matrix_rank((matrix @ matrix.T).toarray())) if exact else min(len(rows), pairs)
    intervals = f"{counted.intervals} interval{'' if counted.intervals == 1 else 's'}"
    free = f"{'' if exact else 'at least '}{pairs - rank:,} of {pairs:,} pairs' bytes free"
    words = [
        "counters do not say who sent to whom: the matrix is an estimate, the likeliest one that fits them",
        f"{len(rows):,} counts leave {free}; the estimate misses a count by at most {worst:.2g} % of the greatest",
    ]
    if len(columns) <= BOUNDED:
        low, high = _bounds(columns, at, sums, len(x))
        total = float(x.sum())
        hosts, within = len(fabric.hosts), fabric.within_networks
        between = ~np.eye(hosts, dtype=np.bool_) if within is None else within > 0
        width = 100 * (high - low)[between.ravel()] / total
        words += [
            f"{100 * min(float(low.sum()) / total, 1.0):.0f} % of the bytes can have gone between no other pairs",
            f"a pair's bytes are known within {np.median(width):.2g} % of all (median), {width.max():.2g} % (widest)",
        ]
    return [
        *words,
        "the paths are those planned now, all links on: where others were in use, the estimate is of another network",
        f"bytes are sums over {intervals}, {counted.seconds:g} s in all: bursts within are unknown",
        "octets hold Ethernet headers, and what switches send of their own (LLDP, spanning tree, management)",
        f"counters do not count messages: frames of {FRAME_BYTES:,.0f} bytes stand for them",
    ]


def _bounds(
    columns: NDArray[np.int64], at: NDArray[np.int64], sums: NDArray[np.float64], entries: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bound every entry: by each count it is part of, less the least (or the most) that the others there can be."""
    low, high = np.zeros(entries), np.full(entries, np.inf)
    np.minimum.at(high, columns, sums[at])
    high[np.isinf(high)] = 0.0
    for _ in range(BOUND_SWEEPS):
        least, most = np.bincount(at, low[columns], len(sums)), np.bincount(at, high[columns], len(sums))
        np.minimum.at(high, columns, np.maximum((sums - least)[at] + low[columns], 0.0))
        np.maximum.at(low, columns, (sums - most)[at] + high[columns])
        low = np.minimum(low, high)
    return low, high
