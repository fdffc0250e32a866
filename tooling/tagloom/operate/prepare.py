"""Get ready to bring proven states to switches: prove, survey, order the change, read back."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.apply.build import digest, fabric_file, read_waves
from tagloom.apply.reading import read_running
from tagloom.errors import Finding, InputError, PlanError
from tagloom.pipeline.files import duplicates_allowed, read_build, read_texts, write_rollout
from tagloom.pipeline.planning import dead_states, flooding, prove, rollout
from tagloom.read import read_fabric
from tagloom.render import parse_configuration
from tagloom.verify import Plan, foreign_findings, verify

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tagloom.apply.build import WaveOrder
    from tagloom.apply.site import Site
    from tagloom.apply.switch_locks import Address
    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.switch_state import FabricState


@dataclass(frozen=True)
class PreparedChange:
    """What is to be pushed: a directory of a build or a rollout, its fabric, and the proof of all its states.

    `source` is the directory that was asked for, of which `directory` is a copy that nobody else writes to. `proven`
    are the digests of its configurations, before the first wave and after each; none where that is to come.
    """

    directory: Path
    fabric: Fabric
    waves: int
    proof: Findings
    source: Path
    proven: tuple[str, ...] = ()

    @property
    def target(self) -> PreparedChange:
        """Return the build that a rollout leads to."""
        return replace(self, directory=self.directory / "build", source=self.source / "build", waves=1, proven=())


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
    return PreparedChange(directory, fabric, len(waves), proof, directory, digests(texts, fabric))


def texts_of(fabric: Fabric, waves: Sequence[WaveOrder]) -> list[dict[str, str]]:
    """Read the configurations before the first wave, none where any may be, and after each. Raises InputError."""
    after = [wave for wave in waves if wave.number]
    if not after:
        raise InputError([Finding("rollout.json", "a wave", "none")])
    before = after[0].expected
    return [{} if before is None else read_texts(fabric, before), *(read_texts(fabric, w.configs) for w in after)]


def digests(texts: Sequence[Mapping[str, str]], fabric: Fabric) -> tuple[str, ...]:
    """Return the digests of configurations before the first wave, "" where any may be, and after each."""
    return tuple(digest(each, fabric.templates) if each else "" for each in texts)


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
    return replace(prepared, directory=directory, waves=len(change.waves), proven=())


def refuse_harm_to_others(fabric: Fabric, after: FabricState) -> None:
    """Raise PlanError where frames of others would storm over the fabric's links, or reach one of its hosts."""
    harm = foreign_findings(fabric.with_links_up(), after)
    if harm:
        raise PlanError(
            "VLANs of others neither loop where spanning tree is off nor reach the fabric's hosts",
            "; ".join(map(str, harm)),
            "take those VLANs off the named ports, until what is left of them is a tree",
        )


def refuse_invented_addresses(fabric: Fabric, switches: Mapping[str, Address]) -> None:
    """Raise PlanError where hosts have MAC addresses that tagloom made up, and a switch is none of a virtual rack's.

    `switches` says where each is reached. A rack listens on loopback alone; a name counts as a real switch.
    """
    invented = [host.name for host in fabric.hosts if host.invented]
    real = [name for name, (address, _) in switches.items() if not _on_loopback(address)]
    if invented and real:
        raise PlanError(
            "entries on real switches are for the addresses that hosts have",
            f"{invented[0]} and {len(invented) - 1} more have addresses that tagloom made up; {real[0]} is no rack's",
            'hosts: {NAME: {mac: "..."}} in the fabric file, then plan again',
        )


def _on_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def read_back(fabric: Fabric, site: Site) -> dict[str, str]:
    """Read every switch's running configuration over SSH. Raises DeviceError for the first that cannot be read."""
    names = [switch.name for switch in fabric.live]
    return read_running(
        site.inventory,
        switches=names,
        directory=site.directory("read"),
        share=site.share,
        environment=site.environment,
    )


def states_of(fabric: Fabric, texts: Mapping[str, str]) -> FabricState:
    """Read back states that were rendered for an outcome; what a switch holds of others' is in them too."""
    read = {
        switch.name: parse_configuration(platforms.of(switch), texts[switch.name]).state
        for switch in fabric.live
        if switch.name in texts
    }
    return {**read, **dead_states(fabric)}
