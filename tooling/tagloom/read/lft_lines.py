"""Scan the lines of forwarding tables that OpenSM and infiniband-diags write, by the million, with compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLACK = 32  # characters behind the end that may be looked at


def scan(text: str) -> tuple[bytes, NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return a text's bytes with a line's end, where its other lines begin, and where entries do, their LIDs and ports.

    An entry is a line of 0x, four hexadecimal digits of a LID, blanks and a colon that may be missing, blanks, three
    digits of a port, and no word that goes on behind them. Other lines that begin with 0x are neither.
    """
    data = text.encode() + b"\n"
    raw = np.frombuffer(data + b"\n" * _SLACK, np.uint8)
    lines = data.count(b"\n") + 1
    found = (np.empty(lines, np.int64), np.empty(lines, np.int64), np.empty(lines, np.int32), np.empty(lines, np.int32))
    others, entries = _scan(raw, len(data) - 1, *found)
    return data, found[0][:others], found[1][:entries], found[2][:entries], found[3][:entries]


@kernel
def _digit(byte: int) -> int:
    """Return the value of a hexadecimal digit, 16 for none."""
    if 48 <= byte <= 57:
        return byte - 48
    low = byte | 32
    return low - 87 if 97 <= low <= 102 else 16


@kernel
def _scan(
    raw: NDArray[np.uint8],
    end: int,
    others: NDArray[np.int64],
    at: NDArray[np.int64],
    lids: NDArray[np.int32],
    ports: NDArray[np.int32],
) -> tuple[int, int]:
    """Fill in what `scan` returns, and return how many other lines and entries there are."""
    here, count, entries = 0, 0, 0
    while here < end:
        if raw[here] != 48 or raw[here + 1] != 120:
            others[count] = here
            count += 1
        else:
            lid, good = 0, True
            for i in range(here + 2, here + 6):
                digit = _digit(raw[i])
                good = good and digit < 16
                lid = lid * 16 + digit
            i = here + 6
            blanks = 0
            while good and raw[i] == 32:
                i += 1
                blanks += 1
            if good and raw[i] == 58:
                i += 1
                blanks = 0
                while raw[i] == 32:
                    i += 1
                    blanks += 1
            port = 0
            for j in range(i, i + 3):
                good = good and 48 <= raw[j] <= 57
                port = port * 10 + (raw[j] - 48)
            last = raw[i + 3]
            word = 48 <= last <= 57 or 97 <= (last | 32) <= 122 or last == 95 or last >= 128
            if good and blanks > 0 and not word:
                at[entries], lids[entries], ports[entries] = here, lid, port
                entries += 1
        while raw[here] != 10:
            here += 1
        here += 1
    return count, entries
