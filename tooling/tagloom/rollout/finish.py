"""Say what may still land where a switch stopped in the middle of a wave: to stop is safe, to finish must be proven."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.records.wave_proof import Terms
from tagloom.rollout.layers import beside, with_cells

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tagloom.errors import Finding
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState
    from tagloom.rollout.judge import Judge

_PORT_CELLS = ("pvid", "frames", "ingress_filter", "enabled", "mode")


def finish(
    fabric: Fabric, states: Sequence[FabricState], number: int, stuck: Collection[str], judge: Judge
) -> list[FabricState]:
    """Give the ends of waves `number` .. n as all other switches may still take them, whatever the stuck ones hold.

    `states` are the state before the rollout and the end of each of its n waves; the `stuck` switches stopped anywhere
    among the lines of wave `number` (1 .. n), or went back to its beginning. Each wave is proven with all their
    positions. What a frame may still meet because of them stays where a removal would take it (lemma 5: VLANs that the
    stuck switches' hosts may name, and ports' settings where that is not enough). In what is given, the stuck switches
    stand as before wave `number`. Raises PlanError with the witness where a wave does not prove: then stopping is left,
    or going back.
    """
    positions = {name: (states[number - 1][name], states[number][name]) for name in stuck}
    terms = Terms(stuck=positions)
    frozen = {name: state for name, (state, _) in positions.items()}
    here = {**states[number - 1]}
    ends: list[FabricState] = []
    for wave in range(number, len(states)):
        wanted = {**states[wave], **frozen}
        live: dict[int, set[int]] = {}
        for s, vlan in judge.live(here, positions):
            live.setdefault(s, set()).add(vlan)
        kept: FabricState = {}
        for s, switch in enumerate(fabric.switches):
            held = here[switch.name]
            kept[switch.name] = beside(wanted[switch.name], held, live.get(s, set()).intersection(held.owned_vlans))
        unmoved = {
            name: with_cells(held, here[name], np.arange(held.ports), _PORT_CELLS) for name, held in kept.items()
        }
        witness: Finding | None = None
        for target in (wanted, kept, unmoved):
            proof, _ = judge.wave(here, target, terms)
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
        ends.append(here)
    return ends
