"""Read the console blocks of the documents, run them, and compare what they print.

A block runs after those above it on its page, in a directory of their own. `$ ` begins a command; the lines below
are what it prints, with `...` for any text. Without such lines only its exit status counts, 0 unless its comment says
`exit status N`. Lines may break elsewhere; times, ports and dates may differ. A comment above a block says otherwise:

    <!-- example: REASON -->    it is not run, and why
    <!-- long -->               it is left to `make test-long`
    <!-- before: COMMANDS -->   what is run first, a command a line
    <!-- stage: NAME -->        what stands in place of hardware, hosts and services: a function of stages.py
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from command_line import commands
from fabrics import ROOT
from stages import STAGES
from tagloom.lab import process
from waiting import until

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
PARTS = re.compile(
    r"<!-- (?P<mark>example|long|before|stage)(?::\s(?P<words>.*?))?\s-->\n|^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
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
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "TIME"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "URL"),
    (re.compile(r"\w+@[\w.-]+"), "USER@HOST"),
    (re.compile(r"\s+"), " "),
]
TARGETS = {"make demo": ["tagloom", "demo"]}  # what runs a command and nothing else
SETTING = re.compile(r"export (\w+)=(\S+)")
SHELL = re.compile(r"^\w+=|\$|[|&>]|\*\.")  # what only a shell understands
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


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
    stage: str | None = None


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
            long, example, stage = "long" in marks, marks.get("example"), marks.get("stage")
            found.append(Block(where, commands_of(part["text"]), before, long, example, stage))
        else:
            assert not part["text"].startswith("$ "), f"{page}: a block with commands is a console block"
        marks = {}
    marked = re.findall(r"<!-- (?:example|long|before|stage)", text)
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


def run(command, directory, environment=None):
    """Run a command, and return its exit status and what it printed on both streams."""
    words = TARGETS.get(" ".join(command.words), command.words)
    environment = surroundings(environment or {})
    if words[0] == "tagloom" and not SHELL.search(command.line):
        done = commands.run(words[1:], directory, environment, together=True)
    else:
        words = ["bash", "-c", command.line] if SHELL.search(command.line) else words
        to = subprocess.PIPE
        done = subprocess.run(
            words, cwd=directory, env=environment, text=True, check=False, stdout=to, stderr=subprocess.STDOUT
        )
    return done.returncode, PROGRESS.sub("", done.stdout)


def surroundings(environment):
    return os.environ | {"NO_COLOR": "1", "COLUMNS": "80", "PATH": PATH} | environment


def run_blocks(blocks, directory, run=run):
    """Run blocks in a directory one after the other, where the checkout's tests/data is; no rack outlives them.

    After `cd DIR` they run in that one.
    """
    (directory / "tests").symlink_to(ROOT / "tests")
    here = directory
    try:
        for block in blocks:
            for command in block.before:
                checked(block, command, *run(command, here))
            if block.stage:
                play(block, here)
                continue
            for command in block.commands:
                if command.words[0] == "cd":
                    here /= command.words[1]
                    assert here.is_dir(), f"{block.where}: {command.line}"
                else:
                    checked(block, command, *run(command, here))
    finally:
        for info in directory.rglob("rack.json"):
            process.down(info.parent)


def checked(block, command, status, printed):
    """Compare how a command ended and what it printed with what its page says."""
    assert "Traceback" not in printed, f"{block.where}: {command.line}\n{printed}"
    if command.printed:
        assert same(command.printed, printed), f"{block.where}: {command.line} prints\n{printed}"
    else:
        assert status == command.status, f"{block.where}: {command.line} ends with {status}\n{printed}"


def play(block, directory):
    """Run a block on its stage: with other words, on other hosts, commands beside others."""
    with STAGES[block.stage](directory) as stage:
        environment, running = dict(stage.environment), []
        try:
            for said in block.commands:
                command = put(stage, said)
                if setting := SETTING.fullmatch(command.line):
                    environment[setting[1]] = setting[2]
                elif said.line.startswith(stage.beside or "\0"):
                    running.append((command, *begin(command, directory, environment)))
                else:
                    checked(block, command, *run(command, directory, environment))
            for command, started, output, _ in running:
                if any("Ctrl-C" in each.line + each.printed for each in block.commands):
                    started.send_signal(signal.SIGINT)
                status = started.wait(timeout=120)
                checked(block, command, status, PROGRESS.sub("", output.read_text("utf-8")))
        finally:
            for _, started, _, keyboard in running:
                os.close(keyboard)
                if started.poll() is None:
                    started.kill()
                    started.wait()


def put(stage, command):
    """Return a command with the words that a stage has in place of the page's, on the host that its comment names."""
    line, printed = command.line.removesuffix(" &"), command.printed
    for word, instead in stage.words.items():
        line, printed = line.replace(word, instead), printed.replace(word, instead)
    comment = line.rpartition("# ")[2].partition(";")[0].strip()
    words = [*stage.hosts.get(comment, ()), *shlex.split(line, comments=True)]
    return Command(shlex.join(words) if comment in stage.hosts else line, words, printed, command.status)


def begin(command, directory, environment):
    """Start a command beside those that follow; return its process, output and keyboard once it shows its words."""
    output = directory / f"output-{len(list(directory.glob('output-*')))}"
    keyboard, screen = os.openpty()  # at which nobody types
    with output.open("w") as stream, os.fdopen(screen):
        started = subprocess.Popen(
            ["env", "--default-signal=INT", *command.words],
            cwd=directory,
            env=surroundings(environment) | {"PYTHONUNBUFFERED": "1"},
            stdin=screen,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    if command.printed:
        until(lambda: re.search(pattern(command.printed), plain(output.read_text("utf-8")), re.DOTALL), started)
    return started, output, keyboard


def same(said, printed):
    """Return whether a command printed what its page says, but for what differs from run to run."""
    return re.fullmatch(f" *{pattern(said)} *", plain(printed), re.DOTALL) is not None


def pattern(said):
    return ".*".join(re.escape(plain(piece).strip()).replace(r"\ ", " *") for piece in said.split("..."))


def plain(text):
    for pattern, instead in VOLATILE:
        text = pattern.sub(instead, text)
    return text
