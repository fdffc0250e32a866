"""Law: if frames take other paths than planned, both walks of the verifier, compiled or not, see each such pair.

The compiled walk handles every fabric of 256 hosts and more. It visits each entry once, and compares only the last
channel of each path with the plan. What frames do is followed one by one in the virtual rack's data plane.
"""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fabrics import make_fabric
from tagloom.graph.paths import paths_to
from tagloom.lab.dataplane import Dataplane
from tagloom.records.switch_state import Membership, SwitchEditor
from tagloom.route import route
from tagloom.verify import Plan, unicast, verify
from tagloom.verify.climb import climb
from tagloom.weave import weave
from test_compiled_loops_agree import forced
from thinned import examples

FABRICS = [
    ("mesh", (3, 3), {"parallel": 2}),
    ("torus", (4, 3), {"parallel": 2}),
    ("ring", (5,), {"parallel": 2, "hosts": 2}),
    ("complete", (4,), {"parallel": 3}),
    ("fat-tree", (1, 3, 2), {"parallel": 2}),  # whose upper switches have no hosts
    ("hypercube", (3,), {}),
    ("dragonfly", (3, 2), {}),
]
ROUTINGS = ["auto", "up-down", "any", "tree"]


def strays(fabric, state, routes):
    """Return the pairs that arrive by other channels than planned, frame by frame."""
    plane, planned = Dataplane(fabric, state), paths_to(fabric, routes, fabric.host_switch)
    found = set()
    for a, source in enumerate(routes.source_of_host.tolist()):
        for b, host in enumerate(fabric.hosts):
            if a != b:
                sent = plane.unicast(fabric.hosts[a].name, host.name)
                assert (sent.copies, sent.flooded) == (1, ())
                crossed = [int(fabric.port_channel[fabric.index[hop.switch], hop.out_port]) for hop in sent.path[:-1]]
                if crossed != [c for c in planned[source, b].tolist() if c >= 0]:
                    found.add((fabric.hosts[a].name, host.name))
    return found


def seen(fabric, state, routes):
    """Verify by the compiled walk and by the other one; the pairs off their path are counted alike by both."""
    answers = []
    for from_pairs in (0, 1 << 40):
        with forced(from_pairs):
            proof = verify(fabric, state, Plan(routes))
            answers.append((proof.to_json(), sorted(map(str, proof.findings))))
    assert answers[0] == answers[1]
    return answers[0][0]["off_path_pairs"]


@examples(40)
@given(st.data())
def test_where_one_routing_is_woven_and_another_planned(data):
    family, dims, options = data.draw(st.sampled_from(FABRICS))
    fabric = make_fabric(family, *dims, **options)
    one, other = (route(fabric, data.draw(st.sampled_from(ROUTINGS)), "fixed", 0) for _ in range(2))
    state = weave(fabric, one, "fixed").state
    assert seen(fabric, state, other) == len(strays(fabric, state, other))


def by_the_twin(fabric, state, link, chosen):
    """Lead frames for some destinations over the parallel link; `chosen` takes the list of (VLAN, address).

    Return the states and the destinations, none where no entry leads over the link.
    """
    i, link = link
    twins = [n for n, x in enumerate(fabric.links) if n != i and (x.a, x.b) == (link.a, link.b)]
    twin = fabric.links[twins[0]]
    at, far = fabric.switches[link.a].name, fabric.switches[link.b].name
    here, there = SwitchEditor.of(state[at]), SwitchEditor.of(state[far])
    moved = [key for key, ports in sorted(here.entries.items()) if ports == (link.a_port,)]
    moved = [key for key in moved if here.members[key[0]].get(twin.a_port, 0) == 0]
    keys = chosen(moved) if moved else []
    for key in keys:
        here.set_entry(*key, (twin.a_port,))  # type: ignore[call-arg]
    for vlan in {vlan for vlan, _ in keys}:
        here.set_member(vlan, twin.a_port, Membership.TAGGED)
        there.set_member(vlan, twin.b_port, Membership.TAGGED)
    return {**state, at: here.freeze(), far: there.freeze()}, keys


@examples(40)
@given(st.data())
def test_where_some_destinations_go_by_the_parallel_link(data):
    """Most of these paths end as planned: what differs are channels in their middle, for some destinations only."""
    family, dims, options = data.draw(st.sampled_from(FABRICS[:5]))
    fabric = make_fabric(family, *dims, **options)
    routes = route(fabric, data.draw(st.sampled_from(ROUTINGS)), "fixed", 0)

    def some(moved):
        vlan = data.draw(st.sampled_from(sorted({v for v, _ in moved})))
        return data.draw(st.lists(st.sampled_from([key for key in moved if key[0] == vlan]), min_size=1))

    link = data.draw(st.sampled_from(list(enumerate(fabric.links))))
    state, keys = by_the_twin(fabric, weave(fabric, routes, "fixed").state, link, some)
    assume(keys)
    wrong = strays(fabric, state, routes)
    assert wrong
    assert seen(fabric, state, routes) == len(wrong)


@pytest.mark.parametrize(("family", "dims", "options"), [FABRICS[2], FABRICS[4]])
def test_one_destination_by_the_parallel_link_is_seen_wherever_on_its_path(family, dims, options):
    """Paths to the switch before the last go as planned, and so does each last channel."""
    fabric = make_fabric(family, *dims, **options)
    routes = route(fabric, "tree", "fixed", 0)
    planned, middle = weave(fabric, routes, "fixed").state, 0
    for link in enumerate(fabric.links):
        state, keys = by_the_twin(fabric, planned, link, lambda moved: moved[-1:])
        if keys:
            wrong = strays(fabric, state, routes)
            assert seen(fabric, state, routes) == len(wrong) > 0
            middle += 1
    assert middle > 2


def test_a_fabric_of_256_hosts_takes_the_compiled_walk_and_counts_the_pairs_of_another_routing(monkeypatch):
    fabric = make_fabric("mesh", 8, 8, hosts=4)
    state = weave(fabric, route(fabric, "tree"), "fixed").state
    planned = route(fabric, "dor")
    calls = []

    def counting(*parts):
        calls.append(len(parts))
        return climb(*parts)

    monkeypatch.setattr(unicast, "climb", counting)
    compiled = verify(fabric, state, Plan(planned))
    rounds = len(calls)
    assert rounds
    monkeypatch.setattr(unicast, "COMPILED_FROM", 1 << 40)
    plain = verify(fabric, state, Plan(planned))
    assert len(calls) == rounds
    assert compiled.off_path_pairs == plain.off_path_pairs > 30_000
