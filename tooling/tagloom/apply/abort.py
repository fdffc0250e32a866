"""Ask the command that works on a fabric's switches to stop, and report the fabric's state; fast to start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.apply.journal import Journal
from tagloom.apply.lock import held, holder
from tagloom.apply.run_directory import request_stop

if TYPE_CHECKING:
    from tagloom.apply.lock import Holder

LOCK, JOURNAL = "lock", "journal.db"  # in the directory of an inventory's runs


def home_of(inventory: Path) -> Path:
    """Return the directory of an inventory's runs, with the journal and the lock."""
    return (inventory if inventory.is_dir() else inventory.parent) / "runs"


def at_work(home: Path) -> bool:
    """Return whether a command works on the switches."""
    return held(home / LOCK)


def ask_to_stop(home: Path, *, now: bool) -> Holder | None:
    """Ask the command that works on the switches to stop, and return its holder; None if there is none."""
    who = holder(home / LOCK) if at_work(home) else None
    if who is not None:
        for directory in {Path(who.directory), home}:  # the current run, and runs about to start
            request_stop(directory, now=now)
    return who


def standing_payload(home: Path, requested: Holder | None) -> dict[str, Any]:
    """Return the fabric's state by its journal."""
    path = home / JOURNAL
    journal = Journal(path) if path.exists() else None
    if journal is not None and not at_work(home):
        journal.interrupt()
    run = (journal.unfinished() or next(iter(journal.runs()), None)) if journal else None
    payload: dict[str, Any] = {"asked": str(requested or ""), "unfinished": False, "stands": "no run is in the journal"}
    return payload | ({**run.to_json(), "unfinished": run.unfinished, "stands": run.standing} if run else {})
