"""Carry out proven orders of waves under the journal: begin, resume after anything, take back, and stop."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from ipaddress import ip_address
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom import platforms
from tagloom.apply import interrupts
from tagloom.apply.abort import JOURNAL, LOCK
from tagloom.apply.build import (
    build_of,
    digest,
    duplicates_allowed,
    fabric_file,
    left_alone,
    ports_of,
    pruned_of,
    read_rollout,
    read_waves,
)
from tagloom.apply.confirmations import EXPIRED, WAITING, Confirmations, must_be_answered
from tagloom.apply.journal import Journal
from tagloom.apply.lock import FabricLock
from tagloom.apply.outcomes import Fault
from tagloom.apply.private_files import write_fault
from tagloom.apply.run_directory import Job, RunDirectory, request_stop
from tagloom.apply.run_states import Move
from tagloom.apply.scheduled_reloads import ScheduledReloads
from tagloom.apply.switch import cell_finding, drifted_cells
from tagloom.errors import Finding, InputError, PlanError, TagloomError
from tagloom.operate import own_lines
from tagloom.operate.link_watch import links_watched, raised_ports
from tagloom.operate.running import REQUESTED_DIGEST, build_digest, requested
from tagloom.pipeline.proving import proof_services
from tagloom.platforms.grammar import switchwide
from tagloom.platforms.words import write_templates
from tagloom.read import read_fabric
from tagloom.read.build_directory import read_texts, write_texts
from tagloom.records.fabric_pair import shared_part
from tagloom.records.ownership import left_unnamed, overlay
from tagloom.records.rollout import cells_to_json
from tagloom.records.switch_state import dead_states
from tagloom.render import parse_configuration, render
from tagloom.rollout.back import CONVERGING_SECONDS
from tagloom.rollout.choose import UP_MARGIN, UP_SECONDS
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tagloom.apply.build import WaveOrder
    from tagloom.apply.journal import Run
    from tagloom.apply.outcomes import Outcome, Outcomes
    from tagloom.apply.playbook import Ansible, Progress
    from tagloom.apply.pusher import DirectPusher, Pusher
    from tagloom.apply.site import Site
    from tagloom.apply.switch_locks import Address
    from tagloom.operate.link_watch import SeesUp
    from tagloom.records.change import Change
    from tagloom.records.fabric import Fabric
    from tagloom.records.network import ReadNetwork
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.records.wave_proof import ProofAssumptions
    from tagloom.rollout import ProofServices

ALLOWED = "interrupt-allowed"  # in a run's order: the operator allowed pairs to be cut off
_FORGOTTEN = shutil.ignore_patterns("apply", "commands")  # what neither a push nor a later plan needs
_RETRAINING = ("enabled", "speed_mbps", "negotiation", "flow_control", "eee")


@dataclass(frozen=True)
class WaveSequence:
    """A directory of waves and what every switch holds before the first and after each, `states[k]` after wave k.

    Where nothing is known beforehand (a fabric set up in one go), `states` is empty. `proven` are the digests of the
    texts that the states were read from. Where the waves lead from one fabric to another, `judged` are those that the
    states before and after each wave are of, `owned` the ports of both, by switch, and `left` what switches of the old
    one hold that are left alone. `pruned` are the memberships in VLANs of others that the waves may change, by switch.
    """

    directory: Path
    fabric: Fabric
    states: tuple[FabricState, ...]
    names: tuple[str, ...]
    drains: tuple[float, ...]
    paused: tuple[bool, ...]
    assumptions: tuple[ProofAssumptions, ...]
    duplicates_allowed: bool
    proven: tuple[str, ...] = ()
    judged: tuple[tuple[Fabric, Fabric], ...] = ()
    left: FabricState = field(default_factory=dict)
    owned: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    pruned: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    @property
    def waves(self) -> int:
        """Count the waves."""
        return len(self.names)

    @property
    def build(self) -> WaveSequence:
        """Return the build that the waves lead to, as waves of its own."""
        return self if not (self.directory / "rollout.json").exists() else read_sequence(self.directory / "build")

    def raised_alone(self) -> dict[int, dict[str, list[int]]]:
        """Return the ports that each wave raises, of waves whose wait is for links alone."""
        if not self.states:
            return {}
        numbers = [order.number for order in read_waves(self.directory) if order.number and order.until_up]
        raised = {number: raised_ports(self.states[number - 1], self.states[number]) for number in numbers}
        return {number: ports for number, ports in raised.items() if ports}

    @cached_property
    def ports(self) -> dict[str, tuple[int, ...]]:
        """Return the fabric's ports of every switch."""
        ports = {s.name: tuple(used) for s, used in zip(self.fabric.switches, self.fabric.used_ports, strict=True)}
        return ports | {name: tuple(more) for name, more in self.owned.items()}

    @cached_property
    def shared(self) -> Fabric:
        """Return the fabric whose pairs are never to be cut: of two, what both have."""
        return shared_part(self.judged[0][0], self.judged[-1][1])[0] if self.judged else self.fabric

    def services(self, wave: int) -> ProofServices:
        """Return what decides the lines of a wave."""
        fabrics = self.judged[wave - 1] if self.judged else (self.fabric,)
        return proof_services(*fabrics, duplicates_allowed=self.duplicates_allowed)

    def part(self, wave: int) -> tuple[Fabric, ProofServices]:
        """Return what the lines of a wave are proven for, of two fabrics what both have, and what decides them."""
        one, other = self.judged[wave - 1] if self.judged else (self.fabric, self.fabric)
        return one if one is other else shared_part(one, other)[0], self.services(wave)

    def state_after(self, running: SwitchState, switch: str, after: int) -> SwitchState:
        """Return what a switch must hold after a wave, on top of what is others'."""
        platform, ports = platforms.of(self.fabric.switches[self.fabric.index[switch]]), self.ports[switch]
        leftovers = left_unnamed(running, self._made[switch], ports)
        pruned = self.pruned.get(switch, ())
        return overlay(running, self.states[after][switch], ports, switchwide(platform), leftovers, pruned)

    @cached_property
    def _made(self) -> dict[str, frozenset[int]]:
        """Return the VLANs that the waves make on every switch."""
        first = self.states[0]
        return {
            name: frozenset(v for state in self.states[1:] for v in state[name].owned_vlans)
            - set(first[name].vlans.tolist())
            for name in first
        }

    def holds(self, read: FabricState, after: int) -> bool:
        """Return whether every switch was read and holds what it must after a wave."""
        names = [switch.name for switch in self.fabric.live]
        return all(name in read and self.state_after(read[name], name, after) == read[name] for name in names)

    def drifted_cells(self, running: SwitchState, switch: str, wave: int) -> tuple[Change, ...]:
        """List the cells of a switch that are neither where a wave finds them nor where it brings them."""
        return drifted_cells(
            running, self.state_after(running, switch, max(0, wave - 1)), self.state_after(running, switch, wave)
        )

    def findings(self, switch: str, changes: Collection[Change]) -> tuple[Finding, ...]:
        """Return a finding for each cell, of what was expected and what is there, in the switch's own words."""
        name_of = platforms.of(self.fabric.switches[self.fabric.index[switch]]).port_name
        return tuple(cell_finding(switch, change, name_of) for change in changes)


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


