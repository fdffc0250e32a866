"""Gather the switches, hosts and links that another tool drew, and write them as a fabric file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.platforms.port_names import too_fast
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_form import one_model
from tagloom.read.fabric_text import format_fabric
from tagloom.records.fabric import Fabric, Host, Link, Switch
from tagloom.storage.document import shown
from tagloom.units import format_mac, is_host_address, parse_mac

MOST_PARTS = 1 << 18  # switches, hosts and links of one drawing
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_LINE = re.compile(r":\d+  (?=[a-z])")  # of the text that is made here, which nobody sees


@dataclass(frozen=True, slots=True)
class DrawnHost:
    """A host: the switch it is plugged into, and its port in the model's own words, "" for any that is free."""

    name: str
    switch: str
    port: str = ""
    macs: tuple[int, ...] = ()
    uplink: bool = False


@dataclass(frozen=True, slots=True)
class DrawnLink:
    """A link: its two ends, each a switch and its ports, several where it is aggregated, none for any that is free.

    `where` names it in findings. `lags` are the port-channels at its ends as the drawing calls them, "" for any.
    """

    where: str
    ends: tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]
    speed_mbps: int = 0
    up: bool = True
    dead: bool = False
    lags: tuple[str, str] | None = None


@dataclass(slots=True)
class Drawing:
    """The parts of a fabric as they are read, by name, and what is wrong with them.

    `findings` make the drawing one that cannot be used; `remarks` say what was left out of it.
    """

    source: str
    name: str
    switches: dict[str, Switch] = field(default_factory=dict)
    hosts: dict[str, DrawnHost] = field(default_factory=dict)
    links: list[DrawnLink] = field(default_factory=list)
    reserved: dict[tuple[str, str], None] = field(default_factory=dict)  # (switch, port) of what was left out
    findings: list[Finding] = field(default_factory=list)
    remarks: list[Finding] = field(default_factory=list)

    def find(self, where: str, expected: str, actual: str) -> None:
        """Note what makes it none that can be used; `where` is a part of it, "" for the whole."""
        self.findings.append(Finding(f"{self.source}: {where}" if where else self.source, expected, actual))

    def mac(self, where: str, text: str) -> int:
        """Return the address of a network card, 0 with a finding where it is none."""
        try:
            mac = parse_mac(text)
        except ValueError:
            mac = 0
        if is_host_address(mac):
            return mac
        self.find(where, "the MAC address of a network card", format_mac(mac) if mac else shown(text))
        return 0

    def remark(self, where: str, expected: str, actual: str) -> None:
        """Note what was left out, or is to be filled in."""
        self.remarks.append(Finding(where, expected, actual))


def check_model(drawing: Drawing, where: str, model: str) -> None:
    """Note a model that tagloom does not know."""
    if not platforms.is_model(model):
        drawing.find(where, one_model(model), repr(model))


def fabric_of_drawing(drawing: Drawing) -> tuple[Fabric, str]:
    """Return the fabric, and the text of its file. Raises InputError with all findings.

    Ends without a port get the lowest that nothing else takes, links first, then hosts, in the drawing's order.
    """
    if not drawing.switches:
        drawing.find("", "switches: nodes with a model, or of the kind switch", "none")
    for name in (*drawing.switches, *drawing.hosts):
        if _NAME.fullmatch(name) is None:
            drawing.find(name, "a name of letters, digits, dot, hyphen, underscore", repr(name))
    for name in drawing.switches.keys() & drawing.hosts.keys():
        drawing.find(name, "one part of this name", "a switch and a host")
    fabric = _with_ports(drawing)
    if drawing.findings:
        raise InputError(drawing.findings)
    text = format_fabric(fabric)
    try:
        return parse_fabric(text, drawing.source), text
    except InputError as error:
        raise InputError(Finding(_LINE.sub(": ", f.where), f.expected, f.actual) for f in error.findings) from None


