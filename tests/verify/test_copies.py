"""The most copies of a broadcast that hosts may hear during a wave, over all choices of line positions."""

from functools import partial

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom.records.change import Cell, Change
from tagloom.records.lines import Lines
from tagloom.records.switch_state import BROADCAST
from tagloom.route import route
from tagloom.verify import broadcasts_once, prove_wave
from tagloom.verify.wave import _most_copies
from tagloom.weave import weave

pytestmark = pytest.mark.kernel

ARRIVALS, HOSTS = 3, 4  # frame states 0 .. 2; what is at a host is 3 and more


def most(*rows):
    """Bound the copies from rows (frame state, choice, where to), those nearest to hosts first."""
    state, choice, to = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return _most_copies(state, choice, to, ARRIVALS, HOSTS)[:ARRIVALS].tolist()


def test_copies_add_up_along_branches_and_the_worst_choice_counts():
    assert most((0, 0, 3), (0, 0, 4), (1, 1, 0), (1, 1, 5), (2, 2, 0), (2, 3, 1)) == [2, 3, 3]


def test_what_leads_nowhere_adds_nothing_and_the_bound_is_the_number_of_hosts():
    assert most((0, 0, -1), (1, 1, 0), (1, 1, 3)) == [0, 1, 0]
    assert most((0, 0, 3), (0, 0, 4), (0, 0, 5), (1, 1, 0), (1, 1, 0)) == [3, HOSTS, 0]


@pytest.fixture(scope="module")
def by_entries():
    """A fabric whose broadcasts take one tree, by static entries for ff:ff:ff:ff:ff:ff."""
    fabric = make_fabric("mesh", 2, 2, hosts=2, model="powerconnect-6248")
    routes = route(fabric, "up-down", "renamed")
    state = weave(fabric, routes, "renamed", broadcasts_once=partial(broadcasts_once, fabric)).state
    assert any(np.any(held.entry_mac == BROADCAST) for held in state.values())
    return fabric, state


@pytest.mark.parametrize("host", range(8))
def test_a_line_that_takes_a_host_out_of_a_broadcasts_entry_is_found_whichever_host_it_is(by_entries, host):
    fabric, state = by_entries
    switch, port = fabric.switches[fabric.hosts[host].switch].name, fabric.hosts[host].port
    held = state[switch]
    vlans = np.unique(held.entry_vlan[(held.entry_mac == BROADCAST) & (held.entry_port == port)]).tolist()
    assert vlans
    for vlan in vlans:
        ports = held.entry(vlan, BROADCAST)
        less = Change(Cell.ENTRY, ports, tuple(p for p in ports if p != port), vlan=vlan, mac=BROADCAST)
        findings = prove_wave(fabric, state, {switch: Lines.of([(1, (less,))])}).findings
        missed = {f.where for f in findings if f.actual == "none at some line"}
        assert missed, (vlan, findings)
        assert all(where.endswith(f" at {fabric.hosts[host].name}") for where in missed)
