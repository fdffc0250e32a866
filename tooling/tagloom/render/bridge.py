"""Read what a kernel's bridge holds, from iproute2's JSON, into a switch state."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError
from tagloom.platforms.iproute2 import GROUP_BIT, commands
from tagloom.records.switch_state import (
    DEFAULT_VLAN,
    DISCARD_PVID,
    OWNED_VLAN_NAME,
    Membership,
    PortMode,
    SwitchEditor,
)
from tagloom.units import parse_mac

if TYPE_CHECKING:
    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchState


def read_bridge(platform: Platform, links: str, vlans: str, entries: str) -> SwitchState:
    """Read the answers to `ip -j -d link show`, `bridge -j vlan show` and `bridge -j fdb show`.

    Ports outside the bridge named tagloom are as they were born, and so is what ethtool sets: nothing of it stands
    there. Learned entries, and static ones that would move (not `sticky`), are no entries. Raises InputError where an
    answer is not JSON of that shape, or the bridge forwards by other rules (no VLAN filtering, snooping).
    """
    name, editor = commands().bridge, SwitchEditor.blank(platform.ports)
    bridge, ports, findings = None, {}, []
    for link in _rows(links, "ip -j -d link show"):
        if link.get("ifname") == name:
            bridge = link.get("linkinfo", {}).get("info_data", {})
        elif link.get("master") == name and (port := platform.port_number(str(link.get("ifname")))):
            ports[str(link["ifname"])] = port
            _join(editor, port, up="UP" in link.get("flags", ()))
    if bridge is None:
        return editor.freeze()
    for key, wanted in {"vlan_filtering": 1, "vlan_default_pvid": 0, "mcast_snooping": 0}.items():
        if bridge.get(key) != wanted:
            findings.append(Finding(f"bridge {name} {key}", str(wanted), repr(bridge.get(key))))
    if findings:
        raise InputError(findings)
    editor.spanning_tree = bool(bridge.get("stp_state"))
    editor.aging_seconds = int(bridge.get("ageing_time", 0)) // 100
    for row in _rows(vlans, "bridge -j vlan show"):
        if (port := ports.get(str(row.get("ifname")))) is not None:
            for vlan in row.get("vlans", ()):
                _member(editor, port, vlan)
    for row in _rows(entries, "bridge -j fdb show"):
        pinned = row.get("state") == "static" and "sticky" in row.get("flags", ())
        if (port := ports.get(str(row.get("ifname")))) is None or not pinned or "vlan" not in row:
            continue
        if not (mac := parse_mac(str(row["mac"]))) & GROUP_BIT:
            _make(editor, int(row["vlan"]))
            editor.set_entry(int(row["vlan"]), mac, (port,))
    return editor.freeze()


def _rows(text: str, what: str) -> list[dict[str, Any]]:
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise InputError([Finding(what, "JSON", f"{text[:60]!r} ({error})")]) from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError([Finding(what, "a list of objects", repr(text[:60]))])
    return rows


def _join(editor: SwitchEditor, port: int, *, up: bool) -> None:
    editor.mode[port - 1], editor.pvid[port - 1], editor.enabled[port - 1] = PortMode.GENERAL, DISCARD_PVID, up
    editor.set_member(DEFAULT_VLAN, port, Membership.NONE)


def _member(editor: SwitchEditor, port: int, row: dict[str, Any]) -> None:
    flags = row.get("flags", ())
    how = Membership.UNTAGGED if "Egress Untagged" in flags else Membership.TAGGED
    for vlan in range(
        int(row["vlan"]), int(row.get("vlanEnd", row["vlan"])) + 1
    ):  # one row for a range: -compressvlans
        _make(editor, vlan)
        editor.set_member(vlan, port, how)
        if "PVID" in flags:
            editor.pvid[port - 1] = vlan


def _make(editor: SwitchEditor, vlan: int) -> None:
    if vlan not in editor.vlans:
        editor.create_vlan(vlan)
        editor.name_vlan(vlan, OWNED_VLAN_NAME)
