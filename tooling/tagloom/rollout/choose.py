"""Choose the shortest proven order of waves between two states of a fabric.

Every strategy composes waves, and a wave counts only once it is proven down to the single command line. Strategies that
cannot be proven are reported with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import AT_ONCE, Finding, InputError, PlanError, UnwritableError, one_of
from tagloom.graph.cycles import find_cycle, ranks
from tagloom.graph.numbering import renumbered
from tagloom.graph.trees import flooding_links
from tagloom.records.carrier import links_on
from tagloom.records.change import difference
from tagloom.records.rollout import Rollout, Wave
from tagloom.records.switch_state import MAX_VLAN, FlowControl, Membership
from tagloom.records.wave_proof import AS_PLANNED, ProofAssumptions
from tagloom.rollout.acyclic import Acyclic, acyclic, together
from tagloom.rollout.greenfield import greenfield, plain_end
from tagloom.rollout.layers import bouncing, leaving, retrained, with_links_of_both
from tagloom.rollout.outside import spanning_steps
from tagloom.rollout.per_port import per_port
from tagloom.rollout.steps import Change, Step, paused, piecewise, through, unpaused
from tagloom.rollout.trees import chain, tree_state, trees_beside
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.records.wave_proof import WaveProof
    from tagloom.rollout.acyclic import Edges
    from tagloom.rollout.services import ProofServices
    from tagloom.rollout.spanning import Spanning

STRATEGIES = ("auto", "direct", "batches", "park", "per-port", "slides", "pause-off", "drain")
DRAIN_SECONDS = 5.0  # the bound without PAUSE is 6 ms; with PAUSE and fair outputs 0.35 s over 4 hops (128 kB buffers)
LONGEST_DRAIN_SECONDS = 60.0  # with PAUSE the bound grows as the inputs of a switch to the power of the hops
BUFFER_SECONDS = 128_000 * 8 / 1e9  # an output's buffer at 1 Gb/s
UP_MARGIN = 3.0  # times the slowest port of Koibuchi et al. 2011, table 6
UP_SECONDS = 10.0  # for models that the table lacks
FULL_SPEED_MBPS = 1000
LINE_SECONDS = 0.02  # a command's echo and prompt; to be measured on the first real switch
SESSION_SECONDS = 2.5  # login, read-back and save, as the virtual rack takes; to be measured likewise
BATCHED_HOSTS = 256  # most hosts for which source batches are tried
TREES_TRIED = 4  # of those whose turns fit: they differ in the table space they need


def choose(
    fabric: Fabric,
    before: FabricState,
    after: FabricState,
    services: ProofServices,
    *,
    strategy: str = "auto",
    allow_drain: bool = False,
    renumber: bool = True,
) -> Rollout:
    """Return proven waves from `before` to `after`, or raise PlanError saying why none was found.

    With `renumber`, VLANs of `after` get other ids if an id of `before` names something else. A `strategy` other than
    "auto" is tried alone. Hosts are paused only with `allow_drain`, and only if nothing else was found. Raises
    InputError for an unknown strategy.
    """
    if found := unfit(strategy, allow_drain=allow_drain):
        raise InputError(found)
    if renumber:
        after = renumbered(before, after, fabric.first_vlan)
    before_proof, after_proof = services.verify(before), None
    if not before_proof.proven:
        witness = str(before_proof.findings[0]) if before_proof.findings else "unreachable pairs"
        rule, next_step = "a rollout starts from a fabric that proves", f"tagloom {AT_ONCE} sets it up in one go"
        raise PlanError(rule, witness, next_step, (AT_ONCE,))
    if before == after:
        return Rollout("unchanged", before, after, (), before_proof, before_proof)
    after_proof = services.verify(after)
    if not after_proof.proven:
        witness = str(after_proof.findings[0]) if after_proof.findings else "unreachable pairs"
        raise PlanError("a rollout ends in a state that proves", witness, "tagloom plan", ("plan",))
    if steps := spanning_steps(fabric, before, after):
        request = _Request(fabric, before, steps[-1].state, services)
        first = _proven(request, _Plan("spanning tree", steps))
        assert first is not None, request.refused  # noqa: S101 - it runs on no port of the fabric at either end
        rest = choose(
            fabric, first[-1].state, after, services, strategy=strategy, allow_drain=allow_drain, renumber=False
        )
        how = rest.strategy if rest.waves else "spanning tree"
        return replace(rest, strategy=how, before=before, waves=(*first, *rest.waves), before_proof=before_proof)
    request = _Request(fabric, before, after, services)
    for plan in _candidates(request, strategy, allow_drain=allow_drain):
        waves = _proven(request, plan)
        if waves is not None:
            reason = "; ".join(dict.fromkeys(request.refused))
            return Rollout(plan.strategy, before, after, waves, before_proof, after_proof, reason)
    raise _refusal(request, strategy, allow_drain=allow_drain)


def keeping(fabric: Fabric, before: FabricState, after: FabricState, services: ProofServices) -> Rollout | None:
    """Return waves from an unproven state by which every pair that works goes on working.

    Return None if no such waves are found, or if VLANs of `after` would need other ids.
    """
    if renumbered(before, after, fabric.first_vlan) != after:
        return None
    after_proof = services.verify(after)
    request = _Request(fabric, before, after, services)
    if any(find_cycle(len(fabric.tail), *edges) for edges in (request.old, request.new)):
        return None
    under = ProofAssumptions(keeping=True)
    try:
        for plan in _candidates(request, "auto", allow_drain=False):
            steps = [replace(step, assumptions=under) for step in plan.steps if step.assumptions == AS_PLANNED]
            waves = _proven(request, replace(plan, steps=steps)) if len(steps) == len(plan.steps) else None
            if waves is not None:
                return Rollout(plan.strategy, before, after, waves, services.verify(before), after_proof)
    except PlanError:  # a state in between cannot be written for the model: what runs is unlike a plan
        return None
    return None


def from_factory(
    fabric: Fabric,
    before: FabricState,
    after: FabricState,
    services: ProofServices,
    tree: Spanning,
    *,
    assumed: str = "",
    allow_drain: bool = False,
) -> Rollout:
    """Return proven waves from the factory's VLAN 1 under spanning tree, whose active tree is `tree`, to `after`.

    Changes that take links down for a moment, flow control included, come last, as a rollout of their own between two
    plans. `assumed` says what of `tree` was not read from the switches. Raises PlanError if a wave is not proven.
    """
    end = plain_end(before, after)
    before_proof, end_proof = services.verify(before), services.verify(end)
    if not end_proof.proven:
        raise PlanError("a rollout ends in a state that proves", str(end_proof.findings[0]), "tagloom plan", ("plan",))
    request = _Request(fabric, before, end, services)
    unused = request.unused_vlans(1)
    if not unused:
        rule = f"a VLAN id of {fabric.first_vlan} to {MAX_VLAN} that no switch has, for the time of the rollout"
        raise PlanError(rule, "none is free", "vlans: {first: N} in the fabric file, and plan again")
    steps = greenfield(request.change, tree, unused[0])
    waves = _proven(request, _Plan("greenfield", steps))
    if waves is None:
        rule, next_step = "every wave from the factory's state must prove", f"tagloom {AT_ONCE} sets it up in one go"
        raise PlanError(rule, "; ".join(request.refused), next_step, (AT_ONCE,))
    last = choose(fabric, end, after, services, allow_drain=allow_drain)
    return Rollout(
        "greenfield", before, last.after, (*waves, *last.waves), before_proof, last.after_proof, assumed=assumed
    )


def unfit(strategy: str, *, allow_drain: bool = False) -> list[Finding]:
    """Return findings against a requested strategy."""
    if strategy not in STRATEGIES:
        return [Finding("--strategy", one_of(STRATEGIES, strategy), repr(strategy))]
    if strategy == "drain" and not allow_drain:
        return [Finding("--strategy drain", "--allow drain beside it", "hosts may not be paused")]
    return []


@dataclass(frozen=True)
class _Plan:
    strategy: str
    steps: list[Step]


class _Request:
    """A requested change, the facts known about it, and why strategies were refused so far."""

    def __init__(self, fabric: Fabric, before: FabricState, after: FabricState, services: ProofServices) -> None:
        self.fabric, self.before, self.after, self.services = fabric, before, after, services
        self.refused: list[str] = []
        self.short = False  # whether tables were too small for some strategy
        self.unwritable = False  # whether a switch could not be told what some strategy asks for
        self.old, self.new = services.dependencies(before), services.dependencies(after)

    @cached_property
    def cycle(self) -> list[int]:
        return find_cycle(len(self.fabric.tail), *together(self.old, self.new))

    @cached_property
    def foreign(self) -> Edges:
        """Return the dependencies of foreign frames between channels that pause, before, after, or with links of both.

        Empty if they are not acyclic beside the old paths and the new: then proofs alone decide.
        """
        joint = with_links_of_both(self.before, self.after)
        each = together(*(self.services.foreign_dependencies(state) for state in (self.before, self.after, joint)))
        channels = len(self.fabric.tail)
        fits = acyclic(channels, self.old, each) and acyclic(channels, self.new, each)
        return each if fits else (each[0][:0], each[1][:0])

    @cached_property
    def shared_cycle(self) -> list[int]:
        """Return the channels of a cycle that old and new paths close only with foreign frames, [] if there is none."""
        if self.cycle or not len(self.foreign[0]):
            return []
        return find_cycle(len(self.fabric.tail), *together(self.old, self.new, self.foreign))

    @cached_property
    def confusable(self) -> list[int]:
        """Return the channels on which old and new frames both travel untagged."""
        both = leaving(self.fabric, self.before) & leaving(self.fabric, self.after)
        return [int(c) for c in np.flatnonzero(both)]

    @cached_property
    def retrained(self) -> NDArray[np.bool_]:
        return retrained(self.fabric, self.before, self.after)

    @cached_property
    def hosts_retrained(self) -> list[str]:
        """Return the hosts whose own port changes speed, negotiation, flow control or EEE."""
        found = []
        for host in self.fabric.hosts:
            switch, p = self.fabric.switches[host.switch], host.port - 1
            old, new = self.before[switch.name], self.after[switch.name]
            if any(getattr(old, cell)[p] != getattr(new, cell)[p] for cell in bouncing(switch)):
                found.append(host.name)
        return found

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """Return which links an intermediate tree may use.

        They are on before or after, need no retraining, and floods pass them before and after.
        """
        on = links_on(self.fabric, self.before) | links_on(self.fabric, self.after)
        before, after = self.floods
        return on & ~self.retrained & before & after

    @cached_property
    def floods(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the links that floods pass, bool[L], before and after."""
        return flooding_links(self.fabric, self.before), flooding_links(self.fabric, self.after)

    @cached_property
    def change(self) -> Change:
        return Change(
            self.fabric,
            self.before,
            self.after,
            self._drain_seconds(),
            self._up_seconds(),
            self.fits,
            self.services.vlan_limit,
        )

    def fits(self, one: FabricState, other: FabricState) -> bool:
        return all(
            both_fit(self.services.room(s), one[switch.name], other[switch.name])
            for s, switch in enumerate(self.fabric.switches)
        )

    def unused_vlans(self, count: int) -> list[int]:
        """Return up to `count` ids that no VLAN of either end has."""
        taken = {v for state in (self.before, self.after) for held in state.values() for v in held.vlans.tolist()}
        free = (v for v in range(self.fabric.first_vlan, MAX_VLAN + 1) if v not in taken)
        return [v for v, _ in zip(free, range(count), strict=False)]

    def _drain_seconds(self) -> float:
        """Return a bound on the wait of an old frame: with fair outputs (Q / R) sum of f^k over the hops k.

        f is the most channels that wait for one, hops the longest chain of dependencies. Unfair arbiters have no bound.
        """
        pausing = any(
            np.any(state[name].flow_control != FlowControl.OFF) for state in (self.before, self.after) for name in state
        )
        if not pausing:
            return DRAIN_SECONDS
        worst = 0.0
        for held, wanted in (self.old, self.new):
            if len(held):
                hops = int(ranks(len(self.fabric.tail), held, wanted).max()) + 2
                inputs = int(np.bincount(wanted).max()) + 1
                worst = max(worst, BUFFER_SECONDS * sum(float(inputs) ** k for k in range(min(hops, 32) + 1)))
        return min(max(DRAIN_SECONDS, worst), LONGEST_DRAIN_SECONDS)

    def _up_seconds(self) -> float:
        """Return how long the slowest raised or retrained port takes until it carries frames, with a margin."""
        rising = links_on(self.fabric, self.after) & ~links_on(self.fabric, self.before)
        waits = [0.0]
        for link, *ends in self.fabric.cables[(rising | self.retrained)[self.fabric.cables[:, 0]]].tolist():
            for s, port in (ends[:2], ends[2:]):
                name = self.fabric.switches[s].name
                old, new = (
                    int(state[name].speed_mbps[port - 1]) or FULL_SPEED_MBPS for state in (self.before, self.after)
                )
                known = self.services.up_seconds(s, "on_off" if rising[link] or old == new else f"{old}_{new}")
                waits.append(UP_MARGIN * known or UP_SECONDS)
        return max(waits)


