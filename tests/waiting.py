"""Wait for what another process or thread does: the one place where tests sleep, in between two looks."""

import time

import pytest

AT_MOST_SECONDS = 120.0  # for what a busy machine is late with
LOOK_SECONDS = 0.01


def until(good, begun=None, seconds=AT_MOST_SECONDS):
    """Return the first answer of `good` that is true; fail where a process has ended instead, or after a long time."""
    end = time.monotonic() + seconds
    while True:
        ended = begun is not None and begun.poll() is not None
        if found := good():
            return found
        if ended:
            pytest.fail(f"process {begun.args} ended with {begun.returncode} instead")
        if time.monotonic() > end:
            pytest.fail(f"nothing came in {seconds:.0f} s")
        time.sleep(LOOK_SECONDS)
