"""Read a Watts Up? PRO over its serial line, by pyserial."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import serial

from tagloom.errors import DeviceError
from tagloom.records.measurement import Sample

if TYPE_CHECKING:
    from collections.abc import Callable

BAUD = 115200  # 8N1; the line is an FTDI converter in the meter
SILENCE_SECONDS = 4.0  # it sends a record a second
# The meter's communications protocol: #L,W,3,E,,1; logs every second to the line ("E", external); #L,W,0; stops it.
# #O,W,1,3; sets what its memory does when full.
START, STOP, OVERFLOW = b"#L,W,3,E,,1;", b"#L,W,0;", b"#O,W,1,3;"
DATA_FIELDS = 18


def parse_record(record: str) -> float | None:
    """Read the watts of a data record (tenths), None of another record. Raises ValueError for one that is broken.

    >>> parse_record("#d,-,18,124,1191,97,0,_,_,_,_,_,_,_,_,_,_,_,_,_,_;")
    12.4
    >>> parse_record("#v,-,8,0,9,1,11,200505162328,_,_,16383;") is None
    True
    """
    if not record.startswith("#") or not record.endswith(";"):
        raise ValueError(f"no record: {record!r}")
    fields = record[1:-1].split(",")
    if fields[0] != "d":
        return None
    if len(fields) != 3 + DATA_FIELDS or int(fields[2]) != DATA_FIELDS:
        raise ValueError(f"a data record of {len(fields)} fields: {record!r}")
    return int(fields[3]) / 10.0


class WattsUp:
    """The watts of what is plugged into the meter, a sample a second and some seconds late.

    A record that came broken is passed over; the line going away or silent raises DeviceError.
    """

    paces_itself, interval_seconds = True, 1.0
    sees = "all that is plugged into it, its power supply's losses too"

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self.name, self._clock, self._rest = f"Watts Up? PRO at {path}", clock, b""
        try:
            self._line = serial.Serial(path, BAUD, timeout=SILENCE_SECONDS)
            self._line.reset_input_buffer()
            self._line.write(STOP + OVERFLOW + START)
        except (OSError, ValueError) as error:
            raise DeviceError(self.name, "open", str(error)) from None

    def read(self) -> Sample:
        """Return the next sample; its time is when its record was whole."""
        end = self._clock() + SILENCE_SECONDS
        while self._clock() < end:
            try:
                record = self._line.read_until(b";")
            except OSError as error:
                raise DeviceError(self.name, "read", str(error)) from None
            at = self._clock()
            start = record.rfind(b"#")  # a record that lost its end begins before this one
            try:
                watts = parse_record(record[start:].decode("ascii")) if start >= 0 else None
            except ValueError:
                continue
            if watts is not None:
                return Sample(at, watts)
        raise DeviceError(self.name, "read", f"no record in {SILENCE_SECONDS:g} s")

    def close(self) -> None:
        """Stop the log and let the line go."""
        with contextlib.suppress(OSError):
            self._line.write(STOP)
            self._line.close()