def both_fit(room: tuple[int, int], one: SwitchState, other: SwitchState) -> bool:
    """Return whether a switch with `room` for so many VLANs and entries can hold two states at once."""
    vlans, entries = room
    if one is other:
        return True
    if len(one.vlans) + len(other.vlans) > vlans and len(np.union1d(one.vlans, other.vlans)) > vlans:
        return False
    if len(one.entry_vlan) + len(other.entry_vlan) <= entries:
        return True
    keys = [(each.entry_vlan.astype(np.uint64) << np.uint64(48)) | each.entry_mac for each in (one, other)]
    return len(np.union1d(*keys)) <= entries


def _candidates(request: _Request, strategy: str, *, allow_drain: bool) -> Iterator[_Plan]:  # noqa: C901, PLR0912 - a branch for each strategy, and why it may not do
    """Yield the strategies that may succeed, fewest waves first; record why the others cannot."""
    wanted = {strategy} if strategy != "auto" else set(STRATEGIES)
    name = request.services.name_channel
    apart = not request.confusable and not request.retrained.any() and not request.hosts_retrained
    if request.confusable:
        request.refused.append(f"old and new frames both travel untagged over {name(request.confusable[0])}")
    if request.retrained.any():
        first = name(2 * int(np.flatnonzero(request.retrained)[0]))
        request.refused.append(f"{first} is retrained, and must carry nothing meanwhile")
    if request.hosts_retrained:
        request.refused.append(f"the port of {request.hosts_retrained[0]} is retrained, which cuts it off")
    if len(moved := np.flatnonzero(request.floods[0] != request.floods[1])):
        request.refused.append(f"floods would change their tree while they run, at {name(2 * int(moved[0]))}")
    if request.cycle:
        request.refused.append(f"old and new paths together close a dependency cycle of {len(request.cycle)} channels")
    if request.shared_cycle:
        count = len(request.shared_cycle)
        request.refused.append(f"with VLANs of others, old and new paths close a dependency cycle of {count} channels")
    cyclic = bool(request.cycle or request.shared_cycle)
    if strategy == "batches" and not cyclic:
        request.refused.append("all sources may flip at once: there is nothing to split")
    if apart and not request.cycle and "direct" in wanted:
        yield _Plan("direct", through(request.change, [request.after]))
    if apart and not request.cycle and "batches" in wanted and not request.fits(request.before, request.after):
        yield from _by_vlans(request)
    batches: list[NDArray[np.bool_]] | None = None
    if apart and cyclic and "batches" in wanted:
        batches = _batches(request)
        if batches is not None and len(batches) <= 2:  # fewer waves than over a tree, and as many drains
            yield _Plan("batches", through(request.change, [request.after], batches))
    if not request.hosts_retrained:
        if "park" in wanted:
            yield from _over_one_tree(request)
        if "per-port" in wanted:
            yield from _by_ports(request)
        slides = _over_chain(request) if "slides" in wanted else None
        few = len(batches) if batches is not None else len(request.fabric.hosts) + 1
        if slides is not None and len(slides.steps) <= 2 + few:
            yield slides
            slides = None
        if batches is not None and len(batches) > 2:
            yield _Plan("batches", through(request.change, [request.after], batches))
        if slides is not None:
            yield slides
    if apart and cyclic and "pause-off" in wanted:
        yield _Plan("pause-off", unpaused(request.change))
    if "drain" in wanted and allow_drain:
        yield from _drains(request)


