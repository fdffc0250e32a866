"""Read a running-config, as a console of modes prints it, line by line."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from tagloom.platforms.factory import factory
from tagloom.platforms.grammar import CONFIG, Context, Grammar
from tagloom.platforms.harmless import harmless
from tagloom.platforms.interpreter import Interpreter, Outcome, OutcomeKind
from tagloom.records.switch_state import DEFAULT_VLAN, DISCARD_PVID, MAX_VLAN, PortMode
from tagloom.render.console_text import NOISE, PROMPT
from tagloom.render.parsed import Parsed, UnknownLine
from tagloom.units import format_ranges, parse_ranges

if TYPE_CHECKING:
    from collections.abc import Collection

    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchEditor, SwitchState

_OPEN_TRUNK = "carries every VLAN that will be, tagloom's too: say which by {}"
_CHECKED = "drops frames of senders pinned at other ports, until it is told: {}"
_DISCARDS = "takes untagged frames into VLAN 1, of which the port is a member: it has no VLAN of this number"
_OPENERS = ("interface ", "vlan database")
# Of general mode alone, into which a fabric's ports are put.
_WAITS = "holds nothing while the port is in another mode, and may in general mode: take it away first"
_ROUTES = "the port routes, and is in no VLAN until it is told `switchport`"
_MISSING = "names VLANs that are not there, and carries them once they are: {}"
_EITHER = "makes VLANs of the switch, or of what the block above is about: put it above that block"
_INSTANCE = re.compile(r"(rd|route-target|redistribute) ")  # what follows the line that opens one, and no VLAN's
# What the lines break that a switch takes and that are findings all the same.
_LISTED, _NOW = "a trunk with a list of its VLANs", "a line that holds now as it will when the port or a VLAN changes"
_UNCHECKED, _DROPPED = "a port that takes frames of every sender", "a port that drops untagged frames"
_OTHER_ID, _KEPT_ID = (
    "VLANs of other ids",
    "{} is the PVID by which tagloom has ports drop untagged frames, and can be no VLAN",
)
_TYPED, _UNTYPED = (
    "a port that says its link type",
    "is of another link type than the port's: say above it which that is",
)
_CUT = "a list that a terminal has cut: join it to the line above"
# A list of VLANs that ends its line, and the rest of one that a terminal has cut: at a comma, a dash or in a number.
_HEAD = "config-file-header"
_OWN_NAME = re.compile(r"(?=\S*[\d._-])[A-Za-z][\w.-]{0,62}")
_LIST = re.compile(r"(?:switchport|vlan|no vlan) (?:[a-z -]* )?(?P<list>[\d,-]+)")
_VLAN_LIST, _NUMBERS = re.compile(r"\bvlan(?: batch)? "), re.compile(r"(?<!\S)(\d{1,4})(?: to (\d{1,4}))?(?!\S)")
_REST = re.compile(r"(?P<list>[\d,-]+)(?: (?:un)?tagged)?")


def read_modes(platform: Platform, lines: list[str]) -> Parsed:
    """Read the cleaned lines of a running-config from a factory default."""
    grammar = Grammar.of(platform)
    words = grammar.session
    lines, cut = _joined(grammar.without_idle(grammar.without_defaults(_without_own_name(lines))))
    if words.comment != "!":
        lines = ["!" if line.startswith(words.comment) else line for line in lines]
    reader = _Reader(platform, _unsaid(platform), outside=words.configure in lines)
    reader.interpreter.unsaid = _ports_of_no_mode(platform)
    for number, line in enumerate(lines, start=1):
        reader.take(number, line)
    return reader.finish(lines, cut)


def _joined(lines: list[str]) -> tuple[list[str], list[tuple[int, str]]]:
    """Return the lines with lists of VLANs whole that a terminal has cut, and the (number, text) of what was joined.

    Switches list VLANs ascending, so what would make a list that does not ascend stays as it is.
    """
    whole, cut, last = list(lines), list[tuple[int, str]](), -1
    for at, line in enumerate(lines):
        rest = _REST.fullmatch(line)
        begun = _list_of(whole[last]) if rest is not None and last >= 0 else ""
        if rest is not None and begun and _goes_on(begun, rest["list"]):
            whole[last], whole[at] = whole[last] + line, ""
            cut.append((at + 1, line))
        else:
            last = at
    return whole, cut


def _goes_on(begun: str, rest: str) -> bool:
    """Return whether a list that was begun goes on with the rest: it has a comma or a dash before that, and ascends."""
    return (not begun.isdigit() or not rest[0].isdigit()) and _ascends(begun + rest)


def _list_of(line: str) -> str:
    found = _LIST.fullmatch(line)
    return found["list"] if found else ""


def _numbers_of(line: str) -> set[int]:
    """Return the numbers of a line's lists, ranges in full."""
    ends = [(int(low), int(high or low)) for low, high in _NUMBERS.findall(line)]
    return {number for low, high in ends if high <= MAX_VLAN for number in range(low, high + 1)}


