"""Distinguish a running configuration from an excuse, an error or a part of one, by how its lines begin and end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagloom.platforms.grammar import Grammar

# What begins lines of configurations, and words of sentences in which a switch says why it shows none.
_LINE = re.compile(
    r"[ \t]*(?:!|(?:no |default )?(?:interface|vlan|hostname|ip|ipv6|username|aaa|snmp-server|spanning-tree|switchport"
    r"|bridge|mac|mac-address-table|logging|sntp|ntp|clock|line (?:console|vty|ssh|telnet)|exit|end|configure|crypto"
    r"|lldp|management|switch \d|stack|radius-server|tacacs-server|banner|qos|class-map|policy-map|access-list|lacp"
    r"|gvrp|errdisable|voice|eee|green-mode|passwords|enable (?:password|secret)|config-file-header|dot1x)(?: \S|$))"
)
_SENTENCE = re.compile(
    r"[^!]*\b(?:is|are|was|were|has|have|cannot|not|unavailable|unreachable|busy|failed|denied|error)\b", re.IGNORECASE
)
# What opens a block of FASTPATH and OS6, beside blocks of services; lines of VLANs follow one another in one block.
_OPENS = re.compile(
    r"configure|vlan database|stack|line (?:console|telnet|ssh)"
    r"|interface (?:out-of-band|(?:range )?[a-z-]{0,24} ?\d[\w/,:-]*(?: \d{1,5})?)",
    re.IGNORECASE,
)
_VLANS = re.compile(r"vlan \d[\d,-]*")


def what_is_missing(text: str, grammar: Grammar) -> str:
    """Return what a whole configuration has and an answer lacks, as far as its words and its end show; "" = nothing.

    Comware and VRP end one with ``return``, EOS with ``end``; FASTPATH and OS6 close every block. A switch of the
    families that print what differs from the factory alone, without a head, may show nothing.
    """
    said = text.strip()
    lines = [line.strip() for line in said.split("\n")]
    whole = grammar.whole
    if whole.begins and not any(line.startswith(whole.begins) for line in lines):
        return f"`{whole.begins}` at the beginning"
    if whole.ends and lines[-1] != whole.ends:
        return f"`{whole.ends}` at the end"
    if whole.closes and (opened := _left_open(lines)):
        return f"`exit` behind `{opened}`"
    if whole.begins or whole.ends or not said:
        return "" if said or not whole.speaks else "any line"
    known = any(_LINE.match(line) and not _SENTENCE.match(line) for line in said.split("\n"))
    return "" if known else "a line of one"


def _left_open(lines: list[str]) -> str:
    """Return the line that opens the block in which a text ends; "" = none."""
    open_blocks: list[str] = []
    for line in lines:
        if line.lower() == "exit":
            open_blocks = open_blocks[:-1]
        elif _OPENS.fullmatch(line) or (_VLANS.fullmatch(line) and not (open_blocks and _holds_vlans(open_blocks[-1]))):
            open_blocks.append(line)
    return open_blocks[-1] if open_blocks else ""


def _holds_vlans(opened: str) -> bool:
    return opened == "vlan database" or _VLANS.fullmatch(opened) is not None
