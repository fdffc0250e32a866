"""What may come to a fabric, go from it or change in it, one step at a time, by chance."""

from dataclasses import replace

from tagloom.records.fabric import Host, Link, Switch


def free_port(fabric, s, last=24):
    """Return the highest port of a switch that nothing has."""
    return max(set(range(1, last + 1)) - set(fabric.used_ports[s]))


def host_comes(fabric, chance):
    s = chance.randrange(len(fabric.switches))
    names = {host.name for host in fabric.hosts}
    name = next(f"x{n}" for n in range(100) if f"x{n}" not in names)
    mac = max(host.mac for host in fabric.hosts) + 0x1_0000_0000
    return replace(fabric, hosts=(*fabric.hosts, Host(name, s, free_port(fabric, s), mac)))


def host_goes(fabric, chance):
    lost = chance.randrange(len(fabric.hosts))
    return replace(fabric, hosts=tuple(host for h, host in enumerate(fabric.hosts) if h != lost))


def host_moves(fabric, chance):
    which, s = (chance.randrange(len(each)) for each in (fabric.hosts, fabric.switches))
    port = free_port(fabric, s)
    hosts = (replace(x, switch=s, port=port) if h == which else x for h, x in enumerate(fabric.hosts))
    return replace(fabric, hosts=tuple(hosts))


def address_changes(fabric, chance):
    which = chance.randrange(len(fabric.hosts))
    mac = max(host.mac for host in fabric.hosts) + 0x1_0000_0001
    return replace(fabric, hosts=tuple(replace(x, mac=mac) if h == which else x for h, x in enumerate(fabric.hosts)))


def link_comes(fabric, chance):
    a = chance.randrange(len(fabric.switches) - 1)
    b = chance.randrange(a + 1, len(fabric.switches))
    same = sum({link.a, link.b} == {a, b} for link in fabric.links)
    link = Link(a, free_port(fabric, a), b, free_port(fabric, b), parallel_link=same)
    return replace(fabric, links=(*fabric.links, link))


def link_goes(fabric, chance):
    lost = chance.randrange(len(fabric.links))
    return replace(fabric, links=tuple(link for i, link in enumerate(fabric.links) if i != lost))


def switch_comes(fabric, chance):
    name = next(f"n{count}" for count in range(len(fabric.switches) + 1) if f"n{count}" not in fabric.index)
    n = len(fabric.switches)
    larger = replace(
        fabric,
        switches=(*fabric.switches, Switch(name, fabric.switches[0].model, ())),
        ports=(*fabric.ports, fabric.ports[0]),
    )
    for s in chance.sample(range(n), min(n, chance.randint(1, 2))):
        larger = replace(larger, links=(*larger.links, Link(s, free_port(larger, s), n, free_port(larger, n))))
    mac = max(host.mac for host in fabric.hosts) + 0x1_0000_0002
    return replace(larger, hosts=(*larger.hosts, Host(f"y{mac:x}", n, free_port(larger, n), mac)))


def switch_goes(fabric, chance):
    gone = chance.randrange(len(fabric.switches))
    index = {s: s - (s > gone) for s in range(len(fabric.switches)) if s != gone}
    return replace(
        fabric,
        switches=tuple(switch for s, switch in enumerate(fabric.switches) if s != gone),
        ports=tuple(ports for s, ports in enumerate(fabric.ports) if s != gone),
        hosts=tuple(replace(h, switch=index[h.switch]) for h in fabric.hosts if h.switch != gone),
        links=tuple(replace(x, a=index[x.a], b=index[x.b]) for x in fabric.links if gone not in (x.a, x.b)),
    )


STEPS = [
    *(host_comes, host_goes, host_moves, address_changes),
    *(link_comes, link_goes, switch_comes, switch_goes),
]


def step(fabric, chance):
    """Return a fabric after a step by chance, which leaves hosts and holds together, and the step's name."""
    while True:
        one = chance.choice(STEPS)
        smaller = len(fabric.switches) < 3 or len(fabric.hosts) < 3 or len(fabric.links) < 2
        if one in (host_goes, link_goes, switch_goes) and smaller:
            continue
        later = one(fabric, chance)
        if len(later.hosts) > 1 and not later.apart:
            return later, one.__name__
