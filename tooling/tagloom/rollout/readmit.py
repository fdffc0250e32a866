"""Readmit a switch that came back with an old configuration: isolate it, configure it, then join it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.records.rollout import Rollout, Wave
from tagloom.records.switch_state import DEFAULT_VLAN, DISCARD_PVID, Membership, SwitchEditor
from tagloom.records.wave_proof import ProofAssumptions
from tagloom.rollout.choose import SESSION_SECONDS, UP_MARGIN, UP_SECONDS, keeping
from tagloom.rollout.layers import without

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.rollout.services import ProofServices


def readmission(fabric: Fabric, before: FabricState, after: FabricState, services: ProofServices, name: str) -> Rollout:
    """Return the waves that bring switch `name` to `after`, and the others with it if they hold something else.

    Isolate: its neighbours shut their ports to it, so that its state affects no other switch. Bring: it is configured
    over a path outside the fabric, or over the one link of its management VLAN, without VLANs yet if others hold
    another plan. Join: those ports are opened, in one wave or with the waves that lead all to `after`. Every pair of
    hosts that works goes on working, except for frames over the switch before it was isolated: about those nothing is
    proven. Raises PlanError if others are managed over the switch, or no such waves are found.
    """
    s = fabric.index[name]
    isolated = _isolated(fabric, before, s)
    apart = ProofAssumptions(keeping=True, apart=frozenset({s}))
    others = [
        n for n in before if n != name and before[n] != after[n] and isolated[n] != _isolated(fabric, after, s)[n]
    ]
    configured = {**isolated, name: _without_own_vlans(fabric, s, after[name]) if others else after[name]}
    waves: list[Wave] = []
    here = before
    for step, there in (("isolate", isolated), ("bring", configured)):
        _append_wave(waves, services, step, name, here, there, apart)
        here = there
    joined = keeping(fabric, here, after, services) if others else None
    if joined is not None:
        waves += joined.waves
    elif others:
        rule = "the others are led to the build together with the switch that came back"
        next_step = f"tagloom plan --previous BUILD-THAT-RUNS, and apply that with --readmit {name}"
        witness = f"no waves were found that keep all pairs; {', '.join(others)} hold something else"
        raise PlanError(rule, witness, next_step, ("plan --previous BUILD",))
    else:
        up = max((services.up_seconds(t, "on_off") for t in range(len(fabric.switches))), default=0.0)
        _append_wave(
            waves, services, "join", name, here, after, ProofAssumptions(keeping=True), UP_MARGIN * up or UP_SECONDS
        )
    return Rollout("readmit", before, after, tuple(waves), services.verify(before), services.verify(after))


def isolation(fabric: Fabric, before: FabricState, services: ProofServices, name: str) -> Rollout:
    """Return the one wave by which the neighbours of switch `name` shut their ports to it; none where they are shut.

    What `before` has of the switch itself bears on nothing. Raises PlanError as `readmission` does.
    """
    after = _isolated(fabric, before, fabric.index[name])
    apart = ProofAssumptions(keeping=True, apart=frozenset({fabric.index[name]}))
    waves: list[Wave] = []
    _append_wave(waves, services, "isolate", name, before, after, apart)
    return Rollout("isolate", before, after, tuple(waves), services.verify(before), services.verify(after))


def _append_wave(
    waves: list[Wave],
    services: ProofServices,
    step: str,
    name: str,
    here: FabricState,
    there: FabricState,
    assumptions: ProofAssumptions,
    wait_seconds: float = 0.0,
) -> None:
    """Append a proven wave, unless nothing changes. Raises PlanError if it is not proven."""
    if here == there:
        return
    proof, lines = services.wave(here, there, assumptions)
    if not proof.proven:
        rule = f"every pair that works goes on working while {name} is readmitted"
        advice = f"apply BUILD --without {name}"
        raise PlanError(rule, f"wave {step}: {proof.findings[0]}", f"tagloom {advice}, then again", (advice,))
    why = {
        "isolate": f"the neighbours of {name} shut their ports to it: what it holds bears on nobody",
        "bring": f"{name} takes its configuration, apart from all others",
        "join": f"the ports to {name} are opened",
    }[step]
    seconds = SESSION_SECONDS + wait_seconds
    waves.append(Wave(step, why, here, there, proof, wait_seconds, seconds, lines, assumptions=assumptions))


def _isolated(fabric: Fabric, state: FabricState, s: int) -> FabricState:
    """Return a state with all ports of other switches that lead to switch `s` shut, but those that it is managed over.

    These are open, also where they were shut since the switch was dead, unless VLANs of tagloom's are on them. Over one
    link alone a switch leads no frame on: it never sends one out of the port that it came in by. Raises PlanError.
    """
    refuse_in_band(fabric, fabric.switches[s].name)
    kept = fabric.management.links if fabric.management is not None else ()
    found = dict(state)
    for link, a, port, b, far_port in fabric.cables.tolist():
        if s not in (a, b) or a == b:
            continue
        t, p = (b, far_port) if a == s else (a, port)
        held = found[fabric.switches[t].name]
        if link in kept and (held.enabled[p - 1] or _carries(held, p)):
            continue
        enabled = held.enabled.copy()
        enabled[p - 1] = link in kept
        found[fabric.switches[t].name] = replace(held, enabled=enabled)
    return found


def _carries(state: SwitchState, port: int) -> bool:
    """Return whether a port is in some VLAN of tagloom's."""
    rows = [state.vlan_index[vlan] for vlan in state.owned_vlans]
    return bool((state.membership[rows, port - 1] != Membership.NONE).any())


