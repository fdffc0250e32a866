"""`make dataplane` proves, disproves or says that it cannot judge; a judge that cannot run is no pass."""

import subprocess
import sys

import pytest

from fabrics import ROOT

RUN = ROOT / "tests" / "dataplane" / "run.py"
NOT_JUDGED = "not judged: no kernel that can carry frames could be started"
# In a user namespace of its own, root there may forbid that there be more of them: then no own kernel can be had.
FORBID = "echo 0 >/proc/sys/user/max_user_namespaces 2>/dev/null; exec "


def _refused(command):
    """Run a command where user namespaces are refused: by the machine already, or by us."""
    words = ["sh", "-c", FORBID + command]
    inside = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode == 0:
        words = [*inside, *words]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)


def _make(*more):
    # -o: what the tests run in is not made anew
    return _refused(
        f"make -s -o .venv/.ready dataplane DATAPLANE_OPTIONS='--kernel own --small 1 --only none' {' '.join(more)}"
    )


def test_without_a_kernel_the_judge_says_why_and_ends_with_2():
    done = _refused(f"{sys.executable} {RUN} --kernel own")
    assert done.returncode == 2, done.stderr
    why, last = done.stdout.splitlines()
    assert why.startswith("this machine's own kernel: expected start, actual ")
    assert "unshare" in why
    assert last == NOT_JUDGED


@pytest.mark.slow
@pytest.mark.needs("make", "an environment of this checkout")
def test_a_judge_that_cannot_run_is_no_pass_and_a_skip_says_that_nothing_was_proven():
    done = _make()
    assert done.returncode != 0
    assert done.stdout.splitlines()[-2:] == [NOT_JUDGED, "make dataplane: not proven"]
    done = _make("ALLOW_SKIP=1")
    assert done.returncode == 0
    last = "make dataplane: nothing was proven; no failure, as ALLOW_SKIP=1 says"
    assert done.stdout.splitlines()[-2:] == [NOT_JUDGED, last]
