"""Read a running-config, as a console prints it, back into a switch state."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.platforms import iproute2
from tagloom.platforms.factory import factory
from tagloom.platforms.grammar import CONFIG, Context, Grammar
from tagloom.platforms.harmless import harmless
from tagloom.platforms.interpreter import Interpreter, Outcome, OutcomeKind
from tagloom.records.findings import ForeignLine
from tagloom.render.bridge import is_transcript, read_duplex, read_transcript
from tagloom.render.console_text import NOISE, PROMPT, clean_lines, concealing_lines
from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchEditor, SwitchState

_EXIT = re.compile(r"exit( \d+)?")
_SHELL = re.compile(r"#! ?/(usr/)?bin/(env )?(ba|da)?sh( -[eux]+)?")
_OPENERS = ("interface ", "vlan database")


@dataclass(frozen=True, slots=True)
class UnknownLine:
    """A line inside a block of ours that is not understood or cannot hold, and the switch's answer to it.

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
        """Return whether the line may bear on any of these ports or VLANs."""
        if self.ports:
            return not set(self.ports).isdisjoint(ports)
        return self.vlan in vlans if self.vlan else True


@dataclass(frozen=True)
class Parsed:
    """What a text says, and what of it was not understood.

    `unknown` are lines in blocks of ours that are not understood or cannot hold; `foreign` all others that change
    nothing of the state, harmless ones among them. `refused` are the lines that a switch would refuse, were the text
    pasted top to bottom into its factory default; None for a text that is no list of lines to paste. `duplex` is what
    the text says of it by port, `unpinned` the (VLAN, MAC) whose entry does not last.
    """

    state: SwitchState
    unknown: tuple[UnknownLine, ...]
    foreign: tuple[UnknownLine, ...] = ()
    refused: tuple[UnknownLine, ...] | None = ()
    duplex: Mapping[int, str] = field(default_factory=dict)
    unpinned: frozenset[tuple[int, int]] = frozenset()


def parse_configuration(platform: Platform, text: str) -> Parsed:
    """Read a running-config from a factory default, with whatever the console put between its lines.

    Terminal escapes, pager prompts, log lines, prompts and the echoed command are passed over, and so are lines of
    others outside the blocks of ours. A line that the switch would refuse at its place is tried again at the end:
    relatives of ROS print settings before the mode they need. Of a Linux machine both its commands and what it says
    of itself (`read_transcript`) are read; the latter raises InputError where it cannot be understood. Where two lines
    say different things of one cell, the later one counts, even if the earlier one was taken only at the end.
    """
    if platform.grammar == iproute2.FAMILY and is_transcript(text):
        return Parsed(read_transcript(platform, text), (), refused=None, duplex=read_duplex(platform, text))
    lines = list(map(str.strip, clean_lines(text)))
    if platform.grammar == iproute2.FAMILY:
        return _parse_commands(platform, lines)
    reader = _Reader(platform, factory(platform), outside="configure" in lines)
    for number, line in enumerate(lines, start=1):
        reader.take(number, line)
    return reader.finish(lines)


