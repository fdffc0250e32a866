"""Check what a port that floods nothing relies on: nothing learned and no stray entry leads frames there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.records.lines import PVID
from tagloom.records.switch_state import BROADCAST, Membership
from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.lines import Lines
    from tagloom.records.switch_state import FabricState, SwitchState


def confined_findings(fabric: Fabric, state: FabricState) -> Iterator[Finding]:
    """Yield findings for ports of links that may lead other frames to ports that flood nothing than the proof follows.

    The proof follows floods, and frames of each network's hosts for the addresses of that network. An address that is
    learned leads frames to the port where it was learned, which a flood may not include, so in a VLAN of which some
    link's port floods nothing no link's port may learn. Nor may an entry for an address that no host of the VLAN's
    network has lead to a port that floods nothing.
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
    known = known_addresses(fabric, state, {})
    for switch, held, mine in zip(fabric.switches, states, links, strict=True):
        platform = platforms.of(switch)
        joined = (held.membership[np.isin(held.vlans, list(vlans))] != Membership.NONE).any(axis=0)
        for at in np.flatnonzero(mine & held.enabled & held.learning & joined)[:1].tolist():
            where = f"{switch.name}:{platform.port_name(at + 1)} learning"
            yield Finding(where, "off, where some ports of the VLAN flood nothing", "on")
        for row in np.flatnonzero(stray_entries(known, held))[:1].tolist():
            where = f"{switch.name} VLAN {held.entry_vlan[row]} {format_mac(int(held.entry_mac[row]))}"
            hosts = int(held.entry_mac[row]) in fabric.host_of_mac
            whose = "that of a host of another network" if hosts else "no host's"
            yield Finding(where, "the address of a host of the VLAN, as its port floods nothing", whose)


class KnownAddresses(NamedTuple):
    """The addresses to which frames are followed: those of all hosts, and the fewer ones in VLANs of some networks."""

    everywhere: NDArray[np.uint64]
    of_vlan: dict[int, NDArray[np.uint64]]

    def holds(self, vlan: NDArray[np.integer], mac: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which (VLAN, address) are followed, or are the broadcast address."""
        known: NDArray[np.bool_] = np.isin(mac, self.everywhere)
        for v, macs in self.of_vlan.items():
            here = vlan == v
            known[here] = np.isin(mac[here], macs)
        known |= mac == np.uint64(BROADCAST)
        return known


def known_addresses(fabric: Fabric, state: FabricState, lines: Mapping[str, Lines]) -> KnownAddresses:
    """Return the addresses to which frames are followed in each VLAN that hosts' frames may be in at some line.

    Frames of one network are followed to the hosts of that network alone. So in a VLAN of two networks only an address
    of both is known.
    """
    everywhere = np.array(list(fabric.host_of_mac), np.uint64)
    if len(fabric.networks) < 2:
        return KnownAddresses(everywhere, {})
    sent: dict[tuple[str, int], set[int]] = {}  # PVIDs that lines give a port
    for name, each in lines.items():
        rows = each.cell == PVID
        for port, vlan in zip(each.port[rows].tolist(), each.value[rows].tolist(), strict=True):
            sent.setdefault((name, port), set()).add(vlan)
    of_vlan: dict[int, NDArray[np.uint64]] = {}
    for hosts in fabric.networks.values():
        mine = [fabric.hosts[h] for h in hosts.tolist()]
        macs, vlans = np.array([mac for host in mine for mac in host.macs], np.uint64), set[int]()
        for host in mine:
            name = fabric.switches[host.switch].name
            plain = {int(state[name].pvid[host.port - 1])} | sent.get((name, host.port), set())
            vlans |= {host.tag} if host.tag else plain
        for vlan in vlans:
            of_vlan[vlan] = np.intersect1d(of_vlan.get(vlan, macs), macs)
    return KnownAddresses(everywhere, of_vlan)


def stray_entries(known: KnownAddresses, held: SwitchState) -> NDArray[np.bool_]:
    """Return which static entries lead frames that are not followed to a port that floods nothing, bool[E]."""
    stray: NDArray[np.bool_] = ~held.flooding[held.entry_port - 1] & ~known.holds(held.entry_vlan, held.entry_mac)
    return stray