def _drains(request: _Request) -> Iterator[_Plan]:
    """Yield the plans that pause the hosts, the shorter pause first."""
    if not request.confusable and not request.retrained.any() and not request.hosts_retrained:
        yield _Plan("drain", paused(request.change, beside_each_other=True))
    yield _Plan("drain", paused(request.change, beside_each_other=False))


def _by_vlans(request: _Request) -> Iterator[_Plan]:
    """Yield a plan that installs new VLANs one by one, if tables lack room for both: first those that free most."""
    fabric, hosts = request.fabric, len(request.fabric.hosts)
    ends = request.before, request.after
    if any(leaving(fabric, state).any() for state in ends):
        request.refused.append("VLANs go one by one only where frames keep theirs all the way")
        return
    old, new = (
        np.array([state[fabric.switches[h.switch].name].pvid[h.port - 1] for h in fabric.hosts]) for state in ends
    )
    waiting = np.ones(hosts, np.bool_)
    batches: list[NDArray[np.bool_]] = []
    while waiting.any():
        best, freed = waiting, -1
        for vlan in np.unique(new[waiting]).tolist():
            batch = waiting & (new == vlan)
            gone = len(np.unique(old[waiting])) - len(np.unique(old[waiting & ~batch]))
            if gone > freed:
                best, freed = batch, gone
        batches.append(best)
        waiting = waiting & ~best
    yield _Plan("batches", piecewise(request.change, batches))


