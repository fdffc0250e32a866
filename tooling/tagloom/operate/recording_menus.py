"""Record the console of a RouterOS switch: its pages, and what its menus say that they take, read-only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tagloom import __version__
from tagloom.operate.trying import Console, Recorder
from tagloom.platforms.anonymous import HIDDEN, Scrubber
from tagloom.platforms.menu_evidence import PROBE, children, menu_questions
from tagloom.platforms.routeros import EXPORT, HOSTS, RESOURCE, lines, parse_line
from tagloom.platforms.secrets import secrets_in
from tagloom.platforms.verdict import NOT_ASKED
from tagloom.records.transcript import HELP, SHOW, Page, Transcript
from tagloom.render import parse_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION = re.compile(r"version: (\d[\w.]{0,30})")
_HEAD = re.compile(r"(?im)^(# (?:software id|serial number) = )\S.*$|^(# )\d[^\n]{0,40}? by RouterOS")
_OWN_WORDS = ("name", "comment", "list", "host-name", "caller-id", "user", "contact", "location")
_PROPERTY = re.compile(r"(?<=[ \[])([a-z][a-z-]*)=(\"(?:[^\"\\]|\\.)*\"|[^\s\]]+)")
_PATH = re.compile(r"/[a-z][a-z0-9 /-]{0,80}?(?= (?:add\b|set\b|remove\b|<hidden>))")


@dataclass
class MenuRecorder(Recorder[Console]):
    """What is written down of a RouterOS switch: `/console inspect` says what its menus take, and changes nothing."""

    def __post_init__(self) -> None:
        self._running = EXPORT
        known = {word for menu in lines().known for word in menu.split()}
        names = {name for menu in lines().known.values() for name in menu}
        kept = {"default", "bridge", "yes", "no", "all", "none", "admin", lines().bridge}
        ports = {self.platform.port_name(port).lower() for port in range(1, self.platform.ports + 1)}
        self._scrubber = Scrubber(self.private, frozenset(known | names | kept | ports))

    def _walk(self, console: Console, port: int, running: str) -> None:
        del port, running
        for line in (RESOURCE, HOSTS):
            self._page(console, line)
        if not children(console.ask(PROBE)):
            self.not_asked[""] = "the console has no /console inspect, which RouterOS 7 has"
            return
        for question in menu_questions(self.platform):
            begin = self.clock()
            answer = self._scrubber.clean(console.ask(question)).strip("\n")
            self._pages.append(Page(HELP, "", question, answer, round(self.clock() - begin, 3)))

    def transcript(self) -> Transcript:
        """Return all that was recorded, without what is the owner's."""
        raw = bytes(self.heard).decode("utf-8", "replace")
        said = next((page.answer for page in self._pages if page.typed == RESOURCE), "")
        firmware = _VERSION.search(said)
        manners: dict[str, Any] = {
            "login": [],
            "pager": "",
            "escapes": "\x1b[" in raw,
            "log_lines": False,
            "erases": False,
            "prompts": {},
            NOT_ASKED: self.not_asked,
        }
        head = self.platform.model, self.platform.grammar, firmware[1] if firmware else ""
        return Transcript(*head, __version__, tuple(self._pages), manners)

    def keep(self, line: str, answer: str, seconds: float) -> None:
        """Write down the answer to a line; names and secrets of an export are hidden from then on."""
        if line == EXPORT:
            self._scrubber.learn(each for row in answer.splitlines() for each in secrets_in(row.strip()))
            self._scrubber.learn_names(self._names(answer))
            answer = "\n".join(self._of_export(answer))
        said = self._scrubber.clean(answer, addresses=line != RESOURCE)  # a version may look like an address
        cleaned = "\n".join(each.rstrip() for each in said.strip("\n").split("\n"))
        self._pages.append(Page(SHOW, "", line, cleaned, round(seconds, 3)))

    @staticmethod
    def _names(text: str) -> Iterator[str]:
        for name, value in _PROPERTY.findall(text):
            if name in _OWN_WORDS:
                plain = value.strip('"')
                yield plain
                yield from plain.split()

    def _of_export(self, text: str) -> Iterator[str]:
        """Yield an export of which others' lines keep their menu alone, and names and comments are hidden."""
        parsed = parse_configuration(self.platform, text)
        foreign = {line.number for line in (*parsed.foreign, *parsed.unknown)}
        for number, line in enumerate(text.splitlines(), start=1):
            if line.lstrip().startswith("#"):
                yield _HEAD.sub(lambda f: f"{f[1]}{HIDDEN}" if f[1] else f"{f[2]}{HIDDEN} by RouterOS", line)
            elif number not in foreign and parse_line(line) is not None:
                yield _PROPERTY.sub(lambda f: f"comment={HIDDEN}" if f[1] == "comment" else f[0], line)
            elif line.strip():
                path = _PATH.match(line.strip())
                yield f"{path[0]} {HIDDEN}" if path else HIDDEN
