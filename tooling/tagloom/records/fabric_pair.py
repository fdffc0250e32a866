"""Compare two fabrics part by part: what both have, what is removed, what is added."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tagloom.records.fabric import DEFAULT_NETWORK
from tagloom.units import number_of

Place = tuple[str, int]  # a switch's name and a port number
Member = tuple[str, int, int]  # and the tag of its frames there, 0 for none: a port may carry several networks
TransientTag = tuple[str, int, int, str]  # and the network that such frames are of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tagloom.records.fabric import Fabric, Host, Link, Management

    Ends = frozenset[tuple[str, int, tuple[int, ...]]]


@dataclass(frozen=True, eq=False)
class FabricPair:
    """Two fabrics, and which parts of one are the same in the other.

    A switch is the same if name and model are, a link if both its ends are. A host is the same if its port is, and one
    of its addresses or its name: with another address it has a new card, where no other host has its old one or had
    its new one. A host that moved to another port is removed
    from one and added to the other. Of uplinks the port alone counts. Of a port that carries several networks each is a
    host of its own, by its tag.
    """

    old: Fabric
    new: Fabric

    @cached_property
    def switches(self) -> frozenset[str]:
        """Return the names of the switches that both have."""
        models = {switch.name: switch.model for switch in self.old.live}
        return frozenset(switch.name for switch in self.new.live if models.get(switch.name) == switch.model)

    @cached_property
    def gone(self) -> tuple[str, ...]:
        """Return the names of the switches that only the old fabric has."""
        return tuple(switch.name for switch in self.old.live if switch.name not in self.switches)

    @cached_property
    def come(self) -> tuple[str, ...]:
        """Return the names of the switches that only the new fabric has."""
        return tuple(switch.name for switch in self.new.live if switch.name not in self.switches)

    @cached_property
    def hosts(self) -> dict[Member, tuple[Host, Host]]:
        """Map the port and tag of each host that both have to its old and its new record."""
        here, there = hosts_by_member(self.old), hosts_by_member(self.new)
        known = self.old.host_of_mac.keys(), self.new.host_of_mac.keys()
        return {
            place: (here[place], host)
            for place, host in there.items()
            if place in here
            and place[0] in self.switches
            and here[place].uplink == host.uplink
            and (
                host.uplink
                or not set(here[place].macs).isdisjoint(host.macs)
                or (
                    _machine(here[place]) == _machine(host)
                    and known[0].isdisjoint(host.macs)
                    and known[1].isdisjoint(here[place].macs)
                )
            )
        }

    @cached_property
    def links(self) -> frozenset[Ends]:
        """Return the links that both have, by their ends."""
        return frozenset(link_ends(self.old)) & frozenset(link_ends(self.new))

    @cached_property
    def same_cabling(self) -> bool:
        """Return whether hosts, links and switches are the same, whatever their order and the hosts' names."""
        return (
            not self.gone
            and not self.come
            and len(self.hosts) == len(self.old.hosts) == len(self.new.hosts)
            and not self.readdressed
            and not self.in_other_networks
            and len(self.links) == len(self.old.links) == len(self.new.links)
        )

    @property
    def readdressed(self) -> int:
        """Count the hosts of both that have not the same addresses in each."""
        return sum(set(was.macs) != set(known.macs) for was, known in self.hosts.values())

    @property
    def pairs(self) -> int:
        """Return the number of ordered pairs of hosts that both have, in one network in each."""
        sizes = Counter((was.network, known.network) for was, known in self.hosts.values())
        return sum(size * (size - 1) for size in sizes.values())

    @property
    def in_other_networks(self) -> int:
        """Count the hosts of both that have not the same network in each."""
        return sum(was.network != known.network for was, known in self.hosts.values())

    @cached_property
    def difference(self) -> str:
        """Return the counts of what was added, removed and changed, in words."""
        here, there = hosts_by_member(self.old), hosts_by_member(self.new)
        counts = (
            (len(self.come), "switch", "added"),
            (len(self.gone), "switch", "removed"),
            (len(set(link_ends(self.new)) - self.links), "link", "added"),
            (len(set(link_ends(self.old)) - self.links), "link", "removed"),
            (len(there.keys() - self.hosts.keys()), "host", "added"),
            (len(here.keys() - self.hosts.keys()), "host", "removed"),
            (self.readdressed, "address", "changed"),
            (self.in_other_networks, "host", "moved to another network"),
        )
        return ", ".join(f"{number_of(n, what)} {how}" for n, what, how in counts if n) or "nothing differs"

    def ports_of_links(self, fabric: Fabric) -> dict[str, set[int]]:
        """Return by switch the ports of links that only `fabric`, one of the two, has."""
        found: dict[str, set[int]] = {}
        for ends in link_ends(fabric):
            for name, port, members in ends if ends not in self.links else ():
                found.setdefault(name, set()).update((port, *members))
        return found

    def ports_of_hosts(self, fabric: Fabric) -> dict[str, set[int]]:
        """Return by switch the ports of hosts that only `fabric`, one of the two, has."""
        found: dict[str, set[int]] = {}
        stay = {place[:2] for place in self.hosts}
        for name, port in {place[:2] for place in hosts_by_member(fabric)} - stay:
            found.setdefault(name, set()).add(port)
        return found

    def carried_alone(self, fabric: Fabric) -> frozenset[Member]:
        """Return what only `fabric`, one of the two, carries at ports that carry something in both."""
        stay = {place[:2] for place in self.hosts}
        return frozenset(m for m in hosts_by_member(fabric) if m not in self.hosts and m[:2] in stay)

    @cached_property
    def contended(self) -> dict[str, set[int]]:
        """Return by switch the ports that both a removed and an added link need."""
        going, coming = self.ports_of_links(self.old), self.ports_of_links(self.new)
        both = {name: going[name] & coming.get(name, set()) for name in going if name in self.switches}
        return {name: ports for name, ports in both.items() if ports}

    def united(self, *, new_addresses: bool) -> Fabric:
        """Return a fabric of all switches and links of both, and of the hosts that both have.

        The new fabric's switches and links keep their indices. Raises ValueError if links contend for a port.
        """
        if self.contended:
            raise ValueError(f"links contend for ports of {', '.join(sorted(self.contended))}")
        old, new = self.old, self.new
        lost = [switch for switch in old.switches if switch.name not in new.index]
        index = {switch.name: s for s, switch in enumerate((*new.switches, *lost))}
        ports = (*new.ports, *(old.ports[old.index[switch.name]] for switch in lost))
        hosts = tuple(
            replace(
                known if new_addresses else was,
                name=known.name,
                switch=index[name],
                port=port,
                **_networks_of_both(was, known),
            )
            for (name, port, _), (was, known) in self.hosts.items()
        )
        moved = tuple(
            _moved(old, link, index)
            for ends, link in zip(link_ends(old), old.links, strict=True)
            if ends not in self.links
        )
        return replace(
            new,
            switches=(*new.switches, *lost),
            ports=ports,
            hosts=hosts,
            links=(*new.links, *moved),
            shape=None,
            reserved=(),
        )


