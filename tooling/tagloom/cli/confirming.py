"""Answer the command that keeps a change which waits for its confirmation, and hear what is typed where it waits."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.cli.inputs import LAB, Findings, inventory_of, seconds_of
from tagloom.cli.screen import GOOD, NO
from tagloom.cli.vault import add_vault_words
from tagloom.cli.watching import answer_confirmation, watch
from tagloom.errors import Finding

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tagloom.cli.screen import Screen
    from tagloom.cli.words import Commands

_YES, _NO_WORDS = {"y", "yes"}, {"n", "no"}
_TYPED_BYTES = 4096


def wrong_confirmation(args: argparse.Namespace) -> list[Finding]:
    """Find what does not go with --confirm, and a time that is none."""
    if not args.confirm:
        return []
    wrong = Findings()
    wrong.of(lambda: seconds_of(args.confirm, "--confirm"))
    if args.on_failure != "stop":
        rule = "stop: with --confirm a change that fails is taken back"
        wrong.findings.append(Finding("--on-failure", rule, args.on_failure))
    if args.limit:
        rule = "nothing beside --confirm: what is brought to some switches alone is no state that proves"
        wrong.findings.append(Finding("--limit", rule, args.limit))
    return wrong.findings


@contextmanager
def until_confirmed(args: argparse.Namespace, screen: Screen) -> Iterator[None]:
    """Live on where the terminal goes, which the change may have cut off: somebody must take it back."""
    if not (args.confirm or args.resume):
        yield
        return
    screen.plain = True
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


class Keyboard:
    """The terminal that the command was typed at: yes keeps the change, no takes it back."""

    def __init__(self) -> None:
        self.is_open = sys.stdin is not None and sys.stdin.isatty()
        self._typed = ""

    def heard(self, seconds: float) -> bool | None:
        """Wait so long at most, and return what was answered; None for nothing, or nothing that is yes or no."""
        if not self.is_open:
            time.sleep(seconds)
            return None
        try:
            if not select.select([sys.stdin], [], [], seconds)[0]:
                return None
            piece = os.read(sys.stdin.fileno(), _TYPED_BYTES)
        except OSError:  # the terminal is gone
            piece = b""
        self.is_open = bool(piece)
        *lines, self._typed = (self._typed + piece.decode("utf-8", "replace"))[-_TYPED_BYTES:].split("\n")
        said = [line.strip().lower() for line in lines]
        return next((word in _YES for word in reversed(said) if word in _YES | _NO_WORDS), None)


def _confirm(args: argparse.Namespace, screen: Screen) -> int:
    if args.watchdog:
        return watch(args, screen)
    from tagloom.apply import abort
    from tagloom.apply.confirmations import Confirmations
    from tagloom.apply.journal import Journal
    from tagloom.apply.lock import operator
    from tagloom.operate import confirming

    home = abort.home_of(inventory_of(args))
    path = home / abort.JOURNAL
    found = confirming.confirm(Confirmations(Journal(path)), operator()) if path.exists() else None
    return GOOD if answer_confirmation(found, screen) else NO


def add_confirm_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that has a change wait for its confirmation."""
    parser.add_argument(
        "--confirm",
        default="",
        metavar="TIME",
        help="take the change back, proven, unless somebody confirms it within 5m or so of its end: tagloom confirm at "
        "any terminal, or yes at this one",
    )


def add(commands: Commands) -> None:
    """Add this command to the parser."""
    confirm = commands.add("confirm", _confirm, "keep the change that waits for its confirmation")
    confirm.add_argument(
        "-i", "--inventory", type=Path, metavar="INVENTORY", help=f"inventory (default {LAB}, where a lab runs)"
    )
    confirm.add_argument(
        "--watchdog",
        action="store_true",
        help="confirm nothing: take the change back once its time is over, and try again where a switch cannot be "
        "reached; apply --confirm starts this by itself",
    )
    add_vault_words(confirm)
