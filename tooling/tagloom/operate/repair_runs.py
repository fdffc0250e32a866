"""Find what runs, by the journal, and what of it is dead, by its switches: what is to be repaired."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom import observe
from tagloom.apply.build import build_of
from tagloom.apply.run_states import DONE
from tagloom.errors import DeviceError, Finding, InputError, PlanError
from tagloom.operate.repair_detour import detour_for
from tagloom.operate.repair_spare import spare_for
from tagloom.operate.repair_target import same_target, target
from tagloom.operate.running import FOLDER, applied_place, is_repair
from tagloom.pipeline.files import read_build
from tagloom.pipeline.planning import plan
from tagloom.platforms.port_names import link_name
from tagloom.read import read_fabric
from tagloom.read.build_directory import read_texts
from tagloom.records.dead_parts import DeadParts
from tagloom.records.fabric_pair import alike
from tagloom.render import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from tagloom.apply.journal import Journal, Run
    from tagloom.operate.repair_spare import Spare
    from tagloom.operate.repair_target import Target
    from tagloom.operate.waves import ApplyContext, WaveSequence
    from tagloom.records.build import Build
    from tagloom.records.detours import Detour
    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation
    from tagloom.records.switch_state import FabricState

    Poll = Callable[[Fabric], dict[str, Observation]]
    PollSome = Callable[[Fabric, Collection[str]], dict[str, Observation]]


@dataclass(frozen=True)
class Runs:
    """What the journal says that runs: the build that was applied last, and the one without repairs, `home`.

    `directory` is where the latter is kept, None where nobody has it any more; `ours` whether a repair came last.
    `texts` are those that the state was read from.
    """

    run: Run
    fabric: Fabric
    state: FabricState
    home: Build
    directory: Path | None
    ours: bool
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def at_home(self) -> bool:
        """Return whether what runs is the build without repairs, all of it."""
        return self.run.state == DONE and same_target(self.fabric, self.home.fabric)

    @property
    def known(self) -> DeadParts:
        """Return what the last repair has left out."""
        pairs = zip(self.home.fabric.switches, self.fabric.switches, strict=True)
        gone = frozenset(s for s, (home, now) in enumerate(pairs) if home.up and not now.up)
        return DeadParts(frozenset(i for i, link in enumerate(self.fabric.links) if link.dead), gone)


@dataclass(frozen=True)
class Way:
    """A means to lead around what is dead, and what shall run then.

    `known` is the detour that the build without repairs has, or the parallel link that is off and may take the place of
    the dead one; None if paths are planned anew.
    """

    known: Detour | Spare | None
    wanted: Target

    def leads_as(self, other: Way) -> bool:
        """Return whether another way leads to the same by the same means."""
        return self.known == other.known and same_target(self.wanted.fabric, other.wanted.fabric)


@dataclass(frozen=True)
class Assessment:
    """What is dead in what runs, and the ways around it, at least one; `whole` has the links that sleep up as well.

    The ways are in the order of the harm that they may do. `waiting` are switches that are back and count as dead until
    those before them are readmitted.
    """

    runs: Runs
    whole: Fabric
    dead: DeadParts
    ways: tuple[Way, ...]
    waiting: frozenset[int] = frozenset()

    @property
    def wanted(self) -> Target:
        """Return what shall run by the first of the ways."""
        return self.ways[0].wanted

    @property
    def known_ways(self) -> tuple[Way, ...]:
        """Return the ways that take few lines, known beforehand; they start from the build without repairs."""
        return tuple(way for way in self.ways if way.known is not None) if self.runs.at_home else ()

    @property
    def new_paths(self) -> tuple[Way, ...]:
        """Return the ways that plan paths anew."""
        return tuple(way for way in self.ways if way.known is None)

    @property
    def to_do(self) -> bool:
        """Return whether something else shall run, or a repair did not come to its end.

        Links that the operator has off or dead stay so where nothing is dead.
        """
        if not (self.dead.links or self.runs.ours):
            return False
        return self.runs.run.unfinished or not same_target(self.wanted.fabric, self.runs.fabric)

    @property
    def is_away(self) -> bool:
        """Return whether a repair leads paths elsewhere than they go without one."""
        runs = self.runs
        return runs.ours and (runs.run.unfinished or not same_target(runs.fabric, runs.home.fabric))

    @property
    def dead_links(self) -> tuple[str, ...]:
        """Name the dead links by their ends."""
        return tuple(link_name(self.runs.home.fabric, i) for i in sorted(self.dead.links))

    @property
    def dead_switches(self) -> tuple[str, ...]:
        """Name the dead switches."""
        return tuple(self.runs.home.fabric.switches[s].name for s in sorted(self.dead.switches))


def assess(runs: Runs, whole: Fabric, poll: Poll, hold_seconds: float) -> Assessment:
    """Ask the switches, and return what is dead and what shall run.

    Raises DeviceError where no switch answers, InputError where the inventory calls switches otherwise.
    """
    home = runs.home.fabric
    _refuse_other_names(home, whole)
    seen = _look(runs, poll, hold_seconds)
    waiting = _waiting(home, seen, runs.known)
    dead = _with_waiting(home, seen, waiting)
    asleep_too = whole if alike(whole, home) else home
    ways = list[Way]()
    wanted = target(home, runs.fabric, asleep_too, dead)
    if (detour := detour_for(runs.home, dead)) is not None:  # it starts from home, and needs no link that sleeps
        around = target(home, home, home, dead)
        there = same_target(runs.fabric, around.fabric)
        if there or same_target(runs.fabric, home):
            ways.append(Way(None if there and not runs.run.unfinished else detour, around))
    spare = spare_for(home, asleep_too, dead.links, wanted) if not dead.switches else None
    if spare is not None:
        ways.append(Way(spare, wanted))
    for goal in (wanted, ways[0].wanted if ways else wanted):
        anew = Way(None, goal)
        if not any(way.leads_as(anew) for way in ways):
            ways.append(anew)
    return Assessment(runs, asleep_too, dead, tuple(ways), waiting)


def assess_ends(
    runs: Runs,
    whole: Fabric,
    earlier: Mapping[str, Observation],
    tellers: Callable[[], Collection[str]],
    poll: PollSome,
    hold_seconds: float,
) -> Assessment | None:
    """Return what switches that tell of something show: one dead link that has a detour or a spare, else None.

    Only the `tellers` are read, those that join them meanwhile too; of all others stands what was seen `earlier`. A
    link is taken for dead that way where both of its switches are among them: of a switch that died, its neighbours
    alone tell. What else may have died is for a look at all switches, after that.
    """
    seen: dict[str, Observation] = {}

    def read(fabric: Fabric) -> dict[str, Observation]:
        while new := set(tellers()) - seen.keys():
            seen.update(poll(fabric, new))
        return {**earlier, **seen}

    found = assess(runs, whole, read, hold_seconds)
    fabric = runs.home.fabric
    ends = {fabric.switches[s].name for i in found.dead.links for s in (fabric.links[i].a, fabric.links[i].b)}
    known = {name for name, each in seen.items() if not each.error}
    alone = found.to_do and not found.dead.switches and ends <= known
    return found if alone and any(way.known is not None for way in found.ways) else None


def _refuse_other_names(home: Fabric, whole: Fabric) -> None:
    """Raise InputError where switches of the build that runs are none of the inventory's."""
    rule = "a switch of the inventory; where it has another name now, tagloom apply the build that says so first"
    strange = [Finding(name, rule, "none of that name") for name in home.index if name not in whole.index]
    if strange:
        raise InputError(strange)


