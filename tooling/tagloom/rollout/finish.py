"""Decide what may still be sent where a switch stopped inside a wave: to stop is safe, to finish must be proven."""

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

    `states` are the state before the rollout and the end of each of its n waves, `assumptions` those that the waves
    were proven under, by default as planned; the `stuck` switches stopped anywhere among the lines of wave `number` (1
    .. n), or went back to its beginning. Each wave is proven with all their positions. What a frame may still meet
    because of them stays where a removal would take it (lemma 5: VLANs that the stuck switches' hosts may name, and
    ports' settings where that is not enough). In what is given, the stuck switches stand as before wave `number`.
    `parts` are what each of the n waves is proven for, and by what: between two fabrics what both have. Nothing goes on
    where that leaves out a stuck switch. Raises PlanError with the witness at the first wave that does not prove: then
    stopping is left, or going back.
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
    """Yield where a wave may end: as wanted, with VLANs that frames may still meet, and with the ports as they are."""
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
