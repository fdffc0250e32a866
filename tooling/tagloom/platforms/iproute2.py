"""Read and write the commands that make a Linux bridge a switch, from `grammars/linux-bridge.yml`."""

from __future__ import annotations

import re
from dataclasses import replace
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
    Membership,
    PortMode,
    SwitchEditor,
    SwitchState,
)
from tagloom.units import parse_mac, parse_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tagloom.platforms import Platform
    from tagloom.platforms.words import Templates, Words

Values = dict[str, str]  # the values of a line, by parameter
FAMILY = "linux-bridge"
# What a machine says of itself: all links, VLANs and entries as iproute2's JSON, then each port of the bridge in the
# words of ethtool(8), whose JSON older releases have not.
PAGES = ("ip -j -d link show", "bridge -j vlan show", "bridge -j fdb show")
ETHTOOL_PAGES = ("ethtool {port}", "ethtool --show-pause {port}", "ethtool --show-eee {port}")
GROUP_BIT = 1 << 40  # IEEE 802-2014, 8.2: an address to many; a bridge floods or filters those without its FDB
_DONE = Outcome(OutcomeKind.DONE)
_WORD = {"port": r"\S+", "mac": r"[0-9A-Fa-f:]{17}", "switch": "0|1", "on": "on|off", "vlans": r"\d{1,4}(?:-\d{1,4})?"}
_NUMBER = r"\d{1,9}"
_FLOW = {FlowControl.OFF: ("off", "off"), FlowControl.ON: ("off", "on"), FlowControl.AUTO: ("on", "on")}


class Commands:
    """The compiled lines of the family; made by `commands`, shared and never changed."""

    def __init__(self, data: dict[str, Any], words: Mapping[str, tuple[Words, ...]]) -> None:
        self.bridge: str = data["bridge"]
        self.owned = tuple(f"{words} " for words in data["owned"])
        self.order: tuple[tuple[str, ...], ...] = tuple(tuple(phase["steps"]) for phase in data["order"])
        self._formats = {key: words[key][0].format for key in data["lines"] if key in words}
        self._read = [
            (key, re.compile(pattern).fullmatch)
            for key, line in data["lines"].items()
            for pattern in (*map(_written, words.get(key, ())), *map(_pattern, line.get("read", ())))
        ]
        meant: dict[str, Words] = {}
        for line in (line for key in data["lines"] for line in words.get(key, ())):
            other = meant.setdefault(_written(line), line)
            if other.name != line.name:
                at = min(line, other, key=lambda each: each.where.startswith("tagloom's "))
                raise InputError([Finding(at.where, f"words that mean {at.name} alone", f"{at.format!r}, as another")])

    def write(self, key: str, **values: object) -> str:
        """Write a line with its values."""
        return self._formats[key].format(**values)

    def read(self, line: str) -> tuple[str, dict[str, str]] | None:
        """Return the key of a line and its values by parameter, None for a line that is none of the family's."""
        text = " ".join(line.split())
        for key, match in self._read:
            if found := match(text):
                return key, found.groupdict()
        return None


@cache
def commands(own: Templates = ()) -> Commands:
    """Read the family's page and its words, an operator's `own` before tagloom's."""
    return Commands(family(FAMILY), read_words(FAMILY, own))


def _written(line: Words) -> str:
    return " ".join(re.escape(word) if isinstance(word, str) else _value(*word) for word in line.words)


def _pattern(spelling: str) -> str:
    words = ((word, word.strip("{}")) for word in spelling.split())
    return " ".join(re.escape(word) if word == name else _value(name, name) for word, name in words)


def _value(parameter: str, kind: str) -> str:
    return f"(?P<{parameter}>{_WORD.get(kind, _NUMBER)})"


def flow_words(flow: FlowControl) -> tuple[str, str]:
    """Return what `ethtool --pause` says of autonegotiation, and of pausing in both directions."""
    return _FLOW[flow]


def flow_of(negotiated: str | None, rx: str | None, tx: str | None) -> FlowControl:
    """Return what `ethtool --show-pause` says, OFF where it says nothing; one direction alone counts as ON."""
    if "on" not in (rx, tx):
        return FlowControl.OFF
    return FlowControl.AUTO if negotiated == "on" else FlowControl.ON


class _RefusedError(Exception):
    """Refuse a line with the answer a shell shows for it; never leaves this module."""


