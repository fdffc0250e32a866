"""What goes wrong with a switch, and at which line or when, so that a failure replays."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError, one_of

if TYPE_CHECKING:
    from collections.abc import Mapping

# What happens at one line that is typed. A line that is taken is done.
AT_LINES = {
    "drop-before": "the session is cut before the line is taken",
    "drop-inside": "the session is cut in the middle of the line, which is not taken",
    "drop-after": "the line is taken, and the session cut before the answer",
    "reject": "the line is refused with the family's error",
    "ignore": "the line is answered as done, and is not",
    "no-echo": "the line is taken, its echo is lost",
    "garble": "the line is taken, its echo and answer come out garbled",
    "slow": "the line is taken after --for seconds, and never where the session is gone by then",
    "late": "the line is taken at once, its answer comes after --for seconds",
}
# What begins at a line or at a time, and ends after --for seconds.
LASTING = {
    "reboot": "the switch is down, then comes up from its startup configuration",
    "factory": "as reboot, and it comes up as it left the factory: no configuration, users, address or SSH",
    "refuse-login": "no password is right",
    "lock": "another application holds the configuration database",
    "cable": "the cable of --port is pulled",
    "one-way": "what --port sends over its cable is lost; both ends stay up",
}
AT_CABLES = ("cable", "one-way")
KINDS = AT_LINES | LASTING
BOOTS = ("reboot", "factory")
SLOW_SECONDS = 30.0
_GARBLED_SHARE = 0.3
_NOISE = "#>@~^%?\x00\x07\x1b\x7f\ufffd" + "qz{}|0"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault that waits to strike.

    at       the line it strikes at, counted from 1 since it was ordered; 0 = none, it strikes after `after` seconds
    line     a regular expression; only lines it finds are counted. "" = lines that configure
    after    seconds until it strikes, where `at` is 0
    lasts    seconds; of `reboot` and `factory` until the switch is up, of other lasting kinds 0 = until it is mended
    port     whose cable is pulled or loses what it sends, in the model's words
    seed     chooses where inside a line a session is cut, and what is garbled
    """

    kind: str
    at: int = 0
    line: str = ""
    after: float = 0.0
    lasts: float = 0.0
    port: str = ""
    seed: int = 0

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str = "fault") -> Fault:
        """Read a fault from plain values; what strikes at lines strikes at the first, if nothing else is said.

        Raises InputError with all that is wrong.
        """
        defaults = {each.name: each.default for each in fields(cls) if each.name != "kind"}
        said = {**defaults, **{name: value for name, value in values.items() if value is not None}}
        kind = said.get("kind")
        findings = [
            Finding(f"{where}.{name}", "one of kind, " + ", ".join(defaults), repr(name))
            for name in said.keys() - defaults.keys() - {"kind"}
        ]
        if kind not in KINDS:
            findings.append(Finding(f"{where}.kind", one_of(KINDS, kind), repr(kind)))
        for name, default in defaults.items():
            value, good = said[name], (int, float) if isinstance(default, float) else type(default)
            if not isinstance(value, good) or isinstance(value, bool):
                findings.append(Finding(f"{where}.{name}", type(default).__name__, repr(value)))
            elif isinstance(value, (int, float)) and not 0 <= value < float("inf"):
                findings.append(Finding(f"{where}.{name}", "0 or more", str(value)))
        if (kind in AT_CABLES) != bool(said["port"]):
            findings.append(
                Finding(f"{where}.port", "a port for a cable (--port P), and for nothing else", repr(said["port"]))
            )
        try:
            re.compile(str(said["line"]))
        except re.error as error:
            findings.append(Finding(f"{where}.line", "a regular expression", f"{said['line']!r} ({error})"))
        if findings:
            raise InputError(sorted(findings, key=lambda each: each.where))
        if not said["at"] and (kind in AT_LINES or said["line"]):
            said["at"] = 1
        if kind in ("slow", "late") and not said["lasts"]:
            said["lasts"] = SLOW_SECONDS
        return cls(**said)

    def cut(self, line: str) -> int:
        """Choose how many characters of a line arrive before the session is cut, fewer than all."""
        return random.Random(f"{self.seed} {line}").randrange(max(1, len(line)))  # noqa: S311 - replays, guards nothing

    def garbled(self, text: str) -> str:
        """Return a text as it comes out garbled: about a third of its characters, line ends among them, are noise."""
        chance = random.Random(f"{self.seed} {text}")  # noqa: S311 - replays, guards nothing
        return "".join(chance.choice(_NOISE) if chance.random() < _GARBLED_SHARE else key for key in text)


@dataclass(slots=True)
class Faults:
    """The faults that wait for a line of one switch, with the lines each has seen."""

    _waiting: list[tuple[Fault, int]] = field(default_factory=list)
    commands: int = 0  # all that was typed at a prompt, of whatever mode
    mended: int = 0  # how often all was called off; who waits inside a fault looks whether it has changed

    def arm(self, fault: Fault) -> None:
        """Arm a fault: it waits for its line."""
        self._waiting.append((fault, 0))

    def due(self, line: str, *, configures: bool) -> Fault | None:
        """Count a line, and give the fault that strikes at it; of several the one ordered first, the rest wait on."""
        self.commands += 1
        struck: Fault | None = None
        still: list[tuple[Fault, int]] = []
        for fault, lines_seen in self._waiting:
            seen = lines_seen + bool(re.search(fault.line, line) if fault.line else configures)
            if struck is None and seen >= fault.at:
                struck = fault
            else:
                still.append((fault, seen))
        self._waiting = still
        return struck

    def mend(self) -> None:
        """Call off what waits, and let go of lines that are held."""
        self._waiting = []
        self.mended += 1

    @property
    def waiting(self) -> tuple[Fault, ...]:
        """List what has not struck yet."""
        return tuple(fault for fault, _ in self._waiting)
