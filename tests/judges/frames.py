"""Send frames through switches by the rules of IEEE 802.1Q, one step at a time; shares no code with tagloom."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from switchtext import DISCARD

if TYPE_CHECKING:
    from switchtext import Switch

BROADCAST = "ffffffffffff"
NEIGHBOURS = "333300000001"  # IPv6's all nodes: what every host sends, and no switch has an entry for (RFC 2464)


@dataclass
class Sent:
    """What became of one frame: copies by host, whether a switch flooded it, whether copies go round for ever."""

    heard: Counter[str] = field(default_factory=Counter)
    flooded: bool = False
    storm: bool = False


@dataclass
class Verdict:
    """What frames do in a whole fabric; `loose` are cables whose ends do not agree on what they belong to."""

    reached: set[tuple[str, str]] = field(default_factory=set)
    flooded: set[tuple[str, str]] = field(default_factory=set)
    copies: dict[tuple[str, str], int] = field(default_factory=dict)
    storm: bool = False
    cycle: bool = False
    loose: list[str] = field(default_factory=list)
    spanning_tree: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    misplaced: list[str] = field(default_factory=list)


class Network:
    """Switches, cables as (switch, port, switch, port), and hosts as {name: (switch, port, MAC)}."""

    def __init__(
        self,
        switches: dict[str, Switch],
        cables: list[tuple[str, str, str, str]],
        hosts: dict[str, tuple[str, str, str]],
    ) -> None:
        self.switches, self.hosts = switches, hosts
        self._members: dict[tuple[str, str], dict[int, str]] = {}
        self.waits: dict[tuple[str, str], set[tuple[str, str]]] = {}  # what a frame holds -> what it wants
        self.loose: list[str] = []
        self.leads: dict[tuple[str, str], set[tuple[str, str]]] = {}  # far ends of a port or port-channel
        self.host_at = {(s, port): name for name, (s, port, _) in hosts.items()}
        for a, p, b, q in cables:
            ends = [(a, p), (b, q)]
            if not self._link_is_up(a, p, b, q):
                continue
            first, second = ((s, switches[s].port(port).bundle or port) for s, port in ends)
            if any(switches[s].port(port).shut for s, port in (first, second)):
                continue
            self.leads.setdefault(first, set()).add(second)
            self.leads.setdefault(second, set()).add(first)
            if first[1].startswith("po") != second[1].startswith("po"):
                self.loose.append(f"{a}:{p} - {b}:{q}")
        self.loose += [f"{s}:{port}" for (s, port), ends in self.leads.items() if len(ends) > 1]
        self.loose += [f"{s}:{p}" for (s, p) in self.host_at if switches[s].port(p).bundle]

    def _link_is_up(self, a: str, p: str, b: str, q: str) -> bool:
        """Return whether a cable carries frames: both ends open, and no two forced speeds that differ."""
        ends = [self.switches[a].port(p), self.switches[b].port(q)]
        forced = {end.speed for end in ends if not end.negotiates and end.speed}
        return not any(end.shut for end in ends) and len(forced) < 2

    def send(self, host: str, target: str) -> Sent:
        """Send an untagged frame from a host to a MAC address; nothing is learned."""
        sent, seen = Sent(), set()
        switch, port, _ = self.hosts[host]
        wave: Counter[tuple[str, str, int]] = Counter()
        if not self.switches[switch].port(port).shut:
            wave[switch, port, 0] = 1
        steps = 0
        while wave:
            seen |= wave.keys()
            steps += 1
            if steps > len(seen) + 1:  # more steps than places: some place was passed twice
                sent.storm = True
                return sent
            after: Counter[tuple[str, str, int]] = Counter()
            for place, copies in wave.items():
                self._pass(*place, target, copies, sent, after)
            wave = after
        return sent

    def _pass(
        self, name: str, port: str, tag: int, target: str, copies: int, sent: Sent, after: Counter[tuple[str, str, int]]
    ) -> None:
        """Let one switch do with copies of a frame what it must (802.1Q-2018, 6.9, 8.6.2, 8.8, 8.6.3)."""
        switch = self.switches[name]
        takes = switch.port(port).takes
        vlan = tag or switch.pvid(port)
        if takes == ("untagged" if tag else "tagged") or vlan == DISCARD or vlan not in switch.vlans:
            return
        if switch.port(port).filtering and vlan not in self._vlans(name, port):
            return
        to = switch.entries.get((vlan, target))
        if to is None:
            sent.flooded = True
            to = {each for each in self._in_use(name) if vlan in self._vlans(name, each)}
        for out in sorted(to - {port}):
            how = self._vlans(name, out).get(vlan)
            if how is None or switch.port(out).shut or switch.port(out).bundle:
                continue
            if (name, out) in self.host_at:
                sent.heard[self.host_at[name, out]] += copies if how == "untagged" else 0
            for far in self.leads.get((name, out), ()):
                for held in self.leads.get((name, port), ()):
                    self.waits.setdefault((*held, name), set()).add((name, out, far[0]))
                after[(*far, vlan if how == "tagged" else 0)] += copies

    def _in_use(self, name: str) -> list[str]:
        return [port for s, port in (*self.leads, *self.host_at) if s == name]

    def _vlans(self, name: str, port: str) -> dict[int, str]:
        if (name, port) not in self._members:
            self._members[name, port] = self.switches[name].members(port)
        return self._members[name, port]

    def waits_in_a_ring(self) -> bool:
        """Return whether channels wait for each other in a ring, by depth-first search."""
        done: set[tuple[str, ...]] = set()
        for start in self.waits:
            if start in done:
                continue
            way, open_ = [(start, iter(self.waits[start]))], {start}
            while way:
                channel, more = way[-1]
                after = next(more, None)
                if after is None:
                    way.pop()
                    open_.discard(channel)
                    done.add(channel)
                elif after in open_:
                    return True
                elif after not in done:
                    open_.add(after)
                    way.append((after, iter(self.waits.get(after, ()))))
        return False


def judge(network: Network) -> Verdict:
    """Send every broadcast and every unicast, and say what was seen."""
    found = Verdict(loose=network.loose)
    for name, switch in network.switches.items():
        found.refused += [f"{name}: {line}" for line in switch.refused]
        found.unclear += [f"{name}: {line}" for line in switch.unclear]
        found.misplaced += [f"{name}: {line}" for line in switch.misplaced]
        ports = [port for s, port in (*network.leads, *network.host_at) if s == name]
        if switch.spanning_tree and any(switch.port(port).spanning_tree for port in ports):
            found.spanning_tree.add(name)
    for a in network.hosts:
        sent = network.send(a, BROADCAST)
        found.storm |= sent.storm
        found.storm |= network.send(a, NEIGHBOURS).storm
        found.copies |= {(a, b): sent.heard[b] for b in network.hosts}
        for b, (_, _, mac) in network.hosts.items():
            if a == b:
                continue
            sent = network.send(a, mac)
            found.storm |= sent.storm
            if sent.heard[b]:
                found.reached.add((a, b))
            if sent.flooded:
                found.flooded.add((a, b))
    found.cycle = network.waits_in_a_ring()
    return found
