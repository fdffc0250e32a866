"""The command line of a Linux bridge, where every line is a command of iproute2 or ethtool that says all of a thing."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom.platforms import iproute2
from tagloom.platforms.factory import factory
from tagloom.platforms.harmless import harmless
from tagloom.render.bridge import is_transcript, read_duplex, read_transcript
from tagloom.render.flat_commands import FlatCommands
from tagloom.render.parsed import Parsed, UnknownLine
from tagloom.render.shell import shell_lines

if TYPE_CHECKING:
    from collections.abc import Collection

    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchEditor, SwitchState

# What is no blank to a shell, though it looks like one or like nothing: words with it name no command and no port.
_ODD = re.compile(r"[^\S \t]|[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_CONTROLS = {
    "\r": "carriage return",
    "\x1b": "escape",
    "\x08": "backspace",
    "\x0b": "vertical tab",
    "\x0c": "form feed",
}
_EXIT = re.compile(r"exit( \d+)?")
_STRICT = re.compile(
    r"set -(?:[a-z]*e[a-z]*|o errexit)|#!.* -[a-z]*e[a-z]*"
)  # from there on a command that fails ends the script
_NEVER_FAILS = re.compile(r"(?:echo|true|:|sleep|set)(?: .*)?|#.*")
_SHELL = re.compile(r"#! ?/(usr/)?bin/(env )?(ba|da)?sh( -[eux]+)?")


class ShellCommands(FlatCommands):
    """Commands of a shell; see `CommandLine` for what each function does."""

    def lines(self, platform: Platform, before: SwitchState, after: SwitchState) -> list[str]:
        """Write the commands from one state to another."""
        return shell_lines(platform, before, after)

    def interpreter(self, platform: Platform, editor: SwitchEditor) -> iproute2.Shell:
        """Return what carries out commands on an editor."""
        return iproute2.Shell(platform, editor)

    def parse(self, platform: Platform, text: str) -> Parsed:
        """Read commands as a shell would run them on a machine without a bridge, or what a machine says of itself.

        Other programs' lines are passed over. One that the kernel would refuse is reported, and has no effect; so is
        one with control characters or with blanks that are none to a shell. Nothing behind an `exit` is run. Raises
        InputError where what it says (`read_transcript`) cannot be understood.
        """
        pages = text.removeprefix("\ufeff").replace("\r\n", "\n")
        if is_transcript(pages):
            return Parsed(read_transcript(platform, pages), (), refused=None, duplex=read_duplex(platform, pages))
        lines = [line.strip(" \t") for line in text.split("\n")]
        shell = iproute2.Shell(platform, factory(platform))
        owned = iproute2.commands().owned
        unknown: list[UnknownLine] = []
        foreign: list[UnknownLine] = []
        strict, risky = "", list[int]()  # the line that makes a failure the end, and where in `foreign` one may come
        for number, line in enumerate(lines, start=1):
            if _EXIT.fullmatch(line):
                break
            if odd := _ODD.search(line) if number == 1 or not line.startswith("#") else None:
                name = unicodedata.name(odd[0], _CONTROLS.get(odd[0], f"U+{ord(odd[0]):04X}")).lower()
                unknown.append(UnknownLine(number, "", line, f"to a shell the {name} is a part of a word"))
                continue
            outcome = shell.feed(line)
            other_shell = number == 1 and line.startswith("#!") and not _SHELL.fullmatch(line)
            strict = line if _STRICT.fullmatch(line) else strict
            if outcome.accepted and not other_shell:
                if line and not line.startswith("#"):  # which is not run if one of those before it fails
                    for place in risky:
                        foreign[place] = replace(foreign[place], block=strict)
                    risky.clear()
                continue
            trouble = UnknownLine(number, "", line, outcome.text, shell.ports_of(line))
            if outcome.text or f"{line} ".startswith(owned):
                unknown.append(trouble)
            else:
                risky += [len(foreign)] if strict and not _NEVER_FAILS.fullmatch(line) else []
                foreign.append(trouble)
        known = harmless(platform.grammar)
        refused = tuple(trouble for trouble in unknown if trouble.answer and not known.covers_command(trouble.text))
        return Parsed(shell.state(), tuple(unknown), tuple(foreign), refused, shell.duplex)

    def harmless(self, platform: Platform, line: UnknownLine, ports: Collection[int], vlans: Collection[int]) -> bool:
        """Return whether a line is one that the family lists, and ends nothing if it fails."""
        return not line.block and super().harmless(platform, line, ports, vlans)

    def owned(self, _platform: Platform) -> tuple[str, ...]:
        """Return what the family's page says."""
        return iproute2.commands().owned
