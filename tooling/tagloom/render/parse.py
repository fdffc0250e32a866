"""Read a text for a proof: what it says of a switch, and every line of it that the proof does not cover."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.platforms.factory import factory
from tagloom.platforms.harmless import harmless
from tagloom.platforms.iproute2 import GROUP_BIT
from tagloom.platforms.secrets import scrub
from tagloom.records.findings import ForeignLine
from tagloom.records.switch_state import BROADCAST, DEFAULT_VLAN, DISCARD_PVID
from tagloom.render.all_ports import further_ports, with_further_ports
from tagloom.render.command_line import command_line, parse_configuration
from tagloom.render.console_text import clean_lines, concealing_lines
from tagloom.render.parsed import Parsed, UnknownLine
from tagloom.units import format_mac, format_ranges, parse_ranges

# The block of a switch's own interface in VLANs; FASTPATH prints that interface's number behind its VLAN.
_VLAN_BLOCK = re.compile(r"interface vlan(?:-interface|if)? ?(\d{1,4}(?:[,-]\d{1,4})*)(?: \d+)?", re.IGNORECASE)
_AROUND = re.compile(r" ?([,-]) ?")  # blanks that consoles take within a list
_ADDRESS = re.compile(
    r"ip(v6)? (address|dhcp client|enable|gateway|virtual-router address|vrrp)\b|dhcp client\b|ipv6 auto-config|vrrp "
)
# What stands in no block of a VLAN: the management address of 62xx and kin, an address on RouterOS's bridge itself.
_ADDRESS_OUTSIDE = re.compile(
    r"ip address (?:vlan (\d{1,4})|dhcp|\d)|network mgmt_vlan (\d{1,4})|management-vlan (\d{1,4})"
    r"|/ip(?:v6)?[ /](?:address|dhcp-client)[ /]add .*\binterface=\"?tagloom\b"
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from tagloom.platforms import Platform
    from tagloom.platforms.harmless import Harmless
    from tagloom.records.switch_state import SwitchState


@dataclass(frozen=True)
class Reading:
    """What a text says of a switch, as a proof takes it.

    `findings` are the lines in which it fails whatever the rest says; `unknown_lines` those that may change forwarding
    and that nobody knows; `further_ports` those that the model lacks, and behind whose own they are numbered in the
    state; `refused` the lines that a switch in its factory default would refuse, pasted them in this
    order (None where the text is no list of lines). `treeless` has by VLAN the line that leaves it without the spanning
    tree that ports of the fabric run; `addresses` are the VLANs in which the switch has an address of its own,
    and those into which it sends without one.
    """

    state: SwitchState
    findings: tuple[Finding, ...] = ()
    unknown_lines: tuple[ForeignLine, ...] = ()
    refused: tuple[Finding, ...] | None = ()
    further_ports: tuple[str, ...] = ()
    treeless: Mapping[int, ForeignLine] = field(default_factory=dict)
    addresses: frozenset[int] = frozenset()

    def named(self, latent: Collection[int] | None) -> tuple[ForeignLine, ...]:
        """Return the unknown lines, with those that leave a VLAN without a tree: all, or of `latent` VLANs alone."""
        treeless = [line for vlan, line in self.treeless.items() if latent is None or vlan in latent]
        lines = {line.line: line for line in (*self.unknown_lines, *treeless)}
        return tuple(lines[number] for number in sorted(lines))


def read_state(
    platform: Platform, text: str, where: str, ports: Collection[int]
) -> tuple[SwitchState, tuple[Finding, ...]]:
    """Read a state, with a finding for each line that is not understood and bears on `ports` or on a VLAN of theirs.

    `where` names the switch. Such a line may change what the ports do, so the state alone proves nothing.
    """
    try:
        parsed = parse_configuration(platform, text)
    except InputError as error:
        return factory(platform).freeze(), _unreadable(error, where)
    vlans = _vlans_of(parsed.state, ports)
    lines = sorted((*parsed.unknown, *parsed.waiting), key=lambda line: line.number)
    return parsed.state, tuple(_finding(line, where) for line in lines if line.touches(ports, vlans))


def read_text(platform: Platform, text: str, where: str, ports: Collection[int]) -> Reading:
    """Read a text that is to be proven: every line of it is understood, known to be harmless, or named.

    `where` names the switch, `ports` are the fabric's. Ports that other machines of the model have are read too.
    """
    try:
        parsed = parse_configuration(platform, text)
        if further := further_ports(platform, parsed):
            parsed = with_further_ports(platform, text)
    except InputError as error:
        return Reading(factory(platform).freeze(), _unreadable(error, where), (), None)
    state, vlans, speech = parsed.state, _vlans_of(parsed.state, ports), command_line(platform)
    owned = speech.owned(platform)
    findings: list[Finding] = []
    others = list(parsed.foreign)
    for line in parsed.unknown:
        bears = line.touches(ports, vlans)
        ours = line.answer or f"{line.text} ".startswith(owned) or line.vlan in state.owned_vlans
        if not (bears and ours):
            others += [] if line.answer and not bears else [line]  # one that is refused changes nothing
        elif not speech.harmless(platform, line, ports, vlans):
            findings.append(_finding(line, where))
    unknown = [line for line in others if not speech.harmless(platform, line, ports, vlans)]
    if platform.command_line != "shell":  # which finds what it does not take for itself
        unknown += [UnknownLine(number, "", repr(line), "") for number, line in concealing_lines(text)]
    of_trees, treeless = _trees(platform, parsed, text, ports)
    unknown = [line for line in unknown if line.number not in {each.number for each in treeless.values()}] + of_trees
    findings += _of_reserved(platform, parsed, where)
    findings += _of_duplex(platform, parsed, where, ports)
    findings += _of_groups(state, vlans, where)
    findings += [
        Finding(f"{where} VLAN {vlan}", "a permanent entry", f"one that ages or is lost, for {format_mac(mac)}")
        for vlan, mac in sorted(parsed.unpinned)
        if vlan in vlans
    ]
    return Reading(
        state,
        tuple(findings),
        tuple(
            _foreign(line, where)
            for line in sorted({line.number: line for line in unknown}.values(), key=lambda each: each.number)
        ),
        None if parsed.refused is None else tuple(_finding(line, where) for line in parsed.refused),
        further,
        {vlan: _foreign(line, where) for vlan, line in treeless.items() if vlan in state.vlan_index},
        frozenset(_own_addresses(parsed, harmless(platform.grammar))),
    )


def _own_addresses(parsed: Parsed, known: Harmless) -> Iterator[int]:
    """Yield the VLANs in which lines give the switch an address of its own, or have it send without one."""
    for line in (*parsed.foreign, *parsed.unknown):
        text, block = " ".join(line.text.split()), _AROUND.sub(r"\1", " ".join(line.block.split()))
        found = _VLAN_BLOCK.fullmatch(block)
        vlans = _vlans_in(found[1]) if found else [line.vlan] if line.vlan else []
        if (sent := known.sends_into(text)) is not None:
            yield from sent or vlans or parsed.state.vlans.tolist()
        elif found:
            yield from vlans if _ADDRESS.match(text) else ()
        elif not line.block and (found := _ADDRESS_OUTSIDE.match(text)):
            yield next((int(vlan) for vlan in found.groups() if vlan), DEFAULT_VLAN)


def _vlans_in(text: str) -> list[int]:
    """Return the VLANs of a list; those that it names where it is none."""
    try:
        return parse_ranges(text)
    except ValueError:
        return [int(number) for number in re.findall(r"\d+", text)]


def _foreign(line: UnknownLine, where: str) -> ForeignLine:
    return ForeignLine(where, line.number, scrub(line.block), scrub(line.text))


def port_descriptions(platform: Platform, text: str) -> dict[int, str]:
    """Return what people wrote at ports (`description`), by port; {} for a text that cannot be read."""
    try:
        lines = parse_configuration(platform, text).foreign
    except InputError:
        return {}
    said = [(line.ports[0], line.text.split(None, 1)) for line in lines if len(line.ports) == 1]
    return {port: words[1].strip().strip("\"'") for port, words in said if words[0] == "description" and words[1:]}


def _trees(
    platform: Platform, parsed: Parsed, text: str, ports: Collection[int]
) -> tuple[list[UnknownLine], dict[int, UnknownLine]]:
    """Find lines by which VLANs have trees of their own, or none, where ports of the fabric run spanning tree.

    A state has one tree for all VLANs, and agents (BRIDGE-MIB) report the ports that the tree of VLAN 1 blocks. Returns
    the lines of which it is not known which VLANs they leave without a tree, or which ports the trees block; and by
    VLAN the line that leaves it without one.
    """
    columns, state = np.array(sorted(ports), np.int64) - 1, parsed.state
    if not (state.spanning_tree and state.port_spanning_tree[columns].any()):
        return [], {}
    elsewhere = {line.number for line in (*parsed.foreign, *parsed.unknown) if not line.touches(ports, ())}
    known, several = harmless(platform.grammar), len(_vlans_of(state, ports) - {DISCARD_PVID}) > 1
    unknown: list[UnknownLine] = []
    treeless: dict[int, UnknownLine] = {}
    for number, text_line in enumerate(map(str.strip, clean_lines(text)), start=1):
        line, vlans = UnknownLine(number, "", text_line, ""), known.without_tree(text_line)
        if number in elsewhere:
            continue
        if vlans:
            treeless |= dict.fromkeys(vlans, line)
        elif vlans is not None or (several and known.has_trees(text_line)):
            unknown.append(line)
    return unknown, treeless


def _of_reserved(platform: Platform, parsed: Parsed, where: str) -> Iterator[Finding]:
    """Find lines that keep VLANs for the switch's own use of which some are there already."""
    known, used = harmless(platform.grammar), [vlan for vlan in parsed.state.vlans.tolist() if vlan != DEFAULT_VLAN]
    for line in (*parsed.foreign, *parsed.unknown):
        kept = known.reserves(line.text)
        if taken := [vlan for vlan in used if vlan in kept]:
            actual = f"{line.text!r}, and VLAN {format_ranges(taken)} is there"
            yield Finding(f"{where}:{line.number}  configuration", "internal VLANs beside those in use", actual)