def states_of(fabric: Fabric, texts: Mapping[str, str]) -> FabricState:
    """Read back states that were rendered for an outcome; what a switch holds of others' is in them too."""
    read = {
        switch.name: parse_configuration(platforms.of(switch), texts[switch.name]).state
        for switch in fabric.live
        if switch.name in texts
    }
    return {**read, **dead_states(fabric)}


def read_sequence(directory: Path) -> WaveSequence:
    """Read a directory of waves. Raises InputError."""
    fabric, waves = read_fabric(fabric_file(directory)), [w for w in read_waves(directory) if w.number]
    states: list[FabricState] = []
    texts = texts_of(fabric, waves)
    if waves[0].expected is not None:
        for each in texts:
            here = states_of(fabric, each)
            # One object for what stays the same: proofs pass it over.
            states.append({n: states[-1][n] if states and states[-1][n] == held else held for n, held in here.items()})
    return WaveSequence(
        directory,
        fabric,
        tuple(states),
        tuple(wave.name for wave in waves),
        tuple(wave.drain_seconds for wave in waves),
        tuple(wave.paused for wave in waves),
        tuple(wave.assumptions for wave in waves),
        duplicates_allowed(directory),
        digests(texts, fabric),
        *_judged(directory, waves),
        ports_of(directory, fabric),
        pruned_of(directory),
    )


