"""Write what a Comware switch answers to `display`, in forms that ntc-templates read, and lay its configuration out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.lab.shows import Page
from tagloom.platforms.grammar import Grammar
from tagloom.records.switch_state import Membership, PortMode
from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tagloom.lab.device import Device

RELEASE = "HPE Comware Software, Version 7.1.070, Release 3507P10"
_ACROSS = 2  # long names of ports in a line
_TYPE = {PortMode.ACCESS: "A", PortMode.TRUNK: "T", PortMode.GENERAL: "H"}


HEADER = ("#", " version 7.1.070, Release 3507P10", "#")
_OPENERS = ("interface ", "vlan ", "local-user ", "line ")


def as_displayed(
    text: str, header: tuple[str, ...] = HEADER, openers: tuple[str, ...] = _OPENERS, indent: str = " "
) -> str:
    """Return a configuration as the switch lays it out: # between blocks, their lines indented, return at the end.

    `openers` begin the lines that open blocks; `indent` stands before lines outside of any.
    """
    shown, inside = list(header), False
    for line in text.splitlines():
        if line in ("quit", "#", ""):
            inside = False
            if shown[-1] != "#":
                shown.append("#")
            continue
        opens = not inside and line.startswith(openers)
        if opens and shown[-1] != "#":
            shown.append("#")
        shown.append(line if opens else f"{' ' if inside else indent}{line}")
        inside = inside or opens
    return "\n".join([*shown, *([] if shown[-1] == "#" else ["#"]), "return"]) + "\n"


def version(device: Device) -> Page:
    """Answer `display version`; the time up is always the same, so that two answers can be compared."""
    return Page((RELEASE, f"{device.platform.title} Switch uptime is 0 weeks, 0 days, 0 hours, 0 minutes"))


def manufacture(device: Device) -> Page:
    """Answer `display device manuinfo`."""
    return Page(("Slot 1 CPU 0:", f"DEVICE_NAME          : {device.platform.title}", "VENDOR_NAME          : HPE"))


def vlans(device: Device) -> Page:
    """Answer `display vlan all`."""
    lines: list[str] = []
    for number, name in sorted(device.editor.vlans.items()):
        members = device.editor.members[number]
        lines += [
            f" VLAN ID: {number}",
            " VLAN type: Static",
            " Route interface: Not configured",
            f" Description: VLAN {number:04}",
            f" Name: {name or f'VLAN {number:04}'}",
        ]
        for title, how in (("Tagged", Membership.TAGGED), ("Untagged", Membership.UNTAGGED)):
            rows = _rows(device, (port for port, joined in sorted(members.items()) if joined is how))
            lines += [f" {title} ports:", *rows] if rows else [f" {title} ports:   None"]
        lines.append("")
    return Page(tuple(lines))


def _rows(device: Device, ports: Iterable[int]) -> list[str]:
    write = Grammar.of(device.platform).port_lists.write_long
    names = [write([port]) for port in ports]
    return [
        "    " + "".join(f"{name:<30}" for name in names[at : at + _ACROSS]).rstrip()
        for at in range(0, len(names), _ACROSS)
    ]


def interfaces(device: Device) -> Page:
    """Answer `display interface brief`."""
    editor = device.editor
    lines = [
        "Brief information on interfaces in bridge mode:",
        "Link: ADM - administratively down; Stby - standby",
        "Speed: (a) - auto",
        "Duplex: (a)/A - auto; H - half; F - full",
        "Type: A - access; T - trunk; H - hybrid",
        "Interface            Link Speed   Duplex Type PVID Description",
    ]
    for port, name in enumerate(device.platform.port_names, start=1):
        at = port - 1
        link = "ADM" if not editor.enabled[at] else "UP" if device.carrier(port) else "DOWN"
        speed, mbps = ("auto", "A") if editor.negotiation[at] else (f"{editor.speed_mbps[at] or 1000}M", "F")
        pvid = editor.pvid[at] or 4094
        lines.append(f"{name:<20} {link:<4} {speed:<7} {mbps:<6} {_TYPE[PortMode(editor.mode[at])]:<4} {pvid}")
    return Page(tuple(lines), 6)


def addresses(device: Device) -> Page:
    """Answer `display mac-address`: static entries and what the data plane last learned."""
    rows = [(v, mac, port, "Static", "N") for (v, mac), ports in device.editor.entries.items() for port in ports]
    rows += [(v, mac, port, "Learned", "Y") for (v, mac), port in device.learned.items()]
    name = device.platform.port_name
    lines = [
        f"{format_mac(mac, 'hyphens'):<16} {vlan:<10} {state:<16} {name(port):<24} {aging}"
        for vlan, mac, port, state, aging in sorted(rows)
    ]
    return Page(("MAC Address      VLAN ID    State            Port/Nickname            Aging", *lines), 1)
