"""The network as cabled: switches, hosts and links, as names for people and arrays for algorithms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import networkx as nx
    from numpy.typing import NDArray

DEFAULT_NETWORK = "default"  # of hosts that no network names, where there are several
DEFAULT_SPEED_MBPS = 1000  # if a link names no speed
# For hosts of unknown address: locally administered (IEEE 802-2014, 8.4.4.2), so no card has one.
FIRST_INVENTED_MAC, INVENTED_MACS = 0x0200_0000_0000, 1 << 24


@dataclass(frozen=True, slots=True)
class Shape:
    """The family a fabric was generated from, so that routing may use its regularity.

    With `lag`, the `parallel` cables between two neighbours are one aggregated link.
    """

    family: str
    dims: tuple[int, ...]
    parallel: int = 1
    hosts: int = 1
    lag: bool = False

    @property
    def parallel_links(self) -> int:
        """Count the links between two neighbours."""
        return 1 if self.lag else self.parallel


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch: its model, its coordinates in the family (or ()), and its management address.

    `firmware` lists differences from the model's default firmware, as (variable, choice) ascending. `up` is False for a
    dead switch: it stays in the cabling, but has no hosts, no link that is up and no configuration. `templates` are the
    operator's own, (path, text) ascending by path: they change how its lines are written, not what they do. `site`
    holds the values for the operator's site templates as a JSON mapping, "" for none. `rack` is where it is mounted, ""
    where nobody said.
    """

    name: str
    model: str
    at: tuple[int, ...] = ()
    address: str = ""
    up: bool = True
    firmware: tuple[tuple[str, str], ...] = ()
    templates: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    site: str = field(default="", compare=False)
    rack: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Host:
    """One host: its switch (index), its port number there, its MAC address.

    `also` are further addresses at the same port: of virtual machines, of a management controller beside the host. An
    `uplink` leads to addresses that nobody knows, and may have some that are known. A host with the address 0 is no
    destination of static entries: an uplink without, or a host that has none in `Fabric.by_further_addresses`.
    `network` names the host network it belongs to: only hosts of one network may reach each other. `former_network` is
    that of the other fabric, where one stands for what two have, as between the waves of a rollout; None for the same.
    `tag` is the VLAN id that its network's frames have at its port, 0 for none. A port that carries several networks
    has a host for each: the first of them bears the name, each other is `beside` it, as NAME@NETWORK. `prefixes` are
    those of addresses that come and go there, as of virtual machines: "52:54:00".
    """

    name: str
    switch: int
    port: int
    mac: int
    also: tuple[int, ...] = ()
    uplink: bool = False
    network: str = ""
    former_network: str | None = None
    tag: int = 0
    prefixes: tuple[str, ...] = ()

    @property
    def beside(self) -> bool:
        """Return whether another host of its port bears the name."""
        return "@" in self.name

    @property
    def networks(self) -> tuple[str, str]:
        """Return the networks it belongs to: the former one, and its own."""
        return (self.network if self.former_network is None else self.former_network), self.network

    @property
    def macs(self) -> tuple[int, ...]:
        """List all addresses at the port, the host's own first."""
        return (self.mac, *self.also) if self.mac else self.also

    def takes(self, mac: int) -> bool:
        """Return whether an address begins as those that come and go at the port."""
        return format_mac(mac).startswith(self.prefixes) if self.prefixes else False

    @property
    def invented(self) -> bool:
        """Return whether tagloom made up the MAC address."""
        return FIRST_INVENTED_MAC <= self.mac < FIRST_INVENTED_MAC + INVENTED_MACS


@dataclass(frozen=True, slots=True)
class Link:
    """One link between switches `a` and `b` (indices) at port numbers; speed_mbps 0 = the ports' best.

    `up` is what the operator wants, not what was measured. A `dead` link (never `up`) was found to carry nothing: its
    ports stay enabled, so that its return is noticed, and no VLAN is on them. `parallel_link` numbers the parallel
    links of one neighbour pair. `barred` are the networks that may not use it. A link is one cable, or several
    aggregated. If aggregated, `members` are the (port of a, port of b) of each cable, `a_port` and `b_port` the
    port-channels that bind them (IEEE 802.1AX), and the speed is that of one cable.
    """

    a: int
    a_port: int
    b: int
    b_port: int
    speed_mbps: int = 0
    up: bool = True
    parallel_link: int = 0
    members: tuple[tuple[int, int], ...] = ()
    dead: bool = False
    barred: tuple[str, ...] = ()

    @property
    def cables(self) -> tuple[tuple[int, int], ...]:
        """Return the cables as (port of a, port of b)."""
        return self.members or ((self.a_port, self.b_port),)

    def port_at(self, switch: int) -> int:
        """Return its port at one of its two switches."""
        return self.a_port if self.a == switch else self.b_port

    def capacity_mbps(self, best: int = DEFAULT_SPEED_MBPS) -> int:
        """Return the capacity of all cables together in each direction; `best` is the ports' best speed."""
        return (self.speed_mbps or best) * len(self.cables)


