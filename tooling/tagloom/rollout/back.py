"""Lead a plan back to spanning tree: the waves from there to it, in reverse, each proven again."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from tagloom.errors import PlanError
from tagloom.rollout.choose import UP_MARGIN, UP_SECONDS, timed
from tagloom.rollout.greenfield import OFF, STRIP
from tagloom.rollout.steps import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tagloom.records.rollout import Rollout, Wave
    from tagloom.rollout.services import ProofServices

ON = "spanning tree on"
# Until every port forwards: what was heard of a wrong root ages, then a port listens and learns: maximum age 20 s,
# twice the forward delay 15 s (IEEE 802.1D-2004, table 17-1; 802.1w is faster).
CONVERGING_SECONDS = 50.0
_WHY = (
    "spanning tree comes on at once everywhere: VLAN 1 is on its tree alone, so nothing can loop; ports that join "
    "forward nothing until they have listened and learnt"
)
_ASSUMED = "spanning tree settles on the tree that it had, as root, priorities and costs are what they were"


def to_spanning_tree(forward: Rollout, services: ProofServices) -> Rollout:
    """Return proven waves from where `forward` leads, a plan, to where it begins, a network under spanning tree.

    Until spanning tree is on everywhere, VLAN 1 is only on the links that it keeps active; then it returns to the
    others, which spanning tree blocks. Turning it on may cut every pair for CONVERGING_SECONDS: that is announced as
    downtime. Raises PlanError if `forward` pauses hosts, or a wave is not proven in reverse.
    """
    if any(wave.paused or wave.downtime_seconds for wave in forward.waves):
        rule = "the way back to spanning tree is that of a plan without flow control, whose links are not retrained"
        raise PlanError(
            rule, "the way there pauses the hosts", 'flow_control: "off" in the fabric file, and plan again'
        )
    waves = []
    for before, wave in _in_reverse(forward.waves):
        name, why = (ON, _WHY) if wave.name == OFF else (f"{wave.name}, back", f"takes back: {wave.why}")
        wait = CONVERGING_SECONDS if name == ON else max(wave.drain_seconds, _up_seconds(wave, services))
        step = Step(
            name,
            why,
            wave.before,
            wait,
            replace(wave.assumptions, blocked=frozenset()) if name == ON else wave.assumptions,
        )
        proof, lines = services.wave(wave.state, wave.before, step.assumptions)
        if not proof.proven:
            rule = "every wave back to spanning tree must prove"
            raise PlanError(rule, f"{name}: {proof.findings[0]}", "tagloom rollback, while the rollout is the last run")
        back = timed(wave.state, step, proof, lines)
        down = back.expected_seconds if name == ON else 0.0
        waves.append(replace(back, downtime_seconds=down, floods=before is None or before.floods))
    assumed = "; ".join(filter(None, (forward.assumed, _ASSUMED)))
    return replace(
        forward,
        strategy="spanning-tree",
        before=forward.after,
        after=forward.before,
        waves=tuple(waves),
        before_proof=forward.after_proof,
        after_proof=forward.before_proof,
        assumed=assumed,
    )


def _in_reverse(waves: Sequence[Wave]) -> list[tuple[Wave | None, Wave]]:
    """Return each wave with the one before it, last first; those that turn spanning tree off are one.

    The first of all, in which ports change their mode beside all else, is two: a mode is changed back only at a port
    that is in VLAN 1 alone, as in every mode's default.
    """
    joined: list[Wave] = []
    for off, some in groupby(waves, lambda wave: wave.name == OFF):
        group = list(some)
        joined += [replace(group[0], state=group[-1].state)] if off else group
    at = next(i for i, wave in enumerate(joined) if wave.name == STRIP)
    strip = joined[at]
    general = {name: replace(held, mode=strip.state[name].mode) for name, held in strip.before.items()}
    joined[at : at + 1] = [replace(strip, name="mode", state=general, floods=True), replace(strip, before=general)]
    return list(zip([None, *joined[:-1]], joined, strict=True))[::-1]


def _up_seconds(wave: Wave, services: ProofServices) -> float:
    """Return how long ports that `wave` shuts take until they carry frames once it is taken back."""
    waits = [0.0]
    for s, name in enumerate(wave.before):
        if (wave.before[name].enabled & ~wave.state[name].enabled).any():
            waits.append(UP_MARGIN * services.up_seconds(s, "on_off") or UP_SECONDS)
    return max(waits)
