"""Write configurations so that only their owner can read them: they contain the switch's secrets."""

from __future__ import annotations

import os
import traceback
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Errors whose message the interpreter makes from names in the code. Messages of others may quote data that was read.
_WITHOUT_DATA = (AttributeError, ImportError, NameError, NotImplementedError, RecursionError, TypeError)


def write_backup(directory: Path, switch: str, text: str) -> Path:
    """Write a backup atomically as ``SWITCH.cfg``, or ``SWITCH.2.cfg`` and so on, and return its path.

    An older one is never overwritten. Files have mode 0600 in a directory of mode 0700. Raises OSError.
    """
    _private(directory)
    for number in count(1):
        path = directory / (f"{switch}.cfg" if number == 1 else f"{switch}.{number}.cfg")
        try:
            _write(path, text, os.O_EXCL)
        except FileExistsError:
            continue
        return path
    raise AssertionError("count() does not end")


def write_private(path: Path, text: str) -> None:
    """Write a file atomically, with mode 0600 in a directory of mode 0700. Raises OSError."""
    _private(path.parent)
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    _write(draft, text, os.O_EXCL)
    draft.replace(path)


def write_fault(path: Path, error: BaseException) -> str:
    """Write the traceback of a bug in tagloom, and return a sentence that names the error and the file.

    The file holds names of types and lines of the code, and no message that could quote a switch's configuration.
    """
    parts: list[str] = []
    at: BaseException | None = error
    seen: set[int] = set()
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        said = f": {at}" if isinstance(at, _WITHOUT_DATA) else ""
        parts.append(f"{type(at).__qualname__}{said}\n{''.join(traceback.format_tb(at.__traceback__))}")
        at = at.__cause__ or at.__context__
    try:
        write_private(path, "\nwhile handling:\n".join(parts))
        where = str(path)
    except OSError as failed:
        where = f"no file ({failed.strerror})"
    return f"tagloom has a fault: {type(error).__name__}, traceback in {where}"


def _private(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)


def _write(path: Path, text: str, flags: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