def _ascends(text: str) -> bool:
    """Return whether a list of VLANs is one as far as it goes, and ascends."""
    bounds = [part.partition("-") for part in text.rstrip(",-").split(",")]
    numbers = [word for low, dash, high in bounds for word in ((low, high) if dash else (low,))]
    if not all(word.isdigit() and len(word) <= 4 for word in numbers):
        return False
    return all(int(low) < int(high) for low, high in pairwise(numbers))


def _ports_of_no_mode(platform: Platform) -> set[int]:
    """Return the ports that a text may leave without a line of their mode, where such ports are trunks."""
    return set(range(1, platform.ports + 1)) if Grammar.of(platform).trunks_by_default else set()


def _unsaid(platform: Platform) -> SwitchEditor:
    """Return what a switch holds whose running-config says nothing: as from the factory, or without spanning tree."""
    editor = factory(platform)
    if Grammar.of(platform).shows_spanning_tree:
        editor.spanning_tree = False
    return editor


def _without_own_name(lines: list[str]) -> list[str]:
    """Return the lines with a comment in the place of the name at a file's head.

    It is that of ``hostname``, or one that no command is called by, where the file has no such line.
    """
    at = lines.index(_HEAD) + 1 if _HEAD in lines[:-1] else 0
    if not at:
        return lines
    names = {line for line in lines if line.startswith("hostname ")}
    own = f"hostname {lines[at]}" in names or (not names and _OWN_NAME.fullmatch(lines[at]) is not None)
    return [*lines[:at], "!", *lines[at + 1 :]] if own else lines


@dataclass(slots=True)
class _Banner:
    """Text for people over several lines: the mark that ends it, whether that is a whole line, its lines so far.

    `body` is what its lines look like.
    """

    end: str
    line: bool
    body: re.Pattern[str]
    lines: list[tuple[int, str]] = field(default_factory=list)

    def named(self) -> list[UnknownLine]:
        """Return its lines as lines that nobody knows."""
        return [UnknownLine(number, "", line, "") for number, line in self.lines if line]


