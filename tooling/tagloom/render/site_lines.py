"""Prove that the operator's own lines touch nothing of what tagloom plans, by the grammar of the switch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.platforms.factory import factory
from tagloom.platforms.grammar import CONFIG, VLAN_DATABASE, Context, ContextKind, Grammar
from tagloom.platforms.harmless import harmless
from tagloom.platforms.interpreter import Interpreter, OutcomeKind
from tagloom.platforms.secrets import scrub, secrets_in
from tagloom.platforms.words import SITE, TRUSTED
from tagloom.records.change import difference
from tagloom.records.site_lines import MASK, SECRET, SiteLine, masked, plain_line
from tagloom.records.switch_state import FlowControl, Frames, Membership, PortMode
from tagloom.render.command_line import command_line
from tagloom.render.own_templates import cell_words
from tagloom.render.parsed import UnknownLine
from tagloom.render.site_page import cable_ends, site_rows
from tagloom.render.steps import LONGEST_LINE
from tagloom.units import parse_mac

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tagloom.platforms import Platform
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import SwitchEditor

SiteLines = dict[str, tuple[SiteLine, ...]]
_RULE = "a line that leaves all that tagloom plans as it is"
_TRUSTED = f"{SITE}/{TRUSTED}"
_OPENERS = ("interface ", "vlan database")
_NUMBER = re.compile(r"\d{1,4}")
_PROBED_VLANS = 16  # of those that a line names; one is enough to see what the line does


def site_lines(fabric: Fabric) -> SiteLines:
    """Return the operator's own lines of each live switch that has some, proven to touch nothing of tagloom's.

    Raises InputError with a finding for every line that does, or that may and is not trusted.
    """
    found, findings, unknown = _read(fabric)
    findings += [
        Finding(line.where, "a line known to change no frame's way, or --trust-foreign", repr(line.title))
        for line in unknown
    ]
    if findings:
        raise InputError(_once(findings))
    return found


def with_trusted_lines(fabric: Fabric) -> Fabric:
    """Return the fabric with its unknown site lines on the list of those that are trusted (trusted.txt)."""
    _, _, unknown = _read(fabric)
    texts = dict(fabric.templates)
    trusted = {*_trusted(fabric), *(line.title for line in unknown)}
    if not unknown:
        return fabric
    texts[_TRUSTED] = "".join(f"{each}\n" for each in sorted(trusted))
    return fabric.with_templates(tuple(sorted(texts.items())))


def _trusted(fabric: Fabric) -> frozenset[str]:
    return frozenset(dict(fabric.templates).get(_TRUSTED, "").splitlines())


def _read(fabric: Fabric) -> tuple[SiteLines, list[Finding], list[SiteLine]]:
    """Return the lines of each switch, what is wrong with others, and those that nobody knows."""
    found: SiteLines = {}
    findings: list[Finding] = []
    unknown: list[SiteLine] = []
    trusted, ends = _trusted(fabric), cable_ends(fabric) if fabric.templates else []
    spent: set[str] = set()
    for s, switch in enumerate(fabric.switches):
        if not switch.up:
            continue
        rows, wrong = site_rows(fabric, s, ends, spent) if ends else ([], [])
        findings += wrong
        if not rows:
            continue
        platform = platforms.of(switch)
        undoes = platform.has_known_modes and Grammar.of(platform).session.negation != "no"
        if undoes:
            rule = "lines for a switch that takes a line away by no"
            findings.append(Finding(rows[0][0], rule, f"{switch.name}, {platform.title}, which does so by undo"))
            continue
        if not platform.has_known_modes:
            rule = "lines for a switch with a command line of modes"
            actual = (
                f"{switch.name}, {platform.title}: Ansible's own modules keep users, NTP and SNMP of such a machine"
            )
            findings.append(
                Finding(rows[0][0], rule, actual if platform.grammar else f"{switch.name}, {platform.title}")
            )
            continue
        reader = _Reader(platform, trusted)
        for _, page in groupby(rows, key=lambda row: row[0].rpartition(":")[0]):
            reader.leave()
            for where, line in page:
                reader.take(where, line)
        reader.find_twice()
        findings += reader.findings
        unknown += reader.unknown
        found[switch.name] = tuple(reader.lines)
    return found, findings, unknown


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """Leave of findings at one place the first: the others are of other switches."""
    return list({finding.where: finding for finding in reversed(findings)}.values())[::-1]


class _Reader:
    """Read the site lines of one switch, each in the context where a session would stand."""

    def __init__(self, platform: Platform, trusted: Collection[str]) -> None:
        self.platform, self.trusted = platform, trusted
        self.lines: list[SiteLine] = []
        self.unknown: list[SiteLine] = []
        self.findings: list[Finding] = []
        self._context = CONFIG
        self._block = ""
        self._of_others = False  # whether the block is one whose lines are none of the grammar's
        self._grammar, self._harmless = Grammar.of(platform), harmless(platform.grammar)

    def take(self, where: str, text: str) -> None:
        """Read one line."""
        if finding := _form(where, text):
            self.findings.append(finding)
            return
        text = " ".join(text.split()) if '"' not in text and "'" not in text else text
        if text == "exit" and self._block:
            self.leave()
            return
        if text.startswith(_OPENERS) or (self._of_others and not self._harmless.inside(self._block, text)):
            self.leave()
        if self._of_others:
            self.lines.append(SiteLine(text, where, self._block))
            return
        meaning = _meaning(_Key(self.platform), self._context, text)
        if meaning.refused:
            self.findings.append(Finding(where, _RULE, f"{masked(text)!r}, {meaning.refused}"))
            if meaning.context not in {None, CONFIG}:  # so that the lines inside are judged where they stand
                self._context, self._block = meaning.context or CONFIG, text
        elif reason := self._harmless.not_sent(text):
            self.findings.append(Finding(where, "a line that can be sent", f"{masked(text)!r}, which {reason}"))
        elif meaning.context is not None:
            self._context, self._block = meaning.context, text
        else:
            self._take_foreign(where, text)

    def leave(self) -> None:
        """Stand outside of any block."""
        self._context, self._block, self._of_others = CONFIG, "", False

    def _take_foreign(self, where: str, text: str) -> None:
        """Take a line that changes nothing of the state, where it is known to change no frame's way."""
        at = self._context
        line = SiteLine(text, where, self._block, at.ports, at.vlan, opens=at is CONFIG and self._harmless.opens(text))
        if line.removed and not self.named(line):
            rule = 'what the running configuration shows; or "no" with the name of such a line'
            self.findings.append(Finding(where, rule, f"{line.title!r}, of which it does not tell whether it is done"))
            return
        vlans = [at.vlan] if at.vlan else []
        inside = UnknownLine(0, self._block, text, "", at.ports, at.vlan)
        speech = command_line(self.platform)
        if speech.harmless(self.platform, inside, at.ports, vlans):
            self.lines.append(line)
            if line.opens:
                self._block, self._of_others = text, True
        elif self._block and speech.harmless(self.platform, UnknownLine(0, "", text, ""), (), ()):
            self.leave()  # a block that lacks its exit
            self.take(where, text)
        elif self._owned(text):
            self.findings.append(Finding(where, _RULE, f"{line.title!r}, which begins like one of tagloom's"))
        elif line.title in self.trusted:
            self.lines.append(line)
        else:
            self.unknown.append(line)

    def named(self, line: SiteLine) -> str:
        """Return the words by which a line names what it sets, "" where that is not known."""
        return named_by(self.platform, line)

    def _owned(self, text: str) -> bool:
        """Return whether a line begins like one of tagloom's, abbreviated as consoles take it: nobody can trust it."""
        bare = text.removeprefix("no ")
        first = bare.split()[0].lower()
        ours = (word for kind in {self._context.kind, ContextKind.CONFIG} for word in self._grammar.trees[kind].words)
        return f"{bare} ".startswith(self._grammar.owned) or any(word.startswith(first) for word in ours)

    def find_twice(self) -> None:
        """Find lines of which a later one would replace an earlier one: they would never all be there."""
        first: dict[tuple[object, ...], SiteLine] = {}
        for line in self.lines:
            name = self.named(line)
            for port in (line.ports or (0,)) if name else ():
                key = (name.removeprefix("no "), port, line.vlan)
                other = first.setdefault(key, line)
                if plain_line(other.text) != plain_line(line.text):
                    rule = f"one line for {masked(key[0])!r}, which stands at {other.where} too"
                    self.findings.append(Finding(line.where, rule, repr(line.title)))


