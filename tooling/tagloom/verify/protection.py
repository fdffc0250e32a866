"""Prove every failure that detours protect from, and count what they protect and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.graph.cycles import ranks
from tagloom.records.detours import Detour, Protection
from tagloom.verify.what_if import what_if

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState
    from tagloom.records.what_if import WhatIf


def protection(
    fabric: Fabric,
    bare: FabricState,
    state: FabricState,
    protect: str,
    detours: tuple[Detour, ...],
    *,
    once: bool = True,
) -> tuple[tuple[Detour, ...], Protection | None, NDArray[np.int32] | None]:
    """Prove every failure from the states alone; return the detours, and what they protect and cost.

    A detour that restores no pair is returned empty. With `protect` "none" nothing is to be proven. `bare` is the plan
    without detours. Also return ranks of the channels that all frames ascend before, during and after every failure,
    int32[C]; None where entries change, as each failure then has an order of its own. Raises PlanError if a failure
    would do harm: a deadlock, a storm, a broadcast that comes twice (unless it need not come `once`), a frame at a port
    of another network.
    """
    if protect == "none":
        return detours, None, None
    kinds = ("links", "switches")[: 1 + (protect == "switch")]
    found = [what_if(fabric, state, kind, detours, duplicates_allowed=not once) for kind in kinds]
    useless = {frozenset(loss.dead) for each in found for loss in each.losses if not loss.saved}
    useful = tuple(Detour(each.dead, {}) if frozenset(each.dead) in useless else each for each in detours)
    if useful != detours:
        found = [what_if(fabric, state, kind, useful, duplicates_allowed=not once) for kind in kinds]
    for each in found:
        if not each.safe:
            harm = str(each.leaks[0].finding() if each.leaks else each.deadlock_cycle)
            raise PlanError("detours after which nothing storms, waits for itself, comes twice or leaks", harm)
    rank = _rank(fabric, found) if all(each.dependencies for each in found) else None
    used = {int(state[fabric.switches[h.switch].name].pvid[h.port - 1]) for h in fabric.hosts}
    all_vlans = {v for held in state.values() for v in held.owned_vlans}
    entries = sum(len(held.entry_vlan) for held in state.values()) - sum(len(held.entry_vlan) for held in bare.values())
    cost = Protection(
        protect,
        sum(each.protected for each in found),
        sum(each.unprotected for each in found),
        len(all_vlans - used),
        entries,
        max((len(held.entry_vlan) for held in bare.values()), default=0),
        max(each.load_max for each in found),
        round(max(each.hops_max / max(1, each.hops_before) for each in found), 6),
    )
    return useful, cost, rank


def _rank(fabric: Fabric, found: Sequence[WhatIf]) -> NDArray[np.int32]:
    """Return ranks of the channels that the dependencies of all kinds of failures ascend together, int32[C]."""
    held, wanted = (np.concatenate(column) for column in zip(*(each.dependencies for each in found), strict=True))
    try:
        return ranks(len(fabric.tail), held, wanted)
    except ValueError as error:
        raise PlanError("detours of links and switches that close no dependency cycle together", str(error)) from None
