"""Play a recorded meter again, from a CSV file of seconds and watts."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from tagloom.errors import DeviceError, Finding, InputError
from tagloom.records.measurement import Sample
from tagloom.storage.document import split_rows
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Replay:
    """The file's samples in its own time, from its first on; after its last the meter is gone."""

    paces_itself, interval_seconds = True, 0.0
    sees = "what it saw when it was recorded"

    def __init__(self, path: Path, clock: Callable[[], float], sleep: Callable[[float], None] = time.sleep) -> None:
        self.name, self._clock, self._sleep = f"replay of {path}", clock, sleep
        self._rows, self._next, self._began = read_samples(path), 0, clock()

    def read(self) -> Sample:
        """Wait for the next sample. Raises DeviceError after the last."""
        if self._next == len(self._rows):
            raise DeviceError(self.name, "read", "the recording has ended")
        at, watts = self._rows[self._next]
        due = self._began + at - self._rows[0][0]
        self._sleep(max(0.0, due - self._clock()))
        self._next += 1
        return Sample(due, watts)

    def close(self) -> None:
        """Do nothing: no connection is held."""


def read_samples(path: Path) -> list[tuple[float, float]]:
    """Read seconds,watts lines, with or without a header of these words. Raises InputError with all that are wrong."""
    lines = split_rows(read_text(path, "a readable CSV file").splitlines(), str(path))
    rows: list[tuple[float, float]] = []
    wrong: list[Finding] = []
    for number, line in lines:
        if line[:2] == ["seconds", "watts"] and number == lines[0][0]:
            continue
        try:
            at, watts = float(line[0]), float(line[1])
        except (ValueError, IndexError):
            at = watts = math.nan
        if not (math.isfinite(at) and math.isfinite(watts)):
            wrong.append(Finding(f"{path}:{number}", "seconds,watts", repr(",".join(line))))
        elif rows and at <= rows[-1][0]:
            wrong.append(Finding(f"{path}:{number}", f"a time after {rows[-1][0]:g} s", f"{at:g}"))
        else:
            rows.append((at, watts))
    if not rows and not wrong:
        wrong.append(Finding(str(path), "seconds,watts lines", "none"))
    if wrong:
        raise InputError(wrong)
    return rows
