"""Find the few settings worth having over a day of traffic, prove each, and say when each begins."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.graph.paths import paths_to
from tagloom.pipeline.planning import own_routes, plan, plannable, rollout_between, with_links_off
from tagloom.pipeline.regulating import (
    HOST_MBPS,
    Chosen,
    chosen,
    read_levels,
    settings_page,
    settings_routes,
    told_places,
)
from tagloom.platforms.power import fabric_watts, link_watts
from tagloom.read.calendar import due, upcoming
from tagloom.read.history import Interval, whole_day, zone_of
from tagloom.records.settings import LinkSettings, speeds_mbps, withheld
from tagloom.records.timetable import ALL_ON, History, Offer
from tagloom.records.traffic import Traffic
from tagloom.regulate import Program, Rules, connected, covering, greedy, groups, schedules, two_connected
from tagloom.verify import channel_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tagloom.pipeline.planning import Build
    from tagloom.platforms import PortWatts
    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Rates
    from tagloom.records.routes import Routes
    from tagloom.records.timetable import Schedule, Timetable

BYTES_PER_SECOND = HOST_MBPS * 1e6 / 8
LEAVES = 8  # groups of intervals alike that settings are first sought for
PARTS = (1.0, 0.85, 0.7, 0.55)  # of the traffic that covers a group, that settings are sought for
WINDOWS = (2, 4, 8)  # parts of the day that settings are sought for besides
POLISHED = 36  # switches up to which the settings in use are sought again with all patience
ROUNDS = 3  # times settings are sought anew for the intervals that came to share them
BOUND_SECONDS = 5.0  # for the program that bounds one group of intervals
DAY_MINUTES = 24 * 60
MONDAY_SECONDS = datetime(2026, 1, 5, tzinfo=UTC).timestamp()  # any would do: which settings follow which in a week


@dataclass(frozen=True, eq=False)
class DayWish:
    """What a timetable must keep to.

    headroom        share of every channel's capacity that stays free whenever links are off
    change_seconds  how long both settings' links are on while one goes over into the other
    levels          Mb/s that links may be slowed to, 0 for off
    """

    settings: int = 3
    headroom: float = 0.5
    dwell_seconds: float = 900.0
    changes_a_day: int = 12
    change_seconds: float = 60.0
    allow_cut: bool = False
    power: Mapping[str, PortWatts] | None = None
    levels: tuple[int, ...] = (0,)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Settings that a day may use, and bytes per second on the busiest channel in each interval, float64[T].

    `part` is of the traffic that covers a group of intervals, for which they were sought.
    """

    settings: LinkSettings
    fabric: Fabric
    busiest: NDArray[np.float64]
    part: float = 1.0


@dataclass(frozen=True, eq=False)
class Day:
    """A day's timetable: the schedules with 1, 2, ... settings, of which the last is meant.

    full_joules   with everything on; bound_joules is what no settings fall below, one for each interval even
    """

    history: History
    candidates: tuple[Candidate, ...]
    schedules: tuple[Schedule, ...]
    full_joules: float
    bound_joules: float
    two_connected: bool
    remarks: tuple[str, ...]


def timetable(
    fabric: Fabric,
    history: History,
    templates: Path,
    wish: DayWish,
    progress: Callable[[int, int], None],
    clock: Callable[[], float],
) -> Day:
    """Choose settings over a day, and prove a plan with each.

    Settings are sought by `regulate.greedy` for merged traffic: for groups of intervals alike, then, as long as it
    helps, for the intervals that came to share settings. Which holds when is decided exactly among all that were found
    (`regulate.timetable`). Raises PlanError where traffic does not fit even with everything on, saying when and where.
    """
    _check(fabric, wish)
    search = _Search(fabric, history, wish, clock)
    members, leaves = groups(history.rate, search.regular, LEAVES)
    regular = np.flatnonzero(search.regular)
    members += [part for n in WINDOWS for part in np.array_split(regular, n) if len(part)]
    work = len(members) + len(leaves) + (ROUNDS + 1) * wish.settings
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        progress(min(done, work), work)

    for group in members:
        for part in PARTS:
            search.add(covering(history.rate, group), part)
        step()
    for polish in [False] * ROUNDS + [True]:
        for k, mine in search.shares(search.schedules()[-1]):
            for part in PARTS if not polish else {1.0, k.part}:
                search.add(covering(history.rate, mine), part, polish=polish)
            step()
    table = search.schedules()
    while not search.proven(table, templates):
        table = search.schedules()
        step()
    bound = search.bound(leaves, step)
    progress(work, work)
    return Day(
        history, tuple(search.candidates), tuple(table), search.full * float(history.seconds.sum()), bound,
        search.two, history.remarks,
    )  # fmt: skip


