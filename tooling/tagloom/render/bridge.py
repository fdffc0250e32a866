"""Read what a Linux machine says of its bridge and ports into a switch state."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError
from tagloom.platforms.iproute2 import ETHTOOL_PAGES, GROUP_BIT, PAGES, commands, flow_of
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
    from collections.abc import Mapping

    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchState


_FLOODS = ("flood", "mcast_flood", "bcast_flood")  # flags of a port, as `ip -d link show` calls them
# More flags of a port by which frames go otherwise; no state holds one.
_REROUTES = (
    *("isolated", "locked", "hairpin", "vlan_tunnel", "proxy_arp", "proxy_arp_wifi", "neigh_suppress"),
    *("neigh_vlan_suppress", "backup_port", "backup_nhid"),
)
_FIREWALLS = ("nf_call_iptables", "nf_call_ip6tables", "nf_call_arptables")  # of a bridge
_LOSSY_QUEUES = frozenset(("netem", "tbf", "plug", "blackhole"))
_FRAME_OCTETS = 1500  # that hosts send
_PROMPT = "$ "
_FIELD = re.compile(r"^\s*([\w -]+?):[ \t]*(\S.*)$", re.MULTILINE)


def is_transcript(text: str) -> bool:
    """Return whether a text is what a machine said, page by page, and not a script of commands."""
    return text.startswith(_PROMPT)


def read_transcript(platform: Platform, text: str) -> SwitchState:
    """Read the pages of `PAGES` and `ETHTOOL_PAGES`, each behind a line of ``$`` and its command.

    What ethtool does not know of a port, as of virtual ones, is as it was born. Raises InputError as `read_bridge`.
    """
    pages = _pages(text)
    if missing := [command for command in PAGES if command not in pages]:
        raise InputError(Finding(command, "its answer", "none") for command in missing)
    editor = SwitchEditor.of(read_bridge(platform, *(pages[command] for command in PAGES)))
    for at, mode in enumerate(editor.mode):
        if mode is PortMode.GENERAL:
            name = platform.port_name(at + 1)
            speed, pause, eee = (dict(_FIELD.findall(pages.get(p.format(port=name), ""))) for p in ETHTOOL_PAGES)
            editor.negotiation[at], editor.speed_mbps[at] = _speed(speed)
            editor.flow_control[at] = flow_of(pause.get("Autonegotiate"), pause.get("RX"), pause.get("TX"))
            editor.eee[at] = eee.get("EEE status", "").startswith("enabled")
    return editor.freeze()


def read_duplex(platform: Platform, text: str) -> dict[int, str]:
    """Read what ethtool says of the ports' duplex, by port number: "full" or "half"."""
    pages = _pages(text)
    said = {}
    for port, name in enumerate(platform.port_names, start=1):
        page = dict(_FIELD.findall(pages.get(ETHTOOL_PAGES[0].format(port=name), "")))
        if (duplex := page.get("Duplex", "").lower()) in ("full", "half"):
            said[port] = duplex
    return said


def _pages(text: str) -> dict[str, str]:
    parts = (part.partition("\n") for part in f"\n{text}".split(f"\n{_PROMPT}")[1:])
    return {command: answer for command, _, answer in parts}


def _speed(page: dict[str, str]) -> tuple[bool, int]:
    """Read whether a port negotiates, and the speed it was told if not; one that never could is as it was born."""
    if page.get("Auto-negotiation") != "off" or page.get("Supports auto-negotiation") != "Yes":
        return True, 0
    speed = re.match(r"(\d+)Mb/s", page.get("Speed", ""))
    return False, int(speed[1]) if speed else 0


