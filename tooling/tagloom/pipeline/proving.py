"""Prove states and the transitions between them, from texts and from lines."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.platforms.port_names import channel_name
from tagloom.records.fabric_pair import shared_part
from tagloom.records.switch_state import FlowControl, dead_states
from tagloom.records.wave_proof import AS_PLANNED, ProofAssumptions
from tagloom.render import lines_of, parse, parse_configuration, read_text
from tagloom.rollout import ProofServices
from tagloom.verify import (
    Plan,
    foreign_dependencies,
    foreign_findings,
    foreign_waiting,
    live_vlans,
    looping_vlans,
    missing_entry,
    own_dependencies,
    prove_foreign,
    prove_kept,
    prove_managed,
    prove_management,
    prove_running,
    prove_wave,
    verify,
    verify_taught,
    what_if,
)
from tagloom.verify.border import open_borders

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from tagloom.records.detours import Detour
    from tagloom.records.fabric import Fabric, Switch
    from tagloom.records.fabric_pair import Place, TransientTag
    from tagloom.records.findings import Findings
    from tagloom.records.lines import Lines
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.records.wave_proof import WaveProof
    from tagloom.render import Reading

    Readings = Mapping[str, Reading]


def prove(  # noqa: PLR0913 - what a proof depends on
    fabric: Fabric,
    texts: Mapping[str, str],
    routes: Routes | None,
    *,
    loss: str = "",
    detours: Sequence[Detour] | None = None,
    duplicates_allowed: bool = False,
    whole: bool = False,
    trust_foreign: bool = False,
    taught: bool = False,
) -> tuple[FabricState, Findings]:
    """Prove a fabric from configuration texts alone; with `routes`, frames must also follow the planned paths.

    `loss` adds the effect of losing each of the "entries", "links" or "switches" alone; hosts then move by `detours`,
    or, without any, to what still serves them. With `whole`, the texts are the switches' whole configuration: an
    unknown line that may change forwarding is a finding (unless `trust_foreign`), and the texts are checked for pasting
    top to bottom. Without it, a push adds them to other lines. With `taught`, hosts have taught the switches: frames
    follow what was learned where no static entry leads. Raises InputError for `loss` then.
    """
    if taught and loss:
        raise InputError([Finding("--what-if", "a build with static entries", "one whose switches learn")])
    proven = verify_taught if taught else verify
    plan = Plan(routes, duplicates_allowed, shares=True)
    if whole:

        def judge(fabric: Fabric, state: FabricState, readings: Readings) -> Findings:
            return proven(fabric, state, replace(plan, addresses=_addresses(readings)))

        return _prove_whole_texts(fabric, texts, judge, (loss, detours), trust_foreign=trust_foreign)
    state, unknown = parse(fabric, texts)
    proof = proven(fabric, state, plan)
    return state, replace(_with_losses(fabric, state, proof, loss, detours), findings=(*unknown, *proof.findings))


def prove_what_runs(
    fabric: Fabric, texts: Mapping[str, str], blocked: Collection[tuple[int, int]], *, trust_foreign: bool = False
) -> Findings:
    """Prove a network of others from whole texts; `blocked` are (switch index, port). See `verify.prove_running`."""

    def judge(fabric: Fabric, state: FabricState, readings: Readings) -> Findings:
        treeless = {name: reading.treeless for name, reading in readings.items()}
        return prove_running(fabric, state, blocked, treeless, _addresses(readings))

    return _prove_whole_texts(fabric, texts, judge, ("", None), trust_foreign=trust_foreign, follows_trees=True)[1]


def _addresses(readings: Readings) -> frozenset[tuple[str, int]]:
    return frozenset((name, vlan) for name, reading in readings.items() for vlan in reading.addresses)


def _with_losses(
    fabric: Fabric, state: FabricState, proof: Findings, loss: str, detours: Sequence[Detour] | None
) -> Findings:
    """Return a proof with the effect of single losses, as in `prove`."""
    if loss == "entries":
        return replace(proof, missing_entry=missing_entry(fabric, state))
    if not loss:
        return proof
    found = what_if(fabric, state, loss, detours, duplicates_allowed=proof.duplicates_allowed)
    return replace(proof, what_if=found)


def _prove_whole_texts(
    fabric: Fabric,
    texts: Mapping[str, str],
    judge: Callable[[Fabric, FabricState, Readings], Findings],
    losses: tuple[str, Sequence[Detour] | None],
    *,
    trust_foreign: bool,
    follows_trees: bool = False,
) -> tuple[FabricState, Findings]:
    """Prove whole texts by a judge, and name the lines by which a VLAN has no spanning tree.

    One that follows such VLANs has them named only where a ring of the VLAN is latent.
    """
    state = dead_states(fabric)
    by_name: dict[str, Reading] = {}
    missing: list[Finding] = []
    for switch, ports in zip(fabric.switches, fabric.used_ports, strict=True):
        if switch.up:
            reading = read_text(platforms.of(switch), texts[switch.name], switch.name, ports)
            if reading.further_ports:
                missing.append(_missing_ports(switch, reading.further_ports))
                reading = replace(reading, state=parse_configuration(platforms.of(switch), texts[switch.name]).state)
            by_name[switch.name] = reading
            state[switch.name] = reading.state
    state, readings = {switch.name: state[switch.name] for switch in fabric.switches}, by_name.values()
    proof = judge(fabric, state, by_name)
    rings = {ring.vlan for ring in proof.latent}
    unknown = tuple(line for reading in readings for line in reading.named(rings if follows_trees else None))
    found = (*missing, *(finding for reading in readings for finding in reading.findings))
    untrusted = () if trust_foreign else tuple(line.finding() for line in unknown)
    refused = [reading.refused for reading in readings if reading.refused is not None]
    return state, replace(
        _with_losses(fabric, state, proof, *losses),
        findings=(*found, *untrusted, *proof.findings),
        unknown_lines=unknown,
        paste_order=not any(refused) if len(refused) == len(readings) else None,
        paste_refused=tuple(chain.from_iterable(refused)),
    )


def _missing_ports(switch: Switch, names: Sequence[str]) -> Finding:
    """Find that a text configures ports that the fabric file's model lacks: of them no proof holds."""
    model = platforms.with_ports(switch.model, (*platforms.of(switch).port_names, *names))
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return Finding(f"{switch.name}: model", f"{model}, in the fabric file", f"{switch.model}, without {names[0]}{more}")