def per_interval(day: Day, wish: DayWish, progress: Callable[[int, int], None], clock: Callable[[], float]) -> float:
    """Return the joules of a day with settings of its own for every interval, found by greedy, changes not charged.

    Each interval starts from the cheapest of the day's candidates that carries it, and turns off what it can besides.
    """
    search = _Search(day.candidates[0].fabric, day.history, wish, clock)
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
    """One question, and the candidates found so far; the first of them has everything on."""

    def __init__(self, fabric: Fabric, history: History, wish: DayWish, clock: Callable[[], float]) -> None:
        self.fabric, self.history, self.wish, self.clock = fabric, history, wish, clock
        self.full = fabric_watts(fabric, wish.power)
        self.limit = (1 - wish.headroom) * BYTES_PER_SECOND
        self.two = two_connected(fabric) and not wish.allow_cut
        most = min((platforms.load(switch.model).max_vlans for switch in fabric.live), default=1)
        slower = tuple(mbps for mbps in wish.levels if mbps)
        self.rules = Rules(self.limit, self.two, 0 in wish.levels, slower, self._watts, most)
        self.flat = history.rate.reshape(len(history), -1).T
        self.routes = own_routes(fabric, "auto", "fixed")
        load = self._load(fabric, self.routes)
        _fits(fabric, history, load)
        busiest = load.max(axis=0, initial=0.0)
        everything = LinkSettings("greedy", (), 0, 0, self.full, self.full, two_connected(fabric), self.full)
        self.candidates = [Candidate(everything, fabric, busiest)]
        self.regular = history.known & (busiest <= self.limit)  # settings are sought for these, and may carry others
        self._seen: set[bytes] = set()
        self._ways: dict[tuple[Candidate, Candidate], bool] = {}

    def _watts(self, link: int, mbps: int) -> float:
        return link_watts(self.fabric, link, mbps, self.wish.power) if mbps else 0.0

    def _load(self, fabric: Fabric, routes: Routes) -> NDArray[np.float64]:
        """Return bytes per second on every channel in each interval, scaled to 1 Gb/s, float64[C, T]."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - takes its time to load

        paths = paths_to(fabric, routes, fabric.host_switch)[routes.source_of_host].reshape(len(self.flat), -1)
        pair, step = np.nonzero(paths >= 0)
        capacity_mbps = np.repeat([link.capacity_mbps() for link in fabric.links], 2)
        channel = paths[pair, step]
        share = (1000.0 / capacity_mbps)[channel]
        return np.asarray(csr_matrix((share, (channel, pair)), (len(fabric.tail), len(self.flat))) @ self.flat, float)

    def shares(self, schedule: Schedule) -> list[tuple[Candidate, NDArray[np.int64]]]:
        """List settings with the intervals that share them, for all but everything on."""
        return [(self.candidates[k], np.flatnonzero(schedule.setting == k)) for k in schedule.used if k]

    def add(self, cover: NDArray[np.float64], part: float, *, polish: bool = False) -> None:
        """Seek settings for a part of what covers a group, unless they were sought as well before.

        Pairs do not all send their most at once: what is sought for less may carry the group all the same, and which
        intervals it does carry is computed for each.
        """
        matrix = cover * part
        if (key := matrix.tobytes() + bytes([polish])) in self._seen:
            return
        self._seen.add(key)
        found = self.choose(matrix, descents=1 if not polish else 0 if len(self.fabric.switches) <= POLISHED else 2)
        for each in [found, self._at_full_speed(found)] if found is not None else ():
            known = {(one.settings.links_off, one.settings.links_slowed) for one in self.candidates}
            fresh = (each.settings.links_off, each.settings.links_slowed) not in known
            if fresh and self._leads(each, self.candidates[0]):  # load must be able to bring all up
                self.candidates.append(replace(each, part=part))

    def choose(
        self, matrix: NDArray[np.float64], start: Candidate | None = None, descents: int = 1
    ) -> Candidate | None:
        """Seek settings for bytes per second, from everything on or from settings that carry them; None where none."""
        if start is not None and start.settings.forest:
            smaller = self.fabric.with_links_down(start.settings.links_off)  # speeds are chosen anew
            routes = settings_routes(smaller, start.settings) or self.routes
        else:
            smaller, routes = self.fabric, self.routes
        traffic = Traffic(matrix, np.zeros_like(matrix), 1.0)
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
        """Return settings as a candidate, with the watts they draw and the load in every interval."""
        down = self.fabric.with_links_down(settings.links_off).with_speeds(dict(settings.links_slowed))
        watts = fabric_watts(down, self.wish.power)
        settings = replace(settings, watts_after=watts, two_connected=two_connected(down))
        routes = settings_routes(down, settings) or self.routes
        return Candidate(settings, down, self._load(down, routes).max(axis=0, initial=0.0))

    def _at_full_speed(self, candidate: Candidate) -> Candidate:
        """Return a candidate without slower links: another that more changes lead to."""
        slowed = candidate.settings.links_slowed
        return self._candidate(replace(candidate.settings, links_slowed=())) if slowed else candidate

    def offer(self, candidates: Sequence[Candidate]) -> Offer:
        """Return what each candidate costs in each interval, and each change, inf where no way leads over."""
        seconds = self.history.seconds
        joules = np.array([each.settings.watts_after * seconds for each in candidates])
        for k, each in enumerate(candidates[1:], start=1):
            joules[k, ~self.history.known | (each.busiest > self.limit * (1 + 1e-6))] = np.inf
        kinds, level = np.unique([speeds_mbps(each.fabric) for each in candidates], return_inverse=True)
        links = range(len(self.fabric.links))
        level = level.reshape(len(candidates), len(links))
        held = np.array(
            [[[toggle_joules(self.fabric, i, a, b, self.wish) for i in links] for b in kinds] for a in kinds]
        ).reshape(len(kinds), len(kinds), len(links))
        change = np.array([held[mine, level, links].sum(axis=1) for mine in level])
        for a, b in permutations(range(len(candidates)), 2):
            if not self._leads(candidates[a], candidates[b]):
                change[a, b] = np.inf
        return Offer(seconds, joules, np.asarray(change, np.float64))

    def _leads(self, one: Candidate, other: Candidate) -> bool:
        """Return whether links that keep their speed, or are on on one side alone, connect the fabric meanwhile.

        A link carries nothing while its speed changes: hosts are parked on a tree of the others (`rollout`).
        """
        if not self.rules.levels:
            return True
        if (one, other) not in self._ways:
            busy = retrained(one.fabric, other.fabric)
            dark = {i for i, (a, b) in enumerate(zip(one.fabric.links, other.fabric.links, strict=True))
                    if not a.up and not b.up}  # fmt: skip
            self._ways[one, other] = not busy or connected(self.fabric.with_links_down(busy | dark))
        return self._ways[one, other]

    def schedules(self) -> list[Schedule]:
        """Decide among the candidates so far, without those that carry no interval more than a thriftier one."""
        wish = self.wish
        offer = self.offer(self.candidates)
        carries, leads = np.isfinite(offer.joules), np.isfinite(offer.change_joules)
        watts = [each.settings.watts_after for each in self.candidates]

        def beaten(k: int, by: int) -> bool:
            better = watts[by] < watts[k] or (watts[by] == watts[k] and by < k)
            lost = (
                (carries[k] & ~carries[by]).any()
                or (leads[k] & ~leads[by]).any()
                or (leads[:, k] & ~leads[:, by]).any()
            )
            return better and not lost

        all_of = range(len(watts))
        self.candidates = [
            each for k, each in enumerate(self.candidates) if k == 0 or not any(beaten(k, by) for by in all_of)
        ]
        return schedules(self.offer(self.candidates), wish.settings, wish.dwell_seconds, wish.changes_a_day)

    def proven(self, table: Sequence[Schedule], templates: Path) -> bool:
        """Plan and prove the settings of the chosen day, and a rollout of changes between them that retrain links.

        What does not prove is a candidate no longer, or such a change. Tells whether all did.
        """
        used = [k for k in table[-1].used if k]
        builds = {k: built(e.fabric, settings_routes(e.fabric, e.settings), templates)
                  for k in used for e in [self.candidates[k]]}  # fmt: skip
        if bad := [k for k in used if builds[k] is None]:
            self.candidates = [each for k, each in enumerate(self.candidates) if k not in bad]
            return False
        if not self.rules.levels:
            return True
        builds[0] = built(self.fabric, None, templates)
        setting = table[-1].setting
        pairs = list(zip(setting.tolist(), np.roll(setting, -1).tolist(), strict=True))
        pairs += [pair for k in used for pair in ((k, 0), (0, k))]  # load brings all up, and lets them go again
        good = True
        for a, b in dict.fromkeys(pairs):
            one, other = self.candidates[a], self.candidates[b]
            if retrained(one.fabric, other.fabric):
                self._ways[one, other] = not no_way(builds[a], builds[b])
                good &= self._ways[one, other]
        shut = [k for k in used if not (self._leads(self.candidates[k], self.candidates[0])
                                        and self._leads(self.candidates[0], self.candidates[k]))]  # fmt: skip
        self.candidates = [each for k, each in enumerate(self.candidates) if k not in shut]
        return good

    def bound(self, leaves: Sequence[NDArray[np.int64]], step: Callable[[], None]) -> float:
        """Bound the day's joules from below, whatever settings each interval had.

        Intervals of a group send at least the least that any of them sends, so that one program bounds them all.
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


