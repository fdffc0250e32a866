"""Bound the load of every channel over all traffic that fits what ports counted (linear programs, HiGHS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.floods import flooded_channels, unknown_uplinks
from tagloom.graph.integer_programs import solve_linear
from tagloom.graph.paths import paths_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.counted import PortCounts
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes

TOLERANCE = 0.02  # of a count by which another one of the same bytes may differ, besides what readings say
WIDER = 0.03  # share by which limits are widened for a matrix that was found by scaling, before a program decides
TAG_SHARE = 4 / 68  # of what links between switches count, at most: the tag of a frame, which hosts' ports don't have
OWN_BYTES = 1000.0  # per second that a switch sends by itself over a port: LLDP, spanning tree, its management
INSIDE = 0.3  # of the room between two limits, by which scaling goes beyond the one that was missed
SWEEPS, ENOUGH = 60, 15  # rounds in which a matrix that fits is sought, after which NEARLY is good enough
NEARLY = 0.01  # share by which limits are missed
PROGRAMS = 300  # linear programs at most for one question
TERMS = 2_500  # groups of host pairs up to which loads are bounded
CHUNK = 4_000_000  # entries of matrices that are sought at once
NEITHER, HOSTS, ALL = 0, 1, 2  # the counts that some matrix fits: none, those of hosts' ports, links' as well


@dataclass(frozen=True, eq=False)
class Setting:
    """Paths under link settings: the fabric with them, and its routes."""

    fabric: Fabric
    routes: Routes


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups of host pairs with the same paths and alike ports: the unknowns of the programs.

    source, target      int64[V]: a host of each group at either end
    sending, receiving  int64[V]: the row of the ports at which each group is counted first and last
    crossed             float64[R, V]: how often each row of counts has a byte of each group; hosts' ports come first
    of_port             float64[2, P, R']: the share of each port's bytes, in and out, in each row of hosts' ports
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    sending: NDArray[np.int64]
    receiving: NDArray[np.int64]
    crossed: NDArray[np.float64]
    of_port: NDArray[np.float64]

    @property
    def port_rows(self) -> int:
        """Return the number of rows of hosts' ports."""
        return int(self.of_port.shape[2])


