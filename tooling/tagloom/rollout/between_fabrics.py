"""Order a change between two fabrics that differ in hosts, links or switches: every wave proven for what both have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import AT_ONCE, Finding, InputError, PlanError, UnwritableError
from tagloom.platforms.port_names import port_name
from tagloom.records.fabric_pair import (
    FabricPair,
    hosts_by_member,
    link_ends,
    owned_ports,
    shared_part,
    without_members,
)
from tagloom.records.host_entries import without_entries
from tagloom.records.rollout import Growth, Rollout
from tagloom.records.switch_state import dead_states
from tagloom.records.wave_proof import AS_PLANNED, ProofAssumptions
from tagloom.rollout.changed_states import changed_states
from tagloom.rollout.choose import both_fit, choose, timed
from tagloom.rollout.growth import moved_trees, not_carrying, numbered_as, stages
from tagloom.rollout.steps import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from tagloom.errors import TagloomError
    from tagloom.records.fabric import Fabric, Link
    from tagloom.records.findings import Findings
    from tagloom.records.rollout import Wave
    from tagloom.records.switch_state import FabricState
    from tagloom.rollout.growth import Stages
    from tagloom.rollout.services import ServicesOf

_IN_ONE_GO = f"tagloom {AT_ONCE} sets it up in one go"
WHY = {
    "leave": "hosts that go are closed off; ports that are taken for something new are shut before they get VLANs",
    "prepare": "VLANs, members and entries of what comes, on switches and ports that nothing leads to yet",
    "part": "ports leave networks that they carry no more, beside those that they still do",
    "join": "ports join networks that they carry from now on, beside those that they did",
    "clear": "what went is cleared away; its ports are still shut",
    "end": "ports that nobody has any more are given back; hosts that come are let in",
}


@dataclass(frozen=True)
class WavesRequest:
    """The request for an order of waves, with the services that prove and plan it.

    services    returns what decides waves of a fabric, or between two
    plan_alone  returns the state that a plan for a fabric has, raises InputError or PlanError if there is none
    own_ids     whether VLANs get the ids of the plan if nothing else has them, even if fewer change under other ids
    """

    services: ServicesOf
    plan_alone: Callable[[Fabric], FabricState]
    duplicates_allowed: bool = False
    strategy: str = "auto"
    allow_drain: bool = False
    own_ids: bool = False


def grow(fabrics: FabricPair, before: FabricState, after: FabricState, requested: WavesRequest) -> Rollout:
    """Return proven waves from `before`, of the old fabric, to `after`, of the new one; pairs of both are never cut.

    VLANs of what both have keep their ids if the plan leaves their trees and paths unchanged and that is proven line by
    line; else they get unused ids. Links that cannot be plugged in side by side go first, by a plan without them.
    Raises InputError for fabrics between which there can be no rollout, PlanError if none was found.
    """
    refuse_unlike(fabrics)
    before, after = {**before, **dead_states(fabrics.old)}, {**after, **dead_states(fabrics.new)}
    if fabrics.carried_alone(fabrics.old) or fabrics.carried_alone(fabrics.new):
        return _over_what_both_carry(fabrics, before, after, requested)
    if fabrics.contended:
        return _over_fewer_links(fabrics, before, after, requested)
    if moved := _moving(fabrics):
        return _without_meanwhile(fabrics, before, after, requested, moved)
    before = {switch.name: before[switch.name] for switch in fabrics.old.switches}
    refused: list[PlanError] = []
    for keep in (True, False):
        try:
            parts = stages(fabrics, before, after, keep=keep, own_ids=requested.own_ids)
            return _ordered(fabrics, parts, requested)
        except PlanError as error:
            refused.append(error)
    first, last = refused
    if led := moved_trees(fabrics, before, after):
        names = " ".join(name for name, vlan in fabrics.new.tags if vlan in led)
        raise PlanError(
            "hosts send with the id of a tagged network, so its one tree grows or shrinks under them, and never moves",
            f"that of {names} moves: {last.witness}",
            f"plan --keep OLD, which keeps it where its links stay; or {_IN_ONE_GO}",
            (AT_ONCE,),
        )
    witness = last.witness if last.witness == first.witness else f"{last.witness}; with VLANs kept: {first.witness}"
    if isinstance(last, UnwritableError):
        raise PlanError(last.rule, witness, *_where_trees_stay(fabrics, before))
    raise PlanError(last.rule, witness, last.next_step, last.advice)


def _where_trees_stay(fabrics: FabricPair, before: FabricState) -> tuple[str, tuple[str, ...]]:
    """Return what to do, as text and as advice, where no port can be in the trees before and after at once.

    A tree stays if no link of it goes, or only the last one of a switch that goes.
    """
    old, ends_left, moved = fabrics.old, set[str](), list[str]()
    for link, ends in zip(old.links, link_ends(old), strict=True):
        held = before[old.switches[link.a].name]
        carries = any(held.member(vlan, link.a_port) for vlan in held.owned_vlans)
        going = {name for name, *_ in ends} - fabrics.switches
        if ends in fabrics.links or not carries:
            continue
        if going - ends_left:
            ends_left |= going
        else:
            moved.append(port_name(old, link.a, link.a_port))
    if moved:
        off = f"tagloom plan OLD.yml --off {' '.join(moved)} -o OFF, then tagloom apply OFF --allow interrupt"
        return f"{off}, which cuts pairs off; from there, plan --keep OFF cuts none", ("plan --off LINK",)
    return f"tagloom plan --keep OLD, which keeps the trees; or {_IN_ONE_GO}", ("plan --keep BUILD", AT_ONCE)


def refuse_unlike(fabrics: FabricPair) -> None:
    """Raise InputError if things of one name differ in kind, or switches are managed in different ways."""
    findings = []
    old, new = fabrics.old, fabrics.new
    for name in sorted({*fabrics.gone} & {*fabrics.come}):
        a, b = (fabric.switches[fabric.index[name]].model for fabric in (old, new))
        rule = f"a {a}, as before: take it out by one rollout, and put the other in by the next"
        findings.append(Finding(f"switch {name}", rule, f"a {b}"))
    findings += [
        Finding(state.part, f"up in both builds, or down in both ({state.way})", state.now)
        for state in changed_states(old, new)
        if state.of_switch
    ]
    if (ways := [_management_path(fabric) for fabric in (old, new)])[0] != ways[1]:
        rule = (
            "the same port, VLAN and links in both builds: a switch that is managed over one of them comes or goes "
            "with `state: down`, and without that link (tagloom docs growing)"
        )
        findings.append(Finding("management", rule, "two ways"))
    if old.spanning_tree != new.spanning_tree:
        rule = f"{old.spanning_tree}, as before: another place for it takes a rollout of its own"
        findings.append(Finding("spanning_tree", rule, new.spanning_tree))
    if findings:
        raise InputError(findings)


def _management_path(fabric: Fabric) -> tuple[object, ...]:
    management = fabric.management
    if management is None:
        return ()
    ends = link_ends(fabric)
    return (
        management.vlan,
        fabric.switches[management.switch].name,
        management.port,
        frozenset(ends[i] for i in management.links),
    )


def _ordered(fabrics: FabricPair, parts: Stages, requested: WavesRequest) -> Rollout:
    old, new = fabrics.old, fabrics.new
    services = partial(requested.services, duplicates_allowed=requested.duplicates_allowed)
    stay = {place: was for place, (was, _) in fabrics.hosts.items()}
    staying = replace(
        old,
        hosts=tuple(host for host in old.hosts if (old.switches[host.switch].name, host.port, host.tag) in stay),
        shape=None,
        reserved=(),
    )
    before, between = (fabrics.united(new_addresses=later) for later in (False, True))
    first = _start_proof(services, old, parts.before)
    steps = [(Step("leave", WHY["leave"], parts.leave), (old, staying))]
    # a step that only closes ports may join one that only adds
    if parts.leave == {**parts.before} or not _shuts_ports(parts):
        steps = []
    steps.append((Step("prepare", WHY["prepare"], parts.add), (steps[-1][1][1] if steps else old, before)))
    behind = _staying_behind(fabrics)
    waves = _proven_waves(steps, parts.before, services, behind)
    middle = choose(
        between,
        {switch.name: parts.add[switch.name] for switch in between.switches},
        {switch.name: parts.change[switch.name] for switch in between.switches},
        services(between, transient_ports=behind.transient_ports, transient_tags=behind.transient_tags),
        strategy=requested.strategy,
        allow_drain=requested.allow_drain,
        renumber=False,
    )
    dead = (switch.name for switch in fabrics.old.switches if not switch.up and switch.name not in fabrics.new.index)
    left = {name: parts.before[name] for name in (*fabrics.gone, *dead)}
    waves += [
        replace(
            wave,
            before={**left, **wave.before},
            state={**left, **wave.state},
            fabrics=(between, between),
            assumptions=replace(
                wave.assumptions,
                transient_ports=behind.transient_ports,
                transient_tags=behind.transient_tags,
            ),
        )
        for wave in middle.waves
    ]
    here = waves[-1].state if waves else parts.add
    led = {name: here[name] for name in fabrics.gone}  # a temporary tree of the rollout may have crossed them
    end = {**parts.end, **led}
    steps = [(Step("end", WHY["end"], end), (between, new))]
    if fabrics.ports_of_links(old):
        let_in = tuple(
            host for host in new.hosts if (new.switches[host.switch].name, host.port, host.tag) in fabrics.hosts
        )
        cleared = replace(new, hosts=let_in, shape=None, reserved=())
        steps.insert(0, (Step("clear", WHY["clear"], {**parts.clear, **led}), (between, cleared)))
    waves += _proven_waves(steps, here, services, AS_PLANNED)
    waves = _from_end_to_end(fabrics, waves, services)
    last = services(new).verify(parts.end)
    if not last.proven:
        witness = str(last.findings[0]) if last.findings else "unreachable pairs"
        raise PlanError("a rollout ends in a state that proves", witness, "tagloom plan", ("plan",))
    growth = _growth(fabrics, waves, left)
    names = [switch.name for switch in growth.fabric.switches]
    waves = [
        replace(wave, before={n: wave.before[n] for n in names}, state={n: wave.state[n] for n in names})
        for wave in waves
    ]
    ends = {n: parts.before[n] for n in names}, {n: end[n] for n in names}
    how = middle.strategy if middle.waves else "unchanged" if not waves else "beside"
    return Rollout(how, *ends, tuple(waves), first, last, middle.reason, growth=growth)


def _shuts_ports(parts: Stages) -> bool:
    """Return whether ports are shut before something new gets them: then that comes first."""
    return any((held.enabled & ~parts.leave[name].enabled).any() for name, held in parts.before.items())


def _growth(fabrics: FabricPair, waves: Collection[Wave], left: FabricState) -> Growth:
    old, new = fabrics.old, fabrics.new
    sent = [name for name in fabrics.gone if any(wave.state[name] is not left[name] for wave in waves)]
    more = [old.index[name] for name in sent]
    fabric = replace(
        new,
        switches=(*new.switches, *(old.switches[s] for s in more)),
        ports=(*new.ports, *(old.ports[s] for s in more)),
    )
    for link in old.links:  # their links go with them, as down: a fabric file has no switch without a cable
        if {link.a, link.b} & {*more}:
            a, b = (fabric.index.get(old.switches[s].name) for s in (link.a, link.b))
            if a is not None and b is not None and not _in_use(fabric, link, a, b):
                fabric = replace(fabric, links=(*fabric.links, replace(link, a=a, b=b, up=False)))
    kept, were, are = (each.pairs for each in (fabrics, old, new))
    return Growth(
        fabric,
        {switch.name: owned_ports((old, new), switch.name) for switch in fabric.switches},
        {name: state for name, state in left.items() if name not in sent},
        kept,
        are - kept,
        were - kept,
    )


def _in_use(fabric: Fabric, link: Link, a: int, b: int) -> bool:
    """Return whether a port of a link, between switches `a` and `b`, is used otherwise in a fabric."""
    return any(p in fabric.used_ports[a] or q in fabric.used_ports[b] for p, q in link.cables)


def _staying_behind(fabrics: FabricPair) -> ProofAssumptions:
    """Return the hosts on switches that go as transient: without lines, they may send until their links are shut."""
    members = [(member, host) for member, host in hosts_by_member(fabrics.old).items() if member[0] in fabrics.gone]
    ports = frozenset(member[:2] for member, _ in members)
    return ProofAssumptions(
        transient_ports=ports, transient_tags=frozenset((*m, host.network) for m, host in members if host.tag)
    )


def _proven_waves(
    steps: list[tuple[Step, tuple[Fabric, Fabric]]],
    here: FabricState,
    services: ServicesOf,
    behind: ProofAssumptions,
) -> list[Wave]:
    """Return waves of steps that belong to no rollout of one fabric; raise PlanError if one is not proven.

    Steps that change nothing are left out.
    """
    waves: list[Wave] = []
    fabric = steps[0][1][0]
    for step, (_, other) in steps:
        state = {name: here[name] if held == here[name] else held for name, held in step.state.items()}
        state = {**{name: held for name, held in here.items() if name not in state}, **state}
        if all(state[name] is here[name] for name in state):
            continue
        ports, tags = behind.transient_ports, behind.transient_tags
        decides = services(fabric, other, transient_ports=ports, transient_tags=tags)
        part, *_ = shared_part(fabric, other)
        for s, switch in enumerate(part.switches):
            if not both_fit(decides.room(s), here[switch.name], state[switch.name]):
                rule = "an order of waves that fits the switches' tables was not found (there may be one)"
                witness = f"wave {step.name}: {switch.name} has no room for both at once"
                raise PlanError(rule, witness, _IN_ONE_GO, (AT_ONCE,))
        proof, lines = decides.wave(here, state)
        judged = services(other, transient_ports=ports, transient_tags=tags).verify(state)
        _refuse_unproven(step.name, (*proof.findings, *judged.findings))
        if not judged.proven:
            witness = f"wave {step.name}: unreachable pairs"
            raise PlanError("every wave of a rollout must prove", witness, _IN_ONE_GO, (AT_ONCE,))
        wave = timed(here, replace(step, state=state), proof, lines)
        waves.append(replace(wave, fabrics=(fabric, other), assumptions=behind))
        here, fabric = state, other
    return waves


def _refuse_unproven(name: str, findings: Collection[Finding]) -> None:
    """Raise PlanError for the first finding of a wave's proof."""
    for found in findings:
        rule = "every line of a rollout must be proven"
        raise PlanError(rule, f"wave {name}: {found}", _IN_ONE_GO, (AT_ONCE,))


