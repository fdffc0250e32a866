"""Write files and directories atomically, and replace nothing that tagloom did not write."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom import __version__
from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    import re
    from collections.abc import Collection

MARKER = ".tagloom"  # the file that lists what tagloom wrote in its directory
MARKER_FORMAT = 1
MOST_NAMED = 10  # foreign files that a refusal names before it counts the rest
NEXT_STEP = "move it away, or name another directory"


def write_whole(path: Path, text: str) -> None:
    """Replace a file atomically, and create its parent directories. Raises InputError.

    The new file is synced beside the old one and renamed over it, with the old one's mode. What is not a regular file
    (a device, a pipe) is written in place. So is a file whose directory permits no other.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            path.write_text(text, "utf-8")
            return
        try:
            descriptor, draft = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".new", dir=target.parent)
        except PermissionError:
            if not target.exists():
                raise
            target.write_text(text, "utf-8")
            return
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                os.fchmod(descriptor, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask())
                file.write(text)
                file.flush()
                os.fsync(descriptor)
            Path(draft).replace(target)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError([Finding(str(path), "a file that can be written", error.strerror or str(error))]) from None


def unwritable(path: Path) -> list[Finding]:
    """Return a finding where `write_whole` could not write a file, as far as can be seen without trying."""
    near = next(each for each in (path.absolute(), *path.absolute().parents) if each.exists())
    if path.is_dir():
        actual = "a directory"
    elif near != path.absolute() and not near.is_dir():
        actual = f"{near} is no directory"
    elif not os.access(near, os.W_OK) and not os.access(near.parent, os.W_OK):
        actual = f"{near} may not be written to"
    else:
        return []
    return [Finding(str(path), "a file that can be written", actual)]


def _umask() -> int:
    with contextlib.suppress(OSError, ValueError, StopIteration):  # os.umask would change it for other threads
        rows = Path("/proc/self/status").read_text("ascii").splitlines()
        return int(next(row for row in rows if row.startswith("Umask:")).split()[1], 8)
    return 0o022


