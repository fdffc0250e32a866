"""Bring proven states to switches: prove, survey, order the change, push, read back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.apply import playbook
from tagloom.apply.build import fabric_file, read_waves
from tagloom.apply.reading import read_running
from tagloom.errors import DeviceError, Finding, InputError, PlanError
from tagloom.pipeline.files import duplicates_allowed, read_build, read_texts, write_rollout
from tagloom.pipeline.planning import dead_states, flooding, prove, rollout
from tagloom.read import read_fabric
from tagloom.render import parse_configuration
from tagloom.verify import Plan, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tagloom.apply.outcomes import Outcome, Outcomes
    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.switch_state import FabricState

    Progress = Callable[[Outcome], None]


@dataclass(frozen=True, slots=True)
class Site:
    """Say where the switches are and how to reach them.

    inventory    Ansible inventory, a directory or a file; runs leave their outcomes and backups in `runs` beside it
    share        the directory with playbooks, roles and templates
    environment  the process's own, for ansible-playbook
    run          names the runs of this command
    """

    inventory: Path
    share: Path
    environment: Mapping[str, str]
    run: str

    def directory(self, what: str) -> Path:
        """Give the directory of one run; its backups hold the switches' secrets, so only the user may read it."""
        home = self.inventory if self.inventory.is_dir() else self.inventory.parent
        path = home / "runs" / f"{self.run}-{what}"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path


@dataclass(frozen=True)
class Push:
    """Hold what is to be pushed: a directory of a build or a rollout, its fabric, and the proof of all its states."""

    directory: Path
    fabric: Fabric
    waves: int
    proof: Findings


def prepare(directory: Path) -> Push:
    """Prove every state that a push would lead through, from the texts that would be pushed.

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
    proof = None
    passed = flooding(directory)
    for configs in [wave.configs for wave in waves if not wave.paused and wave.number not in passed] or [
        directory / "build" / "configs"
    ]:
        _, proof = prove(fabric, read_texts(fabric, configs), None, duplicates_allowed=duplicates_allowed(directory))
        if not proof.proven:
            break
    assert proof is not None  # noqa: S101 - the list above is never empty
    return Push(directory, fabric, len(waves), proof)


def survey(push: Push, site: Site, *, limit: str = "", on_progress: Progress | None = None) -> Outcomes:
    """Read every switch and say what the push would change; nothing is sent."""
    return _run(push, site, "check", check=True, limit=limit, on_progress=on_progress)


def order(push: Push, found: Outcomes, site: Site) -> Push:
    """Lead a running fabric to a build by a rollout; one that does not prove as it stands is set up in one go.

    A fabric that proves must not pass through states that do not. One that does not (factory default, a push that
    was interrupted, a slip of the hand) has nothing to lose: all its switches may change at once, and where one of
    them fails the others finish. Raises PlanError where no safe order is found, DeviceError where a switch cannot be
    read while others run another plan.
    """
    if not found.changed or (push.directory / "rollout.json").exists():
        return push
    read = {outcome.switch: outcome for outcome in found.outcomes if not outcome.failed}
    before = _states(push.fabric, {name: outcome.before for name, outcome in read.items()})
    after = _states(push.fabric, {name: outcome.after for name, outcome in read.items()})
    if set(read) != {switch.name for switch in push.fabric.live}:
        for outcome in found.outcomes:
            if outcome.failed and any(set(before[n].owned_vlans) - set(after[n].owned_vlans) for n in read):
                rule = "another plan runs, and it is changed only when every switch can be read"
                raise DeviceError(outcome.switch, outcome.command, f"{outcome.error}; {rule}")
        return push
    running = verify(push.fabric, before, Plan(duplicates_allowed=True))  # the hosts may have static ARP
    if not running.proven:
        return push
    repeats = push.proof.duplicates_allowed or not running.broadcast_exactly_once
    change = rollout(push.fabric, before, after, duplicates_allowed=repeats)
    if change.after != after:
        raise PlanError(
            "a VLAN id must not be reused for a changed tree while hosts are using it",
            "the build gives ids that are in use to other trees",
            "plan again with --previous and the build that runs, or: tagloom rollout OLD NEW",
        )
    directory = site.directory("rollout") / "rollout"
    build = replace(read_build(push.directory), state=change.after)
    write_rollout(build, change, site.share / "templates", directory)
    return replace(push, directory=directory, waves=len(change.waves))


def push(what: Push, site: Site, *, limit: str = "", on_progress: Progress | None = None) -> Outcomes:
    """Send every wave, read each switch back, and save; raises nothing for a switch that fails."""
    return _run(what, site, "push", check=False, limit=limit, on_progress=on_progress)


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


def _run(what: Push, site: Site, kind: str, *, check: bool, limit: str, on_progress: Progress | None) -> Outcomes:
    return playbook.run(
        what.directory,
        site.inventory,
        switches=[switch.name for switch in what.fabric.live],
        directory=site.directory(kind),
        share=site.share,
        environment=site.environment,
        check=check,
        diff=check,
        limit=limit,
        on_progress=on_progress,
    )


def _states(fabric: Fabric, texts: Mapping[str, str]) -> FabricState:
    """Read back states that were rendered for an outcome; what a switch holds of others' is in them too."""
    read = {
        switch.name: parse_configuration(platforms.of(switch), texts[switch.name]).state
        for switch in fabric.live
        if switch.name in texts
    }
    return {**read, **dead_states(fabric)}