def _judged(directory: Path, waves: Sequence[WaveOrder]) -> tuple[tuple[tuple[Fabric, Fabric], ...], FabricState]:
    """Read the fabrics that waves are proven for, one object for each file, and what is left alone between them."""
    if not any(wave.fabrics for wave in waves):
        return (), {}
    wrong = [
        Finding(wave.name, "the fabrics before and after it", "others") for wave in waves if len(wave.fabrics) != 2
    ]
    if wrong:
        raise InputError(wrong)
    files = {path: read_fabric(path) for path in {path: None for wave in waves for path in wave.fabrics}}
    judged = tuple((files[wave.fabrics[0]], files[wave.fabrics[1]]) for wave in waves)
    switches = {switch.name: switch for fabric in files.values() for switch in fabric.switches}
    folder = directory / (read_rollout(directory).left or "left")
    left: FabricState = {}
    for name in left_alone(directory):
        if name not in switches:
            raise InputError([Finding(str(folder / f"{name}.cfg"), "a switch of one of the fabrics", name)])
        text = read_text(folder / f"{name}.cfg", "a readable configuration")
        left[name] = parse_configuration(platforms.of(switches[name]), text).state
    return judged, left


def _nobody(line: str) -> None:
    del line


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class ApplyContext:
    """What every command on switches needs: Ansible, the journal, the lock that is held.

    `tell` takes what the operator is to know before a line is sent. `direct` does what Ansible does, where it reaches
    a whole fabric. Where SNMP is set up, `network` reads the network over it, and `sees_up` opens what reads whether
    ports are up. `watch` starts the process that takes back a change which must be confirmed, should this one die; it
    raises where there is none.
    """

    ansible: Ansible
    journal: Journal
    lock: FabricLock
    tell: Callable[[str], None] = _nobody
    direct: DirectPusher | None = None
    network: ReadNetwork | None = None
    watch: Callable[[], None] = _nothing
    sees_up: SeesUp | None = None

    def __post_init__(self) -> None:
        self.ansible.hold(self.lock.over)
        if self.direct is not None:
            self.direct.hold(self.lock.over)

    @property
    def site(self) -> Site:
        """Return where the switches are, and how to reach them."""
        return self.ansible.site

    def pusher(self, fabric: Fabric) -> Pusher:
        """Return who reads a fabric's switches, and sends what was proven from that."""
        return self.direct if self.direct is not None and self.direct.reaches(fabric) else self.ansible

    def begin(
        self,
        sequence: WaveSequence,
        kind: str,
        source: str,
        *,
        save: Collection[str] = (),
        undoes: Run | None = None,
        allowed: bool = False,
        confirm_seconds: float = 0.0,
    ) -> tuple[Run, WaveSequence]:
        """Take a copy of a directory of waves as a new run's own, and write the run down: gives both.

        The copy's texts must be those that the sequence was read from. `save` lists switches that would start with
        something else than they hold: they are saved before the first line. `allowed` says that the operator allowed
        pairs to be cut off, so that a resume need not ask. Runs that were not finished are left to this one; one that
        waits for its confirmation is not. With `confirm_seconds` this one waits for its own. Raises PlanError.
        """
        armed = Confirmations(self.journal).open()
        if armed is not None and armed.state in {WAITING, EXPIRED} and undoes is None:
            raise must_be_answered(armed)
        own = self.site.directory(kind) / "order"
        shutil.rmtree(own, ignore_errors=True)
        try:
            shutil.copytree(sequence.directory, own, ignore=_FORGOTTEN)
            if digests(texts_of(sequence.fabric, read_waves(own)), sequence.fabric) != sequence.proven:
                raise InputError([Finding(str(sequence.directory), "the configurations that were proven", "others")])
            sequence = replace(sequence, directory=own)
            (own / REQUESTED_DIGEST).write_text(self._requested_digest(Path(source)), "ascii")
            if save and sequence.states:
                save_first(own, save)
            if allowed:
                (own / ALLOWED).touch()
        except OSError as error:
            actual = error.strerror or str(error)
            raise InputError([Finding(str(own), "a directory that can be written", actual)]) from error
        for older in self.journal.runs(sequence.fabric.name):
            if older.unfinished and undoes is None:
                self.journal.move(older.id, Move.LEAVE, "for a later run")
        run = self.journal.begin(
            name=self.site.run,
            kind=kind,
            fabric=sequence.fabric.name,
            source=source,
            command=self.lock.command,
            operator=self.lock.operator,
            waves=sequence.waves,
            proven=bool(sequence.states),
            order=own,
            undoes=undoes.id if undoes else None,
            confirm_seconds=confirm_seconds,
        )
        return run, sequence

    def _requested_digest(self, source: Path) -> str:
        """Return the digest of the build that this command was asked to apply, as it was read."""
        with suppress(OSError):
            return (self.site.place(requested()) / REQUESTED_DIGEST).read_text("ascii")
        return build_digest(build_of(source))

    def own_sequence(self, run: Run) -> WaveSequence:
        """Unpack and read an older run's own copy of its waves."""
        return read_sequence(self.unpacked(run))

    def unpacked(self, run: Run) -> Path:
        """Unpack an older run's own copy of its waves, and return where."""
        directory = self.site.directory(f"run{run.id}") / "order"
        shutil.rmtree(directory, ignore_errors=True)
        self.journal.unpack(run.id, directory)
        return directory

    def push(  # noqa: PLR0913 - which waves, to whom, by whom, and what goes on meanwhile
        self,
        run: Run,
        sequence: WaveSequence,
        *,
        first: int = 1,
        last: int = 0,
        limit: Collection[str] = (),
        whole: bool = True,
        meanwhile: Callable[[], object] = lambda: None,
        on_progress: Progress | None = None,
        by: Pusher | None = None,
    ) -> Outcomes:
        """Send waves of a run to switches, and write down how it stands: done after the last, if that is `whole`.

        `meanwhile` is called while switches are logged in to; what it raises ends the run before a line is sent. They
        are sent by whom a look is asked of, unless another is named.
        """
        self._heed_abort(run)
        directory = self.site.directory(f"{run.kind}{run.id}" if first <= 1 else f"{run.kind}{run.id}-wave{first}")
        self.lock.announce(directory)
        self.journal.move(run.id, Move.GO_ON)
        armed = Confirmations(self.journal).open()
        job = Job(
            sequence.directory,
            limit=tuple(limit),
            first_wave=first,
            last_wave=last,
            proven=sequence.proven,
            journal=str(self.journal.path.absolute()),
            run=run.id,
            call_off=tuple(each.switch for each in ScheduledReloads(self.journal).all()),
            reload_seconds=armed.seconds if armed is not None and armed.run.id == run.id and run.kind == "apply" else 0,
        )
        if run.kind == own_lines.KIND:
            job = replace(job, own_lines=own_lines.own_lines_of(sequence), only_own=True)
        names = [switch.name for switch in sequence.fabric.live]
        pusher = by or self.pusher(sequence.fabric)
        pusher.hold(partial(self._lock_switches, sequence.fabric))
        files = RunDirectory(directory)
        sees_up = partial(self.sees_up, sequence.fabric) if self.sees_up is not None else None
        with links_watched(files, sequence.raised_alone(), sees_up):
            outcomes = pusher.do(job, directory, names, meanwhile=meanwhile, on_progress=on_progress)
        if files.stop.exists():
            request_stop(self.site.home)  # no further push of this command begins
        try:
            self._settle(run, sequence, outcomes, whole=whole and (not last or last == sequence.waves))
        except InputError as error:  # lines were sent: this is not the place to say that nothing was changed
            return replace(outcomes, error=outcomes.error or str(error))
        return outcomes

    def call_off_reloads(self, sequence: WaveSequence) -> None:
        """Call off the reloads that a push which was cut short has left scheduled, before its switches are looked at.

        What is read afterwards stays. A switch that is not reached is named, and left to its reload.
        """
        kept, names = ScheduledReloads(self.journal), {switch.name for switch in sequence.fabric.live}
        left = [each for each in kept.all() if each.switch in names]
        if not left:
            return
        armed = tuple(each.switch for each in left)
        path = str(self.journal.path.absolute())
        job = Job(sequence.directory, check=True, limit=armed, first_wave=1, last_wave=1, journal=path, call_off=armed)
        pusher = self.pusher(sequence.fabric)
        pusher.hold(partial(self._lock_switches, sequence.fabric))
        pusher.do(job, self.site.directory("reloads"), armed)
        still = {each.switch: each for each in kept.all()}
        for name in armed:
            if name in still:
                at = still[name].to_json()["until"]
                self.tell(f"reload    of {name} could not be called off: it comes by {at}, from what it has saved")
            else:
                self.tell(f"reload    of {name} is called off")

    def _lock_switches(self, fabric: Fabric, switches: Mapping[str, Address]) -> tuple[int, ...]:
        """Lock the switches of a push by where they are reached. Raises PlanError where it may not reach them."""
        refuse_invented_addresses(fabric, switches)
        return self.lock.over(switches)

    def _heed_abort(self, run: Run) -> None:
        if RunDirectory(self.site.home).stop.exists():
            self.journal.move(run.id, Move.STOP, "as asked")
            rule, next_step = "a command that was asked to stop sends nothing more", "tagloom apply --resume"
            raise PlanError(rule, "", next_step, ("apply --resume",))

    def _settle(self, run: Run, sequence: WaveSequence, outcomes: Outcomes, *, whole: bool) -> None:
        if outcomes.good:
            if whole:
                self.journal.move(run.id, Move.COMPLETE)
                if run.undoes is not None:
                    self._undone(run)
            return
        number = self.journal.run(run.id).wave
        waiting = "; hosts are paused until it goes on" if any(sequence.paused[max(0, number - 2) : number]) else ""
        if changed := outcomes.failed_by(Fault.DRIFT):
            self.journal.move(run.id, Move.STOP, f"others changed {', '.join(changed)}{waiting}")
            return
        stopped = outcomes.stopped or bool(outcomes.failed_by(Fault.STOPPED))
        if stopped and not outcomes.failed_by(*set(Fault) - {Fault.STOPPED, Fault.NONE}):
            self.journal.move(run.id, Move.STOP, f"as asked{waiting}")
        else:
            self.journal.move(run.id, Move.FAIL, (", ".join(outcomes.failed) or outcomes.error) + waiting)

    def _undone(self, run: Run) -> None:
        assert run.undoes is not None  # noqa: S101 - asked by the caller
        if run.kind == "rollback":
            self.journal.move(run.undoes, Move.UNDO)
        else:  # one wave of it was
            older = self.journal.run(run.undoes)
            self.journal.move(older.id, Move.STOP, f"wave {older.wave} was undone")


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
            'tagloom hosts learn FABRIC, or hosts: {NAME: {mac: "..."}} in it, then plan again',
        )


