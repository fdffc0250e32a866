"""Put a parallel link that is off in the place of a dead one: the same VLANs and entries, at the ports beside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagloom.operate.interrupting import up_seconds
from tagloom.operate.ready_waves import ReadyWaves, texts_of_changed
from tagloom.pipeline.proving import proof_services
from tagloom.platforms.port_names import link_ends
from tagloom.records.rollout import Rollout, Wave
from tagloom.records.switch_state import Membership, SwitchEditor, dead_states
from tagloom.records.wave_proof import ProofAssumptions
from tagloom.verify import Plan, verify

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tagloom.operate.repair_runs import Runs
    from tagloom.operate.repair_target import Target
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric, Link
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState, SwitchState


@dataclass(frozen=True)
class Spare:
    """A parallel link that is off, `spare`, for a link that is on, `link`: indices; `dead` names the ends of that."""

    link: int
    spare: int
    dead: tuple[str, str]


def spares(home: Fabric, whole: Fabric) -> list[Spare]:
    """List the links of `home` that a parallel one may stand in for which `whole` has on, and `home` off.

    Both are one cable each, of one speed, open to the same networks. Of several, the first counts, which
    `repair_target.target` wakes too.
    """
    asleep: dict[frozenset[int], int] = {}
    for i, (link, there) in enumerate(zip(home.links, whole.links, strict=True)):
        if there.up and not link.up:
            asleep.setdefault(frozenset({link.a, link.b}), i)
    found = []
    for i, link in enumerate(home.links):
        spare = asleep.get(frozenset({link.a, link.b})) if link.up else None
        if spare is not None and _alike(link, home.links[spare]):
            found.append(Spare(i, spare, link_ends(home, i)))
    return found


def spare_for(home: Fabric, whole: Fabric, dead: frozenset[int], wanted: Target) -> Spare | None:
    """Return the spare for the one link that is dead, where it is what a target wakes; None where it is not so."""
    if len(dead) != 1 or wanted.apart:
        return None
    return next((each for each in spares(home, whole) if {each.link} == dead and {each.spare} == wanted.woken), None)


def _alike(link: Link, other: Link) -> bool:
    return not (link.members or other.members) and (link.speed_mbps, link.barred) == (other.speed_mbps, other.barred)


def spare_wave(runs: Runs, fabric: Fabric, spare: Spare, templates: Path) -> ReadyWaves | None:
    """Return the wave by which a spare takes the place of a dead link, from what runs; None where it does not prove.

    `fabric` has the one marked dead and the other on. Only their two switches change: each takes the dead link's port
    out of its VLANs, and gives the port beside all that it had. So paths, trees and the order of channels are what they
    were, with one link for another, and a VLAN needs no other id. That no other pair is cut off on the way, and that
    nothing storms or waits in a cycle wherever the lines interleave and whenever the dead link is back, is proven as of
    any wave.
    """
    home = runs.home
    before = {**runs.state, **dead_states(fabric)}
    after = _exchanged(before, fabric, spare)
    texts = texts_of_changed(before, after, fabric, templates)
    if texts is None:
        return None
    kept = ProofAssumptions(keeping=True)  # what is dead cuts pairs off before it
    proof, felt = proof_services(fabric, duplicates_allowed=home.duplicates_allowed).wave(before, after, kept)
    around = Plan(None, home.duplicates_allowed, shares=True)
    first, last = (verify(fabric.with_links_up(), state, around) for state in (before, after))
    if not (proof.proven and last.proven):
        return None
    why = f"the parallel link takes the place of {' - '.join(spare.dead)}"
    wait = up_seconds(fabric, before, after)  # else the look that follows would find it dead
    wave = Wave("wake", why, before, after, proof, wait, lines=felt, assumptions=kept, until_up=True)
    change = Rollout("wake", before, after, (wave,), first, last)
    build = _build(home, fabric, spare, after, why)
    known = {id(before[name]): text for name, text in runs.texts.items()}
    known |= {id(after[name]): text for name, text in texts.items()}
    return ReadyWaves(build, change, known, sum(map(len, texts.values())))


def _build(home: Build, fabric: Fabric, spare: Spare, state: FabricState, why: str) -> Build:
    routes = replace(_along(home.routes, fabric, spare), reason=f"{why}: {home.routes.reason}")
    return replace(home, fabric=fabric, routes=routes, state=state, load_bound=0.0, detours=(), protection=None)


def _along(routes: Routes, fabric: Fabric, spare: Spare) -> Routes:
    """Return the routes with the channels of one link in place of the other's."""
    link, beside = fabric.links[spare.link], fabric.links[spare.spare]
    old, new = 2 * spare.link, 2 * spare.spare
    ways = {old: new, old + 1: new + 1} if link.a == beside.a else {old: new + 1, old + 1: new}

    def named(channels: NDArray[np.int32]) -> NDArray[np.int32]:
        found = channels.copy()
        for before, after in ways.items():
            found[channels == before] = after
        return found

    relation = routes.relation
    if relation is not None:
        following = named(relation.following)
        for before, after in ways.items():
            following[[before, after]] = following[[after, before]]
        relation = replace(relation, first=named(relation.first), following=following)
    return replace(routes, parent=None if routes.parent is None else named(routes.parent), relation=relation)


def _exchanged(state: FabricState, fabric: Fabric, spare: Spare) -> FabricState:
    """Return a state in which a spare has the VLANs, floods and entries of a link, which has those of the spare."""
    link, beside = fabric.links[spare.link], fabric.links[spare.spare]
    ports = {s: (link.port_at(s), beside.port_at(s)) for s in (link.a, link.b)}
    names = {s: fabric.switches[s].name for s in ports}
    return {**state, **{names[s]: _with_ports_exchanged(state[names[s]], *each) for s, each in ports.items()}}


def _with_ports_exchanged(state: SwitchState, old: int, new: int) -> SwitchState:
    """Return a state in which port `new` forwards as `old` did, and `old`, open to be noticed once it is up, as `new`.

    All else that a port holds is the same on every link of a plan, or the cable's own: its speed, negotiation, EEE.
    """
    editor = SwitchEditor.of(state)
    pvid, flooding = editor.pvid, editor.flooding
    pvid[old - 1], pvid[new - 1] = pvid[new - 1], pvid[old - 1]
    flooding[old - 1], flooding[new - 1] = flooding[new - 1], flooding[old - 1]
    editor.enabled[new - 1] = True
    for vlan, members in editor.members.items():
        held = [members.get(port, Membership.NONE) for port in (new, old)]
        for port, how in zip((old, new), held, strict=True):
            editor.set_member(vlan, port, how)
    for (vlan, mac), at in list(editor.entries.items()):
        if old in at:
            editor.set_entry(vlan, mac, [new if port == old else port for port in at])
    return editor.freeze()
