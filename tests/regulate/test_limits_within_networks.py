"""Limits on paths, and links that may die, count for each network: --max-hops and --survive of several."""

from itertools import permutations

import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import InputError
from tagloom.lab.dataplane import Dataplane
from tagloom.operate.repair_target import failures_left, target
from tagloom.records.dead_parts import DeadParts
from tagloom.records.traffic import Traffic
from tagloom.regulate.choose import RegulateOptions
from tagloom.regulate.settings_file import RegulateResult, settings_routes
from thinned import few

pytestmark = pytest.mark.kernel

NETWORKS = "networks: {a: [h0, h1, h3, h4], b: [h2, h5, h8], c: [h6, h7]}\n"


def choose(fabric, **options):
    ticks = iter(range(10_000))  # every look at the clock takes a second
    volume = np.where(fabric.same_network, 100.0, 0.0)
    chosen = RegulateOptions(time_limit_seconds=5.0, **options)
    traffic = Traffic(volume, np.ceil(volume))
    return pipeline.regulate(fabric, traffic, "auto", "fixed", lambda *_: None, chosen, lambda: next(ticks))


def hops_by_frames(fabric, settings):
    """Return the most switches that a frame takes between hosts of each network, through the planned switches."""
    smaller = fabric.with_links_down(settings.links_off)
    given = RegulateResult(settings_routes(smaller, settings), {}, ())
    build, proof, _ = pipeline.plan(smaller, ROOT / "templates", regulated=given, texts=False)
    assert (proof.proven, proof.isolated) == (True, True)
    plane = Dataplane(smaller, build.state)
    found = {}
    for name, mine in fabric.networks.items():
        ends = permutations([fabric.hosts[h].name for h in mine.tolist()], 2)
        found[name] = max((len({hop.switch for hop in plane.unicast(a, b).path}) for a, b in ends), default=1)
    return found


@pytest.mark.parametrize("method", ["static", "greedy"])
def test_no_frame_takes_more_switches_than_were_allowed_within_its_network(method):
    fabric = make_fabric("mesh", 3, 3, model="powerconnect-5324", extra=NETWORKS)
    kept = choose(fabric, method=method, max_hops=3, headroom=None, allow_cut=True)
    hops = hops_by_frames(fabric, kept)
    assert max(hops.values()) == kept.max_hops_after <= 3  # five between corners, which are of two networks
    assert {each.name: each.max_hops_after for each in kept.networks} == hops
    assert kept.links_off


def test_fewer_switches_than_a_network_needs_are_refused_with_what_it_needs():
    fabric = make_fabric("mesh", 3, 3, model="powerconnect-5324", extra=NETWORKS)
    with pytest.raises(InputError, match="3 switches or more"):
        choose(fabric, max_hops=2)


@pytest.mark.parametrize("method", ["static", "greedy"])
def test_whichever_link_dies_each_network_stays_joined_with_one_link_woken_at_most(method):
    fabric = make_fabric("ring", 4, parallel=2, model="powerconnect-5324", extra="networks: {a: [h0, h2], b: [h1]}\n")
    settings = choose(fabric, method=method, survives=lambda less: not failures_left(less, fabric))
    assert settings.links_off
    assert settings.survive_watts is not None
    less = fabric.with_links_down(settings.links_off)
    for i in (i for i, link in enumerate(less.links) if link.up):
        around = target(less, less, fabric, DeadParts(frozenset({i})))
        assert len(around.woken) <= 1
        build, proof, _ = pipeline.plan(around.fabric, ROOT / "templates", texts=False)
        assert (proof.proven, proof.isolated) == (True, True)
        plane = Dataplane(around.fabric, build.state)
        assert plane.unicast("h0", "h2").delivered_to == {"h2": 1}


@pytest.mark.slow
@pytest.mark.parametrize("seed", few(range(6), 1, 5))
def test_trees_of_a_network_need_not_lead_to_switches_of_others(seed):
    """The best choice is proven with its bound, whatever trees its networks take on a ring with slower links."""
    chance = np.random.default_rng(seed)
    fabric = make_fabric("ring", 5, model="powerconnect-5324", extra="networks: {a: [h0, h1], b: [h2, h3]}\n")
    fabric = fabric.with_speeds(dict.fromkeys(chance.choice(5, 2, replace=False).tolist(), 100))
    best = choose(fabric, method="optimal", allow_cut=True)
    greedy = choose(fabric, method="greedy", allow_cut=True)
    assert best.lower_bound_watts <= best.watts_after + 1e-6
    assert best.watts_after <= greedy.watts_after + 1e-6
    hops = hops_by_frames(fabric, best)
    assert {name: hops[name] for name in ("a", "b")} == {
        each.name: each.max_hops_after for each in best.networks if each.name != "default"
    }
