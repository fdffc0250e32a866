"""Allow only one command of this computer at a time to reach a switch, whatever the inventory.

A lock is a byte of a file that all users share; its offset follows from the switch's IP address and port. It is the
kernel's, and belongs to the open file (fcntl(2), open file description locks): one descriptor holds the locks of a
whole fabric, and all processes that inherit it hold them. Nothing is left on a switch: a mark there would be a
configuration line, which no switch can test and set atomically, and which would outlive its owner. Two computers detect
each other's lines instead, before each wave (`tagloom.apply.switch.configure_switch`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError, PlanError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# All users can write to at least one of them, and a service with a private /tmp to the first. Both are locked.
PLACES = (Path("/run/lock"), Path("/tmp"))  # noqa: S108 - shared on purpose, and never followed or trusted
NAME = "tagloom-switches.lock"
_RESOLVERS = 32

Address = tuple[str, int]


class SwitchLocks:
    """The locks that a command holds on switches, from `take` to `release` or the end of all its children."""

    def __init__(self, places: Iterable[Path] = PLACES) -> None:
        self._places = tuple(places)
        self.descriptors: tuple[int, ...] = ()

    def take(self, switches: Mapping[str, Address]) -> None:
        """Lock switches, by name, besides those that are locked already.

        Raises PlanError if another command holds one, InputError if no lock file can be opened.
        """
        if not self.descriptors:
            self.descriptors = tuple(descriptor for each in self._places if (descriptor := _open(each / NAME)) >= 0)
            if not self.descriptors:
                places = " or ".join(map(str, self._places))
                raise InputError([Finding(NAME, f"a file that can be written in {places}", "none")])
        with ThreadPoolExecutor(_RESOLVERS) as threads:
            resolved = threads.map(_identities, switches.values())
            wanted = sorted((key, name) for name, keys in zip(switches, resolved, strict=True) for key in keys)
        for descriptor in self.descriptors:
            for key, name in wanted:
                if not _lock(descriptor, _byte_of(key)):
                    host, port = switches[name]
                    who = _holder(descriptor, _byte_of(key))
                    self.release()
                    raise PlanError(
                        "one command at a time works on a switch, whichever inventory names it",
                        f"{name} ({host}:{port}) is held by {who}",
                        "wait for it, or with its inventory: tagloom abort -i INVENTORY",
                    )

    def release(self) -> None:
        """Close this process's descriptors of the locks."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = ()


def _open(path: Path) -> int:
    """Open a file that all users lock, and create it if missing; return its descriptor, below 0 if that fails."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    for more in (0, os.O_CREAT | os.O_EXCL, 0):  # in a sticky directory O_CREAT alone fails on another user's file
        try:
            descriptor = os.open(path, flags | more, 0o666)
        except (FileNotFoundError, FileExistsError):
            continue
        except OSError:
            return -1
        if more:
            os.fchmod(descriptor, 0o666)  # whatever the umask
        return descriptor
    return -1


def _identities(address: Address) -> set[str]:
    """Return what identifies a switch: its IP addresses with the port, or its name if it does not resolve."""
    host, port = address
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return {f"{host.lower()} {port}"}
    return {f"{each[4][0]} {port}" for each in found}


def _byte_of(key: str) -> int:
    """Return the offset of a lock in the file, below 2^62."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") >> 2


def _lock(descriptor: int, start: int) -> bool:
    """Lock a byte; return False if another open file holds it. Locking it again through the same file succeeds."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _flock(start))
    except OSError as error:
        if error.errno in {errno.EACCES, errno.EAGAIN}:
            return False
        raise
    return True


def _flock(start: int) -> bytes:
    """Return a struct flock of fcntl(2): a write lock on one byte."""
    return struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, start, 1, 0)


def _holder(descriptor: int, start: int) -> str:
    """Return the process that holds the lock of a byte, as far as this user may see it (proc_pid_fdinfo(5))."""
    inode = os.fstat(descriptor).st_ino
    for place in sorted(Path("/proc").glob("[0-9]*"), key=lambda each: int(each.name)):
        with contextlib.suppress(OSError):
            for each in (place / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if each.stat().st_ino != inode:
                        continue
                    text = (place / "fdinfo" / each.name).read_text("utf-8")
                    if any(
                        line.startswith("lock:") and line.split()[-2:] == [str(start)] * 2 for line in text.splitlines()
                    ):
                        words = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
                        return f"process {place.name}: {' '.join(words).strip()}"
    return "a process of another user"