class Shell:
    """Carry out commands on a SwitchEditor the way a kernel's bridge does.

    A port is in access mode while it is outside the bridge and in general mode on it. A VLAN exists while it has a
    member or an entry; entries of a VLAN that its port leaves stay behind, as they do in the kernel. Where a line is
    refused nothing has changed.
    """

    def __init__(self, platform: Platform, editor: SwitchEditor) -> None:
        self.platform, self.editor = platform, editor
        self._commands = commands(platform.templates)
        self.duplex: dict[int, str] = {}  # what the lines say of it, by port
        self._bridge = any(mode is PortMode.GENERAL for mode in editor.mode)
        self._up = any(up for up, mode in zip(editor.enabled, editor.mode, strict=True) if mode is PortMode.GENERAL)

    @property
    def has_bridge(self) -> bool:
        """Return whether there is a bridge, with or without ports."""
        return self._bridge

    @property
    def is_up(self) -> bool:
        """Return whether the bridge forwards at all."""
        return self._bridge and self._up

    def state(self) -> SwitchState:
        """Return what frames find: while the bridge is down its ports carry none."""
        state = self.editor.freeze()
        if self._up or not self._bridge:
            return state
        return replace(state, enabled=state.enabled & (state.mode != PortMode.GENERAL))

    def feed(self, line: str) -> Outcome:
        """Carry out one line; a blank line or a comment is carried out by doing nothing."""
        if not line.strip() or line.lstrip().startswith("#"):
            return _DONE
        meaning = self._commands.read(line)
        if meaning is None:
            return Outcome(OutcomeKind.UNKNOWN, "")
        key, values = meaning
        if not self._bridge and self._commands.bridge in line.split() and key != "create":
            return Outcome(OutcomeKind.REJECTED, f'Cannot find device "{self._commands.bridge}"')
        try:
            self.HANDLERS[key](self, values)
        except _RefusedError as refused:
            return Outcome(OutcomeKind.REJECTED, str(refused))
        return _DONE

    def ports_of(self, line: str) -> tuple[int, ...]:
        """Return the ports that a line names, whatever else it says."""
        numbers = {self.platform.port_number(word) for word in line.split()}
        return tuple(sorted(number for number in numbers if number is not None))

    # What the lines do. Checks come first, so that a refused line has changed nothing.

    def _create(self, values: Values) -> None:
        if self._bridge:
            raise _RefusedError("RTNETLINK answers: File exists")
        seconds = _seconds(values)
        self._bridge, self._up = True, False
        self.editor.spanning_tree, self.editor.aging_seconds = values["switch"] == "1", seconds

    def _delete(self, _: Values) -> None:
        for port in range(1, self.editor.ports + 1):
            self._outside(port)
        self._bridge = self._up = False
        self.editor.spanning_tree, self.editor.aging_seconds = True, DEFAULT_AGING_SECONDS

    def _bridge_up(self, _: Values) -> None:
        self._up = True

    def _set_spanning_tree(self, values: Values) -> None:
        self.editor.spanning_tree = values["switch"] == "1"

    def _set_aging(self, values: Values) -> None:
        self.editor.aging_seconds = _seconds(values)

    def _join_bridge(self, values: Values) -> None:
        port, editor = self._port(values), self.editor
        if editor.mode[port - 1] is PortMode.GENERAL:
            return
        editor.mode[port - 1] = PortMode.GENERAL
        editor.set_member(DEFAULT_VLAN, port, Membership.NONE)
        editor.pvid[port - 1], editor.enabled[port - 1] = DISCARD_PVID, False

    def _leave_bridge(self, values: Values) -> None:
        self._outside(self._port(values))

    def _outside(self, port: int) -> None:
        """Forget all of a port: what stands outside the bridge is none of ours."""
        editor, at = self.editor, port - 1
        for key, ports in list(editor.entries.items()):
            if ports == (port,):
                del editor.entries[key]
        for vlan in list(editor.vlans):
            editor.set_member(vlan, port, Membership.NONE)
            self._sweep(vlan)
        blank = SwitchEditor.blank(1)
        editor.set_member(DEFAULT_VLAN, port, Membership.UNTAGGED)
        editor.mode[at], editor.pvid[at], editor.enabled[at] = blank.mode[0], blank.pvid[0], blank.enabled[0]
        editor.negotiation[at], editor.speed_mbps[at] = blank.negotiation[0], blank.speed_mbps[0]
        editor.flow_control[at], editor.eee[at] = blank.flow_control[0], blank.eee[0]
        editor.flooding[at], editor.learning[at] = blank.flooding[0], blank.learning[0]

    def _set_up(self, values: Values) -> None:
        self.editor.enabled[self._member_port(values) - 1] = True

    def _set_down(self, values: Values) -> None:
        self.editor.enabled[self._member_port(values) - 1] = False

    def _join_tagged(self, values: Values) -> None:
        self._join(values, Membership.TAGGED)

    def _join_untagged(self, values: Values) -> None:
        self._join(values, Membership.UNTAGGED)

    def _join(self, values: Values, how: Membership) -> None:
        """Join a port to VLANs; the words with `vlan` mark its PVID, those with `vlans` take the mark away."""
        port, editor = self._member_port(values), self.editor
        for vlan in _vlans(values.get("vlan") or values["vlans"]):
            if vlan not in editor.vlans:
                editor.create_vlan(vlan)
                editor.name_vlan(vlan, OWNED_VLAN_NAME)
            editor.set_member(vlan, port, how)
            if "vlan" in values:
                editor.pvid[port - 1] = vlan
            elif editor.pvid[port - 1] == vlan:
                editor.pvid[port - 1] = DISCARD_PVID

    def _leave(self, values: Values) -> None:
        port, editor = self._member_port(values), self.editor
        for vlan in _vlans(values["vlans"]):  # one that the port is not in is no error
            if editor.pvid[port - 1] == vlan:
                editor.pvid[port - 1] = DISCARD_PVID
            if vlan in editor.vlans:
                editor.set_member(vlan, port, Membership.NONE)
                self._sweep(vlan)

    def _sweep(self, vlan: int) -> None:
        editor = self.editor
        if vlan != DEFAULT_VLAN and not editor.members[vlan] and all(key[0] != vlan for key in editor.entries):
            editor.delete_vlan(vlan)

    def _entry(self, values: Values) -> None:
        vlan, mac, port = self._entry_key(values)
        if mac & GROUP_BIT:
            raise _RefusedError("taken by the kernel, but an address of many is flooded all the same")
        if mac == 0:
            raise _RefusedError("RTNETLINK answers: Invalid argument")
        self.editor.set_entry(vlan, mac, (port,))

    def _no_entry(self, values: Values) -> None:
        vlan, mac, port = self._entry_key(values)
        if self.editor.entries.get((vlan, mac)) != (port,):
            raise _RefusedError("RTNETLINK answers: No such file or directory")
        self.editor.set_entry(vlan, mac, ())

    def _entry_key(self, values: Values) -> tuple[int, int, int]:
        port = self._member_port(values)
        (vlan,) = _vlans(values["vlan"])
        try:
            mac = parse_mac(values["mac"])
        except ValueError as error:
            raise _RefusedError("Invalid mac address") from error
        if port not in self.editor.members.get(vlan, {}):
            raise _RefusedError("RTNETLINK answers: Invalid argument")
        return vlan, mac, port

    def _flood(self, values: Values) -> None:
        port = self._member_port(values)
        self.editor.flooding[port - 1], self.editor.learning[port - 1] = True, values["on"] == "on"

    def _flood_nothing(self, values: Values) -> None:
        port = self._member_port(values)
        self.editor.flooding[port - 1] = self.editor.learning[port - 1] = False

    def _negotiate(self, values: Values) -> None:
        port = self._member_port(values)
        self.editor.negotiation[port - 1], self.editor.speed_mbps[port - 1] = values["on"] == "on", 0
        self.duplex.pop(port, None)

    def _set_speed(self, values: Values) -> None:
        port = self._member_port(values)
        self.editor.negotiation[port - 1], self.editor.speed_mbps[port - 1] = values["on"] == "on", int(values["mbps"])
        self.duplex[port] = "full"

    def _refuse_speed(self, _: Values) -> None:
        raise _RefusedError("ethtool: bad command line argument(s)")

    def _set_pause(self, values: Values) -> None:
        port, said = self._member_port(values), (values["autoneg"], values["rx"])
        flow = next((flow for flow, words in _FLOW.items() if words == said), None)
        if flow is None or values["rx"] != values["tx"]:
            raise _RefusedError("PAUSE in one direction only")
        self.editor.flow_control[port - 1] = flow

    def _set_eee(self, values: Values) -> None:
        self.editor.eee[self._member_port(values) - 1] = values["on"] == "on"

    def _port(self, values: Values) -> int:
        name = values["port"]
        number = self.platform.port_number(name)
        if number is None or self.platform.port_name(number) != name:
            raise _RefusedError(f'Cannot find device "{name}"')
        return number

    def _member_port(self, values: Values) -> int:
        """Return the number of a port on the bridge: what stands outside is none of ours."""
        port = self._port(values)
        if self.editor.mode[port - 1] is not PortMode.GENERAL:
            raise _RefusedError(f"{values['port']} is not a port of {self._commands.bridge}")
        return port

    HANDLERS: ClassVar[dict[str, Callable[[Shell, Values], None]]] = {
        "create": _create,
        "delete": _delete,
        "bridge_up": _bridge_up,
        "spanning_tree": _set_spanning_tree,
        "aging": _set_aging,
        "join_bridge": _join_bridge,
        "leave_bridge": _leave_bridge,
        "port_up": _set_up,
        "port_down": _set_down,
        **dict.fromkeys(("member", "pvid"), _join_tagged),
        **dict.fromkeys(("member_untagged", "pvid_untagged"), _join_untagged),
        "leave": _leave,
        "entry": _entry,
        "no_entry": _no_entry,
        "floods": _flood,
        "floods_nothing": _flood_nothing,
        "negotiation": _negotiate,
        "speed": _set_speed,
        "speed_alone": _refuse_speed,
        "pause": _set_pause,
        "eee": _set_eee,
    }


def _vlans(text: str) -> list[int]:
    try:
        vlans = parse_ranges(text)
    except ValueError as error:
        raise _RefusedError(f"Invalid VLAN range {text}") from error
    if not (vlans[0] >= 1 and vlans[-1] <= MAX_VLAN):
        raise _RefusedError("Error: bridge: Vlan id is invalid.")
    return vlans


def _seconds(values: Values) -> int:
    """Read the kernel's hundredths of a second (USER_HZ, as iproute2 passes them on)."""
    centiseconds = int(values["centiseconds"])
    if centiseconds % 100:
        raise _RefusedError("an aging time of whole seconds is needed")
    return centiseconds // 100
