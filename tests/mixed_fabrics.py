"""Small fabrics with aggregated and parallel links, and what frames do in them when lines stop anywhere."""

import itertools
from dataclasses import replace

from tagloom.lab.dataplane import Dataplane
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.change import apply_changes
from tagloom.records.lines import BOUNCES
from tagloom.records.switch_state import SwitchEditor

MODEL = "powerconnect-5324"


def make_mixed(hosts, links, model=MODEL):
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


def a_mixed_fabric(chance, *, most=3, cables=3):
    """Two to `most` switches in a connected graph, some without hosts; links single, parallel or bound."""
    switches = chance.randint(2, most)
    links = [(chance.randrange(s), s, chance.randint(1, cables)) for s in range(1, switches)]
    for _ in range(chance.randint(1, 2)):
        a, b = chance.sample(range(switches), 2)
        links.append((a, b, chance.randint(1, cables)))
    hosts = [chance.choice([0, 1, 1, 1, 2]) for _ in range(switches)]
    for s in chance.sample(range(switches), 2):
        hosts[s] = max(1, hosts[s])
    return make_mixed(hosts, links)


def stops(state, lines, quiet=()):
    """Give a switch after each of `lines`, lists of changes, and while a link is down for one, and before the first."""
    found = [state]
    for changes in lines:
        down = {c.port for c in changes if c.cell in BOUNCES and c.cell not in quiet}
        if down:
            editor = SwitchEditor.of(state)
            for port in down:
                editor.enabled[port - 1] = False
            found.append(editor.freeze())
        state = apply_changes(state, tuple(changes))
        found.append(state)
    return found


def mixtures(every, chance, most):
    """Give frozen mixtures of the switches' stops, by name: all where they are few, else some and the two ends."""
    names, count = list(every), 1
    for held in every.values():
        count *= len(held)
    if count <= most:
        yield from (dict(zip(names, held, strict=True)) for held in itertools.product(*every.values()))
        return
    yield {name: held[0] for name, held in every.items()}
    yield {name: held[-1] for name, held in every.items()}
    for _ in range(most):
        yield {name: chance.choice(held) for name, held in every.items()}


def everything_arrives(fabric, states, *, once=True):
    """Send every unicast and every broadcast, frame by frame: all delivered, nothing circling, and each `once`."""
    plane = Dataplane(fabric, states)
    found = plane.ping_all()
    if found.reached < found.pairs or found.storm or found.overheard:
        return False
    for host in fabric.hosts:
        plane.configure(states)
        sent = plane.broadcast(host.name)
        others = {h.name for h in fabric.hosts if h is not host}
        if sent.storm or not sent.delivered_to.keys() >= others:
            return False
        if once and sent.delivered_to != dict.fromkeys(others, 1):
            return False
    return True


def slower(fabric, speeds):
    links = [replace(link, speed_mbps=speed) for link, speed in zip(fabric.links, speeds, strict=True)]
    return replace(fabric, links=tuple(links))