def built(fabric: Fabric, routes: Routes | None, templates: Path) -> Build | None:
    """Plan over given routes, from texts where the models have any; None where no plan can be made or proven."""
    spoken = all(platforms.load(switch.model).grammar for switch in fabric.live)
    try:
        build, proof, _ = plan(fabric, templates, texts=spoken, brought=Chosen(routes, {}, ()))
    except PlanError:
        return None
    return build if proof.proven else None


def retrained(one: Fabric, other: Fabric) -> set[int]:
    """List the links that are on in both, at different speeds."""
    speeds = zip(speeds_mbps(one), speeds_mbps(other), strict=True)
    return {i for i, (a, b) in enumerate(speeds) if a and b and a != b}


def no_way(old: Build | None, new: Build | None) -> str:
    """Return why no proven rollout leads from one plan to another without pausing hosts; "" where one does."""
    if old is None or new is None:
        return "no plan"
    try:
        rollout_between(old, new)
    except PlanError as error:
        return str(error)
    return ""


def toggle_joules(fabric: Fabric, link: int, before_mbps: int, after_mbps: int, wish: DayWish) -> float:
    """Return what a change of a link's speed costs (0 is off): the greater watts are drawn and nothing is carried.

    For the seconds its slower end takes (Koibuchi et al. 2011, table 6) and those of the rollout around it. Off for
    less than twice as long, it would save less than its two changes cost: such a rest never pays.
    """
    if before_mbps == after_mbps:
        return 0.0
    watts = max(link_watts(fabric, link, mbps, wish.power) for mbps in (before_mbps, after_mbps) if mbps)
    cable = fabric.links[link]
    kind = _kind(before_mbps, after_mbps)
    toggle = max(_toggle_seconds(fabric.switches[s].model, kind) for s in (cable.a, cable.b))
    return watts * (toggle + wish.change_seconds)


