"""Forecast which pairs of hosts a change cuts off, and for how long."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.operate.waves import spanning_tree_comes_on
from tagloom.pipeline.proving import proof_services
from tagloom.platforms.factory import factory_state
from tagloom.records.change import difference
from tagloom.records.interrupted import Interrupted
from tagloom.records.wave_proof import AS_PLANNED
from tagloom.render import line_effects, render_commands
from tagloom.rollout.choose import LINE_SECONDS, SESSION_SECONDS, UP_MARGIN, UP_SECONDS
from tagloom.rollout.layers import bouncing
from tagloom.verify import guard, kept_pairs, working_pairs
from tagloom.verify.foreign_reach import astray_findings, cut_findings

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState

SHOWN = 3  # pairs that are named


def interrupted_at_once(
    fabric: Fabric,
    before: FabricState,
    after: FabricState,
    *,
    unread: Collection[str] = (),
    duplicates_allowed: bool = False,
) -> Interrupted:
    """Return what it means that all switches are sent their lines at the same time, in any interleaving.

    Hitless is what `proof_services.wave` proves, or where of each pair that works it is proven that it does at every
    line. `seconds_max` is bounded by the wave itself: a pair may be cut off from the first line to the last of the
    switch with the most lines (`LINE_SECONDS` each, and `SESSION_SECONDS` for all that is around them), and then until
    the slowest port that is raised or trains anew carries frames. It does not bound what a switch costs that fails
    among its lines. Of switches that are `unread` nobody knows what works: all pairs count as working, and as
    interrupted.
    """
    pairs = fabric.pairs
    if unread:
        why = f"{', '.join(sorted(unread))} {'was' if len(unread) == 1 else 'were'} not read"
        return Interrupted(pairs, 0, 0, pairs, SESSION_SECONDS, (), why)
    up = fabric.with_links_up()
    works, later = working_pairs(up, _forwarding(fabric, before)), working_pairs(up, _forwarding(fabric, after))
    cut_now, restored = pairs - int(works.sum()), int((later & ~works).sum())
    models = {switch.name: platforms.of(switch) for switch in fabric.live}
    changed = [name for name in models if before[name] is not after[name] and before[name] != after[name]]
    lines = {name: line_effects(models[name], before[name], after[name]) for name in changed}
    harm = guard(fabric, before, lines, AS_PLANNED)  # what nothing can be proven with needs no longer proof
    proven = not harm and proof_services(fabric, duplicates_allowed=duplicates_allowed).wave(before, after)[0].proven
    vlans = (*cut_findings(up, before, after), *astray_findings(up, before, after))
    if not changed or proven:
        return Interrupted(pairs, cut_now, restored, cut_vlans=vlans)
    busiest = max(changed, key=lambda name: lines[name].count)
    sent = difference(before[busiest], after[busiest])
    most = len(render_commands(models[busiest], sent, before[busiest]))
    kept, why = kept_pairs(fabric, before, lines)
    cut = works & ~kept
    if not cut.any():
        return Interrupted(pairs, cut_now, restored, cut_vlans=vlans)
    seconds = SESSION_SECONDS + LINE_SECONDS * most
    seconds += up_seconds(fabric, before, after)
    why = why or "frames may be lost at some line"
    return Interrupted(pairs, cut_now, restored, int(cut.sum()), seconds, _named(fabric, cut), why, cut_vlans=vlans)


def interrupted_by_waves(
    fabric: Fabric,
    before: FabricState,
    after: FabricState,
    paused_seconds: float = 0.0,
    between: Sequence[FabricState] = (),
    seconds: float = 0.0,
) -> Interrupted:
    """Return what waves mean that are proven line by line: they cut off no pair, but while hosts are paused on purpose.

    A pause drops what every host sends, and lasts `paused_seconds`, waits for links to come up among them. Waves that
    only keep the pairs which work before and after each of them may cut some off in the states `between`, for all of
    the `seconds` that they take at most, or for good where those do not work `after`.
    """
    pairs = fabric.pairs
    up = fabric.with_links_up()
    works, later = working_pairs(up, _forwarding(fabric, before)), working_pairs(up, _forwarding(fabric, after))
    cut_now, restored = pairs - int(works.sum()), int((later & ~works).sum())
    vlans = (*cut_findings(up, before, after), *astray_findings(up, before, after))
    if not paused_seconds:
        lost = works & ~later
        why = "it leads where they do not work" if lost.any() else ""
        seconds = math.inf if lost.any() else seconds
        for state in between:
            lost |= works & ~working_pairs(up, state)
        why = why or ("a switch that they go over is set apart for a while" if lost.any() else "")
        seconds = seconds if lost.any() else 0.0
        named = _named(fabric, lost)
        return Interrupted(pairs, cut_now, restored, int(lost.sum()), seconds, named, why, cut_vlans=vlans)
    comes_on = spanning_tree_comes_on(fabric, before, after)
    why = "spanning tree comes on, and its ports forward nothing before they have listened and learned"
    why = why if comes_on else "hosts are paused"
    count = int(works.sum())
    return Interrupted(
        pairs, cut_now, restored, count, paused_seconds, _named(fabric, works), why, paused=True, cut_vlans=vlans
    )


def up_seconds(fabric: Fabric, before: FabricState, after: FabricState) -> float:
    """Return what the slowest port that is raised or trains anew takes until it carries frames, 0 where none is."""
    waits = [0.0]
    for s, switch in enumerate(fabric.switches):
        a, b = before[switch.name], after[switch.name]
        used = np.array(fabric.used_ports[s], np.int64) - 1
        if switch.up and any(
            ((getattr(a, cell) != getattr(b, cell)) & b.enabled)[used].any() for cell in ("enabled", *bouncing(switch))
        ):
            slowest = max(platforms.of(switch).toggle_seconds.values(), default=0.0)
            waits.append(UP_MARGIN * slowest or UP_SECONDS)
    return max(waits)


def _forwarding(fabric: Fabric, state: FabricState) -> FabricState:
    """Return a state with the ports shut of machines that forward nothing: Linux without a bridge."""
    found = dict(state)
    for switch in fabric.live:
        platform, held = platforms.of(switch), state[switch.name]
        if not platform.has_modes and held == factory_state(platform):
            found[switch.name] = replace(held, enabled=np.zeros_like(held.enabled))
    return found


def _named(fabric: Fabric, cut: NDArray[np.bool_]) -> tuple[str, ...]:
    """Name some pairs."""
    return tuple(f"{fabric.hosts[a].name} -> {fabric.hosts[b].name}" for a, b in np.argwhere(cut)[:SHOWN].tolist())
