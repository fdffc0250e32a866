"""Read and write the lines that make a RouterOS bridge a switch, from `grammars/routeros.yml`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from tagloom.errors import Finding, InputError
from tagloom.platforms.family import family
from tagloom.platforms.interpreter import Outcome, OutcomeKind
from tagloom.platforms.words import read_words
from tagloom.records.switch_state import (
    DEFAULT_AGING_SECONDS,
    DEFAULT_VLAN,
    DISCARD_PVID,
    MAX_VLAN,
    OWNED_VLAN_NAME,
    FlowControl,
    Frames,
    Membership,
    PortMode,
    SwitchEditor,
)
from tagloom.units import parse_mac, parse_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from tagloom.platforms import Platform
    from tagloom.platforms.words import Templates, Words
    from tagloom.records.switch_state import SwitchState

FAMILY = "routeros"
EXPORT = "/export terse"  # all of the configuration, each line with the whole path of its menu
HOSTS = "/interface bridge host print terse"
RESOURCE = "/system resource print"
GROUP_BIT = 1 << 40  # IEEE 802-2014, 8.2: an address to many
BRIDGE, PORT, VLAN, HOST, ETHERNET = (
    "interface bridge",
    "interface bridge port",
    "interface bridge vlan",
    "interface bridge host",
    "interface ethernet",
)
INTERFACE_VLAN = "interface vlan"
TAGGED_ONLY, UNTAGGED_ONLY, ALL = "admit-only-vlan-tagged", "admit-only-untagged-and-priority-tagged", "admit-all"
FLOODS = ("unknown-unicast-flood", "unknown-multicast-flood", "broadcast-flood")
SPEEDS = {10: "10M-baseT-full", 100: "100M-baseT-full", 1000: "1G-baseT-full"}
# What an export prints in the place of a menu that did not answer in time, or was not there, and of all behind a key
# that was pressed (manual, Configuration Management, since 7.11; exports of 6.4x and 7: public GitHub files 39897049,
# 24064636824, 58422847778); and menus that decide nothing of bridges, ports or scripts.
_OTHER_MENUS = (
    r"system[ /](?:routerboard|health|leds|ups|gps|hardware|clock|identity)"
    r"|interface[ /](?:bridge[ /]calea|lte|wireless|wifi\w*|list)|ip[ /](?!address|dhcp-client)|ipv6[ /](?!address)"
    r"|caps-man|certificate|container|disk|iot|lcd|log|mpls|port|ppp|radius|routing|snmp|user"
)
_LOST = re.compile(
    rf"#\s?interrupted\b|#\s?error exporting\b(?!\s+\"?/(?:{_OTHER_MENUS})\b)",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"#.*\bby RouterOS \d", re.IGNORECASE)
Values = dict[str, str]  # the properties of a line, by name
UNKNOWN_PROPERTY = "expected end of command"
_DONE = Outcome(OutcomeKind.DONE)
_WORD = re.compile(r'\[|\]|[^\s\[\]"]+(?:"(?:[^"\\]|\\.)*")?|"(?:[^"\\]|\\.)*"|"')
_NAMES = re.compile(r'[\s="\[\](){},;]+')  # what stands between names: "[find interface=ether1]" has no blank behind it
_SPEED = re.compile(r"(\d{1,3})([MG])(?:bps|-base[\w-]+)")
_TIME = re.compile(r"(?:(\d{1,4})w)?(?:(\d{1,4})d)?(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?")
_CLOCK = re.compile(r"(?:(\d{1,4})d)?(\d{1,2}):(\d\d):(\d\d)")
_UNITS = (604_800, 86_400, 3_600, 60, 1)  # seconds of w, d, h, m, s
_NEW_PORT = {
    "pvid": "1",
    "frame-types": ALL,
    "ingress-filtering": "yes",
    "learn": "yes",
    **dict.fromkeys(FLOODS, "yes"),
}
_NEW_CABLE = {
    "disabled": "no",
    "auto-negotiation": "yes",
    "speed": "",
    "rx-flow-control": "off",
    "tx-flow-control": "off",
}
_FLOWS = {"off": FlowControl.OFF, "on": FlowControl.ON, "auto": FlowControl.AUTO}


class Lines:
    """The compiled lines of the family; made by `lines`, shared and never changed."""

    def __init__(self, data: dict[str, Any], words: Mapping[str, tuple[Words, ...]]) -> None:
        self.bridge: str = data["bridge"]
        self.owned = tuple(data["owned"])
        self.order: tuple[tuple[str, ...], ...] = tuple(tuple(phase["steps"]) for phase in data["order"])
        self._formats = {key: words[key][0].format for key in data["lines"]}
        self._menus = re.compile("|".join(f"(?:{each})" for each in data["menus"]))
        rows = {menu: [name.partition("=") for name in names] for menu, names in data["passed_over"].items()}
        self.passed_over = {menu: {name: re.compile(only or ".*") for name, _, only in rows[menu]} for menu in rows}
        self.known = {menu: set(names) for menu, names in self.passed_over.items()}
        self._finds: set[tuple[str, frozenset[str]]] = set()  # the keys by which our lines find what they change
        for key in data["lines"]:
            for spelling in words[key]:
                parsed = parse_line(
                    " ".join(w if isinstance(w, str) else "0" for w in spelling.words).replace("= ", "=")
                )
                if parsed is None or parsed.menu not in self.known:
                    raise InputError([Finding(spelling.where, f"a line of {', '.join(sorted(self.known))}", key)])
                self.known[parsed.menu].update(parsed.values, parsed.found or ())
                self._finds |= {(parsed.menu, _keys(parsed))} if parsed.found is not None else set()

    def opens(self, text: str) -> str:
        """Return the path of the menu that a line opens, with blanks; "" where it is a command.

        >>> lines().opens("/interface/bridge/port"), lines().opens("/interface bridge remove tagloom")
        ('interface bridge port', '')
        """
        path = " ".join(text.replace("/", " ").split())
        return path if text.startswith("/") and self._menus.fullmatch(path) else ""

    def takes(self, line: Line) -> bool:
        """Return whether a line finds by our keys alone, and what is passed over has values that change nothing."""
        if line.found is not None and (line.menu, _keys(line)) not in self._finds:
            return False
        only = self.passed_over[line.menu]
        return all(name not in only or bool(only[name].fullmatch(value)) for name, value in line.values.items())

    def write(self, key: str, **values: object) -> str:
        """Write a line with its values."""
        return self._formats[key].format(**values)


@dataclass(frozen=True, slots=True)
class Line:
    """One line: the menu's path, the verb, what `[ find ... ]` looks for (None = there is none) and the properties."""

    menu: str
    verb: str
    found: Values | None
    values: Values


