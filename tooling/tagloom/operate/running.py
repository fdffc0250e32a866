"""Find the build that switches hold, by the journal, and its files: where they were applied from, or the run's own."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.apply.abort import JOURNAL
from tagloom.apply.build import build_of, fabric_file
from tagloom.apply.journal import Journal
from tagloom.errors import Finding, InputError
from tagloom.pipeline.files import read_build
from tagloom.read import read_fabric
from tagloom.units import device_at

if TYPE_CHECKING:
    from tagloom.apply.journal import Run
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric

FOLDER = "repair"  # among the files of the runs: `home`, the build without repairs, and `build`, the last repair
REQUESTED_DIGEST = "requested.sha256"  # in a run's own copy: the digest of the build that was applied, as it was read
_SHARED = 0.5  # of the switches of a build: so many must be a fabric's for the two to be one network


@dataclass(frozen=True, eq=False)
class RunningBuild:
    """The build that the switches of an inventory hold.

    home    the directory of the inventory's runs
    source  the directory that was applied, of a build or of a rollout
    place   where the build's files are: in `source` if they are still what was applied, else in the run's own copy
    fabric  its fabric
    build   None where no copy has its paths (an older tagloom kept none), or where it was not asked for
    """

    home: Path
    run: Run
    source: Path
    place: Path
    fabric: Fabric
    build: Build | None

    @property
    def is_unchanged(self) -> bool:
        """Return whether the directory that was applied is still what was applied."""
        return self.place == build_of(self.source)


def is_repair(run: Run, home: Path) -> bool:
    """Return whether a run of an inventory, whose runs are in `home`, brought a repair to the switches."""
    return Path(run.source).parent == (home / FOLDER).absolute()


def build_digest(directory: Path) -> str:
    """Return a digest of a build's fabric file and configurations, "" where there are none."""
    whole = hashlib.sha256()
    try:
        paths = sorted((directory / "configs").glob("*.cfg"))
        for path in (directory / "fabric.yml", *paths):
            text = path.read_bytes()
            whole.update(f"{path.name} {len(text)} ".encode() + text)
    except OSError:
        return ""
    return whole.hexdigest() if paths else ""


def requested() -> str:
    """Return the name, among the directories of a site's runs, of this command's copy of what it applies."""
    return f"asked-{os.getpid()}"


def applied_place(journal: Journal, run: Run, home: Path) -> Path:
    """Return where the files of an applied build are: where they were then, if they are the same, else the run's copy.

    Raises InputError where the journal has no whole copy.
    """
    source, order = build_of(Path(run.source)), own_copy(run, home)
    if not (order / REQUESTED_DIGEST).is_file() and not build_of(order).is_dir():
        try:
            order.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            journal.unpack(run.id, order)
        except OSError:
            return source  # an inventory that may only be read
    return source if _is_as_applied(source, order) else build_of(order)


def own_copy(run: Run, home: Path) -> Path:
    """Return where a run's own copy of its waves is."""
    return home / f"{run.name}-{run.kind}" / "order"


def _is_as_applied(source: Path, order: Path) -> bool:
    """Return whether a directory still has the build that was applied, of which `order` is the run's copy."""
    requested = ""
    with suppress(OSError, ValueError):
        requested = (order / REQUESTED_DIGEST).read_text("ascii")
    return bool(now := build_digest(source)) and now == (requested or build_digest(build_of(order)))


def running_build(home: Path, *, whole: bool = True) -> RunningBuild | None:
    """Return the build that the switches of an inventory hold, None where its journal has none. Raises InputError.

    Unless it is asked for as a `whole`, no configuration is read.
    """
    if not (home / JOURNAL).is_file():
        return None
    journal = Journal(home / JOURNAL)
    run = journal.applied()
    if run is None:
        return None
    place = applied_place(journal, run, home)
    with tempfile.TemporaryDirectory() as temporary:
        order = Path(temporary) / "order"
        journal.unpack(run.id, order)
        kept = build_of(order)
        fabric = read_fabric(fabric_file(kept))
        build = None
        for directory in (kept, place) if whole else ():
            with suppress(InputError):
                build = read_build(directory)
                break
    return RunningBuild(home, run, Path(run.source), place, fabric, build)


def differs_from(running: Fabric, fabric: Fabric) -> str:
    """Return why a fabric is not the network that a build runs on, "" where it is.

    The two have one name, and most switches of the build are in the fabric: with the same name or address, and model.
    """
    if running.name != fabric.name:
        return f"fabric {running.name}"
    known = {switch.name: switch for switch in fabric.switches}
    places = {(device_at(switch.address), switch.model) for switch in fabric.switches if switch.address}
    shared = 0
    for switch in running.switches:
        other = known.get(switch.name)
        same = other is not None and other.model == switch.model and _one_address(other.address, switch.address)
        shared += same or bool(switch.address and (device_at(switch.address), switch.model) in places)
    return "" if shared >= _SHARED * len(running.switches) else "switches with other names, models or addresses"


def _one_address(one: str | None, other: str | None) -> bool:
    return not one or not other or device_at(one) == device_at(other)


def places_in_use(home: Path) -> set[str]:
    """Return the directories that the build which runs was applied from, by an inventory's journal."""
    run = Journal(home / JOURNAL).applied()
    return _places(run) if run is not None else set()


def _places(run: Run) -> set[str]:
    return {os.path.realpath(place) for place in (run.source, build_of(Path(run.source)))}


def in_use(directory: Path, running: RunningBuild) -> list[Finding]:
    """Return a finding where a directory holds the build that runs, and so must not be overwritten."""
    if not running.is_unchanged or os.path.realpath(directory) not in _places(running.run):
        return []
    another = directory.with_name(f"{directory.name}-new")
    actual = f"that of the build that runs, by run {running.run.name} (write to {another}, or --force overwrites it)"
    return [Finding(str(directory), "another directory", actual)]
