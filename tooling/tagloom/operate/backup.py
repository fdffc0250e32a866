"""Keep every switch's running configuration, by date or in a git repository, secrets hidden unless asked for."""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from tagloom.apply.private_files import write_backup, write_private
from tagloom.apply.reading import read_each
from tagloom.errors import TagloomError
from tagloom.platforms.secrets import scrub
from tagloom.storage.repository import commit
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tagloom.apply.site import Site
    from tagloom.records.fabric import Fabric

FOLDER = "backups"  # beside an inventory
RETRY_SECONDS = 3600.0  # after a daily backup that kept nothing
_DATED = re.compile(r"\d{8}T\d{6}(-\d+)?")
# What a switch writes anew each time it is asked, in the head of a configuration (FASTPATH; RouterOS: the date).
_VOLATILE = re.compile(
    r"^!.*\b(?:Up Time|Synchronized Time|Current Time)\b.*\n?|^# [\w/-]{8,12} [\d:]{5,8}(?= by RouterOS )", re.MULTILINE
)


@dataclass(frozen=True)
class Backup:
    """What became of a backup: where it is, None where no switch could be read; `failed` says why, by switch."""

    directory: Path | None = None
    switches: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line."""
        return {
            "backup": str(self.directory or ""),
            "switches": list(self.switches),
            "changed": list(self.changed),
            "unchanged": [name for name in self.switches if name not in self.changed],
            "failed": list(self.failed),
            "errors": dict(self.failed),
        }


def back_up(fabric: Fabric, site: Site, home: Path, *, git: bool = False, secrets: bool = False) -> Backup:
    """Read every switch over SSH, and keep what can be read: in a directory of `home` by date, or committed in `home`.

    What changed is told against the last backup there of the same switch. Files are readable by their owner alone.
    Raises InputError where `home` cannot be used, OSError where nothing can be written.
    """
    texts, failed = _read(fabric, site)
    kept = texts if secrets else {name: scrub(text) for name, text in texts.items()}
    if not kept:
        return Backup(failed=failed)
    changed = tuple(name for name, text in kept.items() if _differs(text, _last(home, name, git=git)))
    if not git:
        directory = _new_directory(home, site.run)
        for name, text in kept.items():
            write_backup(directory, name, text)
        return Backup(directory, tuple(kept), changed, failed)
    files = {f"{name}.cfg": name for name in kept}
    for name in changed:
        write_private(home / f"{name}.cfg", kept[name])
    committed = commit(home, list(files), lambda these: _message([files[each] for each in these]), site.environment)
    return Backup(home, tuple(kept), tuple(files[each] for each in committed), failed)


@dataclass
class DailyBackups:
    """Backups of a fabric beside a timetable: one a day, by the computer's own calendar, in `home`.

    `site` names the switches, `tell` takes what became of each backup, with its time. One that was made by hand counts.
    """

    fabric: Fabric
    site: Site
    home: Path
    tell: Callable[[float, str], None]
    _not_before: float = 0.0

    def look(self, now: float) -> None:
        """Back up where today's is missing; what fails is told, and tried again an hour later."""
        moment = time.localtime(now)
        today = self.home.glob(f"{time.strftime('%Y%m%d', moment)}T*/*.cfg")  # none where the disk was full
        if now < self._not_before or any(_DATED.fullmatch(path.parent.name) for path in today):
            return
        self._not_before = now + RETRY_SECONDS
        try:
            done = back_up(self.fabric, replace(self.site, run=time.strftime("%Y%m%dT%H%M%S", moment)), self.home)
        except (TagloomError, OSError) as error:
            self.tell(now, f"backup failed: {error}")
            return
        failed = "".join(f"; {name} could not be read: {said}" for name, said in done.failed.items())
        kept = (
            f"kept {number_of(len(done.switches), 'configuration')} in {done.directory}"
            if done.directory
            else "kept none"
        )
        self.tell(now, f"backup: {kept}, {len(done.changed)} changed{failed}")


def _read(fabric: Fabric, site: Site) -> tuple[dict[str, str], dict[str, str]]:
    """Read the switches that are up; nothing of their secrets is left behind."""
    directory = site.directory(f"backup-{os.getpid()}")
    try:
        return read_each(
            site.inventory,
            switches=[switch.name for switch in fabric.live],
            directory=directory,
            share=site.share,
            environment=site.environment,
        )
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _last(home: Path, switch: str, *, git: bool) -> str | None:
    """Return a switch's last backup, None where there is none that can be read."""
    paths = [home / f"{switch}.cfg"]
    if not git:
        dated = (path for path in home.glob(f"*/{switch}.cfg") if _DATED.fullmatch(path.parent.name))
        paths = sorted(dated, key=lambda path: (len(path.parent.name) > 15, path.parent.name))[-1:]
    with suppress(OSError, ValueError):
        return paths[0].read_text("utf-8") if paths else None
    return None


def _differs(text: str, before: str | None) -> bool:
    return before is None or _VOLATILE.sub("", text) != _VOLATILE.sub("", before)


def _new_directory(home: Path, name: str) -> Path:
    """Make a directory that nobody else writes to, numbered where another backup was made in the same second."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in count(1):
        directory = home / (name if number == 1 else f"{name}-{number}")
        with suppress(FileExistsError):
            directory.mkdir(mode=0o700)
            return directory
    raise AssertionError("count() does not end")


def _message(changed: Sequence[str]) -> str:
    """Return a commit's message: the switches that changed, on one line where they are few."""
    if len(changed) <= 8:  # names that a subject has room for
        return f"Back up {', '.join(changed)}"
    return f"Back up {number_of(len(changed), 'switch')}\n\n{', '.join(changed)}"
