"""The outcome of each switch in each wave of an apply."""

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
    """The cause of a switch not being where the wave wants it."""

    NONE = ""
    DEVICE = "device"  # unreachable, refused a line, did not execute one, or never reported
    REFUSED = "refused"  # a conflict; nothing was sent
    DRIFT = "drift"  # its state is not what the last wave left; nothing was sent
    STOPPED = "stopped"  # an immediate stop was requested
    CONTROLLER = "controller"  # the journal or a backup could not be written


@dataclass(frozen=True)
class Outcome:
    """The outcome of one switch in one wave; it never contains a line of the switch that is not tagloom's.

    changed    lines were accepted, or would be sent (check mode)
    commands   the lines the change takes; `sent` those that the switch has accepted
    own_lines  the operator's own lines that the switch lacked, secrets masked, if they were requested
    read       the switch was read: `before` and `after` are the state found and the target, rendered; they are
               equal if there is nothing to do, and empty for a factory default
    error      "" = good; else one sentence; `command` is the line it happened at, which may or may not be executed
    findings   conflicts, drift, or cells that a read-back did not find as sent
    fault      the cause of the error
    leaves_vlan_1  ports of the fabric leave VLAN 1, and the switch isn't known to be managed another way
    unsaved    the saved configuration differs from the running one (not checked if lines were sent: those save it)
    saved      the running configuration was saved
    volatile   the switch cannot save its configuration: a reboot loses what was sent
    reload     of a switch that was to reload unless all went well: "called off", "none: " and why it could not be told
               to, or when it reloads; "" = it was not to
    backup     where the whole running configuration was stored before the first line, with all its secrets
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
    leaves_vlan_1: bool = False
    unsaved: bool = False
    saved: bool = False
    volatile: bool = False
    backup: str = ""
    reload: str = ""
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Return whether the switch is not where the wave wants it."""
        return bool(self.error)

    @property
    def trouble(self) -> str:
        """Return the error and its line; only for a failed switch."""
        return str(DeviceError(self.switch, self.command, self.error))

    @property
    def diff(self) -> str:
        """Return the change as a unified diff of rendered states, followed by the operator's own lines."""
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
            "leaves_vlan_1": self.leaves_vlan_1,
            "unsaved": self.unsaved,
            "saved": self.saved,
            "volatile": self.volatile,
            "backup": self.backup,
            "reload": self.reload,
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Return the outcome from the output of `to_json`."""
        values = {name: plain[name] for name in cls.__dataclass_fields__}
        values["fault"] = Fault(plain["fault"])
        values["findings"] = tuple(Finding(**finding) for finding in plain["findings"])
        return cls(**values | {name: tuple(plain[name]) for name in ("commands", "sent", "own_lines")})


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of a whole apply, by wave and then in the fabric's order of switches.

    `error` says why the run as a whole ended early, unless a single switch is the cause. `stopped` is whether it ended
    between two waves on request. `waves` is how many the order has, `reached` the number of the last one begun (0 =
    none).
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
        """Return the switches that failed in some wave."""
        return tuple(switch for switch, found in self.by_switch.items() if any(o.failed for o in found))

    def failed_by(self, *faults: Fault) -> tuple[str, ...]:
        """Return the switches that failed by one of these faults."""
        return tuple(s for s, found in self.by_switch.items() if any(o.failed and o.fault in faults for o in found))

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """Return the switches that are (in check mode: would be) changed, and did not fail."""
        return tuple(s for s, found in self.by_switch.items() if s not in self.failed and any(o.changed for o in found))

    @cached_property
    def unchanged(self) -> tuple[str, ...]:
        """Return the switches that were reached and already held their target."""
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
