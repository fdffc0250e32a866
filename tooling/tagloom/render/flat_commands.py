"""What command lines without modes have in common: every line stands by itself and says all of a thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tagloom.errors import PlanError
from tagloom.platforms.factory import factory_state
from tagloom.platforms.harmless import harmless
from tagloom.records.change import apply_changes, difference
from tagloom.records.lines import Lines
from tagloom.records.switch_state import SwitchEditor
from tagloom.render.page import print_page

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tagloom.platforms import Platform
    from tagloom.platforms.interpreter import Outcome
    from tagloom.records.change import Cell, Change
    from tagloom.records.switch_state import SwitchState
    from tagloom.render.parsed import UnknownLine


class FlatInterpreter(Protocol):
    """What carries out lines on an editor, one by one."""

    editor: SwitchEditor

    def feed(self, line: str) -> Outcome:
        """Carry out one line."""
        ...


class FlatCommands:
    """Commands without modes; see `CommandLine` for what each function does. Its kinds say `lines` and the rest."""

    def lines(self, platform: Platform, before: SwitchState, after: SwitchState) -> list[str]:
        """Write the commands from one state to another."""
        raise NotImplementedError

    def interpreter(self, platform: Platform, editor: SwitchEditor) -> FlatInterpreter:
        """Return what carries out commands on an editor."""
        raise NotImplementedError

    def configuration(self, platform: Platform, state: SwitchState, templates: Path) -> str:
        """Print the commands that lead there from a machine without a bridge."""
        commands = self.lines(platform, factory_state(platform), state)
        return print_page(templates, platform, "configuration", title=platform.title, commands=commands)

    def commands(self, platform: Platform, changes: tuple[Change, ...], before: SwitchState | None) -> tuple[str, ...]:
        """Return the commands; needs `before`."""
        before = _known(platform, before)
        return tuple(self.lines(platform, before, apply_changes(before, changes)))

    def changes(
        self, platform: Platform, changes: tuple[Change, ...], before: SwitchState | None
    ) -> list[tuple[str, tuple[Change, ...]]]:
        """List the commands with what each changes, by running them: one may change several cells. Needs `before`."""
        here = _known(platform, before)
        interpreter = self.interpreter(platform, SwitchEditor.of(here))
        rows = []
        for line in self.lines(platform, here, apply_changes(here, changes)):
            interpreter.feed(line)
            there = interpreter.editor.freeze()
            rows.append((line, difference(here, there)))
            here = there
        return rows

    def effects(self, platform: Platform, before: SwitchState, after: SwitchState, quiet: Collection[Cell]) -> Lines:
        """Return what the commands do, each at its number."""
        rows = self.changes(platform, difference(before, after), before)
        return Lines.of(((n, changes) for n, (_, changes) in enumerate(rows, start=1)), quiet)

    def harmless(self, platform: Platform, line: UnknownLine, _ports: Collection[int], _vlans: Collection[int]) -> bool:
        """Return whether the command is on the list."""
        return harmless(platform.grammar).covers_command(line.text)


def _known(platform: Platform, before: SwitchState | None) -> SwitchState:
    if before is None:
        raise PlanError(f"the lines of a {platform.title} say all of a membership", "nothing is known of it")
    return before
