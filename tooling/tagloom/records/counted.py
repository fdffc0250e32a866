"""What ports counted over a time: bytes in and out of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Counted:
    """Bytes by (switch, port number): (into the switch, out of it), what `seconds` brought; ports unread missing.

    `intervals` counts the readings less one, `remarks` what was missing in them.
    """

    seconds: float
    intervals: int
    carried: Mapping[tuple[str, int], tuple[float, float]]
    remarks: tuple[str, ...] = ()
