"""Print what a virtual Linux machine says of its bridge and ports, in the form of iproute2 and ethtool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from tagloom.platforms.iproute2 import ETHTOOL_PAGES, PAGES, commands, flow_words
from tagloom.records.switch_state import FlowControl, Membership, PortMode
from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tagloom.platforms import Platform
    from tagloom.platforms.iproute2 import Shell
    from tagloom.platforms.routeros import Menus
    from tagloom.records.switch_state import SwitchEditor

_MANAGED_BY = "eth0"
GIGABIT_MBPS = 1000  # what its ports run at where nobody says a speed


class Machine(Protocol):
    """What the pages tell of.

    `learned` are the dynamic entries (VLAN, MAC) -> port; `shell` is the one that has changed `editor`.
    """

    platform: Platform
    editor: SwitchEditor
    learned: dict[tuple[int, int], int]
    shell: Shell | Menus | None

    def carrier(self, port: int, /) -> bool:
        """Return whether a port has link."""
        ...


def page(machine: Machine, command: str) -> str | None:
    """Answer a command that changes nothing; None for one there is no page of."""
    if command in PAGES:
        return (_links, _vlans, _entries)[PAGES.index(command)](machine)
    for port in _ports(machine):
        name = machine.platform.port_name(port)
        if command in (requested := [page.format(port=name) for page in ETHTOOL_PAGES]):
            return (_settings, _pause, _eee)[requested.index(command)](machine, port, name)
    return None


def transcript(machine: Machine) -> str:
    """Return all pages of the machine, each behind its command, as a connection reads them."""
    names = [machine.platform.port_name(port) for port in _bridged(machine)]
    requested = [*PAGES, *(page.format(port=name) for name in names for page in ETHTOOL_PAGES)]
    return "".join(f"$ {command}\n{page(machine, command)}\n" for command in requested)


def _ports(machine: Machine) -> Iterable[int]:
    return range(1, machine.platform.ports + 1)


def _bridged(machine: Machine) -> list[int]:
    return [port for port in _ports(machine) if machine.editor.mode[port - 1] is PortMode.GENERAL]


def _rows(rows: Iterable[dict[str, Any]]) -> str:
    return "[" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "]"


def _links(machine: Machine) -> str:
    """Answer `ip -j -d link show`: loopback, the port it is managed by, its ports, and the bridge if there is one."""
    editor, bridge = machine.editor, commands().bridge
    rows = [
        _link(1, "lo", "loopback", ["LOOPBACK", "UP", "LOWER_UP"]),
        _link(
            2,
            _MANAGED_BY if _MANAGED_BY not in machine.platform.port_names else "mgmt0",
            "ether",
            ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"],
        ),
    ]
    for port in _ports(machine):
        flags = ["BROADCAST", "MULTICAST"]
        if editor.enabled[port - 1]:
            flags += ["UP", "LOWER_UP" if machine.carrier(port) else "NO-CARRIER"]
        row = _link(2 + port, machine.platform.port_name(port), "ether", flags)
        if editor.mode[port - 1] is PortMode.GENERAL:
            member = dict.fromkeys(("flood", "mcast_flood", "bcast_flood"), editor.flooding[port - 1])
            member["learning"] = editor.learning[port - 1]
            row |= {"master": bridge, "linkinfo": {"info_slave_kind": "bridge", "info_slave_data": member}}
        rows.append(row)
    if machine.shell is not None and machine.shell.has_bridge:
        about = {
            "ageing_time": 100 * editor.aging_seconds,
            "stp_state": int(editor.spanning_tree),
            "vlan_filtering": 1,
            "vlan_protocol": "802.1Q",
            "vlan_default_pvid": 0,
            "mcast_snooping": 0,
        }
        up = ["UP", "LOWER_UP"] if machine.shell.is_up else []
        itself = _link(3 + machine.platform.ports, bridge, "ether", ["BROADCAST", "MULTICAST", *up])
        rows.append(itself | {"linkinfo": {"info_kind": "bridge", "info_data": about}})
    return _rows(rows)


def _link(index: int, name: str, kind: str, flags: list[str]) -> dict[str, Any]:
    state = "UP" if "LOWER_UP" in flags else "DOWN"
    return {"ifindex": index, "ifname": name, "flags": flags, "mtu": 1500, "operstate": state, "link_type": kind}


def _vlans(machine: Machine) -> str:
    """Answer `bridge -j vlan show`: a row for every port that is in a VLAN."""
    editor, rows = machine.editor, []
    for port in _bridged(machine):
        held = []
        for vlan in sorted(editor.members):
            how = editor.members[vlan].get(port, Membership.NONE)
            flags = ["PVID"] if editor.pvid[port - 1] == vlan else []
            flags += ["Egress Untagged"] if how is Membership.UNTAGGED else []
            if how is not Membership.NONE:
                held.append({"vlan": vlan} | ({"flags": flags} if flags else {}))
        if held:
            rows.append({"ifname": machine.platform.port_name(port), "vlans": held})
    return _rows(rows)


def _entries(machine: Machine) -> str:
    """Answer `bridge -j fdb show`: what is pinned, then what the data plane last saw the bridge learn."""
    bridge, name = commands().bridge, machine.platform.port_name
    pinned = {key: ports[0] for key, ports in sorted(machine.editor.entries.items())}
    rows: list[dict[str, Any]] = []
    for (vlan, mac), port in [*pinned.items(), *sorted(machine.learned.items() - pinned.items())]:
        flags, state = (["sticky"], "static") if (vlan, mac) in pinned else ([], "")
        row = {"mac": format_mac(mac), "ifname": name(port), "vlan": vlan, "flags": flags}
        rows.append(row | {"master": bridge, "state": state})
    return _rows(rows)


def _settings(machine: Machine, port: int, name: str) -> str:
    editor, at = machine.editor, port - 1
    up = editor.enabled[at] and machine.carrier(port)
    speed = f"{editor.speed_mbps[at] or GIGABIT_MBPS}Mb/s" if up or not editor.negotiation[at] else "Unknown!"
    return "\n\t".join(
        (
            f"Settings for {name}:",
            "Supports auto-negotiation: Yes",
            f"Speed: {speed}",
            "Duplex: Full",
            f"Auto-negotiation: {'on' if editor.negotiation[at] else 'off'}",
            f"Link detected: {'yes' if up else 'no'}",
        )
    )


def _pause(machine: Machine, port: int, name: str) -> str:
    negotiated, both = flow_words(FlowControl(machine.editor.flow_control[port - 1]))
    return f"Pause parameters for {name}:\nAutonegotiate:\t{negotiated}\nRX:\t\t{both}\nTX:\t\t{both}\n"


def _eee(machine: Machine, port: int, name: str) -> str:
    status = "enabled - inactive" if machine.editor.eee[port - 1] else "disabled"
    return f"EEE settings for {name}:\n\tEEE status: {status}"
