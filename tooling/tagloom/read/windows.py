"""Read the maintenance windows of an inventory: when changes may begin, in cron words and hours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cronsim import CronSim, CronSimError
from pydantic import Field

from tagloom.errors import Finding, InputError, PlanError
from tagloom.read.calendar import times_after
from tagloom.read.history import zone_of
from tagloom.storage.document import Form, checked, read_yaml, shown

if TYPE_CHECKING:
    from pathlib import Path
    from zoneinfo import ZoneInfo

FILE = "windows.yml"  # beside an inventory
LONGEST_HOURS = 168.0
_AHEAD = timedelta(days=800)  # looked through for the next one: a 29th of February among them


class _Window(Form):
    when: str
    hours: float = Field(gt=0, le=LONGEST_HOURS)


class _Form(Form):
    timezone: str = "UTC"
    windows: list[_Window] = Field(min_length=1, max_length=100)


@dataclass(frozen=True)
class MaintenanceWindows:
    """When changes may begin: (cron words, hours) in a time zone; none at all allow every time."""

    timezone: ZoneInfo | None = None
    windows: tuple[tuple[str, float], ...] = ()

    def is_open(self, at_seconds: float) -> bool:
        """Return whether a change may begin at a time, in seconds since the epoch."""
        if not self.windows:
            return True
        now = datetime.fromtimestamp(at_seconds, UTC)
        for when, hours in self.windows:
            length = timedelta(hours=hours)
            begin = next(times_after(when, (now - length).astimezone(self.timezone)), None)
            if begin is not None and begin.astimezone(UTC) <= now:
                return True
        return False

    def next_begin(self, at_seconds: float) -> datetime | None:
        """Return when the next window begins after a time, None where none does in two years."""
        now = datetime.fromtimestamp(at_seconds, self.timezone)
        begins = [next(times_after(when, now), None) for when, _ in self.windows]
        soon = (each for each in begins if each is not None and each - now < _AHEAD)
        return min(soon, key=datetime.timestamp, default=None)

    def refuse_outside(self, at_seconds: float) -> None:
        """Raise PlanError, with the time of the next window, where no change may begin."""
        if self.is_open(at_seconds):
            return
        begin = self.next_begin(at_seconds)
        now = datetime.fromtimestamp(at_seconds, self.timezone)
        witness = f"it is {now:%Y-%m-%d %H:%M %Z}"
        at = f"at {begin:%Y-%m-%d %H:%M %Z}" if begin is not None else "when windows.yml has a window that comes"
        raise PlanError(
            "changes begin in the maintenance windows of the inventory (windows.yml)",
            witness,
            f"the same command {at}, or now with --outside-window",
            ("--outside-window",),
        )


def read_windows(home: Path) -> MaintenanceWindows:
    """Return the windows that stand beside an inventory, of which none allow every time. Raises InputError."""
    path = home / FILE
    if not path.is_file():
        return MaintenanceWindows()
    form = checked(_Form, read_yaml(path), str(path))
    findings = []
    for number, window in enumerate(form.windows):
        try:
            CronSim(window.when, datetime(2026, 1, 1, tzinfo=UTC))
        except (CronSimError, ValueError) as error:
            rule = "minute hour day month weekday, as in crontab(5)"
            actual = f"{shown(window.when)}: {shown(str(error))}"
            findings.append(Finding(f"{path}: windows[{number}].when", rule, actual))
    if findings:
        raise InputError(findings)
    zone = zone_of(form.timezone, f"{path}: timezone")
    return MaintenanceWindows(zone, tuple((window.when, window.hours) for window in form.windows))
