"""README: five minutes, one picture, two commands; what it does not run is run by CI."""

import re
import shlex

from console_blocks import PAGES, blocks_of
from fabrics import ROOT
from tagloom.cli import parser

README = (ROOT / "README.md").read_text("utf-8")
WORDS_A_MINUTE = 220
SHELL = re.compile(r" (?:[|&>]|&&) ?")  # what follows is the shell's


def test_it_is_read_in_five_minutes():
    assert len(README.splitlines()) <= 120
    assert len(re.sub(r"\]\([^)]*\)|<!--.*?-->", "", README).split()) <= 5 * WORDS_A_MINUTE


def test_it_says_what_this_is_in_three_sentences_and_one_picture():
    heading, first, picture, *_ = README.split("\n\n")
    assert heading == "# tagloom"
    assert len(re.findall(r"\.(?:\s|$)", first)) == 3
    assert re.findall(r"!\[[^\]]+\]\(([^)]*)\)", README) == ["docs/pictures/torus.svg"]
    assert picture.startswith("![")


def test_it_says_that_no_real_switch_was_tried_and_how_to_be_the_first():
    said = README.partition("## What has been tried on what")[2].partition("\n## ")[0]
    for words in ("No real switch yet", "Be the first", "`tagloom record SWITCH -o FILE`"):
        assert words in said


def test_the_one_block_of_it_that_is_not_run_is_what_ci_runs():
    (left,) = (block for block in blocks_of(ROOT / "README.md") if block.example is not None)
    (command,) = left.commands
    ran = [line.split() for line in (ROOT / ".ci/run").read_text("utf-8").splitlines() if line.startswith("make ")]
    assert set(command.words[1:]) <= {word for line in ran for word in line}


def test_commands_of_blocks_that_are_not_run_are_commands_all_the_same():
    """What nothing here can stand in place of is at least taken as it is written."""
    taken = 0
    for page in PAGES:
        for block in blocks_of(page):
            for command in block.commands if block.example is not None else ():
                words = SHELL.split(command.line)[0].split("tagloom ", 1)[1:]
                if words and "..." not in command.line:
                    parser().parse_args(shlex.split(words[0], comments=True))
                    taken += 1
    assert taken
