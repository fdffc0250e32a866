"""Kernels are compiled once, by whichever process comes first; nobody waits forever for one that was stopped."""

import fcntl
import json
import os
import subprocess
import sys

import pytest

from tagloom.graph import kernel as kernels

pytestmark = pytest.mark.kernel

LOOPS = """
import json, sys
import numpy as np
from tagloom.graph.kernel import kernel

@kernel
def inner(cells):
    total = 0
    for i in range(len(cells)):
        total += cells[i]
    return total

@kernel
def outer(cells):
    return inner(cells) + 1

if __name__ == "__main__":
    import loops
    print("ready", flush=True)
    sys.stdin.readline()
    found = loops.outer(np.arange(4))
    stats = loops.outer.stats
    print(json.dumps([int(found), sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""

RECORDS = """
from typing import NamedTuple
import numpy as np

class Pair(NamedTuple):
    one: np.ndarray
    other: np.ndarray

LIMIT = 5
"""
READERS = """
import numpy as np
import records
from records import LIMIT
from tagloom.graph.kernel import kernel

@kernel
def first(pair):
    return pair.one[0] + limit(0)

@kernel
def limit(ignored):
    return LIMIT

if __name__ == "__main__":
    import readers
    record = next(each for name, each in vars(records).items() if name in ("Pair", "Couple"))
    found = readers.first(record(one=np.array([100]), other=np.array([200])))
    print(found, sum(readers.first.stats.cache_hits.values()))
"""


@pytest.fixture
def ran(tmp_path):
    """Return what runs the kernel in a process of its own: what it returns, and whether it was loaded."""
    (tmp_path / "records.py").write_text(RECORDS, "utf-8")
    (tmp_path / "readers.py").write_text(READERS, "utf-8")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}

    def ran():
        command = [sys.executable, str(tmp_path / "readers.py")]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.split()

    assert ran() == ["105", "0"]
    return ran


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("    one: np.ndarray\n    other: np.ndarray", "    other: np.ndarray\n    one: np.ndarray", "105"),
        ("LIMIT = 5", "LIMIT = 7", "107"),
        ("Pair", "Couple", "105"),
    ],
    ids=["fields in another order", "another number", "another name"],
)
def test_a_kernel_is_compiled_again_after_a_change_of_what_it_takes_from_another_file(tmp_path, ran, old, new, found):
    (tmp_path / "records.py").write_text(RECORDS.replace(old, new), "utf-8")
    assert ran() == [found, "0"]
    assert ran() == [found, "1"]


def test_a_kernel_is_known_by_its_files_contents_and_not_by_its_time(tmp_path, ran):
    source = tmp_path / "readers.py"
    os.utime(source, (1.0, 1.0))  # as a clone that was given the cache of another
    assert ran() == ["105", "1"]
    source.write_text(READERS.replace("[0] +", "[0] -"), "utf-8")
    os.utime(source, (1.0, 1.0))
    assert ran() == ["95", "0"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_kernel_whose_cache_was_cut_off_is_compiled_again(tmp_path, ran, kind):
    for path in (tmp_path / "cache").rglob(f"readers.*.{kind}"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert ran() == ["105", "0"]
    assert ran() == ["105", "1"]


@pytest.mark.slow
def test_of_two_processes_that_need_a_kernel_at_once_one_compiles_it(tmp_path):
    (tmp_path / "loops.py").write_text(LOOPS, "utf-8")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(tmp_path / "loops.py")]
    both = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    found = [json.loads(process.communicate()[0]) for process in both]
    assert sorted(found) == [[7, 0, 1], [7, 1, 0]]


def test_nobody_waits_forever_for_a_process_that_holds_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "_PATIENCE_SECONDS", 0.1)
    path = tmp_path / "loops.py"
    path.touch()
    assert kernels._locked(str(tmp_path / "none")) is None
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert kernels._locked(str(path)) is None
    file = kernels._locked(str(path))
    assert file is not None
    os.close(file)