def _look(runs: Runs, poll: Poll, hold_seconds: float) -> DeadParts:
    """Read every switch of the build without repairs, and return what of it, and of what was woken, is dead."""
    home = runs.home.fabric
    links = (replace(a, up=a.up or b.up) for a, b in zip(home.links, runs.fabric.links, strict=True))
    judged = replace(home, links=tuple(links))
    seen = poll(judged)
    if all(each.error for each in seen.values()):
        name, each = next(iter(seen.items()))
        raise DeviceError(name, "", f"no switch answers over SNMP, so nothing is known of any: {each.error}")
    return observe.dead_parts(judged, seen, runs.known, hold_seconds)


def _waiting(fabric: Fabric, seen: DeadParts, known: DeadParts) -> frozenset[int]:
    """Return the switches that are back, all but the one that is readmitted next: one that a cable joins to the rest.

    What was cut off behind another has no way to the rest before that one is back.
    """
    back = known.switches - seen.switches
    rest = {s for s, switch in enumerate(fabric.switches) if switch.up} - known.switches - seen.switches
    ends = [{link.a, link.b} for i, link in enumerate(fabric.links) if link.up and i not in seen.links]
    joined = [s for s in sorted(back) if any(s in each and each & rest for each in ends)]
    return back - {*(joined or sorted(back))[:1]}


