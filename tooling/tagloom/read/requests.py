"""Read what jobs ask for in a directory that others may write to, and mark what is answered, following no links."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

ANSWERED = ".answered"  # the directory of marks, in that of the requests
REQUEST_BYTES = 256  # of a request that are read: it holds one name
REQUESTS = 10_000  # of one directory that are read
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe would wait for its writer


def requests_in(directory: Path) -> dict[str, str]:
    """Return the text of every request by its name, in order; {} where there is no such directory.

    A request is a regular file of that directory itself. Whoever the directory lets write may ask; in one that all may
    write to, root, the directory's owner and this process's user count alone. Links, pipes and devices are passed over.
    """
    found: dict[str, str] = {}
    with _opened(directory) as place:
        if place is None:
            return found
        about = os.fstat(place)
        trusted = {0, about.st_uid, os.geteuid()} if about.st_mode & stat.S_IWOTH else None
        for name in sorted(os.listdir(place))[:REQUESTS]:  # noqa: PTH208 - of what was opened, whatever its name is now
            if name.startswith("."):
                continue
            with contextlib.suppress(OSError):  # a job that has just ended, or a link
                found[name] = _request(place, name, trusted)
    return found


def _request(place: int, name: str, trusted: Collection[int] | None) -> str:
    file = os.open(name, _FILE, dir_fd=place)
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode) or (trusted is not None and about.st_uid not in trusted):
            raise PermissionError(name)
        return os.read(file, REQUEST_BYTES).decode("utf-8", "replace").strip()
    finally:
        os.close(file)


def mark_answered(directory: Path, names: Collection[str]) -> None:
    """Mark requests as answered, and take the marks of those away that are gone.

    Raises OSError where the directory of marks is a link, or another user's.
    """
    with _opened(directory) as place:
        if place is None:
            return
        with contextlib.suppress(FileExistsError):
            os.mkdir(ANSWERED, 0o755, dir_fd=place)
        marks = os.open(ANSWERED, _DIRECTORY, dir_fd=place)
        try:
            if os.fstat(marks).st_uid != os.geteuid():
                raise PermissionError(f"{directory / ANSWERED} is another user's")
            there = set(os.listdir(marks))  # noqa: PTH208 - as above
            for name in sorted(set(names) - there):
                os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=marks))
            for name in there - set(names):
                os.unlink(name, dir_fd=marks)
        finally:
            os.close(marks)


@contextlib.contextmanager
def _opened(directory: Path) -> Iterator[int | None]:
    """Open a directory, None where it is none or a link."""
    try:
        place = os.open(directory, _DIRECTORY)
    except OSError:
        yield None
        return
    try:
        yield place
    finally:
        os.close(place)
