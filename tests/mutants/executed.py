"""Record which tests execute which lines, in all their processes, and choose by that the tests of a mutant."""

import ast
import base64
import json
import os
from pathlib import Path

import coverage
import pytest

BESIDE = "COVERAGE_PROCESS_CONFIG"  # what processes that a test starts are told, by coverage's own name for it


class Recorder:
    """A plugin of pytest: which lines each test executes, also in processes that it starts, and how long it takes.

    What a fixture executes for several tests counts for the one that it was first made for. A test that fails while it
    is measured, as one whose processes may write to no disk does, is not recorded.
    """

    def __init__(self, root):
        self.seconds = {}
        self.coverage = coverage.Coverage(data_file=str(root / ".coverage"), config_file=str(root / "pyproject.toml"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.coverage.switch_context(item.nodeid)
        settings = json.loads(base64.b64decode(os.environ[BESIDE]))
        settings["context"] = item.nodeid
        os.environ[BESIDE] = base64.b64encode(json.dumps(settings).encode()).decode()
        return (yield)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = report.duration

    def run(self, words):
        """Run pytest; return its exit status."""
        self.coverage.erase()
        self.coverage.start()
        status = pytest.main(words, plugins=[self])
        self.coverage.stop()
        self.coverage.save()
        return status

    def write(self, package, path):
        """Write what was found: {"seconds": {test: seconds}, "lines": {module: {line: [tests]}}}."""
        self.coverage.combine()
        data = self.coverage.get_data()
        lines = {}
        for file in data.measured_files():
            found = data.contexts_by_lineno(file)
            if not Path(file).is_relative_to(package):  # of another checkout, which a test has put in the way
                continue
            lines[str(Path(file).relative_to(package))] = {
                line: sorted(names) for line, tests in found.items() if (names := set(tests) & set(self.seconds))
            }
        path.write_text(json.dumps({"seconds": self.seconds, "lines": lines}))


AT_LEAST = 3  # tests, whatever they take


def chosen(found, mutant, source, budget, without=()):
    """Return the tests that execute a mutant's statement, the quickest within a budget, and their seconds.

    Tests of the files `without` are left out. All others where none executes it: the statement is then one that a
    module's import executes, or none does. The tests of a file stay together, since they share racks; the file with the
    quickest test comes first.
    """
    lines = found["lines"].get(mutant.module, {})
    tests = {test for row in statement(source, mutant.row) for test in lines.get(str(row), ())} or found["seconds"]
    tests = [test for test in tests if test.partition("::")[0] not in without]
    taken, files = 0.0, {}
    for test in sorted(tests, key=lambda test: found["seconds"][test]):
        if sum(map(len, files.values())) >= AT_LEAST and taken + found["seconds"][test] > budget:
            break
        taken += found["seconds"][test]
        files.setdefault(test.partition("::")[0], []).append(test)
    return tuple(test for file in files.values() for test in file), taken


def statement(source, row):
    """Return the rows of the innermost statement at a row, without those of statements in it."""
    around = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    around = [node for node in around if node.lineno <= row <= node.end_lineno]
    if not around:
        return range(row, row + 1)
    inner = min(around, key=lambda node: node.end_lineno - node.lineno)
    body = getattr(inner, "body", None)
    return range(inner.lineno, max(row, body[0].lineno - 1 if body else inner.end_lineno) + 1)
