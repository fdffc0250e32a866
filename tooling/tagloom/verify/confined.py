"""Check what a port that floods nothing relies on: nothing learned and no stray entry leads frames there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.records.switch_state import BROADCAST, Membership
from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState


def confined_findings(fabric: Fabric, state: FabricState) -> Iterator[Finding]:
    """Yield findings for ports of links that may lead other frames to ports that flood nothing than the proof follows.

    The proof follows entries for the addresses of hosts, and floods. An address that is learned leads frames to the
    port where it was learned, which a flood may not include, so in a VLAN of which some link's port floods nothing no
    link's port may learn. Nor may an entry for an address that no host has lead to a port that floods nothing.
    """
    states = [state[switch.name] for switch in fabric.switches]
    links = [fabric.port_channel[s, 1 : held.ports + 1] >= 0 for s, held in enumerate(states)]
    vlans: set[int] = set()
    for held, mine in zip(states, links, strict=True):
        quiet = mine & held.enabled & ~held.flooding
        if quiet.any():
            vlans |= set(held.vlans[(held.membership[:, quiet] != Membership.NONE).any(axis=1)].tolist())
    if not vlans:
        return
    for switch, held, mine in zip(fabric.switches, states, links, strict=True):
        platform = platforms.of(switch)
        joined = (held.membership[np.isin(held.vlans, list(vlans))] != Membership.NONE).any(axis=0)
        for at in np.flatnonzero(mine & held.enabled & held.learning & joined)[:1].tolist():
            where = f"{switch.name}:{platform.port_name(at + 1)} learning"
            yield Finding(where, "off, where some ports of the VLAN flood nothing", "on")
        for row in np.flatnonzero(stray_entries(fabric, held))[:1].tolist():
            where = f"{switch.name} VLAN {held.entry_vlan[row]} {format_mac(int(held.entry_mac[row]))}"
            yield Finding(where, "the address of a host, as its port floods nothing", "no host's")


def stray_entries(fabric: Fabric, held: SwitchState) -> NDArray[np.bool_]:
    """Return which static entries lead frames for addresses of no host to a port that floods nothing, bool[E]."""
    known = np.array([*fabric.host_of_mac, BROADCAST], np.uint64)
    stray: NDArray[np.bool_] = ~held.flooding[held.entry_port - 1] & ~np.isin(held.entry_mac, known)
    return stray
