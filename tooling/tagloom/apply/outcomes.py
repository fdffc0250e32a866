"""What became of each switch in each wave of an apply."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from tagloom.errors import DeviceError, Finding

if TYPE_CHECKING:
    from collections.abc import Mapping


class Fault(StrEnum):
    """Whose fault it is that a switch is not where the wave wants it."""

    NONE = ""
    DEVICE = "device"  # unreachable, refused a line, did not do one, or no word came of it
    REFUSED = "refused"  # something stands in the way; nothing was sent
    DRIFT = "drift"  # it holds what no wave left there; nothing was sent
    STOPPED = "stopped"  # somebody asked the run to end at once
    CONTROLLER = "controller"  # the journal or a backup could not be written


@dataclass(frozen=True)
class Outcome:
    """What became of one switch in one wave; it never holds a line of the switch that is not tagloom's.

    changed    lines were accepted, or would be sent (check mode)
    commands   the lines the change takes; `sent` those that the switch has accepted
    own_lines  the operator's own lines that the switch lacked, secrets masked: where it was asked for them
    read       the switch was read: `before` and `after` are the state found and the state wanted, rendered; they are
               equal where nothing is to do, and empty for a factory default
    error      "" = good; else one sentence, `command` being the line it happened at, which may or may not be done
    findings   conflicts, drift, or cells that a read-back did not find as sent
    fault      whose fault the error is
    unsaved    the switch would start with something else than it held (not asked where lines were sent: those are)
    saved      it was made to start with what it holds
    volatile   the switch keeps no configuration of its own: a reboot forgets what was sent
    backup     where the whole running configuration was kept before the first line, with all its secrets
    """

    switch: str
    wave: str = ""
    number: int = 1
    changed: bool = False
    commands: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    own_lines: tuple[str, ...] = ()
    read: bool = False
    before: str = ""
    after: str = ""
    error: str = ""
    command: str = ""
    findings: tuple[Finding, ...] = ()
    fault: Fault = Fault.NONE
    unsaved: bool = False
    saved: bool = False
    volatile: bool = False
    backup: str = ""
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Return whether the switch is not where the wave wants it."""
        return bool(self.error)

    @property
    def trouble(self) -> str:
        """Return what went wrong, and at which line; only of one that failed."""
        return str(DeviceError(self.switch, self.command, self.error))

    @property
    def diff(self) -> str:
        """Return the change as a unified diff of rendered states, and behind it the operator's own lines."""
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True), self.after.splitlines(keepends=True), self.switch, self.switch, n=1
        )
        return "".join((*lines, *(f"+{line}\n" for line in self.own_lines)))

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain values; `from_json` reads them back."""
        return {
            "switch": self.switch,
            "wave": self.wave,
            "number": self.number,
            "changed": self.changed,
            "failed": self.failed,
            "commands": list(self.commands),
            "sent": list(self.sent),
            "own_lines": list(self.own_lines),
            "read": self.read,
            "before": self.before,
            "after": self.after,
            "error": self.error,
            "command": self.command,
            "findings": [finding.to_json() for finding in self.findings],
            "fault": str(self.fault),
            "unsaved": self.unsaved,
            "saved": self.saved,
            "volatile": self.volatile,
            "backup": self.backup,
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave."""
        values = {name: plain[name] for name in cls.__dataclass_fields__}
        values["fault"] = Fault(plain["fault"])
        values["findings"] = tuple(Finding(**finding) for finding in plain["findings"])
        return cls(**values | {name: tuple(plain[name]) for name in ("commands", "sent", "own_lines")})


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of a whole apply, by wave and then in the fabric's order of switches.

    `error` says why the run as a whole went no further, where that is not the fault of one switch; `stopped`, that
    somebody asked it to stop, and that it did so between two waves. `waves` is how many the order has, `reached`
    the number of the last one begun (0 = none).
    """

    switches: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    waves: int = 1
    reached: int = 0
    error: str = ""
    stopped: bool = False
    seconds: float = 0.0
    by_switch: dict[str, tuple[Outcome, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        grouped: dict[str, list[Outcome]] = {switch: [] for switch in self.switches}
        for outcome in self.outcomes:
            grouped.setdefault(outcome.switch, []).append(outcome)
        object.__setattr__(self, "by_switch", {switch: tuple(found) for switch, found in grouped.items()})

    @cached_property
    def failed(self) -> tuple[str, ...]:
        """List the switches that failed in some wave."""
        return tuple(switch for switch, found in self.by_switch.items() if any(o.failed for o in found))

    def failed_by(self, *faults: Fault) -> tuple[str, ...]:
        """List the switches that failed by one of these faults."""
        return tuple(s for s, found in self.by_switch.items() if any(o.failed and o.fault in faults for o in found))

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """List the switches that are (in check mode: would be) changed, and did not fail."""
        return tuple(s for s, found in self.by_switch.items() if s not in self.failed and any(o.changed for o in found))

    @cached_property
    def unchanged(self) -> tuple[str, ...]:
        """List the switches that were reached and hold what they must already."""
        settled = {*self.failed, *self.changed}
        return tuple(switch for switch, found in self.by_switch.items() if found and switch not in settled)

    @property
    def good(self) -> bool:
        """Return whether every switch is where the last wave wants it."""
        return not self.failed and not self.error and not self.stopped

    def remember(self, held: dict[str, str], looked_at: int = -1) -> None:
        """Write into `held` the text of the state that each switch holds.

        Of a look that is what the first wave, `looked_at`, found; of a push (-1) what was read back.
        """
        for outcome in self.outcomes:
            if looked_at not in {-1, outcome.number}:
                continue
            held.pop(outcome.switch, None)
            if outcome.read and looked_at >= 0:
                held[outcome.switch] = outcome.before
            elif outcome.read and not outcome.failed:  # one that failed may stand at any line
                held[outcome.switch] = outcome.after

    def to_json(self) -> dict[str, Any]:
        """Return the outcomes with the keys of the command line."""
        return {
            "changed": list(self.changed),
            "unchanged": list(self.unchanged),
            "failed": list(self.failed),
            "seconds": self.seconds,
            "waves": self.waves,
            "waves_reached": self.reached,
            "stopped": self.stopped,
            "error": self.error,
            "outcomes": [outcome.to_json() for outcome in self.outcomes],
        }
