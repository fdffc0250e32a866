"""Read the console blocks of the documents, run them, and compare what they print.

A block runs after those above it on its page, in a directory of their own. `$ ` begins a command; the lines below
are what it prints, with `...` for any text. Without such lines only its exit status counts, 0 unless its comment says
`exit status N`. Lines may break elsewhere; times, ports and dates may differ. A comment above a block says otherwise:

    <!-- example: REASON -->    it is not run, and why
    <!-- long -->               it is left to `make test-long`
    <!-- before: COMMANDS -->   what is run first, a command a line
"""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field

import commands
from fabrics import ROOT
from tagloom.lab import process

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
PARTS = re.compile(
    r"<!-- (?P<mark>example|long|before)(?::\s(?P<words>.*?))?\s-->\n|^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
STATUS = re.compile(r"exit status (\d)")
PROGRESS = re.compile(r"^[\w ]+: \d+ of \d+\n", re.MULTILINE)  # now and then, as time goes by
# What differs from run to run.
VOLATILE = [
    (re.compile(r"\d[\d,.]* (s|minutes?)\b"), r"# \1"),
    (re.compile(r"ports \d+ to \d+"), "ports # to #"),
    (re.compile(r"UDP port \d+"), "UDP port #"),
    (re.compile(r"\b\d{8}T\d{6}\b"), "DATE"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "DATE"),
    (re.compile(r"\w+@[\w.-]+"), "USER@HOST"),
    (re.compile(r"\s+"), " "),
]
TARGETS = {"make demo": ["tagloom", "demo"]}  # what runs a command and nothing else


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a block: its words, what its page says it prints, and its exit status."""

    line: str
    words: list
    printed: str
    status: int


@dataclass(slots=True)
class Block:
    """A console block: where it stands, its commands, what is run before, and whether it is run."""

    where: str
    commands: list
    before: list = field(default_factory=list)
    long: bool = False
    example: str | None = None


def blocks_of(page):
    """List the console blocks of a page."""
    text = page.read_text("utf-8")
    found, marks = [], {}
    for part in PARTS.finditer(text):
        if part["mark"]:
            marks[part["mark"]] = part["words"]
            continue
        if part["kind"] == "console":
            where = f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, part.start()) + 1}"
            before = [command_of(line, []) for line in (marks.get("before") or "").splitlines() if line.strip()]
            found.append(Block(where, commands_of(part["text"]), before, "long" in marks, marks.get("example")))
        else:
            assert not part["text"].startswith("$ "), f"{page}: a block with commands is a console block"
        marks = {}
    marked = re.findall(r"<!-- (?:example|long|before)", text)
    assert len(marked) == sum(part["mark"] is not None for part in PARTS.finditer(text)), (
        f"{page}: marks are well-formed"
    )
    return found


def commands_of(text):
    """List the commands of a block's text."""
    pieces = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert not pieces[0], f"a console block begins with a command: {text!r}"
    return [command_of(lines[0], lines[1:]) for lines in map(str.splitlines, pieces[1:])]


def command_of(line, printed):
    words = shlex.split(line, comments=True)
    status = STATUS.search(line)
    return Command(line, words, "\n".join(printed), int(status[1]) if status else 0)


def run(command, directory):
    """Run a command, and return its exit status and what it printed on both streams."""
    environment = os.environ | {"NO_COLOR": "1", "COLUMNS": "80"}
    words = TARGETS.get(" ".join(command.words), command.words)
    if words[0] == "tagloom":
        done = commands.run(words[1:], directory, environment, together=True)
    else:
        done = subprocess.run(
            words,
            cwd=directory,
            env=environment,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    return done.returncode, PROGRESS.sub("", done.stdout)


def run_blocks(blocks, directory, run=run):
    """Run blocks in a directory one after the other, where the checkout's tests/data is; no rack outlives them."""
    (directory / "tests").symlink_to(ROOT / "tests")
    try:
        for block in blocks:
            for command in [*block.before, *block.commands]:
                status, printed = run(command, directory)
                assert "Traceback" not in printed, f"{block.where}: {command.line}\n{printed}"
                if command.printed:
                    assert same(command.printed, printed), f"{block.where}: {command.line} prints\n{printed}"
                else:
                    assert status == command.status, f"{block.where}: {command.line} ends with {status}\n{printed}"
    finally:
        for info in directory.rglob("rack.json"):
            process.down(info.parent)


def same(said, printed):
    """Return whether a command printed what its page says, but for what differs from run to run."""
    pattern = ".*".join(re.escape(plain(piece).strip()).replace(r"\ ", " *") for piece in said.split("..."))
    return re.fullmatch(f" *{pattern} *", plain(printed), re.DOTALL) is not None


def plain(text):
    for pattern, instead in VOLATILE:
        text = pattern.sub(instead, text)
    return text
