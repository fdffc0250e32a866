"""A dead link: in the cabling, in no plan, its ports open so that it is noticed when it is back."""

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom import pipeline
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric
from tagloom.records.carrier import links_on
from tagloom.records.switch_state import Membership
from tagloom.verify import kept_pairs, working_pairs

pytestmark = pytest.mark.kernel

DEAD = 'links:\n  - {ends: ["s0:g1", "s1:g1"], state: dead}\n'


@pytest.fixture(scope="module")
def fabric():
    return make_fabric("mesh", 3, 3, model="powerconnect-5324", extra=DEAD)


def test_it_reads_back_as_written_and_stays_dead_where_all_links_are_wanted_up(fabric):
    again = parse_fabric(format_fabric(fabric), "again")
    assert again.links == fabric.links
    assert [i for i, link in enumerate(fabric.links) if link.dead] == [0]
    assert [i for i, link in enumerate(fabric.with_links_up().links) if not link.up] == [0]
    assert fabric.with_links_dead({3}).with_links_up().channel_up.sum() == 2 * len(fabric.links) - 4


@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
def test_the_plan_proves_without_it_and_leaves_its_ports_open_in_no_vlan(
    fabric, templates, assignment, tmp_path, check_certificate
):
    build, proof, texts = pipeline.plan(fabric, templates, assignment=assignment)
    assert (proof.proven, proof.reachable_pairs) == (True, 72)
    for link, a, a_port, b, b_port in fabric.cables.tolist():
        for s, port in ((a, a_port), (b, b_port)):
            held = build.state[fabric.switches[s].name]
            assert held.enabled[port - 1]
            if link == 0:
                assert (held.membership[:, port - 1] == Membership.NONE).all()
    assert not links_on(fabric, build.state)[0]
    pipeline.write_build(build, proof, texts, tmp_path / "b")
    assert check_certificate(tmp_path / "b")[0] == 0


def test_no_pair_works_over_it_and_none_is_kept_whatever_its_ports_are(fabric, templates):
    whole, _, _ = pipeline.plan(fabric.with_links_up(), templates)
    before, _, _ = pipeline.plan(make_fabric("mesh", 3, 3, model="powerconnect-5324"), templates)
    works = working_pairs(fabric.with_links_up(), before.state)
    kept, harm = kept_pairs(fabric.with_links_up(), before.state, {})
    assert (harm, np.array_equal(works, kept)) == ("", True)
    assert 0 < (~works).sum() - 9 < 72
    assert working_pairs(fabric.with_links_up(), whole.state).sum() == 72
