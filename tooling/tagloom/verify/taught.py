"""Prove switches without static entries, which learn where hosts are from tagged broadcasts (Koibuchi et al., 3.3)."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.records.switch_state import Frames, Membership, SwitchEditor
from tagloom.verify.prove import Plan, verify

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.switch_state import FabricState

_Entry = tuple[int, int]  # VLAN, MAC address


def taught(fabric: Fabric, state: FabricState) -> tuple[FabricState, list[Finding]]:
    """Return the states with what switches learn as entries, once every host has sent a broadcast in each of its VLANs.

    A broadcast that a host tags leaves by all ports of its VLAN that flood, and each switch learns the sender at the
    port where it arrives (IEEE 802.1Q-2018, 8.7). The order in which hosts send makes no difference, as no switch hears
    a host at two ports; one that does is a finding.
    """
    editors = {name: SwitchEditor.of(held) for name, held in state.items()}
    learned: dict[tuple[str, _Entry], int] = {}
    moved: dict[str, Finding] = {}
    far = {}
    for link in fabric.links:
        for p, q in link.cables if link.up else ():
            one, other = (  # of a port-channel, the port that speaks for its cables
                (s, int(state[fabric.switches[s].name].lag[port - 1]) or port) for s, port in ((link.a, p), (link.b, q))
            )
            far[one], far[other] = other, one
    for host in fabric.hosts:
        for vlan in state[fabric.switches[host.switch].name].owned_vlans:
            queue = deque([(host.switch, host.port, vlan)])
            seen = {(host.switch, host.port, vlan)}
            while queue:
                switch, port, tag = queue.popleft()
                name = fabric.switches[switch].name
                editor = editors[name]
                members = editor.members.get(tag, {})
                refused = editor.frames[port - 1] == Frames.UNTAGGED_ONLY
                if not editor.enabled[port - 1] or refused or members.get(port, Membership.NONE) == Membership.NONE:
                    continue
                for mac in host.macs if editor.learning[port - 1] else ():
                    if learned.setdefault((name, (tag, mac)), port) != port:
                        moved[name] = Finding(name, f"host {host.name} heard at one port", f"two, in VLAN {tag}")
                for out, how in members.items():
                    there = far.get((switch, out))
                    floods = editor.flooding[out - 1] and how == Membership.TAGGED
                    if out != port and there is not None and floods and (*there, tag) not in seen:
                        seen.add((*there, tag))
                        queue.append((*there, tag))
    for (name, entry), port in learned.items():
        editors[name].entries.setdefault(entry, (port,))
    return {name: editor.freeze() for name, editor in editors.items()}, list(moved.values())


def verify_taught(fabric: Fabric, state: FabricState, plan: Plan) -> Findings:
    """Prove switches that learn, before hosts have taught them anything and once all have.

    Before, every frame takes its whole VLAN, so each must bring one copy to its receiver, without a storm or a cycle.
    After, every frame must take its own path, by what was learned. In between a frame takes parts of its VLAN's tree:
    what was learned leads along the tree towards the receiver. No text says when hosts send, nor that switches keep
    what they have learned: for both the proof depends on the hosts (`learned_entries_max`).
    """
    known, moved = taught(fabric, state)
    after, before = verify(fabric, known, plan), verify(fabric, state, replace(plan, routes=None, learning=True))
    for switch in fabric.live:
        platform, entries = platforms.of(switch), len(known[switch.name].entry_vlan)
        if entries > platform.mac_table:
            moved.append(Finding(switch.name, f"at most {platform.mac_table} MAC addresses", f"{entries} learned"))
    more = [finding for finding in before.findings if finding not in after.findings]
    return replace(
        after,
        reachable_pairs=min(before.reachable_pairs, after.reachable_pairs),
        storm_free=before.storm_free and after.storm_free,
        deadlock_free=before.deadlock_free and after.deadlock_free,
        deadlock_cycle=after.deadlock_cycle or before.deadlock_cycle,
        channel_rank=before.channel_rank if before.deadlock_free and after.deadlock_free else None,
        broadcast_exactly_once=before.broadcast_exactly_once and after.broadcast_exactly_once,
        findings=(*moved, *after.findings, *more),
        fdb_entries_max=before.fdb_entries_max,
        learned_entries_max=after.fdb_entries_max - before.fdb_entries_max,
    )
