"""Which pairs of hosts that work a change may cut off, and for how long."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagloom.errors import Finding


@dataclass(frozen=True)
class Interrupted:
    """What a change means for ordered pairs of hosts, judged from what switches hold before its first line.

    pairs        all ordered pairs of hosts
    cut_now      those that do not work before the first line
    restored     of those, the ones that work after the last
    interrupted  those that work before, and of which it is not proven that they do at every line
    seconds_max  how long one of them is cut off at most, where every switch takes its lines; 0 where none is,
                 infinite (null in JSON) where the change leads to a state in which it does not work
    witnesses    some of the interrupted, as "h3 -> h7"
    why          why it could not be proven that no pair is cut off; "" where it was
    cut_vlans    a finding for each VLAN of others that no longer joins ports that it joins now
    paused       whether proven waves cut them off by pausing hosts on purpose, and nothing else does
    """

    pairs: int = 0
    cut_now: int = 0
    restored: int = 0
    interrupted: int = 0
    seconds_max: float = 0.0
    witnesses: tuple[str, ...] = ()
    why: str = ""
    paused: bool = False
    cut_vlans: tuple[Finding, ...] = ()

    @property
    def hitless(self) -> bool:
        """Return whether no pair that works is cut off at any time, and no VLAN of others."""
        return not self.interrupted and not self.cut_vlans

    @property
    def needs(self) -> str:
        """Return what has to be allowed for it: a drain, or an interrupt."""
        return "drain" if self.paused and not self.cut_vlans else "interrupt"

    @property
    def rule(self) -> str:
        """Return the rule by which it is refused where that is not allowed."""
        what = "pairs that work" if self.interrupted or not self.cut_vlans else "VLANs of others"
        return f"{what} are cut off only with --allow {self.needs}"

    @property
    def witness(self) -> str:
        """Return why it is not hitless, "" where it is."""
        return self.why or "; ".join(map(str, self.cut_vlans))

    @property
    def sentence(self) -> str:
        """Return what is to be said before the first line.

        >>> Interrupted(pairs=56, interrupted=28, seconds_max=3.2, witnesses=("h3 -> h7",)).sentence
        'NOT hitless: 28 of 56 pairs interrupted, about 3 s; h3 -> h7 ...'
        >>> Interrupted(pairs=56, cut_now=12, restored=12).sentence
        '12 pairs are cut off now, this brings all back; no other pair is cut at any time'
        """
        now = self._now
        if not self.hitless:
            more = " ..." if self.interrupted > len(self.witnesses) else ""
            lasting = "for good" if self.seconds_max == math.inf else f"about {self.seconds_max:.0f} s"
            parts = [f"{self.interrupted} of {self.pairs} pairs interrupted, {lasting}"] if self.interrupted else []
            parts += [f"{', '.join(self.witnesses)}{more}"] if self.interrupted else []
            parts += [f"{found.where}: {found.actual}" for found in self.cut_vlans]
            return f"NOT hitless: {'; '.join([*parts, now] if now else parts)}"
        return f"{now}; no other pair is cut at any time" if now else "no pair is cut off at any time"

    @property
    def _now(self) -> str:
        if not self.cut_now:
            return ""
        back = {0: "none", self.cut_now: "all"}.get(self.restored, f"{self.restored} of them")
        are = "pair is" if self.cut_now == 1 else "pairs are"
        return f"{self.cut_now} {are} cut off now, this brings {back} back"

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line."""
        return {
            "hitless": self.hitless,
            "interrupted_pairs": self.interrupted,
            "interrupted_seconds_max": None if self.seconds_max == math.inf else round(self.seconds_max, 3),
            "cut_off_pairs": self.cut_now,
            "restored_pairs": self.restored,
            "cut_vlans": [found.to_json() for found in self.cut_vlans],
        }
