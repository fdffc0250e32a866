"""The command line of RouterOS, where every line names its menu and says all of an item's properties that it sets."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom.platforms import routeros
from tagloom.platforms.factory import factory
from tagloom.platforms.harmless import harmless
from tagloom.platforms.secrets import HIDDEN
from tagloom.records.switch_state import PortMode
from tagloom.render.console_text import clean_lines
from tagloom.render.flat_commands import FlatCommands
from tagloom.render.menus import menu_lines
from tagloom.render.parsed import Parsed, UnknownLine

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchEditor, SwitchState


# What a console evaluates in a line: variables, brackets but "[ find NAME=VALUE ... ]", more commands, a menu above.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_FIND = re.compile(r"\[ ?find(?: [\w-]+=[\w.,:/-]+)* ?\]")
_EVALUATED = re.compile(r"[$;{}()`\[\]]|(?:^|[\s/])\.\.(?:[\s/]|$)")


class MenuCommands(FlatCommands):
    """Lines of RouterOS; see `CommandLine` for what each function does."""

    def lines(self, platform: Platform, before: SwitchState, after: SwitchState) -> list[str]:
        """Write the lines from one state to another."""
        return menu_lines(platform, before, after)

    def interpreter(self, platform: Platform, editor: SwitchEditor) -> routeros.Menus:
        """Return what carries out lines on an editor."""
        return routeros.Menus(platform, editor)

    def parse(self, platform: Platform, text: str) -> Parsed:
        """Read an export, terse or not, or lines to paste, as a machine without the bridge would carry them out.

        Lines of others' menus are passed over, and those that make bridges of others, such as the factory's. One that
        RouterOS would refuse is reported, and has no effect. An export has its rows in the order of its menus, of which
        none needs a later one.
        """
        menus = routeros.Menus(platform, factory(platform))
        words, known = routeros.lines(), harmless(platform.grammar)
        unknown: list[UnknownLine] = []
        foreign: list[UnknownLine] = []
        menu = ""
        for number, line in _whole_lines(clean_lines(text)):
            if _evaluates(line):
                foreign.append(UnknownLine(number, "", line, "", menus.ports_of(line)))
                continue
            outcome = menus.feed(line)
            if path := words.opens(line):  # the lines behind it belong there
                menu = f"/{path}"
                continue
            if outcome.accepted:
                continue
            if line.startswith("/") and "=" not in line and "[" not in line:  # a command, or a menu that is not known
                menu = ""
            elif not menu and not line.startswith(("/", ":", "#")):
                foreign.append(UnknownLine(number, "", line, "", menus.ports_of(line)))
                continue
            whole = line if line.startswith(("/", ":")) else f"{menu} {line}".lstrip()
            answer = "" if outcome.text.startswith(routeros.UNKNOWN_PROPERTY) else outcome.text  # later ones have it
            ports = () if answer and menus.is_of_all_ports(whole) else menus.ports_of(line)
            trouble = UnknownLine(number, "", whole, answer, ports)
            if not answer and not _evaluates(whole) and not trouble.ports and menus.is_of_others(whole):
                foreign.append(trouble)
                continue
            ours = whole.replace("/", " ").startswith(_spaced(words.owned)) and not known.covers_command(whole)
            (unknown if answer or ours else foreign).append(trouble)
        if menus.has_bridge and not (menus.state().mode == PortMode.GENERAL).any():  # a push that broke off behind it
            row = "/interface bridge add name=" + routeros.lines().bridge
            unknown.append(UnknownLine(1, "", row, "the bridge has no port: remove it"))
        refused = tuple(trouble for trouble in unknown if trouble.answer and not known.covers_command(trouble.text))
        return Parsed(menus.state(), tuple(unknown), tuple(foreign), refused, menus.duplex)

    def harmless(self, platform: Platform, line: UnknownLine, ports: Collection[int], vlans: Collection[int]) -> bool:
        """Return whether a line is one that the family lists, or of others' bridges and ports alone.

        It must have nothing that a console evaluates.
        """
        if _evaluates(line.text):
            return False
        others = routeros.Menus(platform, factory(platform)).is_of_others(line.text, ports)
        shown = replace(line, text=line.text.replace(HIDDEN, "hidden"))  # no redirection: the place of a secret
        return others or super().harmless(platform, shown, ports, vlans)

    def owned(self, _platform: Platform) -> tuple[str, ...]:
        """Return what the family's page says."""
        return routeros.lines().owned


def _evaluates(line: str) -> bool:
    """Return whether a console may do more for a line than what its words say."""
    if line.startswith("#"):
        return False
    quoted = _QUOTED.findall(line)
    return any("$" in each for each in quoted) or bool(_EVALUATED.search(_FIND.sub("", _QUOTED.sub("", line))))


def _spaced(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path.replace("/", " ") for path in paths)


def _whole_lines(texts: list[str]) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, from 1; one that a backslash continues is joined with the next."""
    held, since = "", 0
    for number, text in enumerate(texts, start=1):
        if not held and text.lstrip().startswith("#"):  # which no backslash continues
            yield number, text.strip()
            continue
        since = since or number
        held += text.strip() if not held else text.lstrip()
        if held.endswith("\\"):
            held = held[:-1]
            continue
        yield since, held.strip()
        held, since = "", 0
    if held:
        yield since, held.strip()
