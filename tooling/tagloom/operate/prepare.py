"""Get ready to bring proven states to switches: prove, survey, order the change, read back."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.apply.build import build_of, duplicates_allowed, fabric_file, flooding, gives_back, learns, read_waves
from tagloom.apply.reading import read_running
from tagloom.errors import AT_ONCE, Finding, InputError, PlanError
from tagloom.graph.numbering import ids_clash, renumbered
from tagloom.operate.interrupting import interrupted_at_once
from tagloom.operate.running import REQUESTED_DIGEST, build_digest, requested
from tagloom.operate.waves import read_sequence, texts_of
from tagloom.pipeline.files import read_build, write_build, write_rollout
from tagloom.pipeline.planning import plan
from tagloom.pipeline.proving import proof_services, prove
from tagloom.read import read_fabric
from tagloom.read.build_directory import read_texts
from tagloom.read.fabric_text import format_fabric
from tagloom.records.build import LEARNS
from tagloom.records.rollout import Rollout
from tagloom.records.wave_proof import AS_PLANNED
from tagloom.render import read_state
from tagloom.rollout import choose, keeping, readmission
from tagloom.rollout.foreign import without_members
from tagloom.rollout.pruning import pruned_first, pruning, pruning_wave, refuse_harm_to_others
from tagloom.verify import Plan, guard, verify

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from tagloom.apply.site import Site
    from tagloom.operate.waves import WaveSequence
    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.switch_state import FabricState


@dataclass(frozen=True)
class PreparedChange:
    """What is to be pushed: the waves of a build or a rollout, read once, and the proof of all their states.

    `source` is the directory that was asked for, of which that of the waves is a copy that nobody else writes to.
    """

    sequence: WaveSequence
    proof: Findings
    source: Path

    @property
    def directory(self) -> Path:
        """Return where the waves are."""
        return self.sequence.directory

    @property
    def fabric(self) -> Fabric:
        """Return the fabric."""
        return self.sequence.fabric

    @property
    def is_rollout(self) -> bool:
        """Return whether its waves start from a state that is known."""
        return (self.directory / "rollout.json").exists()

    @property
    def target(self) -> PreparedChange:
        """Return the build that a rollout leads to."""
        source = self.source / "build" if (self.source / "rollout.json").exists() else self.source
        return replace(self, sequence=read_sequence(self.directory / "build"), source=source)


@contextmanager
def prepared_copy(source: Path, site: Site, without: Collection[str] = ()) -> Iterator[PreparedChange]:
    """Copy what is to be pushed among the files of a site's runs, prove the copy, and remove it in the end.

    Switches of a build that it is to go `without` count as dead from then on: they are not contacted.

    Who writes to the directory afterwards changes nothing. Raises InputError, as `prepare` does.
    """
    directory = site.directory(requested())
    try:
        try:
            shutil.copytree(source, directory / "copy", ignore=shutil.ignore_patterns("apply", "commands"))
            (directory / REQUESTED_DIGEST).write_text(build_digest(build_of(directory / "copy")), "ascii")
        except (OSError, shutil.Error) as error:
            raise InputError([Finding(str(source), "a build or a rollout that can be copied", str(error))]) from error
        prepared = replace(prepare(directory / "copy"), source=source)
        yield _without(prepared, without) if without else prepared
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _without(prepared: PreparedChange, names: Collection[str]) -> PreparedChange:
    """Return a build of which some switches are dead. Raises InputError where they are none of its, or all."""
    fabric = prepared.fabric
    known = [switch.name for switch in fabric.live]
    wrong = [Finding("--without", "a switch of the build that is up", name) for name in names if name not in known]
    if not set(known) - set(names):
        wrong.append(Finding("--without", "a switch that is left", "all are named"))
    if wrong:
        raise InputError(wrong)
    less = fabric.with_switches_down({fabric.index[name] for name in names})
    fabric_file(prepared.directory).write_text(format_fabric(less), "utf-8")
    for name in names:
        (prepared.directory / "configs" / f"{name}.cfg").unlink(missing_ok=True)
    return replace(prepared, sequence=read_sequence(prepared.directory))


def around(prepared: PreparedChange, read: FabricState, site: Site) -> PreparedChange:
    """Return a build planned anew around the dead switches of another, beside what the live ones were read to hold.

    Raises InputError where the live switches are not connected, PlanError where no plan fits or proves.
    """
    before = replace(read_build(prepared.source, states=False), state=read)
    build, proof, texts = plan(
        prepared.fabric,
        site.share / "templates",
        assignment=before.assignment,
        previous=before,
        static_arp=prepared.proof.duplicates_allowed,
    )
    directory = site.directory("around") / "build"
    write_build(build, proof, texts, directory)
    return replace(prepare(directory), source=prepared.source)


def prepare(directory: Path) -> PreparedChange:
    """Prove every state that a push would lead through, from the texts that will be pushed.

    States in which hosts are paused on purpose deliver nothing and are passed over; so are those in which switches
    learn, of which no text tells where frames go: the rollout has proven them. The proof is that of the first
    state that fails, else of the last. Raises InputError where it is no build, or one for switches that nobody can log
    in to.
    """
    fabric = read_fabric(fabric_file(directory))
    models = sorted({s.model for s in fabric.live if not platforms.load(s.model).netmiko_driver})
    if models:
        actual = "no login is known"
        raise InputError([Finding(f"model {model}", "a model that tagloom can log in to", actual) for model in models])
    if learns(directory):
        raise InputError([Finding(str(directory), "a build with static entries", LEARNS)])
    waves = read_waves(directory)
    if not any(wave.number for wave in waves):  # nothing differs: what is left is to see that all hold the target
        return prepare(directory / "build")
    sequence = read_sequence(directory)
    if sequence.judged:
        return PreparedChange(sequence, _prove_ends(sequence), directory)
    texts = texts_of(fabric, waves)
    proof = None
    # The waves of a rollout still use the links that its target turns off; a build must not.
    judged = fabric.with_links_up() if (directory / "rollout.json").is_file() else fabric
    passed = flooding(directory)
    # of a way back to spanning tree only the beginning proves as a plan does
    otherwise = 0 if passed else -1
    for number in [wave.number for wave in waves if not wave.paused and wave.number not in passed] or [otherwise]:
        held = texts[number] if number >= 0 else read_texts(fabric, directory / "build" / "configs")
        _, proof = prove(judged, held, None, duplicates_allowed=duplicates_allowed(directory))
        if not proof.proven:
            break
    assert proof is not None  # noqa: S101 - the list above is never empty
    return PreparedChange(sequence, proof, directory)


def _prove_ends(sequence: WaveSequence) -> Findings:
    """Prove the state after each wave of a rollout between two fabrics, for the one that it is of."""
    proof = None
    numbers = [n for n in range(1, sequence.waves + 1) if not sequence.paused[n - 1]]
    for number in [n for n in numbers if not sequence.assumptions[n - 1].learning] or [sequence.waves]:
        _, fabric = sequence.judged[number - 1]
        under = sequence.assumptions[number - 1]
        plan = Plan(None, sequence.duplicates_allowed, under.transient_ports, under.transient_tags, lossy=under.lossy)
        proof = verify(fabric.with_links_up(), {**sequence.left, **sequence.states[number]}, plan)
        if not proof.proven:
            break
    assert proof is not None  # noqa: S101 - the list above is never empty
    return proof


def order_change(
    prepared: PreparedChange,
    before: FabricState,
    after: FabricState,
    site: Site,
    *,
    allow_drain: bool = False,
    at_once: bool = False,
    foreign: str = "refuse",
    own_ids: bool = False,
) -> PreparedChange:
    """Lead a running fabric to a build by a rollout; what nothing else is found for is set up in one go.

    A fabric that proves must not pass through states that do not. Where one does not (dead switches, a push that was
    interrupted, a slip of the hand), waves are looked for by which the pairs that work go on working. Where there are
    none (factory default), or none is needed, all its switches change at once, and where one of them fails the others
    finish: the caller says whom that cuts off. `before` and `after` are what was read and what is wanted on top of it.
    With `foreign` "prune", a first wave takes VLANs of others that would loop off links. Where a switch cannot be told
    what it would have to hold between two plans, they change in one go if `at_once`, in VLANs that no switch has yet.
    A build whose trees run under other ids is refused, so that it is planned beside what runs, unless `own_ids`. Raises
    PlanError where no safe order is found.
    """
    running = verify(
        prepared.fabric.with_links_up(), before, Plan(duplicates_allowed=True)
    )  # the hosts may have static ARP
    if not running.proven:
        services = proof_services(prepared.fabric)
        refuse_harm_to_others(services, after, prunable=foreign != "prune")
        unproven = guard(prepared.fabric, before, {}, AS_PLANNED)  # such as spanning tree, from factory default
        if gives_back(prepared.directory) or unproven or interrupted_at_once(prepared.fabric, before, after).hitless:
            return prepared
        waves = keeping(prepared.fabric, before, after, services)
        return prepared if waves is None else written(prepared, waves, site)
    repeats = prepared.proof.duplicates_allowed or not running.broadcast_exactly_once
    services = proof_services(prepared.fabric, duplicates_allowed=repeats)
    renumber = not own_ids or ids_clash(before, after, prepared.fabric.first_vlan)
    order = partial(choose, prepared.fabric, services=services, allow_drain=allow_drain, renumber=renumber)
    try:
        change = pruned_first(prepared.fabric, services, before, after, order, foreign=foreign)
    except PlanError as refused:
        if not at_once or AT_ONCE not in refused.advice:
            raise
        if renumber and renumbered(before, after, prepared.fabric.first_vlan) != after:
            raise _ids_in_use() from refused
        return prepared
    if change.after != without_members(after, change.pruned):
        raise _ids_in_use()
    return written(prepared, change, site)


def _ids_in_use() -> PlanError:
    """Return the error of a build whose VLAN ids other trees have now."""
    return PlanError(
        "a VLAN id must not be reused for a changed tree while hosts are using it",
        "the build gives ids that are in use to other trees",
        "plan again with --previous and the build that runs, or: tagloom rollout OLD NEW",
        ("plan --previous BUILD", "rollout OLD NEW"),
    )


def prunes(fabric: Fabric, before: FabricState, after: FabricState) -> bool:
    """Return whether VLANs of others have a ring on links in one of two states, or while links of both are on."""
    return bool(pruning(fabric, proof_services(fabric), before, after)[0])


def prune_alone(
    prepared: PreparedChange, before: FabricState, after: FabricState, site: Site
) -> tuple[PreparedChange, str] | None:
    """Return the one wave that prunes VLANs of others before a fabric that does not prove is set up in one go.

    With it goes what is assumed of the links that spanning tree blocks now. None where none would loop, or where the
    fabric proves: then that wave is the first of its rollout. Raises PlanError where the wave does not prove.
    """
    running = verify(prepared.fabric.with_links_up(), before, Plan(duplicates_allowed=True))
    services = proof_services(prepared.fabric)
    cells, assumed = pruning(prepared.fabric, services, before, after) if not running.proven else ({}, "")
    if not cells:
        return None
    wave = pruning_wave(services, before, cells, floods=True)
    change = Rollout("prune", before, wave.state, (wave,), running, running, assumed=assumed)
    return written(prepared, change, site), assumed


def written(prepared: PreparedChange, change: Rollout, site: Site) -> PreparedChange:
    """Write waves to a build among the files of a site's runs, and return them to be pushed."""
    directory = site.directory("rollout") / "rollout"
    build = replace(read_build(prepared.directory), state=change.after)
    write_rollout(build, change, site.share / "templates", directory)
    return replace(prepared, sequence=read_sequence(directory))


def readmit(prepared: PreparedChange, before: FabricState, after: FabricState, site: Site, name: str) -> PreparedChange:
    """Lead a switch that came back with an old configuration to its place in a build. Raises PlanError."""
    services = proof_services(prepared.fabric)
    return written(prepared, readmission(prepared.fabric, before, after, services, name), site)


def running_states(fabric: Fabric, site: Site, names: Collection[str]) -> FabricState:
    """Return what some switches run, read over SSH; lines that nobody knows are passed over. Raises DeviceError."""
    texts = read_back(fabric, site, names)
    return {
        switch.name: read_state(platforms.of(switch), texts[switch.name], switch.name, ports)[0]
        for switch, ports in zip(fabric.switches, fabric.used_ports, strict=True)
        if switch.name in texts
    }


def read_back(fabric: Fabric, site: Site, only: Collection[str] | None = None) -> dict[str, str]:
    """Read running configurations over SSH, all or `only` some. Raises DeviceError for the first that cannot be."""
    names = [switch.name for switch in fabric.live if only is None or switch.name in only]
    return read_running(
        site.inventory,
        switches=names,
        directory=site.directory("read"),
        share=site.share,
        environment=site.environment,
    )
