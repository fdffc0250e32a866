"""Build a fabric from LLDP neighbours, and compare it with the planned one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from ipaddress import ip_address
from itertools import count
from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.observe import stations
from tagloom.platforms.port_names import port_at_path, port_name
from tagloom.records.fabric import Fabric, Host, Link, Switch
from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tagloom.platforms import Platform
    from tagloom.records.observation import Neighbour, Observation
    from tagloom.records.snmp import Address

# Valid names in a fabric file; a sysName that is invalid or not unique is replaced by the chassis id.
FABRIC_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")

_HOW = "(discover --against)"
_NAME = 56  # characters of a name that is made up, before its number
_ADDRESSES = 8  # of one switch that are tried


@dataclass(frozen=True, slots=True)
class Unreached:
    """A switch that a neighbour reported but that could not be read: its name, the reporter, and why."""

    name: str
    told_by: str
    why: str


@dataclass(frozen=True, slots=True)
class Cabling:
    """What was discovered: a fabric, the switches not reached, and inconsistencies.

    `silent` are the switches that do not report which of their ports a port-channel binds.
    """

    fabric: Fabric
    unreached: tuple[Unreached, ...] = ()
    complaints: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Report:
    """A switch's port at which it sees another, and which ports of that its neighbour may be, the likeliest first."""

    here: int
    port: int
    far: int
    ends: tuple[int, ...]
    called: str
    described: bool  # whether only its description names a port