def named_by(platform: Platform, line: SiteLine) -> str:
    """Return the words by which a line names what it sets, with which "no" takes it away; "" where nobody knows."""
    place = "interface" if line.ports else "interface-vlan" if line.vlan else "" if line.block else "config"
    return harmless(platform.grammar).named(line.removed or line.text, place)


def _form(where: str, text: str) -> Finding | None:
    """Find what no line of a switch's may have, whatever it says."""
    rest = SECRET.sub("", text)
    if not (text.isascii() and text.isprintable()):
        return Finding(where, "plain characters alone, and no tabs", repr(text))
    if "?" in text:
        return Finding(where, 'a line without "?", at which a console gives help', repr(masked(text)))
    if "secret:" in rest.lower():
        return Finding(where, "{{ secret.NAME }} without a filter", repr(scrub(rest).replace("<hidden>", MASK)))
    if len(text) > LONGEST_LINE:
        return Finding(where, f"at most {LONGEST_LINE} characters", f"{len(text)}: {masked(text[:40])!r} ...")
    if any(not SECRET.fullmatch(word.strip("\"'")) for word in secrets_in(text)):
        rule = "{{ secret.NAME }}, whose value a vault holds, in the place of a secret"
        return Finding(where, rule, repr(scrub(masked(text)).replace("<hidden>", MASK)))
    return None