def _over_one_tree(request: _Request) -> Iterator[_Plan]:
    """Yield plans over one tagged tree that is acyclic with the old paths and with the new."""
    vlans, found = request.unused_vlans(1), False
    if request.fabric.tagged_hosts:
        request.refused.append("one tree for all hosts would join the networks that ports carry tagged")
        return
    if not vlans:
        ids = f"{request.fabric.first_vlan} to {MAX_VLAN}"
        request.refused.append(f"no VLAN id of {ids} is free for a tree beside both")
        return
    for number, tree in enumerate(_trees_tried(request)):
        found = True
        layer = tree_state(request.fabric, tree, vlans[0])
        yield _Plan("park", through(request.change, [layer, request.after]))
        if number == 0 and request.short:  # without entries it floods, but once to each host, since it is one tree
            bare = tree_state(request.fabric, tree, vlans[0], pinned=False)
            assumptions = ProofAssumptions(learning=frozenset(vlans))
            steps = through(request.change, [bare, request.after])
            yield _Plan("park", [replace(step, assumptions=assumptions) for step in steps])
    if not found:
        request.refused.append("no spanning tree was found whose turns fit beside both")


def _trees_tried(request: _Request) -> Iterator[NDArray[np.bool_]]:
    """Yield a few trees beside the old paths and the new: first those that foreign frames close no cycle with."""
    ends = request.old, request.new
    if len(request.foreign[0]):
        shared = (together(each, request.foreign) for each in ends)
        yield from islice(trees_beside(request.fabric, request.usable, *shared), TREES_TRIED)
    yield from islice(trees_beside(request.fabric, request.usable, *ends), TREES_TRIED)


