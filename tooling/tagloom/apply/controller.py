"""An Ansible plugin's connection to the command that started it: the next job, and whether the command lives.

The connection is a pair of sockets that keep message boundaries (unix(7), SOCK_SEQPACKET). A plugin sends READY to get
a job, and receives the run's directory. It sends LOCK when it knows the switches' addresses, and receives LOCK with the
descriptors of the locks on the inventory and on the switches, then GO. For a job that wants the switches' logins it
sends ACCESS once for each host, with its variables. Either side learns of the other's end by the connection's.
"""

from __future__ import annotations

import json
import os
import select
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tagloom
from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE = Path(tagloom.__file__).resolve().parent
READY, LOCK, GO, ACCESS = b"ready", b"lock", b"go", b"access "
MESSAGE_BYTES = 1 << 16  # paths (PATH_MAX), and one host's login variables
LOCKS = 8  # maximum of descriptors in a message


def check_package(expected: str) -> None:
    """Raise InputError if this process imports another tagloom than the command that started it, if one did."""
    if expected and Path(expected) != PACKAGE:
        raise InputError([Finding("tagloom of Ansible's Python", expected, str(PACKAGE))])


class Controller:
    """A plugin's end of the connection; a `descriptor` below 0 means a run by hand, which never waits."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def by_hand(self) -> bool:
        """Return whether no tagloom command started this process."""
        return self._descriptor < 0

    def job(self) -> Path | None:
        """Wait for the next run's directory and return it; None if the command has ended."""
        said = self._receive(READY)
        return Path(os.fsdecode(said)) if said else None

    def hold_lock(self) -> bool:
        """Request the locks; this process and all its later children hold them until they end.

        Returns False if the command ended first.
        """
        return self.by_hand or self._receive(LOCK) == LOCK

    def says_go(self) -> bool:
        """Wait for GO; return False if the command ended first."""
        return self.by_hand or self._receive() == GO

    def tell_access(self, hosts: Mapping[str, Mapping[str, Any]]) -> None:
        """Send the command each host's login variables, with secrets; nothing is written to disk."""
        with socket.socket(fileno=os.dup(self._descriptor)) as line:
            for name, variables in hosts.items():
                line.send(ACCESS + json.dumps([name, variables], default=str).encode())

    @property
    def gone(self) -> bool:
        """Return whether the command has ended; only valid after GO, since earlier messages look the same."""
        return not self.by_hand and bool(select.select([self._descriptor], [], [], 0)[0])

    def _receive(self, say: bytes = b"") -> bytes:
        """Send `say` unless it is empty, and return the next message; b"" if the other side has ended."""
        with socket.socket(fileno=os.dup(self._descriptor)) as line:
            try:
                if say:
                    line.send(say)
                said, *_ = socket.recv_fds(line, MESSAGE_BYTES, LOCKS)  # descriptors stay open on purpose
            except OSError:  # it ended before it read our message
                return b""
        return said
