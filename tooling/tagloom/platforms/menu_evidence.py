"""Ask a RouterOS console what its menus take, and see from its answers which lines it knows.

`/console inspect` answers such questions and changes nothing (public dumps of it from 7.18 on: tikoci/restraml; of what
`:put` prints of it: mikrotik-codegen, tik4net). `request=child` lists verbs and properties, `request=completion` the
words that may stand behind what is typed (forum.mikrotik.com, 169237 and 184067); that it does so behind every
property, and behind `get value-name=`, is likely.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagloom.platforms.family import FIRST_LOGIN, LIKELY, family, settled
from tagloom.platforms.first_contact import first_lines, mark_of
from tagloom.platforms.routeros import FAMILY, SPEEDS, Line, parse_line
from tagloom.platforms.verdict import CONFIRMED, NOT_ASKED, OPEN, REFUTED, Evidence
from tagloom.platforms.words import read_words
from tagloom.records.transcript import HELP, TRIED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tagloom.platforms import Platform
    from tagloom.platforms.first_contact import FirstLine
    from tagloom.records.transcript import Transcript

_WORDS, _SOUGHT = "word", "sought"
_INSPECT = ":put [/console inspect as-value request={}]"
ASKS = re.compile(r':put \[/console inspect as-value request=(child|completion) (?:path=|input=")([^"\]]{0,400})"?\]')
PROBE = _INSPECT.format("child path=console,inspect")  # whether it can be asked at all
_CHILD = re.compile(r"name=([^;]{1,80});node-type=([a-z]{1,12})")
_COMPLETED = re.compile(r"completion=([^;]{1,120});(?:(?!completion=)[^;]{0,400};)*?show=(?:true|yes)")
_CONDITION = re.compile(r":if \(\[:len \[(/[a-z /-]{1,40}? find .{1,200}?)\]\] = 0\) do=\{ (.{1,1200}) \}")
_SET = re.compile(r"(?<= )([a-z][a-z-]*)=$")
# The words that our values of these kinds are.
_WORDS_OF = {
    "yes": ("yes", "no"),
    "protocol": ("none", "rstp"),
    "flow": ("off", "on", "auto"),
    "speed": tuple(SPEEDS.values()),
}
_NAMES = frozenset(("name", "bridge", "interface", "default-name", "user", "group"))  # their values are names
_WORD = re.compile(r"[A-Za-z][\w-]*(?:,[A-Za-z][\w-]*)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Typed:
    """What one line says: its menu and verb, what it seeks rows by, and its properties, each with its own words."""

    menu: str
    verb: str
    sought: tuple[str, ...]
    properties: tuple[tuple[str, tuple[str, ...]], ...]

    def steps(self) -> Iterator[tuple[tuple[str, ...], str, str]]:
        """Yield what is asked: lines, the word that the answer to one must have, and what that word is.

        By what rows are found is asked in three ways: what can be set or added is found by, too, and so is what can
        only be read, such as default-name.
        """
        path = self.menu.replace(" ", ",")
        menu = (_INSPECT.format(f"child path={path}"),)
        yield menu, self.verb, "cmd"
        for name, _ in self.properties:
            yield (_INSPECT.format(f"child path={path},{self.verb}"),), name, "arg"
        for name, words in self.properties:
            for word in words:
                yield (_INSPECT.format(f'completion input="/{self.menu} {self.verb} {name}="'),), word, _WORDS
        if self.sought:
            yield menu, "find", "cmd"
        found_by = *(_INSPECT.format(f"child path={path},{verb}") for verb in ("set", "add")), f"/{self.menu} get"
        for name in self.sought:
            yield (*found_by[:2], _INSPECT.format(f'completion input="{found_by[2]} value-name="')), name, _SOUGHT


def menu_questions(platform: Platform) -> tuple[str, ...]:
    """Return the lines that ask for every line that is marked likely, and for those of a first login."""
    typed = [each for key in likely_lines() for each in _typed_by(platform, key)]
    typed += [each for line in first_lines(platform) for each in _typed_first(line)]
    return tuple(dict.fromkeys(each for line in typed for questions, _, _ in line.steps() for each in questions))


def typed_lines(platform: Platform) -> tuple[Typed, ...]:
    """Return what every line of the templates and of a first login types."""
    of_templates = (each for key in family(FAMILY)["lines"] for each in _typed_by(platform, key))
    return (*of_templates, *(each for line in first_lines(platform) for each in _typed_first(line)))


def likely_lines() -> list[str]:
    """Return the keys of the lines that are marked likely, or were before a transcript confirmed them."""
    found = settled().get(FAMILY, {})
    return [key for key, line in family(FAMILY)["lines"].items() if line["mark"] == LIKELY or key in found]


def settle_menus(platform: Platform, transcript: Transcript) -> list[Evidence]:
    """Return what a transcript says of every line that is marked likely."""
    return [_judged(platform, key, transcript) for key in likely_lines()]


def first_login_of_menus(platform: Platform, transcript: Transcript) -> list[Evidence]:
    """Return what a transcript says of the lines that `bootstrap` types, with their marks."""
    found = settled().get(FAMILY, {})
    evidence = []
    for line in first_lines(platform):
        key = f"{FIRST_LOGIN}{line.name}"
        each = _by_inspection(transcript, (key, line.name), _typed_first(line))
        evidence.append(replace(each, mark=LIKELY if key in found else mark_of(platform, line)))
    return evidence


def children(answer: str) -> dict[str, str]:
    """Return the names that `request=child` lists, each with what it is: dir, path, cmd or arg.

    >>> children("name=set;node-type=cmd;type=self;name=pvid;node-type=arg;type=child")
    {'set': 'cmd', 'pvid': 'arg'}
    """
    return dict(_CHILD.findall(answer.replace("\n", "")))


def completions(answer: str) -> set[str]:
    """Return the words that `request=completion` shows.

    >>> completions("completion=none;offset=9;show=true;style=none;completion=[;offset=9;show=false;type=completion")
    {'none'}
    """
    return set(_COMPLETED.findall(answer.replace("\n", "")))


def _judged(platform: Platform, key: str, transcript: Transcript) -> Evidence:
    spellings = read_words(FAMILY, platform.templates)[key]
    head = key, spellings[0].format
    shape = re.compile("".join(r".+?" if part[:1] == "{" else re.escape(part) for part in _split(head[1])))
    tried = [page for page in transcript.pages if page.kind == TRIED and shape.fullmatch(page.typed)]
    if any(page.answer.strip() for page in tried):
        return Evidence(*head, REFUTED, "refused when it was tried")
    if tried:
        return Evidence(*head, CONFIRMED, "tried, and read back as typed")
    return _by_inspection(transcript, head, _typed_by(platform, key))


def _split(words: str) -> list[str]:
    return [part for part in re.split(r"(\{\w+\})", words) if part]


def _by_inspection(transcript: Transcript, head: tuple[str, str], typed: Sequence[Typed]) -> Evidence:
    not_asked = transcript.manners.get(NOT_ASKED)
    if isinstance(not_asked, dict) and not_asked.get(""):
        return Evidence(*head, OPEN, str(not_asked[""]))
    unsure = "" if typed else "it is no line of a menu"
    for questions, word, what in (step for each in typed for step in each.steps()):
        listed = {name for question in questions for name in _listed(transcript.answer(HELP, "", question), what)}
        if not listed:
            unsure = unsure or f"no answer to {questions[0]}"
        elif word not in listed:
            if what != _SOUGHT:
                return Evidence(*head, REFUTED, f"{questions[0]} has no {word}")
            unsure = unsure or f"whether rows are found by {word} is not said"
    return Evidence(*head, OPEN, unsure) if unsure else Evidence(*head, CONFIRMED, "by what its menus take")


def _listed(answer: str | None, what: str) -> set[str]:
    """Return the words of a kind that an answer has."""
    found = {name for name, kind in children(answer or "").items() if what in (kind, _SOUGHT)}
    return found | completions(answer or "") if what in (_WORDS, _SOUGHT) else found


def _typed_by(platform: Platform, key: str) -> tuple[Typed, ...]:
    """Return what a line of the templates types; one whose verb depends on nothing is one."""
    words = read_words(FAMILY, platform.templates)[key][0].words
    text: list[str] = []
    offered: dict[str, tuple[str, ...]] = {}
    for word in words:
        if isinstance(word, str):
            text.append(word)
            continue
        name = _SET.search(f" {text[-1]}")
        if name is not None:
            offered[name[1]] = _WORDS_OF.get(word[1], ())
            text[-1] += "0"
        else:
            text.append("0")
    line = parse_line(" ".join(text))
    return () if line is None else (_of_line(line, offered),)


def _typed_first(line: FirstLine) -> tuple[Typed, ...]:
    """Return what a line of a first login types: what it does, and under which condition."""
    text = " ".join(line.typed)
    shown = parse_line(line.shown.replace("...", "0").rpartition("do={ ")[2].removesuffix(" }"))
    free = [n for n, v in (shown.values if shown is not None else {}).items() if v == "0"]
    found = _CONDITION.fullmatch(text)
    if found is None:
        whole = parse_line(text)
        return () if whole is None else (_of_line(whole, dict.fromkeys(free, ())),)
    done, condition = parse_line(found[2]), parse_line(_as_set(found[1]))
    if done is None or condition is None:
        return ()
    looked = Typed(condition.menu, "find", tuple(condition.found or ()), ())
    return _of_line(done, dict.fromkeys(free, ())), looked


def _as_set(sought: str) -> str:
    menu, _, rest = sought.partition(" find ")
    return f"{menu} set [ find {rest} ]"  # which has a verb, as all that is read has


def _of_line(line: Line, offered: dict[str, tuple[str, ...]]) -> Typed:
    properties = []
    for name, value in line.values.items():
        own = tuple(value.split(",")) if name not in _NAMES and _WORD.fullmatch(value) else ()
        properties.append((name, offered.get(name, own)))
    return Typed(line.menu, line.verb, tuple(line.found or ()), tuple(properties))
