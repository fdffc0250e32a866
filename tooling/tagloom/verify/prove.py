"""Prove a fabric's configuration: every pair on its path, no storm, broadcasts exactly once, no deadlock, limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.graph.cycles import find_cycle, ranks
from tagloom.platforms.port_names import channel_name
from tagloom.records.findings import Findings, LatentRing
from tagloom.records.switch_state import DEFAULT_VLAN, Membership
from tagloom.records.tagged_ports import without_tags
from tagloom.units import format_ranges, number_of
from tagloom.verify.aggregation import misfits, unbound
from tagloom.verify.broadcast import flood, flood_tagged, without_dropped
from tagloom.verify.confined import confined_findings
from tagloom.verify.foreign import (
    cycle_with_foreign,
    foreign_frames,
    foreign_frames_and_rings,
    host_vlans,
    outside_ports,
)
from tagloom.verify.foreign_reach import unguarded_vlans
from tagloom.verify.forwarding import addressed, forwarding, hop_names
from tagloom.verify.isolation import isolation, strays
from tagloom.verify.strange_senders import strange_hosts
from tagloom.verify.transient_ports import transient_hosts, with_transient_tags
from tagloom.verify.unicast import count, walk
from tagloom.verify.uplinks import NO_UPLINKS, floods_to_uplinks
from tagloom.verify.wave import follow_frames

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState
    from tagloom.verify.broadcast import Broadcast
    from tagloom.verify.foreign import ForeignFrames
    from tagloom.verify.forwarding import Forwarding
    from tagloom.verify.unicast import Trouble, Unicast
    from tagloom.verify.uplinks import UplinkFloods

WITNESSES = 5  # findings shown of one kind; the counts are complete


@dataclass(frozen=True, eq=False)
class Plan:
    """What the verifier compares with.

    routes              the planned routes, or None to accept the paths of the static entries
    duplicates_allowed  the plan says that broadcasts may arrive several times, and return; they must still arrive
    transient_ports     ports, as (switch name, port number), of hosts that are leaving or have not arrived yet: their
                        frames must do no harm, whether delivered or not
    transient_tags      the same of networks that a port is leaving or has not joined yet, as (switch name, port number,
                        tag, network); where others stay at the port, their frames also reach no isolated network
    learning            the network is no plan: switches learn, and any port may be in any VLAN; frames must arrive,
                        flooded or not
    shares              frames of a network on links that it may not use are a finding; not while a rollout leads there
    addresses           (switch name, VLAN id) of the switches' own addresses, beside those of in-band management
    lossy               no port sends PAUSE, so no frame holds a buffer while it waits: freedom from cycles is not asked
                        for, as by the terms of a wave (records/wave_proof.py)
    """

    routes: Routes | None = None
    duplicates_allowed: bool = False
    transient_ports: frozenset[tuple[str, int]] = frozenset()
    transient_tags: frozenset[tuple[str, int, int, str]] = frozenset()
    learning: bool = False
    shares: bool = False
    addresses: frozenset[tuple[str, int]] = frozenset()
    lossy: bool = False


@dataclass(frozen=True, eq=False)
class _NetworkProof:
    """What the frames of one network's hosts do, among themselves.

    model           of the fabric with those hosts alone
    sent            the unicasts to each of the hosts' addresses, with the fabric as known by those
    flooded, plain  broadcasts, and floods that entries for the broadcast address do not narrow
    up              frames to unknown addresses, which uplinks of the network hear
    strange         findings for hosts of which some switch drops frames for their sender
    """

    model: Forwarding
    sent: list[tuple[Fabric, Unicast]]
    flooded: Broadcast
    plain: Broadcast
    up: UplinkFloods
    strange: Mapping[int, list[Finding]]

    @property
    def floods(self) -> tuple[Broadcast, Broadcast]:
        return self.flooded, self.plain

    @property
    def storm(self) -> list[int]:
        storms = (self.flooded.storm, self.plain.storm, *(each.storm for _, each in self.sent))
        return next((each for each in storms if each), [])

    @property
    def pairs(self) -> int:
        return self.model.fabric.pairs

    @property
    def lost_pairs(self) -> int:
        return count([*self.up.lost, *(lost for _, each in self.sent for lost in each.lost)], self._hosts)

    @property
    def off_path_pairs(self) -> int:
        return count(
            [*self.up.repeated, *(off_path for _, each in self.sent for off_path in each.off_path)], self._hosts
        )

    @property
    def _hosts(self) -> int:
        return len(self.model.fabric.hosts)

    def findings(self, plan: Plan) -> list[Finding]:
        """Return findings for pairs, storms and copies."""
        fabric = self.model.fabric
        findings = _pair_findings(fabric, [*self.up.lost, *self.up.repeated], "one copy")
        for known, each in self.sent:
            findings += _pair_findings(known, each.lost, "delivery")
            findings += _pair_findings(known, each.off_path, "its own path, pinned at every switch")
        if self.storm:
            around = " -> ".join(hop_names(self.model, self.storm))
            findings.append(Finding("broadcast", "no storm", f"copies go round {around}"))
        findings += _down_findings(self.model, sorted({*self.flooded.down, *self.plain.down}))
        wrong = [w for w in self.flooded.wrong if not plan.duplicates_allowed or w[2] == 0]
        return findings + _copy_findings(fabric, wrong, len(wrong) if plan.duplicates_allowed else self.flooded.wrongs)


def _of_each_network(fabric: Fabric, state: FabricState, plan: Plan) -> list[_NetworkProof]:
    found = []
    for part, hosts in zip(fabric.by_network, fabric.networks.values(), strict=True):
        routes = None if plan.routes is None else plan.routes.of_hosts(hosts)
        seen, held = without_tags(part, state)
        model = forwarding(seen, held)
        sent = [(known, walk(each, routes)) for known, each in _by_each_address(model, held)]
        if plan.learning:  # what floods may as well be learnt
            sent = [(known, replace(each, off_path=[])) for known, each in sent]
        strange = strange_hosts(seen, held, {}, follow_frames)
        flooded = flood(model, repeats=not plan.duplicates_allowed)
        plain = _flood_past_group_entries(model, flooded)
        up = NO_UPLINKS
        if len(part.uplinks) and not (flooded.storm or plain.storm):
            up = floods_to_uplinks(model, strange.keys())
        flooded = without_dropped(model, flooded, strange.keys(), repeats=not plan.duplicates_allowed)
        found.append(_NetworkProof(model, sent, flooded, plain, up, strange))
    return found


def verify(fabric: Fabric, state: FabricState, plan: Plan | None = None) -> Findings:
    """Prove what a fabric does from the states of its switches.

    The proof covers:
    - every ordered host pair is delivered, to each address of the host, by static entries on the whole path, and on its
      planned path if given; one copy of a frame to an address behind an uplink arrives, flooded, whatever switches have
      learned; nothing storms; every broadcast reaches every other host exactly once and never its sender;
    - the dependencies between channels, of unicasts and floods together, are acyclic, hence no deadlock under IEEE
      802.3x flow control (Dally and Seitz 1987); whether that and no storm also hold when hosts send tagged frames;
    - with several networks the above among the hosts of each, the dependencies of all together; and no frame of a host,
      untagged or tagged, reaches a port of another network;
    - no switch that looks up senders drops a frame whose sender it has pinned at another port;
    - cable ends fit, those of an aggregated link are bound at both; limits hold; spanning tree blocks nothing;
    - no other port that could be up is in the fabric's VLANs; no foreign frame storms, or reaches a host from a port.
    A link that the fabric declares down carries nothing, so pairs whose path crosses one are lost; to judge states for
    other links, pass `Fabric.with_links_up`.
    """
    plan = plan if plan is not None else Plan()
    parts = _of_each_network(fabric, state, plan)
    model = parts[0].model if len(parts) == 1 and not fabric.tagged_hosts else forwarding(fabric, state, unicast=False)
    ports, channels = max(fabric.ports, default=0) + 1, len(fabric.tail)
    floods = [*(each for part in parts for each in part.floods), *_transient_floods(model, state, plan)]
    sent = [each for part in parts for _, each in part.sent]
    frames: list[Unicast | Broadcast] = [*sent, *floods]
    keys = np.unique(np.concatenate([each.held * channels + each.wanted for each in frames]))
    held, wanted = keys // max(1, channels), keys % max(1, channels)
    cycle = [] if plan.lossy else find_cycle(channels, held, wanted)
    around = _around_with_tags(model, keys)
    foreign = foreign_frames_and_rings(model, state, plan.addresses)
    alone = plan.lossy or cycle or foreign.storm
    shared, waits = ([], False) if alone else cycle_with_foreign(fabric, state, (held, wanted), foreign)
    findings = [finding for part in parts for finding in part.findings(plan)]
    storm = any(each.storm for each in frames)
    if storm and not any(part.storm for part in parts):
        findings.append(Finding("broadcast", "no storm", "copies from a port of a host that comes or goes circulate"))
    findings += [each for part in parts for some in part.strange.values() for each in some][:WITNESSES]
    findings += _storm_and_host_findings(model, foreign)
    named = tuple(channel_name(fabric, c) for c in cycle)
    if named:
        findings.append(Finding("channels", "no dependency cycle", "; ".join(named)))
    with_others = tuple(channel_name(fabric, c) for c in shared)
    findings += _waiting_findings(with_others) if waits else []
    findings += misfits(fabric, state)
    findings += unbound(fabric, state)
    findings += [] if plan.learning else _outside_members(fabric, state, plan.transient_ports)
    findings += confined_findings(fabric, state)
    findings += _limit_findings(fabric, state)
    everyone = with_transient_tags(fabric, plan.transient_tags)
    networks, leaks = isolation(model if everyone is fabric else forwarding(everyone, state, unicast=False), state)
    findings += [leak.finding() for leak in leaks[:WITNESSES]]
    findings += strays(model, state) if plan.shares else []
    return Findings(
        pairs=sum(part.pairs for part in parts),
        reachable_pairs=sum(part.pairs - part.lost_pairs for part in parts),
        off_path_pairs=sum(part.off_path_pairs for part in parts),
        storm_free=not storm and not foreign.storm,
        broadcast_exactly_once=not storm and all(part.flooded.once for part in parts),
        deadlock_free=not cycle and not waits,
        channels=channels,
        dependencies=len(keys),
        fdb_entries_max=max((len(s.entry_vlan) for s in state.values()), default=0),
        deadlock_cycle=with_others if waits else named,
        findings=tuple(findings),
        channel_rank=None if plan.lossy or cycle else ranks(channels, held, wanted),
        duplicates_allowed=plan.duplicates_allowed,
        tagged_frames_ports=len(np.unique(model.node_switch[model.tag_node] * ports + model.tag_port)),
        tagged_frames_cycle=tuple(around),
        foreign_vlans=foreign.vlans,
        foreign_safe=not (foreign.storm or foreign.heard),
        latent=_latent_rings(model, foreign),
        foreign_cycle=with_others,
        foreign_unguarded=unguarded_vlans(fabric, state, foreign.vlans),
        invented_addresses=sum(host.invented for host in fabric.hosts),
        uplinks=len(fabric.uplinks),
        flood_links_max=max(part.up.links for part in parts),
        flood_ports_max=max(part.up.ports for part in parts),
        networks=networks,
        leaks=leaks,
    )


def dependencies(fabric: Fabric, state: FabricState) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the channel dependencies of all unicasts and floods that states allow, as (held, wanted)."""
    parts = _of_each_network(fabric, state, Plan())
    frames: list[Unicast | Broadcast] = [each for part in parts for _, each in part.sent]
    frames += [each for part in parts for each in part.floods]
    return np.concatenate([each.held for each in frames]), np.concatenate([each.wanted for each in frames])


