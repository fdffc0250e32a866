"""The lines of a switch family, compiled from its data file: how each is written, and what each may say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

from tagloom.errors import Finding, InputError, PlanError
from tagloom.platforms.family import families, family
from tagloom.platforms.port_lists import NUMBERS, PortLists
from tagloom.platforms.words import read_words
from tagloom.records.change import Cell, Value
from tagloom.records.switch_state import DISCARD_PVID, MAX_VLAN, FlowControl, Frames, PortMode
from tagloom.units import format_mac, format_ranges, parse_mac, parse_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tagloom.platforms import Platform

# Lines that set one cell of every port they are given to; a line that lives in CONFIG sets it on all ports at once.
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
_CHANNEL = re.compile(r"(?<=[ (])port-channel\s*(?=\d)", re.IGNORECASE)  # Port-channel1, as an SG300 prints it
_SPACED_VLANS = re.compile(r"(?:(?<=\bvlan )|(?<=\bbatch ))\d{1,4}(?: to \d{1,4}| \d{1,4})+(?= |$)")  # vlan 1 3 to 5


class ContextKind(StrEnum):
    """Where on the command line a session stands, below privileged exec."""

    CONFIG = "config"
    VLAN_DATABASE = "vlan-database"
    INTERFACE = "interface"
    INTERFACE_VLAN = "interface-vlan"


@dataclass(frozen=True, slots=True)
class Context:
    """Where a session stands, with the port numbers of INTERFACE or the VLAN of INTERFACE_VLAN."""

    kind: ContextKind
    ports: tuple[int, ...] = ()
    vlan: int = 0


CONFIG = Context(ContextKind.CONFIG)
VLAN_DATABASE = Context(ContextKind.VLAN_DATABASE)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a family: its key, the context it lives in, whether it is written or only read, its answers.

    `answer` is printed whenever the line is understood, `done` instead where the line was carried out. `enters` says
    that it leads into a context of its own, which an `exit` must close, `enters_one` that it does so where it names one
    VLAN alone. It lists `runs` ranges of VLANs at most, 0 = any number.
    """

    key: str
    context: ContextKind
    written: bool
    mark: str
    tolerates_missing: bool = False
    answer: str = ""
    done: str = ""
    enters: bool = False
    enters_one: bool = False
    runs: int = 0

    def leads_away(self, values: int) -> bool:
        """Return whether the line, with so many values in its list, leads into a context of its own."""
        return self.enters or (self.enters_one and values == 1)


@dataclass(frozen=True, slots=True)
class Banner:
    """Text for people that a line begins: the mark that ends it, a whole `line` or not, and the text so far.

    `body` is what its other lines look like.
    """

    end: str
    text: str
    line: bool
    body: re.Pattern[str]


EXIT = Line("exit", ContextKind.CONFIG, True, "confirmed")
END = Line("end", ContextKind.CONFIG, True, "likely")


@dataclass(slots=True)
class Node:
    """One step of a context's word tree: literal words first, else one placeholder, or the end of a line."""

    words: dict[str, Node] = field(default_factory=dict)
    kind: str = ""
    read: Callable[[str], Any] = str
    value: Node | None = None
    end: Line | None = None
    where: str = ""  # the file, and line, that the end stands in


