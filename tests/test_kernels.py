"""Kernels are compiled once, by whichever process comes first; nobody waits forever for one that was stopped."""

import fcntl
import json
import os
import subprocess
import sys

from tagloom.graph import kernel as kernels

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