def _kind(before_mbps: int, after_mbps: int) -> str:
    return f"{before_mbps}_{after_mbps}" if before_mbps and after_mbps else "on_off"


def _toggle_seconds(model: str, kind: str) -> float:
    """Return the seconds of a change by table 6, those of going on or off where a change of speed is not in it."""
    known = platforms.load(model).toggle_seconds
    return known.get(kind, known.get("on_off", 0.0))


def day_levels(text: str) -> tuple[int, ...]:
    """Read ``off,10,100,1000`` as `read_levels` does. Raises InputError for ``eee`` too."""
    levels, sleep = read_levels(text)
    if sleep:
        expected = "some of off, 10, 100, 1000: ports with EEE sleep by themselves, at no set time"
        raise InputError([Finding("--levels", expected, repr(text))])
    return levels


def _check(fabric: Fabric, wish: DayWish) -> None:
    plannable(fabric, spoken=False)
    rows = [
        ("--settings", wish.settings, 1 <= wish.settings <= 16, "1 to 16"),
        ("--headroom", wish.headroom, 0 <= wish.headroom < 1, "a share from 0 to less than 1"),
        ("--dwell", wish.dwell_seconds, 0 <= wish.dwell_seconds <= 86_400, "0 to 24 hours"),
        ("--changes", wish.changes_a_day, 0 <= wish.changes_a_day <= 96, "0 to 96 a day"),
        ("--change-seconds", wish.change_seconds, 0 <= wish.change_seconds <= 3600, "0 to 3600 seconds"),
    ]
    findings = [Finding(where, expected, f"{value:g}") for where, value, good, expected in rows if not good]
    if findings:
        raise InputError(findings)


