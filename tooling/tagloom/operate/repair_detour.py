"""Take a detour that is known beforehand: the build that runs, with the PVIDs of some hosts or some entries changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.operate.waves import WaveSequence, digests
from tagloom.pipeline.files import write_build, write_rollout
from tagloom.pipeline.proving import proof_services, prove
from tagloom.platforms.port_names import link_ends, parts_at
from tagloom.records.dead_parts import DeadParts
from tagloom.records.detours import taken
from tagloom.records.rollout import Rollout, Wave
from tagloom.records.switch_state import dead_states
from tagloom.records.wave_proof import AS_PLANNED, ProofAssumptions
from tagloom.render import parse, render
from tagloom.verify import Plan, verify, working_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tagloom.operate.repair_runs import Runs
    from tagloom.records.build import Build
    from tagloom.records.detours import Detour
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState


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


def dead_for(fabric: Fabric, detour: Detour) -> DeadParts:
    """Return what is dead where a detour is for it: one link, or one switch with its links."""
    links, switches, _ = parts_at(fabric, detour.dead)
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


@dataclass(frozen=True)
class DetourWave:
    """A detour as the waves that take it from what runs, proven, and the text of every state in them.

    It is one, and under pinned another where floods are to take another tree. `texts` are by the identity of the state;
    `text_characters` counts what those have that the waves alone need.
    """

    build: Build
    change: Rollout
    texts: Mapping[int, str]
    text_characters: int

    def write(self, templates: Path, directory: Path) -> WaveSequence:
        """Write it as a rollout, and return that."""

        def known(fabric: Fabric, state: FabricState, _templates: Path) -> dict[str, str]:
            return {switch.name: self.texts[id(state[switch.name])] for switch in fabric.live}

        write_rollout(self.build, self.change, templates, directory, known)
        fabric, waves = self.build.fabric, self.change.waves
        states = (self.change.before, *(wave.state for wave in waves))
        return WaveSequence(
            directory,
            fabric,
            states,
            tuple(wave.name for wave in waves),
            tuple(wave.drain_seconds for wave in waves),
            (False,) * len(waves),
            tuple(wave.assumptions for wave in waves),
            self.build.duplicates_allowed,
            digests([known(fabric, state, templates) for state in states], fabric),
        )


def detour_wave(runs: Runs, fabric: Fabric, detour: Detour, templates: Path) -> DetourWave | None:
    """Return the waves that take a detour from what runs, the build without repairs; None where they do not prove.

    Nothing but PVIDs of hosts changes, one line each, so that a frame goes wholly by the paths before or by those
    after; under pinned, entries, of which any mixture leads on. No pair that works is cut off on the way. That is
    proven as any wave: of a dead link for the fabric in which it is back, of a dead switch for pairs that work without
    it; and so is the state after it, without what died.
    Pairs of networks in given VLANs may stay cut off by a dead link: they have no detours, and no other network need
    wait for them. Switches that do not change are neither rendered nor parsed again.
    """
    home = runs.home
    kept = ProofAssumptions(keeping=True)  # what is dead cuts pairs off before it
    link = len(fabric.live) == len(home.fabric.live)  # a detour round a switch does not lead to that, were it back
    whole = link and not detour.entries and not detour.floods  # else floods would part that a link which is back joins
    services = proof_services(home.fabric if whole else fabric, duplicates_allowed=home.duplicates_allowed)
    waves, texts = list[Wave](), dict[int, str]()
    here, before = runs.state, {**runs.state, **dead_states(fabric)}
    for name, why, part in _parts(detour):
        there = taken(here, fabric, part)
        lines = _texts_of_changed(here, there, fabric, templates)
        if lines is None:
            return None
        proof, felt = services.wave(here, there, AS_PLANNED if whole else kept)
        if not proof.proven:
            return None
        after = {**there, **dead_states(fabric)}
        start = waves[-1].state if waves else before
        waves.append(Wave(name, why, start, after, proof, lines=felt, assumptions=kept))
        texts |= {id(after[name]): text for name, text in lines.items()}
        here = there
    around = Plan(None, home.duplicates_allowed, shares=True)
    first, last = (verify(fabric.with_links_up(), state, around) for state in (before, waves[-1].state))
    if not (last.proven or (link and _serves_all_but_given(home, fabric, waves[-1].state))):
        return None
    change = Rollout("detour", before, waves[-1].state, tuple(waves), first, last)
    build = _taken(home, fabric, detour, waves[-1].state)
    count = sum(map(len, texts.values()))
    return DetourWave(build, change, {id(before[name]): text for name, text in runs.texts.items()} | texts, count)


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


def _texts_of_changed(
    before: FabricState, after: FabricState, fabric: Fabric, templates: Path
) -> dict[str, str] | None:
    """Return the texts of the switches that change; None where none does, or one does not read back as it is."""
    moved = [name for name, state in after.items() if state is not before[name]]
    less = replace(fabric, switches=tuple(replace(s, up=s.up and s.name in moved) for s in fabric.switches))
    lines = render(less, after, templates)
    return lines if moved and parse(less, lines)[0] == {**after, **dead_states(less)} else None


def _serves_all_but_given(home: Build, fabric: Fabric, after: FabricState) -> bool:
    """Return whether all pairs but those of networks in given VLANs arrive past a dead link, and all with it back."""
    back = Plan(None, home.duplicates_allowed, shares=True)
    if not fabric.tags or not verify(home.fabric.with_links_up(), after, back).proven:
        return False
    given, lost = dict(fabric.tags), fabric.same_network & ~working_pairs(fabric, after)
    return all(fabric.hosts[h].network in given for h in np.flatnonzero(lost.any(axis=1)).tolist())
