"""Compare what switches show over SNMP with their expected state: a second witness beside the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.records.switch_state import DEFAULT_VLAN, Membership
from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation, Vlans
    from tagloom.records.switch_state import FabricState, SwitchState

_HOW = {Membership.NONE: "none", Membership.UNTAGGED: "untagged", Membership.TAGGED: "tagged"}


def disagreements(fabric: Fabric, states: FabricState, seen: Mapping[str, Observation]) -> tuple[Finding, ...]:
    """Return the differences between Q-BRIDGE-MIB and switch states: VLANs, members and PVIDs of fabric ports, entries.

    `states` is the running state from the command line, or the planned one. Only what tagloom owns is compared. A part
    that a switch does not show over SNMP is a finding of its own, since silence must not look like agreement.
    """
    found: list[Finding] = []
    for number, switch in enumerate(fabric.switches):
        if not switch.up or switch.name not in states:
            continue
        shown = seen.get(switch.name)
        if shown is None or shown.error:
            found.append(Finding(switch.name, "a reading over SNMP", shown.error if shown else "none"))
            continue
        names = platforms.load(switch.model).port_names
        found.extend(_switch(switch.name, states[switch.name], shown, fabric.used_ports[number], names))
    return tuple(found)


def _switch(
    switch: str, state: SwitchState, shown: Observation, ports: Sequence[int], names: Sequence[str]
) -> Iterator[Finding]:
    vlans = shown.vlans
    owned = [vlan for vlan in state.owned_vlans if vlan != DEFAULT_VLAN]
    parts = (
        ("dot1qVlanStaticTable", vlans.members),
        ("dot1qPvid", vlans.pvid),
        ("dot1qStaticUnicastTable", vlans.entries if len(state.entry_vlan) else {}),
    )
    for table, part in parts:
        if part is None:
            yield Finding(f"{switch}: {table}", "a second witness", "the switch does not show it over SNMP")
    if vlans.members is not None:
        for vlan in owned:
            if vlan not in vlans.members:
                yield Finding(f"{switch}: VLAN {vlan}", "there", f"no such VLAN {vlans.seen_on}")
                continue
            for port in ports:
                wanted, actual = state.member(vlan, port), vlans.members[vlan].get(port, Membership.NONE)
                if wanted is not actual:
                    where = f"{switch}: {names[port - 1]} in VLAN {vlan}"
                    yield Finding(where, _HOW[wanted], f"{_HOW[actual]} {vlans.seen_on}")
    if vlans.pvid is not None:
        for port in ports:
            pvid = vlans.pvid.get(port)
            if pvid != int(state.pvid[port - 1]):
                where = f"{switch}: {names[port - 1]} PVID"
                yield Finding(where, str(state.pvid[port - 1]), f"{'none' if pvid is None else pvid} {vlans.seen_on}")
    if vlans.entries is not None:
        yield from _entries(switch, state, vlans, set(owned), names)


def _entries(switch: str, state: SwitchState, vlans: Vlans, owned: set[int], names: Sequence[str]) -> Iterator[Finding]:
    shown = vlans.entries or {}
    wanted: dict[tuple[int, int], tuple[int, ...]] = {}
    rows = zip(state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist(), strict=True)
    for vlan, mac, port in rows:
        if vlan in owned:
            wanted[vlan, mac] = (*wanted.get((vlan, mac), ()), port)
    for key in sorted(wanted.keys() | {key for key in shown if key[0] in owned}):
        if wanted.get(key) != shown.get(key):
            where = f"{switch}: {format_mac(key[1])} in VLAN {key[0]}"
            there, here = (_ports(ports.get(key), names) for ports in (wanted, shown))
            yield Finding(where, there, f"{here} {vlans.seen_on}")


def _ports(ports: tuple[int, ...] | None, names: Sequence[str]) -> str:
    """Name ports as the switch spells them, runs of them by their ends."""
    runs: list[list[int]] = []
    for port in sorted(ports or ()):
        if runs and runs[-1][-1] == port - 1:
            runs[-1].append(port)
        else:
            runs.append([port])
    ends = (names[run[0] - 1] + (f" to {names[run[-1] - 1]}" if len(run) > 1 else "") for run in runs)
    return ", ".join(ends) or "no static entry"
