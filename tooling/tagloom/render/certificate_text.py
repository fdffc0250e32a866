"""Write a network, and an order of its channels, as the text that the checker with a machine-checked proof reads."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.records.switch_state import BROADCAST, DISCARD_PVID, Frames, Membership

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric, Link
    from tagloom.records.switch_state import SwitchState

_MEMBER = {int(Membership.UNTAGGED): "u", int(Membership.TAGGED): "t"}


def certificate_text(fabric: Fabric, states: Mapping[str, Sequence[SwitchState]], rank: NDArray[np.integer]) -> str:
    """Return the certificate of a network whose switches hold `states` (by name), one after another.

    `rank` orders its channels, int[C]. Raises PlanError for what the checker's model does not have.
    `docs/explanation/proofs.md` describes the lines.
    """
    held = [states[switch.name] for switch in fabric.switches]
    _refuse_what_the_model_lacks(fabric, held)
    return "\n".join(["certificate 1", *_cables(fabric, rank), *_switches(fabric, held)]) + "\n"


def _refuse_what_the_model_lacks(fabric: Fabric, held: Sequence[Sequence[SwitchState]]) -> None:
    every = [state for each in held for state in each]
    lacks = {
        "several host networks": len(fabric.networks) > 1,
        "hosts with tags, several addresses or none, and uplinks": any(
            host.tag or host.also or host.uplink or not host.mac for host in fabric.hosts
        ),
        "port-channels": any(link.members for link in fabric.links),
        "cables whose ends are set to different speeds": any(_speeds_differ(link, held) for link in fabric.links),
        "switches that are down": not all(switch.up for switch in fabric.switches),
        "spanning tree": any(state.spanning_tree for state in every),
        "other VLANs": any(map(_other_vlans, held)),
    }
    for what, found in lacks.items():
        if found:
            raise PlanError("certificates for the proven checker cover simple fabrics only", what, "tagloom verify")


def _other_vlans(states: Sequence[SwitchState]) -> set[int]:
    """Return the VLANs that no state of a switch names as tagloom's; a line may name a VLAN that one before it made."""
    there = {vlan for state in states for vlan in state.vlans[1:].tolist()}
    return there - {vlan for state in states for vlan in state.owned_vlans}


def _ends(link: Link) -> tuple[tuple[int, int], tuple[int, int]]:
    return (link.a, link.a_port), (link.b, link.b_port)


def _on(held: Sequence[Sequence[SwitchState]], end: tuple[int, int]) -> bool:
    """Return whether a port is enabled in some state of its switch."""
    return any(state.enabled[end[1] - 1] for state in held[end[0]])


def _speeds_differ(link: Link, held: Sequence[Sequence[SwitchState]]) -> bool:
    """Return whether the ends of a link may be up and set to different speeds. A line that sets a speed counts too."""
    settings = {
        (bool(state.negotiation[port - 1]), int(state.speed_mbps[port - 1]))
        for s, port in _ends(link)
        for state in held[s]
    }
    return len(settings) > 1 and all(_on(held, end) for end in _ends(link))


def _cables(fabric: Fabric, rank: NDArray[np.integer]) -> Iterator[str]:
    for number, host in enumerate(fabric.hosts):
        yield f"host {number} {host.switch} {host.port}"
    for link in fabric.links:
        yield f"link {link.a} {link.a_port} {link.b} {link.b_port}"
    # Channels of hosts are lowest, by 0. So are links that are declared down: no frame may go there.
    for channel in np.flatnonzero(fabric.channel_up).tolist():
        yield f"rank {fabric.head[channel]} {fabric.head_port[channel]} {max(int(rank[channel]), 0) + 1}"


def _switches(fabric: Fabric, held: Sequence[Sequence[SwitchState]]) -> Iterator[str]:
    """Return the lines of each switch's states. A port of a link is on only if the other end is at some time."""
    closed = {end for link in fabric.links for end, far in (_ends(link), _ends(link)[::-1]) if not _on(held, far)}
    numbers = {host.mac: str(number) for number, host in enumerate(fabric.hosts)} | {BROADCAST: "*"}
    for s, states in enumerate(held):
        for state in states:
            yield f"switch {s}"
            used = fabric.used_ports[s]
            for port in used:
                yield _port_line(state, port, on=bool(state.enabled[port - 1]) and (s, port) not in closed)
            for row, vlan in enumerate(state.vlans.tolist()):
                members = ((_MEMBER.get(int(state.membership[row, port - 1])), port) for port in used)
                yield " ".join([f"vlan {vlan}", *(f"{how}{port}" for how, port in members if how)])
            yield from _entry_lines(state, numbers)


def _port_line(state: SwitchState, port: int, *, on: bool) -> str:
    p = port - 1
    letters = {
        "e": on,
        "t": state.frames[p] != Frames.UNTAGGED_ONLY,
        "u": state.frames[p] != Frames.TAGGED_ONLY,
        "i": state.ingress_filter[p],
        "f": state.flooding[p],
        "l": state.learning[p],
    }
    pvid = "-" if state.pvid[p] == DISCARD_PVID else str(state.pvid[p])
    return f"port {port} {pvid} {''.join(letter for letter, there in letters.items() if there) or '-'}"


def _entry_lines(state: SwitchState, numbers: dict[int, str]) -> Iterator[str]:
    rows = zip(state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist(), strict=True)
    for (vlan, mac), group in groupby(rows, key=itemgetter(0, 1)):  # rows of one entry follow one another
        if mac not in numbers:
            raise PlanError(
                "certificates for the proven checker cover simple fabrics only",
                "a static entry for an address that is no host's",
                "tagloom verify",
            )
        yield " ".join([f"entry {vlan} {numbers[mac]}", *(str(port) for *_, port in group)])
