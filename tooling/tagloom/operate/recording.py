"""Record the console of a switch with modes: its pages, the help behind a `?`, and its manners, read-only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

from tagloom import __version__
from tagloom.errors import PlanError
from tagloom.operate.trying import Console, Recorder
from tagloom.platforms.anonymous import HIDDEN, Scrubber
from tagloom.platforms.evidence import (
    blocks,
    contexts,
    exec_questions,
    first_login_questions,
    questions,
)
from tagloom.platforms.first_contact import first_lines
from tagloom.platforms.grammar import VLAN_DATABASE, Context, ContextKind, Grammar
from tagloom.platforms.secrets import secrets_in
from tagloom.platforms.verdict import NOT_ASKED
from tagloom.records.transcript import HELP, SHOW, Page, Transcript
from tagloom.render import parse_configuration

if TYPE_CHECKING:
    from collections.abc import Sequence

# What lines of others begin with, and keep; nothing else of them is written down.
_FIRST_WORDS = frozenset(
    (
        *("!", "aaa", "banner", "clock", "configure", "crypto", "description", "enable", "end", "exit", "hostname"),
        *("interface", "ip", "line", "lldp", "logging", "mtu", "no", "radius-server", "snmp-server", "sntp"),
        *("spanning-tree", "stack", "switchport", "tacacs-server", "username", "vlan"),
        *(
            "#",
            "info-center",
            "local-user",
            "ntp-service",
            "port",
            "return",
            "snmp-agent",
            "sysname",
            "undo",
            "version",
        ),
    )
)
_NAMED = re.compile(r"(\bname )(\"[^\"\n]*\"|\S+)")
_KEPT_NAMES = ("tagloom", '"tagloom"')
_QUESTION = re.compile(r"(?im)^[ \t]*((?:user ?name|user|login|password)[ \t]*:)")
_PAGER = re.compile(r"More: <space>,[^\n]{0,80}?<return>|--More-- or \(q\)uit")
_LOG_LINE = re.compile(r"\d\d-\w{3}-\d{4} \d\d:\d\d:\d\d *:? *%")
# The first is EOS's own, ahead of which a MAC address stands that looks like a version; the last is Huawei's.
_VERSION = re.compile(
    r"(?<=image version: )\S{1,40}"
    r"|\b(?!(?:[\da-f]{4}\.){2}[\da-f]{4}\b)\d+(?:\.\d+){2,4}\b"
    r"|\bV\d{3}R\d{3}C\d{2}(?:SPC\d{1,4})?\b"
)


class ModeConsole(Console, Protocol):
    """What is asked of a connection to a switch with modes."""

    @property
    def mode(self) -> str:
        """Return what the last prompt had between its parentheses, with them."""
        ...

    def erases(self) -> bool:
        """Return whether what was typed can be taken back."""
        ...

    def help(self, typed: str) -> str:
        """Return what a `?` says behind a line begun, which is taken back."""
        ...


@dataclass
class ModeRecorder(Recorder[ModeConsole]):
    """What is written down of a switch whose command line is one of modes: its help is behind a `?`.

    Lines of a first login are asked for too, inside the blocks that the running configuration has. What is typed before
    a `?` is taken back, and where a console cannot do that none is asked.
    """

    def __post_init__(self) -> None:
        self._grammar = Grammar.of(self.platform)
        self._running = self._grammar.session.running
        self._scrubber = Scrubber(self.private, _public(self._grammar))
        self._openers = [line for line in first_lines(self.platform) if line.opens]
        self._modes: dict[str, str] = {}
        self._erases = False

    def _walk(self, console: ModeConsole, port: int, running: str) -> None:
        name = self.platform.port_name(port)
        words, reload_words = self._grammar.session, self._grammar.scheduled_reload
        lines = (*words.shows, words.switchport.format(port=self._port_words(name)))
        for line in (*lines, *([reload_words.show] if reload_words is not None else [])):
            self._page(console, line)
        self._erases = console.erases()
        if not self._erases:
            places = [kind.value for kind in contexts(self._grammar)]
            places += [block.context for block in blocks(self._grammar, running)]
            self.not_asked = dict.fromkeys(places, "the console does not take back what is typed")
            return
        for typed in exec_questions(self._grammar):
            self._help(console, "", typed)
        self._ask_for_help(console, port, running)

    def transcript(self) -> Transcript:
        """Return all that was recorded, without what is the owner's."""
        raw = bytes(self.heard).decode("utf-8", "replace")
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", raw)
        requested = list(dict.fromkeys(found.strip() for found in _QUESTION.findall(plain)))
        pager = _PAGER.search(plain)
        firmware = _VERSION.search(self._answer(self._versions))
        manners: dict[str, Any] = {
            "login": requested,
            "pager": pager[0] if pager else "",
            "escapes": "\x1b[" in raw,
            "log_lines": _LOG_LINE.search(plain) is not None,
            "erases": self._erases,
            "prompts": self._modes,
            NOT_ASKED: self.not_asked,
        }
        head = self.platform.model, self.platform.grammar, firmware[0] if firmware else ""
        return Transcript(*head, __version__, tuple(self._pages), manners)

    def _answer(self, line: str) -> str:
        return next((page.answer for page in self._pages if page.typed == line), "")

    def keep(self, line: str, answer: str, seconds: float) -> None:
        """Write down the answer to a line; names and secrets of a running configuration are hidden from then on."""
        if line == self._running:
            self._learn(answer)
            answer = self._of_configuration(answer)
        said = self._scrubber.clean(answer, addresses=line != self._versions)  # a version may look like an address
        cleaned = "\n".join(each.rstrip() for each in said.strip("\n").split("\n"))
        self._pages.append(Page(SHOW, "", line, cleaned, round(seconds, 3)))

    def _ask_for_help(self, console: ModeConsole, port: int, running: str) -> None:
        for kind in contexts(self._grammar):
            entries = [self._grammar.enter(place) for place in self._places(kind, port, running)]
            self._ask_inside(console, kind.value, entries, questions(self._grammar, kind))
        for block in blocks(self._grammar, running):
            if block.why:
                self.not_asked[block.context] = block.why
            else:
                self._ask_inside(console, block.context, [block.line], [], block.names)

    def _places(self, kind: ContextKind, port: int, running: str) -> list[Context]:
        """Return where a context may be entered: the port, VLAN 1, which every switch has, or another that is there."""
        if kind is ContextKind.INTERFACE:
            return [Context(kind, (port,))]
        if kind is ContextKind.INTERFACE_VLAN:
            there = parse_configuration(self.platform, running).state.vlans
            return [Context(kind, vlan=vlan) for vlan in [1, *(int(vlan) for vlan in there if vlan != 1)][:2]]
        return [VLAN_DATABASE] if kind is ContextKind.VLAN_DATABASE else []

    def _ask_inside(
        self,
        console: ModeConsole,
        context: str,
        entries: Sequence[str],
        requested: Sequence[str],
        names: Sequence[str] = (),
    ) -> None:
        """Enter a context by the first of the lines that is taken, and ask there; write down why where none is."""
        why = ""
        for entry in entries or [""]:
            for line in (self._grammar.session.configure, entry):
                answer = console.ask(line) if line else ""
                if self._grammar.is_error(answer):
                    why = self._scrubber.clean(f"{line} is answered: {answer.strip()}")
                    break
            else:
                mode = reduce(lambda text, name: text.replace(name, HIDDEN), names, console.mode)
                self._modes[context] = self._scrubber.clean(mode)
                more = first_login_questions(self._grammar, context)
                for typed in dict.fromkeys([*requested, *more]):
                    self._help(console, context, typed)
                self._leave(console)
                return
            self._leave(console)
        self.not_asked[context] = why

    @property
    def _versions(self) -> str:
        return self._grammar.session.versions[-1]

    def _help(self, console: ModeConsole, context: str, typed: str) -> None:
        begin = self.clock()
        said = self._scrubber.clean(console.help(typed)).strip("\n")
        self._pages.append(Page(HELP, context, typed, said, round(self.clock() - begin, 3)))

    def _leave(self, console: ModeConsole) -> None:
        for _ in range(4):
            if not console.mode:
                return
            console.ask(self._grammar.session.leave)
        raise PlanError("a console is left in privileged exec", f"it stays in {console.mode}", "look at it by hand")

    def _port_words(self, name: str) -> str:
        if self._grammar.session.brackets:
            return self._grammar.port_lists.write_long([self.platform.port_number(name) or 1])
        return f"ethernet {name}" if self.platform.grammar in {"ros", "fastpath"} else name

    def _learn(self, text: str) -> None:
        """Hide from now on the names and secrets that a running configuration has, wherever they stand."""
        self._scrubber.learn(each for line in text.splitlines() for each in secrets_in(line.strip()))
        words = [found[2] for found in _NAMED.finditer(text) if found[2] not in _KEPT_NAMES]
        for number in self._foreign_lines(text):
            verb, _, rest = text.splitlines()[number - 1].strip().partition(" ")
            if verb in {"hostname", "sysname", "description", "banner", "header"}:
                words += [rest, *rest.split()]
            elif verb in {"username", "local-user"}:
                words += rest.split()[:1]
            elif rest.startswith(("location ", "contact ", "user ")):
                words += rest.split()[1:] if not rest.startswith("user") else rest.split()[1:2]
        self._scrubber.learn_names(words)

    def _foreign_lines(self, text: str) -> set[int]:
        parsed = parse_configuration(self.platform, text)
        return {line.number for line in (*parsed.foreign, *parsed.unknown)}

    def _of_configuration(self, text: str) -> str:
        """Return a running configuration of which others' lines keep their first word alone, and names are hidden."""
        foreign, lines = self._foreign_lines(text), []
        for number, line in enumerate(text.splitlines(), start=1):
            words = line.split()
            opener = next((each for each in self._openers if each.matches(line)), None)
            if opener is not None:  # is entered again where a transcript is played
                names = opener.names_in(line)
                lines.append(" ".join(HIDDEN if word in names else word for word in words))
            elif number in foreign and words:
                first = words[0] if words[0].lower() in _FIRST_WORDS else HIDDEN
                lines.append(f"{first} {HIDDEN}" if len(words) > 1 else first)
            else:
                lines.append(_NAMED.sub(lambda f: f[0] if f[2] in _KEPT_NAMES else f"{f[1]}{HIDDEN}", line))
        return "\n".join(lines)


def _public(grammar: Grammar) -> frozenset[str]:
    """Return the words of a family's own lines, which are nobody's secret."""
    words = {word for key in grammar.lines if grammar.has(key) for word in grammar.parts(key)}
    return frozenset({"default", "console", "system", *words})
