"""Hold what the command lines of one switch do to it, cell by cell, in the order they are sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.change import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from tagloom.records.change import Change

# The cells that frames feel. A line on a cell of BOUNCES may take its link down and bring it up again.
FORWARDING = (Cell.VLAN, Cell.MEMBER, Cell.PVID, Cell.ENTRY, Cell.INGRESS_FILTER, Cell.FRAMES, Cell.ENABLED)
BOUNCES = (Cell.NEGOTIATION, Cell.SPEED, Cell.FLOW_CONTROL, Cell.EEE, Cell.LAG)
VLAN, MEMBER, PVID, ENTRY, INGRESS_FILTER, FRAMES, ENABLED = range(len(FORWARDING))
BOUNCE = len(FORWARDING)
WIDEST = 64  # ports whose sets fit a word; no box switch has more

_CODE = {cell: code for code, cell in enumerate(FORWARDING)} | dict.fromkeys(BOUNCES, BOUNCE)


@dataclass(frozen=True, eq=False)
class Lines:
    """Hold E effects on cells of one switch; those of one line stand at one position.

    position  int64[E], ascending, from 1; a line that changes several cells changes them at once
    cell      uint8[E], VLAN .. ENABLED, an index into FORWARDING, or BOUNCE
    port, vlan  int32[E] and mac uint64[E], the cell's key, 0 where it has none
    value     uint64[E], the cell afterwards; of an ENTRY its ports as bits (port 1 is bit 0), 0 = no entry
    """

    position: NDArray[np.int64]
    cell: NDArray[np.uint8]
    port: NDArray[np.int32]
    vlan: NDArray[np.int32]
    mac: NDArray[np.uint64]
    value: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.position)

    @property
    def count(self) -> int:
        """Count the lines that frames may feel."""
        return int(np.count_nonzero(np.diff(self.position, prepend=0)))

    @classmethod
    def of(cls, lines: Iterable[tuple[int, Sequence[Change]]]) -> Lines:
        """Take (position, changes of that line), positions ascending; changes that no frame feels are left out."""
        rows = [
            (position, _CODE[c.cell], c.port, c.vlan, c.mac, _value(c))
            for position, changes in lines
            for c in changes
            if c.cell in _CODE
        ]
        columns = tuple(zip(*rows, strict=True)) or ((),) * 6
        kinds = (np.int64, np.uint8, np.int32, np.int32, np.uint64, np.uint64)
        return cls(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))

    @classmethod
    def joined(cls, parts: Sequence[Lines]) -> Lines:
        """Put effects together, by position; those of one position keep the order of `parts`."""
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__]
        order = np.argsort(columns[0], kind="stable")
        return cls(*(column[order] for column in columns))


def port_bits(ports: Iterable[int]) -> int:
    """Give a set of ports as bits.

    >>> port_bits((1, 3))
    5
    """
    bits = 0
    for port in ports:
        bits |= 1 << (port - 1)
    return bits


def _value(change: Change) -> int:
    if change.cell is Cell.ENTRY:
        return port_bits(change.after)  # type: ignore[arg-type]  # an entry cell holds ports
    return 0 if change.cell in BOUNCES else int(change.after)  # type: ignore[arg-type]  # the others hold numbers
