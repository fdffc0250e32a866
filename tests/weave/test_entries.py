"""Static entries of paths: as the paths need them, the same from compiled loops and Python, within the models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import SMALL_FABRICS, make_fabric
from tagloom.errors import PlanError
from tagloom.graph import kernel
from tagloom.route import route
from tagloom.weave import weave
from tagloom.weave.entries import PathEntries
from thinned import examples

pytestmark = pytest.mark.kernel


def columns(state):
    return {name: (held.entry_vlan, held.entry_mac, held.entry_port) for name, held in state.items()}


@examples(9)
@given(st.sampled_from(SMALL_FABRICS))
def test_compiled_loops_enter_what_python_enters(small):
    family, dims, more = small
    fabric = make_fabric(family, *dims, **more)
    routes = route(fabric, "auto", "fixed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "WORTH_COMPILING", -1)
        compiled = columns(weave(fabric, routes).state)
    plain = columns(weave(fabric, routes).state)
    for name, each in plain.items():
        assert all(np.array_equal(a, b) for a, b in zip(each, compiled[name], strict=True))


@examples(9)
@given(st.sampled_from(SMALL_FABRICS))
def test_entries_stand_on_the_paths_and_nowhere_else(small):
    family, dims, more = small
    fabric = make_fabric(family, *dims, **more)
    routes = route(fabric, "auto", "fixed")
    wanted = set()
    state = weave(fabric, routes).state
    for a, sender in enumerate(fabric.hosts):
        vlan = int(state[fabric.switches[sender.switch].name].pvid[sender.port - 1])
        parent = routes.trees[routes.source_of_host[a]]
        for b, host in enumerate(fabric.hosts):
            at, port = host.switch, host.port
            while b != a:
                wanted.add((fabric.switches[at].name, vlan, host.mac, port))
                if (channel := int(parent[at])) < 0:
                    break
                at, port = int(fabric.tail[channel]), int(fabric.tail_port[channel])
    found = {
        (name, vlan, mac, port)
        for name, each in columns(state).items()
        for vlan, mac, port in zip(*(column.tolist() for column in each), strict=True)
    }
    assert found == wanted


def test_more_entries_than_a_model_holds_are_refused_before_all_are_counted():
    fabric = make_fabric("ring", 4, model="powerconnect-5324")  # 8,000 addresses
    entries = PathEntries(fabric, 1)
    entries.refuse_overflow()
    parent = route(fabric, "tree", "fixed").trees[:1]
    for vlan in range(2, 2700):
        entries.add(vlan, parent, np.zeros(1, np.int32), np.zeros(1, np.int64))
    with pytest.raises(PlanError, match=r"8000 MAC addresses.*s0 would need more"):
        entries.refuse_overflow()
