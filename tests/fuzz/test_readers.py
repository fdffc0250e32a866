"""No function reads a file of a user's and is left out of the campaign: the list of them is read from the code."""

import ast
import contextlib
import re
import sys

import pytest
from readers import READERS, make

from fabrics import ROOT

IN_A_LOOP = re.compile(r"\.<locals>\.<\w+>")  # a comprehension, which is a function of its own in Python 3.11
PACKAGE = ROOT / "tooling" / "tagloom"
STORAGE = str(PACKAGE / "storage")
READING = {"read_bytes", "read_text", "read_yaml", "read_json", "read_arrays", "Store"}  # of tagloom.storage
ENTERED = (READING - {"Store"}) | {"Store.__init__"}


def reading(path):
    """Yield the functions of a module that call what storage/ reads files with, by module and qualified name."""
    tree = ast.parse(path.read_text("utf-8"))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tagloom.storage")
        for alias in node.names
    }
    yield from _functions(tree, (), imported & READING, str(path.relative_to(PACKAGE)))


def _functions(node, within, names, module):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id in names:
            yield module, ".".join(within)
        inside = (*within, child.name) if isinstance(child, ast.FunctionDef | ast.ClassDef) else within
        yield from _functions(child, inside, names, module)


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """Read every whole file as the campaign does; gives the functions that read a file meanwhile."""
    found = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_qualname in ENTERED and frame.f_code.co_filename.startswith(STORAGE):
            found.add(frame.f_back.f_code)

    home = tmp_path_factory.mktemp("home")
    with contextlib.chdir(home):
        make(home)
        for reader in READERS:
            sys.setprofile(note)
            try:
                assert reader.read() not in (1, 2, 3), f"{reader.name}: the whole file is refused"
            finally:
                sys.setprofile(None)
    return {(code.co_filename.removeprefix(f"{PACKAGE}/"), IN_A_LOOP.sub("", code.co_qualname)) for code in found}


@pytest.mark.slow
def test_every_function_that_reads_a_users_file_is_called_by_one_of_the_campaign(called):
    every = {found for path in PACKAGE.rglob("*.py") if path.parent.name != "storage" for found in reading(path)}
    assert len(every) > 30
    assert every - called == set()
