"""Read and write the command line of a switch family from its data file in `grammars/`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import groupby, product
from typing import TYPE_CHECKING, Any, ClassVar

import yaml

from tagloom.errors import PlanError
from tagloom.records.change import PORT_CELLS, Cell, Value
from tagloom.records.switch_state import (
    DEFAULT_AGING_SECONDS,
    DEFAULT_VLAN,
    DISCARD_PVID,
    FlowControl,
    Frames,
    Membership,
    PortMode,
    SwitchEditor,
)
from tagloom.units import format_mac, format_ranges, parse_mac, parse_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tagloom.platforms import Platform

# Lines that set one cell of every port they are given to; the mode, PVID and membership lines below do more.
PORT_LINES: dict[str, tuple[Cell, Value]] = {
    "ingress_on": (Cell.INGRESS_FILTER, True),
    "ingress_off": (Cell.INGRESS_FILTER, False),
    "frames_all": (Cell.FRAMES, Frames.ALL),
    "frames_tagged": (Cell.FRAMES, Frames.TAGGED_ONLY),
    "frames_untagged": (Cell.FRAMES, Frames.UNTAGGED_ONLY),
    "no_shutdown": (Cell.ENABLED, True),
    "shutdown": (Cell.ENABLED, False),
    "negotiation": (Cell.NEGOTIATION, True),
    "no_negotiation": (Cell.NEGOTIATION, False),
    "no_speed": (Cell.SPEED, 0),
    "flow_off": (Cell.FLOW_CONTROL, FlowControl.OFF),
    "flow_on": (Cell.FLOW_CONTROL, FlowControl.ON),
    "flow_auto": (Cell.FLOW_CONTROL, FlowControl.AUTO),
    "eee_on": (Cell.EEE, True),
    "eee_off": (Cell.EEE, False),
    "port_spanning_tree_on": (Cell.PORT_SPANNING_TREE, True),
    "port_spanning_tree_off": (Cell.PORT_SPANNING_TREE, False),
}
MODE_LINES = {
    "mode_access": PortMode.ACCESS,
    "mode_general": PortMode.GENERAL,
    "mode_trunk": PortMode.TRUNK,
}
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_RANGES = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*")  # short numbers: a typo must not mean 10**9 VLANs


class ContextKind(StrEnum):
    """Where on the command line a session stands, below privileged exec."""

    CONFIG = "config"
    VLAN_DATABASE = "vlan-database"
    INTERFACE = "interface"
    INTERFACE_VLAN = "interface-vlan"


@dataclass(frozen=True, slots=True)
class Context:
    """Hold where a session stands, with the port numbers of INTERFACE or the VLAN of INTERFACE_VLAN."""

    kind: ContextKind
    ports: tuple[int, ...] = ()
    vlan: int = 0


CONFIG = Context(ContextKind.CONFIG)
VLAN_DATABASE = Context(ContextKind.VLAN_DATABASE)


class OutcomeKind(Enum):
    """What became of a line."""

    DONE = "done"
    CONTEXT = "context"  # the context is another one now
    LEFT = "left"  # back to privileged exec; the interpreter stands at CONFIG again
    UNKNOWN = "unknown"
    INCOMPLETE = "incomplete"
    REJECTED = "rejected"  # understood, refused, nothing changed


@dataclass(frozen=True, slots=True)
class Outcome:
    """Hold what became of a line and what the switch answers, "" for nothing; several lines are joined by newlines."""

    kind: OutcomeKind
    text: str = ""

    @property
    def accepted(self) -> bool:
        """Tell whether the switch took the line."""
        kind = self.kind
        return kind is _DONE_KIND or kind is _CONTEXT_KIND or kind is _LEFT_KIND


# By name of their own: this is asked for every line of every configuration, and an Enum's members are slow to look up.
_DONE_KIND, _CONTEXT_KIND, _LEFT_KIND = OutcomeKind.DONE, OutcomeKind.CONTEXT, OutcomeKind.LEFT
_DONE, _CONTEXT, _LEFT = Outcome(OutcomeKind.DONE), Outcome(OutcomeKind.CONTEXT), Outcome(OutcomeKind.LEFT)


class _RefusedError(Exception):
    """Refuse a line with the family's error `name`; never leaves this module."""

    def __init__(self, name: str, **values: object) -> None:
        self.name, self.values = name, values


