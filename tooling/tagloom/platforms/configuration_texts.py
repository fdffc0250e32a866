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
_RETURN = re.compile(r"^return[ \t]*\Z", re.MULTILINE)


def is_configuration(text: str, grammar: Grammar) -> bool:
    """Return whether an answer is a whole configuration, as far as its first words and its end show.

    Comware and VRP end one with ``return``. A switch of the families that print what differs from the factory alone,
    without a head, may show nothing; FASTPATH and OS6 always print one.
    """
    said = text.strip()
    if grammar.session.brackets:
        return _RETURN.search(said) is not None
    if not said:
        return grammar.code != "fastpath"
    return any(_LINE.match(line) and not _SENTENCE.match(line) for line in said.split("\n"))