def _from_end_to_end(fabrics: FabricPair, waves: list[Wave], services: ServicesOf) -> list[Wave]:
    """Return waves that begin with the old fabric and end with the new one, even if a part of them takes no lines.

    What undoes them leads back to the old one. Raises PlanError if a wave is not proven from there.
    """
    found = list(waves)
    for at, place, fabric in ((0, 0, fabrics.old), (-1, 1, fabrics.new)):
        if not found:
            break
        wave = found[at]
        assert wave.fabrics is not None  # noqa: S101 - both lead between fabrics
        known, other = wave.fabrics[place], wave.fabrics[1 - place]
        one, after = pair = (other, fabric) if place else (fabric, other)
        if (known.switches, known.hosts, known.links) != (fabric.switches, fabric.hosts, fabric.links):
            terms = wave.assumptions
            decides = services(one, after, transient_ports=terms.transient_ports, transient_tags=terms.transient_tags)
            proof, _ = decides.wave(wave.before, wave.state, terms)
            _refuse_unproven(wave.name, proof.findings)
        found[at] = replace(wave, fabrics=pair)
    return found


def _over_fewer_links(fabrics: FabricPair, before: FabricState, after: FabricState, requested: WavesRequest) -> Rollout:
    """Return a rollout over a plan without the links whose ports others take. Raises PlanError if there is none."""
    old = fabrics.old
    lost = [
        not any(port in fabrics.contended.get(name, ()) for name, p, members in ends for port in (p, *members))
        for ends in link_ends(old)
    ]
    hosts = tuple(h for h in old.hosts if (old.switches[h.switch].name, h.port, h.tag) in fabrics.hosts)
    links = tuple(link for link, stays in zip(old.links, lost, strict=True) if stays)
    less = replace(old, hosts=hosts, links=links, shape=None, reserved=(), management=None)
    try:
        state = requested.plan_alone(less)
    except (InputError, PlanError) as error:
        raise PlanError(
            "what both fabrics have must hold together while links are moved from port to port",
            _error_text(error),
            f"a rollout that adds links at free ports first, and another that takes the old ones away; or {_IN_ONE_GO}",
            (AT_ONCE,),
        ) from error
    first = grow(FabricPair(old, less), before, state, requested)
    second = grow(FabricPair(less, fabrics.new), first.after, after, requested)
    return _concatenated(fabrics, first, second)


