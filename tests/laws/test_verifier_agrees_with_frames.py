"""Law: the verifier's findings on a configuration agree with what frames do, one by one, in the rack's data plane.

The data plane shares no arrays, trees or proofs with the verifier; it was written separately, as queues and tables.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabrics import SMALL_FABRICS, make_fabric
from tagloom.lab.dataplane import Dataplane
from tagloom.records.switch_state import Frames, Membership, SwitchEditor
from tagloom.route import route
from tagloom.verify import verify
from tagloom.verify.frame_path import frame_path
from tagloom.weave import weave
from thinned import examples

AGGREGATED = [  # the stand-alone checker of certificates knows single cables only
    ("tree", (2, 1), {"hosts": 2, "parallel": 3, "lag": True, "model": "powerconnect-5324"}),
    ("ring", (3,), {"parallel": 2, "lag": True, "model": "powerconnect-6224"}),
]


def damage(draw, fabric, state):
    """Change up to three cells of random switches, as a slip of the hand would."""
    state = dict(state)
    for _ in range(draw(st.integers(0, 3))):
        s = draw(st.integers(0, len(fabric.switches) - 1))
        name = fabric.switches[s].name
        editor = SwitchEditor.of(state[name])
        port = draw(st.sampled_from(fabric.used_ports[s]))
        vlans = sorted(editor.vlans)
        what = draw(
            st.sampled_from(
                ["pvid", "member", "entry", "no entry", "shut", "speed", "filter", "frames", "floods", "no vlan"]
            )
        )
        if what == "pvid":
            editor.set_pvid(port, draw(st.sampled_from([0, *vlans])))
        elif what == "member":
            editor.set_member(draw(st.sampled_from(vlans)), port, draw(st.sampled_from(list(Membership))))
        elif what == "shut":
            editor.enabled[port - 1] = False
        elif what == "speed":
            if not editor.lag[port - 1]:  # what one cable of several still carries is luck, see below
                editor.negotiation[port - 1] = draw(st.booleans())
                editor.speed_mbps[port - 1] = draw(st.sampled_from([0, 10, 100]))
        elif what == "filter":
            editor.ingress_filter[port - 1] = False
        elif what == "floods":
            editor.flooding[port - 1] = not editor.flooding[port - 1]
        elif what == "frames":
            editor.frames[port - 1] = draw(st.sampled_from(list(Frames)))
        elif what == "no vlan" and len(vlans) > 1:
            editor.delete_vlan(draw(st.sampled_from(vlans[1:])))
        elif editor.entries:
            key = draw(st.sampled_from(sorted(editor.entries)))
            editor.set_entry(*key, (port,) if what == "entry" else ())  # type: ignore[call-arg]
        state[name] = editor.freeze()
    return state


@examples(60)
@given(st.data())
def test_the_path_of_a_frame_is_where_it_goes(data):
    family, dims, options = data.draw(st.sampled_from(SMALL_FABRICS + AGGREGATED))
    fabric = make_fabric(family, *dims, **options)
    state = damage(data.draw, fabric, weave(fabric, route(fabric, "auto", "fixed"), "fixed").state)
    dead = data.draw(st.sets(st.integers(0, len(fabric.links) - 1), max_size=2)) if fabric.links else ()
    fabric = fabric.with_links_down(dead)
    a, b = data.draw(st.permutations(range(len(fabric.hosts))))[:2]
    sent = Dataplane(fabric, state).unicast(fabric.hosts[a].name, fabric.hosts[b].name)
    found = frame_path(fabric, state, a, b)
    assert found.reaches == (sent.copies > 0)
    assert any(hop.by == "flood" for hop in found.hops) == bool(sent.flooded)
    assert found.reaches != bool(found.why)


@examples(150)
@given(st.data())
def test_the_verdict_is_what_frames_do(data):
    family, dims, options = data.draw(st.sampled_from(SMALL_FABRICS + AGGREGATED))
    assignment = data.draw(st.sampled_from(["fixed", "renamed", "pinned"]))
    fabric = make_fabric(family, *dims, **options)
    # the PowerConnects among them flood by every port
    routing = "tree" if assignment == "pinned" and fabric.switches[0].model != "linux-bridge" else "auto"
    state = damage(data.draw, fabric, weave(fabric, route(fabric, routing, assignment), assignment).state)
    proof = verify(fabric, state)
    plane = Dataplane(fabric, state)
    names = [host.name for host in fabric.hosts]
    reached = flooded = 0
    storm = False
    for a in names:
        for b in names:
            if a != b:
                plane.configure(state)  # forget what was learned: the proof is about the configuration
                sent = plane.unicast(a, b)
                storm |= bool(sent.storm)
                reached += sent.copies > 0
                flooded += bool(sent.flooded)
    copies = np.zeros((len(names), len(names)), int)
    for i, a in enumerate(names):
        plane.configure(state)
        sent = plane.broadcast(a)
        storm |= bool(sent.storm)
        for b, n in sent.delivered_to.items():
            copies[i, names.index(b)] = n
    assert proof.storm_free == (not storm)
    if proof.storm_free:
        assert proof.reachable_pairs == reached
        assert proof.off_path_pairs == flooded
        exactly_once = np.array_equal(copies, np.ones_like(copies) - np.eye(len(names), dtype=int))
        assert proof.broadcast_exactly_once == exactly_once


@examples(60)
@given(st.data())
def test_where_a_cable_of_an_aggregated_link_is_not_bound_the_verifier_promises_nothing_that_frames_break(data):
    """A flow may be lucky in the cable it falls on; the verdict counts on no luck."""
    family, dims, options = data.draw(st.sampled_from(AGGREGATED))
    fabric = make_fabric(family, *dims, **options)
    whole = weave(fabric, route(fabric, "auto", "fixed"), "fixed").state
    state = dict(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        link = data.draw(st.sampled_from(fabric.links))
        (s, at, channel), cable = data.draw(st.sampled_from([(link.a, 0, link.a_port), (link.b, 1, link.b_port)])), None
        cable = data.draw(st.sampled_from(link.members))[at]
        name = fabric.switches[s].name
        editor = SwitchEditor.of(state[name])
        editor.lag[cable - 1] = data.draw(st.sampled_from([0, channel, channel + 1]))
        editor.enabled[cable - 1] = data.draw(st.sampled_from([True, True, False]))
        state[name] = editor.freeze()
    proof = verify(fabric, state)
    plane = Dataplane(fabric, state)
    lost = 0
    for a in fabric.hosts:
        for b in fabric.hosts:
            plane.configure(state)
            lost += a is not b and not plane.unicast(a.name, b.name).copies
    assert proof.unreachable_pairs >= lost
    bound = {(link.a, a): link.a_port for link in fabric.links for a, _ in link.members}
    bound |= {(link.b, b): link.b_port for link in fabric.links for _, b in link.members}
    live = [
        end
        for link in fabric.links
        for a, b in link.members
        for end in ((link.a, a), (link.b, b))
        if state[fabric.switches[link.a].name].enabled[a - 1] and state[fabric.switches[link.b].name].enabled[b - 1]
    ]
    loose = sum(state[fabric.switches[s].name].lag[port - 1] != bound[s, port] for s, port in live)
    named = [finding for finding in proof.findings if finding.expected.startswith("a member of")]
    assert len(named) == loose
    assert proof.proven == (not loose and not proof.unreachable_pairs)