def _with_waiting(fabric: Fabric, dead: DeadParts, waiting: frozenset[int]) -> DeadParts:
    """Return `dead` with switches that are back and wait: each is readmitted for itself."""
    links = {i for i, link in enumerate(fabric.links) if link.up and {link.a, link.b} & waiting}
    return replace(dead, links=dead.links | links, switches=dead.switches | waiting)


def what_runs(context: ApplyContext) -> Runs:
    """Return what runs. Raises InputError where nothing was applied, PlanError where something is being undone."""
    runs = [run for run in context.journal.runs() if run.wave and run.kind in {"apply", "rollback", "undo"}]
    if runs and runs[0].unfinished and runs[0].kind != "apply":
        rule = "a rollback that was interrupted is finished before a repair"
        raise PlanError(rule, runs[0].standing, "tagloom apply --resume")
    last = context.journal.applied()
    if last is None:
        raise InputError([Finding("repair", "a build that tagloom apply has brought to the switches", "none")])
    sequence = context.own_sequence(last).build
    texts = read_texts(sequence.fabric, sequence.directory / "configs")
    state, _ = parse(sequence.fabric, texts)
    folder = context.site.home / FOLDER
    ours = is_repair(last, context.site.home)
    directory = folder / "home" if ours else _kept_source(sequence, Path(last.source), texts)
    if directory is not None:
        home = read_build(directory, states=ours)
    else:  # nobody has its routes any more
        home, _, _ = plan(sequence.fabric, context.site.share / "templates", texts=False)
    return Runs(last, sequence.fabric, state, home if ours else replace(home, state=state), directory, ours, texts)


def protection_applied(journal: Journal, home: Path) -> str:
    """Return for which failures the build that was applied last has detours: none, link or switch.

    Of a repair it is the build without that; none too where nobody has the build any more. `home` has the runs of the
    inventory.
    """
    last = journal.applied()
    if last is None:
        return "none"
    try:
        directory = home / FOLDER / "home" if is_repair(last, home) else applied_place(journal, last, home)
        build = read_build(directory, states=False)
    except InputError:
        return "none"
    return build.protection.protect if build.protection is not None else "none"


def _kept_source(sequence: WaveSequence, source: Path, texts: Mapping[str, str]) -> Path | None:
    """Return a directory with the build that runs and its paths: the one that was applied, or the run's own copy."""
    fabric = sequence.fabric
    for directory in (build_of(source), sequence.directory):
        try:
            kept = read_fabric(directory / "fabric.yml")
            same = (
                alike(kept, fabric) and same_target(kept, fabric) and read_texts(kept, directory / "configs") == texts
            )
            if same:
                read_build(directory, states=False)
                return directory
        except InputError:
            continue
    return None