def _fits(fabric: Fabric, history: History, load: NDArray[np.float64]) -> None:
    """Refuse a day whose traffic does not fit with everything on; `load` is that of every channel, float64[C, T].

    Raises PlanError with every place, each with its worst moment.
    """
    sent, received = history.rate.sum(axis=2).T, history.rate.sum(axis=1).T
    rows = [(f"host {host.name} sends", sent[h]) for h, host in enumerate(fabric.hosts)]
    rows += [(f"host {host.name} receives", received[h]) for h, host in enumerate(fabric.hosts)]
    rows += [(f"{channel_name(fabric, c)} carries", each) for c, each in enumerate(load)]
    most = BYTES_PER_SECOND * (1 + 1e-6)
    worst = [
        (f"at {_clock(history.start_seconds[t] / 60)} {what}", float(each[t]), float(each[t]) - BYTES_PER_SECOND)
        for what, each in rows
        if len(each) and each[t := int(np.argmax(each))] > most
    ]
    if worst:
        late = np.any([each > most for _, each in rows], axis=0).sum()
        raise PlanError(
            "a day's traffic must fit with all links on",
            f"bytes a second: {told_places(worst)}; {late} of {len(history)} intervals do not fit",
            "check the history's seconds and units, or plan with faster or more links",
        )


# --- what is written and shown ----------------------------------------------------------------------------------------


def day_page(fabric: Fabric, day: Day, wish: DayWish, schedule: Schedule) -> dict[str, Any]:
    """Return a day's timetable with the keys of the command line."""
    span = float(day.history.seconds.sum())
    names = names_of(schedule)
    can = day.full_joules - day.bound_joules
    rows = [
        {
            "settings": n,
            "saving_percent": _percent(day.full_joules - each.joules, day.full_joules),
            "kept_percent": _percent(day.full_joules - each.joules, can),
            "joules": round(each.joules, 3),
            "changes": each.changes,
            "exact": each.exact,
        }
        for n, each in enumerate(day.schedules, start=1)
    ]
    return {
        "intervals": len(day.history),
        "seconds": span,
        "candidates": len(day.candidates),
        "by_settings": rows,
        "settings": [
            {
                "name": names[k],
                "links_off": len(day.candidates[k].settings.links_off),
                "links_slowed": len(day.candidates[k].settings.links_slowed),
                "watts": round(day.candidates[k].settings.watts_after, 6),
                "seconds": float(day.history.seconds[schedule.setting == k].sum()),
                "max_channel_share": round(
                    float(day.candidates[k].busiest[schedule.setting == k].max(initial=0.0)) / BYTES_PER_SECOND, 6
                ),
                "two_connected": day.candidates[k].settings.two_connected,
            }
            for k in schedule.used
        ],
        "times": [{"at": at, "settings": name} for at, name in times_of(day, schedule, wish)],
        "joules_before": round(day.full_joules, 3),
        "joules_after": round(schedule.joules, 3),
        "lower_bound_joules": round(day.bound_joules, 3),
        "watts_before": round(day.full_joules / span, 6),
        "watts_after": round(schedule.joules / span, 6),
        "saving_percent": _percent(day.full_joules - schedule.joules, day.full_joules),
        "most_percent": _percent(can, day.full_joules),
        "kept_percent": _percent(day.full_joules - schedule.joules, can),
        "changes": schedule.changes,
        "toggle_seconds": _longest_toggle(fabric, wish),
        "lost_bytes": 0,  # paths are moved away before a link is shut, and back after it is up
        "exact": schedule.exact,
        "remarks": list(day.remarks),
    }


def _percent(part: float, whole: float) -> float:
    return round(100.0 * part / whole, 6) if whole > 0 else 100.0 if part == whole else 0.0