def _on_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


@contextmanager
def open_context(
    ansible: Ansible,
    command: str,
    tell: Callable[[str], None],
    network: ReadNetwork | None = None,
    *,
    sees_up: SeesUp | None = None,
    watch: Callable[[], None] = _nothing,
) -> Iterator[ApplyContext]:
    """Take the fabric's lock and open its journal, for one command, in words, at a time.

    `network` and `sees_up` read switches over SNMP, None where that is not set up. `watch` is as in `ApplyContext`.
    """
    home = ansible.site.home
    with FabricLock(home / LOCK, command, tell) as lock, Journal(home / JOURNAL) as journal:
        journal.interrupt()
        try:
            with interrupts.unwrapped():
                yield ApplyContext(ansible, journal, lock, tell, network=network, watch=watch, sees_up=sees_up)
        except TagloomError:
            raise
        except Exception as error:
            tell(write_fault(home / f"{ansible.site.run}-fault.txt", error))
            raise


# --- where switches stand ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Survey:
    """What a look at the switches found: outcomes, and the states of those that could be read, each parsed once.

    `read` is what they hold, `wanted` what the waves that they were held against would make of it; a switch that was
    asked about several waves holds what the first found, and is wanted where the last leads.
    """

    outcomes: Outcomes
    read: FabricState
    wanted: FabricState

    def unchanged(self) -> Survey:
        """Return it of switches that hold what they shall, whatever wave they were held against."""
        outcomes = (
            replace(o, after=o.before, commands=(), changed=False, error="", fault=Fault.NONE, findings=())
            for o in self.outcomes.outcomes
        )
        return Survey(replace(self.outcomes, outcomes=tuple(outcomes)), self.read, self.read)

    def unsent(self) -> Outcomes:
        """Return the outcomes of switches to which nothing is sent, for a reason that is told."""
        return replace(self.outcomes, outcomes=tuple(replace(o, changed=False) for o in self.outcomes.outcomes))

    def retarget(self, fabric: Fabric, after: FabricState, templates: Path) -> Outcomes:
        """Return the outcomes of switches that are led elsewhere than they were held against."""
        ends = render(fabric, after, templates)
        outcomes = {o.switch: o for o in self.unchanged().outcomes.outcomes}.values()
        led = (replace(o, after=ends[o.switch], changed=self.read[o.switch] != after[o.switch]) for o in outcomes)
        return replace(self.outcomes, outcomes=tuple(led))

    def complete(self, pushed: Outcomes) -> Outcomes:
        """Add to what a push brought the switches that no wave had to reach for: they are as they were read."""
        heard = {outcome.switch for outcome in pushed.outcomes}
        rest = (replace(o, changed=False) for o in self.outcomes.outcomes if o.switch not in heard and not o.failed)
        return replace(pushed, outcomes=(*pushed.outcomes, *rest))


