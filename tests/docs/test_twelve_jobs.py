"""A newcomer's twelve jobs: the tutorial typed in order, with nothing but `--help` beside it, and no file lost."""

import re
from pathlib import Path

import pytest

from command_line import commands
from console_blocks import blocks_of, run, run_blocks, surroundings
from fabrics import ROOT

TUTORIAL = ROOT / "docs" / "tutorial.md"
# Each job, and how a command of it begins.
JOBS = {
    "describe a ring of six 5548": "tagloom init rack --family ring --dims 6 --model powerconnect-5548",
    "with two chords": "echo '  - [\"s1:",
    "plan": "tagloom plan fabric.yml -o build",
    "read a text": "head -4 build/configs/s0.cfg",
    "rack": "tagloom lab up fabric.yml",
    "check and diff": "tagloom apply build --check --diff",
    "apply": "tagloom apply build",
    "path": "tagloom path h0 h4",
    "forecast": "tagloom predict night",
    "night schedule": "tagloom run night.yml",
    "cable": "tagloom lab fault s0 cable",
    "repair": "tagloom repair",
    "growth": "tagloom apply grown",
    "rollback": "tagloom rollback",
    "vault with plain Ansible": "ansible-playbook -i inventory/lab/tagloom.yml",
    "report": "tagloom report night -o report.html",
}
# What a rack and its journal write as they run, and the record of what commands wrote.
LIVING = re.compile(r"(^|/)(inventory/lab/|\.tagloom-files$)")


def files_of(directory):
    """Return the contents of a directory's files, but for what lives."""
    found = {str(path.relative_to(directory)): path for path in Path(directory).rglob("*") if not path.is_symlink()}
    return {name: path.read_bytes() for name, path in found.items() if path.is_file() and not LIVING.search(name)}


def shown_by_help(words):
    """Return what `--help` of a command prints: the words before its first option, as far as they name commands."""
    named = [words[1], *([words[2]] if words[1] in {"lab", "hosts", "measure", "export"} else [])]
    done = commands.run([*(named if named[0] != "export" else named[:1]), "--help"], ROOT, surroundings({}))
    assert done.returncode == 0, words
    return done.stdout


@pytest.mark.long
def test_a_newcomer_does_the_twelve_jobs_in_order_and_loses_no_file(tmp_path):
    typed, lost = [], []

    def watched(command, directory):
        typed.append(command)
        before = files_of(directory) if command.words[0] == "tagloom" else {}
        ended = run(command, directory)
        after = files_of(directory)
        lost.extend((command.line, name) for name, held in before.items() if after.get(name) != held)
        return ended

    run_blocks(blocks_of(TUTORIAL), tmp_path, watched)
    assert lost == [], "a command of tagloom changed or removed a file that was there"
    lines = iter(each.line for each in typed)
    assert [job for job, begins in JOBS.items() if not any(line.startswith(begins) for line in lines)] == []


def test_every_option_of_the_jobs_is_in_the_help_of_its_command():
    typed = [command.words for block in blocks_of(TUTORIAL) for command in block.commands]
    helps = {}
    for words in typed:
        if words[0] == "tagloom":
            shown = helps.setdefault(tuple(words[1:3]), shown_by_help(words))
            assert [word for word in words if re.match(r"--?\w", word) and word not in shown] == [], words
    overview = commands.run(["--help"], ROOT, surroundings({})).stdout
    assert [name for name, *_ in helps if not re.search(rf"^ +{name}\b", overview, re.MULTILINE)] == []


def test_the_tutorial_has_twelve_steps():
    assert re.findall(r"^## (\d+)\. ", TUTORIAL.read_text("utf-8"), re.MULTILINE) == [str(n) for n in range(1, 13)]
