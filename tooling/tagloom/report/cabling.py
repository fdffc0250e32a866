"""List which port is cabled to which: as CSV, as a table to print, and in one line for switches that are alike."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.report.terminal import count, row, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tagloom.records.fabric import Fabric, Link, Switch

HEADER = ("from", "from_port", "to", "to_port", "speed_mbps", "state")
LINKS, HOSTS = "links", "hosts"


@dataclass(frozen=True, slots=True)
class Cable:
    """A cable: a switch and its port, and what is at the other end, whose port is "" for a host."""

    switch: str
    port: str
    to: str
    to_port: str
    speed_mbps: int = 0
    state: str = "up"


def cables(fabric: Fabric) -> Iterator[Cable]:
    """Yield each cable once: those between switches, each of an aggregated link, then those to hosts."""
    name_of = [platforms.of(switch).port_name for switch in fabric.switches]
    for link in fabric.links:
        a, b = fabric.switches[link.a], fabric.switches[link.b]
        for p, q in link.cables:
            yield Cable(a.name, name_of[link.a](p), b.name, name_of[link.b](q), link.speed_mbps, _state(link))
    for host in fabric.hosts:
        if not host.beside:
            yield Cable(fabric.switches[host.switch].name, name_of[host.switch](host.port), host.name, "")


def _state(link: Link) -> str:
    return "up" if link.up else "dead" if link.dead else "down"


def cabling_csv(fabric: Fabric) -> str:
    """Return a row for each cable; a speed of "" is the best that both ports have."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADER)
    for each in cables(fabric):
        writer.writerow((each.switch, each.port, each.to, each.to_port, each.speed_mbps or "", each.state))
    return file.getvalue()


def cabling_table(fabric: Fabric) -> str:
    """Return a table to print: the ports of each switch in their order; a cable is listed at both of its ends."""
    ends: list[dict[int, tuple[str, ...]]] = [{} for _ in fabric.switches]
    name_of = [platforms.of(switch).port_name for switch in fabric.switches]
    for link in fabric.links:
        state = "" if link.up else _state(link)
        for a, b in link.cables:
            for here, port, there, far in ((link.a, a, link.b, b), (link.b, b, link.a, a)):
                ends[here][port] = name_of[here](port), fabric.switches[there].name, name_of[there](far), state
    for host in fabric.hosts:
        if not host.beside:
            ends[host.switch][host.port] = name_of[host.switch](host.port), host.name, "", ""
    lines = [f"Cabling of {fabric.name}: {', '.join(counts(fabric))}", ""]
    for switch, rows in zip(fabric.switches, ends, strict=True):
        where = "".join(f", {each}" for each in (switch.address, switch.rack and f"rack {switch.rack}") if each)
        lines += [f"{switch.name} ({switch.model}{where})"]
        lines += [*table(("port", "to", "its port", ""), [rows[port] for port in sorted(rows)]), ""]
    return "".join(f"{line.rstrip()}\n" for line in lines[:-1])


def counts(fabric: Fabric) -> tuple[str, str, str]:
    """Return how many switches, links and hosts there are, in words."""
    hosts = sum(not host.beside for host in fabric.hosts)
    return count(len(fabric.switches), "switch"), count(len(fabric.links), "link"), count(hosts, "host")


def ports_taken(fabric: Fabric) -> dict[str, dict[str, list[str]]]:
    """Return each switch's ports with links and with hosts, by their names, in the order of the ports."""
    return {
        switch.name: {what: [platforms.of(switch).port_name(port) for port in ports] for what, ports in taken.items()}
        for switch, taken in _taken(fabric)
    }


def port_lines(fabric: Fabric) -> list[str]:
    """Return which ports of which switches have links and hosts, in a line for all that are alike."""
    alike: dict[str, list[str]] = {}
    for switch, taken in _taken(fabric):
        words = ", ".join(f"{what} {_ports(switch, ports)}" for what, ports in taken.items() if ports) or "none"
        alike.setdefault(words, []).append(switch.name)
    said = [f"{words} on {_names(names)}" for words, names in alike.items()]
    return [line for n, each in enumerate(said) for line in row("" if n else "ports", each)]


def _taken(fabric: Fabric) -> Iterator[tuple[Switch, dict[str, list[int]]]]:
    taken: list[dict[str, set[int]]] = [{LINKS: set(), HOSTS: set()} for _ in fabric.switches]
    for link in fabric.links:
        for a, b in link.cables:
            taken[link.a][LINKS].add(a)
            taken[link.b][LINKS].add(b)
    for host in fabric.hosts:
        taken[host.switch][HOSTS].add(host.port)
    for switch, each in zip(fabric.switches, taken, strict=True):
        yield switch, {what: sorted(ports) for what, ports in each.items()}


def _ports(switch: Switch, ports: list[int]) -> str:
    """Return ports by their names, runs as the first and the last."""
    name = platforms.of(switch).port_name
    runs = [[port for _, port in run] for _, run in groupby(enumerate(ports), key=lambda each: each[1] - each[0])]
    return ", ".join(name(run[0]) if len(run) == 1 else f"{name(run[0])} to {name(run[-1])}" for run in runs)


def _names(names: list[str]) -> str:
    """Return up to four names, of more the first, the last and how many they are."""
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} ... {names[-1]} ({len(names):,} switches)"