def _of_duplex(platform: Platform, parsed: Parsed, where: str, ports: Collection[int]) -> Iterator[Finding]:
    """Find ports that are or may be half duplex, where there is no PAUSE (IEEE 802.3, annex 31B)."""
    for port in sorted(ports):
        said = parsed.duplex.get(port)
        guessed = parsed.refused is not None and said is None and not parsed.state.negotiation[port - 1]
        if (said == "half" or guessed) and port <= platform.physical_ports:
            actual = "half duplex" if said else "no word of it, and no negotiation: it may fall to half duplex"
            yield Finding(f"{where}:{platform.port_name(port)}", "full duplex, without which there is no PAUSE", actual)


def _of_groups(state: SwitchState, vlans: Collection[int], where: str) -> Iterator[Finding]:
    """Find entries for groups: frames to a group go to the ports of its entry alone, where a proof counts on floods."""
    group = ((state.entry_mac & np.uint64(GROUP_BIT)) != 0) & (state.entry_mac != BROADCAST)
    named = set(zip(state.entry_vlan[group].tolist(), state.entry_mac[group].tolist(), strict=True))
    for vlan, mac in sorted(each for each in named if each[0] in vlans):
        yield Finding(f"{where} VLAN {vlan}", "multicast that floods", f"an entry for the group {format_mac(mac)}")


def _unreadable(error: InputError, where: str) -> tuple[Finding, ...]:
    return tuple(replace(finding, where=f"{where}: {finding.where}") for finding in error.findings)


def _vlans_of(state: SwitchState, ports: Collection[int]) -> set[int]:
    """Return the VLANs of tagloom, and those that the fabric's ports are in."""
    columns = np.array(sorted(ports), np.int64) - 1
    joined = state.vlans[state.membership[:, columns].any(axis=1)]
    return {*state.owned_vlans, *joined.tolist(), *state.pvid[columns].tolist()}


def _finding(line: UnknownLine, where: str) -> Finding:
    return Finding(
        f"{where}:{line.number}  {scrub(line.block) or 'configuration'}",
        line.rule or ("a line the switch takes" if line.answer else "a line tagloom knows"),
        repr(scrub(line.text)) + (f" ({' '.join(scrub(line.answer).split())})" if line.answer else ""),
    )
