"""Build a fabric from LLDP neighbours, and compare it with the planned one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.platforms.port_names import port_name, port_number
from tagloom.records.fabric import Fabric, Host, Link, Switch
from tagloom.units import parse_mac

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from tagloom.records.observation import Neighbour, Observation
    from tagloom.records.snmp import Address

# Valid names in a fabric file; a sysName that is invalid or not unique is replaced by the chassis id.
FABRIC_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")

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


@dataclass(slots=True)
class _Ends:
    """Cable ends: both ends of a link are reported, of a host only one."""

    links: dict[frozenset[tuple[int, int]], None] = field(default_factory=dict)
    hosts: dict[tuple[int, int], tuple[str, int]] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


def next_agents(
    found: Iterable[Observation], known: Iterable[str], port: int
) -> dict[str, tuple[tuple[Address, ...], str]]:
    """Return the switches that are reported but not known: chassis id -> (addresses to try, reporter).

    LLDP reports addresses without a UDP port, so all agents are tried at the seed's. Link-local addresses are left out.
    """
    seen = set(known)
    ask: dict[str, tuple[tuple[Address, ...], str]] = {}
    for observation in found:
        for neighbour in observation.neighbours:
            if neighbour.bridge and neighbour.chassis not in seen:
                seen.add(neighbour.chassis)
                reported = neighbour.addresses[:_ADDRESSES]
                places = tuple((each, port) for each in reported if not ip_address(each).is_link_local)
                ask[neighbour.chassis] = places, observation.name or observation.switch
    return ask


def cabling_of(
    name: str, found: Mapping[str, Observation], models: Mapping[str, str], addresses: Mapping[str, str]
) -> Cabling:
    """Return a fabric of switches by chassis id, from their readings, models and addresses.

    A link needs a report from at least one end. A host needs a neighbour that is no bridge and reports a MAC address:
    hosts without LLDP are not seen, and must be added by hand. Switches are named by sysName.
    """
    order = sorted(found, key=lambda chassis: _natural(found[chassis].name or chassis))
    names = _names([(chassis, found[chassis].name) for chassis in order])
    index = {chassis: number for number, chassis in enumerate(order)}
    payloads = [platforms.load(models[chassis]) for chassis in order]
    ends = _Ends()
    for chassis in order:
        here, payload = index[chassis], payloads[index[chassis]]
        for neighbour in found[chassis].neighbours:
            where = f"{names[chassis]}:{payload.port_name(neighbour.port)}"
            if neighbour.chassis in index:
                far = index[neighbour.chassis]
                port = port_number(payloads[far], neighbour.far_port)
                if port is None:
                    ends.complaints.append(f"{where}: {names[order[far]]} calls its end {neighbour.far_port!r}")
                elif far != here:
                    ends.links[frozenset({(here, neighbour.port), (far, port)})] = None
                else:
                    ends.complaints.append(f"{where}: leads back to the same switch")
            elif not neighbour.bridge:
                mac = _host_mac(neighbour)
                if mac is not None:
                    ends.hosts[here, neighbour.port] = neighbour.name, mac
    links = _bound(_links(ends, names, order, payloads), [found[chassis].aggregated or {} for chassis in order])
    switches = tuple(Switch(names[c], models[c], address=addresses.get(c, "")) for c in order)
    hosts = _hosts(ends, {(s, p) for link in links for s, p in ((link.a, link.a_port), (link.b, link.b_port))})
    fabric = Fabric(name, switches, hosts, links, tuple(payload.ports for payload in payloads))
    silent = tuple(names[chassis] for chassis in order if found[chassis].aggregated is None)
    return Cabling(fabric, complaints=tuple(ends.complaints), silent=silent)


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
    ends: _Ends, names: Mapping[str, str], order: Sequence[str], payloads: Sequence[platforms.Platform]
) -> tuple[Link, ...]:
    """Return the links in order, one per port: a hub or a switch without LLDP makes a port seem to have several."""
    taken: set[tuple[int, int]] = set()
    parallel_links: dict[tuple[int, int], int] = {}
    links = []
    for a, b in sorted(tuple(sorted(both)) for both in ends.links):
        double = next((end for end in (a, b) if end in taken), None)
        if double is not None:
            where = f"{names[order[double[0]]]}:{payloads[double[0]].port_name(double[1])}"
            ends.complaints.append(f"{where}: more than one neighbour; only the first is kept")
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


def _hosts(ends: _Ends, taken: set[tuple[int, int]]) -> tuple[Host, ...]:
    places = [place for place in sorted(ends.hosts) if place not in taken]
    names = _names([(str(place), ends.hosts[place][0]) for place in places])
    return tuple(Host(names[str(place)], *place, ends.hosts[place][1]) for place in places)


def _host_mac(neighbour: Neighbour) -> int | None:
    if neighbour.port_mac is not None:
        return neighbour.port_mac
    kind, _, words = neighbour.chassis.partition(" ")
    try:
        return parse_mac(words) if kind == "mac" else None
    except ValueError:  # not an address of six octets
        return None


def _names(wanted: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the name for each id: its own if that is valid and unique, else one made from the id."""
    calls = [name for _, name in wanted]
    return {
        key: name
        if FABRIC_NAME.fullmatch(name) and calls.count(name) == 1
        else "x" + re.sub(r"[^A-Za-z0-9]", "", key.removeprefix("mac "))[:60]
        for key, name in wanted
    }


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