@dataclass(frozen=True, slots=True)
class ScheduledReload:
    """A family's words for a reload from the saved configuration at a set time.

    `question` is the line begun whose `?` must offer the words `offers`; `arm` takes {minutes}; what `show` answers has
    `shows` in it while a reload is scheduled.
    """

    question: str
    offers: tuple[str, ...]
    arm: str
    call_off: str
    show: str
    shows: str
    mark: str
    source: str = ""  # the transcript that confirmed them

    def pending(self, answer: str) -> bool:
        """Return whether the answer to `show` says that a reload is scheduled."""
        return re.search(self.shows, answer, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class SessionWords:
    """What a session types besides configuration lines: to move, to look and to save.

    `enable` and `clock` are "" where there is nothing of the kind; `leave` leaves one context and `end` all of them;
    `negation` takes a line away, `comment` begins a line that says nothing. `brackets` says that prompts are
    ``<NAME>`` and ``[NAME-context]``, not ``NAME#`` and ``NAME(context)#``,
    `confirms` that some lines are asked about. `names_host` begins the line that names the
    switch, `shows` are pages to be recorded, `versions` say what it is; a `?` is typed behind `helps`.
    """

    enable: str = "enable"
    configure: str = "configure"
    leave: str = "exit"
    end: str = "end"
    confirms: bool = False
    negation: str = "no"
    comment: str = "!"
    running: str = "show running-config"
    startup: str = "show startup-config"
    save: str = "copy running-config startup-config"
    clock: str = "show clock"
    addresses: str = ""
    switchport: str = "show interfaces switchport {port}"
    helps: tuple[str, ...] = ("show ", "reload ")
    names_host: str = "hostname"
    brackets: bool = False
    shows: tuple[str, ...] = ("show version", "show system", "show vlan", "show interfaces status")
    versions: tuple[str, ...] = ("show system", "show version")


@dataclass(frozen=True, slots=True)
class Whole:
    """What a family's running configuration always has, so that an answer without it is none, or a part of one.

    `begins` is how one of its lines does, `ends` its last line, each "" where nobody knows; `closes` says that every
    block is closed by an `exit`, `speaks` that it is never empty.
    """

    begins: str = ""
    ends: str = ""
    closes: bool = False
    speaks: bool = False


class Grammar:
    """The compiled command line of one switch; made by `of`, shared and never changed.

    `understood` keeps, by context, what lines were found to mean. `switchwide` are the cells that one line sets on all
    ports at once. `lldp` says how LLDP is switched on (`lines`, in context `in`) and shown (`neighbours`).
    `changes_by_access` says that trunk and general ports become each other by way of access mode alone,
    `changes_from_defaults` that a mode changes in VLAN 1 alone, `discards_into_vlan_1` that the PVID by which a port
    drops untagged frames brings them into VLAN 1 where the port is in that, `promises_vlans` that
    a port may be said to be in VLANs that are not there yet, `shows_spanning_tree` that a
    running-config without a word of it means that spanning tree is off, `falls_through` are the lines of the whole
    switch that hold inside of a block, too, and end it (None = all), `trunks_by_default` says that ports are trunks
    until a line says otherwise, `lists_by_adding` that a trunk's list may be printed by lines that add to it alone,
    `keeps_other_mode` that ports are access ports
    or trunks with a list of VLANs, and what is said of the mode that a port is not in is kept for when it is,
    `forgets_other_modes` that a port keeps nothing of other modes than its own,
    `prints_other_modes` that a running-config says of ports what would hold were they access ports or trunks.
    `kept_id` is the VLAN that a switch could have and tagloom takes for the PVID by which ports drop frames (0 = none).
    `scheduled_reload` says how the switch is told to reload at a set time, None where nobody knows.
    """

    _made: ClassVar[dict[tuple[object, ...], Grammar]] = {}  # a Platform holds dicts and cannot be a key itself

    @classmethod
    def of(cls, platform: Platform) -> Grammar:
        """Return the grammar of a model. Raises PlanError where tagloom cannot speak to it."""
        own = platform.model, platform.grammar, platform.port_names, platform.max_vlan_id, platform.eee
        key = (*own, platform.firmware, platform.templates)
        if key not in cls._made:
            cls._made[key] = cls(platform)
        return cls._made[key]

    def __init__(self, platform: Platform) -> None:
        if not platform.grammar:
            raise PlanError(
                f"no command line is known for {platform.title}",
                next_step=f"write platforms/grammars/<family>.yml and name it in platforms/{platform.model}.yml",
            )
        self.platform = platform
        self._data = family(platform.grammar, platform.firmware)
        self._spaced = self._data.get("vlan_list") == "spaced"
        self.code: str = self._data["code"]
        self.lldp: dict[str, Any] = self._data["lldp"]
        reload_words = self._data.get("scheduled_reload")
        self.scheduled_reload = (
            ScheduledReload(**reload_words | {"offers": tuple(reload_words["offers"])}) if reload_words else None
        )
        through: bool | list[str] = self._data["blocks_fall_through"]
        self.falls_through = frozenset(() if through is False else through) if through is not True else None
        self.trunks_by_default: bool = self._data.get("trunks_by_default", False)
        self.forgets_other_modes: bool = self._data.get("forgets_other_modes", False)
        self.lists_by_adding: bool = self._data.get("lists_by_adding", False)
        self.prints_other_modes: bool = self._data.get("prints_other_modes", False)
        self.changes_by_access: bool = self._data.get("modes_change_by_access", False)
        self.changes_from_defaults: bool = self._data.get("modes_from_defaults", False)
        self.discards_into_vlan_1: bool = self._data.get("discards_into_vlan_1", False)
        self.promises_vlans: bool = self._data.get("promises_vlans", False)
        self.shows_spanning_tree: bool = self._data.get("shows_spanning_tree", False)
        self.keeps_other_mode: bool = self._data.get("keeps_other_mode", False)
        last = int(self._data["discard_pvid"])
        self.kept_id = last if platform.max_vlan_id < last <= MAX_VLAN else 0
        self._discard: str = str(self._data.get("discard_word", self._data["discard_pvid"]))
        self.name_length: int = self._data["name_length"]
        said: dict[str, Any] = self._data.get("session", {})
        lists: dict[str, Any] = {key: tuple(word) for key, word in said.items() if isinstance(word, list)}
        self.session = SessionWords(**(said | lists))
        self.whole = Whole(**self._data.get("whole", {}))
        self.order: tuple[tuple[str, ...], ...] = tuple(tuple(phase["steps"]) for phase in self._data["order"])
        self.owned = tuple(f"{words} " for words in self._data["owned"])
        self.foreign_blocks = tuple(f"{words} " for words in self._data["foreign_blocks"])
        self.error_pattern: str = _error_pattern()
        banners = [each if isinstance(each, dict) else {"begins": each} for each in self._data.get("banners", ())]
        self._banners = [
            (re.compile(each["begins"]), each.get("ends", ""), re.compile(each.get("body", ".*"))) for each in banners
        ]
        self._idle = [(row["given"], re.compile("|".join(row["lines"]))) for row in self._data.get("idle", ())]
        self._is_error = re.compile(self.error_pattern, re.MULTILINE).search
        self._foreign = {ContextKind(k): tuple(f"{w} " for w in words) for k, words in self._data["foreign"].items()}
        self.port_lists = PortLists(platform, self._data)
        self._readers: dict[str, Callable[[str], Any]] = {
            "vlans": self._read_vlans,
            "vlan": self._read_vlan,
            "pvid": self._read_pvid,
            "ports": self.port_lists.read,
            "channels": self.port_lists.read_channels,
            "mac": parse_mac,
            "name": self._read_name,
            "seconds": _read_seconds,
            "mbps": _read_mbps,
        }
        spelt_out = self._data.get("long_names") and self._data.get("writes_long_names", True)
        self._writers: dict[str, Callable[[Any], str]] = {
            "vlans": self._write_vlans,
            "pvid": lambda vlan: self._discard if vlan == DISCARD_PVID else str(vlan),
            "ports": self.port_lists.write_long if spelt_out else self.port_lists.write,
            "channels": self.port_lists.write_channels,
            "mac": self._write_mac,
            "name": lambda name: f'"{name}"' if " " in name else name,
            **dict.fromkeys(("vlan", "seconds", "mbps"), str),
        }
        self.words = read_words(platform.grammar, platform.templates)
        self._printed = self._data.get("printed_as", {})
        self.lines: dict[str, Line] = {}
        self.trees: dict[ContextKind, Node] = {kind: Node() for kind in ContextKind}
        self.understood: dict[ContextKind, dict[str, tuple[Line, list[Any]]]] = {kind: {} for kind in ContextKind}
        self._formats: dict[str, tuple[str, dict[str, str]]] = {}
        self._compile()
        self.switchwide = frozenset(
            cell for key, (cell, _) in PORT_LINES.items() if self.has(key) and self.lines[key].context is CONFIG.kind
        )

    @property
    def shows_addresses(self) -> str:
        """Return the command that shows the address table: named as the lines that fill it are, unless they say."""
        if self.session.addresses:
            return self.session.addresses
        entry = self.line("entry", vlan=1, mac=0, ports=[1])
        return "show mac address-table" if entry.startswith("mac") else "show bridge address-table"

    def line(self, key: str, *, printed: bool = False, **values: Any) -> str:
        """Write a line from native values: vlans and ports as numbers, mac as integer, PVID 0 for discard.

        `printed` asks for the running-config's own form. Raises KeyError where the family has no such line.
        """
        text, kinds = self._formats[self._printed.get(key, key) if printed else key]
        if not kinds:
            return text
        return text.format_map({name: self._writers[kind](values[name]) for name, kind in kinds.items()})

    def has(self, key: str) -> bool:
        """Return whether the model has a line to write for `key`."""
        return key in self.lines and self.lines[key].written

    def parameters(self, key: str) -> tuple[str, ...]:
        """Return the parameters of a line's macro in tagloom's own order."""
        return self.words[key][-1].parameters

    def parts(self, key: str) -> tuple[str, ...]:
        """Return the words of a line that is written, with {parameter} where a value stands."""
        return tuple(self._formats[key][0].split())

    def kinds(self, key: str) -> dict[str, str]:
        """Return of each parameter of a line that is written what kind of value it takes."""
        return dict(self._formats[key][1])

    def enter(self, context: Context) -> str:
        """Write the line that enters a context from CONFIG."""
        if context.kind is ContextKind.VLAN_DATABASE:
            return self.line("vlan_database")
        if context.kind is ContextKind.INTERFACE_VLAN:
            if view := next((key for key in ("interface_vlan", "vlan_view") if key in self.lines), ""):
                return self.line(view, vlan=context.vlan)
            return self.line("vlan_create", vlans=[context.vlan])
        several = "_range" if len(context.ports) > 1 else ""
        if context.ports[0] > self.platform.physical_ports and "channel" in self.lines:
            return self.line(f"channel{several}", channels=context.ports)
        return self.line(f"interface{several}", ports=context.ports)

    def prompt(self, hostname: str, context: Context) -> str:
        """Write the prompt of a context, with the blank behind it where the family prints one."""
        name = "interface-range" if len(context.ports) > 1 else context.kind.value
        port = self.platform.port_name(context.ports[0]) if context.ports else ""
        long = self.port_lists.write_long(context.ports[:1]) if context.ports else ""
        text: str = self._data["prompts"][name]
        return text.format(hostname=hostname, port=port, long=long, vlan=context.vlan)

    def banner_of(self, line: str) -> Banner | None:
        """Return what ends the text that a line begins, None for a line that begins none."""
        for begins, ends, body in self._banners:
            if found := begins.fullmatch(line):
                end, text = (ends, "") if ends else (found["end"], found["text"])
                return Banner(end, text, line=bool(ends), body=body)
        return None

    def without_defaults(self, lines: list[str]) -> list[str]:
        """Return the lines of a text, empty in the place of the defaults that a switch prints behind them."""
        printed: dict[str, Any] = self._data.get("defaults", {})
        if not printed:
            return lines
        line = re.compile("|".join(printed["lines"]))
        at = lines.index(printed["begins"]) if printed["begins"] in lines else len(lines)
        if not all(not each or line.fullmatch(each) for each in lines[at + 1 :]):
            return lines
        shown = [each for each in lines[:at] if each]
        kept = [""] * at if shown == [printed["alone"]] else lines[:at]
        return [*kept, *("" for _ in lines[at:])]

    def without_idle(self, lines: list[str]) -> list[str]:
        """Return the lines of a text, empty in the place of those that another line of it switches off."""
        for given, idle in self._idle:
            if given in lines:
                lines = ["" if idle.fullmatch(line) else line for line in lines]
        return lines

    def is_error(self, text: str) -> bool:
        """Return whether an answer of a switch reports an error."""
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
        """Return whether a line is harmless business of others that the switch takes in this context."""
        return f"{line.strip().removeprefix(f'{self.session.negation} ')} ".startswith(self._foreign.get(kind, ()))

    def entry_context(self, vlan: int) -> Context:
        """Return where static entries of a VLAN are written."""
        inside = self.lines["entry"].context is ContextKind.INTERFACE_VLAN
        return Context(ContextKind.INTERFACE_VLAN, vlan=vlan) if inside else CONFIG

    def entry_line(self, vlan: int, mac: int, ports: Sequence[int], *, printed: bool = False) -> str:
        """Write a static entry; one that leads to a single port-channel has words of its own."""
        if len(ports) == 1 and ports[0] > self.platform.physical_ports and "entry_channel" in self.lines:
            return self.line("entry_channel", printed=printed, vlan=vlan, mac=mac, channels=ports)
        return self.line("entry", printed=printed, vlan=vlan, mac=mac, ports=ports)

    def entry_lines(self, vlan: int, macs: Sequence[int], ports: Sequence[int], *, printed: bool = False) -> list[str]:
        """Write a static entry's line for each MAC address and its one port, as `entry_line` does one by one."""
        mac = self._write_mac(0)
        around = {port: self.entry_line(vlan, 0, [port], printed=printed).split(mac) for port in set(ports)}
        style = self._data["mac_style"]
        rows = ((_written_mac(mac, style), around[port]) for mac, port in zip(macs, ports, strict=True))
        return [f"{before}{mac}{after}" for mac, (before, after) in rows]

    def shorten(self, line: str) -> str:
        """Write the ports and the VLANs of a line so that each list is one word."""
        line = self.port_lists.shorten(line)
        if "channel" in self.lines:
            line = _CHANNEL.sub("port-channel ", line)
        if not self._spaced:
            return line
        return _SPACED_VLANS.sub(lambda found: found[0].replace(" to ", "-").replace(" ", ","), line)

    def write_ports(self, ports: Iterable[int]) -> str:
        """Write port numbers as this family lists ports: ``g(1-3,5)`` or ``1/g1-1/g3,1/g5``."""
        return self.port_lists.write(ports)

    def read_ports(self, text: str) -> tuple[int, ...]:
        """Read a list of ports in any family's way, ascending. Raises ValueError for a port the model lacks."""
        return self.port_lists.read(text)

    def _write_vlans(self, vlans: Iterable[int]) -> str:
        text = format_ranges(sorted(vlans))
        return text.replace(",", " ").replace("-", " to ") if self._spaced else text

    def _write_mac(self, mac: int) -> str:
        return format_mac(mac, self._data["mac_style"])

    def _read_vlan(self, text: str) -> int:
        vlan = _read_number(text)
        if not 1 <= vlan <= self.platform.max_vlan_id:
            raise ValueError(f"no such VLAN: {text!r}")
        return vlan

    def _read_vlans(self, text: str) -> list[int]:
        if not NUMBERS.fullmatch(text):
            raise ValueError(f"not a list of VLANs: {text!r}")
        vlans = sorted(set(parse_ranges(text)))
        if not (vlans[0] >= 1 and vlans[-1] <= self._data.get("vlan_lists_to", self.platform.max_vlan_id)):
            raise ValueError(f"VLANs out of range: {text!r}")
        return vlans

    def _read_pvid(self, text: str) -> int:
        return DISCARD_PVID if text == self._discard else self._read_vlan(text)

    def _read_name(self, text: str) -> str:
        name = text.strip().strip('"')
        if not 0 < len(name) <= self.name_length:
            raise ValueError(f"name too long: {name!r}")
        return name

    def _compile(self) -> None:
        for key, raw in self._data["lines"].items():
            if raw.get("needs") == "eee" and not self.platform.eee:
                continue
            spellings = self.words.get(raw.get("macro", key), ())
            answer = raw.get("answer", "")
            done = "\n".join(part for part in (answer, raw.get("done", "")) if part)
            flags = [bool(raw.get(flag, False)) for flag in ("tolerates_missing", "enters", "enters_one")]
            runs = raw.get("runs", self._data.get("vlan_runs", 0))
            at, mark = ContextKind(raw["in"]), raw["mark"]
            line = Line(key, at, bool(spellings), mark, flags[0], answer, done, flags[1], flags[2], runs)
            self.lines[key] = line
            if spellings:
                self._formats[key] = spellings[0].format, spellings[0].kinds
            if key in self._printed:
                printed = self.words[self._printed[key]]
                # an operator's own words of a line are what its running-config prints, too, unless he says otherwise
                own = len(spellings) > 1 and len(printed) == 1
                self._formats[self._printed[key]] = self._formats[key] if own else (printed[0].format, printed[0].kinds)
                spellings = (*spellings, *printed)
            for spelling in spellings:
                self._plant(
                    line,
                    [word if isinstance(word, str) else f"{{{word[1]}}}" for word in spelling.words],
                    spelling.where,
                )
            for pattern in raw.get("read", ()):
                for words in _spellings(pattern):
                    self._plant(line, words, f"{self.platform.grammar}.yml")
        for tree in self.trees.values():
            tree.words[self.session.leave], tree.words[self.session.end] = Node(end=EXIT), Node(end=END)

    def _plant(self, line: Line, words: Sequence[str], where: str) -> None:
        node = self.trees[line.context]
        for word in words:
            if placeholder := _PLACEHOLDER.fullmatch(word):
                if node.value is None:
                    node.kind, node.read, node.value = placeholder[1], self._readers[placeholder[1]], Node()
                elif node.kind != placeholder[1]:
                    raise InputError([Finding(where, f"{node.kind} at the place of {word}", line.key)])
                node = node.value
            else:
                node = node.words.setdefault(word, Node())
        if node.end is not None and node.end is not line:
            both = [(where, line.key), (node.where, node.end.key)]
            (at, key), (_, other) = sorted(both, key=lambda each: each[0].startswith("tagloom's "))
            raise InputError([Finding(at, f"words that mean {key} alone", f"{' '.join(words)!r}, as {other}")])
        node.end, node.where = line, where


@lru_cache(maxsize=1 << 16)
def _written_mac(mac: int, style: str) -> str:
    return format_mac(mac, style)


def _error_pattern() -> str:
    """Join the error patterns of all families: relatives borrow each other's texts between firmwares."""
    return "|".join(dict.fromkeys(pattern for name in families() for pattern in family(name)["error_pattern"]))


def _spellings(pattern: str) -> Iterator[tuple[str, ...]]:
    """Yield every spelling of a pattern as words.

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


def switchwide(platform: Platform) -> frozenset[Cell]:
    """Return the cells that one line of a model sets on all of its ports; a Linux machine's lines name their ports."""
    return Grammar.of(platform).switchwide if platform.has_modes else frozenset()
