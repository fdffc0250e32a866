"""Get ready to bring proven states to switches: prove, survey, order the change, read back."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.apply.build import fabric_file, read_waves
from tagloom.apply.reading import read_running
from tagloom.errors import Finding, InputError, PlanError
from tagloom.operate.waves import read_sequence, texts_of
from tagloom.pipeline.files import duplicates_allowed, read_build, read_texts, write_rollout
from tagloom.pipeline.planning import flooding, prove, rollout
from tagloom.read import read_fabric
from tagloom.verify import Plan, foreign_findings, verify

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
        return replace(self, sequence=read_sequence(self.directory / "build"), source=self.source / "build")


@contextmanager
def prepared_copy(source: Path, site: Site) -> Iterator[PreparedChange]:
    """Copy what is to be pushed among the files of a site's runs, prove the copy, and remove it in the end.

    Who writes to the directory afterwards changes nothing. Raises InputError, as `prepare` does.
    """
    directory = site.directory(f"asked-{os.getpid()}")
    try:
        try:
            shutil.copytree(source, directory / "copy", ignore=shutil.ignore_patterns("apply", "hosts", "commands"))
        except (OSError, shutil.Error) as error:
            raise InputError([Finding(str(source), "a build or a rollout that can be copied", str(error))]) from error
        yield replace(prepare(directory / "copy"), source=source)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


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
    for number in [wave.number for wave in waves if not wave.paused and wave.number not in passed] or [-1]:
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
        plan = Plan(None, sequence.duplicates_allowed, sequence.assumptions[number - 1].guests)
        proof = verify(fabric.with_links_up(), {**sequence.left, **sequence.states[number]}, plan)
        if not proof.proven:
            break
    assert proof is not None  # noqa: S101 - the list above is never empty
    return proof


def order_change(
    prepared: PreparedChange, before: FabricState, after: FabricState, site: Site, *, allow_drain: bool = False
) -> PreparedChange:
    """Lead a running fabric to a build by a rollout; one that does not prove as it stands is set up in one go.

    A fabric that proves must not pass through states that do not. One that does not (factory default, a push that
    was interrupted, a slip of the hand) has nothing to lose: all its switches may change at once, and where one of
    them fails the others finish. `before` and `after` are what was read and what is wanted on top of it. Raises
    PlanError where no safe order is found.
    """
    running = verify(
        prepared.fabric.with_links_up(), before, Plan(duplicates_allowed=True)
    )  # the hosts may have static ARP
    if not running.proven:
        refuse_harm_to_others(prepared.fabric, after)
        return prepared
    repeats = prepared.proof.duplicates_allowed or not running.broadcast_exactly_once
    change = rollout(prepared.fabric, before, after, duplicates_allowed=repeats, allow_drain=allow_drain)
    if change.after != after:
        raise PlanError(
            "a VLAN id must not be reused for a changed tree while hosts are using it",
            "the build gives ids that are in use to other trees",
            "plan again with --previous and the build that runs, or: tagloom rollout OLD NEW",
        )
    directory = site.directory("rollout") / "rollout"
    build = replace(read_build(prepared.directory), state=change.after)
    write_rollout(build, change, site.share / "templates", directory)
    return replace(prepared, sequence=read_sequence(directory))


def refuse_harm_to_others(fabric: Fabric, after: FabricState) -> None:
    """Raise PlanError where frames of others would storm over the fabric's links, or reach one of its hosts."""
    harm = foreign_findings(fabric.with_links_up(), after)
    if harm:
        raise PlanError(
            "VLANs of others neither loop where spanning tree is off nor reach the fabric's hosts",
            "; ".join(map(str, harm)),
            "take those VLANs off the named ports, until what is left of them is a tree",
        )


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