@dataclass(frozen=True)
class _Key:
    """A platform by what tells its grammar from others; a platform itself holds dicts and is no key."""

    platform: Platform

    def __hash__(self) -> int:
        return hash(self._own)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._own == other._own

    @property
    def _own(self) -> tuple[object, ...]:
        platform = self.platform
        return platform.model, platform.firmware, platform.templates


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a line does: why it is refused, "" where it changes nothing; the context that it leads to, if it does."""

    refused: str = ""
    context: Context | None = None


@lru_cache(maxsize=1 << 14)
def _meaning(key: _Key, context: Context, text: str) -> _Meaning:
    """Carry a line out on switches that differ in every cell, and see whether any changes.

    One in which the line refuses to hold says nothing, as long as another takes it.
    """
    platform = key.platform
    if not _is_known(Grammar.of(platform), context, text):
        return _Meaning()
    done, answer = "", ""
    there: Context | None = None
    for editor in _probes(platform, context, text):
        before = editor.freeze()
        interpreter = Interpreter(platform, editor)
        interpreter.context = context
        outcome = interpreter.feed(text)
        if cells := difference(before, interpreter.editor.freeze()):
            return _Meaning(f"which sets {cell_words(platform, cells[0])}", interpreter.context)
        if outcome.kind is OutcomeKind.LEFT:
            return _Meaning("which leaves the configuration")
        if outcome.kind is OutcomeKind.DONE or interpreter.unpinned:
            done = "which is one of tagloom's own"
        elif outcome.kind is OutcomeKind.CONTEXT:
            there = interpreter.context
        elif outcome.kind in (OutcomeKind.REJECTED, OutcomeKind.INCOMPLETE):
            answer = f"to which the switch says {' '.join(outcome.text.split())!r}"
    if done or there is VLAN_DATABASE:
        return _Meaning(done or "inside which VLANs are made", there)
    return _Meaning("" if there is not None else answer, there)


def _is_known(grammar: Grammar, context: Context, text: str) -> bool:
    """Return whether any line of the grammar begins like a line, there or outside of blocks: else no state takes it."""
    first, *rest = text.split()
    for kind in {context.kind, ContextKind.CONFIG}:
        node = grammar.trees[kind]
        if first == "no" and rest and first in node.words:
            node = node.words[first]
            if rest[0] in node.words or node.value is not None:
                return True
        elif first in node.words or node.value is not None:
            return True
    return False


def _probes(platform: Platform, context: Context, text: str) -> list[SwitchEditor]:
    """Return switches of which one or another shows what a line does: as from the factory, and otherwise in all cells.

    The latter have the VLANs that the line names, and static entries for the addresses that it names.
    """
    numbers = [int(each) for each in _NUMBER.findall(text)[:_PROBED_VLANS]]
    vlans = sorted({v for v in (100, context.vlan, *numbers) if 1 < v <= platform.max_vlan_id})
    macs = []
    for word in text.split():
        try:
            macs.append(parse_mac(word))
        except ValueError:
            continue
    plain = factory(platform)
    plain.mode = [PortMode.GENERAL] * platform.ports
    for vlan in vlans:
        plain.create_vlan(vlan)
    probes = [factory(platform), plain]
    for mode in PortMode:
        editor = factory(platform)
        for vlan in vlans:
            editor.create_vlan(vlan)
            editor.name_vlan(vlan, "other")
            for mac in macs:
                editor.set_entry(vlan, mac, [1])
            how = Membership.TAGGED if mode is PortMode.GENERAL else Membership.NONE
            editor.members[vlan] = dict.fromkeys(range(1, platform.ports + 1), how) if how else {}
        ports = platform.ports
        editor.mode, editor.pvid = [mode] * ports, [1 if mode is PortMode.TRUNK else 100] * ports
        editor.ingress_filter, editor.frames = [False] * ports, [Frames.TAGGED_ONLY] * ports
        editor.enabled, editor.negotiation = [False] * ports, [False] * ports
        editor.speed_mbps, editor.flow_control = [10] * ports, [FlowControl.ON] * ports
        editor.eee = [not platform.eee_at_factory] * ports
        editor.port_spanning_tree = [False] * ports
        if ports > platform.physical_ports:
            editor.lag = [platform.physical_ports + 1] * platform.physical_ports + [0] * (
                ports - platform.physical_ports
            )
        editor.spanning_tree, editor.bpdu_filtering, editor.aging_seconds = False, True, 77
        probes.append(editor)
    return probes
