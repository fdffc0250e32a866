"""Read what runs from the journal, and what of it differs or is dead from the switches; nothing is changed."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom import observe
from tagloom.apply.abort import JOURNAL, LOCK, at_work
from tagloom.apply.build import build_of, fabric_file
from tagloom.apply.confirmations import WAITING, Confirmations
from tagloom.apply.journal import Journal
from tagloom.apply.lock import holder
from tagloom.apply.run_states import DONE, FAILED, INTERRUPTED, RUNNING
from tagloom.apply.scheduled_reloads import ScheduledReloads
from tagloom.apply.typed_lines import typed
from tagloom.operate import prepare
from tagloom.operate.clock_document import failover_of, read_clock
from tagloom.operate.running import applied_place, is_repair
from tagloom.operate.watchdog import read_watchdog
from tagloom.platforms.port_names import link_name, port_name
from tagloom.read import read_fabric
from tagloom.read.build_directory import read_texts
from tagloom.records.dead_parts import DeadParts
from tagloom.render import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tagloom.apply.confirmations import Confirmation
    from tagloom.apply.journal import Run, SwitchRow
    from tagloom.apply.scheduled_reloads import ScheduledReload
    from tagloom.apply.site import Site
    from tagloom.apply.typed_lines import Typed
    from tagloom.errors import Finding
    from tagloom.operate.clock_document import ClockDocument
    from tagloom.operate.repair_runs import Poll
    from tagloom.operate.watchdog import Watchdog
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState


@dataclass(frozen=True)
class Recorded:
    """What an inventory's files say of its runs.

    last        the run that was not finished, else the newest; None where the journal has none
    applied     the run that brought what switches hold, with its fabric and state; None where none did
    build       where the files of its build are: where they were applied from, else the run's own copy
    repaired    whether that was a repair
    opening     of a run that is not finished, its links that were shut before it: they need not be open yet
    locked_by   who works on the switches now, "" for nobody
    armed       the change that is to be confirmed, else taken back
    watchdog    the process that takes that back, or that did until it ended
    reloads     the switches that are told to reload from what they have saved, and were not told otherwise since
    """

    last: Run | None = None
    applied: Run | None = None
    fabric: Fabric | None = None
    state: FabricState = field(default_factory=dict)
    repaired: bool = False
    opening: frozenset[int] = frozenset()
    locked_by: str = ""
    clock: ClockDocument | None = None
    armed: Confirmation | None = None
    watchdog: Watchdog | None = None
    reloads: tuple[ScheduledReload, ...] = ()
    build: Path | None = None

    @property
    def moved(self) -> str:
        """Return what became of the directory that was applied: "" where the build is still there as it was."""
        if self.applied is None or self.build is None:
            return ""
        source = build_of(Path(self.applied.source))
        return "" if self.build == source else "changed" if source.exists() else "removed"


@dataclass(frozen=True)
class Look:
    """What switches answered over SNMP, beside what they should hold.

    silent     names of switches that do not answer, with a cable to them up, which those that are dead have not
    unhandled  those of the dead that the build that runs does not leave out
    back       those that it leaves out, and that are there again
    differs    where the findings are that no dead part explains
    """

    dead_switches: tuple[str, ...] = ()
    dead_links: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    unhandled: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    differs: tuple[str, ...] = ()
    answered: bool = True


def recorded(home: Path) -> Recorded:
    """Return what the files of an inventory's runs, in `home`, say; they are only read. Raises InputError."""
    if not (home / JOURNAL).exists():
        return Recorded(locked_by=_locked_by(home), clock=read_clock(home))
    journal = Journal(home / JOURNAL)
    last, locked_by = _last(journal), _locked_by(home)
    if last is not None and last.state == RUNNING and not locked_by:
        last = _last(journal)  # which may have ended between the two looks
        if last is not None and last.state == RUNNING:
            last = replace(last, state=INTERRUPTED)
    applied = journal.applied()
    armed = Confirmations(journal).open()
    reloads = tuple(ScheduledReloads(journal).all())
    dog = read_watchdog(home) if armed is not None else None
    reported = Recorded(
        *(last, applied), locked_by=locked_by, clock=read_clock(home), armed=armed, watchdog=dog, reloads=reloads
    )
    if applied is None:
        return reported
    with tempfile.TemporaryDirectory() as place:
        order = Path(place) / "order"
        journal.unpack(applied.id, order)
        build = build_of(order)
        fabric = read_fabric(fabric_file(build))
        state, _ = parse(fabric, read_texts(fabric, build / "configs"))
        opening = _opening(order, fabric) if applied.unfinished else frozenset()
    files, repaired = applied_place(journal, applied, home), is_repair(applied, home)
    return replace(reported, fabric=fabric, state=state, repaired=repaired, build=files, opening=opening)