def _around_with_tags(model: Forwarding, keys: NDArray[np.int64]) -> list[str]:
    """Return the storm or dependency cycle that frames tagged by hosts would close beside `keys`, in words.

    Keys are dependencies, held * channels + wanted.
    """
    if not len(model.tag_node):
        return []
    channels = len(model.fabric.tail)
    tagged = flood_tagged(model)
    together = np.unique(np.concatenate([keys, tagged.held * channels + tagged.wanted]))
    cycle = find_cycle(channels, together // max(1, channels), together % max(1, channels))
    return hop_names(model, tagged.storm) or [channel_name(model.fabric, c) for c in cycle]


def _by_each_address(model: Forwarding, state: FabricState) -> list[tuple[Fabric, Forwarding]]:
    """Return the fabric as known by each of its hosts' addresses, and its model with the entries for those."""
    further = model.fabric.by_further_addresses
    return [(model.fabric, model), *((known, addressed(model, known, state)) for known in further)]


def broadcasts_once(fabric: Fabric, state: FabricState) -> bool:
    """Return whether every host's broadcast reaches every other of its network exactly once, and never returns to it.

    Likewise one copy of a frame to an unknown address must reach every uplink, whatever switches have learned.
    """
    for part in fabric.by_network:
        model = forwarding(*without_tags(part, state), unicast=False)
        if not flood(model, repeats=False).once:
            return False
        up = floods_to_uplinks(model, ()) if len(part.uplinks) else NO_UPLINKS
        if up.lost or up.repeated:
            return False
    return True


def tagged_frames_storm(fabric: Fabric, state: FabricState) -> bool:
    """Return whether frames that hosts tag themselves storm."""
    return bool(flood_tagged(forwarding(fabric, state, unicast=False)).storm)


def foreign_findings(fabric: Fabric, state: FabricState) -> list[Finding]:
    """Return findings for frames from ports outside the fabric: the storm they cause, the hosts they reach.

    Frames of the switches themselves, in the VLAN of in-band management, must not storm either.
    """
    model = forwarding(fabric, state, unicast=False)
    return _storm_and_host_findings(model, foreign_frames_and_rings(model, state, ()))


def looping_vlans(fabric: Fabric, state: FabricState) -> set[int]:
    """Return the foreign VLANs of one ring that no spanning tree breaks, whether a port leads into it or not."""
    model = forwarding(fabric, state, unicast=False)
    frames = foreign_frames(model, state, anywhere=True)
    return {int(model.node_vlan[model.egress_node[w]]) for w in frames.storm}.intersection(frames.vlans)


def foreign_waiting(fabric: Fabric, state: FabricState) -> list[Finding]:
    """Return a finding if a dependency cycle, all of whose channels end at PAUSE, arises only with foreign frames."""
    frames, own = foreign_frames(forwarding(fabric, state, unicast=False), state), dependencies(fabric, state)
    if not len(frames.held) or find_cycle(len(fabric.tail), *own):
        return []
    cycle, waits = cycle_with_foreign(fabric, state, own, frames)
    return _waiting_findings(tuple(channel_name(fabric, c) for c in cycle)) if waits else []


def _waiting_findings(named: tuple[str, ...]) -> list[Finding]:
    return [Finding("channels", "no dependency cycle with frames of VLANs of others", "; ".join(named))]


def _latent_rings(model: Forwarding, foreign: ForeignFrames) -> tuple[LatentRing, ...]:
    channel = model.egress_channel
    return tuple(
        LatentRing(vlan, tuple(channel_name(model.fabric, int(channel[egress])) for egress in ring))
        for vlan, ring in foreign.latent.items()
    )


def _storm_and_host_findings(model: Forwarding, foreign: ForeignFrames) -> list[Finding]:
    findings: list[Finding] = []
    if foreign.storm:
        sender = "a switch's own address" if foreign.by_switch else "ports outside the fabric"
        where = f"VLAN {int(model.node_vlan[model.egress_node[foreign.storm[0]]])}, from {sender}"
        around = " -> ".join(hop_names(model, foreign.storm))
        findings.append(Finding(where, "no storm", f"copies go round {around}, where no spanning tree runs"))
    return findings + [
        Finding(
            f"host {model.fabric.hosts[host].name}",
            "no frames of a VLAN of others",
            f"VLAN {vlan} reaches it untagged",
        )
        for host, vlan in foreign.heard[:WITNESSES]
    ]


def _flood_past_group_entries(model: Forwarding, flooded: Broadcast) -> Broadcast:
    """Return the flood that ignores the entries for the broadcast address, which restrict no other frames.

    Every host sends to other group addresses (IPv6 neighbour discovery, 33:33:...), and unicasts to hosts that are
    gone.
    """
    return flood(model, group_entries=False) if len(model.group_node) else flooded


def _pair_findings(fabric: Fabric, wrong: list[Trouble], expected: str) -> list[Finding]:
    """Return findings for the pairs in trouble, those of the shortest path first."""
    first = [trouble.say(at) for trouble in wrong for at in range(min(WITNESSES, len(trouble.source)))][:WITNESSES]
    shown = [Finding(f"{fabric.hosts[a].name} -> {fabric.hosts[b].name}", expected, why) for a, b, why in first]
    if more := sum(len(trouble.source) for trouble in wrong) - len(first):
        shown.append(Finding("pairs", expected, f"{more} more that fail"))
    return shown


def _copy_findings(fabric: Fabric, wrong: list[tuple[int, int, int]], wrongs: int) -> list[Finding]:
    shown = [
        Finding(
            f"broadcast of {fabric.hosts[a].name} at {fabric.hosts[b].name}",
            "no copy" if a == b else "one copy",
            f"{number_of(copies, 'copy')}",
        )
        for a, b, copies in wrong[:WITNESSES]
    ]
    if wrongs > WITNESSES:
        shown.append(Finding("broadcasts", "one copy at each other host", f"{wrongs - WITNESSES} more that differ"))
    return shown


def _down_findings(model: Forwarding, egresses: list[int]) -> list[Finding]:
    """Return findings for floods over links that the fabric declares down, one per link."""
    first: dict[int, int] = {}
    for egress in egresses:
        first.setdefault(int(model.egress_channel[egress]) // 2, egress)
    return [
        Finding("flooding", "nothing sent on a link that is declared down", hop_names(model, [egress])[0])
        for egress in list(first.values())[:WITNESSES]
    ]


def _transient_floods(model: Forwarding, state: FabricState, plan: Plan) -> list[Broadcast]:
    """Return the floods of frames that enter at transient ports, and of frames for them if some ports flood nothing.

    Unicasts from and to those ports leave by members of the same VLANs, whether these flood or not.
    """
    fabric = model.fabric
    visited = transient_hosts(fabric, plan.transient_ports, plan.transient_tags)
    models = [forwarding(*without_tags(part, state), unicast=False) for part in visited]
    if models and not model.egress_floods.all():
        models += [forwarding(*without_tags(part, state), unicast=False) for part in fabric.by_network]
    return [flood(each, group_entries=False, everywhere=True) for each in models]


def _outside_members(fabric: Fabric, state: FabricState, transient_ports: Collection[tuple[str, int]]) -> list[Finding]:
    """Return findings for ports outside the fabric by which frames could enter or leave the VLANs of its hosts."""
    findings: list[Finding] = []
    ours = host_vlans(fabric, state) - {DEFAULT_VLAN}
    for s, switch in enumerate(fabric.switches):
        if not switch.up:
            continue
        held, platform = state[switch.name], platforms.load(switch.model)
        mine = np.isin(held.vlans, [*ours, *held.owned_vlans])
        joined = (held.membership[mine] != Membership.NONE).any(axis=0)
        takes = ~held.ingress_filter & mine.any()  # it accepts frames tagged with any VLAN of the switch, member or not
        outside = outside_ports(fabric, s, held)
        outside[[port - 1 for name, port in transient_ports if name == switch.name]] = False
        for at in np.flatnonzero(outside & (joined | takes)).tolist():
            where = f"{switch.name}:{platform.port_name(at + 1)}"
            vlans = format_ranges(held.vlans[mine & (held.membership[:, at] != Membership.NONE)].tolist())
            actual = f"in VLAN {vlans}" if vlans else "open to frames of any VLAN: it does not filter them"
            findings.append(Finding(where, "no port outside the fabric in the fabric's VLANs", actual))
    return findings


def _limit_findings(fabric: Fabric, state: FabricState) -> list[Finding]:
    findings: list[Finding] = []
    macs = fabric.host_of_mac
    for i, switch in enumerate(fabric.switches):
        platform, held = platforms.load(switch.model), state[switch.name]
        if len(held.vlans) > platform.max_vlans:
            findings.append(Finding(f"{switch.name} VLANs", f"at most {platform.max_vlans}", str(len(held.vlans))))
        if len(held.entry_vlan) > platform.mac_table:
            expected = f"at most {platform.mac_table}"
            findings.append(Finding(f"{switch.name} static entries", expected, str(len(held.entry_vlan))))
        if held.spanning_tree and any(held.port_spanning_tree[p - 1] for p in fabric.used_ports[i]):
            actual = "on: it may block any of them"
            findings.append(Finding(f"{switch.name} spanning tree", "off on the fabric's ports", actual))
        vlan, mac = held.entry_vlan, held.entry_mac
        for j in np.flatnonzero((vlan[1:] == vlan[:-1]) & (mac[1:] == mac[:-1])).tolist():
            if int(held.entry_mac[j]) in macs:
                where = f"{switch.name} VLAN {held.entry_vlan[j]}"
                findings.append(Finding(where, "one port for a host's entry", "several"))
    return findings