@dataclass(frozen=True, slots=True)
class Line:
    """Hold one line of a family: its key, the context it lives in, how it is written ("" = only read), its answers.

    `answer` is printed whenever the line is understood, `done` after it where the line was carried out.
    """

    key: str
    context: ContextKind
    write: str
    mark: str
    tolerates_missing: bool
    answer: str
    done: Outcome


@dataclass(slots=True)
class _Node:
    """Hold one step of a context's word tree: literal words first, else one placeholder, or the end of a line."""

    words: dict[str, _Node] = field(default_factory=dict)
    kind: str = ""
    read: Callable[[str], Any] = str
    value: _Node | None = None
    end: tuple[Line, Callable[[Interpreter, Line, list[Any]], Outcome]] | None = None


_Meaning = tuple[Line, "Callable[[Interpreter, Line, list[Any]], Outcome]", list[Any]]
UNDERSTOOD_LINES = 1 << 16  # the switches of a fabric say the same lines over and over; bounds what is kept of them


class Grammar:
    """Hold the compiled command line of one model; made by `of`, shared and never changed."""

    _made: ClassVar[dict[tuple[object, ...], Grammar]] = {}  # a Platform holds dicts and cannot be a key itself

    @classmethod
    def of(cls, platform: Platform) -> Grammar:
        """Give the grammar of a model. Raises PlanError where tagloom cannot speak to it."""
        overrides = tuple(sorted(platform.words.items()))
        key = (platform.model, platform.grammar, platform.port_names, platform.max_vlan_id, platform.eee, overrides)
        if key not in cls._made:
            cls._made[key] = cls(platform)
        return cls._made[key]

    def __init__(self, platform: Platform) -> None:
        if not platform.grammar:
            raise PlanError(
                f"no command line is known for {platform.title}",
                way_out=f"write platforms/grammars/<family>.yml and name it in platforms/{platform.model}.yml",
            )
        self.platform = platform
        self._data = _family(platform.grammar)
        self.family: str = platform.grammar
        self.flow_control_scope: str = self._data["flow_control_scope"]
        self.falls_through: bool = self._data["blocks_fall_through"]
        self.name_length: int = self._data["name_length"]
        self.order: tuple[tuple[str, ...], ...] = tuple(tuple(phase["steps"]) for phase in self._data["order"])
        self.printed_order: tuple[tuple[str, ...], ...] = tuple(map(tuple, self._data["printed_order"]))
        self.prints_ranges: bool = self._data["printed_ports"] == "ranges"
        self.owned = tuple(f"{words} " for words in self._data["owned"])
        self.foreign_blocks = tuple(f"{words} " for words in self._data["foreign_blocks"])
        self.error_pattern: str = _error_pattern()
        self._is_error = re.compile(self.error_pattern, re.MULTILINE).search
        self._foreign = {ContextKind(k): tuple(f"{w} " for w in words) for k, words in self._data["foreign"].items()}
        self._ports_read: dict[str, tuple[int, ...]] = {}
        self._readers: dict[str, Callable[[str], Any]] = {
            "vlans": self._read_vlans,
            "vlan": self._read_vlan,
            "pvid": self._read_pvid,
            "ports": self.read_ports,
            "mac": parse_mac,
            "name": self._read_name,
            "seconds": _read_seconds,
            "mbps": _read_mbps,
        }
        self._writers: dict[str, Callable[[Any], str]] = {
            "vlans": lambda vlans: format_ranges(sorted(vlans)),
            "pvid": lambda vlan: str(self._data["discard_pvid"] if vlan == DISCARD_PVID else vlan),
            "ports": self.write_ports,
            "mac": lambda mac: format_mac(mac, self._data["mac_style"]),
            "name": lambda name: f'"{name}"' if " " in name else name,
        }
        printed: dict[str, str] = self._data.get("printed_as", {})
        self._printed = {key: text for key, text in printed.items() if key not in platform.words}
        self.lines: dict[str, Line] = {}
        self.trees: dict[ContextKind, _Node] = {kind: _Node() for kind in ContextKind}
        self.understood: dict[ContextKind, dict[str, _Meaning]] = {kind: {} for kind in ContextKind}
        self._compile()

    def line(self, key: str, *, printed: bool = False, **values: Any) -> str:
        """Write a line from native values: vlans and ports as numbers, mac as integer, pvid 0 for discard.

        `printed` asks for the running-config's own form. Raises KeyError where the family has no such line.
        """
        text = self._printed.get(key) if printed else None
        text = text or self.lines[key].write
        writers = self._writers
        return text.format_map({k: writers[k](v) if k in writers else v for k, v in values.items()}) if values else text

    def has(self, key: str) -> bool:
        """Tell whether the model has a line to write for `key`."""
        return key in self.lines and bool(self.lines[key].write)

    def enter(self, context: Context) -> str:
        """Write the line that enters a context from CONFIG."""
        if context.kind is ContextKind.VLAN_DATABASE:
            return self.line("vlan_database")
        if context.kind is ContextKind.INTERFACE_VLAN:
            return self.line("interface_vlan", vlan=context.vlan)
        return self.line("interface" if len(context.ports) == 1 else "interface_range", ports=context.ports)

    def prompt(self, hostname: str, context: Context) -> str:
        """Write the prompt of a context, with the blank behind it where the family prints one."""
        name = "interface-range" if len(context.ports) > 1 else context.kind.value
        port = self.platform.port_name(context.ports[0]) if context.ports else ""
        text: str = self._data["prompts"][name]
        return text.format(hostname=hostname, port=port, vlan=context.vlan)

    def is_error(self, text: str) -> bool:
        """Tell whether an answer of a switch reports an error."""
        return self._is_error(text) is not None

    def error(self, name: str, **values: object) -> str:
        """Write the family's text for an error by its name in the data file."""
        text: str = self._data["errors"][name]
        if "{rows}" in text:
            vlans: Sequence[int] = values["vlans"]  # type: ignore[assignment]  # vlan_missing always carries its VLANs
            row = self._data["errors"][f"{name}_row"]
            return text.format(count=len(vlans), rows="\n".join(row.format(vlan=vlan) for vlan in vlans))
        if isinstance(vlans_ := values.get("vlans"), list):
            values = {**values, "vlans": format_ranges(vlans_)}
        return text.format(**values) if values else text

    def is_foreign(self, kind: ContextKind, line: str) -> bool:
        """Tell whether a line is harmless business of others that the switch takes in this context."""
        return f"{line.strip().removeprefix('no ')} ".startswith(self._foreign.get(kind, ()))

    def entry_lines(self, macs: Sequence[int], ports: Sequence[int], *, printed: bool = False) -> list[str]:
        """Write a static entry's line for each MAC address and its one port, as `line` does one by one."""
        mark = "\0"  # stands in no line
        text = (self._printed.get("entry") if printed else None) or self.lines["entry"].write
        parts = text.format(mac=f"{mark}m{mark}", ports=f"{mark}p{mark}").split(mark)
        names, style = {port: self.write_ports([port]) for port in set(ports)}, self._data["mac_style"]
        m, p = parts.index("m"), parts.index("p")
        between = parts[m + 1] if m < p else parts[p + 1]
        before, after = parts[0], parts[-1]
        if m < p:
            rows = zip(macs, ports, strict=True)
            return [f"{before}{_written_mac(mac, style)}{between}{names[port]}{after}" for mac, port in rows]
        rows = zip(macs, ports, strict=True)
        return [f"{before}{names[port]}{between}{_written_mac(mac, style)}{after}" for mac, port in rows]

    def write_ports(self, ports: Iterable[int]) -> str:
        """Write port numbers as this family lists ports: ``g(1-3,5)`` or ``1/g1-1/g3,1/g5``."""
        ports = sorted(set(ports))
        if len(ports) == 1:
            return self.platform.port_name(ports[0])
        parts: list[str] = []
        for prefix, group in groupby(map(self._port_parts.__getitem__, ports), key=lambda part: part[0]):
            numbers = [number for _, number in group]
            if self._data["port_list"] == "names":
                runs = (run.split("-") for run in format_ranges(numbers).split(","))
                parts.extend("-".join(f"{prefix}{end}" for end in run) for run in runs)
            else:
                parts.append(f"{prefix}{numbers[0]}" if len(numbers) == 1 else f"{prefix}({format_ranges(numbers)})")
        return ",".join(parts)

    def read_ports(self, text: str) -> tuple[int, ...]:
        """Read a list of ports in either family's way, ascending. Raises ValueError for a port the model lacks."""
        ports = self._ports_read.get(text)
        if ports is None:
            numbers: set[int] = set()
            for part in re.split(r",(?![^(]*\))", text):
                if grouped := re.fullmatch(rf"([^()]*)\(({_RANGES.pattern})\)", part):
                    names = [f"{grouped[1]}{n}" for n in parse_ranges(grouped[2])]
                    numbers.update(map(self._read_port, names))
                else:
                    first, dash, last = part.partition("-")
                    low = self._read_port(first)
                    prefix = first.rstrip("0123456789")
                    high = self._read_port(f"{prefix}{last}" if last.isdigit() else last) if dash else low
                    if high < low:
                        raise ValueError(f"range runs backwards: {part!r}")
                    numbers.update(range(low, high + 1))
            ports = tuple(sorted(numbers))
            if len(self._ports_read) < 4096:  # bounds what a chatty console can make us keep
                self._ports_read[text] = ports
        return ports

    @cached_property
    def _port_parts(self) -> dict[int, tuple[str, int]]:
        parts: dict[int, tuple[str, int]] = {}
        for number, name in enumerate(self.platform.port_names, start=1):
            prefix = name.rstrip("0123456789")
            parts[number] = (prefix, int(name[len(prefix) :]))
        return parts

    def _read_port(self, text: str) -> int:
        number = self.platform.port_number(text)
        if number is None:
            raise ValueError(f"no such port: {text!r}")
        return number

    def _read_vlan(self, text: str) -> int:
        vlan = _read_number(text)
        if not 1 <= vlan <= self.platform.max_vlan_id:
            raise ValueError(f"no such VLAN: {text!r}")
        return vlan

    def _read_vlans(self, text: str) -> list[int]:
        if not _RANGES.fullmatch(text):
            raise ValueError(f"not a list of VLANs: {text!r}")
        vlans = parse_ranges(text)
        if not (min(vlans) >= 1 and max(vlans) <= self.platform.max_vlan_id):
            raise ValueError(f"VLANs out of range: {text!r}")
        return vlans

    def _read_pvid(self, text: str) -> int:
        return DISCARD_PVID if text == str(self._data["discard_pvid"]) else self._read_vlan(text)

    def _read_name(self, text: str) -> str:
        name = text.strip().strip('"')
        if not 0 < len(name) <= self.name_length:
            raise ValueError(f"name too long: {name!r}")
        return name

    def _compile(self) -> None:
        places = {"flow-control": "config" if self.flow_control_scope == "global" else "interface"}
        for key, raw in self._data["lines"].items():
            if raw.get("needs") == "eee" and not self.platform.eee:
                continue
            write = self.platform.words.get(key, raw.get("write", ""))
            kind = ContextKind(places.get(raw["in"], raw["in"]))
            answer = raw.get("answer", "")
            text = "\n".join(part for part in (answer, raw.get("done", "")) if part)
            done = Outcome(OutcomeKind.DONE, text) if text else _DONE
            line = Line(key, kind, write, raw["mark"], raw.get("tolerates_missing", False), answer, done)
            self.lines[key] = line
            for pattern in filter(None, (write, raw.get("write"), self._printed.get(key), *raw.get("read", ()))):
                for words in _spellings(pattern):
                    self._plant(line, words)
        for tree in self.trees.values():
            tree.words["exit"] = _Node(end=(_EXIT, Interpreter.leave))
            tree.words["end"] = _Node(end=(_END, Interpreter.leave))

    def _plant(self, line: Line, words: Sequence[str]) -> None:
        node = self.trees[line.context]
        for word in words:
            if placeholder := _PLACEHOLDER.fullmatch(word):
                if node.value is None:
                    node.kind, node.read, node.value = placeholder[1], self._readers[placeholder[1]], _Node()
                elif node.kind != placeholder[1]:
                    raise ValueError(f"{line.key}: {node.kind} and {placeholder[1]} stand at the same place")
                node = node.value
            else:
                node = node.words.setdefault(word, _Node())
        if node.end is not None and node.end[0] is not line:
            raise ValueError(f"{' '.join(words)!r} means both {line.key} and {node.end[0].key}")
        node.end = (line, Interpreter.HANDLERS[line.key])


