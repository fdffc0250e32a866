"""Turn spanning tree on for ports outside the fabric, or off again, while it never runs on the fabric's own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.rollout.layers import with_cells
from tagloom.rollout.steps import Step, worth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState

FORWARDING_SECONDS = 30.0  # twice the forward delay, IEEE 802.1D-2004, table 17-1: until a port that joins forwards
_APART = "spanning tree stops, or the fabric's ports are taken out of one that does not run yet"
_RUN = (
    "spanning tree runs on ports outside the fabric alone: they forward after 30 s, and what else it blocks stays shut"
)


def spanning_steps(fabric: Fabric, before: FabricState, after: FabricState) -> list[Step]:
    """Return the steps that set spanning tree on every switch as in `after`, and change nothing else.

    Two lines affect a fabric's port, the switch's and its own. Their order differs from that of all other waves: the
    port leaves before the switch starts, and returns after it has stopped. So each line is in a separate wave, and at
    no line does spanning tree run on a port of the fabric. [] if no switch starts or stops it.
    """
    turned = [
        (s, switch.name)
        for s, switch in enumerate(fabric.switches)
        if switch.up and before[switch.name].spanning_tree != after[switch.name].spanning_tree
    ]
    apart, there = dict(before), dict(before)
    for s, name in turned:
        held, goal, used = before[name], after[name], np.array(fabric.used_ports[s], np.int64) - 1
        starts = goal.spanning_tree
        apart[name] = _ports_as(held, goal, used) if starts else replace(held, spanning_tree=False)
        there[name] = replace(_ports_as(held, goal, used), spanning_tree=starts)
    wait = FORWARDING_SECONDS if any(after[name].spanning_tree for _, name in turned) else 0.0
    return worth(before, [Step("apart", _APART, apart), Step("spanning tree", _RUN if wait else _APART, there, wait)])


def _ports_as(held: SwitchState, goal: SwitchState, used: NDArray[np.int64]) -> SwitchState:
    """Return `held` with the spanning tree setting of `goal` on used ports, and its treatment of BPDUs."""
    return replace(with_cells(held, goal, used, ("port_spanning_tree",)), bpdu_filtering=goal.bpdu_filtering)
