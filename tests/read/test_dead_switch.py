"""A dead switch: in the cabling, in no plan."""

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom import pipeline
from tagloom.errors import InputError
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric

pytestmark = pytest.mark.kernel

DEAD = "switches: {s5: {state: down}}\n"


@pytest.mark.parametrize("family", ["mesh", "torus"])
def test_a_dead_switch_loses_hosts_and_links_and_reads_back_as_written(family):
    fabric = make_fabric(family, 4, 4, extra=DEAD)
    assert [s.name for s in fabric.switches if not s.up] == ["s5"]
    assert sum(not link.up for link in fabric.links) == 4
    assert [h.name for h in fabric.hosts] == [f"h{i}" for i in range(16) if i != 5]
    assert fabric.used_ports[5] == ()
    again = parse_fabric(format_fabric(fabric), "again")
    assert (again.switches, again.hosts, again.links) == (fabric.switches, fabric.hosts, fabric.links)
    assert not any(link.up for link in fabric.with_links_up().links if 5 in {link.a, link.b})


@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
@pytest.mark.parametrize("dead", range(9))
def test_the_others_are_planned_and_proven_and_it_gets_no_configuration(templates, assignment, dead, tmp_path):
    extra = f"switches: {{s{dead}: {{state: down}}}}\n"
    fabric = make_fabric("mesh", 3, 3, extra=extra, model="powerconnect-5324")
    build, proof, texts = pipeline.plan(fabric, templates, assignment=assignment)
    assert f"s{dead}" not in texts
    assert len(texts) == 8
    assert (proof.pairs, proof.reachable_pairs, proof.off_path_pairs) == (56, 56, 0)
    assert proof.storm_free
    assert proof.deadlock_free
    assert proof.broadcast_exactly_once
    assert proof.proven
    pipeline.write_build(build, proof, texts, tmp_path / "b")
    again = pipeline.read_build(tmp_path / "b")
    assert again.state == build.state
    assert np.array_equal(again.fabric.channel_up, fabric.channel_up)


def test_dead_switches_that_cut_the_others_apart_are_refused():
    with pytest.raises(InputError, match="a connected fabric"):
        make_fabric("mesh", 3, 1, extra="switches: {s1: {state: down}}\n")
    with pytest.raises(InputError, match="a switch that is up"):
        make_fabric("mesh", 2, 1, extra="switches: {s0: {state: down}, s1: {state: down}}\n")
