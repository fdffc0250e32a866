"""Word what is wrong with the words of a command line, and what to type instead."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from tagloom.errors import Finding, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# What argparse calls the type of an option's word: how people call one, and several.
KINDS = {
    "int": ("a whole number", "whole numbers with blanks between, such as 4 4"),
    "float": ("a number", "numbers with blanks between"),
}
SHORT = 12  # so many choices are named; of more, --help lists them


def finding_of(parser: argparse.ArgumentParser, words: Sequence[str], message: str, example: str) -> Finding:
    """Return what argparse's `message` says of `words`, the arguments of `parser`, with what leads on.

    `example` is a line that the command takes. A message of another kind than those below is passed on as it is.
    """
    where = parser.prog
    if missing := re.fullmatch(r"the following arguments are required: (.*)", message):
        return _missing(parser, words, missing[1], example)
    if choice := re.fullmatch(r"argument (.*): invalid choice: '?(.*?)'? \(choose from (.*)\)", message):
        return _not_offered(where, choice[1], choice[2], re.findall(r"[^\s',]+", choice[3]))
    if wrong := re.fullmatch(r"argument (.*): invalid (int|float) value: '(.*)'", message):
        several = _nargs_of(parser, wrong[1]) in {"+", "*"}
        return Finding(f"{where} {wrong[1]}", KINDS[wrong[2]][several], repr(wrong[3]))
    if one_of := re.fullmatch(r"one of the arguments (.*) is required", message):
        return Finding(where, f"{_or(one_of[1].split())}, as in {example!r}", "neither")
    if both := re.fullmatch(r"argument (.*): not allowed with argument (.*)", message):
        return Finding(where, _or([both[2], both[1]]), "both")
    if unknown := re.fullmatch(r"unrecognized arguments: (.*)", message):
        inner = _innermost(parser, words)
        near = nearest(unknown[1].split()[0].partition("=")[0], _options(inner))
        return Finding(inner.prog, f"arguments as in --help{near}", unknown[1])
    return Finding(where, "arguments as in --help", message)


def _or(options: Sequence[str]) -> str:
    """Join options of which one is given."""
    return f"{', '.join(options[:-1])} or {options[-1]}"


def _missing(parser: argparse.ArgumentParser, words: Sequence[str], names: str, example: str) -> Finding:
    """Return the finding of arguments that are required and not there, with a line that has them."""
    where, sizes = parser.prog, [word for word in words[1:] if word.isdecimal()]
    if names == "--dims" and sizes:
        line = f"{where} {words[0]} --dims {' '.join(sizes)}"
        return Finding(where, f"the family's sizes behind --dims: {line}", " ".join(words))
    options = _options(parser)
    odd = [word for word in words if re.match(r"--\w", word) and not _known(word, options)]
    if odd:
        return Finding(where, names + nearest(odd[0].partition("=")[0], options), odd[0])
    if names == "COMMAND" or "|" in names:
        return Finding(where, f"a command (see {where} --help), as in {example!r}", "none")
    return Finding(where, f"{names}, as in {example!r}", "nothing there")


def _not_offered(where: str, argument: str, word: str, choices: Sequence[str]) -> Finding:
    """Return the finding of a word that is none of an argument's choices."""
    near = nearest(word.partition("=")[0], choices)
    if argument == "COMMAND" or "|" in argument:
        if word == "help":
            return Finding(where, f"a command; {where} --help lists them", repr(word))
        return Finding(where, f"a command of {where} --help{near}", repr(word))
    listed = ", ".join(choices) if len(choices) <= SHORT else "those of --help"
    return Finding(f"{where} {argument}", f"one of {listed}{near}", repr(word))


def _innermost(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command that `words` name, `parser` itself where they name none."""
    for action in parser._actions:  # noqa: SLF001 - argparse offers no other way to its commands
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for i, word in enumerate(words):
                if word in action.choices:
                    inner: argparse.ArgumentParser = action.choices[word]
                    return _innermost(inner, words[i + 1 :])
    return parser


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [name for name in parser._option_string_actions if name.startswith("--")]  # noqa: SLF001 - as above


def _nargs_of(parser: argparse.ArgumentParser, name: str) -> int | str | None:
    """Return how many words the argument takes that argparse calls `name` in a message."""
    actions = (a for a in parser._actions if "/".join(a.option_strings) == name)  # noqa: SLF001 - as above
    return next((action.nargs for action in actions), None)


def _known(word: str, options: Iterable[str]) -> bool:
    """Return whether an option is one of `options`, or begins like one, which argparse takes too."""
    return any(option.startswith(word.partition("=")[0]) for option in options)
