"""Hold an ordered change of a whole fabric: waves of patches, each ending in a proven state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagloom.records.change import Patch
    from tagloom.records.findings import Findings
    from tagloom.records.switch_state import FabricState


@dataclass(frozen=True)
class Wave:
    """Hold patches that may land in any order and interleaving, what every switch holds afterwards, and its proof.

    `drain_seconds` is the wait after the wave, for frames of the old kind to leave the fabric.
    """

    name: str
    why: str
    patches: tuple[Patch, ...]
    state: FabricState
    proof: Findings
    drain_seconds: float = 0.0


@dataclass(frozen=True)
class Rollout:
    """Hold the waves that lead from one FabricState to another; an empty one means they are equal."""

    strategy: str
    before: FabricState
    after: FabricState
    waves: tuple[Wave, ...]
    before_proof: Findings

    @property
    def changes(self) -> int:
        """Count the changed cells of all waves."""
        return sum(len(patch.changes) for wave in self.waves for patch in wave.patches)