class Interpreter:
    """Carry out configuration lines on a SwitchEditor the way the model's own command line does.

    The one reading of each line, shared by the parser of running-configs and the consoles of the virtual rack.
    A line is carried out as a whole or not at all. `context` may be set to move the session.
    """

    def __init__(self, platform: Platform, editor: SwitchEditor) -> None:
        self.grammar = Grammar.of(platform)
        self.editor = editor
        self.context = CONFIG

    def feed(self, line: str) -> Outcome:
        """Carry out one line, without its newline; a blank line or a comment ("!") is carried out by doing nothing."""
        kind = self.context.kind
        known = self.grammar.understood[kind]
        if (meaning := known.get(line)) is not None:
            return self._carry_out(*meaning)
        words = line.split()
        if not words or words[0][0] == "!":
            return _DONE
        outcome = self._walk(self.grammar.trees[kind], words, line, known)
        if not outcome.accepted:
            if self.grammar.is_foreign(kind, " ".join(words)):
                return _DONE
            if self.grammar.falls_through and kind is not ContextKind.CONFIG:
                other = self._walk(self.grammar.trees[ContextKind.CONFIG], words, line, {})
                return other if other.accepted else outcome
        return outcome

    def _walk(self, node: _Node, words: list[str], line: str, known: dict[str, _Meaning]) -> Outcome:
        values: list[Any] = []
        for at, word in enumerate(words):
            step = node.words.get(word)
            if step is None:
                if node.value is None:
                    return Outcome(OutcomeKind.UNKNOWN, self._error("unknown", words, at))
                step, text = node.value, word
                if node.kind == "name":  # a name goes on to the end of the line
                    text = line.split(None, at)[at]
                try:
                    values.append(node.read(text))
                except ValueError:
                    name = _ERROR_OF_KIND.get(node.kind, node.kind)
                    return Outcome(OutcomeKind.REJECTED, self._error(name, words, at))
                if node.kind == "name":
                    node = step
                    break
            node = step
        if node.end is None:
            return Outcome(OutcomeKind.INCOMPLETE, self.grammar.error("incomplete"))
        if len(known) < UNDERSTOOD_LINES:
            known[line] = (*node.end, values)
        return self._carry_out(*node.end, values)

    def _carry_out(
        self, what: Line, carry_out: Callable[[Interpreter, Line, list[Any]], Outcome], values: list[Any]
    ) -> Outcome:
        try:
            return carry_out(self, what, values)
        except _RefusedError as refused:
            text = self.grammar.error(refused.name, **refused.values)
            # FASTPATH prints its warning before it looks the VLAN up.
            if what.answer and refused.name.startswith("vlan_missing"):
                text = f"{what.answer}\n\n{text}"
            return Outcome(OutcomeKind.REJECTED, text)

    def _error(self, name: str, words: list[str], at: int) -> str:
        return self.grammar.error(name, caret=" " * len(" ".join([*words[:at], ""])))

    # What the lines do. Checks come first, so that a refused line has changed nothing.

    def leave(self, line: Line, _: list[Any]) -> Outcome:
        """Leave one context, or all of them by `end`."""
        inside = self.context.kind is not ContextKind.CONFIG
        self.context = CONFIG
        return _CONTEXT if inside and line is _EXIT else _LEFT

    def _enter_vlan_database(self, _: Line, __: list[Any]) -> Outcome:
        self.context = VLAN_DATABASE
        return _CONTEXT

    def _enter_interface(self, _: Line, values: list[Any]) -> Outcome:
        self.context = Context(ContextKind.INTERFACE, ports=values[0])
        return _CONTEXT

    def _enter_interface_vlan(self, _: Line, values: list[Any]) -> Outcome:
        self._need_vlan(values[0], "vlan_missing_access")
        self.context = Context(ContextKind.INTERFACE_VLAN, vlan=values[0])
        return _CONTEXT

    def _create_vlans(self, line: Line, values: list[Any]) -> Outcome:
        for vlan in values[0]:
            self.editor.create_vlan(vlan)
        return line.done

    def _delete_vlans(self, line: Line, values: list[Any]) -> Outcome:
        if DEFAULT_VLAN in values[0]:
            raise _RefusedError("default_vlan")
        if missing := [vlan for vlan in values[0] if vlan not in self.editor.vlans]:
            raise _RefusedError("vlan_missing_delete", vlans=missing)
        editor = self.editor
        for vlan in values[0]:
            stranded = [
                p for p, pvid in enumerate(editor.pvid, 1) if pvid == vlan and not self._is(p, PortMode.GENERAL)
            ]
            editor.delete_vlan(vlan)
            for port in stranded:  # an access port returns to VLAN 1 with its PVID (N2000 guide p. 648)
                editor.set_member(DEFAULT_VLAN, port, Membership.UNTAGGED)
        return line.done

    def _name_vlan(self, line: Line, values: list[Any]) -> Outcome:
        self._need_vlan(self.context.vlan, "vlan_missing_access")
        self.editor.name_vlan(self.context.vlan, values[0] if values else "")
        return line.done

    def _set_mode(self, line: Line, _: list[Any]) -> Outcome:
        """Change the mode; of its VLANs a port keeps what the new mode can hold.

        What the old mode held beyond that is lost, as fake-switches has it; whether a real switch keeps it
        dormant and wakes it later is not known (Netgear's does).
        """
        editor, mode = self.editor, MODE_LINES[line.key]
        for port in self.context.ports:
            was, editor.mode[port - 1] = editor.mode[port - 1], mode
            if mode in (was, PortMode.GENERAL):
                continue
            native = editor.pvid[port - 1] or DEFAULT_VLAN
            for vlan, members in editor.members.items():
                if vlan != native and (mode is PortMode.ACCESS or members.get(port) is Membership.UNTAGGED):
                    members.pop(port, None)
            editor.set_member(native, port, Membership.UNTAGGED)
            editor.set_pvid(port, native)
            editor.frames[port - 1], editor.ingress_filter[port - 1] = Frames.ALL, True
        return line.done

    def _set_native(self, line: Line, values: list[Any]) -> Outcome:
        access = line.key != "trunk_native"
        self._need_mode(PortMode.ACCESS if access else PortMode.TRUNK, "not_access" if access else "not_trunk")
        vlan = values[0] if values else DEFAULT_VLAN
        self._need_vlan(vlan, "vlan_missing_access")
        for port in self.context.ports:
            if self.editor.pvid[port - 1] in self.editor.vlans:
                self.editor.set_member(self.editor.pvid[port - 1], port, Membership.NONE)
            self.editor.set_member(vlan, port, Membership.UNTAGGED)
            self.editor.set_pvid(port, vlan)
        return line.done

    def _set_members(self, line: Line, values: list[Any]) -> Outcome:
        trunk = line.key.startswith("trunk")
        self._need_mode(*((PortMode.TRUNK, "not_trunk") if trunk else (PortMode.GENERAL, "not_general")))
        vlans: list[int] = values[0] if values else [DEFAULT_VLAN]
        known = self.editor.members
        if missing := [vlan for vlan in vlans if vlan not in known]:
            if not line.tolerates_missing:
                raise _RefusedError("vlan_missing", vlans=missing)
            vlans = [vlan for vlan in vlans if vlan in known]
        how = _JOINS.get(line.key, Membership.NONE)
        for port in self.context.ports:
            for vlan in vlans:
                if not (trunk and vlan == self.editor.pvid[port - 1]):  # a trunk's native VLAN stays untagged
                    self.editor.set_member(vlan, port, how)
        return line.done

    def _set_pvid(self, line: Line, values: list[Any]) -> Outcome:
        self._need_mode(PortMode.GENERAL, "not_general_pvid")
        vlan = values[0] if values else DEFAULT_VLAN
        if vlan != DISCARD_PVID:
            self._need_vlan(vlan, "vlan_missing_pvid")
        for port in self.context.ports:
            self.editor.set_pvid(port, vlan)
        return line.done

    def _set_port_cell(self, line: Line, _: list[Any]) -> Outcome:
        cell, value = PORT_LINES[line.key]
        if cell in (Cell.FRAMES, Cell.INGRESS_FILTER):
            self._need_mode(PortMode.GENERAL, "not_general")
        column: list[Value] = getattr(self.editor, PORT_CELLS[cell][0])
        ports = self.context.ports if line.context is ContextKind.INTERFACE else range(1, self.editor.ports + 1)
        for port in ports:
            column[port - 1] = value
        return line.done

    def _set_speed(self, line: Line, values: list[Any]) -> Outcome:
        for port in self.context.ports:
            self.editor.speed_mbps[port - 1] = values[0]
        return line.done

    def _hold_nothing(self, line: Line, _: list[Any]) -> Outcome:
        return line.done

    def _set_spanning_tree(self, line: Line, _: list[Any]) -> Outcome:
        self.editor.spanning_tree = line.key == "spanning_tree_on"
        return line.done

    def _set_aging(self, line: Line, values: list[Any]) -> Outcome:
        self.editor.aging_seconds = values[0] if values else DEFAULT_AGING_SECONDS
        return line.done

    def _set_entry(self, line: Line, values: list[Any]) -> Outcome:
        vlan = self.context.vlan
        if vlan not in self.editor.vlans:
            raise _RefusedError("vlan_missing_access", vlans=[vlan])
        # The line replaces what the address was pinned to: a moved host is one line.
        self.editor.entries[vlan, values[0]] = values[1]
        return line.done

    def _drop_entry(self, line: Line, values: list[Any]) -> Outcome:
        self._need_vlan(self.context.vlan, "vlan_missing_access")
        self.editor.set_entry(self.context.vlan, values[0], ())
        return line.done

    def _is(self, port: int, mode: PortMode) -> bool:
        return self.editor.mode[port - 1] is mode

    def _need_mode(self, mode: PortMode, error: str) -> None:
        if not all(self._is(port, mode) for port in self.context.ports):
            raise _RefusedError(error)

    def _need_vlan(self, vlan: int, error: str) -> None:
        if vlan not in self.editor.vlans:
            raise _RefusedError(error, vlans=[vlan])

    HANDLERS: ClassVar[dict[str, Callable[[Interpreter, Line, list[Any]], Outcome]]] = {
        **dict.fromkeys(PORT_LINES, _set_port_cell),
        **dict.fromkeys(MODE_LINES, _set_mode),
        "vlan_database": _enter_vlan_database,
        "interface": _enter_interface,
        "interface_range": _enter_interface,
        "interface_vlan": _enter_interface_vlan,
        "vlan_create": _create_vlans,
        "vlan_delete": _delete_vlans,
        "vlan_name": _name_vlan,
        "no_vlan_name": _name_vlan,
        "access_vlan": _set_native,
        "no_access_vlan": _set_native,
        "trunk_native": _set_native,
        "trunk_join": _set_members,
        "trunk_leave": _set_members,
        "join_untagged": _set_members,
        "join_tagged": _set_members,
        "leave": _set_members,
        "leave_default": _set_members,
        "pvid": _set_pvid,
        "no_pvid": _set_pvid,
        "speed": _set_speed,
        "duplex": _hold_nothing,
        "spanning_tree_on": _set_spanning_tree,
        "spanning_tree_off": _set_spanning_tree,
        "aging": _set_aging,
        "no_aging": _set_aging,
        "entry": _set_entry,
        "no_entry": _drop_entry,
    }


