"""The host pairs that a change may cut off, and for how long."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tagloom.units import number_of

if TYPE_CHECKING:
    from tagloom.errors import Finding


@dataclass(frozen=True)
class Interrupted:
    """The effect of a change on ordered host pairs, judged from the switches' state before its first line.

    pairs        all ordered pairs of hosts
    cut_now      pairs without a path before the first line
    restored     of those, the pairs with a path after the last
    interrupted  pairs with a path before that are not proven to keep one at every line
    seconds_max  the longest outage of a pair if every switch takes its lines; 0 if none is cut off, infinite (null in
                 JSON) if the target state has no path for one
    witnesses    some of the interrupted, as "h3 -> h7"
    why          why it could not be proven that no pair is cut off; "" if it was
    cut_vlans    a finding for each foreign VLAN that no longer joins ports that it joins now
    paused       whether the only interruptions are proven waves that pause hosts on purpose
    no_way       why no hitless waves lead here from spanning tree; "" where it does not run as from the factory
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
    no_way: str = ""

    @property
    def hitless(self) -> bool:
        """Return whether no pair that works now and no foreign VLAN is cut off at any time."""
        return not self.interrupted and not self.cut_vlans

    @property
    def needs(self) -> str:
        """Return what the operator must allow: "drain" or "interrupt"."""
        return "drain" if self.paused and not self.cut_vlans else "interrupt"

    @property
    def rule(self) -> str:
        """Return the rule by which the change is refused unless that is allowed."""
        what = "pairs that work" if self.interrupted or not self.cut_vlans else "VLANs of others"
        return f"{what} are cut off only with --allow {self.needs}"

    @property
    def witness(self) -> str:
        """Return why it is not hitless, "" if it is."""
        return self.why or "; ".join(map(str, self.cut_vlans))

    @property
    def sentence(self) -> str:
        """Return the summary shown before the first line is sent.

        >>> Interrupted(pairs=56, interrupted=28, seconds_max=3.2, witnesses=("h3 -> h7",)).sentence
        'NOT hitless: 28 of 56 pairs interrupted, about 3 s; h3 -> h7 ...'
        >>> Interrupted(pairs=56, cut_now=12, restored=12).sentence
        'reconnects all 12 disconnected host pairs; interrupts no others'
        """
        now = self._now
        if not self.hitless:
            more = " ..." if self.interrupted > len(self.witnesses) else ""
            lasting = "for good" if self.seconds_max == math.inf else f"about {self.seconds_max:.0f} s"
            parts = (
                [f"{self.interrupted} of {number_of(self.pairs, 'pair')} interrupted, {lasting}"]
                if self.interrupted
                else []
            )
            parts += [f"{', '.join(self.witnesses)}{more}"] if self.interrupted else []
            parts += [f"{found.where}: {found.actual}" for found in self.cut_vlans]
            return f"NOT hitless: {'; '.join([*parts, now] if now else parts)}"
        return f"{now}; interrupts no others" if now else "no host pair loses connectivity"

    @property
    def _now(self) -> str:
        if not self.cut_now:
            return ""
        if not self.restored:
            return f"{self.cut_now} host {'pair stays' if self.cut_now == 1 else 'pairs stay'} disconnected"
        if self.cut_now == 1:
            return "reconnects the disconnected host pair"
        part = "all" if self.restored == self.cut_now else f"{self.restored} of"
        return f"reconnects {part} {self.cut_now} disconnected host pairs"

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line."""
        return {
            "hitless": self.hitless,
            "interrupted_pairs": self.interrupted,
            "interrupted_seconds_max": None if self.seconds_max == math.inf else round(self.seconds_max, 3),
            "cut_off_pairs": self.cut_now,
            "restored_pairs": self.restored,
            "cut_vlans": [found.to_json() for found in self.cut_vlans],
            "no_hitless_way": self.no_way,
        }
