"""Find which of the operator's own lines a running configuration does not show, and write what sends them."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from tagloom.platforms.grammar import Context, ContextKind, Grammar
from tagloom.records.site_lines import SiteLine, plain_line
from tagloom.render.command_line import parse_configuration
from tagloom.render.steps import fitting_ports

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tagloom.platforms import Platform

    Place = tuple[str, object]  # what a line is about: a port, a VLAN, or the block it stands in, "" for none


def missing_lines(
    platform: Platform, text: str, wanted: Sequence[SiteLine], secrets: Mapping[str, str]
) -> tuple[SiteLine, ...]:
    """Return those of the wanted lines that a running configuration does not show, each for the ports that lack it.

    Lines are compared word by word, in the block they belong to, with the `secrets` in their places; a line that takes
    others away is missing while one of those is shown. What is returned has the marks of secrets, not the secrets.
    Raises KeyError for a secret that is not among them.
    """
    if not wanted:  # a text that cannot be read is for who reads the state to tell
        return ()
    shown = _shown(platform, text)
    found = []
    for line in wanted:
        said = line.filled(secrets)
        lacking = [place for place in _places(said) if not _holds(shown.get(place, frozenset()), said)]
        if lacking:
            found.append(replace(line, ports=tuple(int(str(at)) for kind, at in lacking if kind == "port")))
    return tuple(found)


def _holds(shown: frozenset[str], line: SiteLine) -> bool:
    if line.removed:
        gone = plain_line(line.removed)
        return not any(f"{each} ".startswith(f"{gone} ") for each in shown)
    return plain_line(line.text) in shown


def _places(line: SiteLine) -> list[Place]:
    if line.ports:
        return [("port", port) for port in line.ports]
    return [("vlan", line.vlan)] if line.vlan else [("block", plain_line(line.block))]


def _shown(platform: Platform, text: str) -> dict[Place, frozenset[str]]:
    """Return the lines of others that a running configuration shows, by what they are about."""
    parsed = parse_configuration(platform, text)
    shown: dict[Place, set[str]] = {}
    for line in (*parsed.unknown, *parsed.foreign):
        for place in _places(SiteLine(line.text, "", line.block, line.ports, line.vlan)):
            shown.setdefault(place, set()).add(plain_line(line.text))
    return {place: frozenset(lines) for place, lines in shown.items()}


def site_commands(platform: Platform, lines: Sequence[SiteLine]) -> tuple[str, ...]:
    """Write lines to send from ``(config)#``, with the marks of their secrets, each block closed.

    They go out in the order of the templates; lines that follow one another in one block share it.
    """
    sent: list[str] = []
    leave = Grammar.of(platform).session.leave if lines else ""
    for _, group in groupby(lines, key=lambda line: (line.block, line.ports, line.vlan, line.opens and line.text)):
        together = list(group)
        texts = [line.text for line in together]
        if together[0].opens:
            sent += [texts[0], leave]
        elif not together[0].block:
            sent += texts
        else:
            for opener in _openers(platform, together[0]):
                sent += [opener, *texts, leave]
    return tuple(sent)


def _openers(platform: Platform, line: SiteLine) -> Iterator[str]:
    """Yield the lines that lead to the places of a line."""
    if not line.ports:
        yield line.block
        return
    grammar = Grammar.of(platform)
    for _, ports in groupby(line.ports, key=grammar.port_lists.kind):
        for part in fitting_ports(grammar, list(ports)):
            yield grammar.enter(Context(ContextKind.INTERFACE, tuple(part)))
