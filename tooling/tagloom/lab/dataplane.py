"""Forward frames one by one through the switches exactly as they are configured (IEEE 802.1Q-2018, clause 8.6).

Written to be obviously right rather than fast, and independent of what proves plans: no arrays, one queue of copies.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.records.switch_state import Frames, Membership

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.records.fabric import Fabric, Host, Switch
    from tagloom.records.switch_state import FabricState, SwitchState

BROADCAST = 0xFFFF_FFFF_FFFF
BEHIND_UPLINKS = 0x0600_0000_0000  # locally administered addresses (IEEE 802-2014, 8.4.4.2), one for each host
UNTAGGED = 0  # VLAN id 0 never travels as a VLAN (802.1Q-2018, table 9-2), so it stands for "no tag"
HOPS_PER_SWITCH = 4  # a frame that passed every switch this often is not on its way anywhere
MAX_COPIES = 100_000


@dataclass(frozen=True, slots=True)
class Hop:
    """One copy sent by a switch: its name, the port it came in by, the VLAN it was in, the port it left by."""

    switch: str
    in_port: int
    vlan: int
    out_port: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of one frame.

    `path` holds every copy a switch sent, in order; `delivered_to` the hosts whose wire carried it untagged, with how
    many copies; `copies` those that reached the host asked for (for a broadcast: all); `flooded` names the switches
    that knew no port for it; `storm` is "" or says what circulated.
    """

    path: tuple[Hop, ...]
    delivered_to: dict[str, int]
    copies: int
    flooded: tuple[str, ...]
    storm: str


def stand_ins(fabric: Fabric) -> tuple[Host, ...]:
    """Return the hosts of a fabric, an uplink without an address as somebody behind it, who has one."""
    hosts = enumerate(fabric.hosts)
    return tuple(host if host.mac else replace(host, mac=BEHIND_UPLINKS + h) for h, host in hosts)


@dataclass(slots=True)
class Flight:
    """One frame under way from host `source`, address `sender`, to host `target` ("" = all), at MAC address `mac`.

    `copies` are those still under way: switch, port it comes in by, tag, hops behind it. `broken` names the faults that
    the frame met, see `Dataplane.break_off`; the rest is as in `Delivery`.
    """

    source: str
    target: str
    mac: int
    sender: int
    copies: deque[tuple[int, int, int, int]]
    path: list[Hop] = field(default_factory=list)
    delivered: Counter[str] = field(default_factory=Counter)
    flooded: dict[str, None] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    storm: str = ""

    def duplicate(self) -> Flight:
        """Return another frame that has come exactly as far."""
        return Flight(
            self.source,
            self.target,
            self.mac,
            self.sender,
            self.copies.copy(),
            self.path.copy(),
            self.delivered.copy(),
            self.flooded.copy(),
            self.broken.copy(),
            self.storm,
        )


@dataclass(frozen=True, slots=True)
class Ping:
    """What became of one frame for each ordered pair of hosts; counts of pairs, witnesses as (from, to) names."""

    pairs: int
    reached: int
    lost: tuple[tuple[str, str], ...]
    duplicated: tuple[tuple[str, str], ...]
    overheard: tuple[tuple[str, str], ...]
    storm: str