def _over_what_both_carry(
    fabrics: FabricPair,
    before: FabricState,
    after: FabricState,
    requested: WavesRequest,
) -> Rollout:
    """Return a rollout in which ports leave networks first, by one wave, and join others last, by one.

    In between each port carries what it does in both, so that none is of one network here and of another there.
    """
    old, new = fabrics.old, fabrics.new
    going, coming = (fabrics.carried_alone(fabric) for fabric in (old, new))
    first, last = without_members(old, going), without_members(new, coming)
    services = partial(requested.services, duplicates_allowed=requested.duplicates_allowed)
    start = {switch.name: before[switch.name] for switch in old.switches}
    proof = _start_proof(services, old, start)
    less = not_carrying(old, start, going)
    begun = _proven_waves([(Step("part", WHY["part"], less), (old, first))], start, services, AS_PLANNED)
    rest = grow(FabricPair(first, last), less, not_carrying(new, after, coming), requested)
    here = {switch.name: rest.after[switch.name] for switch in new.switches}
    end = numbered_as(FabricPair(last, new), here, after, own_ids=requested.own_ids)
    ended = _proven_waves([(Step("join", WHY["join"], end), (last, new))], here, services, AS_PLANNED)
    assert rest.growth is not None  # noqa: S101 - it leads between fabrics
    growth = replace(
        _growth(fabrics, (), rest.growth.left),
        fabric=replace(
            new,
            switches=rest.growth.fabric.switches,
            ports=rest.growth.fabric.ports,
            links=rest.growth.fabric.links,
        ),
        ports={switch.name: owned_ports((old, new), switch.name) for switch in rest.growth.fabric.switches},
        left=rest.growth.left,
    )
    names = [switch.name for switch in growth.fabric.switches]
    waves = [
        replace(
            wave,
            before={n: wave.before.get(n, known[n]) for n in names},
            state={n: wave.state.get(n, known[n]) for n in names},
        )
        for known, some in ((rest.before, begun), (rest.after, rest.waves), (rest.after, ended))
        for wave in some
    ]
    return replace(
        rest,
        strategy="beside" if waves and not rest.waves else rest.strategy,
        before={n: start.get(n, rest.before[n]) for n in names},
        after={n: end.get(n, rest.after[n]) for n in names},
        waves=tuple(waves),
        before_proof=proof,
        after_proof=services(new).verify(end),
        growth=growth,
    )


