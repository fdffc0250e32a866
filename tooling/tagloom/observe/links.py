"""Compare links and hosts' ports with a build over SNMP: up, speed, and where each host is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.errors import Finding
from tagloom.platforms.port_names import port_name
from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from tagloom.records.report import OFF, ON, SLEEPING, SLOW
from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Counters, Observation
    from tagloom.records.switch_state import FabricState

Port = tuple[int, int]


def link_findings(fabric: Fabric, states: FabricState, seen: Mapping[str, Observation]) -> tuple[Finding, ...]:
    """Return findings for links and hosts' ports that differ from `states`, cable by cable, and for misplaced hosts.

    A port that a state enables must be up, at its configured speed or faster, else at the link's. A port that it shuts
    must be down. What a switch does not show over SNMP (IF-MIB, RFC 2863; dot1qTpFdbTable, RFC 4363) is no finding
    here.
    """
    shown = {
        (s, port.number): port
        for s, switch in enumerate(fabric.switches)
        if switch.up and switch.name in seen
        for port in seen[switch.name].ports
    }
    return (
        *_links(fabric, states, shown),
        *_hosts(fabric, states, shown),
        *_heard_elsewhere(fabric, seen),
    )


def states_seen(fabric: Fabric, states: Sequence[str], seen: Mapping[str, Observation]) -> tuple[str, ...]:
    """Return the state of each link as last read: off where a port of all its cables has no link, slow, or as before.

    What no switch showed (IF-MIB, RFC 2863) stays as `states` has it, and so does sleep.
    """
    shown = {(switch, port.number): port for switch, each in seen.items() for port in each.ports}
    found = []
    for link, state in zip(fabric.links, states, strict=True):
        names = fabric.switches[link.a].name, fabric.switches[link.b].name
        cables = [[shown.get(end) for end in zip(names, cable, strict=True)] for cable in link.cables]
        up = [all(port is None or port.oper_up is not False for port in cable) for cable in cables]
        known = [port for cable in cables for port in cable if port is not None and port.oper_up is not None]
        slow = any(port.oper_up and 0 < (port.speed_bps or 0) < DEFAULT_SPEED_MBPS * 1_000_000 for port in known)
        awake = state if state == SLEEPING else ON
        found.append(state if not known else OFF if not any(up) else SLOW if slow else awake)
    return tuple(found)


def _links(fabric: Fabric, states: FabricState, shown: Mapping[Port, Counters]) -> Iterator[Finding]:
    for link in fabric.links:
        if not (fabric.switches[link.a].up and fabric.switches[link.b].up):
            continue
        for a, b in link.cables:
            ends = ((link.a, a), (link.b, b))
            held = [states.get(fabric.switches[s].name) for s, _ in ends]
            wanted = all(
                state is None or bool(state.enabled[port - 1]) for state, (_, port) in zip(held, ends, strict=True)
            )
            speed = link.speed_mbps or DEFAULT_SPEED_MBPS
            forced = [int(state.speed_mbps[port - 1]) for state, (_, port) in zip(held, ends, strict=True) if state]
            where = " - ".join(port_name(fabric, *end) for end in ends)
            ports = [shown[end] for end in ends if end in shown]
            yield from _cable(where, ports, wanted, min([speed, *filter(None, forced)]))


def _hosts(fabric: Fabric, states: FabricState, shown: Mapping[Port, Counters]) -> Iterator[Finding]:
    for host in fabric.hosts:
        end = (host.switch, host.port)
        state = states.get(fabric.switches[host.switch].name)
        if state is not None and end in shown:
            where = f"{host.name} at {port_name(fabric, *end)}"
            speed = int(state.speed_mbps[host.port - 1])
            yield from _cable(where, [shown[end]], bool(state.enabled[host.port - 1]), speed)


def _cable(where: str, ports: list[Counters], wanted: bool, speed_mbps: int) -> Iterator[Finding]:
    up = [port.oper_up for port in ports if port.oper_up is not None]
    if up and all(up) != wanted:
        down = "down" if not any(up) else "up" if all(up) else "up at one end, down at the other"
        yield Finding(where, "up" if wanted else "down", f"{down} over SNMP")
    elif wanted and all(up):
        slow = min((port.speed_bps for port in ports if port.speed_bps), default=0)
        if 0 < slow < speed_mbps * 1_000_000:
            yield Finding(where, f"{speed_mbps} Mb/s", f"{slow / 1e6:.0f} Mb/s over SNMP")


def _heard_elsewhere(fabric: Fabric, seen: Mapping[str, Observation]) -> Iterator[Finding]:
    """Yield a finding for each host address learned at a port that leads neither to it nor into the fabric."""
    home = {mac: (host.switch, host.port) for host in fabric.hosts for mac in host.macs}
    name = {mac: host.name for host in fabric.hosts for mac in host.macs}
    for s, switch in enumerate(fabric.switches):
        if not switch.up or switch.name not in seen:
            continue
        for (_, mac), port in sorted((seen[switch.name].vlans.learned or {}).items()):
            inner = 0 < port < fabric.port_channel.shape[1] and fabric.port_channel[s, port] >= 0
            if mac in home and home[mac] != (s, port) and not inner:
                where = f"{name[mac]} ({format_mac(mac)})"
                yield Finding(
                    where, f"heard at {port_name(fabric, *home[mac])}", f"at {port_name(fabric, s, port)} over SNMP"
                )