@dataclass(slots=True)
class _Ends:
    """Cable ends: both ends of a link are reported, of a host only one."""

    links: dict[frozenset[tuple[int, int]], None] = field(default_factory=dict)
    hosts: dict[tuple[int, int], tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    reports: list[_Report] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def next_agents(
    found: Iterable[Observation], known: Iterable[str], port: int
) -> dict[str, tuple[tuple[Address, ...], str]]:
    """Return the switches that are reported but not known: chassis id -> (addresses to try, reporter).

    LLDP reports addresses without a UDP port, so all agents are tried at the seed's. Link-local addresses are left out.
    A station that may be a host is tried too: an answer settles the doubt.
    """
    seen = set(known)
    ask: dict[str, tuple[tuple[Address, ...], str]] = {}
    for observation in found:
        for neighbour in observation.neighbours:
            if (neighbour.bridge or neighbour.doubt) and neighbour.chassis not in seen:
                seen.add(neighbour.chassis)
                reported = neighbour.addresses[:_ADDRESSES]
                places = tuple((each, port) for each in reported if not ip_address(each).is_link_local)
                ask[neighbour.chassis] = places, observation.name or observation.switch
    return ask


def cabling_of(
    name: str,
    found: Mapping[str, Observation],
    models: Mapping[str, str],
    addresses: Mapping[str, str],
    plan: Fabric | None = None,
    *,
    with_hosts: bool = True,
) -> Cabling:
    """Return a fabric of switches by chassis id, from their readings, models and addresses.

    A link needs a report from at least one end. A host needs a neighbour that is no bridge and reports a MAC address:
    hosts without LLDP are not seen, and must be added by hand. Switches are named by sysName. Where an announcement may
    be read in two ways, the hosts and links of `plan` settle it; else it is a complaint.
    """
    order = sorted(found, key=lambda chassis: _natural(found[chassis].name or chassis))
    names = _names([(chassis, found[chassis].name, _of_id(chassis)) for chassis in order])
    index = {chassis: number for number, chassis in enumerate(order)}
    payloads = [platforms.load(models[chassis]) for chassis in order]
    settled = _settled(plan)
    ends = _Ends()
    for chassis in order:
        here, payload = index[chassis], payloads[index[chassis]]
        at_port: dict[int, list[Neighbour]] = {}
        for neighbour in found[chassis].neighbours:
            if neighbour.chassis in index:
                far = index[neighbour.chassis]
                choice = far_ends(payloads[far], neighbour)
                described = not far_ends(payloads[far], replace(neighbour, far_description=""))
                called = _words_for_end(neighbour)
                ends.reports.append(_Report(here, neighbour.port, far, choice, called, described))
            else:
                at_port.setdefault(neighbour.port, []).append(neighbour)
        for port, there in at_port.items():
            where = f"{names[chassis]}:{payload.port_name(port)}"
            host, doubts, lacks = _host_at(where, there, settled.get(where, ""), plan if with_hosts else None)
            ends.complaints += [*doubts, *(lacks if with_hosts else ())]
            if host is not None:
                ends.hosts[here, port] = host
    called_by = [names[chassis] for chassis in order]
    cables = frozenset(frozenset(each) for each, _ in _named_links(plan)) if plan is not None else frozenset()
    planned = partial(_is_planned, cables, called_by, payloads)
    _pair(ends, called_by, payloads, planned)
    links = _bound(_links(ends, called_by, payloads, planned), [found[chassis].aggregated or {} for chassis in order])
    switches = tuple(Switch(names[c], models[c], address=addresses.get(c, "")) for c in order)
    taken = {(s, p) for link in links for a, b in link.cables for s, p in ((link.a, a), (link.b, b))}
    for s, p in sorted(taken & ends.hosts.keys()):
        where, (station, macs) = f"{names[order[s]]}:{payloads[s].port_name(p)}", ends.hosts[s, p]
        shown = " ".join((station, *map(format_mac, macs))).strip()
        ends.complaints.append(f"{where}: a switch and the host {shown} at one port; only the link is kept")
    if with_hosts:
        _keep_one_port_each(ends, taken, called_by, payloads, plan)
    hosts = _hosts(ends, taken, names, payloads) if with_hosts else ()
    fabric = Fabric(name, switches, hosts, links, tuple(payload.ports for payload in payloads))
    silent = tuple(names[chassis] for chassis in order if found[chassis].aggregated is None)
    return Cabling(fabric, complaints=tuple(ends.complaints), silent=silent)


def _settled(plan: Fabric | None) -> dict[str, str]:
    """Return which ports of a fabric file, as switch:port, are a "host"'s and which a "link"'s."""
    if plan is None:
        return {}
    ends = {port_name(plan, s, p): "link" for x in plan.links for a, b in x.cables for s, p in ((x.a, a), (x.b, b))}
    return ends | {port_name(plan, host.switch, host.port): "host" for host in plan.hosts}


def read_as_hosts(found: Iterable[Observation], models: Iterable[str], plan: Fabric | None) -> set[str]:
    """Return the chassis ids of stations that may be switches, and are read as hosts at every port that sees them."""
    settled = _settled(plan)
    readings: dict[str, bool] = {}
    for shown, model in zip(found, models, strict=True):
        payload = platforms.load(model)
        for each in shown.neighbours:
            is_host = _is_host(each, settled.get(f"{shown.name}:{payload.port_name(each.port)}", ""))
            readings[each.chassis] = readings.get(each.chassis, True) and bool(each.doubt) and is_host
    return {chassis for chassis, is_host in readings.items() if is_host}


def _is_host(station: Neighbour, settled: str) -> bool:
    return settled == "host" if station.doubt and settled else not station.bridge


def _host_at(
    where: str, there: Sequence[Neighbour], settled: str, plan: Fabric | None
) -> tuple[tuple[str, tuple[int, ...]] | None, list[str], list[str]]:
    """Return the host at a port, its name and addresses, None where there is none; what is in doubt, what it lacks."""
    words: list[str] = []
    hosts: list[Neighbour] = []
    for station in stations.in_order(there):
        is_host = _is_host(station, settled)
        if station.doubt and not settled:
            read, other = ("a host", "a switch") if is_host else ("a switch, which was not read", "a host")
            words.append(
                f"{where}: {stations.called(station)} is read as {read}, and may be {other}: {station.doubt}; "
                f"hosts.{_key_of(station, where)} (switch, port) or links in the fabric file settles it {_HOW}"
            )
        hosts += [station] if is_host else []
    macs = stations.one_address_each(hosts)
    known = next((h for h in plan.hosts if port_name(plan, h.switch, h.port) == where), None) if plan else None
    several = list(dict.fromkeys(stations.called(station) for station in hosts))
    if len(several) > 1 and not (known is not None and set(macs) <= set(known.macs)):
        words.append(
            f"{where}: {len(several)} stations at one port, {' and '.join(several)}: read as one host with all their "
            f"addresses (a management controller on the host's port); if they are several hosts behind another switch, "
            f"give each a port; hosts.{_key_of(hosts[0], where)}.mac in the fabric file settles it {_HOW}"
        )
    if not hosts:
        return None, words, []
    lacks: list[str] = []
    if not macs:
        lacks.append(f"{where}: {several[0]} announces no MAC address: add it to hosts, with its mac")
        return None, words, lacks
    if hosts[0].port_mac is None and known is None:
        shown = f"its chassis id, {format_mac(macs[0])}, is taken"
        lacks.append(f"{where}: {several[0]} announces no MAC address of its port: {shown}")
    return (known.name if known is not None else hosts[0].name, tuple(macs)), words, lacks


def _key_of(station: Neighbour, where: str) -> str:
    return station.name if FABRIC_NAME.fullmatch(station.name) else _of_place(where)


def _of_place(where: str) -> str:
    """Return what a host is called by its port."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", where)


def _of_id(chassis: str) -> str:
    """Return what a switch is called by its chassis id."""
    return "x" + re.sub(r"[^A-Za-z0-9]", "", chassis.removeprefix("mac "))


def far_ends(platform: Platform, neighbour: Neighbour) -> tuple[int, ...]:
    """Return which ports of the far switch a neighbour may be: by its port id, and by its description."""
    names = dict.fromkeys((neighbour.far_port, neighbour.far_description))
    numbers = (port_at_path(platform, words) for words in names)
    return tuple(dict.fromkeys(number for number in numbers if number is not None))


def _is_planned(
    cables: frozenset[frozenset[str]],
    names: Sequence[str],
    payloads: Sequence[Platform],
    both: Iterable[tuple[int, int]],
) -> bool:
    """Return whether a fabric file has a cable between two ports; `cables` are its cables by their ends' names."""
    return frozenset(f"{names[s]}:{payloads[s].port_name(p)}" for s, p in both) in cables


def _words_for_end(neighbour: Neighbour) -> str:
    described = neighbour.far_description
    return repr(neighbour.far_port) + (
        f", described as {described!r}" if described not in ("", neighbour.far_port) else ""
    )


def _pair(ends: _Ends, names: Sequence[str], payloads: Sequence[Platform], planned: Callable[..., bool]) -> None:
    """Make links of what switches report of each other; each is certain of its own port alone."""
    at: dict[tuple[int, int], list[_Report]] = {}
    for each in ends.reports:
        at.setdefault((each.here, each.far), []).append(each)
    paired: set[_Report] = set()
    for one, other in _confirmed(ends.reports, at):
        ends.links[frozenset({(one.here, one.port), (other.here, other.port)})] = None
        paired |= {one, other}
    for each in ends.reports:
        where = f"{names[each.here]}:{payloads[each.here].port_name(each.port)}"
        if each in paired:
            continue
        if each.here == each.far:
            ends.complaints.append(f"{where}: leads back to the same switch")
            continue
        back = [b for b in at.get((each.far, each.here), ()) if b not in paired]
        alone = not each.ends and [b for b in at[each.here, each.far] if b not in paired and not b.ends] == [each]
        if alone and len(back) == 1 and not back[0].ends:
            paired |= {each, back[0]}
            ends.links[frozenset({(each.here, each.port), (each.far, back[0].port)})] = None
            far = f"{names[each.far]}:{payloads[each.far].port_name(back[0].port)}"
            ends.complaints.append(f"{where}: {names[each.far]} calls its end {each.called}; taken to be {far}, which")
            ends.complaints[-1] += f" is the only other port of the two switches that is not named ({back[0].called})"
        elif not each.ends:
            if not any(each.port in b.ends for b in back):
                ends.complaints.append(f"{where}: {names[each.far]} calls its end {each.called}")
        else:
            both = [frozenset({(each.here, each.port), (each.far, end)}) for end in each.ends]
            known = next(filter(planned, both), None)
            ends.links[known or both[0]] = None
            if known is not None:
                continue
            if each.described:
                taken = payloads[each.far].port_name(each.ends[0])
                ends.complaints.append(f"{where}: {names[each.far]} calls its end {each.called}: taken to be {taken}")
            if len(each.ends) > 1:
                readings = " or ".join(payloads[each.far].port_name(port) for port in each.ends)
                ends.complaints.append(
                    f"{where}: {names[each.far]} calls its end {each.called}: {readings}; the first is taken, and "
                    f"links in the fabric file settles it {_HOW}"
                )


def _confirmed(
    reports: Iterable[_Report], at: Mapping[tuple[int, int], list[_Report]]
) -> Iterator[tuple[_Report, _Report]]:
    """Yield the reports of both ends of a cable that fit each other.

    Those whose ids fit come first, and are of no other cable: a description may name the port at the other end.
    """
    pairs = [
        (each, back)
        for each in reports
        if each.here != each.far
        for back in at.get((each.far, each.here), ())
        if back.port in each.ends and (each.port in back.ends or not back.ends)
    ]
    exact = [(each, back) for each, back in pairs if (each.ends[:1], back.ends[:1]) == ((back.port,), (each.port,))]
    settled = {report for pair in exact for report in pair}
    yield from exact
    yield from (pair for pair in pairs if settled.isdisjoint(pair))


def differences(plan: Fabric, found: Fabric, silent: Collection[str] = ()) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of links that are planned but not seen, and of those that are seen but not planned.

    Switches are matched by name. A link that is wanted down, or has a dead switch at an end, is not missing: its ports
    are shut, and a shut port sends no LLDP. Aggregated links are compared cable by cable, then by which cables are
    bound together, except at `silent` switches.
    """
    planned = dict(_named_links(plan))
    alive = {s.name for s in plan.switches if s.up}
    seen = {ends for ends, _ in _named_links(found)}
    expected = {
        ends for ends, link in planned.items() if link.up and all(end.partition(":")[0] in alive for end in ends)
    }
    gone = [s.name for s in plan.live if s.name not in found.index]
    new = [s.name for s in found.switches if s.name not in plan.index]
    missing = [*gone, *(" - ".join(ends) for ends in sorted(expected - seen, key=_key))]
    unexpected = [*new, *(" - ".join(ends) for ends in sorted(seen - planned.keys(), key=_key))]
    reported = {ends for ends in expected & seen if not any(end.partition(":")[0] in silent for end in ends)}
    wanted, bound = ({cables for cables in _aggregated(fabric) if cables <= reported} for fabric in (plan, found))
    missing += [_lag_words(cables) for cables in sorted(wanted - bound, key=_lag_words)]
    unexpected += [_lag_words(cables) for cables in sorted(bound - wanted, key=_lag_words)]
    return tuple(missing), tuple(unexpected)


def _aggregated(fabric: Fabric) -> Iterator[frozenset[tuple[str, str]]]:
    """Yield the cables of each aggregated link."""
    cables: dict[Link, set[tuple[str, str]]] = {}
    for ends, link in _named_links(fabric):
        if link.members:
            cables.setdefault(link, set()).add(ends)
    yield from (frozenset(each) for each in cables.values())


def _lag_words(cables: frozenset[tuple[str, str]]) -> str:
    return "aggregated: " + ", ".join(" - ".join(ends) for ends in sorted(cables, key=_key))


def _named_links(fabric: Fabric) -> Iterator[tuple[tuple[str, str], Link]]:
    """Yield each cable by its ends, with its link."""
    for link in fabric.links:
        for a_port, b_port in link.cables:
            ends = port_name(fabric, link.a, a_port), port_name(fabric, link.b, b_port)
            low, high = sorted(ends, key=_natural)
            yield (low, high), link


def _links(
    ends: _Ends, names: Sequence[str], payloads: Sequence[Platform], planned: Callable[..., bool]
) -> tuple[Link, ...]:
    """Return the links in order, one per port: a hub or a switch without LLDP makes a port seem to have several."""
    known = {end for both in ends.links if planned(both) for end in both}
    kept = [both for both in ends.links if planned(both) or known.isdisjoint(both)]
    taken: set[tuple[int, int]] = set()
    parallel_links: dict[tuple[int, int], int] = {}
    links = []
    for a, b in sorted(tuple(sorted(both)) for both in kept):
        double = next((end for end in (a, b) if end in taken), None)
        if double is not None:
            where = f"{names[double[0]]}:{payloads[double[0]].port_name(double[1])}"
            seen = [next(iter(both - {double})) for both in kept if double in both]
            shown = " and ".join(f"{names[s]}:{payloads[s].port_name(p)}" for s, p in sorted(seen))
            ends.complaints.append(
                f"{where}: more than one neighbour, {shown}; only the first is kept, and links in the fabric file "
                f"settles it {_HOW}"
            )
            continue
        taken |= {a, b}
        parallel_link = parallel_links.get((a[0], b[0]), 0)
        parallel_links[a[0], b[0]] = parallel_link + 1
        links.append(Link(a[0], a[1], b[0], b[1], parallel_link=parallel_link))
    return tuple(links)


def _bound(links: Sequence[Link], aggregated: Sequence[Mapping[int, int]]) -> tuple[Link, ...]:
    """Return the links, with those that both ends aggregate merged into one; `aggregated` is by switch."""
    cables: dict[tuple[int, int, int, int], list[Link]] = {}
    for link in links:
        a_channel, b_channel = aggregated[link.a].get(link.a_port, 0), aggregated[link.b].get(link.b_port, 0)
        both = bool(a_channel and b_channel)
        ends = (a_channel, b_channel) if both else (link.a_port, link.b_port)
        cables.setdefault((link.a, ends[0], link.b, ends[1]), []).append(link)
    parallel_links: Counter[tuple[int, int]] = Counter()
    found = []
    for (a, a_port, b, b_port), some in cables.items():
        bound = (a_port, b_port) != (some[0].a_port, some[0].b_port)
        members = tuple((each.a_port, each.b_port) for each in some) if bound else ()
        found.append(Link(a, a_port, b, b_port, parallel_link=parallel_links[a, b], members=members))
        parallel_links[a, b] += 1
    return tuple(found)


def _keep_one_port_each(
    ends: _Ends, taken: set[tuple[int, int]], names: Sequence[str], payloads: Sequence[Platform], plan: Fabric | None
) -> None:
    """Leave an address that is announced at several ports to one of them: that of `plan`, or the first."""
    where = {(s, p): f"{names[s]}:{payloads[s].port_name(p)}" for s, p in sorted(ends.hosts) if (s, p) not in taken}
    at: dict[int, list[tuple[int, int]]] = {}
    for place in where:
        for mac in ends.hosts[place][1]:
            at.setdefault(mac, []).append(place)
    planned = {mac: port_name(plan, h.switch, h.port) for h in plan.hosts for mac in h.macs} if plan is not None else {}
    for mac, places in at.items():
        if len(places) < 2:
            continue
        known = [place for place in places if where[place] == planned.get(mac)]
        kept = (known or places)[0]
        key = ends.hosts[kept][0] or _of_place(where[kept])
        for place in places:
            if place != kept:
                name, macs = ends.hosts.pop(place)
                if rest := tuple(each for each in macs if each != mac):
                    ends.hosts[place] = name, rest
        if not known:
            ends.complaints.append(
                f"{' and '.join(where[place] for place in places)}: {format_mac(mac)} is announced at each, and read "
                f"as a host at {where[kept]} alone; a station that was moved is forgotten at its old port within "
                f"minutes, and one of several cards has an address for each; hosts.{key}.mac in the fabric file "
                f"settles it {_HOW}"
            )


def _hosts(
    ends: _Ends, taken: set[tuple[int, int]], names: Mapping[str, str], payloads: Sequence[Platform]
) -> tuple[Host, ...]:
    """Return the hosts in order, each by its own name or, where that is not unique, by its port."""
    places = [place for place in sorted(ends.hosts) if place not in taken]
    called = Counter(ends.hosts[place][0] for place in places)
    ends.complaints += [
        f"{number} stations call themselves {name}: each is named by its port"
        for name, number in called.items()
        if number > 1 and name
    ]
    switches = list(names.values())
    by_port = {(s, p): _of_place(f"{switches[s]}:{payloads[s].port_name(p)}") for s, p in places}
    chosen = _names([(str(place), ends.hosts[place][0], by_port[place]) for place in places])
    return tuple(Host(chosen[str(p)], *p, ends.hosts[p][1][0], also=ends.hosts[p][1][1:]) for p in places)


def _names(wanted: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """Return the name for each id: its own if that is valid and unique, else the other one, numbered if it is taken."""
    calls = Counter(name for _, name, _ in wanted)
    found = {key: name for key, name, _ in wanted if FABRIC_NAME.fullmatch(name) and calls[name] == 1}
    taken = set(found.values())
    for key, _, other in wanted:
        if key not in found:
            numbered = (other[:_NAME] if n == 1 else f"{other[:_NAME]}-{n}" for n in count(1))
            found[key] = next(name for name in numbered if name not in taken)
            taken.add(found[key])
    return {key: found[key] for key, _, _ in wanted}


def _natural(text: str) -> tuple[tuple[int, int | str], ...]:
    """Return a sort key that puts s2 before s10."""
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", text) if part)


def _key(ends: tuple[str, str]) -> tuple[tuple[tuple[int, int | str], ...], ...]:
    return tuple(_natural(end) for end in ends)


def discovery_payload(found: Cabling, plan: Fabric | None) -> dict[str, Any]:
    """Return a discovery with the keys of the command line."""
    missing, unexpected = differences(plan, found.fabric, found.silent) if plan is not None else ((), ())
    return {
        "switches": len(found.fabric.switches),
        "links": len(found.fabric.links),
        "hosts": len(found.fabric.hosts),
        "missing": list(missing),
        "unexpected": list(unexpected),
        "unreached": [asdict(each) for each in found.unreached],
        "complaints": list(found.complaints),
    }
