"""Turn what all switches of a live network report into cabling, hosts at edge ports, and the active spanning tree."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.observe import stations
from tagloom.observe.address_pages import NO_VLAN
from tagloom.observe.cabling import FABRIC_NAME, Cabling, cabling_of
from tagloom.observe.chassis import with_one_id_each
from tagloom.observe.interpret import interpret, no_switch, own_name_doubted
from tagloom.observe.models import model_of
from tagloom.platforms.port_names import port_name
from tagloom.records.network import ActiveTree, EdgePorts, ForeignVlan
from tagloom.records.switch_state import DEFAULT_VLAN, Membership
from tagloom.units import format_mac, is_host_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation
    from tagloom.records.snmp import Raw
    from tagloom.records.switch_state import FabricState, SwitchState

    Port = tuple[int, int]

MANY_ADDRESSES = 8  # more at one port are not taken for one host's
NAMED = 3  # addresses that a proposal names


def read_switches(
    answers: Mapping[str, Raw], model: str | None = None
) -> tuple[dict[str, Observation], dict[str, str], dict[str, str]]:
    """Return readings and models by switch, and why the others cannot be taken over."""
    read: dict[str, Observation] = {}
    seen: dict[str, Observation] = {}
    models: dict[str, str] = {}
    failed: dict[str, str] = {}
    owner: dict[str, str] = {}
    for name, raw in answers.items():
        known, unknown = ("", raw.error) if raw.error else model_of(raw, model)
        unknown = unknown or no_switch(raw, platforms.load(known))
        if not unknown:
            read[name], models[name] = interpret(name, raw, platforms.load(known)), known
        else:
            failed[name] = unknown
    for name, shown in with_one_id_each(read).items():
        if owner.setdefault(shown.chassis, name) != name:
            failed[name] = f"its agent is that of {owner[shown.chassis]} ({shown.chassis})"
            del models[name]
        else:
            seen[name] = replace(own_name_doubted(name, shown, answers.keys()), name=name)
    return seen, models, failed


def cabling_by_name(
    name: str, seen: Mapping[str, Observation], models: Mapping[str, str], addresses: Mapping[str, str]
) -> Cabling:
    """Return the cabling of switches called as the inventory calls them; hosts are not looked for."""
    by_chassis = {shown.chassis: switch for switch, shown in seen.items()}
    return cabling_of(
        name,
        {chassis: seen[switch] for chassis, switch in by_chassis.items()},
        {chassis: models[switch] for chassis, switch in by_chassis.items()},
        {chassis: addresses[switch] for chassis, switch in by_chassis.items()},
        with_hosts=False,
    )


def edge_ports(
    fabric: Fabric,
    state: FabricState,
    seen: Mapping[str, Observation],
    called: Mapping[int, str],
    described: Mapping[str, Mapping[int, str]],
) -> EdgePorts:
    """Return what is at the edge ports of switches: one host a port, with all its addresses.

    A host sends untagged into VLAN 1, or is at a port of tagloom's VLANs, where static entries name its addresses. It
    is named by LLDP, else by `called`, which maps addresses to names, else by what `described` has of its port by its
    switch's name, else by its switch and port. Ports in other VLANs alone are reserved. Nothing is guessed: a port with
    more than MANY_ADDRESSES, a switch behind it, or a port-channel is proposed as an uplink; an address at two ports is
    a finding.
    """
    at = {
        (fabric.index[name], port): macs
        for name, shown in seen.items()
        for port, macs in _addresses(state[name], shown).items()
        if fabric.port_channel[fabric.index[name], port] < 0
    }
    linked = {(s, p) for s, ports in enumerate(fabric.used_ports) for p in ports}
    places = Counter(mac for port, macs in at.items() if port not in linked for mac in macs)
    hosts: list[tuple[str, int, int, tuple[int, ...]]] = []
    uplinks: list[Finding] = []
    silent: list[str] = []
    reserved: list[Port] = []
    for s, port in _unlinked(fabric, state, at, linked):
        held, shown = state[fabric.switches[s].name], seen[fabric.switches[s].name]
        where, macs = port_name(fabric, s, port), tuple(at.get((s, port), ()))
        beside = stations.in_order(each for each in shown.neighbours if each.port == port)
        own, others = _vlans_at(held, port)
        up = any(each.number == port and each.oper_up for each in shown.ports)
        if own and (macs or any(each.bridge for each in beside)):
            if why := _way_out(fabric, s, port, macs, [each.name or each.chassis for each in beside if each.bridge]):
                uplinks.append(Finding(where, "one host", why))
            elif sure := tuple(mac for mac in macs if places[mac] == 1):
                names = [each.name for each in beside] + [called[mac] for mac in sure if mac in called]
                names += [described[fabric.switches[s].name].get(port, "")]
                hosts.append((next(filter(FABRIC_NAME.fullmatch, names), ""), s, port, sure))
        elif others:
            reserved.append((s, port))
        elif own and up:
            silent.append(where)
    twice = sorted(mac for mac, count in places.items() if count > 1)
    where_seen = {mac: [port_name(fabric, *port) for port, macs in at.items() if mac in macs] for mac in twice}
    findings = [Finding(format_mac(mac), "one port", " and ".join(ports)) for mac, ports in where_seen.items()]
    return EdgePorts(_named(fabric, hosts), tuple(uplinks), tuple(silent), tuple(reserved), tuple(findings))


def _addresses(held: SwitchState, shown: Observation) -> dict[int, list[int]]:
    """Return the addresses of hosts by port, ascending: learned in VLAN 1 or tagloom's, and of tagloom's entries.

    Addresses of a table that names no VLAN count too.
    """
    ours = {NO_VLAN, DEFAULT_VLAN, *held.owned_vlans}
    entries = zip(held.entry_vlan.tolist(), held.entry_mac.tolist(), held.entry_port.tolist(), strict=True)
    learned = ((vlan, mac, port) for (vlan, mac), port in (shown.vlans.learned or {}).items())
    named = {(port, mac) for vlan, mac, port in (*entries, *learned) if vlan in ours and is_host_address(mac)}
    at: dict[int, list[int]] = {}
    for port, mac in sorted(named):
        at.setdefault(port, []).append(mac)
    return at


def _unlinked(
    fabric: Fabric, state: FabricState, at: Mapping[Port, Sequence[int]], linked: set[Port]
) -> Iterator[Port]:
    """Yield the ports that no link takes: of each switch its physical ones that are open, and where addresses are."""
    for s, switch in enumerate(fabric.switches):
        held, physical = state[switch.name], platforms.load(switch.model).physical_ports
        for port in range(1, held.ports + 1):
            if (s, port) not in linked and (port <= physical or (s, port) in at) and held.enabled[port - 1]:
                yield s, port


def _vlans_at(held: SwitchState, port: int) -> tuple[bool, bool]:
    """Return whether a port is an untagged one of VLAN 1 or in tagloom's VLANs, and whether it is in any other."""
    column = held.membership[:, port - 1]
    ours = np.isin(held.vlans, held.owned_vlans)
    default = column[held.vlan_index[DEFAULT_VLAN]]
    own = default == Membership.UNTAGGED and held.pvid[port - 1] == DEFAULT_VLAN
    own |= (column[ours] != Membership.NONE).any()
    return bool(own), bool((column[~ours & (held.vlans != DEFAULT_VLAN)] != Membership.NONE).any())


