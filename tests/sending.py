"""Send a wave's lines one by one, and send frames through the states in between."""

import itertools

from tagloom import platforms
from tagloom.lab.dataplane import Dataplane
from tagloom.records.change import apply_changes
from tagloom.records.lines import BOUNCES
from tagloom.records.switch_state import SwitchEditor
from tagloom.render import line_changes


def line_by_line(fabric, wave, here, chance, every):
    """Apply the wave's lines to `here`, the states it starts from; yield after each few lines of a random switch.

    Each switch takes its own lines in their order.
    """
    queues = {}
    for patch in wave.patches:
        platform = platforms.of(fabric.switches[fabric.index[patch.switch]])
        queues[patch.switch] = [changes for _, changes in line_changes(platform, patch.changes, here[patch.switch])]
    while queues:
        name = chance.choice(sorted(queues))
        for _ in range(chance.randint(1, every)):
            if queues[name]:
                here[name] = apply_changes(here[name], tuple(queues[name].pop(0)))
        if not queues[name]:
            del queues[name]
        yield


def stops(state, lines, quiet=()):
    """List the states of a switch before the first of `lines`, after each, and while a line takes a link down.

    A line is a list of changes.
    """
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
    """Generate combinations of the switches' stops, by name: all, or the two ends and `most` random ones."""
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


def delivered(fabric, plane, *, flooded=True):
    """Return the pairs of one network that a frame reaches once, and how often each host receives each broadcast.

    Fail if anything storms. Without `flooded`, a flooded frame counts as lost.
    """
    frames, broadcasts = set(), {}
    for a in fabric.hosts:
        found = plane.broadcast(a.name)
        assert not found.storm
        broadcasts |= {(a.name, b): copies for b, copies in found.delivered_to.items()}
        for b in fabric.hosts:
            if a is not b and a.network == b.network:
                found = plane.unicast(a.name, b.name)
                assert not found.storm
                if found.delivered_to == {b.name: 1} and (flooded or not found.flooded):
                    frames.add((a.name, b.name))
    return frames, broadcasts


def everything_arrives(fabric, states, *, once=True):
    """Send every unicast and every broadcast. Return whether all arrive without a storm, and each broadcast `once`."""
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
