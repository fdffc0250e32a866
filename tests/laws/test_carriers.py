"""Law: a link's carrier, in arrays for all links, is that of its own cables and port-channels, one by one."""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fabrics import random_mixed
from tagloom.platforms import of
from tagloom.platforms.factory import factory
from tagloom.records.carrier import Carrier, carriers
from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from thinned import examples


def some_states(fabric, chance):
    """Give every switch ports as a plan would have them, and then some cells of some ports otherwise."""
    found = []
    for s, switch in enumerate(fabric.switches):
        held = factory(of(switch))
        speakers = {}
        for link in fabric.links:
            for end, at, port in ((0, link.a, link.a_port), (1, link.b, link.b_port)):
                if at == s:
                    speakers[port] = [pair[end] for pair in link.members]
        for port, members in speakers.items():
            for member in members:
                held.lag[member - 1] = port
        ports = [*speakers, *(member for members in speakers.values() for member in members)]
        channels = [port for port, members in speakers.items() if members]
        for _ in range(chance.choice([0, 1, 1, 2, 3, 5])):
            port = chance.choice([*ports, *fabric.used_ports[s]])
            kind = chance.choice(["enabled", "enabled", "lag", "negotiation", "speed_mbps"])
            if kind == "lag" and port not in channels:
                held.lag[port - 1] = chance.choice([0, *channels])
            elif kind == "speed_mbps":
                held.speed_mbps[port - 1] = chance.choice([0, 10, 100, DEFAULT_SPEED_MBPS])
            elif kind != "lag":
                getattr(held, kind)[port - 1] = chance.random() < 0.3
        found.append(held.freeze())
    return found


def carrier_of(states, link):
    """Return the carrier of one link, cable by cable."""
    cables = link.members or ((link.a_port, link.b_port),)
    ends = ((states[link.a], link.a_port), (states[link.b], link.b_port))
    live, mended = [], True
    for pair in cables:
        up = [bool(held.enabled[port - 1]) for (held, _), port in zip(ends, pair, strict=True)]
        bound = [int(held.lag[port - 1]) for (held, _), port in zip(ends, pair, strict=True)]
        wanted = [speaker if link.members else 0 for _, speaker in ends]
        if not link.members and any(bound):
            continue  # a port in another's port-channel is none of this link
        negotiates = [bool(held.negotiation[port - 1]) for (held, _), port in zip(ends, pair, strict=True)]
        speeds = [int(held.speed_mbps[port - 1]) for (held, _), port in zip(ends, pair, strict=True)]
        as_forced = [speed or DEFAULT_SPEED_MBPS for speed in speeds]
        if all(up) and (any(negotiates) or as_forced[0] == as_forced[1]):
            live.append(pair)
            mended &= bound == wanted and len({*negotiates}) == len({*speeds}) == 1
    if not live or not all(held.enabled[speaker - 1] for held, speaker in ends):
        return Carrier.NONE
    for end, (held, speaker) in enumerate(ends if link.members else ()):
        ours = {pair[end] for pair in cables}
        others = [port for port in range(1, held.ports + 1) if held.lag[port - 1] == speaker and port not in ours]
        mended &= not any(held.enabled[port - 1] for port in others)
    return Carrier.WHOLE if mended else Carrier.PARTIAL


@examples(300)
@given(st.integers(0, 2**32))
def test_the_carrier_of_every_link_is_that_of_its_cables(seed):
    chance = random.Random(seed)
    fabric = random_mixed(chance)
    states = some_states(fabric, chance)
    expected = [carrier_of(states, link) for link in fabric.links]
    assert carriers(fabric, states).tolist() == expected
    turned = replace(fabric, links=tuple(turn(link) for link in fabric.links))
    assert carriers(turned, states).tolist() == expected


def turn(link):
    """Return a link with its ends changed over."""
    members = tuple((b, a) for a, b in link.members)
    return replace(link, a=link.b, a_port=link.b_port, b=link.a, b_port=link.a_port, members=members)
