"""An ordered change of a whole fabric: waves of patches, with every intermediate state proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tagloom.records.change import Patch, difference
from tagloom.records.wave_proof import AS_PLANNED, ProofAssumptions

if TYPE_CHECKING:
    from collections.abc import Collection

    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.switch_state import FabricState
    from tagloom.records.wave_proof import WaveProof


Cells = Mapping[str, tuple[tuple[int, int], ...]]  # memberships, by switch as (VLAN, port)


def cells_to_json(cells: Mapping[str, Collection[tuple[int, int]]]) -> list[dict[str, Any]]:
    """Return memberships as plain values, one object each."""
    return [{"switch": name, "port": port, "vlan": vlan} for name, mine in cells.items() for vlan, port in mine]


@dataclass(frozen=True)
class Wave:
    """Patches that may be applied in any order and interleaving, every switch's state before and after, the proof.

    drain_seconds     the wait after the wave, for old frames to leave or links to come up
    expected_seconds  duration of the whole wave, including that wait
    lines             number of lines that may affect frames, over all switches
    downtime_seconds  how long hosts are paused; `paused`, whether they still are when it ends
    assumptions       what the proof assumes
    fabrics           those of the states before and after it, None if it is the rollout's one fabric; the proof is for
                      what both have (`records.fabric_pair.shared_part`)
    floods            whether unicasts may be flooded in a VLAN that is one tree, so that no entry pins them
    until_up          whether the wait is for links that were off alone: it may end as soon as all are seen up
    """

    name: str
    why: str
    before: FabricState
    state: FabricState
    proof: WaveProof
    drain_seconds: float = 0.0
    expected_seconds: float = 0.0
    lines: int = 0
    downtime_seconds: float = 0.0
    paused: bool = False
    floods: bool = False
    assumptions: ProofAssumptions = AS_PLANNED
    fabrics: tuple[Fabric, Fabric] | None = None
    until_up: bool = False

    @cached_property
    def patches(self) -> tuple[Patch, ...]:
        """Return a patch for each switch that changes."""
        touched = (name for name, held in self.before.items() if self.state[name] is not held)
        found = ((name, difference(self.before[name], self.state[name])) for name in touched)
        return tuple(Patch(name, changes) for name, changes in found if changes)

    def to_json(self) -> dict[str, Any]:
        """Return the wave as plain values for rollout.json."""
        return {
            "name": self.name,
            "why": self.why,
            "switches": [patch.switch for patch in self.patches],
            "changes": sum(len(patch.changes) for patch in self.patches),
            "proven_states": self.lines,
            "frame_states": self.proof.frame_states,
            "dependencies": len(self.proof.held),
            "drain_seconds": self.drain_seconds,
            "expected_seconds": round(self.expected_seconds, 3),
            "downtime_seconds": round(self.downtime_seconds, 3),
            "paused": self.paused,
            "floods": self.floods,
            "until_up": self.until_up,
            "terms": self.assumptions.to_json(),
        }


@dataclass(frozen=True)
class Growth:
    """What a rollout between two fabrics has besides its waves.

    fabric    the new one, followed by the old one's switches that are sent lines, with their links down
    ports     by switch, the ports of either fabric: all that is ever changed
    left      the states of switches of the old fabric that are left alone
    pairs_kept, pairs_added, pairs_removed  ordered host pairs of both fabrics, of the new one, of the old one alone
    """

    fabric: Fabric
    ports: Mapping[str, tuple[int, ...]]
    left: FabricState
    pairs_kept: int
    pairs_added: int
    pairs_removed: int


@dataclass(frozen=True)
class Rollout:
    """The waves that lead from one FabricState to another; none if they are equal.

    `reason` says why this strategy and not a shorter one, `assumed` what was not read from the switches. `growth`
    describes both fabrics if the rollout leads from one to another.
    """

    strategy: str
    before: FabricState
    after: FabricState
    waves: tuple[Wave, ...]
    before_proof: Findings
    after_proof: Findings
    reason: str = ""
    assumed: str = ""
    growth: Growth | None = None

    @property
    def changes(self) -> int:
        """Return the number of changed cells of all waves."""
        return sum(len(patch.changes) for wave in self.waves for patch in wave.patches)

    @property
    def pruned(self) -> Cells:
        """Return the memberships in foreign VLANs that some wave changes, which the operator allowed."""
        found: dict[str, set[tuple[int, int]]] = {}
        for patch in (patch for wave in self.waves if wave.assumptions.foreign for patch in wave.patches):
            found.setdefault(patch.switch, set()).update((each.vlan, each.port) for each in patch.changes)
        return {name: tuple(sorted(mine)) for name, mine in found.items()}

    @property
    def proven_states(self) -> int:
        """Return the number of proven states of single switches: one per line and the first.

        Every combination of them within a wave is covered, their product over all switches.
        """
        return 1 + sum(wave.lines for wave in self.waves)

    @property
    def downtime_seconds(self) -> float:
        """Return the total time for which hosts are paused."""
        return sum(wave.downtime_seconds for wave in self.waves)

    def to_json(self) -> dict[str, Any]:
        """Return the figures with the keys of the command line.

        Waves cut off no pair that has a path and is there before and after, unless hosts are paused on purpose.
        """
        pairs = self.growth.pairs_kept if self.growth else self.before_proof.pairs
        cut_now = self.before_proof.unreachable_pairs
        return {
            "strategy": self.strategy,
            "reason": self.reason,
            "assumed": self.assumed,
            "waves": len(self.waves),
            "changes": self.changes,
            "lines": sum(wave.lines for wave in self.waves),
            "proven_states": self.proven_states,
            "peak_lost_pairs": pairs if self.downtime_seconds else 0,
            "hitless": not self.downtime_seconds,
            "interrupted_pairs": pairs - cut_now if self.downtime_seconds else 0,
            "interrupted_seconds_max": round(self.downtime_seconds, 3),
            "pairs_kept": pairs,
            "pairs_restored": max(0, cut_now - self.after_proof.unreachable_pairs),
            "pairs_added": self.growth.pairs_added if self.growth else 0,
            "pairs_removed": self.growth.pairs_removed if self.growth else 0,
            "pruned": cells_to_json(self.pruned),
            "broadcast_duplicates_allowed": self.before_proof.duplicates_allowed,
            "downtime_seconds": round(self.downtime_seconds, 3),
            "expected_seconds": round(sum(wave.expected_seconds for wave in self.waves), 3),
            "wave_names": [wave.name for wave in self.waves],
            "switches_by_wave": [len(wave.patches) for wave in self.waves],
            "drain_seconds": sum(wave.drain_seconds for wave in self.waves),
        }
