"""Print what a virtual RouterOS machine says of itself, in the form of its own export and tables."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING, Protocol

from tagloom.lab.routeros_system import BRIDGE as FACTORY_BRIDGE
from tagloom.platforms.routeros import FLOODS, SPEEDS, frame_types, lines, write_time, yes
from tagloom.records.switch_state import DEFAULT_AGING_SECONDS, DISCARD_PVID, FlowControl, Membership, PortMode
from tagloom.units import format_mac

if TYPE_CHECKING:
    from tagloom.lab.routeros_system import System
    from tagloom.platforms import Platform
    from tagloom.platforms.iproute2 import Shell
    from tagloom.platforms.routeros import Menus
    from tagloom.records.switch_state import SwitchEditor

VERSION = "7.18"
_FLOW = {FlowControl.OFF: "off", FlowControl.ON: "on", FlowControl.AUTO: "auto"}


class Machine(Protocol):
    """What the pages tell of.

    `learned` are the dynamic entries (VLAN, MAC) -> port; `shell` is what has changed `editor`.
    """

    platform: Platform
    editor: SwitchEditor
    learned: dict[tuple[int, int], int]
    shell: Shell | Menus | None

    @property
    def system(self) -> System:
        """Return what it is beside its bridge."""
        ...

    @property
    def hostname(self) -> str:
        """Return the name it calls itself."""
        ...


def export(machine: Machine) -> str:
    """Return `/export terse` of a configuration: menu by menu, properties by name, and none that is as by default."""
    name, bridge, editor = machine.platform.port_name, lines().bridge, machine.editor
    bridged = [port for port, mode in enumerate(editor.mode, start=1) if mode is PortMode.GENERAL]
    rows = [f"# 2026-11-23 10:00:00 by RouterOS {VERSION}", "# software id = 0000-0000", "#"]
    own = machine.system.of("bridged")
    if own or machine.system.of("address"):
        rows.append(
            f"/interface bridge add admin-mac=02:00:00:00:00:01 auto-mac=no comment=defconf name={FACTORY_BRIDGE}"
        )
    if machine.shell is not None and machine.shell.has_bridge:
        aging = (
            "" if editor.aging_seconds == DEFAULT_AGING_SECONDS else f"ageing-time={write_time(editor.aging_seconds)} "
        )
        spanning = "" if editor.spanning_tree else "protocol-mode=none "
        said = f"{aging}frame-types=admit-only-vlan-tagged name={bridge} {spanning}vlan-filtering=yes"
        rows.append(f"/interface bridge add {said}")
    rows += [
        f"/interface ethernet set [ find default-name={name(port)} ] {said}"
        for port in bridged
        if (said := _cable(editor, port))
    ]
    rows += [f"/interface bridge port add bridge={FACTORY_BRIDGE} comment=defconf interface={each}" for each in own]
    rows += [f"/interface bridge port add {_port(editor, port, name(port), bridge)}" for port in bridged]
    for (vlan, mac), (port, *_) in sorted(editor.entries.items()):
        rows.append(
            f"/interface bridge host add bridge={bridge} interface={name(port)} "
            f"mac-address={format_mac(mac).upper()} vid={vlan}"
        )
    for vlan, members in sorted(editor.members.items()):
        held = {how: [name(p) for p in sorted(members) if members[p] is how and p in bridged] for how in Membership}
        lists = [f"{word}={','.join(held[how])}" for word, how in _HOWS if held[how]]
        if lists:
            rows.append(f"/interface bridge vlan add bridge={bridge} {' '.join(lists)} vlan-ids={vlan}")
    rows += _management(machine.system)
    rows += [f"/system identity set name={machine.hostname}"]
    return "\n".join(rows) + "\n"


def _management(system: System) -> list[str]:
    """Return the rows of addresses, neighbours and SNMP; users and passwords stand in no export."""
    rows = [
        f"/ip address add address={address} interface={interface} network={ip_network(address, strict=False)[0]}"
        for address, interface in (each.split(" ") for each in system.of("address"))
    ] or ["/ip address add address=192.0.2.1/24 interface=ether99 network=192.0.2.0"]
    if system.of("lldp") == ["on"]:
        rows.append("/ip neighbor discovery-settings set discover-interface-list=all protocol=cdp,lldp,mndp")
    rows += [f"/ip route add gateway={gateway}" for gateway in system.of("route")]
    for each in system.of("snmp"):
        rows.append(f"/snmp community set [ find default=yes ] name={each.removeprefix('community ')}")
    return [*rows, *(["/snmp set enabled=yes"] if system.of("snmp-server") else [])]


_HOWS = (("tagged", Membership.TAGGED), ("untagged", Membership.UNTAGGED))


def _cable(editor: SwitchEditor, port: int) -> str:
    at = port - 1
    said = {} if editor.negotiation[at] else {"auto-negotiation": "no"}
    if not editor.enabled[at]:
        said["disabled"] = "yes"
    flow = _FLOW[editor.flow_control[at]]
    if flow != "off":
        said |= {"rx-flow-control": flow, "tx-flow-control": flow}
    if not editor.negotiation[at]:
        said["speed"] = SPEEDS[editor.speed_mbps[at]]
    return " ".join(f"{key}={value}" for key, value in sorted(said.items()))


def _port(editor: SwitchEditor, port: int, name: str, bridge: str) -> str:
    at = port - 1
    said = {"bridge": bridge, "interface": name}
    types = frame_types(editor.pvid[at], editor.frames[at])
    said |= {} if types == "admit-all" else {"frame-types": types}
    said |= {} if editor.learning[at] else {"learn": "no"}
    said |= {} if editor.pvid[at] in (1, DISCARD_PVID) else {"pvid": str(editor.pvid[at])}
    said |= {} if editor.ingress_filter[at] else {"ingress-filtering": "no"}
    said |= {} if editor.flooding[at] else dict.fromkeys(FLOODS, yes(on=False))
    return " ".join(f"{key}={value}" for key, value in sorted(said.items()))


def hosts(machine: Machine) -> str:
    """Return `/interface bridge host print terse`: static hosts, then what the data plane last saw the bridge learn."""
    bridge, name = lines().bridge, machine.platform.port_name
    pinned = {key: ports[0] for key, ports in sorted(machine.editor.entries.items())}
    rows: list[str] = []
    for (vlan, mac), port in [*pinned.items(), *sorted(machine.learned.items() - pinned.items())]:
        flags = "   " if (vlan, mac) in pinned else "D  "
        rows.append(
            f"{len(rows):2} {flags} mac-address={format_mac(mac).upper()} vid={vlan} on-interface={name(port)} "
            f"bridge={bridge}"
        )
    return "\n".join(rows)


def resource(machine: Machine) -> str:
    """Return `/system resource print`."""
    board = machine.platform.title.removeprefix("RouterOS ")
    return "\n".join(
        (
            "                   uptime: 1d2h3m4s",
            f"                  version: {VERSION} (stable)",
            "        architecture-name: arm",
            f"               board-name: {board}",
            "                 platform: MikroTik",
        )
    )