class _Reader:
    """The reading of a running-config, line by line.

    A "!" alone ends a block where blocks lack their exit; where it is a comment inside of one, lines that only the
    block knows still hold there. `straight` says that the switch itself would have taken every line just so. The text
    begins `outside` of configuration where it has a line that enters it.
    """

    def __init__(self, platform: Platform, editor: SwitchEditor, *, outside: bool = False) -> None:
        self.platform = platform
        self.interpreter = Interpreter(platform, editor)
        self.unknown: list[UnknownLine] = []
        self.foreign: list[UnknownLine] = []
        self.refused: list[tuple[Context, UnknownLine]] = []
        self.straight = True
        self._block = ""  # the line that opened the block
        self._passing = False  # whether the block is not of our ports and VLANs
        self._ended = False  # whether a "!" may have ended the block
        self._left = outside  # whether the session would stand outside of configuration
        grammar = self.interpreter.grammar
        self._owned, self._harmless = grammar.owned, harmless(platform.grammar)

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        if line == "!":
            self._comment()
            return
        opens = line.startswith(_OPENERS)
        if opens:
            self._begin()
        elif self._passing and self._pass_over(number, line):
            return
        interpreter = self.interpreter
        if self._left and line == "configure":
            self._left = False
        elif self._left and line and line[0] != "!":
            self.straight = False
        outcome = self._feed_behind_comment(line) if self._ended else interpreter.feed(line)
        if outcome.kind is OutcomeKind.LEFT:
            self._left = True
        if outcome.accepted and outcome.kind is not OutcomeKind.FOREIGN:
            self._block = line if opens else self._block if interpreter.context is not CONFIG else ""
            return
        if interpreter.context is CONFIG and not opens and self._harmless.opens(line):
            self._keep_foreign(number, line)
            self._block, self._passing, self.straight = line, True, False
            return
        if outcome.accepted:
            self._keep_foreign(number, line)
            self._block = line if opens else self._block if interpreter.context is not CONFIG else ""
            return
        self.straight = False
        at = interpreter.context
        answer = "" if outcome.kind is OutcomeKind.UNKNOWN else outcome.text
        trouble = UnknownLine(number, self._block, line, answer, at.ports, at.vlan)
        if opens:
            self._block, self._passing = line, True
            self.foreign.append(replace(trouble, block=""))
            if line.startswith("interface vlan"):
                self.unknown.append(replace(trouble, block=""))
        elif outcome.kind is OutcomeKind.REJECTED:
            self.refused.append((at, trouble))
        elif not NOISE.match(line) and (at is not CONFIG or f"{line} ".startswith(self._owned)):
            self.unknown.append(trouble)
        elif not PROMPT.match(line):
            self.foreign.append(trouble)

    def _begin(self) -> None:
        """Leave the block before: a new one opens."""
        if self.interpreter.context is not CONFIG:
            self.straight = False
        self.interpreter.context, self._block, self._passing, self._ended = CONFIG, "", False, False

    def _comment(self) -> None:
        if self._passing:
            self._begin()
        elif self.interpreter.context is not CONFIG:
            self._ended, self.straight = True, False

    def _pass_over(self, number: int, line: str) -> bool:
        """Pass over a line in a block of others; False where the line belongs behind the block."""
        of_a_port = self._block.startswith(_OPENERS)
        if not line or line[0] == "!" or PROMPT.match(line):
            return True
        if line in ("exit", "end"):
            self._passing = False
            if not of_a_port:
                self._block = ""
            return True
        if not (of_a_port or self._harmless.inside(self._block, line)):
            self._begin()
            return False
        trouble = UnknownLine(number, self._block, line, "")
        ours = f"{line} ".startswith(self._owned)
        if ours and not f"{self._block} ".startswith(self.interpreter.grammar.foreign_blocks):
            self.unknown.append(trouble)
        else:
            self.foreign.append(trouble)
        return True

    def _feed_behind_comment(self, line: str) -> Outcome:
        """Carry out a line behind a "!": outside of the block where it is known there, else in it."""
        interpreter, inside = self.interpreter, self.interpreter.context
        interpreter.context = CONFIG
        outcome = interpreter.feed(line)
        if outcome.kind is OutcomeKind.LEFT:  # it closes the block
            self._ended = False
            return Outcome(OutcomeKind.CONTEXT)
        if outcome.accepted:
            if interpreter.context is CONFIG:
                interpreter.context = inside
            else:
                self._ended = False
            return outcome
        if outcome.kind is not OutcomeKind.REJECTED:
            interpreter.context = inside
            again = interpreter.feed(line)
            if again.accepted or again.kind is OutcomeKind.REJECTED:
                return again
            self._ended, interpreter.context = False, CONFIG
        return outcome

    def _keep_foreign(self, number: int, line: str) -> None:
        at = self.interpreter.context
        block, ports, vlan = (self._block, at.ports, at.vlan) if at is not CONFIG and not self._ended else ("", (), 0)
        self.foreign.append(UnknownLine(number, block, line, "", ports, vlan))

    def finish(self, lines: list[str]) -> Parsed:
        """Return what was read, the refused lines tried again."""
        interpreter = self.interpreter
        taken_late = False
        for context, trouble in self.refused:
            interpreter.context = context
            if interpreter.feed(trouble.text).accepted:
                taken_late = True
            else:
                self.unknown.append(trouble)
        if taken_late:  # read once more from there, so that a line put off does not win over a later one
            again = _Reader(self.platform, interpreter.editor)
            for number, line in enumerate(lines, start=1):
                again.take(number, line)
            interpreter = again.interpreter
        state = interpreter.editor.freeze()
        unknown = tuple(sorted(self.unknown, key=lambda each: each.number))
        foreign = tuple(self.foreign)
        refused: tuple[UnknownLine, ...] = ()
        if not self.straight:
            refused = _refused_when_pasted(self.platform, lines, {line.number for line in (*unknown, *foreign)}, state)
        return Parsed(state, unknown, foreign, refused, interpreter.duplex, frozenset(interpreter.unpinned))


