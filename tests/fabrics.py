"""Make fabrics, by family, link by link or at random, and grow them step by step."""

import json
from dataclasses import replace
from pathlib import Path

from tagloom.read.fabric_file import parse_fabric
from tagloom.records.fabric import Host, Link, Switch

ROOT = Path(__file__).resolve().parents[1]
# Small ones of every kind, as `make_fabric` takes them, for laws that follow every frame.
SMALL_FABRICS = [
    ("mesh", (3, 2), {}),
    ("ring", (4,), {}),
    ("ring", (5,), {"parallel": 2}),
    ("torus", (3, 3), {}),
    ("clos", (2, 3), {}),
    ("complete", (4,), {"hosts": 2}),
    ("fat-tree", (2, 4, 1), {"hosts": 2}),
    ("tree", (2, 2), {}),
    ("dragonfly", (3, 2), {}),
]
MIXED_MODEL = "powerconnect-5324"


def make_fabric(family, *dims, parallel=1, hosts=1, model="linux-bridge", extra="", lag=False):
    """Read a generated fabric; linux-bridge has ports enough for anything."""
    shape = f"{{family: {family}, dims: {list(dims)}, parallel: {parallel}, hosts: {hosts}, lag: {str(lag).lower()}}}"
    return parse_fabric(f"name: {family}\nmodel: {model}\nshape: {shape}\n{extra}", "test")


def make_irregular(hosts, links, model="powerconnect-6248"):
    """Read a fabric of `hosts[s]` hosts on switch s and of links between pairs of switches, ports in that order.

    A link of a pair and a number is an aggregated one of so many cables.
    """
    used = [0] * len(hosts)

    def port(switch):
        used[switch] += 1
        return f"g{used[switch]}"

    lines = ["name: irregular", f"model: {model}", "switches:"]
    lines += [f"  s{s}: {{}}" for s in range(len(hosts))]

    def link(a, b, cables=1):
        if cables == 1:
            return f'  - ["s{a}:{port(a)}", "s{b}:{port(b)}"]'
        ends = [[f"s{end}:{port(end)}" for _ in range(cables)] for end in (a, b)]
        return f"  - {{ends: {json.dumps(ends)}, lag: true}}"

    lines += ["links:", *(link(*each) for each in links)] if links else []
    at = [s for s, count in enumerate(hosts) for _ in range(count)]
    macs = [f"02:00:00:00:{h // 256:02x}:{h % 256:02x}" for h in range(len(at))]
    lines += ["hosts:"]
    lines += [f'  h{h}: {{switch: s{s}, port: {port(s)}, mac: "{macs[h]}"}}' for h, s in enumerate(at)]
    return parse_fabric("\n".join(lines) + "\n", "test")


# --- single, parallel and aggregated links in one fabric -------------------------------------------------------------


def make_mixed(hosts, links, model=MIXED_MODEL):
    """Read a fabric of `hosts[s]` hosts on switch s and of links (switch, switch, cables), more than one aggregated."""
    used = [0] * len(hosts)

    def ports(s, count):
        used[s] += count
        return [f'"s{s}:g{n}"' for n in range(used[s] - count + 1, used[s] + 1)]

    lines = ["name: mixed", f"model: {model}", "switches:", *(f"  s{s}: {{}}" for s in range(len(hosts))), "links:"]
    for a, b, cables in links:
        ends = ports(a, cables), ports(b, cables)
        said = [", ".join(end) if cables == 1 else f"[{', '.join(end)}]" for end in ends]
        lines.append(f"  - {{ends: [{', '.join(said)}]{', lag: true' if cables > 1 else ''}}}")
    lines.append("hosts:")
    at = [s for s, count in enumerate(hosts) for _ in range(count)]
    for h, s in enumerate(at):
        (port,) = ports(s, 1)
        lines.append(
            f'  h{h}: {{switch: s{s}, port: {port.strip(chr(34)).split(":")[1]}, mac: "02:00:00:00:00:{h:02x}"}}'
        )
    return parse_fabric("\n".join(lines) + "\n", "test")


def random_mixed(chance, *, most=3, cables=3):
    """Return a connected fabric of two to `most` switches, some without hosts; links single, parallel or aggregated."""
    switches = chance.randint(2, most)
    links = [(chance.randrange(s), s, chance.randint(1, cables)) for s in range(1, switches)]
    for _ in range(chance.randint(1, 2)):
        a, b = chance.sample(range(switches), 2)
        links.append((a, b, chance.randint(1, cables)))
    hosts = [chance.choice([0, 1, 1, 1, 2]) for _ in range(switches)]
    for s in chance.sample(range(switches), 2):
        hosts[s] = max(1, hosts[s])
    return make_mixed(hosts, links)


def with_link_speeds(fabric, speeds):
    links = [replace(link, speed_mbps=speed) for link, speed in zip(fabric.links, speeds, strict=True)]
    return replace(fabric, links=tuple(links))


# --- growth, one random step at a time -------------------------------------------------------------------------------


def free_port(fabric, s, last=24):
    """Return the highest free port of a switch."""
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
    return without_switch(fabric, chance.randrange(len(fabric.switches)))


def without_switch(fabric, gone):
    """Return the fabric without a switch, its hosts and its links."""
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


def random_step(fabric, chance):
    """Return the fabric after a random step, and the step's name. Hosts are left, and all are connected."""
    while True:
        one = chance.choice(STEPS)
        smaller = len(fabric.switches) < 3 or len(fabric.hosts) < 3 or len(fabric.links) < 2
        if one in (host_goes, link_goes, switch_goes) and smaller:
            continue
        later = one(fabric, chance)
        if len(later.hosts) > 1 and not later.apart:
            return later, one.__name__
