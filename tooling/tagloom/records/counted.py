"""Bytes that ports counted over a time, in and out of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Counted:
    """Bytes by (switch, port number), as (into the switch, out of it), over `seconds`; unread ports are missing.

    `intervals` is the number of readings less one. `remarks` say what was missing in them.
    """

    seconds: float
    intervals: int
    carried: Mapping[tuple[str, int], tuple[float, float]]
    remarks: tuple[str, ...] = ()