def _opening(order: Path, fabric: Fabric) -> frozenset[int]:
    """Return the links of a run's target, by index, that were shut at an end before its first wave."""
    if not (order / "before").is_dir():
        return frozenset()
    whole = read_fabric(fabric_file(order))
    before, _ = parse(whole, read_texts(whole, order / "before"))
    shut = {(name, port + 1) for name, held in before.items() for port, up in enumerate(held.enabled) if not up}
    names = [switch.name for switch in fabric.switches]
    return frozenset(
        i
        for i, link in enumerate(fabric.links)
        if any({(names[link.a], a), (names[link.b], b)} & shut for a, b in link.cables)
    )


def sent_log(home: Path, most: int) -> list[dict[str, Any]]:
    """Return the newest runs, `most` at most, with who began each and which lines every switch was sent in it.

    What was typed outside a run, at consoles and for a trial, stands among them, of kind "typed". Runs keep their
    order, and so does what was typed, even if the computer's clock was set back in between.

    Nothing of a switch's own text stands in a journal, and secrets among the operator's own lines are masked there.
    """
    if not (home / JOURNAL).exists():
        return []
    journal, free = Journal(home / JOURNAL), not at_work(home)
    runs = [(run.began, _run_entry(run, journal.switches(run.id), free)) for run in journal.runs()[:most]]
    both = runs, [(each.began, _typed_entry(each)) for each in typed(journal)[:most]]
    return [entry for _, entry in islice(merge(*both, key=itemgetter(0), reverse=True), most)]


def _run_entry(run: Run, rows: Iterable[SwitchRow], free: bool) -> dict[str, Any]:
    return {
        **run.to_json(),
        "state": INTERRUPTED if free and run.state == RUNNING else run.state,
        "source": run.source,
        "command": run.command,
        "by": run.operator,
        "began": moment(run.began),
        "ended": moment(run.ended),
        "note": run.note,
        "switches": [
            {
                "switch": row.switch,
                "wave": row.wave,
                "state": row.state,
                "lines": list(row.lines),
                "sent": row.sent,
                "error": row.error,
                "at": moment(row.at),
            }
            for row in rows
        ],
    }


def _typed_entry(each: Typed) -> dict[str, Any]:
    state = INTERRUPTED if each.ended is None else FAILED if each.error else DONE
    row = {"switch": each.switch, "wave": 0, "state": state, "lines": list(each.lines), "sent": each.sent}
    at = moment(each.began if each.ended is None else each.ended)
    return {
        "run": "",
        "kind": "typed",
        "state": state,
        "wave": 0,
        "waves": 0,
        "source": "",
        "command": each.command,
        "by": each.operator,
        "began": moment(each.began),
        "ended": moment(each.ended),
        "note": each.place,
        "switches": [row | {"error": each.error, "at": at}],
    }


def _last(journal: Journal) -> Run | None:
    return journal.unfinished() or next(iter(journal.runs()), None)


def _locked_by(home: Path) -> str:
    return str(holder(home / LOCK) or "a command that has just begun") if at_work(home) else ""


def look(known: Recorded, whole: Fabric, poll: Poll, site: Site) -> Look:
    """Ask the switches over SNMP, and return what is dead, and what differs from the build that runs.

    `whole` is the inventory's fabric, judged alone where nothing was applied. Switches whose agents show factory values
    are judged by their command lines.
    """
    runs = known.fabric or whole
    left_out = frozenset(
        s
        for s, switch in enumerate(runs.switches)
        if not switch.up and switch.name in whole.index and whole.switches[whole.index[switch.name]].up
    )
    switches = (replace(switch, up=switch.up or s in left_out) for s, switch in enumerate(runs.switches))
    every = replace(runs, switches=tuple(switches))
    before = DeadParts(frozenset(i for i, link in enumerate(runs.links) if link.dead), left_out)
    seen = poll(every)
    dead = observe.dead_parts(every, seen, before)
    dead = replace(dead, links=dead.links - known.opening)
    silent = {name for name, shown in seen.items() if shown.error}
    findings: tuple[Finding, ...] = ()
    if known.state:
        _, found = observe.findings_of(
            [(runs, known.state)],
            seen,
            lambda names: prepare.running_states(runs, site, names),
        )
        findings = (*found, *observe.link_findings(runs, known.state, seen))
    explained = silent | _cables(runs, dead)
    links = {i: link_name(runs, i) for i in dead.links | before.links}
    names = {s: runs.switches[s].name for s in dead.switches | before.switches}
    return Look(
        dead_switches=tuple(names[s] for s in sorted(dead.switches)),
        dead_links=tuple(links[i] for i in sorted(dead.links)),
        silent=dead.silent,
        unhandled=(
            *(names[s] for s in sorted(dead.switches - before.switches)),
            *(links[i] for i in sorted(dead.links - before.links)),
        ),
        back=(
            *(names[s] for s in sorted(before.switches - dead.switches)),
            *(links[i] for i in sorted(before.links - dead.links) if known.repaired),
        ),
        findings=findings,
        differs=tuple(dict.fromkeys(each.where for each in findings if each.where not in explained)),
        answered=not seen or len(silent) < len(seen),
    )