def _by_ports(request: _Request) -> Iterator[_Plan]:
    """Yield a plan with VLANs of its own for every in-port, if frames travel untagged before and after."""
    ends = request.before, request.after
    tagged = any(leaving(request.fabric, state, Membership.TAGGED).any() for state in ends)
    if tagged or request.cycle or request.retrained.any():
        request.refused.append("three VLANs per port need untagged frames, acyclic together, and no link retrained")
        return
    steps = per_port(request.change)
    if steps is None:
        request.refused.append("three VLANs per port: a switch has too few VLAN ids left")
    else:
        yield _Plan("per-port", steps)


def _over_chain(request: _Request) -> _Plan | None:
    """Return a plan over a chain of trees, each one or more slides from the one before."""
    if request.fabric.tagged_hosts:
        request.refused.append("one tree for all hosts would join the networks that ports carry tagged")
        return None
    trees = chain(request.fabric, request.usable, request.old, request.new, request.foreign)
    if not trees and len(request.foreign[0]):
        trees = chain(request.fabric, request.usable, request.old, request.new)
    vlans = request.unused_vlans(len(trees or ()))
    if not trees or len(vlans) < len(trees):
        request.refused.append("no chain of spanning trees was found that leads from the old paths to the new")
        return None
    layers = [tree_state(request.fabric, tree, vlan) for tree, vlan in zip(trees, vlans, strict=True)]
    return _Plan("slides" if len(trees) > 1 else "park", through(request.change, [*layers, request.after]))


