"""The command line of a Linux bridge, where every line is a command of iproute2 or ethtool that says all of a thing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tagloom.errors import PlanError
from tagloom.platforms import iproute2
from tagloom.platforms.factory import factory, factory_state
from tagloom.platforms.harmless import harmless
from tagloom.records.change import apply_changes, difference
from tagloom.records.lines import Lines
from tagloom.records.switch_state import SwitchEditor
from tagloom.render.bridge import is_transcript, read_duplex, read_transcript
from tagloom.render.console_text import clean_lines
from tagloom.render.page import print_page
from tagloom.render.parsed import Parsed, UnknownLine
from tagloom.render.shell import shell_lines

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tagloom.platforms import Platform
    from tagloom.records.change import Cell, Change
    from tagloom.records.switch_state import SwitchState

_EXIT = re.compile(r"exit( \d+)?")
_SHELL = re.compile(r"#! ?/(usr/)?bin/(env )?(ba|da)?sh( -[eux]+)?")


class ShellCommands:
    """Commands of a shell; see `CommandLine` for what each function does."""

    def configuration(self, platform: Platform, state: SwitchState, templates: Path) -> str:
        """Print the commands that lead there from a machine without a bridge."""
        commands = shell_lines(platform, factory_state(platform), state)
        return print_page(templates, platform, "configuration", title=platform.title, commands=commands)

    def commands(self, platform: Platform, changes: tuple[Change, ...], before: SwitchState | None) -> tuple[str, ...]:
        """Return the commands; needs `before`."""
        before = _known(platform, before)
        return tuple(shell_lines(platform, before, apply_changes(before, changes)))

    def changes(
        self, platform: Platform, changes: tuple[Change, ...], before: SwitchState | None
    ) -> list[tuple[str, tuple[Change, ...]]]:
        """List the commands with what each changes, by running them: one may change several cells. Needs `before`."""
        here = _known(platform, before)
        shell = iproute2.Shell(platform, SwitchEditor.of(here))
        rows = []
        for line in shell_lines(platform, here, apply_changes(here, changes)):
            shell.feed(line)
            there = shell.editor.freeze()
            rows.append((line, difference(here, there)))
            here = there
        return rows

    def effects(self, platform: Platform, before: SwitchState, after: SwitchState, quiet: Collection[Cell]) -> Lines:
        """Return what the commands do, each at its number."""
        rows = self.changes(platform, difference(before, after), before)
        return Lines.of(((n, changes) for n, (_, changes) in enumerate(rows, start=1)), quiet)

    def parse(self, platform: Platform, text: str) -> Parsed:
        """Read commands as a shell would run them on a machine without a bridge, or what a machine says of itself.

        Other programs' lines are passed over. One that the kernel would refuse is reported, and has no effect. Nothing
        behind an `exit` is run. Raises InputError where what it says (`read_transcript`) cannot be understood.
        """
        if is_transcript(text):
            return Parsed(read_transcript(platform, text), (), refused=None, duplex=read_duplex(platform, text))
        lines = list(map(str.strip, clean_lines(text)))
        shell = iproute2.Shell(platform, factory(platform))
        owned = iproute2.commands().owned
        unknown: list[UnknownLine] = []
        foreign: list[UnknownLine] = []
        for number, line in enumerate(lines, start=1):
            if _EXIT.fullmatch(line):
                break
            outcome = shell.feed(line)
            other_shell = number == 1 and line.startswith("#!") and not _SHELL.fullmatch(line)
            if outcome.accepted and not other_shell:
                continue
            trouble = UnknownLine(number, "", line, outcome.text, shell.ports_of(line))
            if outcome.text or f"{line} ".startswith(owned):
                unknown.append(trouble)
            else:
                foreign.append(trouble)
        known = harmless(platform.grammar)
        refused = tuple(trouble for trouble in unknown if trouble.answer and not known.covers_command(trouble.text))
        return Parsed(shell.state(), tuple(unknown), tuple(foreign), refused, shell.duplex)

    def owned(self, _platform: Platform) -> tuple[str, ...]:
        """Return what the family's page says."""
        return iproute2.commands().owned

    def harmless(self, platform: Platform, line: UnknownLine, _ports: Collection[int], _vlans: Collection[int]) -> bool:
        """Return whether the command is on the list."""
        return harmless(platform.grammar).covers_command(line.text)


def _known(platform: Platform, before: SwitchState | None) -> SwitchState:
    if before is None:
        raise PlanError(f"the lines of a {platform.title} say all of a membership", "nothing is known of it")
    return before
