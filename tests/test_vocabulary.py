"""Words that were given up stay out of names, docstrings, help and documents."""

import ast
import re

from fabrics import ROOT
from tagloom.cli import parser

SOURCES = sorted(
    path for room in ("tooling", "roles", "benchmarks", "playbooks") for path in (ROOT / room).rglob("*.py")
)
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
# What is no longer the name of anything, and what it is called.
NAMES = {
    "Wish": "RegulateOptions",
    "DayWish": "TimetableOptions",
    "Chosen": "RegulateResult",
    "Desk": "ApplyContext",
    "Push": "PreparedChange",
    "Standing": "SwitchProgress",
    "Wishes": "ApplyOptions",
    "Ledger": "WaveJournal",
    "Kept": "StoredMeasurement",
    "Terms": "ProofAssumptions",
    "Judge": "ProofServices",
    "Mixture": "InterleavingModel",
    "Foreign": "UnmanagedConfig",
    "Eyes": "LoadProbe",
    "Keeper": "TimetableController",
    "LANES": "BATCH",
    "aimed": "resolve_target",
    "bring": "configure_switch",
    "brought": "regulated",
    "crew": "worker_pool",
    "dear": "path_cost",
    "shout": "flood",
    "side_by_side": "run_parallel",
    "toll": "detour_penalty",
    "Meeting": "FabricPair",
    "asked": "requested",
    "guests": "transient_ports",
    "lanes": "parallel_links",
    "told": "reported",
    "way_out": "next_step",
}
# What no docstring begins with: a function returns, writes or raises something, a class is something.
BEGINNINGS = {"Give", "Gives", "Hold", "Holds", "Tell", "Tells", "Say", "Says", "Let", "Lets"}
# What no help and no document says, and what it says instead.
PHRASES = {
    "crew": "worker pool",
    "desk": "context",
    "shout": "broadcast",
}


def names_of(tree):
    """List the names that a module defines, takes or asks for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg | ast.keyword):
            yield node.arg
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def docstrings_of(tree):
    """List the first words of a module's docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            yield (ast.get_docstring(node) or "").split(" ")[0].strip(".,:\n")


def helps_of(command):
    """List the help of a command and of those below it."""
    yield command.format_help()
    for action in command._actions:
        for below in dict.fromkeys((action.choices or {}).values()) if isinstance(action.choices, dict) else ():
            yield from helps_of(below)


def test_names_and_docstrings_use_the_words_of_today():
    old, wrong = [], {}
    for path in SOURCES:
        tree = ast.parse(path.read_text("utf-8"))  # one at a time: garbage is looked for in all that are kept
        old += [f"{path}: {name} -> {NAMES[name]}" for name in names_of(tree) if name in NAMES]
        if found := BEGINNINGS & set(docstrings_of(tree)):
            wrong[path] = found
    assert old == []
    assert wrong == {}, "a docstring begins with what is returned or done"


def test_help_and_documents_use_the_words_of_today():
    texts = {path.name: path.read_text("utf-8") for path in DOCUMENTS if path.name != "CHANGELOG.md"}
    texts |= {text.splitlines()[0]: text for text in helps_of(parser())}
    assert len(texts) > 30
    for where, text in texts.items():
        found = {word: PHRASES[word] for word in PHRASES if re.search(rf"\b{word}s?\b", text, re.IGNORECASE)}
        assert found == {}, where


def test_no_help_begins_as_no_docstring_does():
    for text in helps_of(parser()):
        beginnings = {line.split(" ")[0].capitalize() for line in re.split(r"\n\n|\n?  +", text) if line}
        assert beginnings & BEGINNINGS == set(), text.splitlines()[0]


def test_the_words_are_looked_for():
    tree = ast.parse('def f(Wish):\n    """Give it."""\n    return Wish.aimed\n')
    assert set(names_of(tree)) & set(NAMES) == {"Wish", "aimed"}
    assert BEGINNINGS & set(docstrings_of(tree)) == {"Give"}
