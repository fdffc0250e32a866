"""Find the few settings worth having over a day of traffic, prove each, and decide when each begins."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.graph.counted_loads import NEITHER, CountedLoads, Setting
from tagloom.graph.floods import flooded_by, flooded_channels, unflooded_bytes
from tagloom.graph.paths import average_hops, max_hops, paths_to
from tagloom.platforms.port_names import channel_name
from tagloom.platforms.power import (
    assumed_watts,
    fabric_watts,
    link_watts,
    power_unknown,
    stand_in_power,
    stand_in_remarks,
)
from tagloom.records.headroom import UNKNOWN, Headroom
from tagloom.records.settings import LinkSettings, lost_speed_steps, speeds_mbps
from tagloom.records.timetable import History, Offer
from tagloom.records.traffic import Traffic
from tagloom.regulate.choose import (
    HOST_MBPS,
    at_ports,
    check_hops,
    hops_findings,
    most_trees,
    read_levels,
    reported_places,
)
from tagloom.regulate.day_changes import NONE, VIA, ChangeRule
from tagloom.regulate.greedy import Rules, greedy
from tagloom.regulate.headroom import headroom_of, worst_of
from tagloom.regulate.own_ways import remembered, rerouting
from tagloom.regulate.program import Program, checked_bound
from tagloom.regulate.rerouted import rerouted
from tagloom.regulate.settings_file import settings_routes
from tagloom.regulate.static import connected, two_connected
from tagloom.regulate.timetable import covering, groups, schedules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from tagloom.platforms import PortWatts
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.timetable import Schedule
    from tagloom.regulate.day_changes import Change

BYTES_PER_SECOND = HOST_MBPS * 1e6 / 8
LEAVES = 8  # groups of similar intervals for which settings are first sought
PARTS = (1.0, 0.85, 0.7, 0.55)  # of the traffic that covers a group; settings are sought for each
CANDIDATE_PROGRAMS = 40  # linear programs for settings that a guarantee is sought of
MORE_PARTS = (1.6,)  # and for these where counters must guarantee the headroom: some traffic loads channels more
WINDOWS = (2, 4, 8)  # numbers of equal parts of the day, for which settings are also sought
POLISHED = 36  # switches: up to here the settings in use are sought again with all descents
ROUNDS = 3  # times settings are sought anew for the intervals that share them
BOUND_SECONDS = 5.0  # for the program that bounds one group of intervals
DAY_MINUTES = 24 * 60


@dataclass(frozen=True, eq=False)
class TimetableOptions:
    """The constraints of a timetable.

    headroom        share of every channel's capacity that stays free whenever links are off
    change_seconds  how long the links of both settings are on during a change
    levels          Mb/s that links may be slowed to, 0 for off
    max_hops        the most switches on a path between two hosts, None for no limit
    guaranteed      whether counters must guarantee the headroom: whatever traffic fits them keeps it
    """

    settings: int = 3
    headroom: float = 0.5
    dwell_seconds: float = 900.0
    changes_a_day: int = 12
    change_seconds: float = 60.0
    allow_cut: bool = False
    power: Mapping[str, PortWatts] | None = None
    levels: tuple[int, ...] = (0,)
    max_hops: int | None = None
    guaranteed: bool = False


@dataclass(frozen=True)
class Planner:
    """The functions of the planner that a search needs, supplied by the pipeline.

    routes     the paths that a plan of a fabric would use
    build      a proven plan over given routes, or over the planner's own; None if there is none
    obstacle   why no proven rollout leads from one plan to another; "" if one does
    """

    routes: Callable[[Fabric], Routes]
    build: Callable[[Fabric, Routes | None], Any]
    obstacle: Callable[[Any, Any], str]


@dataclass(frozen=True, eq=False)
class Candidate:
    """Settings that a day may use, and bytes per second on the busiest channel in each interval, float64[T].

    They were sought for the share `part` of the traffic that covers a group of intervals. `busiest` is what counts
    against the headroom, `expected` what the traffic makes: another where counters must guarantee the headroom.
    """

    settings: LinkSettings
    fabric: Fabric
    busiest: NDArray[np.float64]
    expected: NDArray[np.float64]
    part: float = 1.0


@dataclass(frozen=True, eq=False)
class Day:
    """A day's timetable: the schedules with at most 1, 2, ... settings; the last is the result.

    changes       those of the last schedule: when each begins, and how busy a channel may get meanwhile
    headrooms     how sure the load under each of its settings is, by index
    meanwhile     how sure it is while settings change; if_late: if a change is one interval late
    full_joules   with everything on; bound_joules: a lower bound, even with separate settings for every interval
    """

    history: History
    candidates: tuple[Candidate, ...]
    schedules: tuple[Schedule, ...]
    changes: tuple[Change, ...]
    headrooms: Mapping[int, Headroom]
    meanwhile: Headroom
    if_late: Headroom
    full_joules: float
    bound_joules: float
    two_connected: bool
    remarks: tuple[str, ...]
    power_unknown: tuple[str, ...] = ()  # models whose watts nobody knows: others' stood in, and no sum is shown


def timetable(
    fabric: Fabric,
    history: History,
    planner: Planner,
    options: TimetableOptions,
    progress: Callable[[int, int], None],
    clock: Callable[[], float],
) -> Day:
    """Choose settings over a day, and prove a plan with each.

    `regulate.greedy` finds settings for merged traffic: first of groups of similar intervals, then, as long as it
    helps, of the intervals that share settings. The schedule among all settings found is decided exactly
    (`regulate.timetable`). Raises PlanError with times and places if traffic does not fit even with everything on.
    """
    if findings := [*option_findings(options), *hops_findings(fabric, options.max_hops)]:
        raise InputError(findings)
    unknown = power_unknown(fabric, options.power)
    options = replace(options, power=stand_in_power(fabric, options.power))
    search = _Search(fabric, history, planner, options, clock)
    history = search.history
    parts = PARTS if search.sure is None else (*MORE_PARTS, *PARTS)
    members, leaves = groups(history.rate, search.regular, LEAVES)
    regular = np.flatnonzero(search.regular)
    members += [part for n in WINDOWS for part in np.array_split(regular, n) if len(part)]
    work = len(members) + len(leaves) + (ROUNDS + 1) * options.settings
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        progress(min(done, work), work)

    for group in members:
        for part in parts:
            search.add(covering(history.rate, group), part)
        step()
    for polish in [False] * ROUNDS + [True]:
        for k, mine in search.shares(search.schedules()[-1]):
            for part in parts if not polish else {1.0, k.part}:
                search.add(covering(history.rate, mine), part, polish=polish)
            step()
    table = search.schedules()
    while not search.proven(table):
        table = search.schedules()
        step()
    bound = checked_bound(search.bound(leaves, step), table[-1].joules)
    progress(work, work)
    return Day(
        history,
        tuple(search.candidates),
        tuple(table),
        tuple(search.changes(table[-1])),
        *search.headrooms(table[-1]),
        search.full * float(history.seconds.sum()),
        bound,
        search.two,
        (*stand_in_remarks(unknown), *assumed_watts(fabric, options.power), *history.remarks),
        unknown,
    )


def per_interval(
    day: Day,
    planner: Planner,
    options: TimetableOptions,
    progress: Callable[[int, int], None],
    clock: Callable[[], float],
) -> float:
    """Return the joules of a day with separate greedy settings for every interval, changes not charged.

    Each interval starts from the cheapest of the day's candidates that carries it, and turns off further links.
    """
    search = _Search(day.candidates[0].fabric, day.history, planner, options, clock)
    offer = search.offer(day.candidates)
    total = 0.0
    for t, seconds in enumerate(day.history.seconds):
        best = int(np.argmin(offer.joules[:, t]))
        watts = day.candidates[best].settings.watts_after
        if search.regular[t]:
            found = search.choose(day.history.rate[t].astype(np.float64), day.candidates[best])
            watts = min(watts, found.settings.watts_after) if found is not None else watts
        total += watts * float(seconds)
        progress(t + 1, len(day.history))
    return total


class _Search:
    """One search, and the candidates found so far; the first has everything on."""

    def __init__(
        self, fabric: Fabric, history: History, planner: Planner, options: TimetableOptions, clock: Callable[[], float]
    ) -> None:
        self.fabric, self.planner, self.options, self.clock = fabric, planner, options, clock
        self.full = fabric_watts(fabric, options.power)
        self.limit = (1 - options.headroom) * BYTES_PER_SECOND
        self.two = two_connected(fabric) and not options.allow_cut
        slower, most = tuple(mbps for mbps in options.levels if mbps), most_trees(fabric)
        self.rules = Rules(self.limit, self.two, 0 in options.levels, slower, self._watts, most, options.max_hops)
        self.flat = unflooded_bytes(fabric, history.rate).reshape(len(history), -1).T
        self.flooded = flooded_by(fabric, history.rate).T  # bytes per second that each host floods, [H, T]
        self.routes = planner.routes(fabric)
        check_hops(fabric, self.routes, options.max_hops)
        counted = Setting(fabric, self.routes)
        self._counted = None if history.counts is None else CountedLoads(counted, history.counts)
        self.sure = self._counted if options.guaranteed else None  # bounds the loads that count against the headroom
        if self.sure is not None:
            history = replace(history, known=history.known & (self.sure.fits > NEITHER))
        self.history = history
        self._reroute = remembered(rerouting(fabric, self.routes, planner.routes, options.max_hops))
        load = self._load(fabric, self.routes)
        _fits(fabric, history, load)
        busiest = expected = load.max(axis=0, initial=0.0)
        if self.sure is not None:
            busiest = np.where(history.known, self.sure.busiest([counted], self.limit), expected)
        everything = LinkSettings("greedy", (), 0, 0, self.full, self.full, two_connected(fabric), self.full)
        everything = _with_hops(everything, fabric, self.routes)
        self.candidates = [Candidate(everything, fabric, busiest, expected)]
        self.regular = history.known & (busiest <= self.limit)  # settings are sought for these, and may carry others
        self._seen: set[bytes] = set()
        self._shares: dict[tuple[Candidate, int], NDArray[np.float64]] = {}
        lead, dwell = lead_seconds(fabric, options), settled_seconds(fabric, options)
        self._rule = ChangeRule(history, self.limit, lead, self._meanwhile, BYTES_PER_SECOND, dwell - lead)
        self._passable: dict[tuple[Candidate, Candidate], bool] = {}

    def _watts(self, link: int, mbps: int) -> float:
        return link_watts(self.fabric, link, mbps, self.options.power) if mbps else 0.0

    def _load(self, fabric: Fabric, routes: Routes) -> NDArray[np.float64]:
        """Return bytes per second on every channel in each interval, scaled to 1 Gb/s, float64[C, T]."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - slow to load

        paths = paths_to(fabric, routes, fabric.host_switch)[routes.source_of_host].reshape(len(self.flat), -1)
        pair, step = np.nonzero(paths >= 0)
        capacity_mbps = np.repeat([link.capacity_mbps() for link in fabric.links], 2)
        channel = paths[pair, step]
        share = (1000.0 / capacity_mbps)[channel]
        load = np.asarray(csr_matrix((share, (channel, pair)), (len(fabric.tail), len(self.flat))) @ self.flat, float)
        if self.flooded.any():
            load += (flooded_channels(fabric, routes).T @ self.flooded) * (1000.0 / capacity_mbps)[:, None]
        return load

    def shares(self, schedule: Schedule) -> list[tuple[Candidate, NDArray[np.int64]]]:
        """Return each settings in use, except everything on, with the intervals that share it."""
        return [(self.candidates[k], np.flatnonzero(schedule.setting == k)) for k in schedule.used if k]

    def add(self, cover: NDArray[np.float64], part: float, *, polish: bool = False) -> None:
        """Seek settings for a part of the traffic that covers a group, unless that was done before.

        Pairs do not all peak at once, so settings for less traffic may carry the group all the same. Which intervals
        they carry is computed for each.
        """
        matrix = cover * part
        if (key := matrix.tobytes() + bytes([polish])) in self._seen:
            return
        self._seen.add(key)
        found = self.choose(matrix, descents=1 if not polish else 0 if len(self.fabric.switches) <= POLISHED else 2)
        for each in [found, self._at_full_speed(found)] if found is not None else ():
            known = {(one.settings.links_off, one.settings.links_slowed) for one in self.candidates}
            is_new = (each.settings.links_off, each.settings.links_slowed) not in known
            if is_new and self._leads(each, self.candidates[0]):  # load must be able to bring all links up
                self.candidates.append(replace(each, part=part))

    def choose(
        self, matrix: NDArray[np.float64], start: Candidate | None = None, descents: int = 1
    ) -> Candidate | None:
        """Return settings for bytes per second, starting from everything on or from `start`; None if there are none.

        Where networks have ways of their own, each link is tried by what their routings do without it.
        """
        traffic = Traffic(matrix, np.zeros_like(matrix), 1.0)
        begun = start.settings if start is not None else None
        smaller = self.fabric.with_links_down(begun.links_off if begun is not None else ())  # speeds are chosen anew
        if self.fabric.own_ways:
            choice = rerouted(smaller, traffic, self._reroute, self.rules, descents=descents)
            if choice is not None and begun is not None:
                choice = replace(choice, off=tuple(sorted({*choice.off, *begun.links_off})))
        else:
            routes = self.routes
            if begun is not None and begun.forest:
                routes = settings_routes(smaller, begun) or self.routes
            else:
                smaller = self.fabric
            if routes.parent is None:
                return None
            choice = greedy(self.fabric, traffic, [(smaller, routes)], self.rules, descents=descents)
        if choice is None or not (choice.off or choice.slowed):
            return None
        settings = LinkSettings(
            "greedy",
            choice.off,
            0.0,
            choice.max_load,
            self.full,
            0.0,
            two_connected=False,
            links_slowed=tuple(sorted(choice.slowed.items())),
            forest=tuple(tuple(tree) for tree in choice.forest),
            tree_of_host=tuple(choice.tree_of_host.tolist()),
        )
        return self._candidate(settings)

    def _candidate(self, settings: LinkSettings) -> Candidate:
        """Return settings as a candidate, with their watts and the load in every interval."""
        down = self.fabric.with_links_down(settings.links_off).with_speeds(dict(settings.links_slowed))
        watts = fabric_watts(down, self.options.power)
        settings = replace(settings, watts_after=watts, two_connected=two_connected(down))
        routes = self._paths(down, settings)
        settings = _with_hops(settings, down, routes)
        expected = self._load(down, routes).max(axis=0, initial=0.0)
        busiest = expected
        if self.sure is not None:  # what even the estimate exceeds is not sought in the counts
            here = Setting(down, routes), self.limit, expected <= self.limit
            busiest = np.maximum(expected, self.sure.busiest([here[0]], *here[1:], CANDIDATE_PROGRAMS))
        return Candidate(settings, down, busiest, expected)

    def _paths(self, fabric: Fabric, settings: LinkSettings) -> Routes:
        """Return the paths under settings, over their fabric: those chosen with them, else the planner's."""
        if self.fabric.own_ways and (routes := self._reroute(fabric)) is not None:
            return routes
        return settings_routes(fabric, settings) or self.routes

    def _at_full_speed(self, candidate: Candidate) -> Candidate:
        """Return a candidate without slowed links, which more changes can reach."""
        slowed = candidate.settings.links_slowed
        return self._candidate(replace(candidate.settings, links_slowed=())) if slowed else candidate

    def offer(self, candidates: Sequence[Candidate]) -> Offer:
        """Return the cost of each candidate in each interval, and of each change, inf if a change is impossible."""
        seconds = self.history.seconds
        joules = np.array([each.settings.watts_after * seconds for each in candidates])
        for k, each in enumerate(candidates[1:], start=1):
            joules[k, ~self.history.known | (each.busiest > self.limit * (1 + 1e-6))] = np.inf
        kinds, level = np.unique([speeds_mbps(each.fabric) for each in candidates], return_inverse=True)
        links = range(len(self.fabric.links))
        level = level.reshape(len(candidates), len(links))
        held = np.array(
            [[[toggle_joules(self.fabric, i, a, b, self.options) for i in links] for b in kinds] for a in kinds]
        ).reshape(len(kinds), len(kinds), len(links))
        change = np.array([held[mine, level, links].sum(axis=1) for mine in level])
        for a, b in permutations(range(len(candidates)), 2):
            if not self._leads(candidates[a], candidates[b]):
                change[a, b] = np.inf
        modes = self._modes(candidates)
        watts = np.array([each.settings.watts_after for each in candidates])
        via = change[:, :1] + change[:1, :] + (watts[0] - watts)[None, :] * self.options.dwell_seconds
        return Offer(seconds, joules, np.select([modes == NONE, modes == VIA], [np.inf, via[None]], change[None]))

    def _modes(self, candidates: Sequence[Candidate]) -> NDArray[np.int8]:
        """Return how each change may be made, int8[T, K, K]."""
        lacks = [lost_speed_steps(self.fabric, each.fabric) for each in candidates]
        gains = np.array([[bool(one - other) for other in lacks] for one in lacks], np.bool_)
        return self._rule.modes(np.array([each.busiest for each in candidates]), gains, list(candidates))

    def changes(self, schedule: Schedule) -> list[Change]:
        """Return the changes of a schedule over the candidates."""
        return self._rule.changes(schedule, self._modes(self.candidates))

    def _meanwhile(self, one: int, other: int, t: int) -> float:
        """Return the most bytes per second on a channel in interval t while hosts move between two candidates."""
        if self.sure is not None and self.history.known[t]:
            return float(self.sure.busiest([self._setting(one), self._setting(other)], self.limit, self._only(t))[t])
        share = np.maximum(self._share(self.candidates[one], t), self._share(self.candidates[other], t))
        return float(share.sum(axis=0).max(initial=0.0))

    def _setting(self, k: int) -> Setting:
        each = self.candidates[k]
        return Setting(each.fabric, self._paths(each.fabric, each.settings))

    def _only(self, t: int) -> NDArray[np.bool_]:
        among = np.zeros(len(self.history), np.bool_)
        among[t] = True
        return among

    def headrooms(self, schedule: Schedule) -> tuple[dict[int, Headroom], Headroom, Headroom]:
        """Return how sure the loads of a schedule are: of its settings, while they change, and one interval late."""

        def of(settings: Sequence[int], among: NDArray[np.bool_]) -> Headroom:
            return headroom_of(self._counted, [self._setting(k) for k in settings], among, self.limit)

        own = {k: of([k], schedule.setting == k) for k in schedule.used}
        changes = self.changes(schedule)
        if not changes:
            return own, worst_of(own.values()), worst_of(own.values())
        moves = {(one, other, s) for c in changes for one, other, s, _ in self._rule.touched(c)}

        def meanwhile(one: int, other: int, s: int) -> Headroom:
            if self._counted is not None and retrained(self.candidates[one].fabric, self.candidates[other].fabric):
                return Headroom(UNKNOWN, None, ("while links change speed, hosts use paths that are not bounded",))
            return of([one, other], self._only(s))

        return (
            own,
            worst_of(meanwhile(*move) for move in sorted(moves)),
            worst_of(of([c.before], self._only(c.t)) for c in changes),
        )

    def _share(self, candidate: Candidate, t: int) -> NDArray[np.float64]:
        """Return what each host sends over each channel in interval t, scaled to 1 Gb/s, float64[H, C]."""
        if (candidate, t) not in self._shares:
            fabric = candidate.fabric
            routes = self._paths(fabric, candidate.settings)
            paths = paths_to(fabric, routes, fabric.host_switch)[routes.source_of_host]
            host, target, step = np.nonzero(paths >= 0)
            found = np.zeros((len(fabric.hosts), len(fabric.tail)))
            pinned = unflooded_bytes(fabric, self.history.rate[t])
            np.add.at(found, (host, paths[host, target, step]), pinned[host, target])
            if self.flooded[:, t].any():
                found += flooded_channels(fabric, routes) * self.flooded[:, t, None]
            scale = 1000.0 / np.repeat([link.capacity_mbps() for link in fabric.links], 2)
            self._shares[candidate, t] = found * scale
        return self._shares[candidate, t]

    def _leads(self, one: Candidate, other: Candidate) -> bool:
        """Return whether the fabric stays connected during a change, by all links but those that are off or retrain.

        A link carries nothing while its speed changes; hosts use a tree of the others meanwhile (`rollout`), whose load
        no counter guarantees. Where networks have ways of their own, changes without a proven rollout are known, too.
        """
        if not (self.rules.levels or self.fabric.own_ways):
            return True
        if (one, other) not in self._passable:
            busy = retrained(one.fabric, other.fabric)
            dark = {i for i, (a, b) in enumerate(zip(one.fabric.links, other.fabric.links, strict=True))
                    if not a.up and not b.up}  # fmt: skip
            parked = self.sure is None and connected(self.fabric.with_links_down(busy | dark))
            self._passable[one, other] = not busy or parked
        return self._passable[one, other]

    def schedules(self) -> list[Schedule]:
        """Return the schedules over the candidates so far, after dropping those dominated by one that draws less."""
        options = self.options
        offer = self.offer(self.candidates)
        carries: NDArray[np.bool_] = np.isfinite(offer.joules)
        leads: NDArray[np.bool_] = np.isfinite(offer.change_joules)
        watts = [each.settings.watts_after for each in self.candidates]

        def beaten(k: int, by: int) -> bool:
            better = watts[by] < watts[k] or (watts[by] == watts[k] and by < k)
            return better and not (
                (carries[k] & ~carries[by]).any()
                or (leads[:, k] & ~leads[:, by]).any()
                or (leads[:, :, k] & ~leads[:, :, by]).any()
            )

        all_of = range(len(watts))
        self.candidates = [
            each for k, each in enumerate(self.candidates) if k == 0 or not any(beaten(k, by) for by in all_of)
        ]
        return schedules(self.offer(self.candidates), options.settings, options.dwell_seconds, options.changes_a_day)

    def proven(self, table: Sequence[Schedule]) -> bool:
        """Plan and prove the settings of the chosen day, and the rollouts of its changes that retrain links.

        Where networks have ways of their own, prove all its changes: no one tree can be relied on for all hosts
        meanwhile. Candidates and changes without a proof are dropped. Return whether none was.
        """
        used = [k for k in table[-1].used if k]
        builds = {k: self.planner.build(e.fabric, settings_routes(e.fabric, e.settings))
                  for k in used for e in [self.candidates[k]]}  # fmt: skip
        if bad := [k for k in used if builds[k] is None]:
            self.candidates = [each for k, each in enumerate(self.candidates) if k not in bad]
            return False
        if not self._changes_hold(table[-1]):
            return False
        if not (self.rules.levels or self.fabric.own_ways):
            return True
        builds[0] = self.planner.build(self.fabric, None)
        setting = table[-1].setting
        pairs = list(zip(setting.tolist(), np.roll(setting, -1).tolist(), strict=True))
        pairs += [pair for k in used for pair in ((k, 0), (0, k))]  # load brings all links up, and back down
        good = True
        for a, b in dict.fromkeys(pairs):
            one, other = self.candidates[a], self.candidates[b]
            if a != b and (self.fabric.own_ways or retrained(one.fabric, other.fabric)):
                self._passable[one, other] = not self.planner.obstacle(builds[a], builds[b])
                good &= self._passable[one, other]
        shut = [k for k in used if not (self._leads(self.candidates[k], self.candidates[0])
                                        and self._leads(self.candidates[0], self.candidates[k]))]  # fmt: skip
        self.candidates = [each for k, each in enumerate(self.candidates) if k not in shut]
        return good

    def _changes_hold(self, schedule: Schedule) -> bool:
        """Bar the changes of a schedule under which a channel may get too busy; return whether there are none."""
        busiest = np.array([each.busiest for each in self.candidates])
        bad = [change for change in self.changes(schedule) if not self._rule.holds(change, busiest)]
        for change in bad:
            one, other = self.candidates[change.before], self.candidates[change.after]
            self._rule.barred.add((change.t, one, other, change.mode))
        return not bad

    def bound(self, leaves: Sequence[NDArray[np.int64]], step: Callable[[], None]) -> float:
        """Return a lower bound of the day's joules, whatever the settings of each interval.

        The minimum over a group's intervals bounds the traffic of each, so that one program bounds them all.
        """
        watts = np.full(len(self.history), self.full)
        links = [self._watts(i, link.speed_mbps or HOST_MBPS) for i, link in enumerate(self.fabric.links) if link.up]
        fixed = self.full - sum(links)
        up = [i for i, link in enumerate(self.fabric.links) if link.up]
        slow = [self._watts(i, s) for i in up for s in self.rules.levels]
        floor = min([*links, *slow], default=0.0) * (len(self.fabric.live) - (not self.two))  # a tree's, or a ring's
        rest = np.flatnonzero(self.history.known & ~self.regular)
        for group in [*leaves, rest] if len(rest) else leaves:
            least = self.history.rate[group].min(axis=0).astype(np.float64)
            traffic = Traffic(least, np.zeros_like(least), 1.0)
            found = Program(self.fabric, traffic, self.rules).solve(BOUND_SECONDS, self.clock)
            watts[group] = min(self.full, fixed + max(found.watts, floor))
            step()
        return float((watts * self.history.seconds).sum())


