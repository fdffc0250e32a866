"""Allow one command of this computer at a time to speak to a switch, whichever inventory names it.

A lock is a byte of a file that all users share, at a place that follows from the switch's IP address and port. It is
the kernel's, and belongs to the open file (fcntl(2), open file description locks): one descriptor holds the locks of a
whole fabric, and all that inherit it hold on to them. Nothing is left on a switch. A mark there would be a line of its
configuration, which no switch tests and sets in one step, and which stays when its owner dies; two computers find each
other's lines instead, before each wave (`tagloom.apply.switch.configure_switch`).
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

# All users can write to one of them at least, and a service with a /tmp of its own to the first. Both are locked.
PLACES = (Path("/run/lock"), Path("/tmp"))  # noqa: S108 - to be shared, and never followed or trusted
NAME = "tagloom-switches.lock"
_RESOLVERS = 32

Address = tuple[str, int]


class SwitchLocks:
    """The locks that a command holds on switches, from `take` to `release` or to the end of all that inherited them."""

    def __init__(self, places: Iterable[Path] = PLACES) -> None:
        self._places = tuple(places)
        self.descriptors: tuple[int, ...] = ()

    def take(self, switches: Mapping[str, Address]) -> None:
        """Take the locks of switches, by name, beside those that are held already.

        Raises PlanError if another command holds one, InputError where there is no place for them.
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
        """Release the locks that this process holds."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = ()


def _open(path: Path) -> int:
    """Open a file that all users lock, making it where it is not there; below 0 if that cannot be done."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    for more in (0, os.O_CREAT | os.O_EXCL, 0):  # O_CREAT alone is refused on a file of others in a sticky directory
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
    """Return what tells a switch from all others: its IP addresses with the port, or its name where it has none."""
    host, port = address
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return {f"{host.lower()} {port}"}
    return {f"{each[4][0]} {port}" for each in found}


def _byte_of(key: str) -> int:
    """Return the place of a lock in the file, below 2^62."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") >> 2


def _lock(descriptor: int, start: int) -> bool:
    """Lock a byte; False if another open file holds it. One that this open file holds is locked again."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _flock(start))
    except OSError as error:
        if error.errno in {errno.EACCES, errno.EAGAIN}:
            return False
        raise
    return True


def _flock(start: int) -> bytes:
    """Return a struct flock of fcntl(2): a lock to write on one byte."""
    return struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, start, 1, 0)


def _holder(descriptor: int, start: int) -> str:
    """Return which process holds the lock of a byte, as far as this user may know (proc_pid_fdinfo(5))."""
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
