"""Choose the page that explains what went wrong: of the command, or of the input that a finding is about."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.cli.words import PAGES, page_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tagloom.errors import Finding

# The page of each input, by the argument that names its file or directory. Other findings are of the command.
INPUT_PAGES = {
    "fabric": "fabric-file.md",
    "traffic": "forecasts.md",
    "profile": "forecasts.md",
    "trace": "forecasts.md",
    "sweep": "forecasts.md",
    "settings": "timetable.md",
    "timetable": "timetable.md",
    "calendar": "timetable.md",
    "templates": "site-lines.md",
    "snmp": "observing.md",
    "paths": "lossless.md",
    "fdb": "lossless.md",
}
# Of files that stand beside an inventory, or have the name that most commands expect; and of the inventory itself.
FILE_PAGES = {
    "-i": "first-login.md",
    "fabric.yml": "fabric-file.md",
    "snmp.yml": "observing.md",
    "windows.yml": "confirming.md",
}


def command_in(words: Sequence[str]) -> str:
    """Return the command that the words of a command line name, tagloom itself where they name none."""
    return next((word for word in words if word in PAGES), "tagloom")


def pages_for(findings: Sequence[Finding], command: str, args: argparse.Namespace | None) -> list[str]:
    """Return the pages that explain findings, each once, in their order; `args` are what the command was given.

    >>> from tagloom.errors import Finding
    >>> pages_for([Finding("rack/windows.yml:2  windows", "a list", "3")], "apply", None)
    ['docs/confirming.md']
    """
    given = vars(args) if args else {}
    inputs = {str(given[key]): page for key, page in INPUT_PAGES.items() if isinstance(given.get(key), str | Path)}
    found = {}
    for finding in findings:
        page = next((p for text, p in inputs.items() if re.match(re.escape(text) + r"(?![\w./-])", finding.where)), "")
        named = Path(re.split(r":\d|: |  ", finding.where, maxsplit=1)[0]).name
        page = page or FILE_PAGES.get(named, "")
        found[f"docs/{page}" if page else page_of(command)] = True
    return list(found)
