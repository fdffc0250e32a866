"""Merge a grown fabric file into the fabric of a running rack: what is plugged in stays, and what is new is added."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric, Link

    End = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Growth:
    """A rack's fabric after switches, cables and hosts were added; its own switches keep their places.

    `switches` and `hosts` are the names of those that are added, `cables` their number. `readdressed` are hosts of the
    rack that have other MAC addresses in the file, and so from now on.
    """

    fabric: Fabric
    switches: tuple[str, ...]
    hosts: tuple[str, ...]
    cables: int
    readdressed: tuple[str, ...] = ()


def merge(rack: Fabric, file: Fabric) -> Growth:
    """Add to a rack's fabric what a file has beside it. Raises InputError where that is not all that differs.

    A cable or host of the rack that the file no longer has stays plugged in, unless the file needs its port.
    """
    findings = [*_wrong_switches(rack, file), *_wrong_ports(rack, file)]
    if findings:
        raise InputError(findings)
    new = [switch for switch in file.switches if switch.name not in rack.index]
    switches = (*(file.switches[file.index[switch.name]] for switch in rack.switches), *new)
    place = {switch.name: number for number, switch in enumerate(switches)}
    at = [place[switch.name] for switch in file.switches]
    plugged, wanted = _cables(rack, up_only=True), _cables(file)
    links = [_as_plugged(replace(x, a=at[x.a], b=at[x.b]), _ends(file, x) & plugged) for x in file.links]
    links += [link for link in rack.links if not _ends(rack, link) & wanted]
    hosts = [replace(host, switch=at[host.switch]) for host in file.hosts]
    known = {host.name: host.macs for host in rack.hosts}
    left = [host for host in rack.hosts if host.name not in {each.name for each in hosts}]
    ports = {switch.name: ports for switch, ports in zip(file.switches, file.ports, strict=True)}
    merged = replace(
        file,
        switches=switches,
        links=tuple(links),
        hosts=(*hosts, *left),
        ports=tuple(ports[switch.name] for switch in switches),
        management=replace(file.management, switch=at[file.management.switch]) if file.management else None,
        reserved=tuple(sorted((at[s], port) for s, port in file.reserved)),
    )
    added = tuple(host.name for host in hosts if host.name not in known)
    readdressed = tuple(host.name for host in hosts if known.get(host.name, host.macs) != host.macs)
    names = tuple(switch.name for switch in new)
    return Growth(merged, names, added, len(_cables(file, up_only=True) - plugged), readdressed)


def _as_plugged(link: Link, plugged: frozenset[frozenset[End]]) -> Link:
    """Return a link that is up where its cables are plugged in already."""
    return replace(link, up=True, dead=False) if plugged else link


def _ends(fabric: Fabric, link: Link) -> frozenset[frozenset[End]]:
    a, b = fabric.switches[link.a].name, fabric.switches[link.b].name
    return frozenset(frozenset({(a, p), (b, q)}) for p, q in link.cables)


def _cables(fabric: Fabric, *, up_only: bool = False) -> frozenset[frozenset[End]]:
    return frozenset(cable for link in fabric.links if link.up or not up_only for cable in _ends(fabric, link))


def _wrong_switches(rack: Fabric, file: Fabric) -> list[Finding]:
    findings = []
    for switch in rack.switches:
        where = f"switches.{switch.name}"
        if switch.name not in file.index:
            findings.append(Finding(where, "every switch of the rack: lab add takes none away", "none of that name"))
            continue
        other = file.switches[file.index[switch.name]]
        if (other.model, other.firmware) != (switch.model, switch.firmware):
            findings.append(Finding(f"{where}.model", f"{switch.model}, as in the rack", other.model))
    return findings


def _wrong_ports(rack: Fabric, file: Fabric) -> list[Finding]:
    """Find the ports of the rack that the file wants for something else than is plugged in there."""
    here, there = _plugged(rack), _plugged(file)
    findings = [
        Finding(_port(rack, end), f"{_named(rack, here[end])}, which is plugged in there", _named(file, what))
        for end, what in there.items()
        if here.get(end, what) != what
    ]
    at = {host.name: (rack.switches[host.switch].name, host.port) for host in rack.hosts}
    for host in file.hosts:
        end = file.switches[host.switch].name, host.port
        if at.get(host.name, end) != end and at[host.name][0] in file.index:
            expected = f"{_port(rack, at[host.name])}, where it is plugged in"
            findings.append(Finding(f"hosts.{host.name}", expected, _port(file, end)))
    return findings


def _plugged(fabric: Fabric) -> dict[End, End]:
    """Return what is plugged in at each port: the far end of a cable, or a host as (name, 0)."""
    found: dict[End, End] = {}
    for host in fabric.hosts:
        found.setdefault((fabric.switches[host.switch].name, host.port), (host.name.partition("@")[0], 0))
    for link in fabric.links:
        a, b = fabric.switches[link.a].name, fabric.switches[link.b].name
        for p, q in link.cables:
            found[a, p], found[b, q] = (b, q), (a, p)
    return found


def _named(fabric: Fabric, what: End) -> str:
    return f"a cable to {_port(fabric, what)}" if what[1] else what[0]


def _port(fabric: Fabric, end: End) -> str:
    """Name a port as its switch spells it."""
    switch = fabric.switches[fabric.index[end[0]]]
    return f"{end[0]}:{platforms.of(switch).port_name(end[1])}"
