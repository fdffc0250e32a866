"""Answer tagloom docs: show the pages that explain tagloom, where no network and no checkout is."""

from __future__ import annotations

import difflib
import io
import re
from typing import TYPE_CHECKING

from tagloom.cli.screen import GOOD
from tagloom.errors import Finding, InputError
from tagloom.share import share_directory

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from tagloom.cli.screen import Screen
    from tagloom.cli.words import Commands

WIDTH = 80
PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]*)\]\((?:[\w./-]*/)?([\w-]+)\.md(?:#[\w-]*)?\)")


def pages() -> dict[str, Path]:
    """Return every page by its name, such as routing or explanation/tags, in the order of the names."""
    top = share_directory() / "docs"
    found = {path.relative_to(top).with_suffix("").as_posix(): path for path in top.rglob("*.md")}
    return dict(sorted(found.items(), key=lambda item: (item[0].count("/"), item[0])))


def page_named(words: str, known: dict[str, Path]) -> str:
    """Return the name of the page that somebody asks for, who may write it as a file. Raises InputError."""
    name = words.removeprefix("docs/").removesuffix(".md")
    last = [each for each in known if each.rpartition("/")[2] == name]
    if name in known or len(last) == 1:
        return name if name in known else last[0]
    near = difflib.get_close_matches(name, known, 3) or [each for each in known if name and name in each][:3]
    rule = f"a page: {', '.join(last or near)}" if last or near else "a page that tagloom docs lists"
    raise InputError([Finding("page", rule, repr(words))])


def title_of(text: str) -> str:
    """Return the heading of a page."""
    return next((line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")), "")


def rendered(text: str) -> str:
    """Return a page of Markdown as plain text, 80 columns wide; links name the page that they lead to."""
    from rich.console import Console
    from rich.markdown import Markdown

    shown = io.StringIO()  # not standard output, which may be full or closed
    console = Console(file=shown, width=WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    plain = LINK.sub(r"\1 (\2)", PICTURE.sub(r"(picture: \1)", text))
    console.print(Markdown(plain, hyperlinks=False))
    return "\n".join(line.rstrip() for line in shown.getvalue().splitlines())


def _docs(args: argparse.Namespace, screen: Screen) -> int:
    known = pages()
    if args.page is None:
        titles = {name: title_of(path.read_text("utf-8")) for name, path in known.items()}
        width = max(map(len, titles))
        screen.say(*(f"{name:<{width}}  {title}"[:WIDTH] for name, title in titles.items()))
        screen.say("next      tagloom docs tutorial")
        screen.answer({"pages": titles})
        return GOOD
    name = page_named(args.page, known)
    text = known[name].read_text("utf-8")
    screen.say(*rendered(text).splitlines())
    screen.answer({"page": name, "title": title_of(text), "text": text})
    return GOOD


def add(commands: Commands) -> None:
    """Add this command to the parser."""
    docs = commands.add("docs", _docs, "show a page of the documentation, or list them; needs no network")
    docs.add_argument(
        "page", nargs="?", metavar="PAGE", help="such as routing or explanation/tags (default: list them)"
    )