@dataclass(frozen=True, slots=True)
class Management:
    """In-band management: the switches are managed over the fabric's own links.

    vlan          the VLAN of the switches' own addresses; tagloom neither makes nor changes it
    switch, port  where the machine that runs tagloom is plugged in
    links         indices of the links that carry the VLAN tagged, a tree of all switches that are up
    """

    vlan: int
    switch: int
    port: int
    links: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Fabric:
    """A whole network.

    With N switches, H hosts, L links: channel 2i runs along link i from a to b, channel 2i + 1 back (C = 2L). Arrays
    are made on first use and never change.

    ports           the number of ports of each switch's model
    first_vlan      the lowest VLAN id a plan may use
    flow_control    IEEE 802.3x PAUSE on all fabric ports
    eee             IEEE 802.3az sleep on all ports that can; None = the models' default
    management      None if every switch is managed by a port outside the fabric
    reserved        ports, as (switch, port) ascending, that no host and no link may take
    returned_ports  the state of ports that a rollout gives back: isolated (up, in no VLAN), shut, or factory
    spanning_tree   where it runs: off (on no port), or outside (on all ports but the fabric's)
    renamed         switches that had another name, as (former name, name)
    routings        networks that have a routing of their own, as (network, routing) ascending
    tags            networks in a VLAN whose id is given, as (network, VLAN) ascending
    """

    name: str
    switches: tuple[Switch, ...]
    hosts: tuple[Host, ...]
    links: tuple[Link, ...]
    ports: tuple[int, ...]
    shape: Shape | None = None
    first_vlan: int = 100
    flow_control: bool = False
    eee: bool | None = None
    management: Management | None = None
    reserved: tuple[tuple[int, int], ...] = ()
    returned_ports: str = "isolated"
    spanning_tree: str = "off"
    renamed: tuple[tuple[str, str], ...] = ()
    routings: tuple[tuple[str, str], ...] = ()
    tags: tuple[tuple[str, int], ...] = ()

    @cached_property
    def index(self) -> dict[str, int]:
        """Return each switch's index by its name."""
        return {switch.name: i for i, switch in enumerate(self.switches)}

    @cached_property
    def tail(self) -> NDArray[np.int32]:
        """Return the switch each channel leaves, int32[C]."""
        return _interleave([link.a for link in self.links], [link.b for link in self.links])

    @cached_property
    def head(self) -> NDArray[np.int32]:
        """Return the switch each channel enters, int32[C]."""
        return _interleave([link.b for link in self.links], [link.a for link in self.links])

    @cached_property
    def tail_port(self) -> NDArray[np.int32]:
        """Return the port number each channel leaves by, int32[C]."""
        return _interleave([link.a_port for link in self.links], [link.b_port for link in self.links])

    @cached_property
    def head_port(self) -> NDArray[np.int32]:
        """Return the port number each channel enters by, int32[C]."""
        return _interleave([link.b_port for link in self.links], [link.a_port for link in self.links])

    @cached_property
    def cables(self) -> NDArray[np.int32]:
        """Return every cable as (link, switch a, port of a, switch b, port of b), int32[X, 5], ascending by link."""
        rows = [(i, x.a, p, x.b, q) for i, x in enumerate(self.links) for p, q in x.cables]
        return np.array(rows, np.int32).reshape(len(rows), 5)

    @cached_property
    def aggregated(self) -> NDArray[np.bool_]:
        """Return which links are several cables bound to a port-channel at each end, bool[L]."""
        return np.array([bool(link.members) for link in self.links], np.bool_)

    @cached_property
    def channel_up(self) -> NDArray[np.bool_]:
        """Return which channels the operator wants up, bool[C]."""
        return np.repeat(np.array([link.up for link in self.links], np.bool_), 2)

    @cached_property
    def parallel_link(self) -> NDArray[np.int32]:
        """Return each channel's number among the parallel channels of its neighbour pair, int32[C]."""
        return np.repeat(np.array([link.parallel_link for link in self.links], np.int32), 2)

    @cached_property
    def points(self) -> NDArray[np.int64]:
        """Return every switch's coordinates in the family, int64[N, n]; n = 0 if their dimensions differ."""
        dims = {len(switch.at) for switch in self.switches}
        width = dims.pop() if len(dims) == 1 else 0
        return np.array([switch.at[:width] for switch in self.switches], np.int64).reshape(len(self.switches), width)

    @cached_property
    def port_channel(self) -> NDArray[np.int32]:
        """Return the channel that leaves by [switch, port number], -1 if there is none, int32[N, ports + 1]."""
        table = np.full((len(self.switches), max(self.ports, default=0) + 1), -1, np.int32)
        table[self.tail, self.tail_port] = np.arange(len(self.tail))
        return table

    @cached_property
    def port_host(self) -> NDArray[np.int32]:
        """Return the host at [switch, port number], of several the first, -1 for none, int32[N, ports + 1]."""
        table = np.full((len(self.switches), max(self.ports, default=0) + 1), -1, np.int32)
        _, first = np.unique(self.host_switch * np.int64(table.shape[1]) + self.host_port, return_index=True)
        table[self.host_switch[first], self.host_port[first]] = first
        return table

    @cached_property
    def host_link(self) -> NDArray[np.int32]:
        """Return the host that stands for each host's link: itself, or the first of several at its port, int32[H]."""
        return self.port_host[self.host_switch, self.host_port]

    @property
    def one_host_a_port(self) -> Fabric:
        """Return the fabric without hosts beside others of their ports: a port's addresses are those of one."""
        return replace(self, hosts=tuple(h for h in self.hosts if not h.beside)) if self.tagged_hosts else self

    @cached_property
    def tagged_hosts(self) -> dict[tuple[int, int], dict[int, int]]:
        """Map each (switch, port) that carries some network tagged to its hosts, by their tags, 0 for none."""
        places = {(host.switch, host.port) for host in self.hosts if host.tag}
        found: dict[tuple[int, int], dict[int, int]] = {place: {} for place in places}
        for h, host in enumerate(self.hosts):
            if (place := (host.switch, host.port)) in places:
                found[place][host.tag] = h
        return found

    @cached_property
    def host_switch(self) -> NDArray[np.int32]:
        """Return each host's switch, int32[H]."""
        return np.array([host.switch for host in self.hosts], np.int32)

    @cached_property
    def host_port(self) -> NDArray[np.int32]:
        """Return each host's port number, int32[H]."""
        return np.array([host.port for host in self.hosts], np.int32)

    @cached_property
    def host_tag(self) -> NDArray[np.int32]:
        """Return the VLAN id of each host's frames at its port, 0 for untagged ones, int32[H]."""
        return np.array([host.tag for host in self.hosts], np.int32)

    @cached_property
    def host_mac(self) -> NDArray[np.uint64]:
        """Return each host's own MAC address, uint64[H]."""
        return np.array([host.mac for host in self.hosts], np.uint64)

    @cached_property
    def host_of_mac(self) -> dict[int, int]:
        """Map every address at a host's port to the host."""
        return {mac: h for h, host in enumerate(self.hosts) for mac in host.macs}

    @cached_property
    def uplinks(self) -> NDArray[np.int64]:
        """Return the hosts that are uplinks, int64[U]."""
        return np.flatnonzero(np.array([host.uplink for host in self.hosts], np.bool_))

    @cached_property
    def networks(self) -> dict[str, NDArray[np.int64]]:
        """Return the hosts of each host network, int64, by its name: ascending, that of unnamed hosts last.

        Hosts that had other networks, as "former -> network", are no network with those that did not.
        """
        both = {host.networks for host in self.hosts} or {("", "")}
        order = sorted(both, key=lambda names: (names[1] == DEFAULT_NETWORK, names[::-1]))
        number = {names: i for i, names in enumerate(order)}
        of_host = np.array([number[host.networks] for host in self.hosts], np.int64)
        words = [network if former == network else f"{former} -> {network}" for former, network in order]
        return {word: np.flatnonzero(of_host == i) for i, word in enumerate(words)}

    @cached_property
    def isolated_networks(self) -> NDArray[np.bool_]:
        """Return which two of `networks` may exchange no frame, bool[n, n]: those that are two, and were."""
        names = [self.hosts[mine[0]].networks if len(mine) else ("", "") for mine in self.networks.values()]
        former, own = (np.array(column) for column in zip(*names, strict=True))
        isolated: NDArray[np.bool_] = (former[:, None] != former) & (own[:, None] != own)
        return isolated

    @property
    def pairs(self) -> int:
        """Return the number of ordered pairs of hosts of one network."""
        return sum(len(hosts) * (len(hosts) - 1) for hosts in self.networks.values())

    @cached_property
    def within_networks(self) -> NDArray[np.float64] | None:
        """Return 1 for each ordered pair of hosts of one network, 0 for others, float64[H, H]; None if there is one."""
        if len(self.networks) < 2:
            return None
        pairs = np.zeros((len(self.hosts), len(self.hosts)))
        for hosts in self.networks.values():
            pairs[np.ix_(hosts, hosts)] = 1.0
        np.fill_diagonal(pairs, 0.0)
        return pairs

    @cached_property
    def same_network(self) -> NDArray[np.bool_]:
        """Return which ordered pairs of different hosts are of one network, bool[H, H]."""
        within = self.within_networks
        return ~np.eye(len(self.hosts), dtype=np.bool_) if within is None else within > 0

    @cached_property
    def by_network(self) -> tuple[Fabric, ...]:
        """Return the fabric with the hosts of each network alone, as `networks` has them; itself if there is one."""
        if len(self.networks) < 2:
            return (self,)
        return tuple(
            replace(self, hosts=tuple(self.hosts[h] for h in mine.tolist())) for mine in self.networks.values()
        )

    @cached_property
    def barred(self) -> dict[str, NDArray[np.bool_]]:
        """Return the links that each network may not use, bool[L], of networks that there is one for."""
        names = sorted({name for link in self.links for name in link.barred}.intersection(self.networks))
        return {name: np.array([name in link.barred for link in self.links], np.bool_) for name in names}

    @property
    def own_ways(self) -> bool:
        """Return whether some network has a routing of its own, or may not use some link."""
        return bool(self.routings or self.barred)

    @cached_property
    def also(self) -> dict[int, tuple[int, ...]]:
        """Map the own address of each host that has several to the others."""
        return {host.mac: host.also for host in self.hosts if host.also}

    @cached_property
    def by_further_addresses(self) -> tuple[Fabric, ...]:
        """Return a fabric for each of the hosts' second, third ... addresses, which have static entries of their own.

        Each has one address per host, which the host's name includes; 0 if the host has no more.
        """
        most = max((len(host.also) for host in self.hosts), default=0)
        return tuple(
            replace(self, hosts=tuple(_known_by(host, *host.also[i : i + 1]) for host in self.hosts))
            for i in range(most)
        )

    @cached_property
    def used_ports(self) -> tuple[tuple[int, ...], ...]:
        """Return per switch the port numbers with a host or a link: the only ports tagloom ever configures.

        An aggregated link counts with its port-channel and its members. A dead switch has none.
        """
        used: list[set[int]] = [set() for _ in self.switches]
        for link in self.links:
            used[link.a].update((link.a_port, *(a for a, _ in link.members)))
            used[link.b].update((link.b_port, *(b for _, b in link.members)))
        for host in self.hosts:
            used[host.switch].add(host.port)
        return tuple(
            tuple(sorted(ports)) if switch.up else () for switch, ports in zip(self.switches, used, strict=True)
        )

    @cached_property
    def live(self) -> tuple[Switch, ...]:
        """Return the switches that are not dead: those that are configured."""
        return tuple(switch for switch in self.switches if switch.up)

    def reached(self, start: int) -> NDArray[np.bool_]:
        """Return which switches are connected to switch `start` by links that are up, bool[N]."""
        tail, head = self.tail[self.channel_up], self.head[self.channel_up]
        reached = np.zeros(len(self.switches), np.bool_)
        reached[start] = True
        while np.any(grown := reached[tail] & ~reached[head]):
            reached[head[grown]] = True
        return reached

    @cached_property
    def apart(self) -> tuple[int, ...]:
        """Return the switches with hosts that no links that are up connect to the first host's switch.

        Without hosts, return the live switches that are not connected to the first of them. A switch without hosts may
        be cut off: no frame is addressed to it.
        """
        ends = np.unique(self.host_switch).tolist() or [i for i, switch in enumerate(self.switches) if switch.up]
        return tuple(s for s in ends if not self.joined[s])

    @cached_property
    def joined(self) -> NDArray[np.bool_]:
        """Return the switches that links that are up connect to the first host's, else the first live one, bool[N]."""
        live = (i for i, switch in enumerate(self.switches) if switch.up)
        start = min((host.switch for host in self.hosts), default=next(live, None))
        return np.zeros(len(self.switches), np.bool_) if start is None else self.reached(start)

    @property
    def graph(self) -> nx.MultiGraph[Any]:
        """Return the switches and links as a networkx multigraph; nodes are names, edge keys link indices."""
        import networkx as nx  # noqa: PLC0415 - a third of a second that most commands need not spend

        graph: nx.MultiGraph[Any] = nx.MultiGraph(name=self.name)
        for switch in self.switches:
            graph.add_node(switch.name, model=switch.model, at=switch.at)
        for i, link in enumerate(self.links):
            graph.add_edge(self.switches[link.a].name, self.switches[link.b].name, key=i, up=link.up)
        return graph

    def with_links_down(self, down: Collection[int]) -> Fabric:
        """Return the fabric with the links of these indices also wanted down."""
        links = tuple(replace(link, up=link.up and i not in down) for i, link in enumerate(self.links))
        return replace(self, links=links)

    def with_speeds(self, speed_mbps: Mapping[int, int]) -> Fabric:
        """Return the fabric with the links of these indices at other speeds, in Mb/s."""
        links = tuple(replace(link, speed_mbps=speed_mbps.get(i, link.speed_mbps)) for i, link in enumerate(self.links))
        return replace(self, links=links)

    def with_links_alike(self) -> Fabric:
        """Return the fabric with links of one capacity, 1 Gb/s, for what counts the same on a link of any speed."""
        links = tuple(replace(link, speed_mbps=DEFAULT_SPEED_MBPS, members=()) for link in self.links)
        return replace(self, links=links)

    @property
    def templates(self) -> tuple[tuple[str, str], ...]:
        """Return the operator's own templates, by which all switches are written."""
        return self.switches[0].templates if self.switches else ()

    def with_templates(self, templates: tuple[tuple[str, str], ...]) -> Fabric:
        """Return the fabric with an operator's own templates."""
        if templates == self.templates:
            return self
        return replace(self, switches=tuple(replace(switch, templates=templates) for switch in self.switches))

    def with_links_up(self) -> Fabric:
        """Return the fabric with every link wanted up unless it is dead or an end switch is."""
        alive = [switch.up for switch in self.switches]
        links = (replace(link, up=alive[link.a] and alive[link.b] and not link.dead) for link in self.links)
        return replace(self, links=tuple(links))

    def with_links_dead(self, dead: Collection[int]) -> Fabric:
        """Return the fabric with the links of these indices also dead."""
        links = (replace(link, up=False, dead=True) if i in dead else link for i, link in enumerate(self.links))
        return replace(self, links=tuple(links))

    def with_live(self, names: Collection[str]) -> Fabric:
        """Return the fabric with these of its live switches alone live, by name; all links and hosts stay."""
        return replace(self, switches=tuple(replace(each, up=each.up and each.name in names) for each in self.switches))

    def with_switches_down(self, dead: Collection[int]) -> Fabric:
        """Return the fabric with the switches of these indices dead: their links are down, their hosts removed."""
        return replace(
            self.with_links_down({i for i, link in enumerate(self.links) if link.a in dead or link.b in dead}),
            switches=tuple(replace(switch, up=switch.up and i not in dead) for i, switch in enumerate(self.switches)),
            hosts=tuple(host for host in self.hosts if host.switch not in dead),
        )


def _known_by(host: Host, mac: int = 0) -> Host:
    return replace(host, name=f"{host.name} ({format_mac(mac)})" if mac else host.name, mac=mac, also=(), uplink=False)


def _interleave(first: list[int], second: list[int]) -> NDArray[np.int32]:
    both = np.empty(2 * len(first), np.int32)
    both[0::2], both[1::2] = first, second
    return both
