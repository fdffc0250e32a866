"""Measure the waits of netmiko and paramiko by a clock that is never set.

Both read `time.time`. If the computer's clock were set forward during a login, for instance by the first answer of a
time server, the login would fail. If it were set back by an hour, a wait would last an hour longer.
"""

from __future__ import annotations

import time
from types import SimpleNamespace

import netmiko.base_connection
import paramiko

# Modules that wait. paramiko's SFTP reads the time of files from the same function, and keeps it.
WAITING = (
    netmiko.base_connection,
    paramiko.auth_handler,
    paramiko.buffered_pipe,
    paramiko.channel,
    paramiko.packet,
    paramiko.transport,
)


def measure_by_steady_clock() -> None:
    """Replace `time.time` in the modules that wait, and nowhere else."""
    steady = SimpleNamespace(**vars(time) | {"time": time.monotonic})
    for module in WAITING:
        vars(module)["time"] = steady
