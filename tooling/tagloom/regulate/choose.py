"""Choose link settings for traffic, with their saving and their distance from a lower bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.graph.counted_loads import CountedLoads, Setting
from tagloom.graph.floods import heard_bytes, load_by, load_with_copies, uncounted_floods
from tagloom.graph.network_loads import load_of_network
from tagloom.graph.paths import average_hops, max_hops
from tagloom.graph.search import all_hops
from tagloom.platforms.port_names import channel_name
from tagloom.platforms.power import (
    LPI_POWER,
    assumed_watts,
    fabric_watts,
    link_watts,
    lpi_share,
    port_watts,
    power_unknown,
    stand_in_power,
    stand_in_remarks,
)
from tagloom.records.headroom import GUARANTEED, UNKNOWN, Headroom
from tagloom.records.settings import LinkSettings, NetworkSettings
from tagloom.regulate.greedy import Rules, greedy
from tagloom.regulate.headroom import headroom_of
from tagloom.regulate.optimal import is_quick, optimal, surviving
from tagloom.regulate.own_ways import rerouting
from tagloom.regulate.program import Program, checked_bound
from tagloom.regulate.rerouted import rerouted
from tagloom.regulate.settings_file import settings_routes
from tagloom.regulate.static import static, two_connected
from tagloom.regulate.tree_search import available

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from tagloom.graph.floods import LoadOf
    from tagloom.platforms import PortWatts
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.traffic import Traffic
    from tagloom.regulate.greedy import Choice
    from tagloom.regulate.program import Bound

METHODS = ("static", "greedy", "optimal")
SPEEDS_MBPS = (10, 100, 1000)
HOST_MBPS = 1000
CLOSED = 1e-4  # watts: a smaller gap counts as closed
DESCENTS = 500  # of `optimal` with the planner's routing, whatever the time
STATIC_LINKS = 100  # links: up to here greedy also starts from static's result
BOUND_SECONDS = 10.0  # for the bound reported with static's and greedy's results
SLEEP_SECONDS, WAKE_SECONDS, TIMEOUT_SECONDS = 182e-6, 60e-6, 1e-3  # PowerConnect 5548, Miwa et al. 2013; table 78-2
LISTED = "OR-Tools is not installed (pip install ortools): trees were listed, so more questions may be open"
REPORTED = 10  # places named if traffic does not fit
FRAME_BYTES = 1538.0  # the longest frame with preamble and gap: the fewest wakes per byte


@dataclass(frozen=True, eq=False)
class RegulateOptions:
    """How links are chosen: the method, levels in Mb/s (0 = off), whether ports may sleep, and the rules.

    `headroom` is the share of every channel's capacity that must stay free, None for no more load than before.
    `survives` says of a fabric with fewer links whether any one more may die, None where that is not asked for.
    `max_hops` is the most switches on a path between two hosts afterwards, None for no limit. `guaranteed` demands of
    traffic estimated from counters that the load is within its limit whatever traffic fits them.
    """

    method: str = "static"
    levels: tuple[int, ...] = (0,)
    sleep: bool = False
    allow_cut: bool = False
    headroom: float | None = None
    time_limit_seconds: float = 60.0
    power: Mapping[str, PortWatts] | None = None
    survives: Callable[[Fabric], bool] | None = None
    max_hops: int | None = None
    guaranteed: bool = False


def read_levels(text: str) -> tuple[tuple[int, ...], bool]:
    """Return ``off,10,100,1000,eee`` as (Mb/s with 0 for off, whether eee is there). Raises InputError."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    known = {"off": 0, **{str(s): s for s in SPEEDS_MBPS}}
    wrong = [word for word in words if word not in known and word != "eee"]
    if wrong or not words:
        raise InputError([Finding("--levels", "some of off, 10, 100, 1000, eee, by commas", repr(text))])
    return tuple(sorted({known[word] for word in words if word != "eee"})), "eee" in words