def _way_out(fabric: Fabric, s: int, port: int, macs: Sequence[int], switches: Sequence[str]) -> str:
    """Return why a port does not lead to one host, "" if it may."""
    if switches:
        return f"the switch {switches[0]}, which is not in the inventory"
    if port > platforms.load(fabric.switches[s].model).physical_ports:
        return f"a port-channel with {len(macs)} addresses"
    if len(macs) > MANY_ADDRESSES:
        return f"{len(macs)} addresses, {', '.join(map(format_mac, macs[:NAMED]))} ..."
    return ""


def _named(
    fabric: Fabric, hosts: Sequence[tuple[str, int, int, tuple[int, ...]]]
) -> tuple[tuple[str, int, int, tuple[int, ...]], ...]:
    """Return hosts by names that a fabric file takes: those known if they are unique, else switch-port."""
    known = Counter(name for name, *_ in hosts)
    found = []
    for name, s, port, macs in hosts:
        place = re.sub(r"[^A-Za-z0-9._-]", "-", port_name(fabric, s, port))
        found.append((name if name and known[name] == 1 else place, s, port, macs))
    return tuple(found)


def active_tree(fabric: Fabric, state: FabricState, seen: Mapping[str, Observation]) -> ActiveTree | None:
    """Return the tree that switches report (BRIDGE-MIB); None if one that runs spanning tree does not report it."""
    running = [s for s, switch in enumerate(fabric.switches) if switch.up and _runs(fabric, state, s)]
    if not running:
        return ActiveTree()
    reported = {s: shown for s in running if (shown := seen[fabric.switches[s].name].spanning) is not None}
    if len(reported) < len(running):
        return None
    ends = fabric.port_channel >= 0
    blocked = tuple(sorted((s, p) for s, shown in reported.items() for p in shown.blocked if ends[s, p]))
    changing = [port_name(fabric, s, p) for s, shown in reported.items() for p in sorted(shown.changing) if ends[s, p]]
    findings = [
        Finding(where, "a port that forwards or is blocked", "one that listens or learns") for where in changing
    ]
    findings += [
        Finding(port_name(fabric, s, p), "spanning tree at a port that its agent calls blocked", "off, in its text")
        for s, p in blocked
        if not state[fabric.switches[s].name].port_spanning_tree[p - 1]
    ]
    roots = Counter(shown.root for shown in reported.values())
    if len(roots) > 1:
        findings.append(Finding("spanning tree", "one root", f"{len(roots)}: {', '.join(sorted(roots))}"))
    root = roots.most_common(1)[0][0]
    named = [fabric.switches[s].name for s, shown in reported.items() if shown.bridge == root]
    return ActiveTree(named[0] if named else "", blocked, findings=tuple(findings))


def _runs(fabric: Fabric, state: FabricState, s: int) -> bool:
    held = state[fabric.switches[s].name]
    ports = np.flatnonzero(fabric.port_channel[s, 1 : fabric.ports[s] + 1] >= 0)
    return bool(held.spanning_tree and held.port_spanning_tree[ports].any())


def foreign_vlans(fabric: Fabric, state: FabricState, vlans: Sequence[int]) -> tuple[ForeignVlan, ...]:
    """Return a summary of each VLAN that stays as it is."""
    found = []
    for vlan in vlans:
        inside: set[Port] = set()
        for s, switch in enumerate(fabric.switches):
            held = state[switch.name]
            if vlan in held.vlan_index:
                members = (held.membership[held.vlan_index[vlan]] != Membership.NONE) & held.enabled
                inside |= {(s, at + 1) for at in np.flatnonzero(members).tolist()}
        links = sum((x.a, x.a_port) in inside and (x.b, x.b_port) in inside for x in fabric.links)
        ports = sorted(end for end in inside if fabric.port_channel[end] < 0)
        names = {held.vlan_names[held.vlan_index[vlan]] for held in state.values() if vlan in held.vlan_index} - {""}
        said = ", ".join(sorted(names))
        found.append(ForeignVlan(vlan, said, tuple(port_name(fabric, *end) for end in ports), links))
    return tuple(found)