def survey_of(fabric: Fabric, outcomes: Outcomes) -> Survey:
    """Read the states of what a look has found."""
    before = {o.switch: o.before for o in reversed(outcomes.outcomes) if o.read}
    after = {o.switch: o.after for o in outcomes.outcomes if o.read}
    read = states_of(fabric, before)
    led = {name: text for name, text in after.items() if text != before[name]}
    return Survey(outcomes, read, {**read, **states_of(fabric, led)})


@dataclass(frozen=True)
class SwitchProgress:
    """What switches were read to hold against a run's waves: `at[switch]` is the wave it is in or has done."""

    read: FabricState
    at: Mapping[str, int]
    unsaved: tuple[str, ...]
    unread: tuple[Outcome, ...]
    findings: tuple[Finding, ...]


def locate_switches(sequence: WaveSequence, wave: int, found: Survey) -> SwitchProgress:
    """Find each switch in its wave: the last one begun, or an earlier one if it fell behind. `findings` are drift."""
    at: dict[str, int] = {}
    findings: list[Finding] = []
    live = {switch.name for switch in sequence.fabric.live}
    for name, state in found.read.items():
        if name not in live:
            continue
        for number in range(wave, -1, -1):
            if not sequence.drifted_cells(state, name, number):
                at[name] = number
                break
        else:
            findings += sequence.findings(name, sequence.drifted_cells(state, name, wave))
    unsaved = tuple(o.switch for o in found.outcomes.outcomes if o.unsaved)
    unread = tuple(o for o in found.outcomes.outcomes if not o.read)
    return SwitchProgress(found.read, at, unsaved, unread, tuple(findings))


