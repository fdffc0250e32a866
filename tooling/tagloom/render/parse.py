"""Read a running-config, as a console prints it, back into a switch state."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagloom.platforms.grammar import CONFIG, Context, Interpreter, OutcomeKind
from tagloom.records.switch_state import SwitchEditor, SwitchState

if TYPE_CHECKING:
    from tagloom.platforms import Platform

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\x08")
_PAGER = re.compile(r"(More: <space>,[^\n]*?One line: <return>|--More-- or \(q\)uit)[ ]*")
# Lines of the log, which ROS prints into the session, and prompts with what was typed behind them.
_NOISE = re.compile(r"\d{2}-\w{3}-\d{4} \d{2}:\d{2}:\d{2} ?%|[\w .@-]+(\([\w/ -]*\))?[#>]")
_OPENERS = ("interface ", "vlan database")


@dataclass(frozen=True, slots=True)
class UnknownLine:
    """Hold a line inside a block of ours that is not understood or cannot hold, and the switch's answer to it.

    `number` counts from 1; `block` is the line that opened the block, "" outside of any.
    """

    number: int
    block: str
    text: str
    answer: str


@dataclass(frozen=True)
class Parsed:
    """Hold what a text says, and what of it was not understood."""

    state: SwitchState
    unknown: tuple[UnknownLine, ...]


def parse_configuration(platform: Platform, text: str) -> Parsed:
    """Read a running-config from a factory default, with whatever the console put between its lines.

    Terminal escapes, pager prompts, log lines, prompts and the echoed command are passed over, and so are lines of
    others outside the blocks of ours. A line that the switch would refuse at its place is tried again at the end:
    relatives of ROS print settings before the mode they need.
    """
    lines = _PAGER.sub("", _ANSI.sub("", text)).split("\n")
    interpreter = Interpreter(platform, SwitchEditor.blank(platform.ports))
    owned = interpreter.grammar.owned
    unknown: list[UnknownLine] = []
    refused: list[tuple[Context, UnknownLine]] = []
    block, passing = "", False  # the line that opened the block, and whether the block is not of our ports and VLANs
    for number, line in enumerate(map(str.strip, lines), start=1):
        opens = line.startswith(_OPENERS)
        if opens or line == "!":  # a new block ends the last one, and so does "!" where blocks lack their exit
            interpreter.context, block, passing = CONFIG, "", False
        elif passing:
            passing = line not in ("exit", "end")
            if f"{line} ".startswith(owned) and not f"{block} ".startswith(interpreter.grammar.foreign_blocks):
                unknown.append(UnknownLine(number, block, line, ""))
            continue
        outcome = interpreter.feed(line)
        if outcome.accepted:
            block = line if opens else block if interpreter.context is not CONFIG else ""
            continue
        trouble = UnknownLine(number, block, line, outcome.text)
        if opens:
            block, passing = line, True
            if line.startswith("interface vlan"):
                unknown.append(replace(trouble, block=""))
        elif outcome.kind is OutcomeKind.REJECTED:
            refused.append((interpreter.context, trouble))
        elif not _NOISE.match(line) and (interpreter.context is not CONFIG or f"{line} ".startswith(owned)):
            unknown.append(trouble)
    for context, trouble in refused:
        interpreter.context = context
        if not interpreter.feed(trouble.text).accepted:
            unknown.append(trouble)
    return Parsed(interpreter.editor.freeze(), tuple(sorted(unknown, key=lambda each: each.number)))
