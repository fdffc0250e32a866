"""Write and read a switch's command line, of whichever kind it is."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from tagloom.records.lines import BOUNCES, Lines
from tagloom.render.menu_commands import MenuCommands
from tagloom.render.modes import Modes
from tagloom.render.shell_commands import ShellCommands

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tagloom.platforms import Platform
    from tagloom.records.change import Cell, Change
    from tagloom.records.switch_state import SwitchState
    from tagloom.render.parsed import Parsed, UnknownLine


class CommandLine(Protocol):
    """One kind of command line: how its lines are laid out, and what text of it says."""

    def configuration(self, platform: Platform, state: SwitchState, templates: Path) -> str:
        """Print a state as lines from the factory default."""
        ...

    def commands(self, platform: Platform, changes: tuple[Change, ...], before: SwitchState | None) -> tuple[str, ...]:
        """Return the lines that make changes, in an order that is safe at every line."""
        ...

    def changes(
        self, platform: Platform, changes: tuple[Change, ...], before: SwitchState | None
    ) -> list[tuple[str, tuple[Change, ...]]]:
        """List the lines that change something, with what each changes."""
        ...

    def effects(self, platform: Platform, before: SwitchState, after: SwitchState, quiet: Collection[Cell]) -> Lines:
        """Return what the lines from one state to another do; cells of `quiet` take no link down."""
        ...

    def parse(self, platform: Platform, text: str) -> Parsed:
        """Read a text from a factory default."""
        ...

    def owned(self, platform: Platform) -> tuple[str, ...]:
        """Return the words that lines of tagloom's begin with."""
        ...

    def harmless(self, platform: Platform, line: UnknownLine, ports: Collection[int], vlans: Collection[int]) -> bool:
        """Return whether a line that changes nothing of the state is known to change no frame's way either."""
        ...


_KEPT_TEXTS, _KEPT_CHARACTERS = 512, 1 << 16  # texts that are kept beside what they say, and the longest of them

_KINDS: dict[str, CommandLine] = {"modes": Modes(), "shell": ShellCommands(), "menus": MenuCommands()}


def command_line(platform: Platform) -> CommandLine:
    """Return the kind of command line that a platform has."""
    return _KINDS[platform.command_line]


def render_configuration(platform: Platform, state: SwitchState, templates: Path) -> str:
    """Render a state as text that the switch takes line by line from its factory default, and that parses back.

    What equals the factory default is not printed, so the text is that of the changes from there.
    Raises PlanError where the model has no words for the state, ValueError where the port counts differ.
    """
    return command_line(platform).configuration(platform, state, templates)


def render_commands(
    platform: Platform, changes: tuple[Change, ...], before: SwitchState | None = None
) -> tuple[str, ...]:
    """Render changes of one switch as the lines to send, from ``(config)#`` where there are modes.

    `before` is the state the changes start from; it is needed only where VLANs change on a port that stays in access or
    trunk mode, which tagloom's own plans never do, and for a Linux bridge, whose lines are not single changes. Raises
    PlanError where the model has no words for a change.
    """
    return command_line(platform).commands(platform, changes, before)


def line_changes(
    platform: Platform, changes: tuple[Change, ...], before: SwitchState | None = None
) -> list[tuple[str, tuple[Change, ...]]]:
    """List the lines that `render_commands` sends, those that move between modes left out, with what each changes.

    Raises PlanError where the model has no words for a change.
    """
    return command_line(platform).changes(platform, changes, before)


def line_effects(platform: Platform, before: SwitchState, after: SwitchState) -> Lines:
    """Return what the lines from `before` to `after` do, in their order; as `line_changes`, with entries as arrays.

    Raises PlanError where the model has no words for a change.
    """
    quiet = frozenset(cell for cell in BOUNCES if cell.value not in platform.bounces)  # they bounce other models' links
    return command_line(platform).effects(platform, before, after, quiet)


def parse_configuration(platform: Platform, text: str) -> Parsed:
    """Read a text from a factory default, with whatever the console put between its lines.

    Terminal escapes, pager prompts, log lines, prompts and the echoed command are passed over, and so are lines of
    others outside the blocks of ours. A line that the switch would refuse at its place is tried again at the end:
    relatives of ROS print settings before the mode they need. Of a Linux machine both its commands and what it says
    of itself (`read_transcript`) are read; the latter raises InputError where it cannot be understood. Where two lines
    say different things of one cell, the later one counts, even if the earlier one was taken only at the end.
    """
    return (_parsed_once if len(text) <= _KEPT_CHARACTERS else _parsed)(platform, text)


def _parsed(platform: Platform, text: str) -> Parsed:
    return command_line(platform).parse(platform, text)


_parsed_once = lru_cache(_KEPT_TEXTS)(_parsed)  # a rollout reads each of its texts several times