@dataclass(slots=True)
class _Bridge:
    """One switch as plain tables, and what it has learned: (VLAN, MAC) -> port."""

    name: str
    members: dict[int, dict[int, Membership]]
    pvid: tuple[int, ...]
    ingress_filter: tuple[bool, ...]
    frames: tuple[int, ...]
    enabled: tuple[bool, ...]
    tree_ports: tuple[bool, ...]  # takes part in the spanning tree
    lag: tuple[int, ...]  # the port-channel of each port, 0 = none
    floods: tuple[bool, ...]  # frames that no entry leads leave by it
    learns: tuple[bool, ...]
    rate: tuple[tuple[bool, int], ...]  # whether a port negotiates, and the speed it is set to
    static: dict[tuple[int, int], tuple[int, ...]]
    drops_strange_senders: bool
    blocked: set[int] = field(default_factory=set)
    root: tuple[int, int] | None = None  # of its spanning tree: the switch, and the own port that leads there, 0 = here
    learned: dict[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, switch: Switch, state: SwitchState) -> _Bridge:
        ports = range(1, state.ports + 1)
        members = {
            vlan: {port: Membership(how) for port, how in zip(ports, row, strict=True) if how}
            for vlan, row in zip(state.vlans.tolist(), state.membership.tolist(), strict=True)
        }
        static: dict[tuple[int, int], tuple[int, ...]] = {}
        rows = zip(state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist(), strict=True)
        for vlan, mac, port in rows:
            static[vlan, mac] = (*static.get((vlan, mac), ()), port)
        return cls(
            switch.name,
            members,
            tuple(state.pvid.tolist()),
            tuple(state.ingress_filter.tolist()),
            tuple(state.frames.tolist()),
            tuple(state.enabled.tolist()),
            tuple(state.spanning_tree and bool(on) for on in state.port_spanning_tree.tolist()),
            tuple(state.lag.tolist()),
            tuple(state.flooding.tolist()),
            tuple(state.learning.tolist()),
            tuple(zip(state.negotiation.tolist(), state.speed_mbps.tolist(), strict=True)),
            static,
            platforms.of(switch).drops_strange_senders,
        )

    def is_strange(self, vlan: int, sender: int, port: int) -> bool:
        """Return whether the switch drops a frame because its sender is pinned at another port."""
        return self.drops_strange_senders and port not in self.static.get((vlan, sender), (port,))

    def up(self, port: int) -> bool:
        return self.enabled[port - 1]

    def floods_by(self, port: int) -> bool:
        return self.floods[port - 1]

    def logical(self, port: int) -> int:
        """Return the port that speaks for a physical one: the port-channel it is a member of, or itself."""
        return self.lag[port - 1] or port

    def classify(self, port: int, tag: int) -> int | None:
        """Return the VLAN of an arriving frame, None where the port drops it (802.1Q-2018, 6.9 and 8.6.2)."""
        takes = self.frames[port - 1]
        if port in self.blocked or takes == (Frames.UNTAGGED_ONLY if tag else Frames.TAGGED_ONLY):
            return None
        vlan = tag or self.pvid[port - 1]
        members = self.members.get(vlan)
        if members is None or (self.ingress_filter[port - 1] and port not in members):
            return None
        return vlan

    def learn(self, vlan: int, mac: int, port: int) -> None:
        """Remember where a MAC address is; a static entry is never moved (802.1Q-2018, 8.7)."""
        if self.learns[port - 1] and (vlan, mac) not in self.static:
            self.learned[vlan, mac] = port

    def choose(self, vlan: int, mac: int, in_port: int) -> tuple[list[int], bool]:
        """Return the ports a frame leaves by, and whether that is flooding."""
        members = self.members[vlan]
        wanted = self.static.get((vlan, mac))
        if wanted is None and (vlan, mac) in self.learned:
            wanted = (self.learned[vlan, mac],)
        out = [
            port
            for port in (filter(self.floods_by, sorted(members)) if wanted is None else wanted)
            if port in members and port != in_port and port not in self.blocked and self.up(port)
        ]
        return out, wanted is None


