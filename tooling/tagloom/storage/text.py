"""Read files of any kind, bounded: a device, a named pipe, a flood or what is no text is a finding, and never waits."""

from __future__ import annotations

import io
import os
import stat
from functools import cache
from pathlib import Path

from tagloom.errors import Finding, InputError

MOST_BYTES = 1 << 30  # of a matrix of 10,000 hosts, or the certificate of as many switches
OWN_STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # pipes the shell opened for us: `<(...)`, `|`


def read_bytes(path: Path, expected: str, most: int = MOST_BYTES) -> bytes:
    """Read a whole file of at most so many bytes. Raises InputError, `expected` being what was asked for.

    A file is a regular one, or a stream that is open already: /dev/stdin, or what the shell makes of ``<(command)``.
    A stream is read once, and remembered.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            what = os.fstat(descriptor)
            if not stat.S_ISREG(what.st_mode):
                if stat.S_ISDIR(what.st_mode):
                    raise InputError([Finding(str(path), expected, "a directory")])
                if not str(path).startswith(OWN_STREAMS) and os.path.realpath(path) != os.devnull:
                    raise InputError([Finding(str(path), expected, "a device or a pipe, no file")])
                os.set_blocking(descriptor, True)
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


@cache
def _stream(device: int, inode: int, path: str, most: int) -> bytes:
    """Read a stream to its end; asked again, it gives the same."""
    del device, inode  # they tell one stream from the next of the same name
    with Path(path).open("rb") as file:
        return file.read(most + 1)


def read_text(path: Path, expected: str, most: int = MOST_BYTES) -> str:
    """Read a text in UTF-8, with or without a byte order mark, its lines ended in any way. Raises InputError."""
    return decode(read_bytes(path, expected, most), str(path), expected)


def decode(content: bytes, where: str, expected: str) -> str:
    """Return bytes as text, as `read_text` does. Raises InputError."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        odd = f"byte 0x{content[error.start]:02x} on line {line}"
        raise InputError([Finding(where, f"{expected}, in UTF-8", odd)]) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError([Finding(where, f"{expected}, a text", f"a NUL on line {line}")])
    return io.StringIO(text, newline=None).read() if "\r" in text else text


def begins_with(path: Path, magic: bytes) -> bool:
    """Return whether a regular file begins with some bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return stat.S_ISREG(os.fstat(descriptor).st_mode) and file.read(len(magic)) == magic
    except (OSError, ValueError):
        return False
