"""Carry a rack's frames through the bridges of a real kernel, set to what the switches hold."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.errors import DeviceError
from tagloom.lab.dataplane import BROADCAST, Delivery, Hop, Ping, stand_ins
from tagloom.platforms.iproute2 import GROUP_BIT
from tagloom.records.change import difference
from tagloom.records.switch_state import (
    DEFAULT_VLAN,
    DISCARD_PVID,
    OWNED_VLAN_NAME,
    Frames,
    Membership,
    PortMode,
    SwitchEditor,
    SwitchState,
)
from tagloom.render import render_commands
from tagloom.units import format_mac, parse_mac

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tagloom.lab.kernel.connection import Connection
    from tagloom.records.fabric import Fabric, Host
    from tagloom.records.switch_state import FabricState

PLATFORM = platforms.load("linux-bridge")
# The kernel's own spanning tree waits half a minute; these are the shortest times it takes (IEEE 802.1D-2004, 17.14).
QUICK_SPANNING_TREE = "ip link set dev tagloom type bridge forward_delay 200 hello_time 100 max_age 600"


def as_bridge(state: SwitchState, ports: Collection[int]) -> SwitchState:
    """Return in a bridge's terms what a switch of any family does on `ports`.

    A bridge cannot hold, and forwards as if they were not there: 802.3x, EEE and speeds (its cables have none); ingress
    filtering off; ports that refuse tagged frames; entries for a group of ports or for ports outside their VLAN;
    spanning tree on some ports only (it is on for all then).
    """
    editor = SwitchEditor.blank(PLATFORM.ports)
    for port in ports:
        view = state.port(port)
        editor.mode[port - 1], editor.enabled[port - 1] = PortMode.GENERAL, view.enabled
        editor.set_member(DEFAULT_VLAN, port, Membership.NONE)
        for how, vlans in ((Membership.UNTAGGED, view.untagged), (Membership.TAGGED, view.tagged)):
            for vlan in vlans:
                if vlan not in editor.vlans:
                    editor.create_vlan(vlan)
                    editor.name_vlan(vlan, OWNED_VLAN_NAME)
                editor.set_member(vlan, port, how)
        editor.flooding[port - 1], editor.learning[port - 1] = view.flooding, view.learning
        takes = view.frames is not Frames.TAGGED_ONLY and view.pvid in view.untagged + view.tagged
        editor.pvid[port - 1] = view.pvid if takes else DISCARD_PVID
    for (vlan, mac), at in SwitchEditor.of(state).entries.items():
        if len(at) == 1 and mac and not mac & GROUP_BIT and at[0] in editor.members.get(vlan, {}):
            editor.entries[vlan, mac] = at
    if ports:
        editor.spanning_tree = state.spanning_tree and any(state.port_spanning_tree[p - 1] for p in ports)
        editor.aging_seconds = state.aging_seconds
    return editor.freeze()


class KernelDataplane:
    """Carry frames as `tagloom.lab.dataplane.Dataplane` does, by a running kernel, which `close` ends.

    `sent` and `received` are the kernel's own counters, and count its spanning tree's frames as well. Everything
    raises DeviceError where the kernel fails.
    """

    def __init__(self, fabric: Fabric, templates: Path, kernel: Connection) -> None:
        self.fabric = fabric
        self._templates = templates
        self._host = {host.name: (i, host) for i, host in enumerate(stand_ins(fabric))}
        self._cables = [link for link in fabric.links if link.up]
        ends = [(link.a, link.a_port) for link in self._cables] + [(link.b, link.b_port) for link in self._cables]
        self._peer = {(li.a, li.a_port): (li.b, li.b_port) for li in self._cables}
        self._peer |= {there: here for here, there in self._peer.items()}
        ends += [(host.switch, host.port) for host in fabric.hosts]
        self._ports = [sorted(port for at, port in ends if at == s) for s in range(len(fabric.switches))]
        factory = SwitchState.factory(PLATFORM.ports)
        self._held = {switch.name: factory for switch in fabric.switches}
        self._learned: dict[str, dict[tuple[int, int], int]] = {}
        self._machine = kernel
        try:
            self._machine.request(
                "build",
                switches=len(fabric.switches),
                links=[[link.a, link.a_port, link.b, link.b_port] for link in self._cables],
                hosts=[[host.switch, host.port, format_mac(host.mac)] for host in stand_ins(fabric)],
            )
        except DeviceError:
            self.close()
            raise

    def close(self) -> None:
        """End the kernel."""
        self._machine.__exit__()

    def configure(self, states: FabricState) -> None:
        """Bring the bridges to what the switches hold now; what was learned is forgotten."""
        orders: dict[str, list[str]] = {}
        wanted = {}
        for s, switch in enumerate(self.fabric.switches):
            held, wanted[switch.name] = self._held[switch.name], as_bridge(states[switch.name], self._ports[s])
            lines = render_commands(PLATFORM, difference(held, wanted[switch.name]), held)
            if lines:
                new = [QUICK_SPANNING_TREE] if lines[0].startswith("ip link add") else []
                orders[str(s)] = [lines[0], *new, *lines[1:]]
        errors = self._machine.request("batch", orders=orders)["errors"] if orders else {}
        for s, complaints in errors.items():
            if complaints:
                raise DeviceError(self.fabric.switches[int(s)].name, "ip, bridge", "; ".join(complaints[:3]))
        self._held = wanted
        self._machine.request("forget")

    def learned(self, switch: str) -> dict[tuple[int, int], int]:
        """Return a switch's dynamic entries, (VLAN, MAC) -> port."""
        found = {}
        for row in json.loads(self._machine.request("learned", switch=self.fabric.index[switch])["entries"]):
            port = PLATFORM.port_number(str(row.get("ifname")))
            if port and row.get("state") not in ("static", "permanent") and "vlan" in row and "master" in row:
                found[int(row["vlan"]), parse_mac(row["mac"])] = port
        return found

    @property
    def sent(self) -> Counter[tuple[str, int]]:
        """Count frames sent by (switch, port number)."""
        return self._counted(1)

    @property
    def received(self) -> Counter[tuple[str, int]]:
        """Count frames received by (switch, port number)."""
        return self._counted(0)

    def _counted(self, column: int) -> Counter[tuple[str, int]]:
        frames = self._machine.request("counters")["frames"]
        named = zip(self.fabric.switches, frames, strict=True)
        return Counter(
            {(s.name, int(p.removeprefix("swp"))): row[column] for s, ports in named for p, row in ports.items()}
        )

    def unicast(self, a: str, b: str) -> Delivery:
        """Send one frame from host `a` to host `b`. Raises KeyError for an unknown host."""
        (raw,) = self._send([(a, self._host[b][1].mac)])
        found = self._delivery(a, self._host[b][1].mac, raw)
        return Delivery(found.path, found.delivered_to, found.delivered_to.get(b, 0), found.flooded, found.storm)

    def broadcast(self, a: str) -> Delivery:
        """Send one broadcast frame from host `a`. Raises KeyError for an unknown host."""
        (raw,) = self._send([(a, BROADCAST)])
        return self._delivery(a, BROADCAST, raw)

    def ping_all(self) -> Ping:
        """Send one frame for every ordered pair of hosts of one network; after a storm nothing counts as reached."""
        hosts = self.fabric.hosts
        pairs = [(a.name, b.name) for a in hosts for b in hosts if a is not b and a.network == b.network]
        lost, duplicated, overheard = [], [], []
        answers = self._send([(a, self._host[b][1].mac) for a, b in pairs])
        for (a, b), raw in zip(pairs, answers, strict=True):
            heard = {int(host): copies for host, copies in raw["hosts"].items()}
            if raw["storm"]:
                return Ping(len(pairs), 0, tuple(pairs), (), (), self._storm(a, raw))
            index, host = self._host[b]
            copies = heard.pop(index, 0)
            if not copies:
                lost.append((a, b))
            if copies > 1:
                duplicated.append((a, b))
            if heard and not host.uplink:
                overheard.append((a, b))
        return Ping(len(pairs), len(pairs) - len(lost), tuple(lost), tuple(duplicated), tuple(overheard), "")

    def _send(self, frames: list[tuple[str, int]]) -> list[dict[str, Any]]:
        plain = [[self._host[a][0], format_mac(mac)] for a, mac in frames]
        answers: list[dict[str, Any]] = self._machine.request("send", frames=plain, learn=True)["frames"]
        return answers

    def _storm(self, a: str, raw: dict[str, Any]) -> str:
        s, port, frames = max(raw["storm"], key=lambda row: row[2])
        name = self.fabric.switches[s].name
        return f"a frame of {a} circulates: {name} sent {frames} copies by {PLATFORM.port_name(port)} before it was cut"

    def _delivery(self, a: str, mac: int, raw: dict[str, Any]) -> Delivery:
        """Return in names what became of a frame; copies seen without order are followed from the sender on."""
        heard = {self.fabric.hosts[int(h)].name: copies for h, copies in raw["hosts"].items()}
        if raw["storm"]:
            return Delivery((), heard, sum(heard.values()), (), self._storm(a, raw))
        waiting = Counter(tuple(hop) for hop in raw["hops"])
        host: Host = self._host[a][1]
        path: list[Hop] = []
        flooded: dict[str, None] = {}
        arrivals = deque([(host.switch, host.port, 0)])
        while arrivals:
            s, in_port, tag = arrivals.popleft()
            name = self.fabric.switches[s].name
            held = self._held[name]
            vlan = tag or int(held.pvid[in_port - 1])
            out = [hop for hop in waiting if hop[0] == s and hop[1] != in_port and waiting[hop] > 0]
            if out and mac != BROADCAST and not held.entry(vlan, mac):
                flooded[name] = None
            for hop in out:
                waiting[hop] -= 1
                path.append(Hop(name, in_port, vlan, hop[1]))
                if (peer := self._peer.get((s, hop[1]))) is not None:
                    arrivals.append((*peer, hop[2]))
        return Delivery(tuple(path), heard, sum(heard.values()), tuple(flooded), "")