def _with_hops(settings: LinkSettings, fabric: Fabric, routes: Routes) -> LinkSettings:
    """Return settings with the switches on their paths."""
    return replace(settings, average_hops_after=average_hops(fabric, routes), max_hops_after=max_hops(fabric, routes))


def retrained(one: Fabric, other: Fabric) -> set[int]:
    """Return the links that are on in both at different speeds."""
    speeds = zip(speeds_mbps(one), speeds_mbps(other), strict=True)
    return {i for i, (a, b) in enumerate(speeds) if a and b and a != b}


def toggle_joules(fabric: Fabric, link: int, before_mbps: int, after_mbps: int, options: TimetableOptions) -> float:
    """Return the joules of a change of a link's speed (0 is off): the higher watts are drawn and nothing is carried.

    It lasts the seconds of the slower end (Koibuchi et al. 2011, table 6) and those of the rollout around it. Turning a
    link off for less than twice as long saves less than its two changes cost.
    """
    if before_mbps == after_mbps:
        return 0.0
    watts = max(link_watts(fabric, link, mbps, options.power) for mbps in (before_mbps, after_mbps) if mbps)
    cable = fabric.links[link]
    kind = _kind(before_mbps, after_mbps)
    toggle = max(_toggle_seconds(fabric.switches[s].model, kind) for s in (cable.a, cable.b))
    return watts * (toggle + options.change_seconds)


