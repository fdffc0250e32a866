"""What a wave must not do besides losing frames: entries at a port that floods nothing lead none astray."""

from dataclasses import replace

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom import pipeline
from tagloom.records.change import Cell, Change
from tagloom.records.lines import Lines
from tagloom.records.switch_state import SwitchEditor
from tagloom.records.wave_proof import AS_PLANNED
from tagloom.share import share_directory
from tagloom.verify.guard import guard

NOBODY = 0x0600_0000_9999  # an address that no host has


@pytest.fixture(scope="module")
def ring():
    """Return a ring, its state, and a host that is not at s0, with a VLAN in which s0 knows it."""
    fabric = make_fabric("ring", 4, model="powerconnect-5324")
    state = pipeline.plan(fabric, share_directory() / "templates", texts=False)[0].state
    held = state["s0"]
    far = next(host for host in fabric.hosts if fabric.switches[host.switch].name != "s0")
    row = held.entry_mac.tolist().index(far.mac)
    return fabric, state, far.mac, int(held.entry_vlan[row])


def silent(state, *ports):
    """Return the state with ports of s0 that flood nothing, and so learn nothing."""
    held = state["s0"]
    flooding, learning = held.flooding.copy(), held.learning.copy()
    flooding[[port - 1 for port in ports]] = learning[[port - 1 for port in ports]] = False
    return state | {"s0": replace(held, flooding=flooding, learning=learning)}


def entry(vlan, mac, ports):
    return Change(Cell.ENTRY, vlan=vlan, mac=mac, before=(), after=ports)


def found(fabric, state, *changes):
    lines = {"s0": Lines.of([(n, (each,)) for n, each in enumerate(changes, 1)])} if changes else {}
    return [finding.where for finding in guard(fabric, state, lines, AS_PLANNED)]


STRAY = ["s0 static entries"]


@pytest.mark.parametrize(
    ("whose", "quiet", "ports", "expected"),
    [
        ("nobody's", (1,), (1,), STRAY),
        ("nobody's", (1,), (2, 1), STRAY),
        ("nobody's", (1, 2), (2,), STRAY),
        ("nobody's", (1,), (2,), []),
        ("nobody's", (), (1,), []),
        ("a host's", (1,), (1,), []),
    ],
)
def test_a_line_sets_no_entry_of_nobody_at_a_port_that_floods_nothing(ring, whose, quiet, ports, expected):
    fabric, state, mac, vlan = ring
    change = entry(vlan, NOBODY if whose == "nobody's" else mac, ports)
    assert found(fabric, silent(state, *quiet), change) == expected


@pytest.mark.parametrize(("port", "expected"), [(1, STRAY), (2, [])])
def test_an_entry_of_nobody_is_found_where_its_port_ceases_to_flood_at_a_line(ring, port, expected):
    fabric, state, _, vlan = ring
    editor = SwitchEditor.of(state["s0"])
    editor.set_entry(vlan, NOBODY, [port])
    held = editor.freeze()
    state = state | {"s0": replace(held, learning=np.zeros_like(held.learning))}
    assert found(fabric, state) == []
    assert found(fabric, state, Change(Cell.FLOODING, True, False, port=1)) == expected
    assert found(fabric, state, Change(Cell.FLOODING, False, True, port=1)) == []
