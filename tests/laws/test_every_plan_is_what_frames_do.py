"""Law: on any graph, by any routing, whatever is dead, a plan is proven, and frames do what was proven.

The data plane that follows the frames shares no arrays, trees or proofs with the verifier; it was written separately.
"""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import pipeline, platforms
from tagloom.errors import PlanError
from tagloom.graph.paths import paths_to
from tagloom.lab.dataplane import Dataplane
from tagloom.records.fabric import Fabric, Host, Link, Switch
from tagloom.route import METHODS
from tagloom.weave import ASSIGNMENTS
from thinned import examples

MODELS = ("powerconnect-5324", "linux-bridge")  # one that may hold entries for the broadcast address, one that cannot
PORTS = 128
NOBODYS = 0x02_77_00_00_00_00  # an address that no host has
ALWAYS = {"auto", "any", "up-down", "tree"}  # these take every connected fabric
FAMILIES = [
    ("mesh", (4, 3), 1),
    ("mesh", (2, 2, 3), 2),
    ("torus", (4, 4), 1),
    ("torus", (5, 3), 2),
    ("torus", (3, 3), 2),
    ("hypercube", (3,), 1),
    ("ring", (6,), 2),
    ("fat-tree", (2, 4, 2), 1),
    ("clos", (3, 3), 1),
    ("complete", (5,), 2),
    ("dragonfly", (3, 2), 1),
]


def takes(fabric):
    """Return the routings, beside those for all fabrics, that apply to a whole fabric of this family."""
    turns = {"dor", "north-last", "west-first", "negative-first"}
    rings = {"dor", "dor-r1", "dor-r7"} if max(link.parallel_link for link in fabric.links) else {"dor"}
    of_family = {"mesh": turns, "hypercube": turns, "torus": rings, "ring": rings}
    of_family |= {"fat-tree": {"fat-tree"}, "clos": {"double-star"}, "complete": {"direct"}, "dragonfly": set()}
    return of_family[fabric.shape.family]


def connected(fabric):
    """Return whether links that are up connect all hosts; switches without any may be cut off."""
    return any(switch.up for switch in fabric.switches) and not fabric.apart


@st.composite
def graphs(draw, least=2):
    """Draw a tree and more links, hosts anywhere: bridges, cut switches, parallel links and bare switches happen."""
    n = draw(st.integers(least, 24))
    edges = [(draw(st.integers(0, v - 1)), v) for v in range(1, n)]
    more = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(1, n - 1)), min_size=least // 2, max_size=2 * n))
    edges = draw(st.permutations(edges + [(a, (a + step) % n) for a, step in more]))
    model, used = draw(st.sampled_from(MODELS)), [0] * n
    hosts = draw(st.lists(st.integers(0, n - 1), min_size=least, max_size=n + 4))

    def port(s):
        used[s] += 1
        return used[s]

    parallel_links = {}
    links = []
    for a, b in edges:
        parallel_link = parallel_links[frozenset((a, b))] = parallel_links.get(frozenset((a, b)), -1) + 1
        links.append(Link(a, port(a), b, port(b), parallel_link=parallel_link))
    plugged = tuple(Host(f"h{i}", s, port(s), 0x02_00_00_00_00_00 + i) for i, s in enumerate(hosts))
    switches = tuple(Switch(f"s{i}", model) for i in range(n))
    return Fabric("graph", switches, plugged, tuple(links), (PORTS,) * n)


def fits(fabric):
    """Return whether every port in use is one that its switch's model has."""
    models = [platforms.of(switch).physical_ports for switch in fabric.switches]
    return all(max(used, default=0) <= ports for used, ports in zip(fabric.used_ports, models, strict=True))


@st.composite
def families(draw):
    family, dims, parallel = draw(st.sampled_from(FAMILIES))
    fabric = make_fabric(family, *dims, parallel=parallel, hosts=draw(st.integers(1, 2)))
    model = draw(st.sampled_from(MODELS))
    return replace(fabric, switches=tuple(replace(switch, model=model) for switch in fabric.switches))