def _keys(line: Line) -> frozenset[str]:
    """Return by what a line finds its items; the bridge aside, which is ours (`Menus`), and that they are static."""
    said = (line.found or {}).items()
    return frozenset(name for name, value in said if name != "bridge" and (name, value) != ("dynamic", "no"))


def _moves(line: Line) -> bool:
    """Return whether a line puts an item that there is on another bridge, or has it stand for another port."""
    return (
        line.verb == "set"
        and line.menu in (PORT, VLAN, INTERFACE_VLAN)
        and bool({"bridge", "interface"} & {*line.values})
    )


@cache
def lines(own: Templates = ()) -> Lines:
    """Read the family's page and its words, an operator's `own` before tagloom's."""
    return Lines(family(FAMILY), read_words(FAMILY, own))


def parse_line(text: str, menu: str = "") -> Line | None:
    """Return the parts of a line, which may leave its path out inside `menu`; None for one that is made otherwise.

    >>> parse_line("/interface bridge port set [ find interface=ether1 ] pvid=7")
    Line(menu='interface bridge port', verb='set', found={'interface': 'ether1'}, values={'pvid': '7'})
    """
    words = _WORD.findall(text)
    if sum(map(len, words)) != len("".join(text.split())) and '"' not in text:
        return None
    absolute = text.lstrip().startswith("/")
    if absolute:  # /interface/bridge/port/add, or with blanks
        words[:1] = filter(None, words[0].split("/"))
    path = []
    while words and "=" not in words[0] and words[0] not in "[]" and words[0] not in ("add", "set", "remove"):
        path.append(words.pop(0))
    here = " ".join(path) if absolute else " ".join((menu, *path)).strip()
    if not words:
        return Line(here, "", None, {}) if path else None
    verb = words.pop(0) if words[0] in ("add", "set", "remove") else ""
    found = None
    if words and words[0] == "[":
        if len(words) < 2 or words[1] != "find" or "]" not in words:
            return None
        end = words.index("]")
        found = _properties([word for word in words[2:end] if word != "where"])
        words = words[end + 1 :]
        if found is None:
            return None
    values = _properties(words)
    return None if values is None or not verb else Line(here, verb, found, values)


