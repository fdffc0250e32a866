"""Read files of any kind, bounded: a device, a pipe, too many bytes or binary data is a finding, at once."""

from __future__ import annotations

import io
import os
import stat
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from typing import BinaryIO

MOST_BYTES = 1 << 30  # for a matrix of 10,000 hosts, or the certificate of as many switches
OWN_STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # pipes the shell opened: `<(...)`, `|`


def read_bytes(path: Path, expected: str, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a file, at most `most`. Raises InputError, whose `expected` says what was wanted.

    A file is a regular one, or a stream that is open already: /dev/stdin, or what the shell makes of ``<(command)``. A
    stream is read once and cached.
    """
    try:
        with _opened(path) as file:
            what = os.fstat(file.fileno())
            if not stat.S_ISREG(what.st_mode):
                if not str(path).startswith(OWN_STREAMS) and os.path.realpath(path) != os.devnull:
                    raise InputError([Finding(str(path), expected, "a device or a pipe, no file")])
                os.set_blocking(file.fileno(), True)
                content = _stream(what.st_dev, what.st_ino, str(path), most)
            else:
                content = file.read(most + 1)
    except OSError as error:
        raise InputError([Finding(str(path), expected, error.strerror or str(error))]) from None
    except ValueError:  # a NUL in the name
        raise InputError([Finding(ascii(str(path)), expected, "no name of a file")]) from None
    if len(content) > most:
        raise InputError([Finding(str(path), f"{expected}, of at most {most} bytes", "more")])
    return content


def _opened(path: Path) -> BinaryIO:
    """Open a file without waiting for the other end of a pipe. Raises OSError: a directory is none."""
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def unreadable(path: Path, expected: str) -> list[Finding]:
    """Return the finding of a path that cannot be opened, as `read_bytes` words it; nothing of it is read."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        return [Finding(str(path), expected, error.strerror or str(error))]
    except ValueError:  # a NUL in the name
        return [Finding(ascii(str(path)), expected, "no name of a file")]
    return []


@cache
def _stream(device: int, inode: int, path: str, most: int) -> bytes:
    """Read a stream to its end; a second call returns the same bytes."""
    del device, inode  # the cache key tells a stream from the next of the same name
    with Path(path).open("rb") as file:
        return file.read(most + 1)


def read_text(path: Path, expected: str, most: int = MOST_BYTES) -> str:
    """Return a text in UTF-8, without its byte order mark, line endings unified. Raises InputError."""
    return decode(read_bytes(path, expected, most), str(path), expected)


def read_text_as_it_is(path: Path, expected: str, most: int = MOST_BYTES) -> str:
    """Return a text with its byte order mark and line endings; bytes that are not UTF-8 stand as U+FFFD.

    Raises InputError where it is no text.
    """
    return _without_nul(read_bytes(path, expected, most).decode("utf-8", "replace"), str(path), expected)


def decode(content: bytes, where: str, expected: str) -> str:
    """Decode bytes as `read_text` does. Raises InputError."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        odd = f"byte 0x{content[error.start]:02x} on line {line}"
        raise InputError([Finding(where, f"{expected}, in UTF-8", odd)]) from None
    return with_unified_ends(_without_nul(text, where, expected))


def with_unified_ends(text: str) -> str:
    """Return a text whose lines end in newlines, whatever they ended in."""
    return io.StringIO(text, newline=None).read() if "\r" in text else text


def _without_nul(text: str, where: str, expected: str) -> str:
    """Return a text. Raises InputError for a NUL, of which no text has any."""
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError([Finding(where, f"{expected}, a text", f"a NUL on line {line}")])
    return text
