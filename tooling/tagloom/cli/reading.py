"""Answer tagloom docs and explain: show or search the pages that explain tagloom; no network is needed, no checkout."""

from __future__ import annotations

import difflib
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom.cli.screen import GOOD
from tagloom.errors import Finding, InputError
from tagloom.share import share_directory
from tagloom.units import number_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from tagloom.cli.screen import Screen
    from tagloom.cli.words import Commands

WIDTH = 80
MOST_PAGES = 15  # that a search lists; -v lists all
CHECKS = "checks"  # the page with a section for each check
_SECTION = re.compile(r"^## (.+)\n\nWords: (.+)\n", re.MULTILINE)
PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]*)\]\((?:[\w./-]*/)?([\w-]+)\.md(?:#[\w-]*)?\)")


def pages() -> dict[str, Path]:
    """Return every page by its name, such as routing or explanation/tags, in the order of the names."""
    top = share_directory() / "docs"
    found = {path.relative_to(top).with_suffix("").as_posix(): path for path in top.rglob("*.md")}
    return dict(sorted(found.items(), key=lambda item: (item[0].count("/"), item[0])))


def page_named(words: str, known: dict[str, Path]) -> str | None:
    """Return the name of the page that words name, also as a file; None where they name none, or several."""
    name = words.removeprefix("docs/").removesuffix(".md")
    last = [each for each in known if each.rpartition("/")[2] == name]
    if name in known or len(last) == 1:
        return name if name in known else last[0]
    return None


def unknown_page(words: str, known: dict[str, Path]) -> InputError:
    """Return the error of words that name no page and stand on none, with the pages of similar names."""
    name = words.removeprefix("docs/").removesuffix(".md")
    last = [each for each in known if each.rpartition("/")[2] == name]
    near = difflib.get_close_matches(name, known, 3) or [each for each in known if name and name in each][:3]
    rule = f"a page: {', '.join(last or near)}" if last or near else "a page that tagloom docs lists"
    return InputError([Finding("page", rule, repr(words))])


def lines_with(words: Sequence[str], known: dict[str, Path]) -> dict[str, list[str]]:
    """Return the lines of pages that contain a word, by page; of several words, of pages that contain each.

    Capitals make no difference. Lines with most of the words come first, headings before others. Pages that name a
    word in a heading come first, pages of the reference last.
    """
    sought = [word.casefold() for word in words if word]

    def count(line: str) -> int:
        return sum(word in line.casefold() for word in sought)

    found: dict[str, list[str]] = {}
    for name, path in known.items():
        text = plain(re.sub(r"<!--.*?-->", "", path.read_text("utf-8"), flags=re.DOTALL))
        if sought and count(text) == len(sought):
            lines = sorted(filter(count, text.splitlines()), key=lambda line: (-count(line), not line.startswith("#")))
            found[name] = lines

    def place(name: str) -> tuple[bool, bool, int]:
        return name.startswith("reference/"), not found[name][0].startswith("#"), -len(found[name])

    return {name: found[name] for name in sorted(found, key=place)}


def excerpt(line: str, words: Sequence[str], width: int) -> str:
    """Return the part of a line around the first of the words in it, without the marks of Markdown."""
    line = " ".join(re.sub(r"^[#>|\s-]+|[`*|]", " ", line).split())
    at = min((place for word in words if (place := line.casefold().find(word.casefold())) >= 0), default=0)
    start = max(0, min(at - width // 3, len(line) - width))
    shown = line[start : start + width].rstrip()
    return f"...{shown[3:]}" if start else shown


def plain(text: str) -> str:
    """Return Markdown whose pictures are their captions, and whose links name the page that they lead to."""
    return LINK.sub(r"\1 (\2)", PICTURE.sub(r"(picture: \1)", text))


def title_of(text: str) -> str:
    """Return the heading of a page."""
    return next((line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")), "")


def rendered(text: str) -> str:
    """Return a page of Markdown as plain text, 80 columns wide; links name the page that they lead to."""
    from rich.console import Console
    from rich.markdown import Markdown

    shown = io.StringIO()  # not standard output, which may be full or closed
    console = Console(file=shown, width=WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    console.print(Markdown(plain(text), hyperlinks=False))
    return "\n".join(line.rstrip() for line in shown.getvalue().splitlines())


def _docs(args: argparse.Namespace, screen: Screen) -> int:
    known = pages()
    if not args.words:
        titles = {name: title_of(path.read_text("utf-8")) for name, path in known.items()}
        width = max(map(len, titles))
        screen.say(*(f"{name:<{width}}  {title}"[:WIDTH] for name, title in titles.items()))
        screen.say("next      tagloom docs tutorial")
        screen.answer({"pages": titles})
        return GOOD
    name = page_named(" ".join(args.words), known)
    if name is None:
        return _search(args, screen, known)
    text = known[name].read_text("utf-8")
    screen.say(*rendered(text).splitlines())
    screen.answer({"page": name, "title": title_of(text), "text": text})
    return GOOD


def _search(args: argparse.Namespace, screen: Screen, known: dict[str, Path]) -> int:
    found = lines_with(args.words, known)
    if not found:
        raise unknown_page(" ".join(args.words), known)
    titles = {name: title_of(known[name].read_text("utf-8")) for name in found}
    width = max(map(len, found))
    shown = list(found)[: None if args.verbose else MOST_PAGES]
    screen.say(*(f"{name:<{width}}  {excerpt(found[name][0], args.words, WIDTH - width - 2)}" for name in shown))
    if len(shown) < len(found):
        screen.say(f"more      {number_of(len(found) - len(shown), 'more page')}: -v lists all")
    screen.say(f"next      tagloom docs {shown[0]}")
    screen.answer({"words": args.words, "found": [{"page": n, "title": titles[n], "lines": found[n]} for n in found]})
    return GOOD


@dataclass(frozen=True, slots=True)
class Section:
    """What is said of one check: its heading, the words that name it, its text as Markdown."""

    heading: str
    words: tuple[str, ...]
    text: str


def sections_of(page: str) -> list[Section]:
    r"""Return the sections of the page of checks, in their order.

    >>> sections_of("# All\n\n## No storm\n\nWords: `storm`, `storm_free`\n\nOne copy each.\n")
    [Section(heading='No storm', words=('storm', 'storm_free'), text='One copy each.')]
    """
    found = list(_SECTION.finditer(page))
    ends = [each.start() for each in found[1:]] + [len(page)]
    return [
        Section(each[1], tuple(each[2].replace("`", "").split(", ")), page[each.end() : end].strip())
        for each, end in zip(found, ends, strict=True)
    ]


def _explain(args: argparse.Namespace, screen: Screen) -> int:
    known = sections_of(pages()[CHECKS].read_text("utf-8"))
    if not args.words:
        width = max(len(each.words[0]) for each in known)
        screen.say(*(f"{each.words[0]:<{width}}  {each.heading}" for each in known))
        screen.say(f"next      tagloom explain {known[0].words[0]}")
        screen.answer({"checks": {each.words[0]: each.heading for each in known}})
        return GOOD
    sought = " ".join(args.words).casefold()
    found = [each for each in known if sought in (*each.words, each.heading.casefold())]
    if not found:
        names = [word for each in known for word in each.words]
        near = difflib.get_close_matches(sought, names, 3) or [each.words[0] for each in known]
        raise InputError([Finding("word", f"a check: {', '.join(near)}", repr(" ".join(args.words)))])
    (section,) = found
    screen.say(section.heading, "", *rendered(section.text).splitlines())
    screen.answer({"check": section.words[0], "words": section.words, "text": section.text})
    return GOOD


def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    explain = commands.add("explain", _explain, "what a check means, how it fails, and what to do")
    explain.add_argument(
        "words", nargs="*", metavar="WORD", help="a check, or a key of verify --json (default: list the checks)"
    )
    docs = commands.add("docs", _docs, "show, list or search the pages of the documentation; needs no network")
    docs.add_argument(
        "words",
        nargs="*",
        metavar="PAGE|WORD",
        help="a page, such as routing or explanation/tags; or words to search all pages for (default: list the pages)",
    )
