"""Write what an Arista switch answers to `show`, column for column as public sessions have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.lab.shows import Page
from tagloom.records.switch_state import PortMode
from tagloom.units import format_mac, format_ranges

if TYPE_CHECKING:
    from tagloom.lab.device import Device


def version(device: Device) -> Page:
    """Answer `show version` (a DCS-7050TX-64's, public GitHub file 45298662666); the time up is always the same."""
    return Page(
        (
            f"Arista {device.platform.title}-F",
            "Hardware version:    11.00",
            "Serial number:       JPE00000000",
            "System MAC address:  001c.7300.0000",
            "",
            "Software image version: 4.26.14M",
            "Architecture:           i686",
            "",
            "Uptime:                 0 weeks, 0 days, 0 hours and 0 minutes",
        )
    )


def clock(_: Device) -> Page:
    """Answer `show clock`."""
    return Page(("Sat Jan  1 00:00:00 2000", "Timezone: UTC", "Clock source: local"))


def vlans(device: Device) -> Page:
    """Answer `show vlan`: of each VLAN its name and the ports in it, whether they are tagged or not."""
    lines = [
        "VLAN  Name                             Status    Ports",
        "----- -------------------------------- --------- -------------------------------",
    ]
    for vlan, name in sorted(device.editor.vlans.items()):
        ports = ", ".join(device.platform.port_name(port) for port in sorted(device.editor.members[vlan]))
        shown = name or ("default" if vlan == 1 else f"VLAN{vlan:04}")
        lines.append(f"{vlan:<5} {shown:<32} {'active':<9} {ports}".rstrip())
    return Page(tuple(lines))


def interfaces(device: Device) -> Page:
    """Answer `show interfaces status`."""
    editor = device.editor
    lines = ["Port       Name   Status       Vlan     Duplex Speed  Type         Flags Encapsulation"]
    for port, name in enumerate(device.platform.port_names[: device.platform.physical_ports], start=1):
        up, enabled = device.carrier(port), editor.enabled[port - 1]
        status = "disabled" if not enabled else "connected" if up else "notconnect"
        vlan = "trunk" if editor.mode[port - 1] is PortMode.GENERAL else str(editor.pvid[port - 1])
        duplex, speed = ("a-full", "a-1G") if up and enabled else ("auto", "auto")
        lines.append(f"{name:<10} {'':<6} {status:<12} {vlan:<8} {duplex:<6} {speed:<6} 1000BASE-T")
    return Page(tuple(lines))


def switchport(device: Device, port: int) -> Page:
    """Answer `show interfaces PORT switchport`."""
    editor = device.editor
    trunk = editor.mode[port - 1] is PortMode.GENERAL
    held = [vlan for vlan, members in sorted(editor.members.items()) if port in members]
    pvid = editor.pvid[port - 1]
    native = f"{pvid} ({editor.vlans[pvid] or 'default'})" if pvid else "None"
    return Page(
        (
            f"Name: {device.platform.port_name(port)}",
            "Switchport: Enabled",
            f"Administrative Mode: {'trunk' if trunk else 'static access'}",
            f"Operational Mode: {'trunk' if trunk else 'static access'}",
            f"Access Mode VLAN: {1 if trunk else native}",
            f"Trunking Native Mode VLAN: {native if trunk else '1 (default)'}",
            f"Trunking VLANs Enabled: {(format_ranges(held) or 'NONE') if trunk else 'ALL'}",
            "Static Trunk Groups:",
        )
    )


def addresses(device: Device) -> Page:
    """Answer `show mac address-table` (public GitHub file 32468619129): static entries and what was last learned."""
    rows = [(v, mac, port, True) for (v, mac), ports in device.editor.entries.items() for port in ports]
    rows += [(v, mac, port, False) for (v, mac), port in device.learned.items()]
    lines = [
        "          Mac Address Table",
        "------------------------------------------------------------------",
        "",
        "Vlan    Mac Address       Type        Ports      Moves   Last Move",
        "----    -----------       ----        -----      -----   ---------",
    ]
    for vlan, mac, port, static in sorted(rows):
        kind, moved = ("STATIC", "") if static else ("DYNAMIC", "1       0:00:10 ago")
        name = device.platform.port_name(port)
        lines.append(f"{vlan:4}    {format_mac(mac, 'dotted-lower')}    {kind:<11} {name:<10} {moved}".rstrip())
    return Page(
        (
            *lines,
            f"Total Mac Addresses for this criterion: {len(rows)}",
            "",
            "          Multicast Mac Address Table",
            "------------------------------------------------------------------",
            "",
            "Vlan    Mac Address       Type        Ports",
            "----    -----------       ----        -----",
            "Total Mac Addresses for this criterion: 0",
        )
    )