def _cables(fabric: Fabric, dead: DeadParts) -> set[str]:
    """Name the cables of dead links, as findings do."""
    each = (fabric.links[i] for i in dead.links)
    return {f"{port_name(fabric, x.a, a)} - {port_name(fabric, x.b, b)}" for x in each for a, b in x.cables}


def next_words(known: Recorded, seen: Look) -> str:
    """Return the command to type next, without its first word, "" where there is nothing to do but to wait."""
    build, last, armed = known.build, known.last, known.armed
    if armed is not None and armed.state == WAITING:
        return "confirm"
    if known.locked_by:
        return ""
    dead = [name for name in seen.unhandled if name in seen.dead_switches]
    if last is not None and last.unfinished:
        if dead and last.kind == "apply" and build is not None:
            return " ".join([f"apply {build}", *(f"--without {name}" for name in dead), "--drift overwrite"])
        return "apply --resume"
    if build is None or armed is not None:
        return "rollback" if armed is not None else ""
    if seen.unhandled or (seen.back and known.repaired):
        return "repair"
    if seen.back:
        return f"apply {build} --readmit {seen.back[0]}"
    return f"apply {build} --check --diff" if seen.differs else ""


def is_as_built(known: Recorded, seen: Look | None) -> bool:
    """Return whether a build runs that nobody is changing, and nothing that was seen is dead or differs from it.

    It is not if a timetable is kept whose process cannot see the fabric.
    """
    if known.clock is not None and known.clock.at_work and known.clock.status.look.error:
        return False
    shown = seen or Look()
    wrong = (shown.dead_switches, shown.dead_links, shown.silent, shown.findings, known.locked_by)
    unfinished = known.last is not None and known.last.unfinished
    armed = known.armed is not None or known.reloads
    return known.applied is not None and not armed and not unfinished and not any(wrong)


def status_page(fabric: str, known: Recorded, seen: Look | None) -> dict[str, Any]:
    """Return it with the keys of the command line, all but `next`; `seen` is None where no switch was asked."""
    run, last, shown = known.applied, known.last, seen or Look()
    at = None if run is None else run.ended or run.began
    return {
        "fabric": fabric,
        "build": str(known.build) if known.build else None,
        "source": run.source if run else None,
        "source_state": known.moved,
        "applied_at": moment(at),
        "applied_by": run.operator if run else None,
        **(last.to_json() if last else {"run": "", "kind": "", "state": "", "wave": 0, "waves": 0}),
        "stands": last.standing if last else "no run is in the journal",
        "unfinished": last is not None and last.unfinished,
        "locked_by": known.locked_by,
        "clock": _clock_payload(known.clock),
        "failover": failover_of(known.clock),
        "looked": seen is not None,
        "dead_switches": list(shown.dead_switches),
        "dead_links": list(shown.dead_links),
        "silent_switches": list(shown.silent),
        "back": list(shown.back),
        "differs": list(shown.differs),
        "armed": known.armed.to_json() if known.armed else None,
        "watchdog": watchdog_payload(known.watchdog) if known.armed else None,
        "reloads": [each.to_json() for each in known.reloads],
        "findings": [finding.to_json() for finding in shown.findings],
    }


def watchdog_payload(dog: Watchdog | None) -> dict[str, Any]:
    """Return what takes back a change that must be confirmed, and how its tries went, with the keys of status."""
    return {
        "at_work": dog is not None and dog.at_work,
        "by": f"{dog.user} on {dog.host}, process {dog.pid}" if dog is not None else "",
        "tries": dog.tries if dog is not None else 0,
        "tried_at": moment(dog.tried_at) if dog is not None else None,
        "error": dog.error if dog is not None else "",
        "next_at": moment(dog.next_at) if dog is not None else None,
        "gives_up_at": moment(dog.gives_up_at) if dog is not None else None,
        "gave_up": dog is not None and dog.gave_up,
    }


def _clock_payload(clock: ClockDocument | None) -> dict[str, Any] | None:
    if clock is None:
        return None
    status = clock.status
    return {
        "at_work": clock.at_work,
        "by": f"{clock.user} on {clock.host}, process {clock.pid}",
        "timetable": clock.timetable,
        "at": moment(status.at),
        "settings": list(status.settings),
        "scheduled": status.scheduled,
        "raised": status.raised,
        "links_off": status.links_off,
        "jobs": status.jobs,
        "next_at": moment(status.next_at),
        "changes": status.changes,
        "failures": status.failures,
        "reweave": asdict(status.reweave),
        "look": {"good_at": moment(status.look.good_at), "error": status.look.error},
    }


def moment(at: float | None) -> str | None:
    """Return seconds since the epoch as ISO 8601, by the computer's own time zone; None for None.

    >>> moment(None) is None
    True
    """
    return None if at is None else datetime.fromtimestamp(at, UTC).astimezone().isoformat(timespec="seconds")