def read_bridge(platform: Platform, links: str, vlans: str, entries: str) -> SwitchState:
    """Read the answers to `ip -j -d link show`, `bridge -j vlan show` and `bridge -j fdb show`.

    Ports outside the bridge named tagloom are as they were born, and so is what ethtool sets: nothing of it stands
    there. Learned entries, and static ones that would move (not `sticky`), are no entries. While the bridge is down
    its ports are not enabled. Raises InputError where an answer is not JSON of that shape, or the bridge forwards by
    other rules (no VLAN filtering, snooping), has ports of others, or none (a push that was cut short).
    """
    name, editor = commands().bridge, SwitchEditor.blank(platform.ports)
    rows = _rows(links, PAGES[0])
    itself = next((link for link in rows if link.get("ifname") == name), None)
    if itself is None:
        return editor.freeze()
    bridge, ports, findings = itself.get("linkinfo", {}).get("info_data", {}), {}, []
    for link in (link for link in rows if link.get("master") == name):
        word = str(link.get("ifname"))
        if (port := platform.port_number(word)) is None:
            findings.append(Finding(f"bridge {name} {word}", f"a port of a {platform.title}", "none of that name"))
            continue
        ports[word] = port
        about = link.get("linkinfo", {}).get("info_slave_data", {})
        flags = [bool(about.get(flag, True)) for flag in _FLOODS]
        if len(set(flags)) > 1:
            findings.append(Finding(f"bridge {name} {word}", f"{', '.join(_FLOODS)} alike", repr(flags)))
        findings += [Finding(f"bridge {name} {word} {flag}", "off", "on") for flag in _REROUTES if about.get(flag)]
        findings += _of_card(f"bridge {name} {word}", link)
        editor.flooding[port - 1], editor.learning[port - 1] = any(flags), bool(about.get("learning", True))
        held = bool(link.get("protodown"))  # down, whatever its flags say
        _join(editor, port, up="UP" in link.get("flags", ()) and "UP" in itself.get("flags", ()) and not held)
    if not ports:
        next_step = commands().write("delete")
        findings.append(
            Finding(f"bridge {name}", "ports", f"none, as a push leaves it that was cut short: {next_step}")
        )
    # Older programs do not show the second; the others hand frames to a firewall, as Docker's hosts do.
    bridge = {"vlan_protocol": "802.1Q", "mst_enabled": 0, **dict.fromkeys(_FIREWALLS, 0)} | bridge
    rules = {"vlan_filtering": 1, "vlan_default_pvid": 0, "mcast_snooping": 0, "vlan_protocol": "802.1Q"}
    for key, wanted in {**rules, "mst_enabled": 0, **dict.fromkeys(_FIREWALLS, 0)}.items():  # no tree for each VLAN
        if bridge.get(key) != wanted:
            findings.append(Finding(f"bridge {name} {key}", str(wanted), repr(bridge.get(key))))
    if findings:
        raise InputError(findings)
    editor.spanning_tree = bool(bridge.get("stp_state"))
    editor.aging_seconds = int(bridge.get("ageing_time", 0)) // 100
    for row in _rows(vlans, PAGES[1]):
        if (port := ports.get(str(row.get("ifname")))) is not None:
            for vlan in row.get("vlans", ()):
                _member(editor, port, vlan)
    for row in _rows(entries, PAGES[2]):
        pinned = row.get("state") == "static" and "sticky" in row.get("flags", ())
        if (port := ports.get(str(row.get("ifname")))) is None or not pinned or "vlan" not in row:
            continue
        if not (mac := parse_mac(str(row["mac"]))) & GROUP_BIT:
            _make(editor, int(row["vlan"]))
            editor.set_entry(int(row["vlan"]), mac, (port,))
    return editor.freeze()


def _of_card(where: str, link: Mapping[str, Any]) -> list[Finding]:
    """Return what a port's own settings do to frames: short ones alone pass, a program decides, a queue loses them."""
    findings = [Finding(f"{where} xdp", "no program", "one")] if link.get("xdp") else []
    if link.get("qdisc") in _LOSSY_QUEUES:
        findings.append(Finding(f"{where} qdisc", "one that keeps frames", str(link["qdisc"])))
    if isinstance(mtu := link.get("mtu"), int) and mtu < _FRAME_OCTETS:
        findings.append(Finding(f"{where} mtu", f"{_FRAME_OCTETS} or more", str(mtu)))
    return findings


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
