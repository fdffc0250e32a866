"""Draw a story by chance: a small fabric, and what becomes of it one event after another."""

import random
from dataclasses import dataclass, replace

import networkx as nx

from fabrics import make_fabric, make_irregular, random_step
from tagloom import platforms
from tagloom.records.fabric import Fabric, Host

FAMILIES = [
    ("ring", (4,), 1),
    ("ring", (5,), 2),
    ("ring", (6,), 1),
    ("mesh", (2, 2), 2),
    ("mesh", (3, 2), 1),
    ("mesh", (4, 2), 1),
    ("complete", (4,), 1),
    ("complete", (5,), 1),
    ("clos", (2, 3), 1),
    ("torus", (3, 2), 1),
    ("tree", (2, 2), 1),
    ("hypercube", (3,), 1),
]
MODELS = [("powerconnect-5324",)] * 8 + [("powerconnect-6224",)] * 5 + [("linux-bridge",)] * 3
MODELS += [("powerconnect-5324", "powerconnect-6224")] * 3 + [("powerconnect-6224", "linux-bridge")]
KINDS = ["change"] * 6 + ["cable"] * 3 + ["switch"] * 3 + ["slip", "interrupted", "interrupted"]
TRIES = 30


@dataclass(frozen=True)
class Event:
    """What happens: `kind`, the fabric that is wanted from then on, what changes in it, and its own seed."""

    kind: str
    fabric: Fabric
    steps: tuple[str, ...]
    seed: int


@dataclass(frozen=True)
class Story:
    """A fabric with addresses that name its boxes, what happens to it, and whether VLANs of others are on it first."""

    seed: int
    fabric: Fabric
    events: tuple[Event, ...]
    foreign: bool


def drawn(seed):
    """Return the story of a seed."""
    chance = random.Random(seed)
    fabric = boxed(a_fabric(chance), {}, chance)
    every, events, here = [fabric], [], fabric
    for _ in range(chance.randint(2, 3)):
        kind, steps = chance.choice(KINDS), ()
        if kind in ("change", "interrupted"):
            here, steps = changed(chance, every)
            every.append(here)
        events.append(Event(kind, here, steps, chance.randrange(1 << 30)))
    return Story(seed, fabric, tuple(events), chance.random() < 0.15)


def a_fabric(chance):
    """Return a fabric of four to eight switches of some families, by its name or of links by chance."""
    models = chance.choice(MODELS)
    if chance.random() < 0.6:
        family, dims, parallel = chance.choice(FAMILIES)
        fabric = make_fabric(family, *dims, parallel=parallel, model=models[0])
    else:
        count = chance.randint(4, 8)
        links = [(chance.randrange(s), s) for s in range(1, count)]
        links += [chance.sample(range(count), 2) for _ in range(chance.randint(1, 4))]
        fabric = make_irregular([chance.choice([0, 1, 1, 1]) if s else 2 for s in range(count)], links, model=models[0])
    switches = tuple(replace(switch, model=chance.choice(models)) for switch in fabric.switches)
    ports = tuple(platforms.load(switch.model).ports for switch in switches)
    return replace(fabric, switches=switches, ports=ports, shape=None)


def boxed(fabric, gone, chance):
    """Return a fabric whose new switches have an address: of a box of their name that went, or of a new one."""
    taken = {switch.address for switch in fabric.switches}
    switches = []
    for switch in fabric.switches:
        address = switch.address
        if not address:
            back = gone.get((switch.name, switch.model))
            address = back if back not in taken and back and chance.random() < 0.5 else ""
        while not address or (not switch.address and address in taken):
            address = f"192.0.2.{chance.randint(1, 250)}"
            address = "" if address in gone.values() else address
        taken.add(address)
        switches.append(replace(switch, address=address))
    return replace(fabric, switches=tuple(switches))


def renamed(fabric, chance):
    """Return a fabric one switch or host of which has another name."""
    if chance.random() < 0.5:
        which, name = chance.randrange(len(fabric.switches)), f"r{chance.randint(0, 9)}"
        if name in fabric.index:
            return fabric, ()
        switches = tuple(replace(x, name=name) if s == which else x for s, x in enumerate(fabric.switches))
        return replace(fabric, switches=switches), ("switch_renamed",)
    which, name = chance.randrange(len(fabric.hosts)), f"z{chance.randint(0, 99)}"
    if name in {host.name for host in fabric.hosts}:
        return fabric, ()
    hosts = tuple(replace(x, name=name) if h == which else x for h, x in enumerate(fabric.hosts))
    return replace(fabric, hosts=hosts), ("host_renamed",)


def changed(chance, every):
    """Return a fabric one or two steps after the last of `every`, whose cables fit those of all, and the steps."""
    gone = {(s.name, s.model): s.address for fabric in every for s in fabric.switches}
    for _ in range(TRIES):
        fabric, names = renamed(every[-1], chance) if chance.random() < 0.12 else (every[-1], ())
        for _ in range(chance.randint(0 if names else 1, 2)):
            fabric, name = random_step(fabric, chance)
            names = (*names, name)
        fabric = boxed(fabric, gone, chance)
        if names and len(fabric.switches) <= 9 and united([*every, fabric]) and not rings_to_come([*every, fabric]):
            return fabric, names
    return every[-1], ()


def rings_to_come(fabrics):
    """Return whether cables that a later fabric has close a ring by themselves, before it runs.

    All are plugged in from the start. Ports outside a fabric have no spanning tree, as docs/growing.md says.
    """
    cables = [
        {
            frozenset({(x.switches[link.a].address, link.a_port), (x.switches[link.b].address, link.b_port)})
            for link in x.links
        }
        for x in fabrics
    ]
    for at in range(1, len(fabrics)):
        known, later = set().union(*cables[:at]), set().union(*cables[at:])
        graph = nx.MultiGraph([[address for address, _ in ends] for ends in later - known])
        if graph.number_of_edges() > graph.number_of_nodes() - nx.number_connected_components(graph):
            return True
    return False


def united(fabrics):
    """Return a fabric of all boxes and cables of several, a host at every place of one; None where cables clash."""
    boxes = {
        switch.address: (switch, ports) for x in fabrics for switch, ports in zip(x.switches, x.ports, strict=True)
    }
    index = {address: s for s, address in enumerate(boxes)}
    cables, links, hosts, taken = set(), [], [], {}
    for fabric in fabrics:
        at = [index[switch.address] for switch in fabric.switches]
        for link in fabric.links:
            ends = frozenset({(at[link.a], link.a_port), (at[link.b], link.b_port)})
            if ends in cables:
                continue
            if any(taken.get(end) for end in ends):
                return None
            taken |= dict.fromkeys(ends, "a cable")
            cables.add(ends)
            same = sum({x.a, x.b} == {at[link.a], at[link.b]} for x in links)
            links.append(replace(link, a=at[link.a], b=at[link.b], parallel_link=same))
    for fabric in fabrics:
        for host in fabric.hosts:
            place = index[fabric.switches[host.switch].address], host.port
            if taken.get(place) == "a cable":
                return None
            if place not in taken:
                taken[place] = "a host"
                hosts.append(Host(f"p{len(hosts)}", *place, (0x02 << 40) + (0xBB << 32) + len(hosts)))
    switches = tuple(replace(switch, name=f"box{s}", address="") for s, (switch, _) in enumerate(boxes.values()))
    ports = tuple(count for _, count in boxes.values())
    return replace(fabrics[0], switches=switches, ports=ports, links=tuple(links), hosts=tuple(hosts), shape=None)