def names_of(schedule: Schedule) -> dict[int, str]:
    """Name the settings of a day in the order in which they first hold; the first candidate has everything on."""
    order = list(dict.fromkeys(k for k in schedule.setting.tolist() if k))
    return {0: ALL_ON} | {k: f"settings-{n}" for n, k in enumerate(order, start=1)}


def times_of(day: Day, schedule: Schedule, wish: DayWish) -> list[tuple[str, str]]:
    """List when each settings begin, ``HH:MM`` by the clock on the wall.

    Links that come on, or get faster, begin to do so early enough to be up when needed; others change then, not before.
    """
    names, setting = names_of(schedule), schedule.setting
    whole = day.candidates[0].fabric
    lacks = [withheld(whole, each.fabric) for each in day.candidates]
    rows = []
    for t, k in enumerate(setting):
        before = setting[t - 1]
        if k != before or (t == 0 and schedule.changes == 0):
            lead = _lead_minutes(day, wish) if lacks[before] - lacks[k] else 0
            minute = int(day.history.start_seconds[t] // 60) - lead
            rows.append((minute % DAY_MINUTES, names[int(k)]))
    return [(_clock(minute), name) for minute, name in sorted(rows)]


def _lead_minutes(day: Day, wish: DayWish) -> int:
    return math.ceil((wish.change_seconds + _longest_toggle(day.candidates[0].fabric, wish)) / 60)


def _longest_toggle(fabric: Fabric, wish: DayWish) -> float:
    """Return the seconds of the slowest change there can be."""
    speeds = {0, *wish.levels, *speeds_mbps(fabric)} if any(wish.levels) else {0, HOST_MBPS}
    kinds = {_kind(a, b) for a, b in permutations(speeds, 2)}
    return max((_toggle_seconds(switch.model, kind) for switch in fabric.live for kind in kinds), default=0.0)


def _clock(minute: float) -> str:
    return f"{int(minute) // 60 % 24:02d}:{int(minute) % 60:02d}"


def pages(fabric: Fabric, day: Day, wish: DayWish, schedule: Schedule, timezone: str, stem: str) -> dict[str, str]:
    """Write a timetable and its settings files, by file name; the first is the timetable."""
    names = names_of(schedule)
    file_of = {ALL_ON: ALL_ON} | {name: f"{stem}.{name}.json" for k, name in names.items() if k}
    rules = []
    for at, name in times_of(day, schedule, wish):
        hour, minute = (int(part) for part in at.split(":"))
        rules.append({"when": f"{minute} {hour} * * *", "settings": file_of[name]})
    page = {
        "timezone": timezone,
        "dwell_seconds": max(0.0, wish.dwell_seconds - 60 * _lead_minutes(day, wish)),  # what comes on begins so early
        "changes_a_day": wish.changes_a_day,
        "rules": rules,
    }
    found = {f"{stem}.yml": yaml.safe_dump(page, sort_keys=False)}
    for k, name in names.items():
        if k:
            settings = replace(day.candidates[k].settings, remarks=(f"for {name} of {stem}.yml",))
            row = settings_page(fabric, settings)
            for key in ("lower_bound_watts", "gap_percent", "bound_source", "max_channel_load_before"):
                del row[key]  # of a day, not of one matrix: the timetable's own figures say it
            found[file_of[name]] = json.dumps(row, indent=2) + "\n"
    return found


def check_settings(fabric: Fabric, table: Timetable, templates: Path) -> dict[str, Fabric]:
    """Plan and prove with each of a timetable's settings; return the fabric that each leaves, by name.

    Where links change speed from one to the next in a week, or to everything on and back as load asks, a rollout must
    prove too. Raises InputError with all settings files that are not for this fabric or of which nothing can be
    planned, and with all such changes that no rollout leads through.
    """
    plannable(fabric, spoken=False)
    found, findings = {ALL_ON: fabric}, list[Finding]()
    builds: dict[str, Build | None] = {}
    for name, path in table.files.items():
        try:
            found[name] = with_links_off(fabric, [], path)
            brought = chosen(found[name], path)
            builds[name] = built(found[name], brought.routes, templates)
            if builds[name] is None:
                findings.append(Finding(str(path), "settings with which a plan proves", "none was found"))
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    week = [due(table, MONDAY_SECONDS), *(name for _, name in upcoming(table, MONDAY_SECONDS, 8.0))]
    changes = [*pairwise(week), *(pair for name in builds for pair in ((name, ALL_ON), (ALL_ON, name)))]
    for a, b in dict.fromkeys(changes):
        if not retrained(found[a], found[b]):
            continue
        if ALL_ON not in builds:
            builds[ALL_ON] = built(fabric, None, templates)
        if why := no_way(builds[a], builds[b]):
            findings.append(Finding(f"{a} to {b}", "a rollout that proves, over links that keep their speed", why))
    if findings:
        raise InputError(findings)
    return found


def calendar_page(fabric: Fabric, table: Timetable, at_seconds: float, fabrics: Mapping[str, Fabric]) -> dict[str, Any]:
    """Return what a calendar says from a time on: what holds, the week's changes, and what the week saves."""
    zone = zone_of(table.timezone, "timezone")
    watts = {name: fabric_watts(each) for name, each in fabrics.items()}
    week = [(at_seconds, due(table, at_seconds)), *upcoming(table, at_seconds, 7.0)]
    ends = [at for at, _ in week[1:]] + [at_seconds + 7 * 86_400]
    joules = sum(watts[name] * (end - at) for (at, name), end in zip(week, ends, strict=True))
    full = fabric_watts(fabric) * 7 * 86_400
    return {
        "now": week[0][1],
        "week": [{"at": datetime.fromtimestamp(at, zone).isoformat(), "settings": name} for at, name in week[1:]],
        "settings": [
            {
                "name": name,
                "watts": round(watts[name], 6),
                "links_off": sum(not link.up for link in each.links),
                "links_slowed": sum(0 < a < b for a, b in zip(speeds_mbps(each), speeds_mbps(fabric), strict=True)),
            }
            for name, each in sorted(fabrics.items())
        ],
        "joules_before": round(full, 3),
        "joules_after": round(joules, 3),
        "saving_percent": _percent(full - joules, full),
    }


# --- channel counters in place of matrices ----------------------------------------------------------------------------


def history_of_counters(
    fabric: Fabric, readings: Sequence[tuple[float, Mapping[str, Rates]]], timezone: str
) -> History:
    """Make a day of traffic of what the ports of hosts carried between readings (end in seconds since the epoch).

    Who sent to whom no counter says: what hosts sent is spread over what hosts received in proportion (the gravity
    model), so that every host's totals are as measured. Raises InputError where nothing was measured.
    """
    zone = zone_of(timezone, "--timezone")
    hosts = [(fabric.switches[host.switch].name, host.port) for host in fabric.hosts]
    intervals = []
    for end, rates in readings:
        carried = {
            (name, port.number): (port.in_bps / 8, port.out_bps / 8)
            for name, each in rates.items()
            for port in each.ports
        }
        if not all(place in carried for place in hosts) or not hosts:
            continue  # a reading that lacks a switch says nothing of its hosts: a gap
        seconds = max(rates[name].seconds for name, _ in hosts)
        sent, received = np.array([carried[place] for place in hosts]).T
        start = datetime.fromtimestamp(end - seconds, zone).replace(tzinfo=None)
        intervals.append(Interval(f"reading of {start:%Y-%m-%d %H:%M:%S}", start, seconds, gravity(sent, received)))
    remark = "who sends to whom is estimated from host ports' totals (gravity model): counters cannot know it"
    return whole_day(intervals, (remark,))


def gravity(sent: NDArray[np.float64], received: NDArray[np.float64]) -> NDArray[np.float32]:
    """Spread totals over pairs of different hosts, in proportion to both, by iterative proportional fitting.

    It ends where rows and columns fit to a thousandth, or after 100 rounds where they cannot (what the switches
    themselves send and receive is in the totals too).
    """
    seed = np.outer(sent, received)
    np.fill_diagonal(seed, 0.0)
    if not seed.any():
        return seed.astype(np.float32)
    wanted = received * (sent.sum() / received.sum())
    for _ in range(100):
        rows, columns = seed.sum(axis=1), seed.sum(axis=0)
        if np.allclose(rows, sent, rtol=1e-3) and np.allclose(columns, wanted, rtol=1e-3):
            break
        seed *= np.divide(sent, rows, out=np.zeros_like(rows), where=rows > 0)[:, None]
        columns = seed.sum(axis=0)
        seed *= np.divide(wanted, columns, out=np.zeros_like(columns), where=columns > 0)
    return seed.astype(np.float32)