def _batches(request: _Request) -> list[NDArray[np.bool_]] | None:
    """Return batches of hosts that may flip at once: acyclic with the old paths of hosts that have not flipped.

    And with what foreign frames hold and wait for, unless there is no such way; then proofs decide.
    Each batch greedily takes as many as fit; the next follows after a drain. None if hosts are left over or there are
    too many.
    """
    hosts, channels = len(request.fabric.hosts), len(request.fabric.tail)
    if hosts > BATCHED_HOSTS:
        request.refused.append(f"source batches are not tried for more than {BATCHED_HOSTS} hosts")
        return None
    alone = np.eye(hosts, dtype=np.bool_)
    old = [request.services.dependencies(request.before, alone[a]) for a in range(hosts)]
    new = [request.services.dependencies(request.after, alone[a]) for a in range(hosts)]
    found, left = _greedy_batches(channels, old, new, request.foreign)
    if left and request.cycle and len(request.foreign[0]):
        found, left = _greedy_batches(channels, old, new, (request.foreign[0][:0], request.foreign[1][:0]))
    if left:
        request.refused.append(f"source batches get stuck with {left} of {number_of(hosts, 'host')} left")
        return None
    return found


def _greedy_batches(
    channels: int, old: Sequence[Edges], new: Sequence[Edges], foreign: Edges
) -> tuple[list[NDArray[np.bool_]], int]:
    """Return batches, masks of hosts, and how many hosts are in none; `old` and `new` are the dependencies of each."""
    hosts = len(old)
    waiting, flipped = list(range(hosts)), [np.zeros(hosts, np.bool_)]
    while waiting:
        base = together(foreign, *(old[a] for a in waiting), *(new[a] for a in np.flatnonzero(flipped[-1]).tolist()))
        if not acyclic(channels, base):
            break
        grown = Acyclic(channels, [base], sum(len(new[a][0]) for a in waiting))
        batch = [a for a in waiting if grown.add(*new[a])]
        if not batch:
            break
        flipped.append(flipped[-1] | np.isin(np.arange(hosts), batch))
        waiting = [a for a in waiting if a not in batch]
    return [later & ~earlier for earlier, later in pairwise(flipped)], len(waiting)