def refuse_in_band(fabric: Fabric, name: str) -> None:
    """Raise PlanError where switches are managed over the fabric's own links, and others over this one.

    Those cannot be read, nor told to shut their ports to it: the way to them was over it. A switch that ends the tree
    of the management VLAN has one link of it, over which it is reached while all others are shut.
    """
    if fabric.management is None:
        return
    s = fabric.index[name]
    ends = [(fabric.links[i].a, fabric.links[i].b) for i in fabric.management.links]
    if s == fabric.management.switch:
        witness = f"tagloom's own computer is plugged in at {name}: nobody else is reached while it is missing"
    elif sum(s in each for each in ends) > 1:
        witness = f"management: goes over {name}'s links to others, which are not reached while it is missing"
    else:
        return
    rule = (
        "a switch is isolated only where it is reached by a way that is not the fabric's, or ends its management VLAN"
    )
    next_step = (
        "reach every switch by a port of its own, take management: out of the fabric file, tagloom plan FABRIC "
        "--previous BUILD -o NEW, then the same command with NEW"
    )
    raise PlanError(rule, witness, next_step)


def managed_state(fabric: Fabric, planned: SwitchState, name: str) -> SwitchState:
    """Return the state in which a new switch that ends the management VLAN is reached, and leads nothing on.

    As `planned` for it, but without VLANs of tagloom's, and with the management VLAN tagged on its one link.
    """
    s, found = fabric.index[name], fabric.management
    assert found is not None  # noqa: S101 - else there is no such VLAN
    editor = SwitchEditor.of(_without_own_vlans(fabric, s, planned))
    if found.vlan not in editor.vlans:
        editor.create_vlan(found.vlan)
    for link, a, port, b, far_port in fabric.cables.tolist():
        if link in found.links and s in (a, b):
            editor.set_member(found.vlan, port if a == s else far_port, Membership.TAGGED)
    return editor.freeze()


def _without_own_vlans(fabric: Fabric, s: int, state: SwitchState) -> SwitchState:
    """Return a planned state of switch `s` without tagloom's VLANs: its ports drop untagged frames."""
    bare = without(state, set(state.owned_vlans))
    pvid = bare.pvid.copy()
    discards = platforms.of(fabric.switches[s]).pvid_is_membership
    pvid[np.array(fabric.used_ports[s], np.int64) - 1] = DISCARD_PVID if discards else DEFAULT_VLAN
    return replace(bare, pvid=pvid)
