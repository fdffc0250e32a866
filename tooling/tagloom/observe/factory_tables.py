"""Use the command line for a switch whose agent shows factory values in Q-BRIDGE-MIB."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom.records.observation import Vlans
from tagloom.records.switch_state import DEFAULT_VLAN, Membership

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.records.observation import Observation
    from tagloom.records.switch_state import FabricState, SwitchState

SEEN_ON = "on the command line"
_WHY = (
    "Q-BRIDGE-MIB: factory values, which the command line contradicts; the VLANs are judged by the command line "
    "(some agents keep them in a table of their own)"
)


def shows_factory_values(vlans: Vlans) -> bool:
    """Return whether VLAN 1 is the only VLAN, every port's PVID is 1 and there is no static entry.

    Some relatives of ROS always answer so, and keep the truth in a private table. A switch that was reset also answers
    so; its command line then agrees.
    """
    members = vlans.members or {}
    untagged = all(how is Membership.UNTAGGED for how in members.get(DEFAULT_VLAN, {}).values())
    only_default = bool(vlans.pvid) and set((vlans.pvid or {}).values()) == {DEFAULT_VLAN} and not vlans.entries
    return members.keys() <= {DEFAULT_VLAN} and untagged and only_default


def doubtful(states: FabricState, seen: Mapping[str, Observation]) -> tuple[str, ...]:
    """Return the switches that show factory values although `states` has tagloom's VLANs on them."""
    return tuple(
        name
        for name, state in states.items()
        if name in seen
        and not seen[name].error
        and any(vlan != DEFAULT_VLAN for vlan in state.owned_vlans)
        and shows_factory_values(seen[name].vlans)
    )


def judged_by_command_line(seen: Mapping[str, Observation], running: FabricState) -> dict[str, Observation]:
    """Return the readings, with the VLANs of `running` unless these are factory values; a complaint says so."""
    found = dict(seen)
    for name, state in running.items():
        vlans = _vlans(state)
        if not shows_factory_values(vlans):
            reading = seen[name]
            vlans = replace(vlans, learned=reading.vlans.learned)
            found[name] = replace(reading, vlans=vlans, complaints=(*reading.complaints, _WHY))
    return found


def _vlans(state: SwitchState) -> Vlans:
    """Return a state as Q-BRIDGE-MIB would show it."""
    ports = range(1, len(state.pvid) + 1)
    members = {
        int(vlan): {p: how for p in ports if (how := state.member(int(vlan), p)) is not Membership.NONE}
        for vlan in state.vlans
    }
    entries: dict[tuple[int, int], tuple[int, ...]] = {}
    rows = zip(state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist(), strict=True)
    for vlan, mac, port in rows:
        entries[vlan, mac] = (*entries.get((vlan, mac), ()), port)
    return Vlans(members, {p: int(state.pvid[p - 1]) for p in ports}, entries, seen_on=SEEN_ON)
