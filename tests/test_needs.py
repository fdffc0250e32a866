"""A test without its outside program is skipped with how to get it; where CI has that program, `--judges` fails it."""

import ast
import json
import os
import re
import subprocess
import sys

import pytest

import needs
from fabrics import ROOT
from tagloom.lab.kernel.machine import NEEDS

TESTS = ROOT / "tests"
EXAMPLE = """
import needs
import pytest

needs.TABLE["frobnicator"] = needs.judge("frob-tools", "frobnicator-of-no-package")
needs.TABLE["rarity"] = needs.optional("rare-tools", "rarity-of-no-package")

@pytest.fixture
def tool():
    needs.require("frobnicator")

@pytest.mark.needs("rarity", "frobnicator")
def test_marked(): raise ValueError

def test_with_fixture(tool): raise ValueError

@pytest.mark.needs("rarity")
def test_optional(): raise ValueError

@pytest.mark.needs("sh")
def test_that_has_all(): pass
"""


@pytest.fixture
def example(tmp_path):
    """Return what runs pytest on the example: its summary, and the seconds of each test."""
    (tmp_path / "test_example.py").write_text(EXAMPLE)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    kept |= {"PYTHONPATH": os.pathsep.join([str(TESTS), str(ROOT / "tooling")]), "COLUMNS": "200"}
    kept["TAGLOOM_DURATIONS"] = str(tmp_path / "durations")
    settings = ["-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, "-p", "conftest", "-p", "no:cacheprovider"]

    def run(*options, **variables):
        words = [sys.executable, "-m", "pytest", *settings, *options, "test_example.py"]
        done = subprocess.run(words, cwd=tmp_path, env=kept | variables, capture_output=True, text=True, check=False)
        rows = [json.loads(line) for line in (tmp_path / "durations").read_text("utf-8").splitlines()]
        return done.stdout.partition("short test summary info")[2], rows

    return run


def test_a_missing_program_skips_a_test_and_the_reason_says_how_to_get_it(example):
    summary, _ = example()
    assert summary.count("needs rarity: sudo apt install rare-tools") == 2
    assert summary.count("needs frobnicator: sudo apt install frob-tools") == 1
    assert "1 passed, 3 skipped" in summary


ASKED_FOR = [(["--judges"], {}), (["--judges", "-n2"], {}), ([], {needs.JUDGES: "1"})]


@pytest.mark.slow
@pytest.mark.parametrize(("options", "variables"), ASKED_FOR, ids=["option", "in parallel", "variable"])
def test_with_judges_a_test_fails_where_ci_installs_the_program_and_is_skipped_elsewhere(example, options, variables):
    summary, rows = example(*options, **variables)
    assert set(re.findall(r"ERROR test_example.py::(\w+)", summary)) == {"test_marked", "test_with_fixture"}
    assert summary.count("needs frobnicator: sudo apt install frob-tools") == 2
    assert summary.count("needs rarity: sudo apt install rare-tools") == 1
    assert "1 passed, 1 skipped, 2 errors" in summary
    names = sorted(row["test"].partition("::")[2] for row in rows)
    assert names == sorted(re.findall(r"def (test_\w+)", EXAMPLE)), "the seconds of each test, once"


def test_the_ten_slowest_are_listed_slowest_first_and_once(tmp_path):
    rows = [{"test": f"t{n}", "seconds": float(n)} for n in (*range(20), 3)] + [{"test": "t0", "seconds": 17.5}]
    (tmp_path / "durations").write_text("\n".join(map(json.dumps, rows)))
    words = [sys.executable, "-I", "-S", ROOT / ".ci" / "slowest.py", tmp_path / "durations"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    names = [line.split()[-1] for line in done.stdout.splitlines()]
    assert names == ["t19", "t18", "t0", *(f"t{n}" for n in range(17, 10, -1))]


def packages(monkeypatch, path):
    monkeypatch.setattr(needs, "PATH", str(path))
    monkeypatch.setattr(needs, "SYSTEM_PYTHON", str(path / "python3"))
    return set(needs.missing_packages())


def test_where_nothing_is_installed_every_package_that_ci_installs_is_listed(monkeypatch, tmp_path):
    listed = packages(monkeypatch, tmp_path)
    assert listed >= {"snmp", "snmpd", "lldpd", "chromium", "python3-simgrid", "ibutils", "fish", "bubblewrap"}
    assert listed >= set(NEEDS.values()), "what user-mode Linux runs"
    assert not listed & {"prometheus", "slurmctld", "shellcheck"}


def test_a_package_whose_program_is_here_is_not_listed(monkeypatch, tmp_path):
    (tmp_path / "ibdmchk").touch(mode=0o755)
    assert "ibutils" not in packages(monkeypatch, tmp_path)


def test_the_script_prints_packages_in_one_line_with_any_python_and_no_library():
    words = [sys.executable, "-I", "-S", TESTS / "needs.py"]
    done = subprocess.run([*words, "packages"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == needs.missing_packages()
    assert done.stdout.count("\n") == 1
    assert subprocess.run(words, capture_output=True, check=False).returncode == 1


def test_an_obstacle_is_the_reason(monkeypatch):
    monkeypatch.setitem(needs.TABLE, "a moon", needs.Need(probe=lambda: "it has set", ci=True))
    monkeypatch.setenv(needs.JUDGES, "1")
    assert needs.first_missing(["sh", "a moon"]) == ("needs a moon: it has set", True)
    with pytest.raises(pytest.fail.Exception, match="needs a moon: it has set"):
        needs.require("a moon")
    monkeypatch.setenv(needs.JUDGES, "0")
    with pytest.raises(pytest.skip.Exception, match="needs a moon: it has set"):
        needs.require("a moon")


# --- every test uses the table ---------------------------------------------------------------------------------------

FINDS = re.compile(r"\bwhich\(|geteuid|obstacles\(|find_spec|importorskip")
SKIPS = {"skipif", "skip", "importorskip"}


def name_of(call):
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def calls(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def own_skips(source):
    """List the rows that skip a test for something missing without the table."""
    tree = ast.parse(source)
    guarded = [node for node in ast.walk(tree) if isinstance(node, ast.If) and FINDS.search(ast.unparse(node.test))]
    inside = [call for node in guarded for part in node.body for call in calls(part) if name_of(call) == "skip"]
    marks = [call for call in calls(tree) if name_of(call) in SKIPS and FINDS.search(ast.unparse(call))]
    return sorted(call.lineno for call in (*inside, *marks))


NAMING = re.compile(r"(?:pytest\.mark\.needs|(?:needs\.)?require|needs\.(?:path_of|missing))$")


def needed(source):
    """List the names of needs that a module spells out."""
    for call in calls(ast.parse(source)):
        if NAMING.match(ast.unparse(call.func)):
            yield from (word.value for word in call.args if isinstance(word, ast.Constant))


def sources():
    return {path: path.read_text("utf-8") for path in sorted(TESTS.rglob("*.py")) if path.name != "test_needs.py"}


def test_no_test_looks_for_a_program_by_itself():
    assert {path.name: rows for path, source in sources().items() if (rows := own_skips(source))} == {}


def test_a_test_that_does_is_found():
    lines = [
        "@pytest.mark.skipif(shutil.which('x') is None, reason='no x')",
        "def test_a():",
        "    if os.geteuid():",
        "        pytest.skip('no root')",
        "    pytest.importorskip('y')",
        "    if random():",
        "        pytest.skip('chance')",
    ]
    assert own_skips("\n".join(lines)) == [1, 4, 5]


def test_every_need_that_a_test_names_is_in_the_table_and_every_one_there_is_named():
    named = {name for source in sources().values() for name in needed(source)}
    assert named <= set(needs.TABLE)
    behind = {"linux.uml", "modprobe", "busybox"}  # what user-mode Linux runs
    shells = {"dash"}  # a parameter
    assert set(needs.TABLE) - named == behind | shells