def regulate(
    fabric: Fabric,
    traffic: Traffic,
    route_of: Callable[[Fabric], Routes],
    up_down: Callable[[Fabric], Routes],
    assignment: str,
    options: RegulateOptions,
    progress: Callable[[int, int], None],
    clock: Callable[[], float],
) -> LinkSettings:
    """Return link settings by the requested method, with a lower bound on the watts of any choice.

    `route_of` returns the planner's routes of a fabric, `up_down` those of up*/down*. The limit is the load of the
    busiest channel under the former with all links on. Where a model's watts are not known, those of another stand in,
    and the settings name it. `clock` returns seconds; only the programs' time limit uses it.
    Raises PlanError if the traffic does not fit the limit or the planner's routes with all links on exceed `max_hops`,
    InputError if the method does not support the options.
    """
    unknown = power_unknown(fabric, options.power)
    options = replace(options, power=stand_in_power(fabric, options.power))
    found = _regulate(fabric, traffic, route_of, up_down, assignment, options, progress, clock)
    return replace(found, power_unknown=unknown, remarks=(*stand_in_remarks(unknown), *found.remarks))


def _regulate(
    fabric: Fabric,
    traffic: Traffic,
    route_of: Callable[[Fabric], Routes],
    up_down: Callable[[Fabric], Routes],
    assignment: str,
    options: RegulateOptions,
    progress: Callable[[int, int], None],
    clock: Callable[[], float],
) -> LinkSettings:
    """Return link settings by watts that are known or stand in, as `regulate` does."""
    findings = [*option_findings(options, traffic), *_survive_findings(fabric, options, assignment)]
    if findings := findings or hops_findings(fabric, options.max_hops):
        raise InputError(findings)
    everything = route_of(fabric)
    check_hops(fabric, everything, options.max_hops)
    load_of = load_by(fabric, everything, assignment)
    load = load_of(fabric, everything, traffic.volume_bytes)
    before = float(load.max(initial=0.0))
    limit = _limit(fabric, traffic, options, load, before)
    watts = partial(fabric_watts, power=options.power)
    two = not options.allow_cut and two_connected(fabric)

    def of_link(link: int, mbps: int) -> float:
        return link_watts(fabric, link, mbps, options.power) if mbps else 0.0

    rules = _rules(fabric, options, limit, of_link, two=two and options.method != "static", load_of=load_of)
    full = watts(fabric)
    fixed = full - sum(of_link(i, link.speed_mbps or HOST_MBPS) for i, link in enumerate(fabric.links) if link.up)

    reroute = rerouting(fabric, everything, route_of, options.max_hops)

    def settings_of(choice: Choice | None) -> LinkSettings:
        if choice is None:
            tried = "no set of trees was found with" if np.isfinite(bound.watts) else "no choice of paths has"
            raise _does_not_fit(fabric, load, limit, tried)
        return _settings_of(fabric, options.method, choice, before, full, watts)

    began = clock()
    patience = (
        options.time_limit_seconds if options.method == "optimal" else min(BOUND_SECONDS, options.time_limit_seconds)
    )
    program = Program(fabric, traffic, rules)
    bound = program.solve(patience / 2, clock)
    if options.method == "static":
        chosen = static(fabric, traffic, reroute, watts, progress, limit=limit, load_of=load_of)
        if options.survives is not None:
            survives = options.survives
            better = static(fabric, traffic, reroute, watts, progress, limit=limit, survives=survives, load_of=load_of)
            chosen = replace(better, survive_watts=better.watts_after - chosen.watts_after)
    elif assignment != "fixed" or fabric.own_ways:  # the routing alone says which paths there are
        until = began + options.time_limit_seconds

        def going_on(least: float, tries: int) -> bool:
            return options.method == "optimal" and tries < DESCENTS and least > bound.watts + CLOSED and clock() < until

        chosen = settings_of(rerouted(fabric, traffic, reroute, rules, progress, going_on))
    else:
        starts = _starts(fabric, traffic, everything, up_down, reroute, watts, rules)
        quick = options.method == "greedy" and is_quick(fabric, traffic, rules)
        until = clock() + BOUND_SECONDS / 2 if quick else began + options.time_limit_seconds
        search = partial(optimal, fabric, traffic, starts, rules, progress, program, quick=quick)
        if exact := quick or options.method == "optimal":
            choice, free = search(bound, clock, until if options.survives is None else (clock() + until) / 2)
            bound = free if options.survives is None else bound
        else:
            choice = greedy(fabric, traffic, starts, rules, progress)
        chosen = settings_of(choice)
        if options.survives is not None and choice is not None:
            left: Choice | None = surviving(fabric, choice, rules, options.survives)
            left, bound = search(bound, clock, until, options.survives) if exact else (left, bound)
            cost = settings_of(left).watts_after - chosen.watts_after
            chosen = replace(settings_of(left), survive_watts=cost)
    floods = () if load_of is load_with_copies else uncounted_floods(fabric, traffic.volume_bytes)
    settings = _with_bound(chosen, fixed, bound, (*_remarks(fabric, traffic, assignment, options), *floods))
    settings, smaller, routes = _led(fabric, settings, everything, reroute, traffic, load_of)
    then = None if routes is None else Setting(smaller, routes)
    sure = _headroom(Setting(fabric, everything), then, traffic, options, load_of)
    settings = replace(settings, seconds=traffic.seconds, headroom=sure)
    return _asleep(smaller, routes, traffic, settings, options, bound.watts, load_of) if options.sleep else settings