def _kind(before_mbps: int, after_mbps: int) -> str:
    return f"{before_mbps}_{after_mbps}" if before_mbps and after_mbps else "on_off"


def _toggle_seconds(model: str, kind: str) -> float:
    """Return the seconds of a change by table 6; a change of speed it lacks takes the time of going on."""
    known = platforms.load(model).toggle_seconds
    return known.get(kind, known.get("on_off", 0.0))


def day_levels(text: str) -> tuple[int, ...]:
    """Return the levels of ``off,10,100,1000``, as `read_levels` does. Raises InputError for ``eee`` too."""
    levels, sleep = read_levels(text)
    if sleep:
        expected = "some of off, 10, 100, 1000: ports with EEE sleep by themselves, at no set time"
        raise InputError([Finding("--levels", expected, repr(text))])
    return levels


def option_findings(options: TimetableOptions) -> list[Finding]:
    """Return what is wrong with the options whatever the fabric."""
    rows = [
        ("--most-settings", options.settings, 1 <= options.settings <= 16, "1 to 16"),
        ("--headroom", options.headroom, 0 <= options.headroom < 1, "a share from 0 to less than 1"),
        ("--dwell", options.dwell_seconds, 0 <= options.dwell_seconds <= 86_400, "0 to 24 hours"),
        ("--changes", options.changes_a_day, 0 <= options.changes_a_day <= 96, "0 to 96 a day"),
        ("--change-seconds", options.change_seconds, 0 <= options.change_seconds <= 3600, "0 to 3600 seconds"),
    ]
    return [Finding(where, expected, f"{value:g}") for where, value, good, expected in rows if not good]


