"""Find which addresses switches have learnt at the ports of hosts, and at ports that nothing of the fabric takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.errors import Finding
from tagloom.platforms.port_names import port_name
from tagloom.records.addresses import SeenAddress
from tagloom.units import is_host_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation


def learned_addresses(fabric: Fabric, seen: Mapping[str, Observation]) -> tuple[list[SeenAddress], list[Finding]]:
    """Return every address learnt at a host's port or at one that the fabric does not take, and what cannot be told.

    Ports of links, port-channels of links, reserved ports and the controller's are left out: what is learnt there is
    elsewhere, or is not the fabric's. An address that several VLANs show at one port is one.
    """
    host = {(each.switch, each.port): each.name for each in fabric.hosts}
    taken = {*fabric.reserved}
    for link in fabric.links:
        for a, b in (*link.cables, (link.a_port, link.b_port)):
            taken |= {(link.a, a), (link.b, b)}
    if fabric.management is not None:
        taken.add((fabric.management.switch, fabric.management.port))
    found: list[SeenAddress] = []
    missing: list[Finding] = []
    for name, shown in seen.items():
        s = fabric.index[name]
        if shown.error:
            continue
        if shown.vlans.learned is None:
            missing.append(Finding(name, "a table of learnt addresses (dot1qTpFdbTable)", "none over SNMP"))
            continue
        for port, mac in sorted({(port, mac) for (_, mac), port in shown.vlans.learned.items()}):
            if (s, port) not in taken and is_host_address(mac):
                found.append(SeenAddress(mac, port_name(fabric, s, port), host.get((s, port), "")))
    return found, missing
