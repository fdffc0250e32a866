"""`tagloom --help` lists every command in one section, status first."""

import argparse

import pytest

from tagloom.cli import main, parser
from tagloom.cli.words import SECTIONS


def test_every_command_stands_in_one_section_and_status_first(capsys):
    (branch,) = (each for each in parser()._actions if isinstance(each, argparse._SubParsersAction))
    named = [name for names in SECTIONS.values() for name in names.split()]
    assert sorted(named) == sorted(branch.choices)
    assert named[0] == "status"
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    shown = capsys.readouterr().out
    lines = [line.strip() for line in shown.splitlines()]
    assert [line[:-1] for line in lines if line[:-1] in SECTIONS] == list(SECTIONS)
    assert [name for name in named if not any(line.split(" ")[0] == name for line in lines)] == []
    assert max(map(len, shown.splitlines())) <= 80
