"""Send frames from the rack's hosts all the time, and count what becomes of every one of them.

Between any two lines that land, and every few hundredths of a second besides, every host sends one frame to every other
and one broadcast. At each line there are frames under way: one for every place on every path. When the line has landed,
each of them is led to its end or, by a coin, one hop further and kept for the line after.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.lab.dataplane import Dataplane, Flight

WITNESSES = 20  # of each kind are told; all are counted
_CREEPS = 0.5


@dataclass
class Traffic:
    """Count frames on `plane` from now on; `clock` gives seconds, `seed` decides which frames creep.

    A frame that met a broken place, where a fault has taken a switch or a cable, may be lost to that fault. Nothing is
    excused of a frame that did not, and no fault excuses a second copy, a flood or a storm. After a storm no frame is
    sent any more.
    """

    plane: Dataplane
    clock: Callable[[], float]
    seed: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    lost_to: Counter[str] = field(default_factory=Counter)
    witnesses: list[dict[str, Any]] = field(default_factory=list)
    unreached: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: {"frames": set(), "broadcasts": set()})
    storm: str = ""

    def __post_init__(self) -> None:
        network = {host.name: host.network for host in self.plane.fabric.hosts}
        self._mates = {a: frozenset(b for b in network if b != a and network[a] == network[b]) for a in network}
        self._uplinks = {host.name for host in self.plane.fabric.hosts if host.uplink}
        self._flows = [(a, b) for a in network for b in ("", *network) if not b or b in self._mates[a]]
        self._chance = random.Random(self.seed)  # noqa: S311 - replays, guards nothing
        self._began = self.clock()
        self._last_line = ""
        self._missing_since: dict[tuple[str, str], float] = {}
        self._longest: dict[tuple[str, str], float] = {}
        self._air: list[Flight] = []
        self.round()

    @property
    def running(self) -> bool:
        """Return whether hosts still send."""
        return bool(self._flows)

    def landed(self, line: str) -> None:
        """Carry frames under way on through the fabric as it is after a line has landed, then send anew."""
        self._last_line = line
        self.counts["lines"] += 1
        before, self._air = self._air, []
        for flight in before:
            if self.storm:
                return
            if flight.copies and self._chance.random() < _CREEPS:
                self.plane.step(flight)
                self._air.append(flight)
            else:
                self._arrive(flight)
        self._send()

    def round(self) -> None:
        """Lead all frames under way to their ends, and send anew."""
        self._land()
        self._send()

    def stop(self) -> None:
        """Lead all frames under way to their ends, and send no more."""
        self._land()
        self._flows = []
        self._note_seconds(dict.fromkeys(self._missing_since, True))

    def _note_seconds(self, reached: dict[tuple[str, str], bool]) -> None:
        """Note how long pairs were cut that are reached again: from the first frame missed to the next one sent."""
        now = self.clock()
        for pair, heard in reached.items():
            if not heard:
                self._missing_since.setdefault(pair, now)
            elif (since := self._missing_since.pop(pair, None)) is not None:
                self._longest[pair] = max(self._longest.get(pair, 0.0), now - since)

    def _land(self) -> None:
        before, self._air = self._air, []
        for flight in before:
            if not self.storm:
                self._arrive(flight)

    def _send(self) -> None:
        """Send whole frames, and put on the way one frame for each place where the next line could find it."""
        for a, b in self._flows:
            whole = self.plane.launch(a, b)
            steps = 0
            while whole.copies:
                self.plane.step(whole)
                steps += 1
            self._count(whole, sent_now=True)
            if self.storm:
                return
            ahead = self.plane.launch(a, b)
            for taken in range(steps):
                if taken:
                    self.plane.step(ahead)
                self._air.append(ahead.duplicate())

    def _arrive(self, flight: Flight) -> None:
        while flight.copies:
            self.plane.step(flight)
        self._count(flight)

    def _count(self, flight: Flight, *, sent_now: bool = False) -> None:
        self.counts["frames"] += 1
        wanted = {flight.target} if flight.target else self._mates[flight.source]
        missing = sorted(wanted - flight.delivered.keys())
        self.unreached["frames" if flight.target else "broadcasts"].update((flight.source, name) for name in missing)
        heard = {(flight.source, name): name in flight.delivered for name in wanted}
        self._note_seconds({pair: reached for pair, reached in heard.items() if sent_now or not reached})
        if flight.storm:
            self._witness("storms", flight, flight.storm)
            self.storm, self._flows, self._air = flight.storm, [], []
        elif missing and flight.broken:
            self.counts["lost_to_faults"] += len(missing)
            self.lost_to[min(flight.broken)] += len(missing)
        elif missing:
            self.counts["lost"] += len(missing) - 1
            self._witness("lost", flight, " ".join(missing))
        if any(copies > 1 for copies in flight.delivered.values()):
            self._witness("duplicated", flight, "")
        if flight.target in self._uplinks:
            return  # everybody hears what is flooded to it
        if flight.flooded:
            self._witness("flooded", flight, f"by {', '.join(flight.flooded)}")
        if flight.delivered.keys() - wanted:
            self._witness("overheard", flight, " ".join(sorted(flight.delivered.keys() - wanted)))

    def _witness(self, what: str, flight: Flight, detail: str) -> None:
        self.counts[what] += 1
        if sum(each["what"] == what for each in self.witnesses) < WITNESSES:
            path = [f"{hop.switch}:{hop.in_port}>{hop.out_port} vlan {hop.vlan}" for hop in flight.path[:20]]
            self.witnesses.append(
                {
                    "what": what,
                    "seconds": round(self.clock() - self._began, 3),
                    "from": flight.source,
                    "to": flight.target or "all",
                    "detail": detail,
                    "after": self._last_line,
                    "path": path,
                }
            )

    def report(self) -> dict[str, Any]:
        """Return the counts since the start: frames, receivers that missed one, and witnesses of what went wrong.

        `unreached` lists, of frames to one host and of broadcasts, the pairs [from, to] that missed any, to a fault or
        not, and `cut_seconds` for how long at most each of them did: [from, to, seconds], till now where none arrived.
        """
        now = self.clock()
        longest = self._longest | {
            pair: max(now - since, self._longest.get(pair, 0.0)) for pair, since in self._missing_since.items()
        }
        names = ("frames", "lines", "lost", "lost_to_faults", "duplicated", "flooded", "overheard", "storms")
        return {
            "running": self.running,
            "seconds": self.clock() - self._began,
            **{name: self.counts[name] for name in names},
            "by_fault": dict(sorted(self.lost_to.items())),
            "unreached": {what: [list(pair) for pair in sorted(pairs)] for what, pairs in self.unreached.items()},
            "cut_seconds": [[*pair, round(seconds, 3)] for pair, seconds in sorted(longest.items())],
            "storm": self.storm,
            "witnesses": self.witnesses,
        }
