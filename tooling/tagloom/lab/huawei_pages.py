"""Write what a Huawei switch answers to `display`, in forms that ntc-templates read, and lay its configuration out."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from tagloom.lab import comware_pages
from tagloom.lab.shows import Page
from tagloom.records.switch_state import Membership
from tagloom.units import format_mac

if TYPE_CHECKING:
    from tagloom.lab.device import Device

RELEASE = "V200R019C10SPC500"
_ACROSS = 4  # ports in a line
as_displayed = partial(
    comware_pages.as_displayed,
    header=(f"!Software Version {RELEASE}", "#"),
    openers=("interface ", *(f"vlan {digit}" for digit in range(1, 10)), "aaa", "user-interface "),
    indent="",
)


def version(device: Device) -> Page:
    """Answer `display version`; the time up is always the same, so that two answers can be compared."""
    model = device.platform.title.removeprefix("Huawei ")
    return Page(
        (
            "Huawei Versatile Routing Platform Software",
            f"VRP (R) software, Version 5.170 ({model.partition('-')[0]} {RELEASE})",
            "Copyright (C) 2000-2020 HUAWEI TECH Co., Ltd.",
            f"HUAWEI {model} Routing Switch uptime is 0 week, 0 day, 0 hour, 0 minute",
        )
    )


def parts(device: Device) -> Page:
    """Answer `display device`."""
    model = device.platform.title.removeprefix("Huawei ")
    rule = "-" * 95
    return Page(
        (
            f"{model}'s Device status:",
            rule,
            "Slot  Card   Type                     Online   Power Register     Alarm     Primary",
            rule,
            f"0     -      {model:<24} Present  PowerOn Registered  Normal    Master",
        )
    )


def vlans(device: Device) -> Page:
    """Answer `display vlan`."""
    editor, rule = device.editor, "-" * 80
    lines = [f"The total number of VLANs is: {len(editor.vlans)}", rule, "VID  Type    Ports", rule]
    for number in sorted(editor.vlans):
        members, begun = sorted(editor.members[number].items()), f"{number:<5}common  "
        for sign, how in (("UT", Membership.UNTAGGED), ("TG", Membership.TAGGED)):
            names = [
                f"{device.platform.port_name(p)}({_link(device, p)[0].upper()})"
                for p, joined in members
                if joined is how
            ]
            for at in range(0, len(names), _ACROSS):
                row = "".join(f"{name:<16}" for name in names[at : at + _ACROSS]).rstrip()
                lines.append(f"{begun}{f'{sign}:' if at == 0 else '   '}{row}")
                begun = " " * 13
        if begun.strip():
            lines.append(begun.rstrip())
    lines += ["", "VID  Status  Property      MAC-LRN Statistics Description", rule]
    lines += [
        f"{number:<5}enable  default       enable  disable    {name or f'VLAN {number:04}'}"
        for number, name in sorted(editor.vlans.items())
    ]
    return Page(tuple(lines))


def _link(device: Device, port: int) -> str:
    return "up" if device.carrier(port) else "down"


def interfaces(device: Device) -> Page:
    """Answer `display interface brief`."""
    lines = [
        "PHY: Physical",
        "*down: administratively down",
        "Interface                   PHY   Protocol  InUti OutUti   inErrors  outErrors",
    ]
    for port, on in enumerate(device.editor.enabled, start=1):
        state = _link(device, port) if on else "*down"
        name = re.sub("^GE", "GigabitEthernet", re.sub("^XGE", "XGigabitEthernet", device.platform.port_name(port)))
        lines.append(f"{name:<27} {state:<5} {state.removeprefix('*'):<8}     0%     0%          0          0")
    return Page(tuple(lines), 3)


def addresses(device: Device) -> Page:
    """Answer `display mac-address`: static entries and what the data plane last learned."""
    rows = [(v, mac, port, "static") for (v, mac), ports in device.editor.entries.items() for port in ports]
    rows += [(v, mac, port, "dynamic") for (v, mac), port in device.learned.items()]
    rule = "-" * 79
    lines = [
        f"{format_mac(mac, 'hyphens')} {f'{vlan}/-/-':<33} {device.platform.port_name(port):<19} {kind}"
        for vlan, mac, port, kind in sorted(rows)
    ]
    header = "MAC Address    VLAN/VSI/BD                       Learned-From        Type"
    return Page((rule, header, rule, *lines, rule, f"Total items displayed = {len(lines)}"), 3)
