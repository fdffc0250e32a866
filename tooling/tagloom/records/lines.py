"""The effects of one switch's command lines, cell by cell, in the order they are sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.change import Cell

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

    from tagloom.records.change import Change

# The cells that the model of a wave follows line by line; a cell's code is its index here.
MODELLED = (
    *(Cell.VLAN, Cell.MEMBER, Cell.PVID, Cell.ENTRY, Cell.INGRESS_FILTER, Cell.FRAMES, Cell.ENABLED),
    *(Cell.NEGOTIATION, Cell.SPEED, Cell.LAG, Cell.FLOODING),
)
# The cells it does not follow: a wave in which one of them may affect frames is refused (`verify.guard`).
GUARDED = (Cell.MODE, Cell.FLOW_CONTROL, Cell.SPANNING_TREE, Cell.PORT_SPANNING_TREE, Cell.LEARNING)
# The cells that affect no frame in a proven wave, each with the reason.
UNFELT = {
    Cell.VLAN_NAME: "a name",
    Cell.AGING: "where switches learn, a wave is proven for frames that are flooded and for those that are not",
    Cell.EEE: "a link that sleeps wakes up for a frame; that a line on it may take the link down is in BOUNCES",
    Cell.BPDU_FILTERING: "there are no BPDUs where no spanning tree runs, and a wave in which one runs is guarded",
}
# A line that sets one of these may take its link down and up again.
BOUNCES = (Cell.NEGOTIATION, Cell.SPEED, Cell.FLOW_CONTROL, Cell.EEE, Cell.LAG)
VLAN, MEMBER, PVID, ENTRY, INGRESS_FILTER, FRAMES, ENABLED, NEGOTIATION, SPEED, LAG, FLOODING = range(len(MODELLED))
BOUNCE = len(MODELLED)
MODE, FLOW_CONTROL, SPANNING_TREE, PORT_SPANNING_TREE, LEARNING = range(BOUNCE + 1, BOUNCE + 1 + len(GUARDED))
WIDEST = 64  # ports that fit into a 64-bit set; no box switch has more

_CODE = {cell: code for code, cell in enumerate((*MODELLED, None, *GUARDED)) if cell is not None}


@dataclass(frozen=True, eq=False)
class Lines:
    """E effects on cells of one switch; effects of one line share its position.

    position  int64[E], ascending, from 1; a line that changes several cells changes them at once
    cell      uint8[E], VLAN .. FLOODING, BOUNCE (its link goes down just before the line and comes up with it), or one
              of the guarded MODE .. LEARNING
    port, vlan  int32[E] and mac uint64[E], the cell's key, 0 if it has none
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
        """Return the number of lines that may affect frames."""
        return int(np.count_nonzero(np.diff(self.position[self.cell <= BOUNCE], prepend=0)))

    @classmethod
    def of(cls, lines: Iterable[tuple[int, Sequence[Change]]], quiet: Collection[Cell] = ()) -> Lines:
        """Return the effects of (position, changes of that line), positions ascending; `quiet` cells bounce no link."""
        rows: list[tuple[int, int, int, int, int, int]] = []
        for position, changes in lines:
            for change in changes:
                key = change.port, change.vlan, change.mac
                if change.cell in BOUNCES and change.cell not in quiet:
                    rows.append((position, BOUNCE, *key, 0))  # before the value, at the same line
                if change.cell not in UNFELT:
                    rows.append((position, _CODE[change.cell], *key, _value(change)))
        columns = tuple(zip(*rows, strict=True)) or ((),) * 6
        kinds = (np.int64, np.uint8, np.int32, np.int32, np.uint64, np.uint64)
        return cls(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))

    @classmethod
    def joined(cls, parts: Sequence[Lines]) -> Lines:
        """Merge effects by position; those of one position keep the order of `parts`."""
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__]
        order = np.argsort(columns[0], kind="stable")
        return cls(*(column[order] for column in columns))


def port_bits(ports: Iterable[int]) -> int:
    """Return a set of ports as bits.

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
    return int(change.after)  # type: ignore[arg-type]  # the others hold numbers
