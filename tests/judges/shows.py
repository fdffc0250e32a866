"""Read what `show` prints of VLANs, MAC addresses and interfaces into rows, for every layout the families have.

The maintained templates (ntc_templates) are taken where they read what a switch of a fabric prints: descriptions. They
refuse an address table with static rows, which is what tagloom configures, and a status page with its first heading as
it comes; they misread wrapped VLANs. tests/render/test_shows.py holds both us and them to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tagloom.records.switch_state import Frames, PortMode
from tagloom.render.console_text import page_lines
from tagloom.units import parse_mac, parse_ranges

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class VlanRow:
    """A row of `show vlan`: the name as printed, the ports by name, tagged or not, the type in lower case."""

    vlan: int
    name: str
    ports: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class AddressRow:
    """A row of the MAC address table: kind is dynamic, static, self, management, ... in lower case."""

    vlan: int
    mac: int
    port: str
    kind: str


@dataclass(frozen=True, slots=True)
class StatusRow:
    """A row of `show interfaces status`; speed 0 and negotiation None where the page does not tell.

    `state` is the page's own word: Up, Down, Down*, Not Present, Detach.
    """

    port: str
    state: str
    speed_mbps: int
    negotiation: bool | None

    @property
    def up(self) -> bool:
        """Return whether the port has link."""
        return self.state == "Up"


@dataclass(frozen=True, slots=True)
class Switchport:
    """`show interfaces switchport` of one port, the page that tells tagged from untagged; pvid 0 = discard.

    FASTPATH's page does not name its port: there `port` is "".
    """

    port: str
    mode: PortMode
    pvid: int
    ingress_filter: bool
    frames: Frames
    untagged: tuple[int, ...]
    tagged: tuple[int, ...]


_ADDRESS = re.compile(r"\s*(\d{1,4})\s+([0-9A-Fa-f:.]{14,17})\s+(\S.*?)\s+(\S+)$")
_KINDS = re.compile(r"dynamic|self|static|permanent|secure|management|learned|delete-on-\w+", re.IGNORECASE)
_STATUS = re.compile(
    r"(?P<port>\S*\d)\s+(?:\S.*?\s+)??(?P<duplex>Full|Half|--|N/A)\s+(?P<speed>\d+|--|Unknown|N/A)\s+"
    r"(?P<negotiation>\S+)\s+(?:(?:Off|On|Auto|--)\s+)?(?P<state>Up|Down\*?|Not Present|Detach)\b"
)
_NEGOTIATION = {"enabled": True, "auto": True, "disabled": False, "off": False}
_RULE = re.compile(r"-+(?:\s+-+)+$")
_MEMBER = re.compile(r"(\d{1,4})\s+\S.*\s(Tagged|Untagged)\s+\w+$")
_FIELD = re.compile(r"([\w ()]+?)\s*:\s*(.*)$")
_FRAMES = {"admitall": Frames.ALL, "admittaggedonly": Frames.TAGGED_ONLY, "vlanonly": Frames.TAGGED_ONLY}
_FRAMES |= {"admituntaggedonly": Frames.UNTAGGED_ONLY, "untaggedonly": Frames.UNTAGGED_ONLY}
_DISCARD = 4095


def read_vlans(text: str) -> tuple[VlanRow, ...]:
    """Read `show vlan`, by the columns of its rule: names may hold blanks, cells wrap, headings repeat."""
    rows: list[list[str]] = []
    starts: list[int] = []
    for line in page_lines(text):
        if _RULE.match(line.strip()):
            starts = [match.start() for match in re.finditer(r"-+", line)]
        elif starts and line.strip():
            ends = [*starts[1:], max(len(line), starts[-1])]
            cells = [line[a:b].strip() for a, b in zip([0, *starts[1:]], ends, strict=True)]
            if cells[0].isdigit():
                rows.append(cells)
            elif not cells[0] and rows:  # else a heading that a pager repeats
                rows[-1] = [a + b for a, b in zip(rows[-1], cells, strict=True)]
    return tuple(VlanRow(int(row[0]), row[1], expand_ports(row[2]), row[3].lower()) for row in rows)


def read_addresses(text: str) -> tuple[AddressRow, ...]:
    """Read the MAC address table; the type stands before the port or behind it."""
    rows: list[AddressRow] = []
    for line in page_lines(text):
        if found := _ADDRESS.match(line):
            vlan, mac, first, second = found.groups()
            port, kind = (first, second) if _KINDS.fullmatch(second) else (second, first)
            rows.append(AddressRow(int(vlan), parse_mac(mac), port, kind.lower()))
    return tuple(rows)


def read_status(text: str) -> tuple[StatusRow, ...]:
    """Read `show interfaces status`, port-channels among the ports."""
    rows: list[StatusRow] = []
    for line in page_lines(text):
        if found := _STATUS.match(line):
            speed = int(found["speed"]) if found["speed"].isdigit() else 0
            negotiation = _NEGOTIATION.get(found["negotiation"].lower())
            rows.append(StatusRow(found["port"], found["state"], speed, negotiation))
    return tuple(rows)


def read_switchport(text: str) -> Switchport:
    """Read `show interfaces switchport` of one port. Raises ValueError where the page is another."""
    fields: dict[str, str] = {}
    members: dict[str, list[int]] = {"Untagged": [], "Tagged": []}
    last = ""
    for line in page_lines(text):
        if member := _MEMBER.match(line):
            members[member[2]].append(int(member[1]))
        elif field := _FIELD.match(line):
            last = field[1].lower()
            fields[last] = field[2].strip()
        elif last.endswith("tagged vlans") and re.fullmatch(r"\s+[\d,-]+", line):
            fields[last] += line.strip()  # a list that wraps
    try:
        if "port mode" in fields:
            native = int(fields["ingress untagged vlan ( native )"])
            filters, frames = fields["ingress filtering"] == "true", fields["acceptable frame type"]
            port, mode = fields["port"], fields["port mode"]
        else:
            native = int(fields["general mode pvid"].split()[0])
            filters = fields["general mode ingress filtering"].lower() == "enabled"
            frames = fields["general mode acceptable frame type"]
            port, mode = "", fields["vlan membership mode"].split()[0]
            for how in members:
                listed = fields[f"general mode {how.lower()} vlans"]
                members[how] = parse_ranges(listed) if listed else []
        return Switchport(
            port,
            PortMode[mode.upper()],
            0 if native == _DISCARD else native,
            filters,
            _FRAMES[frames.lower().replace(" ", "")],
            tuple(members["Untagged"]),
            tuple(members["Tagged"]),
        )
    except (KeyError, IndexError) as error:
        raise ValueError(f"not a page of show interfaces switchport: no {error}") from None


def read_descriptions(text: str) -> dict[str, str]:
    """Read `show interfaces description` of ROS: port name -> description."""
    from ntc_templates.parse import parse_output  # noqa: PLC0415 - a tenth of a second that few callers need

    page = "\n".join(line for line in page_lines(text) if line)
    # the template of its cousin: that of dell_powerconnect refuses a description of several words
    rows = parse_output(platform="cisco_s300", command="show interfaces description", data=page)
    return {row["interface"]: row["description"] for row in rows}


def expand_ports(text: str) -> tuple[str, ...]:
    """Name every port of a list, in any family's way of listing.

    >>> expand_ports("g(1-2,4),ch1"), expand_ports("1/g1-1/g2,1/xg1"), expand_ports("Te1/0/1-2,Po3")
    (('g1', 'g2', 'g4', 'ch1'), ('1/g1', '1/g2', '1/xg1'), ('Te1/0/1', 'Te1/0/2', 'Po3'))
    """
    return tuple(name for part in re.split(r",(?![^(]*\))", text) if part for name in _names(part))


def _names(part: str) -> Iterator[str]:
    if grouped := re.fullmatch(r"([^()]*)\(([\d,-]+)\)", part):
        yield from (f"{grouped[1]}{n}" for n in parse_ranges(grouped[2]))
        return
    first, dash, last = part.partition("-")
    prefix = first.rstrip("0123456789")
    numbers = [int(first[len(prefix) :]), int(last.removeprefix(prefix))] if dash else []
    if not numbers:
        yield part
    for low, high in pairwise(numbers):
        yield from (f"{prefix}{n}" for n in range(low, high + 1))