class _Ports:
    """The ports of all switches while they are given out; those of a model that is not known are not looked at."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        known = {name: switch.model for name, switch in drawing.switches.items() if platforms.is_model(switch.model)}
        self._platform = {name: platforms.load(model) for name, model in known.items()}
        self._taken: dict[tuple[str, int], str] = {}
        self._lowest = dict.fromkeys(drawing.switches, 1)

    def count(self, switch: str) -> int:
        """Return how many ports a switch has, 0 where its model is not known."""
        return self._platform[switch].ports if switch in self._platform else 0

    def named(self, where: str, switch: str, word: str) -> int:
        """Take the port that is named, 0 with a finding where there is none, or another part has it."""
        if (platform := self._platform.get(switch)) is None:
            return 0
        number = platform.port_number(word)
        if number is None or number > platform.physical_ports:
            names = platform.port_names[: platform.physical_ports]
            self._drawing.find(where, f"a port of {switch}, {platform.title} ({names[0]} to {names[-1]})", repr(word))
            return 0
        if (other := self._taken.setdefault((switch, number), where)) != where:
            self._drawing.find(where, "a free port", f"{switch}:{platform.port_name(number)} (taken by {other})")
            return 0
        return number

    def free(self, where: str, switch: str) -> int:
        """Take the lowest free port, 0 with a finding where there is none."""
        if (platform := self._platform.get(switch)) is None:
            return 0
        number = self._lowest[switch]
        while (switch, number) in self._taken:
            number += 1
        self._lowest[switch] = number
        if number > platform.physical_ports:
            self._drawing.find(where, f"a free port of {switch}", f"all {platform.physical_ports} are taken")
            return 0
        self._taken[switch, number] = where
        return number

    def channel(self, where: str, switch: str, word: str) -> int:
        """Take the port-channel that is named, else the lowest that is free; 0 with a finding where there is none."""
        if (platform := self._platform.get(switch)) is None:
            return 0
        number = platform.port_number(word) if word else None
        if number is None or number <= platform.physical_ports or (switch, number) in self._taken:
            numbers = range(platform.physical_ports + 1, platform.ports + 1)
            number = next((n for n in numbers if (switch, n) not in self._taken), 0)
        if not number:
            channels = platform.ports - platform.physical_ports
            self._drawing.find(where, f"at most {channels} port-channels on {switch}", "more")
        self._taken[switch, number] = where
        return number


def _with_ports(drawing: Drawing) -> Fabric:
    """Return the fabric of a drawing, every part at a port; findings are the drawing's."""
    ports = _Ports(drawing)
    index = {name: i for i, name in enumerate(drawing.switches)}
    by_link = [
        [[ports.named(link.where, switch, word) for word in words] for switch, words in link.ends]
        for link in drawing.links
    ]
    by_host = {name: ports.named(name, host.switch, host.port) for name, host in drawing.hosts.items() if host.port}
    reserved = sorted((index[name], ports.named(f"{name}:{word}", name, word)) for name, word in drawing.reserved)
    links, hosts = [], []
    for link, taken in zip(drawing.links, by_link, strict=True):
        (a, _), (b, _) = link.ends
        if len(taken[0]) != len(taken[1]) and taken[0] and taken[1]:
            drawing.find(link.where, "as many ports at each end", f"{len(taken[0])} and {len(taken[1])}")
            continue
        count = max(len(taken[0]), len(taken[1]), 1)
        at = [
            own or [ports.free(link.where, name) for _ in range(count)] for own, name in zip(taken, (a, b), strict=True)
        ]
        models = [(name, drawing.switches[name].model) for name in (a, b)]
        taken_at = [(*end, port) for end, own in zip(models, at, strict=True) for port in own if port]
        if most := too_fast(taken_at, link.speed_mbps):
            drawing.find(link.where, most, str(link.speed_mbps))
        ends = [at[0][0], at[1][0]]
        members: tuple[tuple[int, int], ...] = ()
        if count > 1 or link.lags is not None:
            ends = [
                ports.channel(link.where, name, word) for name, word in zip((a, b), link.lags or ("", ""), strict=True)
            ]
            members = tuple(zip(at[0], at[1], strict=True))
        links.append(
            Link(index[a], ends[0], index[b], ends[1], link.speed_mbps, link.up, members=members, dead=link.dead)
        )
    for name, host in drawing.hosts.items():
        port = by_host.get(name) or (0 if host.port else ports.free(name, host.switch))
        hosts.append(Host(name, index[host.switch], port, *_first_and_others(host.macs), uplink=host.uplink))
    counts = tuple(ports.count(name) for name in drawing.switches)
    switches = tuple(drawing.switches.values())
    return Fabric(drawing.name, switches, tuple(hosts), tuple(links), counts, reserved=tuple(reserved))


def _first_and_others(macs: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return (macs[0] if macs else 0), macs[1:]