class OwnedDirectory:
    """A directory that tagloom writes beside the old one and swaps with it at the end.

    kind     what it is: a word of the marker
    files    the pattern of its file names; it identifies a directory without a marker (written by the first edition)
             or one left half-written
    mark     the file that every such directory has
    foreign  subdirectories that tagloom may not remove; they move along

    As a context it returns the new directory. Raises InputError if anything else is in the way.
    """

    def __init__(self, directory: Path, kind: str, files: re.Pattern[str], mark: str, foreign: Collection[str]) -> None:
        self.directory, self.kind, self.files, self.mark, self.foreign = directory, kind, files, mark, foreign
        self._place = Path(os.path.realpath(directory))
        self._new = self._place.with_name(f".{self._place.name}.new")
        self._old = self._place.with_name(f".{self._place.name}.old")
        self._lock = -1

    def occupied(self) -> list[Finding]:
        """Return what prevents writing: anything that no marker of tagloom's names."""
        return [
            finding
            for place in (self._place, self._new, self._old)
            if os.path.lexists(place)
            for finding in self._foreign_in(place, complete=place != self._new)
        ]

    def __enter__(self) -> Path:
        """Create the new directory and return it."""
        if found := self.occupied():
            raise InputError(found)
        try:
            self._recover()
            self._new.mkdir(parents=True)
            self._lock = os.open(self._new / MARKER, os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(self._lock, self._marker([]), 0)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._remove(self._new)
            self._release()
            raise InputError([self._unwritable(error)]) from None
        return self._new

    def __exit__(self, kind: object, error: object, *_: object) -> None:
        """Swap the new directory with the old one, or remove it after an error."""
        try:
            if kind is None:
                self._finish()
        except OSError as trouble:
            self._remove(self._new)
            raise InputError([self._unwritable(trouble)]) from None
        finally:
            self._release()
        if kind is not None:
            with contextlib.suppress(OSError):
                self._remove(self._new)
            if isinstance(error, OSError):
                raise InputError([self._unwritable(error)]) from None

    def _finish(self) -> None:
        """List all files in the marker and swap; foreign subdirectories of the old one move along."""
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, self._marker(_files(self._new)), 0)
        os.fsync(self._lock)
        if self._place.exists():
            self._place.rename(self._old)
        try:
            self._new.rename(self._place)
        except OSError:
            self._old.rename(self._place)
            raise
        self._recover()

    def _recover(self) -> None:
        """Remove what a killed command left beside the directory, or move it back."""
        if self._new.exists():
            self._remove(self._new)
        if not self._old.exists():
            return
        if not self._place.exists():
            self._old.rename(self._place)
            return
        for name in self.foreign:
            if (self._old / name).exists() and not (self._place / name).exists():
                (self._old / name).rename(self._place / name)
        self._remove(self._old)

    def _remove(self, directory: Path) -> None:
        """Remove tagloom's files, then the directories that are empty."""
        for name in [name for name in _files(directory) if name != MARKER] + [MARKER]:
            if name.partition("/")[0] not in self.foreign:
                (directory / name).unlink(missing_ok=True)
        for folder, _, _ in sorted(os.walk(directory), reverse=True):
            with contextlib.suppress(OSError):  # a foreign directory, or one with foreign files
                Path(folder).rmdir()

    def _foreign_in(self, place: Path, *, complete: bool) -> list[Finding]:
        """Return a finding for everything in a directory that tagloom did not write."""
        ours = f"a new directory, or a {self.kind} of tagloom's"
        if not place.is_dir() or place.is_symlink():
            return [Finding(str(place), ours, f"something else ({NEXT_STEP})")]
        names = _files(place)
        if not names and not any(place.iterdir()):
            return []
        named = self._named(place)
        if named is None or (complete and self.mark not in names):
            return [Finding(str(place), f"{ours}, marked by {MARKER}", f"none ({NEXT_STEP})")]
        if not complete and self._is_locked(place):
            return [Finding(str(place), "no other tagloom that writes here", "one that does: wait for it")]
        others = [
            name
            for name in names
            if name != MARKER and name.partition("/")[0] not in self.foreign and not self._is_ours(name, named)
        ]
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        return [
            Finding(str(place / name), "only files that tagloom wrote", f"another{more} ({NEXT_STEP})")
            for name in others[:MOST_NAMED]
        ]

    def _is_ours(self, name: str, named: Collection[str]) -> bool:
        return name in named if named else self.files.fullmatch(name) is not None

    def _named(self, place: Path) -> frozenset[str] | None:
        """Return the files that the marker names; none if it is half-written or missing; None if not tagloom's."""
        document = _json(place / (MARKER if (place / MARKER).is_file() else self.mark))
        if not isinstance(document, dict) or not isinstance(document.get("tagloom"), str):
            return None
        if not (place / MARKER).is_file():  # written by the first edition
            return frozenset()
        names = document.get("files")
        if document.get("kind") != self.kind or not isinstance(names, list):
            return None
        return frozenset(name for name in names if isinstance(name, str))

    @staticmethod
    def _is_locked(place: Path) -> bool:
        try:
            descriptor = os.open(place / MARKER, os.O_RDWR)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _marker(self, names: Collection[str]) -> bytes:
        document = {"tagloom": __version__, "format": MARKER_FORMAT, "kind": self.kind, "files": sorted(names)}
        return (json.dumps(document, indent=0) + "\n").encode()

    def _unwritable(self, error: OSError) -> Finding:
        return Finding(str(self.directory), "a directory that can be written", error.strerror or str(error))

    def _release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _files(directory: Path) -> list[str]:
    """Return the sorted relative paths of all files and links below a directory; links are not followed."""
    found = []
    for folder, folders, files in os.walk(directory):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        found += [str((Path(folder) / name).relative_to(directory)) for name in (*files, *links)]
    return sorted(found)


def _json(path: Path) -> Any:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        return json.loads(path.read_text("utf-8"))
    return None
