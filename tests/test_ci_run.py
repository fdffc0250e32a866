"""`.ci/run` ends with the seconds of every stage and the slowest tests, also where a stage fails."""

import os
import re
import shutil
import subprocess

import pytest

from fabrics import ROOT

MAKE = """#!/bin/sh
echo "makes $*"
echo '{{"test": "tests/test_x.py::test_of_'$1'", "seconds": 2.5}}' >>"$TAGLOOM_DURATIONS"
[ "$1" != "{failing}" ] || exit 7
"""


@pytest.fixture
def ci(tmp_path):
    """Return what runs .ci/run in a checkout where make does nothing, but for one target that fails."""
    checkout, programs = tmp_path / "checkout", tmp_path / "bin"
    (checkout / ".ci").mkdir(parents=True)
    (checkout / "tests").mkdir()
    programs.mkdir()
    for name in ("run", "slowest.py"):
        shutil.copy(ROOT / ".ci" / name, checkout / ".ci")
    shutil.copy(ROOT / "tests" / "needs.py", checkout / "tests")
    (programs / "apt-get").write_text("#!/bin/sh\nexit 0\n")

    def run(failing):
        (programs / "make").write_text(MAKE.format(failing=failing))
        for each in programs.iterdir():
            each.chmod(0o755)
        environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
        return subprocess.run(
            [checkout / ".ci" / "run"], env=environment, capture_output=True, text=True, check=False, cwd="/"
        )

    return run


def sections(done):
    """Return the lines of the two closing tables."""
    _, _, end = done.stdout.partition("\n== stages\n")
    stages, _, tests = end.partition("== slowest tests\n")
    return [line.split() for line in stages.splitlines()], [line.split() for line in tests.splitlines()]


def test_every_stage_and_the_total_are_listed_with_seconds(ci, tmp_path):
    done = ci(failing="nothing")
    assert done.returncode == 0, done.stderr
    stages, tests = sections(done)
    made = re.findall(r"^makes (\S+)", done.stdout, re.MULTILINE)
    assert [name for name, *_ in stages] == [*made, "total"]
    assert all(seconds.isdigit() and unit == "s" for _, seconds, unit in stages)
    assert re.findall(r"^== (\S+) +\d+ s$", done.stdout, re.MULTILINE) == made, "each as it ends"
    assert len(tests) == min(len(made), 10)
    assert list(tmp_path.glob("tmp.*")) == [], "it leaves no file behind"


@pytest.mark.parametrize(("failing", "never"), [("docs", "test"), ("test-slow", "dataplane")])
def test_a_stage_that_fails_ends_the_run_with_its_status_and_the_tables(ci, failing, never):
    done = ci(failing=failing)
    assert done.returncode == 7
    stages, tests = sections(done)
    (row,) = (row for row in stages if row[0] == failing)
    assert row[3:] == ["failed,", "exit", "status", "7"]
    assert ["2.5", "s", f"tests/test_x.py::test_of_{failing}"] in tests
    assert f"makes {never}\n" not in done.stdout


def test_stages_side_by_side_are_all_seen_to_their_ends(ci):
    done = ci(failing="dataplane")
    assert done.returncode == 7
    assert {"makes dataplane", "makes pages"} <= set(done.stdout.splitlines())