_JOINS = {
    "join_untagged": Membership.UNTAGGED,
    "join_tagged": Membership.TAGGED,
    "trunk_join": Membership.TAGGED,
}
_ERROR_OF_KIND = {"pvid": "vlan", "seconds": "number", "mbps": "number"}
_EXIT = Line("exit", ContextKind.CONFIG, "exit", "confirmed", False, "", _DONE)
_END = Line("end", ContextKind.CONFIG, "end", "likely", False, "", _DONE)
_FAMILIES: dict[str, dict[str, Any]] = {}


@lru_cache(maxsize=1 << 16)
def _written_mac(mac: int, style: str) -> str:
    return format_mac(mac, style)


def _family(name: str) -> dict[str, Any]:
    if name not in _FAMILIES:
        _FAMILIES[name] = yaml.safe_load((files("tagloom.platforms") / "grammars" / f"{name}.yml").read_text("utf-8"))
    return _FAMILIES[name]


def _error_pattern() -> str:
    """Join the error patterns of all families: relatives borrow each other's texts between firmwares."""
    folder = files("tagloom.platforms") / "grammars"
    names = sorted(f.name.removesuffix(".yml") for f in folder.iterdir() if f.name.endswith(".yml"))
    return "|".join(dict.fromkeys(pattern for name in names for pattern in _family(name)["error_pattern"]))


def _spellings(pattern: str) -> Iterator[tuple[str, ...]]:
    """Give every spelling of a pattern as words.

    >>> list(_spellings("duplex full|half [now]"))
    [('duplex', 'full', 'now'), ('duplex', 'full'), ('duplex', 'half', 'now'), ('duplex', 'half')]
    """
    choices: list[list[str]] = []
    for word in pattern.split():
        optional = word.startswith("[") and word.endswith("]")
        options = (word[1:-1] if optional else word).split("|")
        choices.append([*options, ""] if optional else options)
    for words in product(*choices):
        yield tuple(word for word in words if word)


def _read_number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):  # int() alone would take "1_0" and "-1"
        raise ValueError(f"not a number: {text!r}")
    return int(text)


def _read_seconds(text: str) -> int:
    seconds = _read_number(text)
    if not 10 <= seconds <= 1_000_000:  # FASTPATH's range; what ROS takes is not recorded
        raise ValueError(f"not an aging time: {text!r}")
    return seconds


def _read_mbps(text: str) -> int:
    if text not in ("10", "100", "1000", "10000"):
        raise ValueError(f"not a speed: {text!r}")
    return int(text)
