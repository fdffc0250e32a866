"""Take a detour that is known beforehand: the build that runs, with the PVIDs of some hosts or some entries changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.operate.ready_waves import ReadyWaves, texts_of_changed
from tagloom.pipeline.files import write_build
from tagloom.pipeline.proving import proof_services, prove
from tagloom.platforms.port_names import link_ends, parts_at
from tagloom.records.dead_parts import DeadParts
from tagloom.records.detours import taken
from tagloom.records.host_entries import without_entries
from tagloom.records.rollout import Rollout, Wave
from tagloom.records.switch_state import dead_states
from tagloom.records.wave_proof import AS_PLANNED, ProofAssumptions
from tagloom.render import render
from tagloom.verify import Plan, verify, working_pairs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from tagloom.operate.repair_runs import Runs
    from tagloom.records.build import Build
    from tagloom.records.detours import Detour
    from tagloom.records.fabric import Fabric, Link
    from tagloom.records.findings import Findings
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.rollout import ProofServices

_KEPT = ProofAssumptions(keeping=True)  # what is dead cuts pairs off beforehand


def detour_for(home: Build, dead: DeadParts) -> Detour | None:
    """Return the detour that a build has for what is dead, None where it has none: one link, or one switch."""
    fabric = home.fabric
    if len(dead.switches) == 1:
        (s,) = dead.switches
        alone = all(s in (fabric.links[i].a, fabric.links[i].b) for i in dead.links)
        parts = {fabric.switches[s].name} if alone else set()
    else:
        parts = set(link_ends(fabric, *dead.links)) if len(dead.links) == 1 and not dead.switches else set()
    return next((each for each in home.detours if set(each.dead) == parts), None)


def dead_for(fabric: Fabric, parts: Collection[str]) -> DeadParts:
    """Return what is dead where a detour or a spare is for it: one link, by its ends, or one switch with its links."""
    links, switches, _ = parts_at(fabric, parts)
    beside = {i for i, link in enumerate(fabric.links) if link.up and {link.a, link.b} & set(switches)}
    return DeadParts(frozenset(links) | beside, frozenset(switches))


def write_detour(home: Build, fabric: Fabric, detour: Detour, templates: Path, directory: Path) -> bool:
    """Write the build with a detour taken, for a `fabric` with its dead part marked; return whether it proves.

    Nothing but PVIDs of hosts differs from what runs, so that one wave does it; under pinned, entries and where floods
    pass. Ports of what is dead stay as they are: that nothing goes wrong when it is back is proven with the plan.
    """
    state: FabricState = {**taken(home.state, fabric, detour), **dead_states(fabric)}
    texts = render(fabric, state, templates)
    _, proof = prove(fabric, texts, None, duplicates_allowed=home.duplicates_allowed)
    if not proof.proven:
        return False
    build = _taken(home, fabric, detour, state)
    write_build(build, proof, texts, directory)
    return True


def _taken(home: Build, fabric: Fabric, detour: Detour, state: FabricState) -> Build:
    """Return the build with a detour taken."""
    left = {host.name for host in fabric.hosts}
    kept = np.array([host.name in left for host in home.fabric.hosts], np.bool_)
    reason = f"a detour around {' - '.join(detour.dead)} is taken: {home.routes.reason}"
    routes = replace(home.routes, source_of_host=home.routes.source_of_host[kept], reason=reason)
    return replace(home, fabric=fabric, routes=routes, state=state, load_bound=0.0, detours=(), protection=None)


def detour_wave(runs: Runs, fabric: Fabric, detour: Detour, templates: Path) -> ReadyWaves | None:
    """Return the waves that take a detour from what runs, the build without repairs; None if they do not prove.

    Nothing but PVIDs of hosts changes, one line each, so that a frame goes wholly by the paths before or by those
    after; under pinned, entries, of which any mixture leads on. No pair that works is cut off on the way. That is
    proven as any wave: of a dead link for the fabric in which it is back, of a dead switch for pairs that work without
    it, while frames to its hosts are followed to its dead links; and so is the state after it, without what died.
    A detour that leaves pairs cut off is not `complete`, but restores others and does no harm. Pairs of networks in
    given VLANs are not counted: they have no detours around a dead link, and no other network need wait for them.
    Switches that do not change are neither rendered nor parsed again.
    """
    home = runs.home
    steps = _steps(runs, fabric, detour, templates)
    if not steps:
        return None
    link = len(fabric.live) == len(home.fabric.live)  # a detour round a switch does not lead to that, were it back
    whole = link and not detour.entries and not detour.floods  # else floods would part that a link which is back joins
    judged = home.fabric if whole else fabric
    if not link and home.assignment == "pinned":  # entries for the dead switch's hosts stay
        judged = home.fabric.with_links_dead(_links_lost(home.fabric, fabric))
    before, after = ({**state, **dead_states(fabric)} for state in (runs.state, steps[-1].there))
    around = Plan(None, home.duplicates_allowed, shares=True)
    dead = home.fabric.host_of_mac.keys() - fabric.host_of_mac.keys()  # entries for these bear on no other frame
    first, last = (verify(fabric.with_links_up(), without_entries(state, dead), around) for state in (before, after))
    left = 0 if last.proven else _pairs_left(fabric, before, after, link=link)
    if left is None:
        return None
    waves = _waves(home, fabric, steps, [(judged, AS_PLANNED if whole else _KEPT)], before)
    if not waves and not last.proven and link:  # with the link back, some pairs would be cut off until paths go home
        waves = _waves(home, fabric, steps, [(home.fabric, _KEPT), (fabric, _KEPT)], before)
    back = verify(home.fabric.with_links_up(), after, around) if link and not last.proven else last
    if not waves or not (_harmless(back) and (last.proven or _harmless(last))):
        return None
    change = Rollout("detour", before, waves[-1].state, tuple(waves), first, last)
    build = _taken(home, fabric, detour, waves[-1].state)
    lines = {
        id(wave.state[name]): text for wave, step in zip(waves, steps, strict=True) for name, text in step.lines.items()
    }
    known = {id(before[name]): text for name, text in runs.texts.items()} | lines
    complete = last.proven or (left == 0 and back.proven)
    return ReadyWaves(build, change, known, sum(map(len, lines.values())), complete)


@dataclass(frozen=True)
class _StepOfDetour:
    """A part of a detour: the states before and after it, and the texts of the switches that change, by name."""

    name: str
    why: str
    here: FabricState
    there: FabricState
    lines: Mapping[str, str]


def _steps(runs: Runs, fabric: Fabric, detour: Detour, templates: Path) -> list[_StepOfDetour]:
    """Return the steps of a detour from what runs; none if one changes nothing or does not read back."""
    steps, here = list[_StepOfDetour](), runs.state
    for name, why, part in _parts(detour):
        there = taken(here, fabric, part)
        lines = texts_of_changed(here, there, fabric, templates)
        if lines is None:
            return []
        steps.append(_StepOfDetour(name, why, here, there, lines))
        here = there
    return steps


def _waves(
    home: Build,
    fabric: Fabric,
    steps: Sequence[_StepOfDetour],
    judges: Sequence[tuple[Fabric, ProofAssumptions]],
    before: FabricState,
) -> list[Wave]:
    """Return the steps of a detour as waves that are proven for each fabric of `judges`; none if one is not."""
    waves = list[Wave]()
    for step in steps:
        for judged, under in judges:
            services = proof_services(judged, duplicates_allowed=home.duplicates_allowed)
            proof, felt = services.wave(step.here, step.there, under)
            if not proof.proven:
                return []
        after = {**step.there, **dead_states(fabric)}
        start = waves[-1].state if waves else before
        waves.append(Wave(step.name, step.why, start, after, proof, lines=felt, assumptions=_KEPT))
    return waves


def _pairs_left(fabric: Fabric, before: FabricState, after: FabricState, *, link: bool) -> int | None:
    """Return how many pairs a detour leaves cut off; None if one of them was not before it.

    A detour may restore nothing but broadcasts, without which pairs do not find each other. Pairs of networks in given
    VLANs are not counted if a link is dead: they have no detours.
    """
    was, now = (fabric.same_network & ~working_pairs(fabric, state) for state in (before, after))
    if (now & ~was).any():
        return None
    given = dict(fabric.tags) if link else {}
    return int(now[[host.network not in given for host in fabric.hosts]].sum())


def rejoin_waves(runs: Runs, templates: Path) -> ReadyWaves | None:
    """Return the waves home from a detour round a switch under pinned, once it is back with what it held before.

    Floods keep the tree that they took, and go to the switch by one of its links: it ceases to flood the others in a
    first wave. In a second the far end floods that one, and entries go home. No pair that works is cut off on the way,
    and no switch is set apart. None where what runs is no such detour, or no link serves.
    """
    home, fabric = runs.home, runs.home.fabric
    gone = [s for s, switch in enumerate(runs.fabric.switches) if fabric.switches[s].up and not switch.up]
    detour = next((each for each in home.detours if [fabric.index.get(part) for part in each.dead] == gone), None)
    if home.assignment != "pinned" or detour is None:
        return None
    around = taken(home.state, runs.fabric, detour)
    if any(runs.state[each.name] != around[each.name] for each in runs.fabric.live):
        return None
    name = fabric.switches[gone[0]].name
    here: FabricState = {**runs.state, name: home.state[name]}
    services = proof_services(fabric, duplicates_allowed=home.duplicates_allowed)
    shared = Plan(None, home.duplicates_allowed, shares=True)
    for link in _up_at(fabric, gone[0]):
        leaf, there = _states_home(home, here, gone[0], link)
        waves = _rejoining(services, here, leaf, there)
        last = verify(fabric.with_links_up(), there, shared)
        if not waves or not last.proven:
            continue
        first = verify(fabric.with_links_up(), here, shared)
        known = [(state, render(fabric, state, templates)) for state in (here, leaf, there)]
        texts = {id(state[each]): text for state, lines in known for each, text in lines.items()}
        reason = f"paths go home from a detour around {name}: {home.routes.reason}"
        build = replace(home, state=there, routes=replace(home.routes, reason=reason), detours=(), protection=None)
        change = Rollout("rejoin", here, there, waves, first, last)
        return ReadyWaves(build, change, texts, sum(map(len, texts.values())))
    return None


def _states_home(home: Build, here: FabricState, s: int, link: Link) -> tuple[FabricState, FabricState]:
    """Return two states on the way home from `here`: switch `s` floods one link alone, and its far end floods that."""
    fabric = home.fabric
    name, own = fabric.switches[s].name, link.port_at(s)
    beyond = link.b if link.a == s else link.a
    far = link.port_at(beyond)
    alone = here[name].flooding.copy()
    for each in _up_at(fabric, s):
        alone[each.port_at(s) - 1] = each.port_at(s) == own
    leaf = {**here, name: _as_held(here[name], replace(here[name], flooding=alone))}
    there = {each: replace(held, flooding=leaf[each].flooding) for each, held in home.state.items()}
    floods = there[fabric.switches[beyond].name].flooding.copy()
    floods[far - 1] = True
    there[fabric.switches[beyond].name] = replace(there[fabric.switches[beyond].name], flooding=floods)
    return leaf, {each: _as_held(leaf[each], held) for each, held in there.items()}


def _rejoining(services: ProofServices, here: FabricState, leaf: FabricState, there: FabricState) -> tuple[Wave, ...]:
    """Return the proven waves that lead from `here` over `leaf` to `there`, none where one does not prove."""
    kept, waves, before = ProofAssumptions(keeping=True), list[Wave](), here
    steps = ("what is back floods one of its links alone", leaf), ("floods reach it there, entries go home", there)
    for why, after in steps:
        if all(after[each] is before[each] for each in after):
            continue
        proof, felt = services.wave(before, after, kept)
        if not proof.proven:
            return ()
        waves.append(Wave("rejoin", why, before, after, proof, lines=felt, assumptions=kept))
        before = after
    return tuple(waves)


def _up_at(fabric: Fabric, s: int) -> list[Link]:
    """Return the links of a switch that are up."""
    return [link for link in fabric.links if link.up and s in (link.a, link.b)]


def _as_held(held: SwitchState, wanted: SwitchState) -> SwitchState:
    """Return `held` itself where it is what is wanted: a wave sends nothing to such a switch."""
    return held if held == wanted else wanted


def _links_lost(home: Fabric, fabric: Fabric) -> set[int]:
    """Return the links of switches that are down in a fabric, and not in `home`."""
    lost = {s for s, switch in enumerate(fabric.switches) if not switch.up and home.switches[s].up}
    return {i for i, link in enumerate(home.links) if {link.a, link.b} & lost}


def _parts(detour: Detour) -> list[tuple[str, str, Detour]]:
    """Return the names of a detour's waves, why they are, and what each changes.

    What is dead floods no more before other ports do, or a link that comes back would close a ring.
    """
    dead = " - ".join(detour.dead)
    less = {switch: {port: on for port, on in ports.items() if not on} for switch, ports in detour.floods.items()}
    parts = [("detour", f"hosts take the detours around {dead}", replace(detour, floods=less))]
    if any(on for ports in detour.floods.values() for on in ports.values()):
        parts.append(("floods", f"floods take another tree around {dead}", replace(detour, pvids={}, entries={})))
    return parts


def _harmless(proof: Findings) -> bool:
    """Return whether nothing is wrong in a state but that some frames do not arrive."""
    return proof.storm_free and proof.deadlock_free and proof.isolated and proof.foreign_safe
