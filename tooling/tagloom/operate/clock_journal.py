"""Find, by the journal, what a timetable begins or goes on from: the build that runs, and the one to return to."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.apply.abort import JOURNAL, at_work
from tagloom.apply.journal import Journal
from tagloom.apply.run_states import DONE
from tagloom.errors import InputError, PlanError
from tagloom.operate.running import applied_place, is_repair, running_build
from tagloom.pipeline.files import read_build
from tagloom.platforms.port_names import link_ends
from tagloom.records.fabric_pair import alike
from tagloom.records.settings import lost_speed_steps

if TYPE_CHECKING:
    from tagloom.apply.journal import Run
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric

_COMMAND = ("tagloom", "run")


@dataclass(frozen=True)
class ClockJournal:
    """What the journal of an inventory shows to a timetable.

    home   the directory of the inventory's runs
    state  the directory that the timetable's own builds are written to
    """

    home: Path
    state: Path

    def is_own(self, run: Run) -> bool:
        """Return whether a timetable or a repair began a run, so that it may go on with that."""
        own = Path(run.source).parent == self.state.absolute() or is_repair(run, self.home)
        return own or tuple(run.command.split()[:2]) == _COMMAND

    def applied(self) -> Run | None:
        """Return the run that switches hold, None where nothing was applied, or a command is at work on them.

        Raises InputError where the journal cannot be read.
        """
        journal = self._at_rest()
        return None if journal is None else journal.applied()

    def refuse_unfinished(self, fabric: str) -> None:
        """Raise PlanError where a run of an operator's is neither finished nor undone, and no command works on it."""
        journal = self._at_rest()
        run = None if journal is None else journal.unfinished(fabric)
        if run is not None and run.proven and run.wave and not self.is_own(run):
            raise unfinished(run)

    def running(self, fabric: Fabric) -> Build | None:
        """Return the build that runs, None where the journal has none of this cabling with its paths."""
        with suppress(InputError):
            found = running_build(self.home)
            if found is not None and found.build is not None and alike(found.fabric, fabric):
                return found.build
        return None

    def running_fabric(self) -> Fabric | None:
        """Return the fabric of the build that runs, None where the journal has none."""
        with suppress(InputError):
            found = running_build(self.home, whole=False)
            return None if found is None else found.fabric
        return None

    def base(self, fabric: Fabric) -> Build | None:
        """Return the last build that an operator applied to this cabling, None where its files are gone."""
        journal = self._whole()
        if journal is None:
            return None
        for run in journal.runs(fabric.name):
            if run.kind == "apply" and run.state == DONE and run.wave and not self.is_own(run):
                with suppress(InputError):
                    build = read_build(applied_place(journal, run, self.home))
                    return build if alike(build.fabric, fabric) else None
                return None
        return None

    def _whole(self) -> Journal | None:
        """Return the journal, None where nothing was ever sent."""
        return Journal(self.home / JOURNAL) if (self.home / JOURNAL).is_file() else None

    def _at_rest(self) -> Journal | None:
        """Return the journal while no command works on the switches."""
        return None if at_work(self.home) else self._whole()


def unfinished(run: Run) -> PlanError:
    """Return the refusal of a timetable's change where a run stands between two proven states."""
    return PlanError(
        "a run that was interrupted is finished or undone before a timetable begins or goes on",
        f"{run.kind} {run.name} of {run.source} stands in wave {run.wave} of {run.waves}",
        "tagloom apply --resume, or tagloom rollback",
        ("apply --resume", "rollback"),
        pending=True,
    )


def same_speeds(one: Fabric, other: Fabric) -> bool:
    """Return whether two fabrics of one cabling have the same links on, at the same speeds."""
    return not lost_speed_steps(one, other) and not lost_speed_steps(other, one)


def links_off(whole: Fabric, running: Fabric) -> tuple[str, ...] | None:
    """Return the links, by one end, that are off in what runs; None where others are slower, too."""
    off = [i for i, (a, b) in enumerate(zip(whole.links, running.links, strict=True)) if a.up and not b.up]
    if not same_speeds(whole.with_links_down(off), running):
        return None
    return tuple(link_ends(whole, i)[0] for i in off)
