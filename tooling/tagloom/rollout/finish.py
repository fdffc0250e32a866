"""Decide what may still be sent after a switch stopped inside a wave: stopping is safe, finishing must be proven."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.records.change import PORT_CELLS
from tagloom.records.wave_proof import AS_PLANNED
from tagloom.rollout.layers import beside, with_cells

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tagloom.errors import Finding
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.records.wave_proof import ProofAssumptions
    from tagloom.rollout.services import ProofServices

_PORT_CELLS = tuple(column for column, _ in PORT_CELLS.values())


def finish(
    parts: Sequence[tuple[Fabric, ProofServices]],
    states: Sequence[FabricState],
    number: int,
    stuck: Collection[str],
    assumptions: Sequence[ProofAssumptions] = (),
) -> Iterator[FabricState]:
    """Yield one by one the ends of waves `number` .. n that all others may take, whatever the stuck switches hold.

    `states` are the state before the rollout and the end of each of its n waves. `assumptions` are those that the waves
    were proven under, by default as planned. The `stuck` switches stopped anywhere among the lines of wave `number` (1
    .. n), or returned to its beginning; the yielded states hold their state before wave `number`. `parts` are the
    fabric, and its services, that each of the n waves is proven for: between two fabrics what both have. Nothing
    continues if that leaves out a stuck switch.

    Each wave is proven with all positions of the stuck switches. What a frame may still meet because of them is not
    removed (lemma 5: VLANs that the stuck switches' hosts may name, and port settings if that is not enough). Raises
    PlanError with the witness at the first wave that is not proven: then only stopping or going back is left.
    """
    positions = {name: (states[number - 1][name], states[number][name]) for name in stuck}
    frozen = {name: state for name, (state, _) in positions.items()}
    here = {**states[number - 1]}
    for wave in range(number, len(states)):
        fabric, services = parts[wave - 1]
        if lost := sorted(positions.keys() - fabric.index.keys()):
            rule = f"wave {wave} must prove whatever lines {', '.join(lost)} holds"
            raise PlanError(rule, "it is not proven for that switch", "stop here, or go back")
        under = replace(assumptions[wave - 1] if assumptions else AS_PLANNED, stuck=positions)
        witness: Finding | None = None
        for target in _ends(fabric, here, {**states[wave], **frozen}, services, positions):
            proof, _ = services.wave(here, target, under)
            if proof.proven:
                here = target
                break
            witness = witness or proof.findings[0]
        else:
            raise PlanError(
                f"wave {wave} must prove whatever lines {', '.join(sorted(stuck))} holds",
                str(witness),
                "stop here, or go back",
            )
        yield here


def _ends(
    fabric: Fabric,
    here: FabricState,
    wanted: FabricState,
    services: ProofServices,
    positions: Mapping[str, tuple[SwitchState, SwitchState]],
) -> Iterator[FabricState]:
    """Yield ends to try for a wave: as wanted, with VLANs that frames may still meet, then with unchanged ports."""
    yield wanted
    live: dict[int, set[int]] = {}
    for s, vlan in services.live(here, positions):
        live.setdefault(s, set()).add(vlan)
    kept: FabricState = {}
    for s, switch in enumerate(fabric.switches):
        held = here[switch.name]
        kept[switch.name] = beside(wanted[switch.name], held, live.get(s, set()).intersection(held.owned_vlans))
    yield wanted | kept
    yield wanted | {
        name: with_cells(held, here[name], np.arange(held.ports), _PORT_CELLS) for name, held in kept.items()
    }
