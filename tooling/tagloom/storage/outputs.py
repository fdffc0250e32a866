"""Write the files that a user asks for, and overwrite none that tagloom did not write or that changed since.

Each directory with such files has a record, `.tagloom-files`, of their digests. The record moves with the directory. A
file without a digest there, or with another, is not overwritten unless forced: it is a user's, or a user changed it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError
from tagloom.storage.whole import RECORD, file_digest, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = "a new file, or one that tagloom wrote and nobody changed"
FORCE = "--force overwrites it, or name another file"
_FORMAT = 1
_DESCRIPTOR = re.compile(r"/dev/(?:fd/(\d{1,9})|(stdout)|(stderr))|/proc/self/fd/(\d{1,9})")
_NUMBERS = {"/dev/stdout": 1, "/dev/stderr": 2}


def in_the_way(path: Path) -> list[Finding]:
    """Return a finding where a file exists that `write_output` does not overwrite without `force`."""
    target = Path(os.path.realpath(path))
    if _descriptor(path) is not None or not target.is_file():
        return []  # a pipe and a device keep nothing, and a directory is no file that can be written
    known = _read_record(target.parent).get(target.name)
    if known is None:
        return [Finding(str(path), RULE, f"a file that tagloom has no record of ({FORCE})")]
    if file_digest(target) != known:
        return [Finding(str(path), RULE, f"one that changed since tagloom wrote it ({FORCE})")]
    return []


def check_outputs(*paths: Path, force: bool) -> None:
    """Raise InputError for all files that are in the way of a command that writes `paths`."""
    if not force and (found := [finding for path in paths for finding in in_the_way(path)]):
        raise InputError(found)


def write_output(path: Path, content: str | bytes, *, force: bool) -> None:
    """Write a file as `write_whole` does, and record its digest. Raises InputError where another one is in the way."""
    check_outputs(path, force=force)
    if (number := _descriptor(path)) is not None:
        _write_to(number, path, content)
        return
    write_whole(path, content)
    record_outputs(path)


def record_outputs(*paths: Path) -> None:
    """Record that tagloom wrote files as they are now; where that cannot be recorded, a file counts as a user's."""
    places: dict[Path, list[Path]] = {}
    for target in (Path(os.path.realpath(path)) for path in paths):
        if target.is_file():
            places.setdefault(target.parent, []).append(target)
    for directory, targets in places.items():
        record = directory / RECORD
        with contextlib.suppress(OSError, InputError), _locked(directory):
            if os.path.lexists(record) and not _is_record(record):
                continue  # a user's file of that name
            known = {name: digest for name, digest in _read_record(directory).items() if (directory / name).is_file()}
            known |= {target.name: file_digest(target) for target in targets}
            document = {"format": _FORMAT, "files": dict(sorted(known.items()))}
            write_whole(record, json.dumps(document, indent=0) + "\n", synced=False)


def _descriptor(path: Path) -> int | None:
    """Return the number of the process's own open file that a path names, None for other paths."""
    found = _DESCRIPTOR.fullmatch(str(path))
    if found is None:
        return None
    return _NUMBERS.get(found[0]) or int(found[1] or found[4])


def _write_to(number: int, path: Path, content: str | bytes) -> None:
    try:
        with os.fdopen(os.dup(number), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise InputError([Finding(str(path), "a file that can be written", error.strerror or str(error))]) from None


def _is_record(path: Path) -> bool:
    if path.is_symlink():
        return False
    with contextlib.suppress(OSError, ValueError, RecursionError):
        document = json.loads(path.read_text("utf-8"))
        return isinstance(document, dict) and document.get("format") == _FORMAT
    return False


def _read_record(directory: Path) -> dict[str, str]:
    """Return the digests of the files that tagloom wrote in a directory; none if the record cannot be read."""
    path = directory / RECORD
    if not _is_record(path):
        return {}
    files = json.loads(path.read_text("utf-8")).get("files")
    if not isinstance(files, dict):
        return {}
    return {name: digest for name, digest in files.items() if isinstance(digest, str)}


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Keep other commands that write in a directory from changing its record meanwhile."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
