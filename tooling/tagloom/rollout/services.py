"""What a rollout needs from the rest of tagloom: proofs, names and limits, as functions that the pipeline provides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tagloom.records.wave_proof import AS_PLANNED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tagloom.errors import Finding
    from tagloom.records.fabric import Fabric
    from tagloom.records.fabric_pair import Place, TransientTag
    from tagloom.records.findings import Findings
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.records.wave_proof import ProofAssumptions, WaveProof


class ProveWave(Protocol):
    """A function that proves every state between two, in any order of lines, and counts lines that affect frames."""

    def __call__(
        self, before: FabricState, after: FabricState, assumptions: ProofAssumptions = AS_PLANNED
    ) -> tuple[WaveProof, int]:
        """Prove the lines from `before` to `after` under `assumptions`."""


class Dependencies(Protocol):
    """A function that lists the channel dependencies of all frames in a state."""

    def __call__(
        self, state: FabricState, sources: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return them as (held, wanted), each once, for the hosts that `sources` masks, or for all."""


@dataclass(frozen=True)
class ProofServices:
    """The functions that decide a rollout.

    verify        proves one state
    wave          proves all states between two
    live          returns the (switch index, VLAN) pairs that a frame may be classified to in a state, whatever the
                  position of the switches that are stuck
    dependencies  lists the channel dependencies of a state
    foreign_dependencies  lists those of foreign frames between channels that pause
    foreign_harm  returns findings for foreign frames in a state
    foreign_waiting  finds a dependency cycle that arises only with foreign frames, if ports send PAUSE
    foreign_ring  returns the foreign VLANs of one ring in a state, whether a port leads into it or not, or none
    name_channel  names a channel by its two ports
    room          how many VLANs and static entries the switch of this index holds
    vlan_limit    the highest VLAN id of the switch of this index
    up_seconds    how long the switch of this index takes to bring a port up after "on_off", or from one speed to
                  another, as "1000_100" (Koibuchi et al. 2011, table 6); 0 if unknown
    """

    verify: Callable[[FabricState], Findings]
    wave: ProveWave
    live: Callable[[FabricState, Mapping[str, tuple[SwitchState, SwitchState]]], set[tuple[int, int]]]
    dependencies: Dependencies
    foreign_dependencies: Callable[[FabricState], tuple[NDArray[np.int64], NDArray[np.int64]]]
    foreign_harm: Callable[[FabricState], Sequence[Finding]]
    foreign_waiting: Callable[[FabricState], Sequence[Finding]]
    foreign_ring: Callable[[FabricState], set[int]]
    name_channel: Callable[[int], str]
    room: Callable[[int], tuple[int, int]]
    vlan_limit: Callable[[int], int]
    up_seconds: Callable[[int, str], float]


class ServicesOf(Protocol):
    """A function that returns what decides waves of one fabric, or between two for what both have."""

    def __call__(
        self,
        fabric: Fabric,
        other: Fabric | None = None,
        *,
        duplicates_allowed: bool = False,
        transient_ports: frozenset[Place] = frozenset(),
        transient_tags: frozenset[TransientTag] = frozenset(),
    ) -> ProofServices:
        """Return the services; `transient_ports` and `transient_tags` are of hosts that come or go."""
