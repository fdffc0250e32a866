"""Hear, in a plugin of Ansible's, what the command that started it wants next, and whether that command lives.

The line is a pair of sockets that keep messages apart (unix(7), SOCK_SEQPACKET). A plugin says READY where it takes a
job, and is sent the run's directory. It says LOCK where it knows the switches' addresses, and is sent LOCK with the
descriptors of the locks on the inventory and on the switches, and GO. To a job that asks how switches are logged in to
it says ACCESS once for each host, and its variables. The end of the line tells either side that the other is gone.
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
MESSAGE_BYTES = 1 << 16  # paths (PATH_MAX), and what one host is reached by
LOCKS = 8  # descriptors in a message, at most


def check_package(expected: str) -> None:
    """Raise InputError where this process imports another tagloom than the command that started it, if one did."""
    if expected and Path(expected) != PACKAGE:
        raise InputError([Finding("tagloom of Ansible's Python", expected, str(PACKAGE))])


class Controller:
    """A plugin's end of the line; a `descriptor` below 0 stands for a run by hand, which nothing holds up."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def by_hand(self) -> bool:
        """Return whether no command of ours has started this."""
        return self._descriptor < 0

    def job(self) -> Path | None:
        """Wait for the directory of the next run; None if the command has ended."""
        said = self._receive(READY)
        return Path(os.fsdecode(said)) if said else None

    def hold_lock(self) -> bool:
        """Ask for the locks, and hold on to them until this process ends, and with it all that it forks from now on.

        False if the command has ended before it gave it.
        """
        return self.by_hand or self._receive(LOCK) == LOCK

    def says_go(self) -> bool:
        """Wait for the word to go on; False if the command has ended instead."""
        return self.by_hand or self._receive() == GO

    def tell_access(self, hosts: Mapping[str, Mapping[str, Any]]) -> None:
        """Send the command how each host is logged in to, secrets and all; nothing of it is written down."""
        with socket.socket(fileno=os.dup(self._descriptor)) as line:
            for name, variables in hosts.items():
                line.send(ACCESS + json.dumps([name, variables], default=str).encode())

    @property
    def gone(self) -> bool:
        """Return whether the command has ended; after GO alone: earlier output would be taken for its end."""
        return not self.by_hand and bool(select.select([self._descriptor], [], [], 0)[0])

    def _receive(self, say: bytes = b"") -> bytes:
        """Wait for what is said next, to `say` where that is something; b"" if nobody is left to say it."""
        with socket.socket(fileno=os.dup(self._descriptor)) as line:
            try:
                if say:
                    line.send(say)
                said, *_ = socket.recv_fds(line, MESSAGE_BYTES, LOCKS)  # descriptors stay open: nobody closes it
            except OSError:  # it ended before it had read what we said
                return b""
        return said
