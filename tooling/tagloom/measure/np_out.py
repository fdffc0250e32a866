"""Read and write NetPIPE's np.out: bytes, binary Mbps and one-way seconds in three columns, no header."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError
from tagloom.records.measurement import NETPIPE_MBPS, Point

if TYPE_CHECKING:
    from collections.abc import Iterable


def format_np_out(points: Iterable[Point]) -> str:
    r"""Write points as NetPIPE 3.7 does; its "Mbps" are 2^20 bits per second.

    >>> format_np_out([Point(1, 100, (8.39e-6,))])
    '       1 0.909344   0.00000839\n'
    """
    return "".join(f"{p.bytes:8d} {p.bits_per_second / NETPIPE_MBPS:f} {p.seconds:12.8f}\n" for p in points)


def parse_np_out(text: str, where: str = "np.out") -> tuple[Point, ...]:
    """Return the points of np.out; they keep the seconds, from which the Mbps follow.

    Raises InputError with every line that is malformed, or whose Mbps do not match its bytes and seconds.
    """
    points: list[Point] = []
    wrong: list[Finding] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        at = f"{where}:{number}"
        try:
            size, mbps, seconds = line.split()
            point = Point(int(size), 1, (float(seconds),))
            if not (0 < point.bytes < 1 << 63 and 0 < point.seconds < float("inf")):
                raise ValueError  # noqa: TRY301 - as bad as a word
            ours, theirs = point.bits_per_second / NETPIPE_MBPS, float(mbps)
        except ValueError:
            wrong.append(Finding(at, "bytes, Mbps, seconds", repr(line)))
            continue
        # Seconds are rounded to 1e-8, which limits the precision of the Mbps.
        if abs(theirs / ours - 1) > 0.02 + 1e-8 / point.seconds:
            wrong.append(Finding(at, f"{ours:.6g} Mbps of 2^20 b/s", mbps))
        points.append(point)
    if not points and not wrong:
        wrong.append(Finding(where, "lines of bytes, Mbps, seconds", "none"))
    if wrong:
        raise InputError(wrong)
    return tuple(points)
