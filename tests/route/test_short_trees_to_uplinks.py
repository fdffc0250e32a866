"""The trees that carry floods to an uplink lead there over as few links as cables allow, or as many more as is said."""

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.graph.search import all_hops
from tagloom.lab.dataplane import Dataplane

pytestmark = pytest.mark.kernel

GATEWAY = 0x0299_0000_0001


def links_to_the_uplink(shape, routing, uplink):
    """Return the links that a flooded frame of each host crosses to the uplink, by the frames, and the fewest; sums."""
    extra = f"hosts: {{h{uplink}: {{uplink: true}}}}\n"
    fabric = make_fabric(*shape, extra=extra, model="linux-bridge")
    build, _, _ = pipeline.plan(fabric, ROOT / "templates", routing=routing, texts=False)
    plane, gateway = Dataplane(fabric, build.state), fabric.hosts[uplink]
    fewest = all_hops(len(fabric.switches), fabric.tail, fabric.head)
    crossed, least = 0, 0
    for host in fabric.hosts:
        if host is gateway:
            continue
        sent = plane.unicast(host.name, gateway.name, mac=GATEWAY)
        assert sent.delivered_to == {other.name: 1 for other in fabric.hosts if other is not host}
        taken = [int(fabric.port_channel[fabric.index[hop.switch], hop.out_port]) for hop in sent.path]
        into = {int(fabric.head[channel]): channel for channel in taken if channel >= 0}
        here = gateway.switch
        while here != host.switch:
            crossed, here = crossed + 1, int(fabric.tail[into[here]])
        least += int(fewest[host.switch, gateway.switch])
    return crossed, least


@pytest.mark.parametrize(
    ("shape", "routing", "uplink"),
    [
        (("mesh", 4, 4), "auto", 0),
        (("mesh", 4, 4), "auto", 8),
        (("mesh", 4, 4), "any", 0),
        (("mesh", 4, 4), "up-down", 8),
        (("torus", 4, 4), "auto", 8),
        (("torus", 5, 5), "up-down", 12),
        (("hypercube", 4), "auto", 8),
        (("fat-tree", 2, 4, 2), "auto", 4),
        (("fat-tree", 2, 4, 2), "tree", 4),
        (("clos", 4, 4), "auto", 0),
        (("complete", 6), "auto", 3),
        (("dragonfly", 4, 3), "up-down", 0),
        (("ring", 6), "tree", 3),
    ],
)
def test_a_flood_reaches_the_uplink_over_as_few_links_as_there_are(shape, routing, uplink):
    crossed, least = links_to_the_uplink(shape, routing, uplink)
    assert crossed == least > 0


@pytest.mark.parametrize(
    ("shape", "routing", "uplink", "crossed", "least"),
    [
        (("mesh", 4, 4), "tree", 0, 54, 48),
        (("torus", 5, 5), "any", 12, 61, 60),
        (("dragonfly", 4, 3), "any", 0, 27, 23),
    ],
)
def test_where_a_tree_is_longer_the_document_says_by_how_much(shape, routing, uplink, crossed, least):
    assert links_to_the_uplink(shape, routing, uplink) == (crossed, least)
    said = " ".join((ROOT / "docs" / "hosts.md").read_text("utf-8").split())
    assert f"{crossed} for {least}" in said
