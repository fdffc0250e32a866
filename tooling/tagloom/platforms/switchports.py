"""Keep the settings of ports for both modes, access and trunk, and derive the VLANs that they are in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tagloom.records.switch_state import DEFAULT_VLAN, DISCARD_PVID, Membership, PortMode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tagloom.records.switch_state import SwitchEditor


@dataclass(slots=True)
class Switchport:
    """A port's settings: whether it is a trunk, its VLAN while it is none, its native VLAN and list as a trunk.

    `native` is DISCARD_PVID where untagged frames are dropped; `allowed` is None where the trunk carries every VLAN.
    A port that `routes` is in no VLAN, whatever its other settings are.
    """

    trunk: bool = False
    access: int = DEFAULT_VLAN
    native: int = DEFAULT_VLAN
    allowed: set[int] | None = None
    routes: bool = False


@dataclass(slots=True)
class Switchports:
    """The ports of a switch that were set, by number; the others are as their editor has them.

    A trunk is in general mode in the editor: a member of the VLANs of its list that are there, tagged, but for its
    native VLAN, untagged. A port whose own VLAN is not there is in none.
    """

    editor: SwitchEditor
    settings: dict[int, Switchport] = field(default_factory=dict)

    def of(self, port: int) -> Switchport:
        """Return the settings of a port, taken from the editor where nobody set it yet."""
        if port not in self.settings:
            self.settings[port] = self._seen(port)
        return self.settings[port]

    def _seen(self, port: int) -> Switchport:
        editor, pvid = self.editor, self.editor.pvid[port - 1]
        if editor.mode[port - 1] is PortMode.ACCESS:
            return Switchport(access=pvid or DEFAULT_VLAN)
        allowed = {vlan for vlan, members in editor.members.items() if port in members}
        return Switchport(trunk=True, native=pvid, allowed=allowed)

    def named(self, vlan: int) -> list[int]:
        """List the ports whose settings name a VLAN, or that are in it."""
        inside = {port for port, pvid in enumerate(self.editor.pvid, 1) if pvid == vlan}
        inside.update(self.editor.members.get(vlan, ()))
        for port, each in self.settings.items():
            if vlan in (each.access, each.native) or each.allowed is None or vlan in each.allowed:
                inside.add(port)
        return sorted(inside)

    def settle(self, ports: Iterable[int]) -> None:
        """Put ports into the VLANs of their settings."""
        editor = self.editor
        for port in ports:
            switchport = self.of(port)
            if switchport.routes:
                self._take_out(port)
                continue
            editor.mode[port - 1] = PortMode.GENERAL if switchport.trunk else PortMode.ACCESS
            own = switchport.native if switchport.trunk else switchport.access
            for vlan in editor.vlans:
                inside = (switchport.allowed is None or vlan in switchport.allowed) if switchport.trunk else vlan == own
                how = Membership.UNTAGGED if vlan == own else Membership.TAGGED
                editor.set_member(vlan, port, how if inside else Membership.NONE)
            untagged = own in editor.vlans and editor.members[own].get(port) is Membership.UNTAGGED
            editor.pvid[port - 1] = own if untagged else DISCARD_PVID

    def _take_out(self, port: int) -> None:
        """Take a port out of every VLAN: in the editor it is a trunk that carries none."""
        self.editor.mode[port - 1] = PortMode.GENERAL
        for vlan in self.editor.vlans:
            self.editor.set_member(vlan, port, Membership.NONE)
        self.editor.pvid[port - 1] = DISCARD_PVID

    def missing(self, port: int) -> set[int]:
        """Return the VLANs of a trunk's list that are not there."""
        switchport = self.of(port)
        if not switchport.trunk or switchport.routes:
            return set()
        return {vlan for vlan in switchport.allowed or () if vlan not in self.editor.vlans}

    def is_open(self, port: int) -> bool:
        """Return whether a port is a trunk that carries every VLAN there is or will be."""
        switchport = self.of(port)
        return switchport.trunk and switchport.allowed is None and not switchport.routes