def _start_proof(services: ServicesOf, fabric: Fabric, state: FabricState) -> Findings:
    """Return the proof of the state that a rollout starts from; raise PlanError if it does not prove."""
    proof = services(fabric).verify(state)
    if not proof.proven:
        witness = str(proof.findings[0]) if proof.findings else "unreachable pairs"
        raise PlanError("a rollout starts from a fabric that proves", witness, _IN_ONE_GO, (AT_ONCE,))
    return proof


def _moving(fabrics: FabricPair) -> set[int]:
    """Return the addresses, of virtual machines, that move from one host's port to another's beside theirs."""
    was = {mac: place[:2] for place, (old, _) in fabrics.hosts.items() for mac in old.macs if len(old.macs) > 1}
    now = {mac: place[:2] for place, (_, new) in fabrics.hosts.items() for mac in new.macs if len(new.macs) > 1}
    return {mac for mac in was.keys() & now.keys() if was[mac] != now[mac]}


def _without_meanwhile(
    fabrics: FabricPair, before: FabricState, after: FabricState, requested: WavesRequest, moved: set[int]
) -> Rollout:
    """Return a rollout in which addresses that move leave their old ports before they come to the new ones.

    An entry has one port, and switches change at different moments: between, frames to them are flooded.
    """
    old, hosts = fabrics.old, []
    for host in old.hosts:
        macs = tuple(mac for mac in host.macs if mac not in moved)
        hosts.append(replace(host, mac=macs[0] if macs else 0, also=macs[1:]))
    less = replace(old, hosts=tuple(hosts))
    first = grow(FabricPair(old, less), before, without_entries(before, moved), requested)
    second = grow(FabricPair(less, fabrics.new), first.after, after, requested)
    return _concatenated(fabrics, first, second)


