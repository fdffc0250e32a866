"""Every console block of README and docs/ runs, and prints what it says."""

import re

import pytest

from console_blocks import PAGES, TARGETS, blocks_of, commands_of, run_blocks, same
from fabrics import ROOT

BLOCKS = {page.relative_to(ROOT).as_posix(): blocks_of(page) for page in PAGES}


def pages(*, long):
    """List the pages that have blocks of a kind, with those blocks; one that sets its stage begins anew."""
    runs = {}
    for page, found in BLOCKS.items():
        if page == "docs/tutorial.md":  # typed by test_twelve_jobs.py, which looks after each command
            continue
        name = page
        for block in found:
            if block.example is None and block.long == long:
                name = block.where if block.stage and long else name
                runs.setdefault(name, []).append(block)
    return [pytest.param(blocks, id=name) for name, blocks in runs.items()]


@pytest.mark.slow
@pytest.mark.parametrize("blocks", pages(long=False))
def test_a_page_shows_what_its_commands_print(blocks, tmp_path):
    run_blocks(blocks, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("blocks", pages(long=True))
def test_a_page_shows_what_its_long_commands_print(blocks, tmp_path):
    run_blocks(blocks, tmp_path)


def test_what_is_not_run_says_why():
    reasons = {block.where: block.example for found in BLOCKS.values() for block in found if block.example is not None}
    assert all(len(reason.split()) > 1 for reason in reasons.values()), reasons
    assert {where.partition(":")[0] for where in reasons} == {"README.md", "docs/ansible.md", "docs/installing.md"}


FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
TYPED = re.compile(r"^ *(?:\$ |(?:sudo )?(?:tagloom|make|pip|apt|ansible\S*|mpirun|git) )", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_is_typed_stands_in_console_blocks_alone(page):
    """So it is run: a block of another kind, or one inside a list, is not."""
    for margin, kind, text in FENCE.findall(page.read_text("utf-8")):
        if kind in {"sh", "bash", "shell", "console"} or TYPED.search(text):
            assert (margin, kind) == ("", "console"), text


def test_a_target_that_stands_for_a_command_runs_it():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target, words in TARGETS.items():
        assert re.search(rf"^{target.split()[1]}: .*\n\t@\$\(BIN\)/{' '.join(words)}\n\n", makefile, re.MULTILINE)


def test_a_block_is_compared_with_what_it_prints(tmp_path):
    assert same("wrote  b/ (4 files)\nin 0.5 s\n...\nnext x", "wrote b/ (4\n files) in 17.25 s\nmore\nnext x\n")
    assert not same("4 of 4 pairs", "3 of 4 pairs")
    assert not same("one", "one\ntwo")
    (command,) = commands_of("$ tagloom plan none.yml -o build   # exit status 2\n")
    assert (command.words[-1], command.printed, command.status) == ("build", "", 2)
    run_blocks([type(next(iter(BLOCKS["README.md"])))("here", [command])], tmp_path)