def _headroom(
    ran: Setting, then: Setting | None, traffic: Traffic, options: RegulateOptions, load_of: LoadOf
) -> Headroom:
    """Return how sure the load under settings is, its bound in bytes. Raises PlanError if it must be, and is not.

    The limit is the headroom, or what links' ports counted on the busiest channel.
    """
    if traffic.counts is None or traffic.seconds is None:
        return Headroom()
    loads = CountedLoads(ran, traffic.counts, copies=load_of is load_with_copies)
    if options.headroom is None:
        limit = float(loads.busiest_counted().max())
        rule = "no channel may get busier than the busiest was"
    else:
        limit = (1 - options.headroom) * HOST_MBPS * 1e6 / 8
        rule = f"channels must keep {100 * options.headroom:g} % of their capacity free"
    if then is None:
        found = Headroom(UNKNOWN, None, ("no paths under these settings",))
    elif not limit:
        found = Headroom(UNKNOWN, None, ("no link was counted, so nobody knows how busy the busiest was",))
    else:
        found = headroom_of(loads, [then], None, limit)
    seconds = traffic.seconds
    if options.guaranteed and found.kind != GUARANTEED:
        most = f"with some, a channel carries {found.bound * seconds:,.0f} bytes" if found.bound is not None else ""
        raise PlanError(
            f"{rule}, whatever traffic the counts allow",
            most or "; ".join(found.missing),
            "more --headroom for the estimate, traffic that was measured, or no --guarantee",
        )
    return replace(found, bound=None if found.bound is None else found.bound * seconds)


def _remarks(fabric: Fabric, traffic: Traffic, assignment: str, options: RegulateOptions) -> tuple[str, ...]:
    """Return what is to be said of watts that are assumed, of the traffic, and of a library that is missing."""
    listed = (LISTED,) if options.method == "optimal" and assignment == "fixed" and not available() else ()
    return (*assumed_watts(fabric, options.power), *traffic.remarks, *listed)


def _with_bound(chosen: LinkSettings, fixed: float, bound: Bound, remarks: Sequence[str]) -> LinkSettings:
    """Return settings with the lower bound on their watts; `fixed` are those of all but links."""
    late = ("the time ended before the bound's program was solved: the bound may be higher",) if bound.out else ()
    return replace(
        chosen,
        lower_bound_watts=checked_bound(fixed + bound.watts, chosen.watts_after),
        bound_source=bound.source,
        bound_holds_for=bound.holds_for,
        remarks=(*remarks, *late),
    )


def _rules(
    fabric: Fabric,
    options: RegulateOptions,
    limit: float,
    of_link: Callable[[int, int], float],
    *,
    two: bool,
    load_of: LoadOf,
) -> Rules:
    """Return the rules of a choice; a tree is a VLAN of each network whose hosts send over it."""
    slower = tuple(s for s in options.levels if s)
    return Rules(limit, two, 0 in options.levels, slower, of_link, most_trees(fabric), options.max_hops, load_of)


