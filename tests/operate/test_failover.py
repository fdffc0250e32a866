"""Failover is armed only where a run that repairs is at work, and sees the fabric."""

import os
import socket
from dataclasses import replace

import pytest

from tagloom.operate.clock_document import ClockDocument, failover_of
from tagloom.records.timetable import ClockStatus, DeadStatus, LookStatus
from tagloom.report.status import FAILOVER

STATUS = ClockStatus(0.0, (), "", False, 0, None, None, None, 0, None, 0, 0, DeadStatus(mode="auto"))
AT_WORK = ClockDocument("op", socket.gethostname(), os.getpid(), "t.json", STATUS)
GONE = 2**22 + 1  # above any process id that Linux gives

CASES = {
    "a run that repairs": (AT_WORK, "armed"),
    "one that proposes": (replace(AT_WORK, status=replace(STATUS, dead=DeadStatus(mode="propose"))), "proposes"),
    "one that looks for no failures": (replace(AT_WORK, status=replace(STATUS, dead=DeadStatus())), "not running"),
    "one that is blind": (replace(AT_WORK, status=replace(STATUS, look=LookStatus(0.0, "no answer"))), "not running"),
    "one that died": (replace(AT_WORK, pid=GONE), "not running"),
    "none": (None, "not running"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_moves_paths_around_a_failure_is_told(case):
    clock, expected = CASES[case]
    assert failover_of(clock) == expected
    assert FAILOVER[expected]
