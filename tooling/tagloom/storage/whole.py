"""Write files and directories atomically, and replace no directory that tagloom did not write or that changed since."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
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
    from collections.abc import Collection, Mapping

MARKER = ".tagloom"  # the file that lists what tagloom wrote in its directory
RECORD = ".tagloom-files"  # the record of the single files that tagloom wrote in a directory, see `storage.outputs`
MARKER_FORMAT = 2  # 1 listed the names of files without their digests
MOST_NAMED = 10  # files that a refusal names before it counts the rest
NEXT_STEP = "move it away, name another directory, or --force"
CHANGED = "one that changed since"


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, "" where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def write_whole(path: Path, content: str | bytes, *, synced: bool = True) -> None:
    """Replace a file atomically, and create its parent directories. Raises InputError.

    The new file is synced beside the old one and renamed over it, with the old one's mode. What is not a regular file
    (a device, a pipe) is written in place. So is a file whose directory permits no other.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            path.write_bytes(data)
            return
        try:
            descriptor, draft = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".new", dir=target.parent)
        except PermissionError:
            if not target.exists():
                raise
            target.write_bytes(data)
            return
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask())
                file.write(data)
                file.flush()
                if synced:
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
    force    write where other files are, too: those that this directory does not have itself stay

    As a context it returns the new directory. Raises InputError if a file that tagloom did not write, or that changed
    since, is in the way.
    """

    def __init__(
        self,
        directory: Path,
        kind: str,
        files: re.Pattern[str],
        mark: str,
        foreign: Collection[str],
        *,
        force: bool = False,
    ) -> None:
        self.directory, self.kind, self.files, self.mark, self.foreign = directory, kind, files, mark, foreign
        self.force = force
        self._place = Path(os.path.realpath(directory))
        self._new = self._place.with_name(f".{self._place.name}.new")
        self._old = self._place.with_name(f".{self._place.name}.old")
        self._lock = -1
        self._beside = False  # whether other files stay in the directory

    def occupied(self) -> list[Finding]:
        """Return what prevents writing: all that no marker of tagloom's names, or that differs from what it names."""
        return [
            finding
            for place in (self._place, self._new, self._old)
            if os.path.lexists(place) and not (self.force and place == self._place and place.is_dir())
            for finding in self._foreign_in(place, complete=place != self._new)
        ]

    def __enter__(self) -> Path:
        """Create the new directory and return it."""
        if found := self.occupied():
            raise InputError(found)
        self._beside = self.force and self._place.is_dir() and bool(self._foreign_in(self._place, complete=True))
        try:
            self._recover()
            self._new.mkdir(parents=True)
            self._lock = os.open(self._new / MARKER, os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(self._lock, self._marker({}), 0)
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
        names = [name for name in _files(self._new) if name != MARKER]
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, self._marker({name: file_digest(self._new / name) for name in names}), 0)
        os.fsync(self._lock)
        if self._beside:
            self._move_beside([*names, MARKER])
            return
        if self._place.exists():
            self._place.rename(self._old)
        try:
            self._new.rename(self._place)
        except OSError:
            self._old.rename(self._place)
            raise
        self._recover()

    def _move_beside(self, names: Collection[str]) -> None:
        """Move the new files to where other files are, and remove those that the old marker names and are gone."""
        known = self._named(self._place) or {}
        for name in set(_files(self._place)) & known.keys() - set(names):
            (self._place / name).unlink(missing_ok=True)
        for name in names:
            (self._place / name).parent.mkdir(parents=True, exist_ok=True)
            (self._new / name).replace(self._place / name)
        self._remove(self._new)

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
        """Return a finding for every file in a directory that tagloom did not write, or that changed since."""
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
        written = _modified(place / MARKER)
        others = {
            name: what
            for name in names
            if name.rpartition("/")[2] not in {MARKER, RECORD}
            and name.partition("/")[0] not in self.foreign
            and (what := self._difference(place, name, named, written))
        }
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        return [
            Finding(str(place / name), "only files that tagloom wrote", f"{what}{more} ({NEXT_STEP})")
            for name, what in list(others.items())[:MOST_NAMED]
        ]

    def _difference(self, place: Path, name: str, named: Mapping[str, str], written: float) -> str:
        """Return what a file is instead of one that tagloom wrote, "" where it is that.

        A marker without digests is judged by time: a file that is newer than the marker was changed.
        """
        if not named:
            return "" if self.files.fullmatch(name) is not None else "another"
        if name not in named:
            return "another"
        same = file_digest(place / name) == named[name] if named[name] else _modified(place / name) <= written
        return "" if same else CHANGED

    def _named(self, place: Path) -> dict[str, str] | None:
        """Return the digests of the files that the marker names, "" for those that it does not give.

        Return none if the marker is half-written or missing, and None if the directory is not tagloom's.
        """
        document = _json(place / (MARKER if (place / MARKER).is_file() else self.mark))
        if not isinstance(document, dict) or not isinstance(document.get("tagloom"), str):
            return None
        if not (place / MARKER).is_file():  # written by the first edition
            return {}
        names = document.get("files")
        if document.get("kind") != self.kind or not isinstance(names, list | dict):
            return None
        digests = names if isinstance(names, dict) else dict.fromkeys(map(str, names), "")
        return {name: str(digest) for name, digest in digests.items()}

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

    def _marker(self, digests: Mapping[str, str]) -> bytes:
        document = {"tagloom": __version__, "format": MARKER_FORMAT, "kind": self.kind, "files": digests}
        return (json.dumps(document, indent=0) + "\n").encode()

    def _unwritable(self, error: OSError) -> Finding:
        return Finding(str(self.directory), "a directory that can be written", error.strerror or str(error))

    def _release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _modified(path: Path) -> float:
    """Return when a file was last written, infinity where that is not known."""
    try:
        return path.stat().st_mtime
    except OSError:
        return float("inf")


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
