"""Notice cables that pass frames one way only, while both their ports are up, by the counters of look after look."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Counters, Observation

End = tuple[int, int]  # a switch, by index, and its port number

LOOKS = 3  # one after the other, in which one end sent and the other received nothing
LEAST_SECONDS = 10.0  # between the first and the last of them: some agents show counters that are seconds old
LEAST_PACKETS = 10  # that were sent over all of them


@dataclass(frozen=True)
class _Shown:
    """What one look shows of a port: when, and its counters."""

    at: float
    port: Counters


@dataclass(frozen=True)
class _Unheard:
    """Looks one after the other in which one end sent what the other did not receive."""

    since: float
    looks: int = 0
    packets: int = 0


@dataclass
class OneWayWatch:
    """The cables of a fabric that lose all unicast frames in one direction.

    `found` has, by the ports that send and receive, when either of them last went up or down, by its switch's clock: a
    cable is good again where one of them has done so since, or where something is received.
    """

    found: dict[tuple[End, End], tuple[float | None, float | None]] = field(default_factory=dict)
    _earlier: dict[End, _Shown] = field(default_factory=dict)
    _unheard: dict[tuple[End, End], _Unheard] = field(default_factory=dict)

    def look(self, fabric: Fabric, seen: Mapping[str, Observation]) -> frozenset[int]:
        """Return the links with a cable that passes frames one way only, by index, as one more reading shows it.

        Counted are unicasts that one end sent (IF-MIB ifHCOutUcastPkts, RFC 2863) and the other received
        (ifHCInUcastPkts). Nobody who sends nothing is a sign of anything.
        """
        shown = {
            (fabric.index[name], port.number): _Shown(each.at, port)
            for name, each in seen.items()
            if not each.error
            for port in each.ports
        }
        links: set[int] = set()
        for link, a, a_port, b, b_port in fabric.cables.tolist():
            for both in (((a, a_port), (b, b_port)), ((b, b_port), (a, a_port))):
                self._judge(both, shown)
                links |= {link} if both in self.found else set()
        self._earlier = shown
        return frozenset(links)

    def _judge(self, both: tuple[End, End], shown: Mapping[End, _Shown]) -> None:
        """Look at one direction of a cable."""
        now = tuple(shown[end] for end in both if end in shown)
        before = tuple(self._earlier[end] for end in both if end in self._earlier)
        if len(now) < len(both):
            return
        changes = now[0].port.last_change_seconds, now[1].port.last_change_seconds
        if both in self.found and changes != self.found[both]:
            del self.found[both]
        if len(before) < len(both):
            return
        sent = _more(before[0].port.out_packets, now[0].port.out_packets)
        received = _more(before[1].port.in_packets, now[1].port.in_packets)
        if received:
            self.found.pop(both, None)
        if received or sent is None or received is None or not all(each.port.oper_up for each in now):
            self._unheard.pop(both, None)
        elif sent:
            known = self._unheard.get(both, _Unheard(before[0].at))
            known = replace(known, looks=known.looks + 1, packets=known.packets + sent)
            self._unheard[both] = known
            long = now[0].at - known.since >= LEAST_SECONDS
            if known.looks >= LOOKS and known.packets >= LEAST_PACKETS and long:
                self.found[both] = changes


def _more(before: int | None, now: int | None) -> int | None:
    """Return by how much a counter rose, None where it is not known: a switch that starts anew counts from 0."""
    return now - before if before is not None and now is not None and now >= before else None


def with_links_lost(fabric: Fabric, seen: Mapping[str, Observation], links: frozenset[int]) -> dict[str, Observation]:
    """Return a reading in which the ports of some links are down."""
    down = {(s, port) for link, a, p, b, q in fabric.cables.tolist() if link in links for s, port in ((a, p), (b, q))}
    marked = dict(seen)
    for name in {fabric.switches[s].name for s, _ in down} & seen.keys():
        s = fabric.index[name]
        ports = tuple(replace(p, oper_up=False) if (s, p.number) in down else p for p in seen[name].ports)
        marked[name] = replace(seen[name], ports=ports)
    return marked