class Dataplane:
    """Carry frames between the hosts of a fabric whose switches hold `states`.

    `received` and `sent` count frames by (switch, port number) and survive `configure`, as a switch's counters do.
    """

    def __init__(self, fabric: Fabric, states: FabricState) -> None:
        self.received: Counter[tuple[str, int]] = Counter()
        self.sent: Counter[tuple[str, int]] = Counter()
        self.plug(fabric)
        self._max_hops = HOPS_PER_SWITCH * len(fabric.switches)
        self._down: dict[int, str] = {}
        self._pulled: dict[tuple[int, int], str] = {}
        self._losing: dict[tuple[int, int], str] = {}
        self.configure(states)

    def plug(self, fabric: Fabric) -> None:
        """Take the hosts of a fabric, of the same switches and links, in place of those that were plugged in."""
        self.fabric = fabric
        self._host_at = {(h.switch, h.port, h.tag): h for h in fabric.hosts}
        self._plugged = {(h.switch, h.port) for h in fabric.hosts}
        self._host = {host.name: host for host in stand_ins(fabric)}

    def grow(self, fabric: Fabric, states: FabricState) -> None:
        """Take a fabric that has more switches, behind those there are, and more links and hosts.

        `states` are those of the new switches. The others keep what they learned.
        """
        self.plug(fabric)
        self._max_hops = HOPS_PER_SWITCH * len(fabric.switches)
        self._bridges += [_Bridge.of(s, states[s.name]) for s in fabric.switches[len(self._bridges) :]]
        self._wire()

    def configure(self, states: FabricState) -> None:
        """Take the switches' states as they are now; what was learned is forgotten. Raises KeyError for one missing."""
        self._bridges = [_Bridge.of(s, states[s.name]) for s in self.fabric.switches]
        self._wire()

    def change(self, switch: str, state: SwitchState) -> None:
        """Take one switch's state; it keeps what it learned on ports that are still up and in the VLAN."""
        at = self.fabric.index[switch]
        old, new = self._bridges[at], _Bridge.of(self.fabric.switches[at], state)
        new.learned = {
            (vlan, mac): port
            for (vlan, mac), port in old.learned.items()
            if port in new.members.get(vlan, ()) and new.up(port) and (vlan, mac) not in new.static
        }
        self._bridges[at] = new
        self._wire()

    def break_off(
        self,
        down: Mapping[int, str],
        pulled: Mapping[tuple[int, int], str],
        losing: Mapping[tuple[int, int], str] = MappingProxyType({}),
    ) -> None:
        """Set what is broken, with what to call the fault.

        Switches may be `down`; of a (switch, port), the cable may be `pulled`, or be `losing` what that port sends.
        """
        self._down, self._pulled, self._losing = dict(down), dict(pulled), dict(losing)
        self._wire()

    def _fault_at(self, switch: int, port: int) -> str:
        """Name the fault that broke what is plugged in at a port, "" where none did."""
        far = self._far.get((switch, port))
        return self._pulled.get((switch, port), "") or self._down.get(switch if far is None else far, "")

    def _wire(self) -> None:
        """Find the cables that carry frames, and what spanning tree blocks."""
        for bridge in self._bridges:
            bridge.blocked.clear()
            bridge.root = None
        self._far: dict[tuple[int, int], int] = {}
        self._peer: dict[tuple[int, int], tuple[int, int]] = {}  # physical ports, cable by cable
        self._cables: dict[tuple[int, int], list[int]] = {}  # (switch, port that speaks) -> its ports with a cable
        for link in self.fabric.links:
            for p, q in link.cables if link.up else ():
                a, b = (link.a, p), (link.b, q)
                self._far[a], self._far[b] = link.b, link.a
                if a in self._pulled or b in self._pulled or link.a in self._down or link.b in self._down:
                    continue
                here, there = self._bridges[link.a], self._bridges[link.b]
                # What ends of different settings do is not to be relied on: they have no link.
                if here.up(p) and there.up(q) and here.rate[p - 1] == there.rate[q - 1]:
                    self._peer[a], self._peer[b] = b, a
                    for s, port in (a, b):
                        self._cables.setdefault((s, self._bridges[s].logical(port)), []).append(port)
        self._span()

    def _span(self) -> None:
        """Block what a breadth-first tree from the lowest switch leaves over.

        Stands for IEEE 802.1D with equal priorities and costs after it has settled. A link with an end that takes no
        part always forwards, which is how a half-converted fabric loops.
        """
        speaks = {
            ((s, self._bridges[s].logical(p)), (t, self._bridges[t].logical(q)))
            for (s, p), (t, q) in self._peer.items()
        }
        ends = [
            (a, b)
            for a, b in sorted(speaks)
            if self._bridges[a[0]].tree_ports[a[1] - 1] and self._bridges[b[0]].tree_ports[b[1] - 1]
        ]
        out: dict[int, list[tuple[tuple[int, int], tuple[int, int]]]] = {}
        for a, b in sorted(ends):
            out.setdefault(a[0], []).append((a, b))
        tree: set[tuple[int, int]] = set()
        seen: set[int] = set()
        for root in sorted(out):
            queue = deque([root] if root not in seen else [])
            if queue:
                self._bridges[root].root = root, 0
            seen.add(root)
            while queue:
                for a, b in out[queue.popleft()]:
                    if b[0] not in seen:
                        seen.add(b[0])
                        tree |= {a, b}
                        self._bridges[b[0]].root = root, b[1]
                        queue.append(b[0])
        for (switch, port), _ in ends:
            if (switch, port) not in tree:
                self._bridges[switch].blocked.add(port)

    def spanning(self, switch: str) -> tuple[tuple[int, int] | None, set[int]]:
        """Return a switch's spanning tree: (root switch, own port that leads there), None if alone; what it blocks."""
        bridge = self._bridges[self.fabric.index[switch]]
        return bridge.root, set(bridge.blocked)

    def learned(self, switch: str) -> dict[tuple[int, int], int]:
        """Return a switch's dynamic entries, (VLAN, MAC) -> port, since the last `configure`."""
        return dict(self._bridges[self.fabric.index[switch]].learned)

    def unicast(self, a: str, b: str, tag: int = UNTAGGED, *, mac: int = 0, sender: int = 0) -> Delivery:
        """Send one frame from host `a` to host `b`, tagged by the host itself with `tag`. Raises KeyError.

        `sender` and `mac` are the addresses in the frame, by default the hosts' own.
        """
        sent = self._send(a, b, tag, mac, sender)
        return Delivery(tuple(sent.path), dict(sent.delivered), sent.delivered[b], tuple(sent.flooded), sent.storm)

    def broadcast(self, a: str, tag: int = UNTAGGED, mac: int = BROADCAST, *, sender: int = 0) -> Delivery:
        """Send one frame from host `a` to all, or to another group or unknown address `mac`. Raises KeyError."""
        sent = self._send(a, "", tag, mac, sender)
        copies = sent.delivered.total()
        return Delivery(tuple(sent.path), dict(sent.delivered), copies, tuple(sent.flooded), sent.storm)

    def ping_all(self) -> Ping:
        """Send one frame for every ordered pair of hosts; after a storm nothing counts as reached, and it stops.

        Hosts of other networks are sent frames, too, which are `overheard` if they leave by a port of another. Where a
        host has several addresses, there are as many frames, so that each sends and is sent to. Whoever else
        hears what is flooded to an uplink is not counted.
        """
        hosts = self._host
        pairs = [(a, b) for a in hosts for b in hosts if a != b and hosts[a].network == hosts[b].network]
        lost, duplicated, overheard = [], [], []
        for a, b in ((a, b) for a in hosts for b in hosts if hosts[a].network != hosts[b].network):
            if any(hosts[name].network != hosts[a].network for name in self.unicast(a, b).delivered_to):
                overheard.append((a, b))
        for a, b in pairs:
            senders, macs = hosts[a].macs, hosts[b].macs
            both = [(senders[i % len(senders)], macs[i % len(macs)]) for i in range(max(len(senders), len(macs)))]
            sent = [self.unicast(a, b, sender=sender, mac=mac) for sender, mac in both]
            if storm := next((found.storm for found in sent if found.storm), ""):
                return Ping(len(pairs), 0, tuple(pairs), (), (), storm)
            if not all(found.copies for found in sent):
                lost.append((a, b))
            if any(found.copies > 1 for found in sent):
                duplicated.append((a, b))
            if not hosts[b].uplink and any(found.delivered_to.keys() - {b} for found in sent):
                overheard.append((a, b))
        reached = len(pairs) - len(lost)
        return Ping(len(pairs), reached, tuple(lost), tuple(duplicated), tuple(overheard), "")

    def _cable(self, switch: int, port: int, source: int, target: int) -> int:
        """Choose the physical port a frame leaves by: of a port-channel, by both addresses (802.1AX-2020, 6.2.4)."""
        cables = self._cables.get((switch, port), [port])
        return cables[(source ^ target) % len(cables)]

    def _send(self, source: str, target: str, tag: int = UNTAGGED, mac: int = 0, sender: int = 0) -> Flight:
        flight = self.launch(source, target, tag, mac, sender)
        while flight.copies:
            self.step(flight)
        return flight

    def launch(self, source: str, target: str, tag: int = UNTAGGED, mac: int = 0, sender: int = 0) -> Flight:
        """Put a frame on the wire of host `source`, to host `target`, or to all where that is "". Raises KeyError.

        `mac` and `sender` are addresses other than the host's own. Hosts send untagged unless they tag a frame
        themselves with `tag`.
        """
        origin = self._host[source]
        address = mac or (self._host[target].mac if target else BROADCAST)
        flight = Flight(source, target, address, sender or origin.mac, deque())
        if origin.switch in self._down:
            flight.broken.add(self._down[origin.switch])
        elif self._bridges[origin.switch].up(origin.port):
            flight.copies.append((origin.switch, origin.port, tag or origin.tag, 0))
        return flight

    def step(self, flight: Flight) -> None:
        """Lead the next copy of a frame through the switch it has come to, as that switch is now."""
        switch, in_port, tag, hops = flight.copies.popleft()
        bridge = self._bridges[switch]
        if switch in self._down:
            flight.broken.add(self._down[switch])
            return
        self.received[bridge.name, in_port] += 1
        if (speaker := bridge.logical(in_port)) != in_port:
            in_port = speaker
            self.received[bridge.name, in_port] += 1
        vlan = bridge.classify(in_port, tag) if bridge.up(in_port) else None
        if vlan is None or bridge.is_strange(vlan, flight.sender, in_port):
            return
        bridge.learn(vlan, flight.sender, in_port)
        out, unknown = bridge.choose(vlan, flight.mac, in_port)
        if unknown and flight.target:
            flight.flooded[bridge.name] = None
        for port in out:
            if bridge.logical(port) != port:
                continue  # its port-channel speaks for it
            cable = self._cable(switch, port, flight.sender, flight.mac)
            peer = self._peer.get((switch, cable))
            if (
                (switch, port) not in self._plugged and peer is None
            ):  # nothing is plugged in, or the link is down: no carrier, nothing is sent
                if fault := self._fault_at(switch, cable):
                    flight.broken.add(fault)
                continue
            flight.path.append(Hop(bridge.name, in_port, vlan, port))
            self.sent[bridge.name, port] += 1
            if cable != port:
                self.sent[bridge.name, cable] += 1
            out_tag = vlan if bridge.members[vlan][port] is Membership.TAGGED else UNTAGGED
            if peer is not None and (switch, cable) in self._losing:
                flight.broken.add(self._losing[switch, cable])
            elif peer is not None:
                flight.copies.append((*peer, out_tag, hops + 1))
            elif host := self._host_at.get((switch, port, out_tag)):  # other tags are dropped, no interface has them
                flight.delivered[host.name] += 1
            if hops + 1 > self._max_hops or len(flight.path) > MAX_COPIES:
                storm = f"VLAN {vlan}: a frame of {flight.source} still circulates at {bridge.name}"
                flight.storm = f"{storm} after {hops + 1} hops, {len(flight.path)} copies"
                flight.copies.clear()
                return
