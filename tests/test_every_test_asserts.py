"""A test that asserts nothing cannot fail: every test asserts, or calls something in tests/ that does."""

import ast
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent

# What raises where it finds a fault, and stands outside tests/.
ASSERTING = {"raises", "warns", "fail", "assert_allclose", "assert_array_equal"}
ELSEWHERE = {
    "test_conversation": "gives the result of a scene, played beside others, that asserts",
    "test_damaged_bindings_are_refused_or_read_but_nothing_else_happens": "fails by any other error",
}


class Function(NamedTuple):
    where: str
    name: str
    asserts: bool
    calls: frozenset[str]  # last names


def functions(tree, path):
    """List the functions of a module, those inside others too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            parts = list(ast.walk(node))
            called = [part.func for part in parts if isinstance(part, ast.Call)]
            names = {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in called}
            asserts = any(isinstance(part, ast.Assert) for part in parts)
            yield Function(f"{path}:{node.lineno}", node.name, asserts, frozenset(names))


def silent(every):
    """List the tests that neither assert nor call, through others or not, what does."""
    known = ASSERTING | {function.name for function in every if function.asserts}
    while more := {function.name for function in every if function.calls & known} - known:
        known |= more
    tests = [function for function in every if function.name.startswith("test_")]
    quiet = [test for test in tests if not test.asserts and not test.calls & known and test.name not in ELSEWHERE]
    return [f"{test.where} {test.name}" for test in quiet]


def test_every_test_asserts():
    paths = sorted(TESTS.rglob("*.py"))
    every = [found for path in paths for found in functions(ast.parse(path.read_text("utf-8")), path.name)]
    assert sum(function.name.startswith("test_") for function in every) > 500
    assert silent(every) == []
    assert set(ELSEWHERE) <= {function.name for function in every}


def test_a_test_without_an_assertion_is_found():
    source = "def test_a(): look()\ndef test_b(): check()\ndef look(): pass\ndef check(): assert True\n"
    assert silent(list(functions(ast.parse(source), "x.py"))) == ["x.py:1 test_a"]