def prove_path(
    sequence: WaveSequence,
    here: FabricState,
    passed: Collection[tuple[FabricState, int]],
    stuck: Mapping[str, tuple[SwitchState, SwitchState]] | None = None,
) -> None:
    """Prove each step of a way line by line, from what was read: the state it leads to, and the wave whose lines it is.

    Raises PlanError for the first step that does not prove.
    """
    for number, (there, wave) in enumerate(passed, start=1):
        check_wave(sequence, here, there, wave, f"wave {number} of {len(passed)}", stuck or {})
        here = there


def check_wave(
    sequence: WaveSequence,
    here: FabricState,
    there: FabricState,
    wave: int,
    title: str,
    stuck: Mapping[str, tuple[SwitchState, SwitchState]],
) -> None:
    """Prove every state between two, of a wave there or back, and that no line cuts the way to a switch.

    Raises PlanError where that does not prove.
    """
    assumptions = replace(sequence.assumptions[wave - 1], stuck=stuck)
    proof, _ = sequence.services(wave).wave({**sequence.left, **here}, {**sequence.left, **there}, assumptions)
    if not proof.proven:
        raise PlanError(
            f"every state on the way must be proven, and {title} is not from what the switches hold",
            str(proof.findings[0]),
            "tagloom apply BUILD --drift overwrite starts anew from what they hold",
            ("apply BUILD --drift overwrite",),
        )


def overlay_wave(
    sequence: WaveSequence, read: FabricState, after: int, only: Collection[str] | None = None
) -> FabricState:
    """Return what a fabric must hold after a wave on top of what was read, on `only` some switches or on all."""
    there: FabricState = {}
    for name, state in read.items():
        if name not in sequence.ports or (only is not None and name not in only):
            there[name] = state
            continue
        wanted = (
            sequence.state_after(state, name, after)
            if sequence.fabric.switches[sequence.fabric.index[name]].up
            else state
        )
        there[name] = state if wanted == state else wanted
    return there


# --- ways on and back -------------------------------------------------------------------------------------------------


def plan_onward(sequence: WaveSequence, progress: SwitchProgress, wave: int) -> list[tuple[int, int, tuple[str, ...]]]:
    """Prove and give the pushes that lead on from wave `wave`: (first wave, last wave or 0, switches or all).

    Switches that fell behind catch up before the others go on, wave by wave. Between two fabrics that is proven for
    what is there where the others stand, not for what was there when they were led.
    """
    pushes: list[tuple[int, int, tuple[str, ...]]] = []
    passed: list[tuple[FabricState, int]] = []
    here = progress.read
    for number in range(max(1, min(progress.at.values(), default=wave)), wave):
        behind = tuple(name for name, at in progress.at.items() if at <= number)
        here = overlay_wave(sequence, here, number, behind)
        passed.append((here, wave if sequence.judged else number))
        pushes.append((number, number, behind))
    for number in range(max(1, wave), sequence.waves + 1):
        here = overlay_wave(sequence, here, number)
        passed.append((here, number))
    prove_path(sequence, progress.read, passed)
    return [*pushes, (max(1, wave), 0, ())]


