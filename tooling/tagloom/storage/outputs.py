"""Write the files that a user asks for, and overwrite none that tagloom did not write or that changed since.

Each directory with such files has a record, `.tagloom-files`, of their digests. The record moves with the directory. A
file without a digest there, or with another, is not overwritten unless forced: it is a user's, or a user changed it. An
empty file holds nothing to protect. The record also keeps which changes of a user's file were shown before they are
written.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError
from tagloom.storage.whole import RECORD, file_digest, write_whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

RULE = "a new file, or one that tagloom wrote and nobody changed"
FORCE = "--force overwrites it, or name another file"
_FORMAT = 1
_DESCRIPTOR = re.compile(r"/dev/(?:fd/(\d{1,9})|(stdout)|(stderr))|/proc/self/fd/(\d{1,9})")
_NUMBERS = {"/dev/stdout": 1, "/dev/stderr": 2}


def in_the_way(path: Path) -> list[Finding]:
    """Return a finding where a file exists that `write_output` does not overwrite without `force`."""
    target = Path(os.path.realpath(path))
    if _descriptor(path) is not None or not target.is_file() or not target.stat().st_size:
        return []  # a pipe and a device keep nothing, and a directory is no file that can be written
    known = _files_of(_read_record(target.parent)).get(target.name)
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
        _change_record(directory, "files", {target.name: file_digest(target) for target in targets})


def record_shown(path: Path, changes: Collection[str]) -> bool:
    """Record which changes of a user's file were shown, each as text; return whether that could be recorded."""
    target = Path(os.path.realpath(path))
    return _change_record(target.parent, "shown", {target.name: sorted(map(_digest, changes))})


def were_shown(path: Path, changes: Collection[str]) -> bool:
    """Return whether changes of a user's file are among those that were shown last."""
    target = Path(os.path.realpath(path))
    shown = _read_record(target.parent).get("shown")
    last = shown.get(target.name, ()) if isinstance(shown, dict) else ()
    return {*map(_digest, changes)} <= {*map(str, last)}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _change_record(directory: Path, key: str, entries: Mapping[str, object]) -> bool:
    """Add entries to a part of a directory's record, and drop those of files that are gone."""
    record = directory / RECORD
    with contextlib.suppress(OSError, InputError), _locked(directory):
        if os.path.lexists(record) and not _is_record(record):
            return False  # a user's file of that name
        document = {"format": _FORMAT, **_read_record(directory)}
        kept = document.get(key)
        known = (
            {name: each for name, each in kept.items() if (directory / name).is_file()}
            if isinstance(kept, dict)
            else {}
        )
        document[key] = dict(sorted((known | dict(entries)).items()))
        write_whole(record, json.dumps(document, indent=0) + "\n", synced=False)
        return True
    return False


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


def _read_record(directory: Path) -> dict[str, Any]:
    """Return the record of a directory; nothing if it cannot be read."""
    path = directory / RECORD
    return dict(json.loads(path.read_text("utf-8"))) if _is_record(path) else {}


def _files_of(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of the files that tagloom wrote."""
    files = record.get("files")
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