def proof_services(
    fabric: Fabric,
    other: Fabric | None = None,
    *,
    duplicates_allowed: bool = False,
    transient_ports: frozenset[Place] = frozenset(),
    transient_tags: frozenset[TransientTag] = frozenset(),
) -> ProofServices:
    """Return the functions that decide a fabric's rollouts: the verifier, the lines to send, the models' limits.

    `transient_ports`, by switch name and number, and `transient_tags` are of hosts that the fabric lacks but that may
    send. With an `other` fabric, waves between states of the two are proven for the part they share; ports and tags of
    other hosts are transient, and unowned ports are shut.
    """
    outside = other is not None and other is not fabric
    if other is not None and outside:
        fabric, ports, tags = shared_part(fabric, other)
        transient_ports, transient_tags = transient_ports | ports, transient_tags | tags
    models, up = [platforms.of(switch) for switch in fabric.switches], fabric.with_links_up()
    visited = ProofAssumptions(transient_ports=transient_ports, transient_tags=transient_tags)

    def stuck_lines(stuck: Mapping[str, tuple[SwitchState, SwitchState]]) -> tuple[FabricState, dict[str, Lines]]:
        held = {name: old for name, (old, _) in stuck.items()}
        return held, lines_of(fabric, held, {name: new for name, (_, new) in stuck.items()})

    def wave(
        before: FabricState, after: FabricState, assumptions: ProofAssumptions = AS_PLANNED
    ) -> tuple[WaveProof, int]:
        assumptions = replace(
            assumptions,
            transient_ports=assumptions.transient_ports | transient_ports,
            transient_tags=assumptions.transient_tags | transient_tags,
        )
        held, possible = stuck_lines(assumptions.stuck)
        lines = lines_of(fabric, before, {name: state for name, state in after.items() if name not in held})
        together = lines | possible
        if assumptions.foreign:
            proof = prove_foreign(up, before | held, after)
        elif assumptions.keeping:
            less = replace(fabric.with_switches_down(assumptions.apart).with_links_up(), hosts=fabric.hosts)
            here, there = ({**state, **held, **dead_states(less)} for state in (before, after))
            sent = {name: each for name, each in together.items() if less.switches[less.index[name]].up}
            proof = prove_kept(less, here, there, sent)
            proof = prove_managed(fabric.with_links_up(), before | held, together, assumptions, proof)
        else:
            proof = prove_wave(
                fabric, before | held, together, duplicates_allowed=duplicates_allowed, assumptions=assumptions
            )
            if proof.proven:  # unless proven, the hosts' findings already show what is cut
                sends = (held.flow_control != FlowControl.OFF for state in (before, after) for held in state.values())
                pausing = any(bool(ports.any()) for ports in sends)
                found = prove_management(fabric, before | held, together, assumptions, proof, pausing=pausing)
                proof = replace(proof, findings=found)
        if outside:
            opened = open_borders(fabric, before | held, together, assumptions.transient_ports)
            proof = replace(proof, findings=(*proof.findings, *opened))
        return proof, sum(each.count for each in lines.values())

    def live(state: FabricState, stuck: Mapping[str, tuple[SwitchState, SwitchState]]) -> set[tuple[int, int]]:
        held, possible = stuck_lines(stuck)
        return live_vlans(fabric, state | held, possible)

    return ProofServices(
        verify=partial(verify, up, plan=Plan(None, duplicates_allowed, transient_ports, transient_tags)),
        wave=wave,
        live=live,
        dependencies=partial(own_dependencies, fabric, assumptions=visited),
        foreign_dependencies=partial(foreign_dependencies, fabric, assumptions=visited),
        foreign_harm=partial(foreign_findings, up),
        foreign_waiting=partial(foreign_waiting, up),
        foreign_ring=partial(looping_vlans, up),
        name_channel=partial(channel_name, fabric),
        room=lambda s: (models[s].max_vlans, models[s].mac_table),
        vlan_limit=lambda s: models[s].max_vlan_id,
        up_seconds=lambda s, what: models[s].toggle_seconds.get(what, 0.0),
    )