def alike(a: Fabric, b: Fabric) -> bool:
    """Return whether two fabrics have the same cabling in the same order, whatever the wanted state of their links."""
    return (
        a.ports == b.ports
        and [(s.name, s.model, s.up) for s in a.switches] == [(s.name, s.model, s.up) for s in b.switches]
        and [(h.switch, h.port, h.macs, h.uplink, h.network, h.tag) for h in a.hosts]
        == [(h.switch, h.port, h.macs, h.uplink, h.network, h.tag) for h in b.hosts]
        and [(x.a, x.a_port, x.b, x.b_port, x.members) for x in a.links]
        == [(x.a, x.a_port, x.b, x.b_port, x.members) for x in b.links]
    )


def shared_part(one: Fabric, other: Fabric) -> tuple[Fabric, frozenset[Place], frozenset[TransientTag]]:
    """Return the part that two fabrics share, its transient ports, of hosts that only one has, and its transient tags.

    A host is the same if its port and an address are, and its tag there; it keeps the addresses that both have, and its
    network in each. `one` supplies names, order and everything that is not compared. A transient tag is of a host that
    only one has where the port has another in both, or of frames with a tag at a transient port.
    """
    both = FabricPair(one, other)
    kept = [s for s, switch in enumerate(one.switches) if switch.name in both.switches]
    index = {one.switches[s].name: i for i, s in enumerate(kept)}
    there = hosts_by_member(other)
    stay = [
        replace(host, mac=macs[0] if macs else 0, also=macs[1:], **_networks_of_both(host, same))
        for host in one.hosts
        if (name := one.switches[host.switch].name) in index
        and (same := there.get((name, host.port, host.tag))) is not None
        and same.uplink == host.uplink
        and ((macs := tuple(mac for mac in host.macs if mac in same.macs)) or host.uplink)
    ]
    at = [i for i, ends in enumerate(link_ends(one)) if ends in both.links and all(end[0] in index for end in ends)]
    links = tuple(_moved(one, one.links[i], index) for i in at)
    part = replace(
        one,
        switches=tuple(one.switches[s] for s in kept),
        ports=tuple(one.ports[s] for s in kept),
        hosts=tuple(replace(host, switch=index[one.switches[host.switch].name]) for host in stay),
        links=links,
        shape=None,
        reserved=(),
        management=_remade(one, index, {link: i for i, link in enumerate(at)}),
    )
    used = [set(ports) for ports in part.used_ports]
    shared = hosts_by_member(part)
    lone = [
        (member, host)
        for fabric in (one, other)
        for member, host in hosts_by_member(fabric).items()
        if member[0] in index and member not in shared
    ]
    ports = {member[:2] for member, _ in lone if member[1] not in used[index[member[0]]]}
    stays = {member[:2] for member in shared}
    tags = {(*m, host.network) for m, host in lone if m[:2] in stays or (host.tag and m[:2] in ports)}
    return part, frozenset(ports), frozenset(tags)