def _parted(text: str, end: str) -> tuple[bool, str]:
    """Return whether a text has the mark that ends it, and what stands behind that."""
    _, found, rest = text.partition(end)
    return bool(found), rest


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
        self._banner: _Banner | None = None
        self.quoted: set[int] = set()  # the lines of text for people, by number
        self._routing: dict[int, UnknownLine] = {}  # the line that made a port route
        self._open_trunks: dict[int, UnknownLine] = {}
        self._opened_before: set[int] | None = None  # such ports before a line; None before the first
        self._hybrids: dict[int, UnknownLine] = {}  # the line that made a port one, where such ports look at senders
        self._discards: dict[
            int, UnknownLine
        ] = {}  # the line by which a port drops untagged frames, outside VLAN 1 alone
        self._either: list[UnknownLine] = []  # lines that make VLANs of the switch, or instances of the block above
        self._block = ""  # the line that opened the block
        self._depth = 0  # the contexts that are open within a block of others
        self._passing = False  # whether the block is not of our ports and VLANs
        self._ended = False  # whether a "!" may have ended the block
        self._left = outside  # whether the session would stand outside of configuration
        grammar = self.interpreter.grammar
        self._words = grammar.session
        trunks = next(
            (" ".join(grammar.parts(key)) for key in ("trunk_only", "trunk_permit", "list_only") if grammar.has(key)),
            "",
        )
        self._open_trunk = _OPEN_TRUNK.format(trunks.replace("{vlans}", "LIST") or "a list of its VLANs")
        self._checks_sources = grammar.has("source_unchecked")
        self._owned, self._harmless = grammar.owned, harmless(platform.grammar)

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        if self._is_for_people(number, line):
            return
        if line == "!":
            self._comment()
            return
        opens = line.startswith(_OPENERS)
        if opens:
            self._begin()
        elif self._passing and self._pass_over(number, line):
            return
        interpreter = self.interpreter
        self._note_place(line)
        outcome = self._feed_behind_comment(line) if self._ended else interpreter.feed(line)
        if outcome.kind is OutcomeKind.LEFT:
            self._left = True
        if outcome.accepted and outcome.kind is not OutcomeKind.FOREIGN:
            self._note_open_trunks(number, line)
            self._block = line if opens else self._block if interpreter.context is not CONFIG else ""
            return
        if interpreter.context is CONFIG and not opens and self._harmless.opens(line):
            self._keep_foreign(number, line)
            self._block, self._passing, self.straight, self._depth = line, True, False, 0
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
            others = self._is_of_others(line)
            if line.startswith("interface vlan") and not others:
                self.unknown.append(replace(trouble, block=""))
        elif outcome.kind is OutcomeKind.REJECTED:
            self._note_open_trunks(number, line)
            kept = interpreter.grammar.kept_id
            if kept and _VLAN_LIST.search(line) and kept in _numbers_of(line):
                trouble = replace(trouble, answer=_KEPT_ID.format(kept), rule=_OTHER_ID)
            self.refused.append((at, trouble))
        elif not NOISE.match(line) and (at is not CONFIG or f"{line} ".startswith(self._owned)):
            self.unknown.append(trouble)
        elif not PROMPT.match(line):
            self.foreign.append(trouble)

    def _note_place(self, line: str) -> None:
        """Note whether the session would stand outside of configuration, where no line is taken."""
        if self._left and line == self._words.configure:
            self._left = False
        elif self._left and line and line[0] != "!":
            self.straight = False

    def _is_for_people(self, number: int, line: str) -> bool:
        """Return whether a line is of a banner, which it may begin, and read it as that."""
        if (banner := self._banner) is not None:
            if line == banner.end or banner.body.fullmatch(line):
                self._go_on_with_banner(number, line, line)
                return True
            self._banner = None  # no such text: a line of the switch's own stands in it
            self.foreign.extend(banner.named())
        grammar, inside = self.interpreter.grammar, self._passing or self.interpreter.context is not CONFIG
        begun = grammar.banner_of(line) if self._ended or not inside or grammar.falls_through is None else None
        if begun is None:
            return False
        if self._passing:
            self._begin()
        self._banner = _Banner(begun.end, begun.line, begun.body)
        if not begun.line:
            self._go_on_with_banner(number, line, begun.text)
        else:
            self._banner.lines.append((number, line))
        return True

    def _go_on_with_banner(self, number: int, line: str, text: str) -> None:
        """Read a line of a banner, of which `text` is what belongs to it; what stands behind its end is named."""
        assert self._banner is not None  # noqa: S101 - looked at where it is
        banner = self._banner
        banner.lines.append((number, line))
        ended, rest = (text == banner.end, "") if banner.line else _parted(text, banner.end)
        if not ended:
            return
        self._banner = None
        self.quoted.update(number for number, _ in banner.lines)
        if rest.strip():
            self.foreign.extend(banner.named())

    def _note_open_trunks(self, number: int, line: str) -> None:
        """Remember the line that made a trunk carry every VLAN: it bears on whatever ports and VLANs there are."""
        context = self.interpreter.context
        now, before = self._open_ports(), self._opened_before
        self._opened_before = now
        by_this = now.difference(now if before is None else before)  # "no vlan" in the block of another port
        for port in now if context is CONFIG else now.intersection(context.ports) | by_this:
            self._open_trunks.setdefault(port, UnknownLine(number, self._block, line, self._open_trunk, rule=_LISTED))
        for port in filter(self.interpreter.routes, context.ports):
            self._routing.setdefault(port, UnknownLine(number, self._block, line, _ROUTES, (port,), rule=_NOW))
        if self._checks_sources:
            until = _CHECKED.format(self.interpreter.grammar.line("source_unchecked"))
            for port in self.interpreter.context.ports:
                if self.interpreter.editor.mode[port - 1] is PortMode.GENERAL:
                    self._hybrids.setdefault(
                        port, UnknownLine(number, self._block, line, until, (port,), rule=_UNCHECKED)
                    )

        if self.interpreter.grammar.discards_into_vlan_1:
            for port in self.interpreter.context.ports:
                if self.interpreter.editor.pvid[port - 1] == DISCARD_PVID:
                    self._discards.setdefault(
                        port, UnknownLine(number, self._block, line, _DISCARDS, (port,), rule=_DROPPED)
                    )

    def _open_ports(self) -> set[int]:
        return self.interpreter.open_trunks.union(self.interpreter.promised)

    def _is_of_others(self, opener: str) -> bool:
        grammar = self.interpreter.grammar
        return f"{grammar.shorten(opener)} ".startswith(grammar.foreign_blocks)

    def _names_new_vlans(self, line: str) -> bool:
        """Return whether a line names VLANs that are not there yet, so that it may be the one that makes them."""
        with suppress(ValueError):
            return not set(parse_ranges(line.rsplit(maxsplit=1)[-1])) <= set(self.interpreter.editor.vlans)
        return True

    def _begin(self) -> None:
        """Leave the block before: a new one opens."""
        if self.interpreter.context is not CONFIG:
            self.straight = False
        self.interpreter.context, self._block, self._passing, self._ended = CONFIG, "", False, False
        self._depth = 0

    def _comment(self) -> None:
        if self._passing:
            if not self._harmless.has_contexts(self._block):  # in those it may stand between them
                self._begin()
        elif self.interpreter.context is not CONFIG:
            self._ended, self.straight = True, False

    def _pass_over(self, number: int, line: str) -> bool:
        """Pass over a line in a block of others; False where the line belongs behind the block."""
        of_a_port = self._block.startswith(_OPENERS)
        if not line or line[0] == "!" or PROMPT.match(line):
            return True
        if line == self._words.leave and self._depth:
            self._depth -= 1
            return True
        if line in (self._words.leave, self._words.end):
            self._passing, self._block = False, ""
            return True
        if not (of_a_port or self._harmless.inside(self._block, line)):
            self._begin()
            return False
        self._depth += self._harmless.nests(self._block, line)
        trouble = UnknownLine(number, self._block, line, "")
        ours = f"{line} ".startswith(self._owned)
        if ours and self._harmless.nests(self._block, line) and self._names_new_vlans(line):
            self._either.append(replace(trouble, block="", answer=_EITHER))
        elif ours and not self._is_of_others(self._block):
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

    def finish(self, lines: list[str], cut: list[tuple[int, str]]) -> Parsed:
        """Return what was read, the refused lines tried again; `cut` are the lines that others go on in."""
        interpreter = self.interpreter
        if self._banner is not None:  # it has no end
            self.foreign.extend(self._banner.named())
        taken_late, never_taken, waiting = False, list[UnknownLine](), list[tuple[PortMode, UnknownLine]]()
        interpreter.lists_missing = True  # the switch itself printed what it would not take
        for context, trouble in self.refused:
            interpreter.context = context
            outcome = interpreter.feed(trouble.text)
            self._block = trouble.block
            self._note_open_trunks(trouble.number, trouble.text)
            if outcome.accepted:
                taken_late = True
            elif outcome.waits_for is not None:
                waiting.append((outcome.waits_for, trouble))
            else:
                never_taken.append(trouble)
        self.unknown.extend(never_taken)
        if taken_late:  # read once more from there, so that a line put off does not win over a later one
            again = _Reader(self.platform, interpreter.editor)
            again.interpreter.unchecked, again.interpreter.lists_missing = interpreter.unchecked, True
            again.interpreter.unsaid, again.interpreter.promised = interpreter.unsaid, interpreter.promised
            again.interpreter.open_trunks = interpreter.open_trunks
            for number, line in enumerate(lines, start=1):
                again.take(number, line)
            interpreter = again.interpreter
        state = interpreter.editor.freeze()
        opened = {**again._open_trunks, **self._open_trunks} if taken_late else self._open_trunks
        self.unknown.extend(opened[port] for port in sorted(interpreter.open_trunks))
        later = [
            replace(opened[port], answer=_MISSING.format(format_ranges(sorted(vlans))), rule=_NOW)
            for port, vlans in sorted(interpreter.promised.items())
        ]
        later += [line for port, line in self._routing.items() if interpreter.routes(port)]
        later += [replace(each, answer=_WAITS, rule=_NOW) for mode, each in waiting if mode is PortMode.GENERAL]
        if interpreter.grammar.forgets_other_modes:
            self.unknown.extend(replace(each, answer=_UNTYPED, rule=_TYPED) for _, each in waiting)
        self.unknown.extend(
            line
            for port, line in sorted(self._hybrids.items())
            if interpreter.editor.mode[port - 1] is PortMode.GENERAL and port not in interpreter.unchecked
        )
        editor = interpreter.editor
        self.unknown.extend(
            line
            for port, line in sorted(self._discards.items())
            if editor.pvid[port - 1] == DISCARD_PVID and editor.members[DEFAULT_VLAN].get(port)
        )
        self.unknown.extend(
            line for line in self._either if not _INSTANCE.match(next(filter(None, lines[line.number :]), ""))
        )
        unknown = tuple(sorted(self.unknown, key=lambda each: each.number))
        foreign = tuple(self.foreign)
        refused = tuple(line for line in never_taken if not self._harmless.covers(line.text, "config"))
        printed = interpreter.grammar.prints_other_modes
        kept = {line.number for mode, line in waiting if printed and mode is not PortMode.GENERAL}
        refused += tuple(line for _, line in waiting if line.number not in kept)
        if not self.straight or interpreter.grammar.shows_spanning_tree:  # else it was read as a switch would take it
            judged = {line.number for line in (*never_taken, *(line for _, line in waiting))}
            unread = {line.number for line in (*unknown, *foreign)} - judged | kept
            said = ["" if number in self.quoted else line for number, line in enumerate(lines, start=1)]
            refused = _refused_when_pasted(self.platform, said, unread, state)
        refused += tuple(UnknownLine(number, "", line, _CUT) for number, line in cut)
        return Parsed(
            state,
            unknown,
            foreign,
            refused,
            interpreter.duplex,
            frozenset(interpreter.unpinned),
            tuple(sorted(later, key=lambda each: each.number)),
        )


