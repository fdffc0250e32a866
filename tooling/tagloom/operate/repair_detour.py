"""Take a detour that was installed beforehand: the build that runs, with the PVIDs of some hosts changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.pipeline.files import write_build
from tagloom.pipeline.proving import prove
from tagloom.platforms.port_names import link_ends
from tagloom.records.switch_state import SwitchEditor, dead_states
from tagloom.render import render

if TYPE_CHECKING:
    from pathlib import Path

    from tagloom.records.build import Build
    from tagloom.records.dead_parts import DeadParts
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


def write_detour(home: Build, fabric: Fabric, detour: Detour, templates: Path, directory: Path) -> bool:
    """Write the build with a detour taken, for a `fabric` with its dead part marked; return whether it proves.

    Nothing but PVIDs of hosts differs from what runs, so that one wave does it. Ports of what is dead stay as they are:
    that nothing goes wrong when it is back is proven with the plan.
    """
    state: FabricState = {**home.state, **dead_states(fabric)}
    moved: dict[str, SwitchEditor] = {}
    for host in fabric.hosts:
        if host.name in detour.pvids:
            name = fabric.switches[host.switch].name
            moved.setdefault(name, SwitchEditor.of(state[name])).pvid[host.port - 1] = detour.pvids[host.name]
    state |= {name: editor.freeze() for name, editor in moved.items()}
    texts = render(fabric, state, templates)
    _, proof = prove(fabric, texts, None, duplicates_allowed=home.duplicates_allowed)
    if not proof.proven:
        return False
    left = {host.name for host in fabric.hosts}
    kept = np.array([host.name in left for host in home.fabric.hosts], np.bool_)
    reason = f"a detour around {' - '.join(detour.dead)} is taken: {home.routes.reason}"
    routes = replace(home.routes, source_of_host=home.routes.source_of_host[kept], reason=reason)
    build = replace(home, fabric=fabric, routes=routes, state=state, load_bound=0.0, detours=(), protection=None)
    write_build(build, proof, texts, directory)
    return True