def write_inverse(
    sequence: WaveSequence,
    progress: SwitchProgress,
    wave: int,
    directory: Path,
    templates: Path,
    down_to: int = 0,
    stuck: Mapping[str, tuple[SwitchState, SwitchState]] | None = None,
) -> WaveSequence:
    """Prove and write the inverse of waves `wave` to `down_to` + 1, from what the switches hold.

    A wave keeps its wait, which is for the frames that it moves; one that raises links waits for them to come up. Waves
    that turned spanning tree off are taken back as one, which waits until its ports forward: nothing is delivered
    meanwhile, and that is announced as downtime (see `rollout.back`).
    """
    shutil.rmtree(directory, ignore_errors=True)
    fabric = sequence.fabric
    passed: list[tuple[FabricState, int]] = []
    payload: list[dict[str, Any]] = []
    orders = {order.number: order for order in read_waves(sequence.directory)}
    files = {number: order.fabrics for number, order in orders.items()} if sequence.judged else {}
    texts = [render(fabric, progress.read, templates)]
    write_texts(directory / "before", texts[0])
    for here, there, number in _steps_back(sequence, progress, wave, down_to):
        passed.append((there, number))
        folder = f"waves/{len(passed)}"
        texts.append(render(fabric, there, templates))
        write_texts(directory / folder, texts[-1])
        payload.append(
            {
                "name": f"undo {sequence.names[number - 1]}",
                "configs": folder,
                **_wait_back(sequence, orders[number], here, there),
                "paused": number > 1 and sequence.paused[number - 2],
                "terms": sequence.assumptions[number - 1].to_json(),
                "fabrics": [path.relative_to(sequence.directory).as_posix() for path in files.get(number, ())][::-1],
            }
        )
    if not payload:
        raise PlanError("there is something to undo", "the switches hold what they held before the run", "")
    prove_path(sequence, progress.read, passed, stuck)
    whole: dict[str, Any] = {
        "before": "before",
        "waves": payload,
        "broadcast_duplicates_allowed": sequence.duplicates_allowed,
    }
    if sequence.judged:
        whole |= {"left": "left", "ports": {name: list(ports) for name, ports in sequence.owned.items()}}
    if sequence.pruned:
        whole["pruned"] = cells_to_json(sequence.pruned)
    pause = downtime(sequence.directory) if any(wave["paused"] for wave in payload) else 0.0
    states = [progress.read, *(there for there, _ in passed)]
    comes_on = any(spanning_tree_comes_on(sequence.shared, *both) for both in pairwise(states))
    if pause or comes_on:
        whole["downtime_seconds"] = pause + CONVERGING_SECONDS * comes_on
    (directory / "rollout.json").write_text(json.dumps(whole, indent=2) + "\n", "utf-8")
    (directory / "build").mkdir()
    shutil.copy(fabric_file(sequence.directory), directory / "build" / "fabric.yml")
    if sequence.judged:
        _copy_fabrics(sequence.directory, files[down_to + 1][0], directory)
    write_templates(fabric.templates, directory / "build" / "templates")
    return WaveSequence(
        directory,
        fabric,
        (progress.read, *(there for there, _ in passed)),
        tuple(wave["name"] for wave in payload),
        tuple(wave["drain_seconds"] for wave in payload),
        tuple(wave["paused"] for wave in payload),
        tuple(sequence.assumptions[number - 1] for _, number in passed),
        sequence.duplicates_allowed,
        digests(texts, fabric),
        tuple(sequence.judged[number - 1][::-1] for _, number in passed) if sequence.judged else (),
        sequence.left,
        sequence.owned,
        sequence.pruned,
    )


def _steps_back(
    sequence: WaveSequence, progress: SwitchProgress, wave: int, down_to: int
) -> Iterator[tuple[FabricState, FabricState, int]]:
    """Yield the states before and after each wave of the way back that changes something, and whose inverse it is."""
    here = progress.read
    for number in range(wave, down_to, -1):
        back = [name for name, at in progress.at.items() if at >= number]
        led = overlay_wave(sequence, here, number - 1, back)
        if number - 1 > down_to and spanning_tree_comes_on(sequence.shared, here, led):
            before = [name for name, at in progress.at.items() if at >= number - 1]
            if spanning_tree_comes_on(sequence.shared, led, overlay_wave(sequence, led, number - 2, before)):
                continue  # with the wave before it
        for there in _modes_last(sequence.fabric, here, led):
            if any(there[name] is not here[name] for name in there):
                yield here, there, number
            here = there


