"""One meaning per option name in all commands, old names still taken; each command's page is there."""

import argparse
import re
from collections import defaultdict

import pytest
import write

from fabrics import ROOT
from tagloom.cli import parser
from tagloom.cli.words import EXAMPLES, PAGES, docs_command, page_of

COMMANDS = dict(write.below(parser(), ""))
# Names that were given up: each still does what it did. (command, old name) -> today's.
OLD = {
    ("run", "--dry-run"): "--check",
    ("repair", "--propose"): "--check",
    ("discover", "--seed"): "--start",
    ("eee", "--timeout"): "--idle-timeout",
    ("timetable", "--settings"): "--most-settings",
    ("observe", "--prometheus"): "--metrics-port",
    ("regulate", "--allow-cut"): "--allow",
    ("timetable", "--allow-cut"): "--allow",
    ("run", "--hold"): "--lower-after",
    ("lab fault", "--after"): "--delay",
    ("measure pingpong", "--hosts"): "--ends",
    ("measure idle-gap", "--from"): "--shortest",
    ("measure idle-gap", "--to"): "--longest",
}
for kind in ("pingpong", "idle-gap", "rps", "power"):
    OLD |= {(f"measure {kind}", "--keep"): "--store", (f"measure {kind}", "--fabric"): "--name"}
# What takes several kinds of value, and means one thing.
MEANS_ONE_THING = {
    "--against": "what is compared with: a build, or a fabric",
    "--network": "addresses of a network, as CIDR",
    "--output": "what is written",
    "--running": "running configurations: observe reads them, adopt writes them, rollout takes them",
    "--serve": "answer who asks: report serves browsers, pingpong the other end",
}
# Values that are written otherwise in help, and mean the same.
SAME = {"F": "FILE", "SETTINGS": "FILE"}


def options(command):
    """Yield each option of a command: its action, and every long name that it has."""
    for action in COMMANDS[command]._actions:
        for name in action.option_strings:
            if name.startswith("--"):
                yield action, name


def test_a_name_takes_the_same_in_every_command():
    found = defaultdict(set)
    for command in COMMANDS:
        for action, name in options(command):
            if (command, name) not in OLD:
                takes = (
                    "" if action.nargs == 0 else "WHAT" if action.choices else str(action.metavar).rpartition("]")[2]
                )
                found[name].add(SAME.get(takes, takes))
    assert {name for name, takes in found.items() if len(takes) > 1} == set(MEANS_ONE_THING)
    assert set(found) >= {
        "--check",
        "--once",
        "--count",
        "--seed",
        "--timeout",
        "--settings",
        "--prometheus",
        "--allow",
    }


@pytest.mark.parametrize(("command", "old"), OLD)
def test_an_old_name_does_what_todays_does(command, old):
    actions = {name: action for action, name in options(command)}
    now = OLD[command, old]
    assert actions[old].dest == actions[now].dest
    if actions[old] is not actions[now]:
        assert actions[old].nargs == 0
        assert actions[old].const in actions[now].choices
        assert actions[old].help == f"{now} {actions[old].const}"


def test_once_is_a_count_of_one():
    words = [["observe", "--once"], ["observe", "--count", "1"]]
    assert {parser().parse_args(each).count for each in words} == {1}


def test_every_command_has_a_page():
    assert {name.partition(" ")[0] for name in COMMANDS} - set(PAGES) == set()


@pytest.mark.parametrize("command", [*(name for name in COMMANDS if name in EXAMPLES), ""])
def test_help_ends_its_introduction_with_a_page_that_is_in_the_site(command):
    page = page_of(command)
    assert (ROOT / page).is_file()
    assert page.removeprefix("docs/") in (ROOT / "mkdocs.yml").read_text("utf-8")
    shown = COMMANDS[command].description if command else parser().description
    assert f"read on:\n  {docs_command(page)}" in shown


def test_every_example_is_one_that_its_command_takes():
    for name, line in EXAMPLES.items():
        words = line.partition("   ")[0].partition(" > ")[0].split()[1:]
        if name in COMMANDS:
            assert isinstance(parser().parse_args(words), argparse.Namespace), line


TEXTS = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"]
TEXTS += [
    page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name != "commands.md" or page.parent.name == "docs"
]
TEXTS += [
    path
    for name in ("roles", "playbooks")
    for path in sorted((ROOT / name).rglob("*"))
    if path.suffix in {".yml", ".sh", ".md"}
]
TEXTS += sorted((ROOT / "tooling" / "tagloom").rglob("*.py"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_page_and_no_advice_names_an_option_that_was_given_up(path):
    text = path.read_text("utf-8")
    found = [
        match[0]
        for command, old in OLD
        for match in re.finditer(rf"tagloom {command}\b[^`\n|]*{old}\b(?!-)", text)
        if "add_argument" not in match[0]
    ]
    assert not found, f"today's names: {OLD}"
