"""The judge on a machine's own kernel: shown inside user-mode Linux, whose kernel has VLAN filtering and namespaces."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabrics import ROOT
from tagloom.lab.kernel import launcher, machine

HERE = Path(__file__).parent
# numpy, numba and OpenBLAS choose instructions by themselves, past glibc: without these words sums came out wrong.
WITHOUT_AVX = (
    "env",
    (
        "NPY_DISABLE_CPU_FEATURES=X86_V3 X86_V4 AVX F16C FMA3 AVX2 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL"
        " AVX512_ICL AVX512_SPR"
    ),
    "NUMBA_CPU_NAME=generic",
    "OPENBLAS_CORETYPE=Nehalem",
)
pytestmark = pytest.mark.needs("user-mode Linux", "setpriv")


def inside(tmp_path, *command):
    """Run a command in user-mode Linux as a user without capabilities; return its exit status and its lines."""
    script = shutil.copy(HERE / "inside.sh", tmp_path)
    hidden = machine.overflows(machine.CPUINFO.read_text("utf-8"))
    launched = [sys.executable, "-I", "-S", launcher.__file__] if hidden else []
    told = tmp_path / "command"  # in a file: what boots puts words of its own behind the last
    told.write_text(shlex.join([*(WITHOUT_AVX if hidden else []), *command]), "utf-8")
    words = machine.boot_command("1G", "ssl0=null", [script, sys.base_prefix, str(ROOT), str(told)], launched)
    with (tmp_path / "log").open("w+b") as log:
        subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False, timeout=900)
    lines = (tmp_path / "log").read_text("utf-8", errors="replace").splitlines()
    (status,) = [line.split()[1] for line in lines if line.startswith("STATUS ")]
    return int(status), [line.strip() for line in lines]


@pytest.mark.slow
def test_the_machines_own_kernel_is_used_first_without_any_privilege(tmp_path):
    status, lines = inside(tmp_path, sys.executable, str(HERE / "own_kernel.py"))
    assert status == 0, "\n".join(lines[-25:])
    at = lines.index("this machine's own kernel")
    errors, seen, refused, nothing_left = lines[at + 1 : at + 5]
    assert errors == str({"0": [], "1": []})
    assert seen == str([{"hops": [[0, 1, 10], [1, 2, 0]], "hosts": {"1": 1}, "storm": [], "seconds": 0.0}])
    assert "swp9" in refused
    assert nothing_left == "left behind: 0"


@pytest.mark.long
def test_the_whole_judge_passes_on_a_machines_own_kernel(tmp_path):
    run = [
        sys.executable,
        str(HERE / "run.py"),
        "--kernels",
        "1",
        "--small",
        "8",
        "--shared",
        "0",
        "--only",
        "K4,4, renamed",
    ]
    status, lines = inside(tmp_path, *run)
    assert status == 0, "\n".join(lines[-25:])
    assert "1 side by side: this machine's own kernel" in lines
    assert "9 fabrics, 0 disagreements" in lines
