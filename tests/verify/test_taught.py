"""Switches without static entries, taught by tagged broadcasts: what the proof says is what frames do on the rack."""

from dataclasses import replace

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline import plan
from tagloom.records.switch_state import Frames
from tagloom.share import share_directory
from tagloom.verify import Plan, verify, verify_taught
from tagloom.verify.taught import taught

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def fabric():
    return make_fabric("mesh", 3, 3, hosts=2, model="linux-bridge")


@pytest.fixture(scope="module")
def planned(fabric):
    """Return a plan whose switches learn: build, proof and texts."""
    return plan(fabric, share_directory() / "templates", routing="dor", learning=True, entries=False)


def test_the_texts_hold_no_entry_and_the_longest_aging_time(planned):
    build, proof, texts = planned
    assert proof.proven
    assert (proof.fdb_entries_max, proof.learned_entries_max) == (0, 3 * 18)
    assert all("fdb" not in text for text in texts.values())
    assert all("ageing_time 100000000" in text for text in texts.values())
    assert all(held.aging_seconds == 1_000_000 for held in build.state.values())


def test_frames_follow_the_plan_once_hosts_have_taught_in_any_order_and_arrive_once_before(fabric, planned):
    build = planned[0]
    pinned = plan(fabric, share_directory() / "templates", routing="dor", texts=False)[0]
    ways, plane = Dataplane(fabric, pinned.state), Dataplane(fabric, build.state)
    pairs = [(a.name, b.name) for a in fabric.hosts for b in fabric.hosts if a is not b]
    for a, b in pairs:
        plane.configure(build.state)
        assert plane.unicast(a, b).delivered_to[b] == 1
    plane.configure(build.state)
    turns = [(host.name, vlan) for host in fabric.hosts for vlan in (100, 101, 102)]
    for i in np.random.default_rng(1).permutation(len(turns)).tolist():
        host, vlan = turns[i]
        assert set(plane.broadcast(host, vlan).delivered_to.values()) == {1}
        a, b = pairs[i % len(pairs)]
        assert plane.unicast(a, b).delivered_to[b] == 1, "of a part that is taught"
    for a, b in pairs:
        sent = plane.unicast(a, b)
        assert not sent.flooded
        assert sent.path == ways.unicast(a, b).path
    known, moved = taught(fabric, build.state)
    assert not moved
    for name, held in known.items():
        rows = zip(held.entry_vlan.tolist(), held.entry_mac.tolist(), held.entry_port.tolist(), strict=True)
        assert {(vlan, mac): port for vlan, mac, port in rows} == plane.learned(name)


def test_what_hosts_cannot_teach_is_not_proven(fabric, planned):
    build, proof, _ = planned
    assert verify(fabric, build.state, Plan(build.routes, shares=True)).off_path_pairs == proof.pairs
    host = fabric.hosts[0]
    name = fabric.switches[host.switch].name
    for field, value in (("frames", Frames.UNTAGGED_ONLY), ("learning", False)):
        cells = getattr(build.state[name], field).copy()
        cells[host.port - 1] = value
        state = {**build.state, name: replace(build.state[name], **{field: cells})}
        found = verify_taught(fabric, state, Plan(build.routes, shares=True))
        assert (found.proven, found.off_path_pairs > 0, found.reachable_pairs) == (False, True, proof.pairs), field


@pytest.mark.parametrize(
    ("model", "line"),
    [
        ("powerconnect-6248", "bridge aging-time 1000000"),
        ("hpe-5130-24g-4sfp", "mac-address timer aging 1000000"),
        ("huawei-s5731-s24t4x", "mac-address aging-time 1000000"),
        ("powerconnect-5548", ""),
        ("n-series", ""),
    ],
)
def test_the_aging_time_is_set_where_its_longest_is_known(model, line):
    fabric = make_fabric("ring", 3, model=model)
    build, proof, texts = plan(fabric, share_directory() / "templates", learning=True, entries=False)
    assert proof.proven
    assert len({held.aging_seconds for held in build.state.values()}) == 1
    lines = {each.strip() for text in texts.values() for each in text.splitlines() if "aging" in each}
    assert lines == ({line} if line else set())
