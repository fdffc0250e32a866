"""Ask a switch's own help about lines that are marked likely, and see from its answers which of them it knows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.platforms.family import FIRST_LOGIN, LIKELY, RELOAD, settled
from tagloom.platforms.first_contact import first_lines, mark_of
from tagloom.platforms.grammar import ContextKind, Grammar
from tagloom.platforms.menu_evidence import first_login_of_menus, settle_menus
from tagloom.platforms.verdict import CONFIRMED, NOT_ASKED, OPEN, REFUTED, Evidence
from tagloom.records.transcript import HELP, SHOW, TRIED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tagloom.platforms import Platform
    from tagloom.records.transcript import Transcript

_RETURN = {"<cr>", "cr"}
_FIRST = re.compile(r"^[ \t]*(<[^>\n]*>|\S+)", re.MULTILINE)
_DIGITS_BEHIND = re.compile(r"(?<=[a-z])\d[\d/]*$")
_TAKES_KEY = "user-key "
_FREE_TEXT = "name"  # what follows would be taken for a name, whatever it is


def likely_lines(grammar: Grammar) -> list[str]:
    """Return the keys of the lines that are written and marked likely, or were before a transcript confirmed them."""
    found = settled().get(grammar.platform.grammar, {})
    return [
        key for key, line in grammar.lines.items() if line.written and (line.mark.startswith(LIKELY) or key in found)
    ]


def settled_by(transcripts: Mapping[str, Transcript]) -> dict[str, dict[str, str]]:
    """Return what transcripts confirm and none refutes: family -> line -> the first that does, its model, firmware."""
    found: dict[str, dict[str, str]] = {}
    refuted: set[tuple[str, str]] = set()
    for name, transcript in sorted(transcripts.items()):
        platform = platforms.load(transcript.model)
        source = f"{name}: {transcript.model}, firmware {transcript.firmware or 'not said'}"
        likely = [each for each in first_login(platform, transcript) if each.mark == LIKELY]
        for each in [*settle(platform, transcript), *likely]:
            if each.verdict == CONFIRMED:
                found.setdefault(platform.grammar, {}).setdefault(each.key, source)
            elif each.verdict == REFUTED:
                refuted.add((platform.grammar, each.key))
    for name, key in refuted:
        found.get(name, {}).pop(key, None)
    return {name: dict(sorted(lines.items())) for name, lines in sorted(found.items()) if lines}


def first_login(platform: Platform, transcript: Transcript) -> list[Evidence]:
    """Return what a transcript's help says of the lines that `bootstrap` types, with their marks."""
    if not platform.has_modes:
        return first_login_of_menus(platform, transcript)
    grammar = Grammar.of(platform)
    found = settled().get(platform.grammar, {})
    evidence = []
    for line in first_lines(platform):
        head, typed = (f"{FIRST_LOGIN}{line.name}", line.name), typed_behind(line.typed)
        steps = [(before, part or "{value}") for before, part in zip(typed, line.parts, strict=False)]
        if why := _why_not_asked(transcript, line.context):
            each = Evidence(*head, OPEN, why)
        else:
            each = _by_help(grammar, transcript, head, line.context, [*steps, (typed[-1], "")])
        evidence.append(replace(each, mark=LIKELY if head[0] in found else mark_of(platform, line)))
    return evidence


def _why_not_asked(transcript: Transcript, context: str) -> str:
    not_asked = transcript.manners.get(NOT_ASKED)
    return str(not_asked.get(context, "")) if isinstance(not_asked, dict) else ""


def reload_evidence(grammar: Grammar, transcript: Transcript) -> list[Evidence]:
    """Return what a transcript says of the words for a reload at a set time, where these are marked likely."""
    words = grammar.scheduled_reload
    if words is None or not (words.mark.startswith(LIKELY) or RELOAD in settled().get(grammar.platform.grammar, {})):
        return []
    head, name = (RELOAD, words.arm), words.question
    steps = [(name, offered) for offered in words.offers]
    steps += [(f"{name}{words.offers[0]} ", "{minutes}"), ("show ", words.show.split()[-1])]
    by_help = _by_help(grammar, transcript, head, "", steps)
    said = transcript.answer(SHOW, "", words.show)
    if by_help.verdict == CONFIRMED and (said is None or words.pending(said)):
        return [Evidence(*head, OPEN, f"{words.show} was not seen with none scheduled")]
    if by_help.verdict == CONFIRMED and grammar.is_error(said or ""):
        return [Evidence(*head, REFUTED, f"{words.show} is refused")]
    return [by_help]


def exec_questions(grammar: Grammar) -> list[str]:
    """Return what is typed before a `?` in privileged exec: of a reload at a set time, whether its words are known."""
    words = grammar.scheduled_reload
    return [*grammar.session.helps, *([f"{words.question}{words.offers[0]} "] if words is not None else [])]


def first_login_questions(grammar: Grammar, context: str) -> list[str]:
    """Return what is typed before a `?` in a context to ask for the lines of a first login, word by word."""
    lines = (line for line in first_lines(grammar.platform) if line.context == context)
    return list(dict.fromkeys(typed for line in lines for typed in typed_behind(line.typed)))