def _properties(words: list[str]) -> Values | None:
    """Return properties by name, with "!" before those that have no value; None where a word is none, or said twice."""
    values: Values = {}
    for word in words:
        name, sign, value = word.partition("=")
        if word[0] == "!" and not sign and word not in values:
            values[word] = ""
            continue
        if not sign or not name or name in values:
            return None
        if value[:1] == '"':
            if len(value) < 2 or value[-1] != '"':
                return None
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        values[name] = value
    return values


def write_time(seconds: int) -> str:
    """Write a time as RouterOS prints one, or in seconds where that is shorter: it reads both.

    >>> write_time(300), write_time(90061)
    ('5m', '90061s')
    """
    parts, whole = [], f"{seconds}s"
    for unit, letter in zip(_UNITS, "wdhms", strict=True):
        count, seconds = divmod(seconds, unit)
        parts += [f"{count}{letter}"] if count else []
    return min("".join(parts) or whole, whole, key=len)


def read_time(text: str) -> int:
    """Read a time in seconds, as 5m, 300s, 300 or 00:05:00. Raises ValueError."""
    if text.isascii() and text.isdigit() and len(text) <= 9:
        return int(text)
    if clock := _CLOCK.fullmatch(text):
        return sum(int(n or 0) * unit for n, unit in zip(clock.groups(), _UNITS[1:], strict=True))
    found = _TIME.fullmatch(text)
    if not text or found is None:
        raise ValueError(f"not a time: {text!r}")
    return sum(int(n or 0) * unit for n, unit in zip(found.groups(), _UNITS, strict=True))


def write_list(names: list[str]) -> str:
    """Write a list of ports as a property's value."""
    return ",".join(names) or '""'


def frame_types(pvid: int, frames: Frames) -> str:
    """Return the property of a port that takes such frames; one without a PVID takes tagged ones alone."""
    if pvid == DISCARD_PVID:
        return TAGGED_ONLY
    return UNTAGGED_ONLY if frames is Frames.UNTAGGED_ONLY else ALL


def yes(*, on: bool) -> str:
    """Write a flag."""
    return "yes" if on else "no"


class _RefusedError(Exception):
    """Refuse a line with the answer the console shows for it; never leaves this module."""


@dataclass(slots=True)
class _VlanItem:
    """A row of the VLAN table: its ids, and the ports that are named there."""

    vlans: list[int] = field(default_factory=list)
    ports: dict[int, Membership] = field(default_factory=dict)


def is_lost(line: str) -> bool:
    """Return whether a line of an export stands in the place of lines that may be about bridges, ports or scripts."""
    return _LOST.match(line) is not None


def what_is_missing(export: str) -> str:
    """Return what a whole export has and a text lacks: its first line, or menus; "" = nothing."""
    lines = [line.strip() for line in export.strip().split("\n")]
    if not any(map(_BEGINS.match, lines)):
        return "`# ... by RouterOS ...` at the beginning"
    return next((f"more than `{line}`" for line in lines if is_lost(line)), "")