def _refused_when_pasted(
    platform: Platform, lines: list[str], unread: Collection[int], read: SwitchState
) -> tuple[UnknownLine, ...]:
    """List the lines that a switch in its factory default, pasted them top to bottom, refuses.

    Lines that the reading did not understand (`unread`, by number) are not judged. Where none is refused and the switch
    still ends in another state than was `read`, the last line stands for that.
    """
    interpreter, known = Interpreter(platform, factory(platform)), harmless(platform.grammar)
    refused: list[UnknownLine] = []
    # left: outside of configuration, where a text that says `configure` begins; strange: in a context of unknown name
    left, inside, strange = "configure" in lines, "", False
    gone = False  # out of privileged exec too, by an `exit` more: nothing is taken there
    for number, line in enumerate(lines, start=1):
        if not line or line[0] == "!" or PROMPT.match(line):
            continue
        if left:
            left = gone or line != "configure"
            gone = gone or line == "exit"
            if left and number not in unread and line not in ("exit", "end"):
                refused.append(
                    UnknownLine(
                        number,
                        "",
                        line,
                        "outside of configuration: `configure` is missing, or an exit too many stands above",
                    )
                )
            continue
        if inside:
            if line in ("exit", "end"):
                inside = ""
                continue
            if known.inside(inside, line) or (number in unread and not line.startswith(_OPENERS)):
                continue
            inside = ""
        if strange and line == "exit":
            strange = False
            continue
        at = interpreter.context
        strange = number in unread and (at is CONFIG and not known.covers(line, "config"))
        outcome = interpreter.feed(line)
        if known.opens(line) or (line.startswith(_OPENERS) and not outcome.accepted and number in unread):
            inside = line
        elif outcome.kind is OutcomeKind.LEFT:
            left = True
        elif not outcome.accepted and number not in unread:
            refused.append(UnknownLine(number, "", line, outcome.text, at.ports, at.vlan))
    if not refused and interpreter.editor.freeze() != read:
        said = "all lines are taken, but not where they are read: a block above lacks its exit"
        refused.append(UnknownLine(len(lines), "", lines[-1], said))
    return tuple(refused)


def _parse_commands(platform: Platform, lines: list[str]) -> Parsed:
    """Read the commands of a Linux switch as a shell would run them on a machine without a bridge.

    Other programs' lines are passed over. One that the kernel would refuse is reported, and has no effect. Nothing
    behind an `exit` is run.
    """
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


@dataclass(frozen=True)
class Reading:
    """What a text says of a switch, as a proof takes it.

    `findings` are the lines in which it fails whatever the rest says; `unknown_lines` those that may change forwarding
    and that nobody knows; `refused` the lines that a switch in its factory default would refuse, pasted them in this
    order (None where the text is no list of lines).
    """

    state: SwitchState
    findings: tuple[Finding, ...] = ()
    unknown_lines: tuple[ForeignLine, ...] = ()
    refused: tuple[Finding, ...] | None = ()


def read_state(
    platform: Platform, text: str, where: str, ports: Collection[int]
) -> tuple[SwitchState, tuple[Finding, ...]]:
    """Read a state, with a finding for each line that is not understood and bears on `ports` or on a VLAN of theirs.

    `where` names the switch. Such a line may change what the ports do, so the state alone proves nothing.
    """
    try:
        parsed = parse_configuration(platform, text)
    except InputError as error:
        return factory(platform).freeze(), _unreadable(error, where)
    vlans = _vlans_of(parsed.state, ports)
    return parsed.state, tuple(_finding(line, where) for line in parsed.unknown if line.touches(ports, vlans))