def typed_behind(words: Sequence[str]) -> list[str]:
    """Return what is typed before each word of a line, and before its end."""
    return [" ".join([*words[:number], ""]) for number in range(len(words) + 1)]


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a first login: what a page of help calls it, the line that enters it, and why it is not entered.

    One of `line` and `why` is "". `names` are words of the line that only its switch has.
    """

    context: str
    line: str
    why: str
    names: tuple[str, ...] = ()


def blocks(grammar: Grammar, running: str) -> list[Block]:
    """Return the blocks of a first login that are none of the grammar's contexts.

    To enter one may make it, so only one that stands in the running configuration is entered.
    """
    found = []
    for opener in first_lines(grammar.platform):
        if not opener.opens or opener.opens in set(ContextKind):
            continue
        line = next((each.strip() for each in running.splitlines() if opener.matches(each)), "")
        why = "" if line else f"the running configuration has no {opener.shown}, and to enter it may make one"
        if opener.shown.startswith(_TAKES_KEY):
            why = "to enter it may take away the key that its user has"  # no source says either
        elif opener.context != ContextKind.CONFIG:
            why = f"it stands inside {opener.context}"
        found.append(Block(opener.opens, "" if why else line, why, opener.names_in(line)))
    return found


def contexts(grammar: Grammar) -> list[ContextKind]:
    """Return where likely lines, and those of a first login, are typed in the grammar's own contexts."""
    first = {line.context for line in first_lines(grammar.platform)}
    likely = {grammar.lines[key].context for key in likely_lines(grammar)}
    return [kind for kind in ContextKind if kind is ContextKind.CONFIG or kind in likely or kind.value in first]


def questions(grammar: Grammar, kind: ContextKind) -> list[str]:
    """Return what is typed before a `?` in a context: each likely line, word by word, up to free text."""
    requested: dict[str, None] = {}
    for key in likely_lines(grammar):
        if grammar.lines[key].context is kind:
            requested |= dict.fromkeys(typed for typed, _ in _steps(grammar, key))
    return list(requested)


def settle(platform: Platform, transcript: Transcript) -> list[Evidence]:
    """Return what a transcript says of every likely line of a model.

    A line is confirmed where it was tried and read back, or where the help behind each of its words offers the next
    one, and a Return at its end; it is refuted where help was given and does not offer a word. Lines of RouterOS's
    menus are judged by what these take.
    """
    if not platform.has_modes:
        return settle_menus(platform, transcript)
    grammar = Grammar.of(platform)
    return [
        *(_judged(grammar, key, transcript) for key in likely_lines(grammar)),
        *reload_evidence(grammar, transcript),
    ]


def _judged(grammar: Grammar, key: str, transcript: Transcript) -> Evidence:
    words = " ".join(grammar.parts(key))
    shape = re.compile(" ".join(r"\S+" if part.startswith("{") else re.escape(part) for part in grammar.parts(key)))
    tried = [page for page in transcript.pages if page.kind == TRIED and shape.fullmatch(page.typed)]
    if any(grammar.is_error(page.answer) for page in tried):
        return Evidence(key, words, REFUTED, "refused when it was tried")
    if tried:
        return Evidence(key, words, CONFIRMED, "tried, and read back as typed")
    context = grammar.lines[key].context.value
    if why := _why_not_asked(transcript, context):
        return Evidence(key, words, OPEN, why)
    found = _by_help(grammar, transcript, (key, words), context, _steps(grammar, key))
    if found.verdict == CONFIRMED and any(_is_free(part) for part in grammar.parts(key)):
        return Evidence(key, words, OPEN, "its help was not asked to the end")
    return found


def _by_help(
    grammar: Grammar, transcript: Transcript, head: tuple[str, str], context: str, steps: Iterable[tuple[str, str]]
) -> Evidence:
    """Return what help says of a line: `steps` are what is typed before each word, and the word ("" for the end)."""
    for typed, part in steps:
        answer = transcript.answer(HELP, context, typed)
        if answer is None or not answer.strip():
            return Evidence(*head, OPEN, f"no help behind {typed.strip()!r}")
        offered = _FIRST.findall(answer)
        if typed.endswith(" ") and not _offers(offered, part) and typed.split()[-1].lower() in map(str.lower, offered):
            return Evidence(*head, OPEN, f"the blank behind {typed.strip()!r} was lost: its last word was completed")
        if grammar.is_error(answer) or not _offers(offered, part):
            return Evidence(*head, REFUTED, f"behind {typed.strip()!r} there is no {part or '<cr>'}")
    return Evidence(*head, CONFIRMED, "by its help")


def _offers(offered: list[str], part: str) -> bool:
    """Return whether help offers a word, a value or, for "", a Return."""
    words = {word.lower() for word in offered}
    if not part:
        return bool(words & _RETURN)
    if part.startswith("{"):  # <1-4094>, WORD, A.B.C.D, gi1/0/1: no word to be typed as it stands
        return any(
            not (word.islower() and word.replace("-", "").isalpha()) for word in offered if word.lower() not in _RETURN
        )
    return part.lower() in words or _DIGITS_BEHIND.sub("", part.lower()) in words  # Vlan-interface <1-4094>


def _is_free(part: str) -> bool:
    return part == f"{{{_FREE_TEXT}}}"


def _steps(grammar: Grammar, key: str) -> list[tuple[str, str]]:
    """Return, for each word of a line and its end, what is typed before it, and the word ("" for the end)."""
    platform = grammar.platform
    first_channel = platform.physical_ports + 1
    values: dict[str, Any] = {
        "vlan": 1,
        "vlans": [1],
        "ports": [1],
        "mac": 0x02_00_00_00_00_01,
        "name": "x",
        "seconds": 300,
    }
    values |= {"mbps": 1000, "channels": [first_channel]}
    parts = grammar.parts(key)
    line = grammar.line(key, **{name: values.get(kind, 1) for name, kind in grammar.kinds(key).items()}).split()
    if len(line) != len(parts):
        return []
    steps = []
    for number in range(len(parts) + 1):
        if number < len(parts) and _is_free(parts[number]):
            break
        steps.append((" ".join([*line[:number], ""]), parts[number] if number < len(parts) else ""))
    return steps
