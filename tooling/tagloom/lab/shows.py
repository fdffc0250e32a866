"""Write what a switch answers to `show`, column for column as the families' transcripts have it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom.platforms.grammar import Grammar
from tagloom.records.switch_state import Frames, Membership, PortMode
from tagloom.units import format_mac, format_ranges

if TYPE_CHECKING:
    from tagloom.lab.device import Device

_FRAMES = {Frames.ALL: "admitAll", Frames.TAGGED_ONLY: "admitTaggedOnly", Frames.UNTAGGED_ONLY: "admitUntaggedOnly"}


@dataclass(frozen=True, slots=True)
class Page:
    """An answer's lines; the first `header` of them are repeated by a pager that repeats table headers."""

    lines: tuple[str, ...]
    header: int = 0


def _wrap(text: str, width: int) -> list[str]:
    lines = [""]
    for part in re.findall(r"[^,]+,?", text):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return lines


def vlan(device: Device) -> Page:
    """Answer `show vlan`; neither family tells tagged from untagged there."""
    editor, ros = device.editor, Grammar.of(device.platform).code == "ros"
    if ros:
        lines = [
            "Vlan       Name                   Ports                Type     Authorization ",
            "---- ----------------- --------------------------- ------------ ------------- ",
        ]
    else:
        lines = [
            "",
            "VLAN       Name                         Ports          Type      Authorization",
            "-----  ---------------                  -------------  -----     -------------",
        ]
    header = len(lines)
    for number, name in sorted(editor.vlans.items()):
        first, *rest = _wrap(Grammar.of(device.platform).write_ports(editor.members[number]), 27 if ros else 13)
        if ros:
            kind = "other" if number == 1 else "permanent"
            shown = (name or str(number))[:17]
            lines.append(f"{number:^4} {shown:^17} {first:^27} {kind:^12} {'Required':^13} ")
            lines.extend(f"{'':23}{more:^27}" for more in rest)
        else:
            shown, kind = (name or "Default", "Default") if number == 1 else (name, "Static")
            lines.append(f"{number:<7}{shown:<33}{first:<15}{kind:<10}{'Required':<13}")
            lines.extend(f"{'':40}{more:<15}{'':23}" for more in rest)
    return Page(tuple(lines), header)


def interfaces_status(device: Device) -> Page:
    """Answer `show interfaces status`."""
    editor, ros = device.editor, Grammar.of(device.platform).code == "ros"
    if ros:
        lines = [
            "                                             Flow Link          Back   Mdix",
            "Port     Type         Duplex  Speed Neg      ctrl State       Pressure Mode",
            "-------- ------------ ------  ----- -------- ---- ----------- -------- -------",
        ]
    else:
        lines = [
            "Port   Type                            Duplex  Speed    Neg  Link  Flow Control",
            "                                                             State Status",
            "-----  ------------------------------  ------  -------  ---- --------- ------------",
        ]
    header = len(lines)
    for port, name in enumerate(device.platform.port_names[: device.platform.physical_ports], start=1):
        up, negotiates = device.carrier(port) and editor.enabled[port - 1], editor.negotiation[port - 1]
        speed, flow = str(editor.speed_mbps[port - 1] or 1000), editor.flow_control[port - 1]
        if not ros:
            cells = ("Full", speed, "Auto" if negotiates else "Off", "Up") if up else ("N/A", "Unknown", "Auto", "Down")
            kind = "Gigabit - Level"
            state = "Active" if up else "Inactive"
            wide = max(7, len(name) + 1)  # names of firmware 5 push the next column aside
            lines.append(
                f"{name:<{wide}}{kind:<{39 - wide}}{cells[0]:<8}{cells[1]:<9}{cells[2]:<5}{cells[3]:<7}{state}"
            )
        elif up:
            neg = "Enabled" if negotiates else "Disabled"
            lines.append(
                f"{name:<8} {'1G-Copper':<12} {'Full':<6}  {speed:<5} {neg:<8} {('Off', 'On', 'Auto')[flow]:<4} "
                f"{'Up':<11} {'Disabled':<8} {'Off':<7}"
            )
        else:
            no = "--"
            lines.append(f"{name:<8} {'1G-Copper':<12} {no:^6}  {'  -- '} {no:^8} {no:^4} {'Down':<11} {no:^8} {no:^7}")
    if not ros:
        lines += ["", f"Flow Control:{'Enabled' if any(editor.flow_control) else 'Disabled'}"]
    return Page(tuple(lines), header)