def _error_text(error: TagloomError) -> str:
    findings = getattr(error, "findings", ())
    return str(findings[0]) if findings else str(getattr(error, "witness", error))


def _concatenated(fabrics: FabricPair, first: Rollout, second: Rollout) -> Rollout:
    """Return two rollouts as one."""
    assert first.growth is not None  # noqa: S101 - both lead between fabrics
    assert second.growth is not None  # noqa: S101 - as above
    names = [switch.name for switch in second.growth.fabric.switches]
    start = {name: first.before.get(name, second.before[name]) for name in names}
    left = {**first.growth.left, **second.growth.left}
    waves = []
    here = start
    for wave in (*first.waves, *second.waves):
        there = {name: wave.state.get(name, here[name]) for name in names}
        waves.append(replace(wave, before=here, state=there))
        here = there
    growth = replace(
        _growth(fabrics, (), {name: left.get(name, start.get(name)) for name in fabrics.gone}),  # type: ignore[misc]  # one of them
        fabric=second.growth.fabric,
        ports={name: _ports_of_both(first, second, name) for name in names},
        left={name: state for name, state in left.items() if name not in names},
    )
    return replace(second, before=start, waves=tuple(waves), before_proof=first.before_proof, growth=growth)


def _ports_of_both(first: Rollout, second: Rollout, name: str) -> tuple[int, ...]:
    ports = [rollout.growth.ports.get(name, ()) for rollout in (first, second) if rollout.growth is not None]
    return tuple(np.unique(np.concatenate([np.array(each, np.int64) for each in ports])).tolist())
