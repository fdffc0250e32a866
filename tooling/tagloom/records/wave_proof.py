"""Hold what was proven of a wave: of every mixture of its switches' line positions, and of every frame under way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tagloom.errors import Finding


@dataclass(frozen=True)
class WaveProof:
    """Hold the verdict on all states between two waves, however the lines of the switches interleave.

    frame_states   (switch, in-port, tag, destination) that frames can be in, over all those states
    held, wanted   the channel dependencies of all frames, each once, int64
    cycle          the channels of a dependency cycle, or ()
    findings       the smallest witness of each thing that is wrong; empty = proven
    """

    frame_states: int
    held: NDArray[np.int64] = field(repr=False)
    wanted: NDArray[np.int64] = field(repr=False)
    cycle: tuple[int, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def proven(self) -> bool:
        """Tell whether everything holds in every state of the wave."""
        return not self.findings
