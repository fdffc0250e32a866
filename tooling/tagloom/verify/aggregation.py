"""Decide which ports carry frames by their own settings, and which cables fit and are bound at both ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.platforms.port_names import port_name
from tagloom.records.carrier import CARRIER_COLUMNS, Carrier, carriers, port_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric, Link
    from tagloom.records.switch_state import FabricState, SwitchState


def carrying(fabric: Fabric, switches: Sequence[SwitchState], ports: int) -> NDArray[np.bool_]:
    """Return which ports send and accept frames by their own settings, bool[N, ports], column 0 unused.

    An enabled port does, unless it is a member of a port-channel, which then carries its frames. A port of a link does
    if the link carries every frame: see `carriers`.
    """
    table = np.zeros((len(switches), ports), np.bool_)
    for s, switch in enumerate(switches):
        table[s, 1 : switch.ports + 1] = switch.enabled & (switch.lag == 0)
    lost = np.repeat(carriers(fabric, switches) != Carrier.WHOLE, 2)
    table[fabric.tail[lost], fabric.tail_port[lost]] = False
    return table


def misfits(fabric: Fabric, state: FabricState) -> list[Finding]:
    """Return a finding per enabled cable whose ends have different speeds, or of which only one negotiates."""
    switches = [state[switch.name] for switch in fabric.switches]
    ports = max(fabric.ports, default=0) + 1
    enabled, _, negotiation, speed = (port_table(switches, ports, name) for name in CARRIER_COLUMNS)
    _, a, a_port, b, b_port = fabric.cables.T
    differ = (negotiation[a, a_port] != negotiation[b, b_port]) | (speed[a, a_port] != speed[b, b_port])

    def setting(s: int, port: int) -> str:
        words = "negotiating" if negotiation[s, port] else "without negotiation"
        return f"{speed[s, port]} Mb/s {words}" if speed[s, port] else words

    return [
        Finding(
            port_name(fabric, a, a_port),
            f"as at {port_name(fabric, b, b_port)}: {setting(b, b_port)}",
            setting(a, a_port),
        )
        for _, a, a_port, b, b_port in fabric.cables[differ & (enabled[a, a_port] & enabled[b, b_port] > 0)].tolist()
    ]


def unbound(fabric: Fabric, state: FabricState) -> list[Finding]:
    """Return findings for live cables not bound to their port-channel, and for ports that do not belong to theirs.

    The latter include other ports in a port-channel of the fabric: flows would leave by them.
    """
    switches = [state[switch.name] for switch in fabric.switches]
    findings: list[Finding] = []
    mine: dict[tuple[int, int], int] = {}
    for link in fabric.links:
        for a, b in link.members:
            mine[link.a, a], mine[link.b, b] = link.a_port, link.b_port
        if link.members and link.up:
            findings += [_finding(fabric, *found) for found in _unbound(fabric, link, switches)]
    ours = {(s, channel) for (s, _), channel in mine.items()}
    used = [set(ports) for ports in fabric.used_ports]
    for s, switch in enumerate(switches):
        for at in np.flatnonzero(switch.lag).tolist():
            port, channel = at + 1, int(switch.lag[at])
            foreign_port = (s, port) not in mine and (port in used[s] or (s, channel) in ours)
            if foreign_port:
                name = platforms.load(fabric.switches[s].model).port_name
                where = f"{fabric.switches[s].name}:{name(port)}"
                findings.append(Finding(where, "no member of a port-channel", f"a member of {name(channel)}"))
    return findings


def _unbound(fabric: Fabric, link: Link, switches: Sequence[SwitchState]) -> Iterator[tuple[int, int, int, str]]:
    """Yield (switch, port, port-channel, what is wrong) for every end of a live cable that is not bound."""
    for a, b in _live(link, switches):
        for s, port, channel in ((link.a, a, link.a_port), (link.b, b, link.b_port)):
            bound = int(switches[s].lag[port - 1])
            if bound != channel:
                name = platforms.load(fabric.switches[s].model).port_name
                yield s, port, channel, f"a member of {name(bound)}" if bound else "alone"


def _live(link: Link, switches: Sequence[SwitchState]) -> list[tuple[int, int]]:
    """Return the cables that have carrier: those enabled at both ends."""
    at, to = switches[link.a].enabled, switches[link.b].enabled
    return [(a, b) for a, b in link.members if at[a - 1] and to[b - 1]]


def _finding(fabric: Fabric, s: int, port: int, channel: int, actual: str) -> Finding:
    switch = fabric.switches[s]
    name = platforms.load(switch.model).port_name
    return Finding(f"{switch.name}:{name(port)}", f"a member of {name(channel)}", actual)
