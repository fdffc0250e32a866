"""Send a frame from every host to every other of its network, and a broadcast from each, over a rack's data plane."""


def heard(fabric, plane, *, flooded=True):
    """Return the pairs that a frame reaches, once, and how often each host hears each one's broadcast.

    Nothing may storm. Without `flooded`, a frame that is flooded counts as one that does not arrive.
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
