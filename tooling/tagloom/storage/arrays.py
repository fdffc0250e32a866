"""Read numpy's compressed archives, with the unpacked size bounded first."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.storage.text import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

MOST_UNPACKED = 1 << 33  # bytes; the relation of 10,000 switches and 400,000 channels fits no machine anyway


def read_arrays(path: Path, expected: str) -> dict[str, NDArray[np.int32]]:
    """Return the int32 arrays of an archive by name. Raises InputError."""
    content = read_bytes(path, expected)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_UNPACKED:
                raise InputError([Finding(str(path), f"{expected}, of at most {MOST_UNPACKED} bytes", "more")])
            found = {name.removesuffix(".npy"): _array(archive.read(name)) for name in archive.namelist()}
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError([Finding(str(path), expected, str(error)[:200] or type(error).__name__)]) from None
    return found


def _array(content: bytes) -> NDArray[np.int32]:
    """Return one array; its header must promise exactly the bytes that follow. Raises ValueError."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = read_header(file)
    if kind != np.int32 or fortran or any(side < 0 for side in shape):
        raise ValueError("an array of another kind than int32")
    rest = content[file.tell() :]
    size = kind.itemsize
    for side in shape:
        size *= side
    if size != len(rest):
        raise ValueError("an array that is cut off")
    return np.frombuffer(rest, np.int32).reshape(shape).copy()
