"""Answer tagloom completion: what makes a shell complete tagloom's words."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.cli.screen import GOOD

if TYPE_CHECKING:
    from tagloom.cli.screen import Screen
    from tagloom.cli.words import Commands


def _completion(args: argparse.Namespace, screen: Screen) -> int:
    import shtab

    _complete_files(args.whole)
    text = shtab.complete(args.whole, shell=args.shell)
    screen.say(text.rstrip())
    screen.answer({"shell": args.shell, "text": text})
    return GOOD


def _complete_files(parser: argparse.ArgumentParser) -> None:
    """Have file names completed wherever a path is asked for, in all commands below a parser."""
    import shtab

    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for command in set(action.choices.values()):
                _complete_files(command)
        elif action.type is Path:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab looks for it


def add(commands: Commands) -> None:
    """Add this command to the parser."""
    completion = commands.add("completion", _completion, "print a shell's completion script")
    completion.add_argument(
        "shell", choices=("bash", "zsh", "fish", "tcsh"), metavar="SHELL", help="bash, zsh, fish or tcsh"
    )
    completion.set_defaults(whole=commands.parser)
