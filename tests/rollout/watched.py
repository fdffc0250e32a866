"""Send the lines of a rollout between two fabrics, and follow frames after each through everything plugged in."""

from dataclasses import replace

from tagloom import platforms
from tagloom.lab.dataplane import Dataplane
from tagloom.records.change import apply_changes, difference
from tagloom.records.switch_state import SwitchState, dead_states
from tagloom.render import line_changes


def places(fabric):
    return {(fabric.switches[host.switch].name, host.port): host for host in fabric.hosts}


def cables(fabric):
    return {
        frozenset({(fabric.switches[x.a].name, x.a_port), (fabric.switches[x.b].name, x.b_port)}): (fabric, x)
        for x in fabric.links
    }


def plugged(one, other, kept):
    """Return a fabric of everything plugged in of two: hosts of only one are included, under separate names."""
    switches = list({s.name: s for fabric in (other, one) for s in fabric.switches}.values())
    index = {switch.name: s for s, switch in enumerate(switches)}
    links = []
    for fabric, x in {**cables(one), **cables(other)}.values():
        links.append(replace(x, a=index[fabric.switches[x.a].name], b=index[fabric.switches[x.b].name]))
    hosts = [replace(host, switch=index[name], name=f"kept {name} {port}") for (name, port), host in kept.items()]
    taken = {(link.a, link.a_port) for link in links} | {(link.b, link.b_port) for link in links}
    transient_ports = {**places(one), **places(other)}
    for number, (name, port) in enumerate(sorted(transient_ports.keys() - kept.keys())):
        if (index[name], port) not in taken:
            host = transient_ports[name, port]
            hosts.append(replace(host, switch=index[name], name=f"guest {number}", mac=(1 << 41) + number))
    ports = tuple(platforms.of(switch).ports for switch in switches)
    return replace(one, switches=tuple(switches), hosts=tuple(hosts), links=tuple(links), ports=ports, shape=None)


def kept_by(old, new):
    """Return by port the hosts in both, on switches that live, as the old fabric knows them and as the new one does."""
    here, there = ({p: h for p, h in places(x).items() if x.switches[h.switch].up} for x in (old, new))
    elsewhere = {host.mac for host in old.hosts}  # whose card is now in another host has moved there
    both = {
        place
        for place in here.keys() & there.keys()
        if here[place].mac == there[place].mac
        or (here[place].name == there[place].name and there[place].mac not in elsewhere)
    }
    return {place: here[place] for place in both}, {place: there[place] for place in both}


def watch(change, old, new, chance, every=1):
    """Send every line of every wave, from all switches in random order; follow frames after each `every` lines."""
    before, after = kept_by(old, new)
    seen = 0
    assert len(change.waves) == len([wave for wave in change.waves if wave.fabrics])
    for number, wave in enumerate(change.waves):
        here = {**dead_states(old), **dead_states(new), **change.growth.left, **wave.before}
        assert number == 0 or wave.before == change.waves[number - 1].state
        kept = before if number == 0 or wave.name in {"leave", "prepare"} else after
        fabric = plugged(wave.fabrics[0], wave.fabrics[1], kept)
        for switch in fabric.switches:
            here.setdefault(switch.name, SwitchState.factory(platforms.of(switch).ports))
        queues = {}
        for patch in wave.patches:
            platform = platforms.of(fabric.switches[fabric.index[patch.switch]])
            queues[patch.switch] = [changes for _, changes in line_changes(platform, patch.changes, here[patch.switch])]
        judge(fabric, here, wave.name)
        while queues:
            name = chance.choice(sorted(queues))
            for _ in range(chance.randint(1, every)):
                if queues[name]:
                    here[name] = apply_changes(here[name], tuple(queues[name].pop(0)))
                    seen += 1
            if not queues[name]:
                del queues[name]
            judge(fabric, here, wave.name)
        assert all(here[name] == held for name, held in wave.state.items())
    return seen


def judge(fabric, here, wave):
    plane = Dataplane(fabric, here)
    names = [host.name for host in fabric.hosts if host.name.startswith("kept")]
    for a in names:
        for b in names:
            if a != b:
                found = plane.unicast(a, b)
                assert found.delivered_to.get(b) == 1, (wave, a, b, found)
                assert not found.flooded, (wave, a, b, found)
    for host in fabric.hosts:
        assert not plane.broadcast(host.name).storm, (wave, host.name)


def follow(fabric, here, there, chance, *, stuck):
    """Send the lines between two states in random order, one switch at any of its own; return the states' number."""
    name, stops = stuck
    here, seen, queues = dict(here), 0, {}
    for switch in fabric.switches:
        here.setdefault(switch.name, SwitchState.factory(platforms.of(switch).ports))
        platform, wanted = platforms.of(switch), there.get(switch.name, here[switch.name])
        changes = difference(here[switch.name], wanted)
        if changes and switch.name != name:
            queues[switch.name] = [each for _, each in line_changes(platform, changes, here[switch.name])]
    while queues:
        which = chance.choice(sorted(queues))
        for _ in range(chance.randint(1, 12)):
            if queues[which]:
                here[which] = apply_changes(here[which], tuple(queues[which].pop(0)))
                seen += 1
        if not queues[which]:
            del queues[which]
        judge(fabric, {**here, name: chance.choice(stops)}, "finish")
    return seen