def damaged(draw, fabric):
    """Turn off links, and perhaps a switch, as long as the rest hangs together and two hosts stay."""
    for link in draw(st.lists(st.integers(0, len(fabric.links) - 1), max_size=4)):
        smaller = fabric.with_links_down({link})
        fabric = smaller if connected(smaller) else fabric
    for switch in draw(st.lists(st.integers(0, len(fabric.switches) - 1), max_size=1)):
        smaller = fabric.with_switches_down({switch})
        fabric = smaller if len(smaller.hosts) > 1 and connected(smaller) else fabric
    return fabric


def holds(fabric, method, assignment, prefer):
    """Plan a fabric and follow every frame; False where the routing refuses it."""
    options = {"routing": method, "assignment": assignment, "prefer": prefer, "effort": 0, "texts": False}
    try:
        build, proof, _ = pipeline.plan(fabric, ROOT / "templates", **options)
    except PlanError as refused:
        # pinned needs switches that keep floods off a port, or a tree; and a tree for floods need not exist
        return "no line that keeps floods off" in str(refused) or "broadcasts need one tree" in str(refused)
    assert proof.proven, [str(finding) for finding in proof.findings]
    assert proof.reachable_pairs == len(fabric.hosts) * (len(fabric.hosts) - 1)
    plane, names = Dataplane(fabric, build.state), [host.name for host in fabric.hosts]
    planned = paths_to(fabric, build.routes, fabric.host_switch)
    for a, source in enumerate(build.routes.source_of_host.tolist()):
        for b, name in enumerate(names):
            if a == b:
                continue
            sent = plane.unicast(names[a], name)
            assert (sent.copies, sent.flooded, sent.storm) == (1, (), ""), (names[a], name)
            assert sent.delivered_to == {name: 1}
            crossed = [int(fabric.port_channel[fabric.index[hop.switch], hop.out_port]) for hop in sent.path[:-1]]
            assert crossed == [c for c in planned[source, b].tolist() if c >= 0], (names[a], name)
        shout = plane.broadcast(names[a])
        assert not shout.storm
        assert not plane.broadcast(names[a], mac=NOBODYS).storm
        others = np.array([shout.delivered_to.get(name, 0) for b, name in enumerate(names) if b != a])
        assert (others >= 1).all()
        if proof.broadcast_exactly_once:
            assert (others == 1).all()
            assert names[a] not in shout.delivered_to
    return True


@examples(300)
@given(graphs(), st.data())
def test_on_any_graph(fabric, data):
    method = data.draw(st.sampled_from(sorted(ALWAYS)))
    prefer = data.draw(st.sampled_from(["vlans", "vlans", "load"]))
    assignment = data.draw(
        st.sampled_from(["fixed", "renamed", "pinned"] if prefer == "vlans" else ["fixed", "renamed"])
    )
    assert holds(damaged(data.draw, fabric), method, assignment, prefer)


@examples(25)
@given(graphs(least=16), st.data())
def test_on_large_graphs_by_all_of_them(fabric, data):
    fabric = damaged(data.draw, fabric)
    for method in sorted(ALWAYS):
        assert holds(fabric, method, "fixed", "vlans")
        assert holds(fabric, method, "renamed", "vlans")
        assert holds(fabric, method, "pinned", "vlans")


@examples(300)
@given(families(), st.data())
def test_by_every_routing_of_the_families(fabric, data):
    method = data.draw(st.sampled_from(sorted(METHODS)))
    prefer = data.draw(st.sampled_from(["vlans", "vlans", "load"]))
    left, assignment = (
        damaged(data.draw, fabric),
        data.draw(st.sampled_from(ASSIGNMENTS if prefer == "vlans" else ASSIGNMENTS[:2])),
    )
    taken = holds(left, method, assignment, prefer)
    if method in ALWAYS:
        assert taken
    elif left is fabric:  # with parts dead, what takes the whole family may refuse, and nothing else may take it
        assert taken is (method in takes(fabric))
    else:
        assert not taken or method in takes(fabric)