class Menus:
    """Carry out lines on a SwitchEditor the way RouterOS does, as far as they are about the bridge or its ports.

    A port is in access mode while it is outside the bridge and in general mode on it; what is set of its cable while it
    is outside shows once it joins. A VLAN exists while it has a member or an entry. Lines of other menus, of other
    bridges and of what is none of the switch's ports are UNKNOWN. Where a line is refused nothing has changed.
    """

    def __init__(self, platform: Platform, editor: SwitchEditor) -> None:
        self.platform, self.editor = platform, editor
        self._lines = lines(platform.templates)
        self.duplex: dict[int, str] = {}  # what the lines say of it, by port
        self._menu = ""
        self._cables = {port: dict(_NEW_CABLE) for port in range(1, platform.ports + 1)}
        self._ports: dict[int, Values] = {}
        self._items: dict[str, _VlanItem] = {}
        for port, mode in enumerate(editor.mode, start=1):
            if mode is PortMode.GENERAL:
                self._take_over(port)
        self._bridge = bool(self._ports)
        for vlan, members in editor.members.items():
            ports = {port: how for port, how in members.items() if port in self._ports}
            if ports:
                self._items[str(vlan)] = _VlanItem([vlan], ports)

    def _take_over(self, port: int) -> None:
        editor, at = self.editor, port - 1
        floods = dict.fromkeys(FLOODS, yes(on=editor.flooding[at]))
        pvid = editor.pvid[at]
        self._ports[port] = {
            "pvid": str(pvid if pvid != DISCARD_PVID else DEFAULT_VLAN),
            "frame-types": frame_types(pvid, editor.frames[at]),
            "ingress-filtering": yes(on=editor.ingress_filter[at]),
            "learn": yes(on=editor.learning[at]),
            **floods,
        }
        flow = next(word for word, each in _FLOWS.items() if each is editor.flow_control[at])
        self._cables[port] = {
            "disabled": yes(on=not editor.enabled[at]),
            "auto-negotiation": yes(on=editor.negotiation[at]),
            "speed": SPEEDS.get(editor.speed_mbps[at], f"{editor.speed_mbps[at] // 1000}G-baseCR"),
            "rx-flow-control": flow,
            "tx-flow-control": flow,
        }

    @property
    def has_bridge(self) -> bool:
        """Return whether there is a bridge, with or without ports."""
        return self._bridge

    @property
    def is_up(self) -> bool:
        """Return whether the bridge forwards at all."""
        return self._bridge

    def is_of_others(self, line: str, ports: Collection[int] = ()) -> bool:
        """Return whether a line is about bridges of others alone, and about none of `ports`.

        So are ports that stand on one, its VLANs and hosts, and interfaces of VLANs behind it or behind other ports;
        what is set of a port that is none of `ports`, too.
        """
        parsed = parse_line(line)
        if parsed is None or not parsed.verb:
            return False
        if _moves(parsed):
            return False
        said = parsed.values if parsed.found is None else parsed.found
        if parsed.verb == "remove" and parsed.menu in (PORT, VLAN, HOST):  # of theirs, whatever port it is about
            return said.get("bridge", self._lines.bridge) != self._lines.bridge
        if set(self.ports_of(line)).intersection(ports):
            return False
        behind = {PORT: "interface", INTERFACE_VLAN: "interface", ETHERNET: "default-name"}.get(parsed.menu)
        if parsed.menu in (PORT, VLAN, HOST) and said.get("bridge", "") == self._lines.bridge:
            return False
        if parsed.menu == ETHERNET or (parsed.menu == PORT and (parsed.verb == "add" or behind in said)):
            return self.platform.port_number(said.get(behind or "", "")) is not None
        if parsed.menu == INTERFACE_VLAN:
            return said.get("interface", self._lines.bridge) != self._lines.bridge
        return parsed.menu in (VLAN, HOST) and "bridge" in said

    def state(self) -> SwitchState:
        """Return what frames find."""
        return self.editor.freeze()

    def ports_of(self, line: str) -> tuple[int, ...]:
        """Return the ports that a line names, whatever else it says."""
        numbers = {self.platform.port_number(word) for word in _NAMES.split(line)}
        return tuple(sorted(number for number in numbers if number is not None))

    @staticmethod
    def is_of_all_ports(line: str) -> bool:
        """Return whether a line is about a bridge, its VLANs or hosts, whatever ports it names."""
        parsed = parse_line(line)
        return parsed is not None and parsed.menu in (BRIDGE, VLAN, HOST)

    def feed(self, line: str) -> Outcome:
        """Carry out one line; a blank line or a comment is carried out by doing nothing."""
        text = line.strip()
        if not text or text.startswith("#"):
            return Outcome(OutcomeKind.UNKNOWN, "") if is_lost(text) else _DONE
        parsed = parse_line(text, self._menu)
        if parsed is None:
            return Outcome(OutcomeKind.UNKNOWN, "")
        if not parsed.verb:
            self._menu = self._lines.opens(text)
            return _DONE if parsed.menu in self._lines.known else Outcome(OutcomeKind.UNKNOWN, "")
        handler = self.HANDLERS.get((parsed.menu, parsed.verb))
        if handler is None or not self._is_ours(parsed) or not self._lines.takes(parsed):
            return Outcome(OutcomeKind.UNKNOWN, "")
        known, passed_over = self._lines.known[parsed.menu], self._lines.passed_over[parsed.menu]
        if strange := sorted({*parsed.values, *(parsed.found or ())} - known - {"disabled"}):
            return Outcome(OutcomeKind.REJECTED, f"{UNKNOWN_PROPERTY} (line 1 column {text.find(strange[0]) + 1})")
        if (parsed.verb == "add") is not (parsed.found is None):
            return Outcome(OutcomeKind.REJECTED, "missing value(s) of argument(s) numbers")
        values = {
            name: value
            for name, value in parsed.values.items()
            if name not in passed_over or (parsed.menu == PORT and name in _NEW_PORT)
        }
        try:
            handler(self, parsed.found or {}, values)
        except _RefusedError as refused:
            return Outcome(OutcomeKind.REJECTED, str(refused))
        return _DONE

    def _is_ours(self, line: Line) -> bool:
        """Return whether a line is about our bridge or the switch's ports; it says nothing of any other."""
        said = {**line.values, **(line.found or {})}
        if line.menu == BRIDGE:
            return said.get("name") == self._lines.bridge
        if line.menu in (VLAN, HOST) or (line.menu == PORT and line.verb == "add"):
            return said.get("bridge") == self._lines.bridge
        bridges = (each.get("bridge", self._lines.bridge) for each in (line.values, line.found or {}))
        if line.menu == PORT and any(each != self._lines.bridge for each in bridges):
            return False
        if line.found is not None and _moves(line):  # such as a port from a bridge of others to ours
            return False
        name = said.get("default-name" if line.menu == ETHERNET else "interface", "")
        return self.platform.port_number(name) is not None

    # What the lines do. Checks come first, so that a refused line has changed nothing.

    def _add_bridge(self, _: Values, values: Values) -> None:
        if self._bridge:
            raise _RefusedError("failure: already have interface with such name")
        if values.get("vlan-filtering") != "yes":
            raise _RefusedError(f"without vlan-filtering=yes the bridge {self._lines.bridge} knows no VLANs")
        if values.get("igmp-snooping", "no") != "no" or values.get("disabled", "no") != "no":
            raise _RefusedError("the bridge must be enabled, and without igmp-snooping")
        spanning, seconds = _protocol(values.get("protocol-mode", "rstp")), _aging(values.get("ageing-time", "5m"))
        self._bridge = True
        self.editor.spanning_tree, self.editor.aging_seconds = spanning, seconds

    def _set_bridge(self, _: Values, values: Values) -> None:
        self._need_bridge()
        for name, needed in (("vlan-filtering", "yes"), ("igmp-snooping", "no"), ("disabled", "no")):
            if values.get(name, needed) != needed:
                raise _RefusedError(f"{name}={values[name]} is none of tagloom's")
        spanning = _protocol(values["protocol-mode"]) if "protocol-mode" in values else self.editor.spanning_tree
        seconds = _aging(values["ageing-time"]) if "ageing-time" in values else self.editor.aging_seconds
        self.editor.spanning_tree, self.editor.aging_seconds = spanning, seconds

    def _remove_bridge(self, _: Values, __: Values) -> None:
        self._need_bridge()
        for port in list(self._ports):
            self._outside(port)
        self._items.clear()
        self.editor.entries.clear()
        for vlan in list(self.editor.vlans):
            self._settle(vlan)
        self._bridge = False
        self.editor.spanning_tree, self.editor.aging_seconds = True, DEFAULT_AGING_SECONDS

    def _add_port(self, _: Values, values: Values) -> None:
        self._need_bridge()
        port = self._port(values.get("interface", ""))
        if port in self._ports:
            raise _RefusedError("failure: device already added as bridge port")
        self._show_port(port, {**_NEW_PORT, **_plain(values)})

    def _set_port(self, found: Values, values: Values) -> None:
        port = self._member_port(found.get("interface", ""))
        self._show_port(port, {**self._ports[port], **_plain(values)})

    def _remove_port(self, found: Values, _: Values) -> None:
        self._outside(self._member_port(found.get("interface", "")))

    def _show_port(self, port: int, row: Values) -> None:
        """Take a port's row, and set its cells by it."""
        pvid = _vlan(row["pvid"])
        types, learn = row["frame-types"], row["learn"]
        if types not in (ALL, TAGGED_ONLY, UNTAGGED_ONLY):
            raise _RefusedError("input does not match any value of frame-types")
        if len({row[name] for name in FLOODS}) > 1:
            raise _RefusedError("a port that floods some frames and not others")
        if any(row[name] not in ("yes", "no") for name in (*FLOODS, "ingress-filtering")):
            raise _RefusedError("input does not match any value of yes, no")
        if learn not in ("yes", "no", "auto"):
            raise _RefusedError("input does not match any value of learn")
        if row.get("disabled", "no") != "no":
            raise _RefusedError("a disabled port of the bridge; ports are shut by /interface ethernet")
        before = self._ports.get(port)
        self._ports[port] = {name: row[name] for name in _NEW_PORT}
        editor, at = self.editor, port - 1
        if before is None:
            editor.set_member(DEFAULT_VLAN, port, Membership.NONE)
        editor.mode[at] = PortMode.GENERAL
        editor.pvid[at] = DISCARD_PVID if types == TAGGED_ONLY else pvid
        editor.frames[at] = Frames.UNTAGGED_ONLY if types == UNTAGGED_ONLY else Frames.ALL
        editor.ingress_filter[at] = row["ingress-filtering"] == "yes"
        editor.flooding[at], editor.learning[at] = row[FLOODS[0]] == "yes", learn != "no"
        self._show_cable(port)
        for vlan in {pvid, *(editor.vlans if before is None else (int(before["pvid"]),))}:
            self._settle(vlan)

    def _outside(self, port: int) -> None:
        """Forget a port: what stands outside the bridge is none of ours; its rows in the VLAN table stay without it."""
        editor, at = self.editor, port - 1
        del self._ports[port]
        for key in [key for key, ports in editor.entries.items() if ports == (port,)]:
            del editor.entries[key]
        for vlan in list(editor.vlans):
            self._settle(vlan)
        blank = SwitchEditor.blank(1)
        editor.set_member(DEFAULT_VLAN, port, Membership.UNTAGGED)
        editor.mode[at], editor.pvid[at], editor.frames[at] = blank.mode[0], blank.pvid[0], blank.frames[0]
        editor.ingress_filter[at], editor.enabled[at] = blank.ingress_filter[0], blank.enabled[0]
        editor.negotiation[at], editor.speed_mbps[at] = blank.negotiation[0], blank.speed_mbps[0]
        editor.flow_control[at] = blank.flow_control[0]
        editor.flooding[at], editor.learning[at] = blank.flooding[0], blank.learning[0]
        self.duplex.pop(port, None)

    def _add_vlan(self, _: Values, values: Values) -> None:
        self._need_bridge()
        key = values.get("vlan-ids", "")
        item = _VlanItem(_vlans(key), self._listed(values.get("tagged", ""), values.get("untagged", "")))
        if values.get("disabled", "no") != "no":
            raise _RefusedError("a disabled row of the VLAN table")
        if any(set(item.vlans) & set(other.vlans) for other in self._items.values()):
            raise _RefusedError("failure: vlan already added")
        self._items[key] = item
        for vlan in item.vlans:
            self._settle(vlan)

    def _set_vlan(self, found: Values, values: Values) -> None:
        item = self._item(found)
        now = {how: [p for p, each in item.ports.items() if each is how] for how in Membership}
        kept = {how: ",".join(map(self.platform.port_name, now[how])) for how in now}
        tagged = values.get("tagged", kept[Membership.TAGGED])
        untagged = values.get("untagged", kept[Membership.UNTAGGED])
        if set(values) - {"tagged", "untagged"}:
            raise _RefusedError("only the ports of a VLAN are changed")
        item.ports = self._listed(tagged, untagged)
        for vlan in item.vlans:
            self._settle(vlan)

    def _remove_vlan(self, found: Values, _: Values) -> None:
        item = self._item(found)
        del self._items[found["vlan-ids"]]
        for vlan in item.vlans:
            self._settle(vlan)

    def _item(self, found: Values) -> _VlanItem:
        item = self._items.get(found.get("vlan-ids", ""))
        if item is None:
            raise _RefusedError("no such item")
        return item

    def _listed(self, tagged: str, untagged: str) -> dict[int, Membership]:
        """Return the ports of two lists. Both may not hold one; the bridge itself is in no VLAN of tagloom's."""
        ports = {}
        for text, how in ((tagged, Membership.TAGGED), (untagged, Membership.UNTAGGED)):
            for name in filter(None, text.split(",")):
                port = self._port(name)
                if port in ports:
                    raise _RefusedError(f"failure: interface {name} is tagged and untagged, or named twice")
                ports[port] = how
        return ports

    def _settle(self, vlan: int) -> None:
        """Make a VLAN's members those of the table, and the ports whose untagged frames it takes."""
        members = {
            port: Membership.UNTAGGED
            for port, row in self._ports.items()
            if row["frame-types"] != TAGGED_ONLY and int(row["pvid"]) == vlan
        }
        for item in self._items.values():
            if vlan in item.vlans:
                members.update({port: how for port, how in item.ports.items() if port in self._ports})
        editor = self.editor
        if vlan not in editor.vlans:
            if not members:
                return
            editor.create_vlan(vlan)
            editor.name_vlan(vlan, OWNED_VLAN_NAME)
        for port in self._ports.keys() | {p for p in editor.members[vlan] if vlan != DEFAULT_VLAN}:
            editor.set_member(vlan, port, members.get(port, Membership.NONE))
        if vlan != DEFAULT_VLAN and not editor.members[vlan] and all(key[0] != vlan for key in editor.entries):
            del editor.vlans[vlan], editor.members[vlan]

    def _add_entry(self, _: Values, values: Values) -> None:
        self._need_bridge()
        key, port = self._entry_key(values), self._member_port(values.get("interface", ""))
        if key in self.editor.entries:
            raise _RefusedError("failure: host with such mac-address and vid already exists")
        self._enter(key, port)

    def _move_entry(self, found: Values, values: Values) -> None:
        key, port = self._entry_key(found), self._member_port(values.get("interface", ""))
        if key not in self.editor.entries or set(values) != {"interface"}:
            raise _RefusedError("no such item")
        self._enter(key, port)

    def _enter(self, key: tuple[int, int], port: int) -> None:
        if key[0] not in self.editor.vlans:
            self.editor.create_vlan(key[0])
            self.editor.name_vlan(key[0], OWNED_VLAN_NAME)
        self.editor.set_entry(*key, (port,))

    def _remove_entry(self, found: Values, _: Values) -> None:
        key = self._entry_key(found)
        if key not in self.editor.entries:
            raise _RefusedError("no such item")
        self.editor.set_entry(*key, ())
        self._settle(key[0])

    def _entry_key(self, values: Values) -> tuple[int, int]:
        try:
            mac = parse_mac(values.get("mac-address", ""))
        except ValueError as error:
            raise _RefusedError("invalid value for argument mac-address") from error
        if mac & GROUP_BIT or mac == 0 or values.get("disabled", "no") != "no":
            raise _RefusedError("a static host is one enabled address of one host")
        return _vlan(values.get("vid", "")), mac

    def _set_cable(self, found: Values, values: Values) -> None:
        port = self._port(found.get("default-name", ""))
        row = {**self._cables[port], **{name: value for name, value in values.items() if name in _NEW_CABLE}}
        if row["speed"] and not _SPEED.fullmatch(row["speed"]):
            raise _RefusedError("input does not match any value of speed")
        if row["disabled"] not in ("yes", "no") or row["auto-negotiation"] not in ("yes", "no"):
            raise _RefusedError("input does not match any value of yes, no")
        if row["rx-flow-control"] != row["tx-flow-control"] or row["rx-flow-control"] not in _FLOWS:
            raise _RefusedError("PAUSE in one direction only")
        self._cables[port] = row
        if port in self._ports:
            self._show_cable(port)

    def _show_cable(self, port: int) -> None:
        row, editor, at = self._cables[port], self.editor, port - 1
        editor.enabled[at] = row["disabled"] == "no"
        editor.negotiation[at] = row["auto-negotiation"] == "yes"
        said = _SPEED.fullmatch(row["speed"])
        fixed = said is not None and not editor.negotiation[at]
        editor.speed_mbps[at] = int(said[1]) * (1000 if said[2] == "G" else 1) if said is not None and fixed else 0
        editor.flow_control[at] = _FLOWS[row["rx-flow-control"]]
        self.duplex.pop(port, None)
        if fixed:
            self.duplex[port] = "half" if row["speed"].endswith("-half") else "full"

    def _need_bridge(self) -> None:
        if not self._bridge:
            raise _RefusedError("input does not match any value of bridge")

    def _port(self, name: str) -> int:
        number = self.platform.port_number(name)
        if number is None or self.platform.port_name(number) != name:
            raise _RefusedError("input does not match any value of interface")
        return number

    def _member_port(self, name: str) -> int:
        """Return the number of a port on the bridge: what stands outside is none of ours."""
        port = self._port(name)
        if port not in self._ports:
            raise _RefusedError("no such item")
        return port

    HANDLERS: ClassVar[dict[tuple[str, str], Callable[[Menus, Values, Values], None]]] = {
        (BRIDGE, "add"): _add_bridge,
        (BRIDGE, "set"): _set_bridge,
        (BRIDGE, "remove"): _remove_bridge,
        (PORT, "add"): _add_port,
        (PORT, "set"): _set_port,
        (PORT, "remove"): _remove_port,
        (VLAN, "add"): _add_vlan,
        (VLAN, "set"): _set_vlan,
        (VLAN, "remove"): _remove_vlan,
        (HOST, "add"): _add_entry,
        (HOST, "set"): _move_entry,
        (HOST, "remove"): _remove_entry,
        (ETHERNET, "set"): _set_cable,
    }


def _plain(values: Values) -> Values:
    return {name: value for name, value in values.items() if name in _NEW_PORT or name == "disabled"}


def _protocol(word: str) -> bool:
    """Return whether spanning tree runs."""
    if word not in ("none", "stp", "rstp", "mstp"):
        raise _RefusedError("input does not match any value of protocol-mode")
    return word != "none"


def _aging(text: str) -> int:
    try:
        return read_time(text)
    except ValueError as error:
        raise _RefusedError("invalid value for argument ageing-time") from error


def _vlans(text: str) -> list[int]:
    try:
        vlans = parse_ranges(text)
    except ValueError as error:
        raise _RefusedError("invalid value for argument vlan-ids") from error
    if not (vlans[0] >= 1 and vlans[-1] <= MAX_VLAN):
        raise _RefusedError("value of vlan-ids out of range (1..4094)")
    return vlans


def _vlan(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MAX_VLAN):
        raise _RefusedError("value of vid out of range (1..4094)")
    return int(text)