def most_trees(fabric: Fabric) -> int:
    """Return how many trees the models' VLANs suffice for, where hosts of every network may send over each."""
    most = min((platforms.load(switch.model).max_vlans for switch in fabric.live), default=1)
    return max(1, most // len(fabric.networks))


def _survive_findings(fabric: Fabric, options: RegulateOptions, assignment: str) -> list[Finding]:
    """Return what is wrong with `survives`: greedy and optimal keep paths only where they choose them."""
    if options.survives is None or options.method == "static":
        return []
    if fabric.own_ways:
        rule = "--method static, where networks have routings or links of their own"
        return [Finding("--survive", rule, options.method)]
    return [] if assignment == "fixed" else [Finding("--survive", "--assignment fixed, or --method static", assignment)]


def _led(
    fabric: Fabric,
    settings: LinkSettings,
    everything: Routes,
    reroute: Callable[[Fabric], Routes | None],
    traffic: Traffic,
    load_of: LoadOf,
) -> tuple[LinkSettings, Fabric, Routes | None]:
    """Return settings with the mean path lengths and what each network has, the fabric under them, and its routes."""
    smaller = fabric.with_links_down(settings.links_off).with_speeds(dict(settings.links_slowed))
    changed = settings.links_off or settings.links_slowed
    routes = settings_routes(smaller, settings) or (reroute(smaller) if changed else everything)
    settings = replace(
        settings,
        average_hops_before=average_hops(fabric, everything),
        max_hops_before=max_hops(fabric, everything),
        networks=_networks_of((fabric, everything), (smaller, routes), traffic, load_of),
    )
    if routes is None:
        return settings, smaller, routes
    after = average_hops(smaller, routes), max_hops(smaller, routes)
    return replace(settings, average_hops_after=after[0], max_hops_after=after[1]), smaller, routes


def _networks_of(
    old: tuple[Fabric, Routes], new: tuple[Fabric, Routes | None], traffic: Traffic, load_of: LoadOf
) -> tuple[NetworkSettings, ...]:
    """Return each network's own load and paths with all links on and under settings, none if there is but one."""
    if len(old[0].networks) < 2:
        return ()
    found = []
    for name, hosts in old[0].networks.items():
        before = _alone(*old, hosts, traffic, load_of)
        after = _alone(new[0], new[1], hosts, traffic, load_of) if new[1] is not None else (None, None, None)
        found.append(NetworkSettings(name, before[0], after[0], before[1], after[1], before[2], after[2]))
    return tuple(found)


def _alone(
    fabric: Fabric, routes: Routes, hosts: NDArray[np.int64], traffic: Traffic, load_of: LoadOf
) -> tuple[float, float, int]:
    """Return the busiest channel's bytes, the mean and the longest path of some hosts of the fabric alone."""
    part = replace(fabric, hosts=tuple(fabric.hosts[h] for h in hosts.tolist()))
    own = routes.of_hosts(hosts)
    load = load_of_network(part, routes, hosts, traffic.volume_bytes, load_of)
    return float(load.max(initial=0.0)), average_hops(part, own), max_hops(part, own)


def _does_not_fit(fabric: Fabric, load: NDArray[np.float64], limit: float, tried: str) -> PlanError:
    over = [(where, amount, amount - limit) for where, amount in _overloaded(fabric, load, limit)]
    return PlanError(
        "the traffic must fit with all links on",
        f"{tried} at most {limit:,.0f} bytes on every channel; over the planner's paths {reported_places(over)}",
        "less --headroom, or faster links",
    )


def _settings_of(
    fabric: Fabric, method: str, choice: Choice, before: float, full: float, watts: Callable[[Fabric], float]
) -> LinkSettings:
    """Return the record of a choice; `before` is the busiest channel's bytes and `full` the watts with all links on."""
    down = fabric.with_links_down(choice.off).with_speeds(choice.slowed)
    return LinkSettings(
        method,
        choice.off,
        before,
        choice.max_load,
        full,
        watts(down),
        two_connected(down),
        links_slowed=tuple(sorted(choice.slowed.items())),
        forest=tuple(tuple(tree) for tree in choice.forest),
        tree_of_host=tuple(choice.tree_of_host.tolist()),
    )


def option_findings(options: RegulateOptions, traffic: Traffic | None) -> list[Finding]:
    """Return what is wrong with the options; without traffic, as far as possible."""
    findings: list[Finding] = []
    if options.method == "static" and (set(options.levels) != {0} or options.sleep):
        findings.append(Finding("--levels", "off: static only turns links off", "others (use --method greedy)"))
    if options.headroom is not None and not 0 <= options.headroom < 1:
        findings.append(Finding("--headroom", "a share from 0 to less than 1", f"{options.headroom:g}"))
    if options.time_limit_seconds <= 0:
        findings.append(Finding("--time-limit", "seconds above 0", f"{options.time_limit_seconds:g}"))
    if (options.headroom is not None or options.sleep) and traffic is not None and traffic.seconds is None:
        what = "--headroom" if options.headroom is not None else "--levels eee"
        findings.append(
            Finding(what, "traffic that says how long it took (# seconds: N, or --seconds)", "nothing said")
        )
    return findings


def hops_findings(fabric: Fabric, most: int | None) -> list[Finding]:
    """Return the finding of fewer switches than the shortest paths between the hosts of each network have."""
    if most is None:
        return []
    up, least = fabric.channel_up, 1
    for part in fabric.by_network:
        at = np.unique(part.host_switch)
        hops = all_hops(len(fabric.switches), fabric.tail[up], fabric.head[up], at)[:, at]
        least = max(least, 1 + int(hops[np.isfinite(hops)].max(initial=0.0)))
    return [] if most >= least else [Finding("--max-hops", f"{least} switches or more, a shortest path", str(most))]


def check_hops(fabric: Fabric, everything: Routes, most: int | None) -> None:
    """Raise PlanError if the planner's routes with all links on have a path of more than `most` switches."""
    if most is not None and (longest := max_hops(fabric, everything)) > most:
        raise PlanError(
            f"every path must have at most {most} switches, with all links on",
            f"the planner's longest has {longest}",
            f"--max-hops {longest}, or another --routing",
        )


def _limit(
    fabric: Fabric, traffic: Traffic, options: RegulateOptions, load: NDArray[np.float64], before: float
) -> float:
    """Return the bytes a channel may carry: at most the busiest channel's before, and within the headroom.

    Raises PlanError with places and excess if a host's own link exceeds the headroom. For static, the channels of the
    planner's routes over all links count, too.
    """
    if traffic.seconds is None:
        return before
    capacity = (1 - (options.headroom or 0.0)) * HOST_MBPS * 1e6 / 8 * traffic.seconds
    over = [
        (f"{host.name} {what}", float(sums[h]))
        for what, sums in zip(("sends", "receives"), at_ports(fabric, traffic.volume_bytes), strict=True)
        for h, host in enumerate(fabric.hosts)
        if sums[h] > capacity and not host.beside
    ]
    next_step = "less --headroom, or traffic over more seconds"
    if options.method == "static":
        over += _overloaded(fabric, load, capacity)
        next_step += ", or --method greedy, which moves hosts to other trees"
    if over:
        raise PlanError(
            f"every link must carry at most {capacity:,.0f} bytes in {traffic.seconds:g} s, with all links on",
            reported_places([(where, amount, amount - capacity) for where, amount in over]),
            next_step,
        )
    return min(before, capacity)


def at_ports(
    fabric: Fabric, volume: NDArray[np.float64] | NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what leaves each host's port and comes to it, float64[..., H]: of all networks that it carries.

    Copies of flooded frames come to it, too. `volume` is from host to host, [..., H, H].
    """
    hosts = len(fabric.hosts)
    together = np.zeros((hosts, hosts))  # column: the host that stands for a port
    together[np.arange(hosts), fabric.host_link] = 1.0
    out, into = volume.sum(axis=-1, dtype=np.float64) @ together, heard_bytes(fabric, volume).sum(axis=-2) @ together
    return out[..., fabric.host_link], into[..., fabric.host_link]


def _overloaded(fabric: Fabric, load: NDArray[np.float64], limit: float) -> list[tuple[str, float]]:
    """Return the channels above a limit, each with its bytes at 1 Gb/s."""
    over = np.flatnonzero(load > limit * (1 + 1e-12)).tolist()
    return [(f"{channel_name(fabric, c)} carries", float(load[c])) for c in over]


def reported_places(places: Sequence[tuple[str, float, float]]) -> str:
    """Return (place, load, excess) in words: the first ten, worst first, and the number of others."""
    ordered = sorted(places, key=lambda place: -place[2])
    rows = [f"{where} {amount:,.0f}, {excess:,.0f} too many" for where, amount, excess in ordered[:REPORTED]]
    return "; ".join(rows + ([f"and {len(ordered) - REPORTED} more places"] if len(ordered) > REPORTED else []))


def _starts(
    fabric: Fabric,
    traffic: Traffic,
    everything: Routes,
    up_down: Callable[[Fabric], Routes],
    reroute: Callable[[Fabric], Routes | None],
    watts: Callable[[Fabric], float],
    rules: Rules,
) -> list[tuple[Fabric, Routes]]:
    """Return greedy's starting points: the planner's routes, up*/down*, and on small fabrics static's result.

    The last, where links may be turned off, ensures that greedy is never worse than static under the same connectivity
    rule.
    """
    starts = [(fabric, everything)]
    if everything.method != "up-down":
        starts.append((fabric, up_down(fabric)))
    if rules.off and len(fabric.links) <= STATIC_LINKS:
        left = static(fabric, traffic, reroute, watts, limit=rules.limit, keep_two=rules.two_connected)
        smaller = fabric.with_links_down(left.links_off)
        if (routes := reroute(smaller)) is not None:
            starts.append((smaller, routes))
    return [start for start in starts if start[1].parent is not None]


def _asleep(
    smaller: Fabric,
    routes: Routes | None,
    traffic: Traffic,
    settings: LinkSettings,
    options: RegulateOptions,
    of_links: float,
    load_of: LoadOf,
) -> LinkSettings:
    """Return settings with EEE at both ends of links and at hosts if the models support it, and its saving.

    1000BASE-T goes quiet only when both directions are idle, so the shares of both are multiplied. Links and hosts are
    assumed to send frames of maximum length as a Poisson stream, the longest sleep for their bytes. `of_links` is the
    links' part of the lower bound, of which a link that is on draws LPI_POWER at least.
    """
    assert traffic.seconds is not None  # noqa: S101 - option_findings checks it
    able = [platforms.load(switch.model).eee for switch in smaller.switches]
    load = load_of(smaller, routes, traffic.volume_bytes) if routes is not None else None
    saved, of_hosts = 0.0, 0.0
    links: list[int] = []
    full = HOST_MBPS * 1e6 / 8 * traffic.seconds

    def share(one: float, other: float) -> float:
        return float(np.prod([_quiet(amount, full, traffic.seconds or 1.0) for amount in (one, other)]))

    for i, link in enumerate(smaller.links):
        if link.up and load is not None and able[link.a] and able[link.b] and link.speed_mbps in {0, HOST_MBPS}:
            links.append(i)
            saved += (1 - LPI_POWER) * share(load[2 * i], load[2 * i + 1]) * link_watts(smaller, i, power=options.power)
    hosts = [h for h, host in enumerate(smaller.hosts) if able[host.switch] and not host.beside]
    out, into = at_ports(smaller, traffic.volume_bytes)
    for h in hosts:
        watts = port_watts(smaller.switches[smaller.hosts[h].switch].model, HOST_MBPS, options.power)
        of_hosts += (1 - LPI_POWER) * share(out[h], into[h]) * watts
    remarks = settings.remarks
    if not links and not hosts:
        remarks = (*remarks, "no model here has EEE (IEEE 802.3az): no port will sleep")
    after = settings.watts_after - saved - of_hosts
    least = settings.lower_bound_watts - of_hosts
    if any(able[link.a] and able[link.b] for link in smaller.links):
        least -= (1 - LPI_POWER) * of_links
    return replace(
        settings,
        watts_after=after,
        links_asleep=tuple(links),
        hosts_asleep=tuple(hosts),
        lower_bound_watts=checked_bound(least, after),
        remarks=(*remarks, "the lower bound lets every link that is on sleep all the time") if saved else remarks,
    )


def _quiet(amount: float, full: float, seconds: float) -> float:
    return lpi_share(amount / full, amount / FRAME_BYTES / seconds, SLEEP_SECONDS, WAKE_SECONDS, TIMEOUT_SECONDS)