def _refused_when_pasted(
    platform: Platform, lines: list[str], unread: Collection[int], read: SwitchState
) -> tuple[UnknownLine, ...]:
    """List the lines that a switch in its factory default, pasted them top to bottom, refuses.

    Lines that the reading did not understand (`unread`, by number), and harmless ones, are not judged. Where none is
    refused and the switch still ends in another state than was `read`, the last line stands for that.
    """
    interpreter, known = Interpreter(platform, factory(platform)), harmless(platform.grammar)
    interpreter.unsaid = _ports_of_no_mode(platform)
    words = interpreter.grammar.session
    refused: list[UnknownLine] = []
    # left: outside of configuration, where a text that says `configure` begins; strange: in a context of unknown name
    left, inside, strange = words.configure in lines, "", False
    gone = False  # out of privileged exec too, by an `exit` more: nothing is taken there
    for number, line in enumerate(lines, start=1):
        if not line or line[0] == "!" or PROMPT.match(line):
            continue
        if left:
            left = gone or line != words.configure
            gone = gone or line == words.leave
            if left and number not in unread and line != words.leave:
                refused.append(
                    UnknownLine(
                        number,
                        "",
                        line,
                        f"outside of configuration: `{words.configure}` is missing, or a `{words.leave}` too many "
                        "stands above",
                    )
                )
            continue
        if inside:
            if line in (words.leave, words.end):
                inside = ""
                continue
            if known.inside(inside, line) or (number in unread and not line.startswith(_OPENERS)):
                continue
            inside = ""
        if strange and line == words.leave:
            strange = False
            continue
        at = interpreter.context
        strange = number in unread and (at is CONFIG and not known.covers(line, "config"))
        outcome = interpreter.feed(line)
        if known.opens(line) or (line.startswith(_OPENERS) and not outcome.accepted and number in unread):
            inside = line
        elif outcome.kind is OutcomeKind.LEFT:
            left = True
        elif not (outcome.accepted or number in unread or known.covers(line, "config")):
            refused.append(UnknownLine(number, "", line, outcome.text, at.ports, at.vlan))
    pasted = interpreter.editor.freeze()
    if not refused and pasted != read:
        said = f"all lines are taken, but not where they are read: a block above lacks its {words.leave}"
        if replace(pasted, spanning_tree=read.spanning_tree) == read:
            off = interpreter.grammar.line("spanning_tree_off")
            said = f"all lines are taken, but a switch from its factory runs spanning tree: `{off}` is missing"
        last = max((number for number, line in enumerate(lines, start=1) if line), default=1)
        refused.append(UnknownLine(last, "", lines[last - 1], said))
    return tuple(refused)
