"""Add up what the switches of a fabric draw: the chassis, and every port in use by its speed."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric

DEFAULT_SPEED_MBPS = 1000


def fabric_watts(fabric: Fabric) -> float:
    """Give the watts of all switches: base + sum over ports in use (Koibuchi et al. 2011, table 2).

    A port is in use where a host is plugged in or a link is wanted up; a link that is off saves at both ends. The
    paper measured no difference between an idle and a busy port. Raises InputError for models of unknown power.
    """
    unknown = sorted({s.model for s in fabric.switches if platforms.load(s.model).watts is None})
    if unknown:
        raise InputError([Finding(f"model {m}", "a model whose watts are known", "no figure") for m in unknown])
    chassis = [table.base_watts for s in fabric.switches if (table := platforms.load(s.model).watts)]
    hosts = [port_watts(fabric.switches[host.switch].model, DEFAULT_SPEED_MBPS) for host in fabric.hosts]
    return fsum([*chassis, *hosts, *(link_watts(fabric, i) for i, link in enumerate(fabric.links) if link.up)])


def link_watts(fabric: Fabric, link: int) -> float:
    """Give the watts of a link's ports, two for each cable, while it is up."""
    cable = fabric.links[link]
    speed = cable.speed_mbps or DEFAULT_SPEED_MBPS
    return len(cable.cables) * fsum(port_watts(fabric.switches[s].model, speed) for s in (cable.a, cable.b))


def port_watts(model: str, speed_mbps: int) -> float:
    """Give one port's watts at a speed; a speed the table does not have counts as the nearest lower one it has."""
    table = platforms.load(model).watts
    if table is None:
        return 0.0
    known = [s for s in sorted(table.per_port) if s <= speed_mbps]
    return table.per_port[known[-1] if known else min(table.per_port)]