def read_text(platform: Platform, text: str, where: str, ports: Collection[int]) -> Reading:
    """Read a text that is to be proven: every line of it is understood, known to be harmless, or named.

    `where` names the switch, `ports` are the fabric's.
    """
    try:
        parsed = parse_configuration(platform, text)
    except InputError as error:
        return Reading(factory(platform).freeze(), _unreadable(error, where), (), None)
    state, vlans = parsed.state, _vlans_of(parsed.state, ports)
    owned = iproute2.commands().owned if platform.grammar == iproute2.FAMILY else Grammar.of(platform).owned
    findings: list[Finding] = []
    others = list(parsed.foreign)
    for line in parsed.unknown:
        bears = line.touches(ports, vlans)
        ours = line.answer or f"{line.text} ".startswith(owned) or line.vlan in state.owned_vlans
        if not (bears and ours):
            others += [] if line.answer and not bears else [line]  # one that is refused changes nothing
        elif not harmless_line(platform, line, ports, vlans):
            findings.append(_finding(line, where))
    unknown = [line for line in others if not harmless_line(platform, line, ports, vlans)]
    unknown += [UnknownLine(number, "", repr(line), "") for number, line in concealing_lines(text)]
    findings += _of_duplex(platform, parsed, where, ports)
    findings += [
        Finding(f"{where} VLAN {vlan}", "a permanent entry", f"one that ages or is lost, for {format_mac(mac)}")
        for vlan, mac in sorted(parsed.unpinned)
        if vlan in vlans
    ]
    return Reading(
        state,
        tuple(findings),
        tuple(
            ForeignLine(where, line.number, line.block, line.text)
            for line in sorted({line.number: line for line in unknown}.values(), key=lambda each: each.number)
        ),
        None if parsed.refused is None else tuple(_finding(line, where) for line in parsed.refused),
    )


def harmless_line(platform: Platform, line: UnknownLine, ports: Collection[int], vlans: Collection[int]) -> bool:
    """Return whether a line that changes nothing of the state is known to change no frame's way either."""
    known = harmless(platform.grammar)
    if platform.grammar == iproute2.FAMILY:
        return known.covers_command(line.text)
    places = ["interface"] if line.ports else ["interface-vlan"] if line.vlan else []
    if places and not line.touches(ports, vlans):
        places.append(f"outside-{places[0]}".replace("interface-vlan", "vlan"))
    if not places and line.block.startswith("vlan database"):
        places = ["vlan-database"]
    elif not places and line.block:
        return known.inside(line.block, line.text)
    return known.covers(line.text, *(places or ["config"])) or (not places and known.opens(line.text))


def _of_duplex(platform: Platform, parsed: Parsed, where: str, ports: Collection[int]) -> Iterator[Finding]:
    """Find ports that are or may be half duplex, where there is no PAUSE (IEEE 802.3, annex 31B)."""
    for port in sorted(ports):
        said = parsed.duplex.get(port)
        guessed = parsed.refused is not None and said is None and not parsed.state.negotiation[port - 1]
        if (said == "half" or guessed) and port <= platform.physical_ports:
            actual = "half duplex" if said else "no word of it, and no negotiation: it may fall to half duplex"
            yield Finding(f"{where}:{platform.port_name(port)}", "full duplex, without which there is no PAUSE", actual)


def _unreadable(error: InputError, where: str) -> tuple[Finding, ...]:
    return tuple(replace(finding, where=f"{where}: {finding.where}") for finding in error.findings)


def _vlans_of(state: SwitchState, ports: Collection[int]) -> set[int]:
    """Return the VLANs of tagloom, and those that the fabric's ports are in."""
    columns = np.array(sorted(ports), np.int64) - 1
    joined = state.vlans[state.membership[:, columns].any(axis=1)]
    return {*state.owned_vlans, *joined.tolist(), *state.pvid[columns].tolist()}


def _finding(line: UnknownLine, where: str) -> Finding:
    return Finding(
        f"{where}:{line.number}  {line.block or 'configuration'}",
        "a line the switch takes" if line.answer else "a line tagloom knows",
        repr(line.text) + (f" ({' '.join(line.answer.split())})" if line.answer else ""),
    )