def _fits(fabric: Fabric, history: History, load: NDArray[np.float64]) -> None:
    """Raise PlanError if a day's traffic does not fit with everything on; it names every place with its worst moment.

    `load` is that of every channel, float64[C, T].
    """
    sums = zip(("sends", "receives"), at_ports(fabric, history.rate), strict=True)
    rows = [
        (f"host {host.name} {what}", each[:, h])
        for what, each in sums
        for h, host in enumerate(fabric.hosts)
        if not host.beside
    ]
    rows += [(f"{channel_name(fabric, c)} carries", each) for c, each in enumerate(load)]
    most = BYTES_PER_SECOND * (1 + 1e-6)
    worst = [
        (f"at {clock_text(history.start_seconds[t] / 60)} {what}", float(each[t]), float(each[t]) - BYTES_PER_SECOND)
        for what, each in rows
        if len(each) and each[t := int(np.argmax(each))] > most
    ]
    if worst:
        late = np.any([each > most for _, each in rows], axis=0).sum()
        raise PlanError(
            "a day's traffic must fit with all links on",
            f"bytes a second: {reported_places(worst)}; {late} of {len(history)} intervals do not fit",
            "check the history's seconds and units, or plan with faster or more links",
        )


def lead_seconds(fabric: Fabric, options: TimetableOptions) -> float:
    """Return how long a change takes, in whole minutes: so much earlier begins one that must be over in time."""
    return 60.0 * math.ceil((options.change_seconds + longest_toggle(fabric, options)) / 60)


def settled_seconds(fabric: Fabric, options: TimetableOptions) -> float:
    """Return how long everything is on between two settings that follow each other by it, in whole minutes."""
    lead = lead_seconds(fabric, options)
    return max(lead, 60.0 * math.ceil(max(0.0, options.dwell_seconds - lead) / 60))


def longest_toggle(fabric: Fabric, options: TimetableOptions) -> float:
    """Return the seconds of the slowest possible change."""
    speeds = {0, *options.levels, *speeds_mbps(fabric)} if any(options.levels) else {0, HOST_MBPS}
    kinds = {_kind(a, b) for a, b in permutations(speeds, 2)}
    return max((_toggle_seconds(switch.model, kind) for switch in fabric.live for kind in kinds), default=0.0)


def clock_text(minute: float) -> str:
    """Return a minute of the day as ``HH:MM``."""
    return f"{int(minute) // 60 % 24:02d}:{int(minute) % 60:02d}"