def switchport(device: Device, port: int) -> Page:
    """Answer `show interfaces switchport <port>`, the one page that tells tagged from untagged."""
    editor = device.editor
    members = {v: ports[port] for v, ports in sorted(editor.members.items()) if port in ports}
    mode, pvid = PortMode(editor.mode[port - 1]).name.capitalize(), editor.pvid[port - 1]
    filters, frames = editor.ingress_filter[port - 1], editor.frames[port - 1]
    if Grammar.of(device.platform).code == "ros":
        rows = [
            f"{v:<4} {(editor.vlans[v] or str(v))[:32]:<32} {how.name.capitalize():^11} {'Static':^20}"
            for v, how in members.items()
        ]
        lines = [
            f"Port : {device.platform.port_name(port)}",
            f"Port Mode: {mode}",
            "Gvrp Status: disabled",
            f"Ingress Filtering: {str(filters).lower()}",
            f"Acceptable Frame Type: {_FRAMES[frames]}",
            f"Ingress UnTagged VLAN ( NATIVE ): {pvid or 4095}",
            "",
            "Port is member in:",
            "",
            "Vlan               Name               Egress rule Port Membership Type",
            "---- -------------------------------- ----------- --------------------",
            *rows,
            "",
            "",
            "Forbidden VLANS:",
        ]
        return Page(tuple(lines))
    untagged = [v for v, how in members.items() if how is Membership.UNTAGGED]
    tagged = [v for v, how in members.items() if how is Membership.TAGGED]
    words = {Frames.ALL: "Admit All", Frames.TAGGED_ONLY: "VLAN Only", Frames.UNTAGGED_ONLY: "Untagged Only"}
    return Page(
        (
            f"VLAN Membership Mode: {mode} Mode",
            f"Access Mode VLAN: {pvid}",
            f"General Mode PVID: {pvid}",
            f"General Mode Ingress Filtering: {'Enabled' if filters else 'Disabled'}",
            f"General Mode Acceptable Frame Type: {words[frames]}",
            "General Mode Dynamically Added VLANs:",
            f"General Mode Untagged VLANs: {format_ranges(untagged)}",
            f"General Mode Tagged VLANs: {format_ranges(tagged)}",
            "General Mode Forbidden VLANs:",
        )
    )


def address_table(device: Device) -> Page:
    """Answer `show bridge address-table`: static entries and what the data plane last learned."""
    ros = Grammar.of(device.platform).code == "ros"
    rows = [(v, mac, port, "static") for (v, mac), ports in device.editor.entries.items() for port in ports]
    rows += [(v, mac, port, "dynamic") for (v, mac), port in device.learned.items()]
    rows.sort()
    name = device.platform.port_name
    if ros:
        lines = [
            f"Aging time is {device.editor.aging_seconds} sec",
            "",
            "  Vlan        Mac Address       Port     Type",
            "-------- --------------------- ------ ----------",
        ]
        lines += [f"{v:^8} {format_mac(mac):^21} {name(port):^6} {kind:^10}" for v, mac, port, kind in rows]
        return Page(tuple(lines), 4)
    lines = [
        f"Aging time is {device.editor.aging_seconds} Sec",
        "  Vlan        Mac Address       Port          Type",
        "-------- --------------------- ---------- --------------------",
    ]
    lines += [f"{v:<8} {format_mac(m, 'dotted'):<22} {name(p):<10} {kind.capitalize()}" for v, m, p, kind in rows]
    return Page((*lines, "", f"Total MAC Addresses in use:{len(rows)}"), 3)


def version(device: Device) -> Page:
    """Answer `show version`."""
    if Grammar.of(device.platform).code == "ros":
        return Page(
            (
                "SW version    2.0.1.4 ( date  01-Aug-2010 time  17:00:12 )",
                "Boot version    1.0.2.02 ( date  23-Jul-2006 time  16:45:47 )",
                "HW version    00.00.02",
            )
        )
    return Page(
        (
            "Image Descriptions",
            "",
            " image1 : default image",
            " image2 :",
            "",
            " Images currently available on Flash",
            "",
            " unit      image1      image2     current-active        next-active",
            "-----  ----------  ----------  -----------------  -----------------",
            "    1    3.3.7.3      <none>             image1             image1",
        )
    )


def system(device: Device) -> Page:
    """Answer `show system`; the time up is always the same, so that two answers can be compared."""
    title, ros = device.platform.title, Grammar.of(device.platform).code == "ros"
    object_id = next(iter(device.platform.sys_object_id), "0.0")
    description = "Neyland 24T" if device.platform.model == "powerconnect-5324" else f"{title}, 3.3.7.3, VxWorks 6.5"
    rows = {
        "System Description": description,
        "System Up Time (days,hour:min:sec)" if ros else "System Up Time": "00,00:00:00"
        if ros
        else "0 days, 00h:00m:00s",
        "System Name": device.hostname,
        "System Object ID": object_id,
    }
    if ros:
        rows["Type"] = title
    width = 42 if ros else 24
    return Page(tuple(f"{key + ':':<{width}}{value}" for key, value in rows.items()))