def _networks_of_both(one: Host, other: Host) -> dict[str, Any]:
    """Return a host's networks in what two fabrics share; without networks in one of them, all hosts are of one."""
    if one.network == other.network or one.former_network is not None:
        return {"network": one.network, "former_network": one.former_network}
    former, network = (host.network or DEFAULT_NETWORK for host in (one, other))
    return {"network": network, "former_network": former}


def _remade(fabric: Fabric, index: dict[str, int], links: dict[int, int]) -> Management | None:
    management = fabric.management
    if management is None or not links.keys() >= set(management.links):
        return None
    return replace(
        management,
        switch=index[fabric.switches[management.switch].name],
        links=tuple(links[i] for i in management.links),
    )


def hosts_by_member(fabric: Fabric) -> dict[Member, Host]:
    """Return each host by its switch's name, its port number and its tag there."""
    return {(fabric.switches[host.switch].name, host.port, host.tag): host for host in fabric.hosts}


def without_members(fabric: Fabric, gone: Collection[Member]) -> Fabric:
    """Return a fabric without hosts; where one that is left bears no port's name, it gets that of its port."""
    left = [host for host in fabric.hosts if (fabric.switches[host.switch].name, host.port, host.tag) not in gone]
    named = {(host.switch, host.port) for host in left if not host.beside}
    hosts: list[Host] = []
    for host in left:
        first = (host.switch, host.port) not in named
        named.add((host.switch, host.port))
        hosts.append(replace(host, name=_machine(host)) if first else host)
    order = sorted(hosts, key=lambda host: host.beside)  # as fabric files are read
    return replace(fabric, hosts=tuple(order), shape=None)


def _machine(host: Host) -> str:
    """Return the name of what is plugged in at a host's port."""
    return host.name.partition("@")[0]


def link_ends(fabric: Fabric) -> list[Ends]:
    """Return the two ends of each link, in the fabric's order: (switch, port, member ports)."""
    return [
        frozenset(
            {
                (fabric.switches[link.a].name, link.a_port, tuple(a for a, _ in link.members)),
                (fabric.switches[link.b].name, link.b_port, tuple(b for _, b in link.members)),
            }
        )
        for link in fabric.links
    ]


def _moved(fabric: Fabric, link: Link, index: dict[str, int]) -> Link:
    return replace(link, a=index[fabric.switches[link.a].name], b=index[fabric.switches[link.b].name])


def owned_ports(fabrics: Iterable[Fabric], switch: str) -> tuple[int, ...]:
    """Return the ports of a switch that carry a host or a link in any of `fabrics`, ascending."""
    ports: set[int] = set()
    for fabric in fabrics:
        if (s := fabric.index.get(switch)) is not None:
            ports.update(fabric.used_ports[s])
    return tuple(sorted(ports))