def _modes_last(fabric: Fabric, here: FabricState, there: FabricState) -> list[FabricState]:
    """Return the states of a way back in one wave, or in two where ports' modes change: last, and nothing else.

    A mode bears on nothing where the port is in VLAN 1 alone (see `verify.guard`), as it is once all else is back.
    Where ports of hosts are access ports, mode and VLAN change together: no line says one without the other.
    """
    before: FabricState = {}
    for name, held in there.items():
        same = np.array_equal(held.mode, here[name].mode)
        together = same or platforms.of(fabric.switches[fabric.index[name]]).hosts_on_access
        before[name] = held if together else replace(held, mode=here[name].mode)
    return [there] if all(before[name] is there[name] for name in there) else [before, there]


def spanning_tree_comes_on(fabric: Fabric, here: FabricState, there: FabricState) -> bool:
    """Return whether spanning tree comes on at a port of the fabric, which forwards nothing before it has learned.

    Between two fabrics, ask for the part that both have: what only one has goes, and its ports are shut before.
    """
    return any(
        there[switch.name] is not here[switch.name]
        and (_spans(there[switch.name], ports) & ~_spans(here[switch.name], ports)).any()
        for switch, ports in zip(fabric.switches, fabric.used_ports, strict=True)
        if switch.up
    )


def _spans(held: SwitchState, ports: Sequence[int]) -> NDArray[np.bool_]:
    """Return at which of some ports spanning tree runs, bool[len(ports)]."""
    at: NDArray[np.bool_] = held.port_spanning_tree[np.array(ports, np.int64) - 1] & held.spanning_tree
    return at


def _up_seconds(sequence: WaveSequence, here: FabricState, there: FabricState) -> float:
    """Return the wait for ports that are raised, retrained or join a spanning tree, 0 where there are none."""
    waits = [CONVERGING_SECONDS if spanning_tree_comes_on(sequence.shared, here, there) else 0.0]
    for switch in sequence.fabric.live:
        a, b = here[switch.name], there[switch.name]
        if any(((getattr(a, cell) != getattr(b, cell)) & b.enabled).any() for cell in _RETRAINING):
            slowest = max(platforms.of(switch).toggle_seconds.values(), default=0.0)
            waits.append(UP_MARGIN * slowest or UP_SECONDS)
    return max(waits)


def _copy_fabrics(source: Path, target: Path, directory: Path) -> None:
    """Copy what waves between two fabrics have besides; `target` is the file of the fabric that the way back is to."""
    shutil.copy(fabric_file(source), directory / "fabric.yml")
    shutil.copy(target, directory / "build" / "fabric.yml")
    shutil.copytree(source / "fabrics", directory / "fabrics")
    write_texts(directory / "left", {})
    for path in (source / "left").glob("*.cfg"):
        shutil.copy(path, directory / "left")


def _wait_back(
    sequence: WaveSequence, order: WaveOrder, here: FabricState, there: FabricState
) -> dict[str, float | bool]:
    """Return how long to wait after a step back: for the frames that the wave moves, and for ports that it raises."""
    frames = 0.0 if order.until_up else order.drain_seconds  # a wave that waits for links alone has moved no frames
    seconds = max(frames, _up_seconds(sequence, here, there))
    return {"drain_seconds": seconds, "until_up": not frames and _only_raises(sequence, here, there)}


def _only_raises(sequence: WaveSequence, here: FabricState, there: FabricState) -> bool:
    """Return whether ports are raised, and none is retrained or joins a spanning tree, which forwards later."""
    if spanning_tree_comes_on(sequence.shared, here, there):
        return False
    both = [(here[switch.name], there[switch.name]) for switch in sequence.fabric.live]
    others = [cell for cell in _RETRAINING if cell != "enabled"]
    retrained = any(
        ((getattr(a, cell) != getattr(b, cell)) & a.enabled & b.enabled).any() for a, b in both for cell in others
    )
    return not retrained and any((b.enabled & ~a.enabled).any() for a, b in both)


def save_first(sequence: Path, switches: Collection[str]) -> None:
    """Set which switches an order saves first."""
    path = sequence / "rollout.json"
    if not path.exists():  # a build: one wave, after which all are saved
        return
    payload: dict[str, Any] = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**payload, "save": sorted(switches)}, indent=2) + "\n", "utf-8")


def downtime(directory: Path) -> float:
    """Return for how long a rollout says that it pauses hosts, in seconds; 0 for a build."""
    if not (directory / "rollout.json").exists():
        return 0.0
    payload = read_rollout(directory)
    return payload.downtime_seconds or (1.0 if any(wave.paused for wave in payload.waves) else 0.0)
