"""Read a running-config, as a console prints it, back into a switch state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.platforms import iproute2
from tagloom.platforms.factory import factory
from tagloom.platforms.grammar import CONFIG, Context
from tagloom.platforms.interpreter import Interpreter, OutcomeKind
from tagloom.render.bridge import is_transcript, read_transcript
from tagloom.render.console_text import NOISE, clean_lines

if TYPE_CHECKING:
    from collections.abc import Collection

    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchState

_OPENERS = ("interface ", "vlan database")


@dataclass(frozen=True, slots=True)
class UnknownLine:
    """Hold a line inside a block of ours that is not understood or cannot hold, and the switch's answer to it.

    `number` counts from 1; `block` is the line that opened the block, "" outside of any. `answer` is "" for a line
    nobody knows, else what the switch would say at its place. `ports` and `vlan` are what the block is about.
    """

    number: int
    block: str
    text: str
    answer: str
    ports: tuple[int, ...] = ()
    vlan: int = 0

    def touches(self, ports: Collection[int], vlans: Collection[int]) -> bool:
        """Tell whether the line may bear on any of these ports or VLANs."""
        if self.ports:
            return not set(self.ports).isdisjoint(ports)
        return self.vlan in vlans if self.vlan else True


@dataclass(frozen=True)
class Parsed:
    """Hold what a text says, and what of it was not understood."""

    state: SwitchState
    unknown: tuple[UnknownLine, ...]


def parse_configuration(platform: Platform, text: str) -> Parsed:
    """Read a running-config from a factory default, with whatever the console put between its lines.

    Terminal escapes, pager prompts, log lines, prompts and the echoed command are passed over, and so are lines of
    others outside the blocks of ours. A line that the switch would refuse at its place is tried again at the end:
    relatives of ROS print settings before the mode they need. Of a Linux machine both its commands and what it says
    of itself (`read_transcript`) are read; the latter raises InputError where it cannot be understood.
    """
    if platform.grammar == iproute2.FAMILY and is_transcript(text):
        return Parsed(read_transcript(platform, text), ())
    if platform.grammar == iproute2.FAMILY:
        return _parse_commands(platform, clean_lines(text))
    interpreter = Interpreter(platform, factory(platform))
    owned = interpreter.grammar.owned
    unknown: list[UnknownLine] = []
    refused: list[tuple[Context, UnknownLine]] = []
    block, passing = "", False  # the line that opened the block, and whether the block is not of our ports and VLANs
    for number, line in enumerate(map(str.strip, clean_lines(text)), start=1):
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
        at = interpreter.context
        answer = "" if outcome.kind is OutcomeKind.UNKNOWN else outcome.text
        trouble = UnknownLine(number, block, line, answer, at.ports, at.vlan)
        if opens:
            block, passing = line, True
            if line.startswith("interface vlan"):
                unknown.append(replace(trouble, block=""))
        elif outcome.kind is OutcomeKind.REJECTED:
            refused.append((interpreter.context, trouble))
        elif not NOISE.match(line) and (interpreter.context is not CONFIG or f"{line} ".startswith(owned)):
            unknown.append(trouble)
    for context, trouble in refused:
        interpreter.context = context
        if not interpreter.feed(trouble.text).accepted:
            unknown.append(trouble)
    return Parsed(interpreter.editor.freeze(), tuple(sorted(unknown, key=lambda each: each.number)))


def _parse_commands(platform: Platform, lines: list[str]) -> Parsed:
    """Read the commands of a Linux switch as a shell would run them on a machine without a bridge.

    Other programs' lines are passed over. One that the kernel would refuse is reported, and has no effect.
    """
    shell = iproute2.Shell(platform, factory(platform))
    owned = iproute2.commands().owned
    unknown: list[UnknownLine] = []
    for number, line in enumerate(map(str.strip, lines), start=1):
        outcome = shell.feed(line)
        if not outcome.accepted and (outcome.text or f"{line} ".startswith(owned)):
            unknown.append(UnknownLine(number, "", line, outcome.text, shell.ports_of(line)))
    return Parsed(shell.editor.freeze(), tuple(unknown))


def read_state(
    platform: Platform, text: str, where: str, ports: Collection[int]
) -> tuple[SwitchState, tuple[Finding, ...]]:
    """Read a state, with a finding for each line that is not understood and bears on `ports` or on a VLAN of theirs.

    `where` names the switch. Such a line may change what the ports do, so the state alone proves nothing.
    """
    try:
        parsed = parse_configuration(platform, text)
    except InputError as error:
        findings = [replace(finding, where=f"{where}: {finding.where}") for finding in error.findings]
        return factory(platform).freeze(), tuple(findings)
    columns = np.array(sorted(ports), np.int64) - 1
    joined = parsed.state.vlans[parsed.state.membership[:, columns].any(axis=1)]
    vlans = {*parsed.state.owned_vlans, *joined.tolist(), *parsed.state.pvid[columns].tolist()}
    findings = [
        Finding(
            f"{where}:{line.number}  {line.block or 'configuration'}",
            "a line the switch takes" if line.answer else "a line tagloom knows",
            repr(line.text) + (f" ({' '.join(line.answer.split())})" if line.answer else ""),
        )
        for line in parsed.unknown
        if line.touches(ports, vlans)
    ]
    return parsed.state, tuple(findings)