def _proven(request: _Request, plan: _Plan) -> tuple[Wave, ...] | None:
    """Return the proven waves of a plan; None, with the reason recorded, if one has no room or is not proven."""
    waves: list[Wave] = []
    here = request.before
    for number, step in enumerate(plan.steps, start=1):
        title = f"{plan.strategy}, wave {number} ({step.name})"
        if not request.fits(here, step.state):
            request.refused.append(f"{title}: the tables have no room for both at once")
            request.short = True
            return None
        try:
            proof, lines = request.services.wave(here, step.state, step.assumptions)
        except UnwritableError as error:  # such as a port untagged in two VLANs, where a family has no such ports
            request.refused.append(f"{title}: {error.rule} ({error.witness})")
            request.unwritable = True
            return None
        if not proof.proven:
            request.refused.append(f"{title}: {proof.findings[0]}")
            return None
        floods = bool(step.assumptions.learning) and number < len(plan.steps)
        waves.append(replace(timed(here, step, proof, lines), floods=floods))
        here = step.state
    return tuple(waves)


def timed(here: FabricState, step: Step, proof: WaveProof, lines: int) -> Wave:
    """Return a proven step as a wave, with its expected duration."""
    seconds = _seconds(here, step, lines)
    down = seconds if step.assumptions.paused else 0.0
    return Wave(
        *(step.name, step.why, here, step.state, proof, step.wait_seconds, seconds, lines, down, step.silent),
        assumptions=step.assumptions,
        until_up=step.until_up,
    )


def _seconds(here: FabricState, step: Step, lines: int) -> float:
    """Return how long a step of so many lines is expected to take."""
    busiest = lines / max(1, sum(step.state[name] is not here[name] for name in here))
    return SESSION_SECONDS + LINE_SECONDS * busiest + step.wait_seconds


def _pause(request: _Request) -> float:
    """Return about how long hosts would be paused, in seconds: what is changed is taken to be a line each."""
    here, total = request.before, 0.0
    for step in next(_drains(request)).steps:
        changed = [name for name in here if step.state[name] is not here[name]]
        if step.assumptions.paused:
            lines = sum(len(difference(here[name], step.state[name])) for name in changed)
            total += _seconds(here, step, lines)
        here = step.state
    return total


def _refusal(request: _Request, strategy: str, *, allow_drain: bool) -> PlanError:
    names = [request.services.name_channel(c) for c in request.cycle or request.shared_cycle]
    rule = "a rollout must keep every pair reachable and every state free of loops and dependency cycles"
    if request.short:
        rule = "an order of waves that fits the switches' tables was not found (there may be one)"
    if names:
        rule = "frames of the old and the new paths under way together must not close a dependency cycle"
        rule += ", nor with frames of VLANs of others where ports send PAUSE" if request.shared_cycle else ""
    witness = "; ".join([*names, *dict.fromkeys(request.refused)])
    if request.unwritable:
        next_step = f"tagloom {AT_ONCE} sets it up in one go, and cuts pairs off"
        return UnwritableError(rule, witness, next_step, (AT_ONCE,))
    if allow_drain:
        next_step = "change it in two rollouts, over a plan with --routing tree"
        return PlanError(rule, witness, next_step, ("plan --routing tree",))
    next_step = f"--allow drain pauses the hosts for about {_pause(request):.0f} s"
    if strategy in {"auto", "drain"}:
        return PlanError(rule, witness, next_step, ("--allow drain",))
    return PlanError(rule, witness, f"--strategy auto, or {next_step}", ("--strategy auto", "--allow drain"))