class CountedLoads:
    """All traffic that fits the counts of some intervals, while frames took the routes of `ran`.

    A matrix fits if it is not negative, every port of hosts sends and receives what it counted, and every channel of
    `ran` carries what it counted, each within a tolerance: TOLERANCE and the interval's own, the tags of frames between
    switches, and OWN_BYTES. Where no matrix fits the channels' counts, or links were down, other paths were in use, and
    hosts' ports alone are taken; where none fits these either, or a host's port was not read, nothing is bounded.
    `fits` says which, int8[T], and `groups` how many groups of host pairs the greatest question had.

    Every bound is that of a dual solution, which holds whatever a solver's rounding: its prices add up to the load of
    each group of host pairs at least. The prices of one interval hold for all others, too.
    """

    def __init__(self, ran: Setting, counts: PortCounts, *, copies: bool = True) -> None:
        """Take counts of the routes of `ran`; `copies` counts those of flooded frames along their senders' trees."""
        self.ran, self.counts, self._copies = ran, counts, copies
        self._ports = np.unique(ran.fabric.host_link)
        self.groups = 0
        self._wider = np.zeros(len(counts))  # by which share limits are wider, where a matrix nearly met them
        self.fits = np.full(len(counts), NEITHER, np.int8)
        groups = self._groups(())
        if groups is not None and len(groups.source):
            self._fit(groups)

    @property
    def too_many(self) -> bool:
        """Return whether a question had more groups of host pairs than are bounded."""
        return self.groups > TERMS

    def busiest(
        self,
        settings: Sequence[Setting],
        limit: float | None = None,
        among: NDArray[np.bool_] | None = None,
        programs: int = PROGRAMS,
    ) -> NDArray[np.float64]:
        """Return a bound on the busiest channel's bytes per second under settings, at 1 Gb/s, float64[T].

        Of several settings each host may be under any. The bounds are inf where no matrix fits, and where there are
        more than TERMS groups of host pairs. Without `limit` the greatest of the intervals `among` is as low as the
        counts allow; with it, each is made as low as it takes to be within the limit, if it can be. Only after so many
        `programs` they may be higher.
        """
        groups = self._groups(settings)
        fits = self.fits > NEITHER
        if groups is None:
            return np.full(len(self.counts), np.inf)
        counted = self._counted(groups, self.fits == ALL)
        pool = _Pool(groups, self._cost(groups, settings), *self._limits(groups, counted, np.arange(len(counted))))
        pool.lower(fits if among is None else fits & among, limit, programs)
        return np.where(fits, pool.bound.max(axis=0, initial=0.0), np.inf)

    def busiest_counted(self) -> NDArray[np.float64]:
        """Return what the busiest channel counted, at 1 Gb/s, and what it may differ by, float64[T]; 0 if none was."""
        capacity_mbps = np.repeat([float(link.capacity_mbps()) for link in self.ran.fabric.links], 2)
        most = self.counts.channel * (1 + TOLERANCE + self.counts.tolerance)[:, None] + OWN_BYTES
        busiest: NDArray[np.float64] = np.nan_to_num(most * 1000.0 / capacity_mbps).max(axis=1, initial=0.0)
        return busiest

    def _groups(self, settings: Sequence[Setting]) -> _Groups | None:
        """Return the host pairs that settings and the routes that ran treat alike, None if they are too many."""
        fabric = self.ran.fabric
        hosts = len(fabric.hosts)
        network = np.empty(hosts, np.int64)
        for n, mine in enumerate(fabric.networks.values()):
            network[mine] = n
        flooded = np.zeros(hosts, np.bool_)
        flooded[unknown_uplinks(fabric) if self._copies else []] = True
        where = network, fabric.host_switch
        sources = (each.routes.source_of_host for each in (self.ran, *settings))
        senders, out = self._alike(np.column_stack([*where, *sources]))
        receivers, into = self._alike(np.column_stack([*where, np.where(flooded, np.arange(hosts), -1)]))
        first = [np.unique(each, return_index=True)[1] for each in (senders, receivers)]
        s, d = (grid.ravel() for grid in np.meshgrid(*map(np.arange, map(len, first)), indexing="ij"))
        source, target = first[0][s], first[1][d]
        itself = (source == target) & (np.bincount(senders)[s] == 1) & (np.bincount(receivers)[d] == 1)
        pairs = (network[source] == network[target]) & ~itself
        source, target, s = source[pairs], target[pairs], s[pairs]
        for v in np.flatnonzero((source == target) & flooded[target]).tolist():  # it floods nothing to itself
            source[v] = np.flatnonzero((senders == s[v]) & (np.arange(hosts) != target[v]))[0]
        self.groups = max(self.groups, len(source))
        if self.too_many:
            return None
        port = np.searchsorted(self._ports, fabric.host_link)
        kinds = int(out.max(initial=-1)) + 1, int(into.max(initial=-1)) + 1
        of_port = np.zeros((2, len(self._ports), sum(kinds)))
        of_port[0, np.arange(len(out)), out] = of_port[1, np.arange(len(into)), kinds[0] + into] = 1.0
        sending, receiving = out[port[source]], kinds[0] + into[port[target]]
        channels = self._crossed(self.ran, source, target)
        crossed = np.zeros((sum(kinds) + len(channels), len(source)))
        crossed[sending, np.arange(len(source))] = crossed[receiving, np.arange(len(source))] = 1.0
        crossed[sum(kinds) :] = channels
        for v in np.flatnonzero(flooded[target]).tolist():  # every other port of the network gets a copy
            heard = np.unique(port[(network == network[source[v]]) & (port != port[source[v]])])
            crossed[kinds[0] : sum(kinds), v] = np.bincount(into[heard], minlength=kinds[1])
        return _Groups(source, target, sending, receiving, crossed, of_port)

    def _alike(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the class of each host by its key and its port's, int64[H], and that of each port, int64[P]."""
        link = self.ran.fabric.host_link
        kind = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        at_port = [tuple(sorted(kind[link == port].tolist())) for port in self._ports.tolist()]
        names = {key: n for n, key in enumerate(dict.fromkeys(at_port))}
        of_port = np.array([names[key] for key in at_port], np.int64)
        both = np.column_stack([of_port[np.searchsorted(self._ports, link)], kind])
        return np.unique(both, axis=0, return_inverse=True)[1].reshape(-1), of_port

    def _crossed(self, setting: Setting, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return whether groups of host pairs cross each channel, float64[C, V]."""
        fabric, routes = setting.fabric, setting.routes
        found = np.zeros((len(fabric.tail), len(source)))
        switches, column = np.unique(fabric.host_switch[target], return_inverse=True)
        path = paths_to(fabric, routes, switches)[routes.source_of_host[source], column.reshape(-1)]
        group, step = np.nonzero(path >= 0)
        found[path[group, step], group] = 1.0
        flooded = np.isin(target, unknown_uplinks(fabric)) if self._copies else np.zeros(len(target), np.bool_)
        if flooded.any():
            found[:, flooded] = flooded_channels(fabric, routes)[source[flooded]].T
        return found

    def _cost(self, groups: _Groups, settings: Sequence[Setting]) -> NDArray[np.float64]:
        """Return what a byte of each group puts on each channel in use, at 1 Gb/s, float64[C', V]."""
        cost = np.zeros((len(self.ran.fabric.tail), len(groups.source)))
        for each in settings:
            capacity_mbps = np.repeat([float(link.capacity_mbps()) for link in each.fabric.links], 2)
            crossed = self._crossed(each, groups.source, groups.target)
            cost = np.maximum(cost, crossed * (1000.0 / capacity_mbps)[:, None])
        return np.unique(cost[cost.any(axis=1)], axis=0)

    def _counted(self, groups: _Groups, links: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return what each row counted in each interval, float64[T, R]; NaN where it was not read, or not `links`."""
        sums = np.stack([self.counts.sent, self.counts.received])[:, :, self._ports]
        ports = np.einsum("stp,spr->tr", sums, groups.of_port)
        return np.concatenate([ports, np.where(links[:, None], self.counts.channel, np.nan)], axis=1)

    def _limits(
        self, groups: _Groups, counted: NDArray[np.float64], at: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least and the most bytes per second of each row in intervals `at`; the most is inf if not read."""
        channels = counted.shape[1] - groups.port_rows
        own = OWN_BYTES * np.concatenate([groups.of_port.sum(axis=(0, 1)), np.ones(channels)])
        tags = np.repeat([0.0, TAG_SHARE], [groups.port_rows, channels])
        off, wider = (TOLERANCE + self.counts.tolerance[at])[:, None], self._wider[at][:, None]
        low = np.maximum(counted[at] * (1 - off) * (1 - tags) - own, 0.0) * (1 - wider)
        return np.nan_to_num(low), np.nan_to_num((counted[at] * (1 + off) + own) * (1 + wider), nan=np.inf)

    def _fit(self, groups: _Groups) -> None:
        """Find which counts some matrix fits in each interval, and widen the limits where one nearly does."""
        read = np.isfinite(self.counts.sent).all(axis=1) & np.isfinite(self.counts.received).all(axis=1)
        for level in (HOSTS, ALL):
            at = np.flatnonzero(self.counts.usual & (self.fits == HOSTS) if level == ALL else read)
            counted = self._counted(groups, np.full(len(self.counts), level == ALL))
            so_far = self._wider[at]
            self._wider[at] = 0.0
            low, high = self._limits(groups, counted, at)
            need = _scaled(groups.crossed, low, high)
            good = need <= WIDER
            for i in np.flatnonzero(~good).tolist():
                good[i], need[i] = _possible(groups.crossed, low[i], high[i]), 0.0
            self.fits[at[good]], self._wider[at] = level, np.where(good, need, so_far)


class _Pool:
    """Prices of counts for each channel, and the bounds that they give in each interval, float64[C', T]."""

    def __init__(
        self, groups: _Groups, cost: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> None:
        self._groups, self._cost, self._low, self._high = groups, cost, low, high
        self._solved: set[tuple[int, int]] = set()
        self.bound = np.full((len(cost), len(low)), np.inf)
        channels = groups.crossed[groups.port_rows :]
        for c in range(len(cost)):
            prices = np.zeros(len(groups.crossed))
            self._price(c, prices)
            alike = channels @ cost[c]
            if alike.any():  # the channel that ran with most of the same pairs
                prices[groups.port_rows + int(np.argmax(alike))] = cost[c].max()
                self._price(c, prices)

    def _price(self, c: int, prices: NDArray[np.float64]) -> None:
        """Lower a channel's bounds by prices of rows; what these leave of groups' loads is paid at either port."""
        rest = np.maximum(self._cost[c] - prices @ self._groups.crossed, 0.0)
        for side in (self._groups.sending, self._groups.receiving):
            more = np.zeros(len(prices))
            np.maximum.at(more, side, rest)
            up, down = np.maximum(prices + more, 0.0), np.maximum(-prices - more, 0.0)
            paid = up > 0
            value = self._high[:, paid] @ up[paid] - self._low @ down
            self.bound[c] = np.minimum(self.bound[c], value)

    def lower(self, among: NDArray[np.bool_], limit: float | None, programs: int) -> None:
        """Solve programs until the greatest bound, or with `limit` each that is above it, is exact."""
        left = among.copy()
        for _ in range(programs if len(self.bound) else 0):
            most = np.where(left, self.bound.max(axis=0), 0.0)
            t = int(np.argmax(most))
            if most[t] <= (limit or 0.0):
                return
            c = int(np.argmax(self.bound[:, t]))
            if (c, t) not in self._solved:
                self._solve(c, t)
            elif limit is None:
                return
            else:
                left[t] = False

    def _solve(self, c: int, t: int) -> None:
        self._solved.add((c, t))
        both, top, read = _program(self._groups.crossed, self._low[t], self._high[t])
        answer = solve_linear(-self._cost[c], both, top)
        if answer.status == 0:
            prices = np.zeros(len(read))
            up, down = np.split(-answer.ineqlin.marginals, 2)
            prices[read] = up - down
            self._price(c, prices)


def _program(
    rows: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return `low` <= rows @ x <= `high` as rows with upper limits, about 1 at most, and which of `rows` have any."""
    read = np.isfinite(high)
    unit = max(1.0, float(high[read].max(initial=0.0)))
    return np.concatenate([rows[read], -rows[read]]), np.concatenate([high[read], -low[read]]) / unit, read


def _possible(rows: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> bool:
    """Return whether some x >= 0 has `low` <= rows @ x <= `high`."""
    both, top, _ = _program(rows, low, high)
    return bool(solve_linear(np.zeros(rows.shape[1]), both, top).status == 0)


def _scaled(rows: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by which share of the limits, float64[T, R], a matrix exceeds them, float64[T], 0 where it meets all.

    It is found by scaling entries to each row in turn, for SWEEPS rounds.
    """
    need = np.zeros(len(low))
    step = max(1, CHUNK // max(1, rows.shape[1]))
    members = [np.flatnonzero(row) for row in rows]
    for at in range(0, len(low), step):
        left = np.arange(at, min(at + step, len(low)))
        x = np.ones((rows.shape[1], len(left)))
        for sweep in range(SWEEPS):
            least, most = low[left].T, high[left].T
            inside = INSIDE * np.nan_to_num(most - least, posinf=0.0)
            for r, mine in enumerate(members):
                have = rows[r, mine] @ x[mine]
                wanted = np.clip(have, least[r] + inside[r], most[r] - inside[r])
                x[mine] *= wanted / np.where(have > 0, have, 1.0)
            sums = rows @ x
            over = np.maximum(sums / np.maximum(most, 1e-9) - 1.0, (least - sums) / np.maximum(least, 1e-9))
            need[left] = np.maximum(over.max(axis=0, initial=0.0), 0.0)
            unmet = need[left] > (NEARLY if sweep >= ENOUGH else 0.0)
            left, x = left[unmet], x[:, unmet]
            if not len(left):
                break
    return need
