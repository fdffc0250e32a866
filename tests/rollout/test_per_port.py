"""Three VLANs per in-port: renamed to renamed without a tree, whenever the union of both path sets is acyclic."""

import random
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

from fabrics import make_fabric, make_irregular
from tagloom.errors import PlanError
from tagloom.pipeline import rollout
from tagloom.pipeline.proving import proof_services
from tagloom.records.routes import Relation, Routes
from tagloom.records.wave_proof import ProofAssumptions
from tagloom.rollout import choose
from tagloom.rollout.acyclic import acyclic
from tagloom.route.up_down import up_down
from tagloom.weave import weave

pytestmark = pytest.mark.kernel


def renamed(fabric, chance):
    """Up*/down* paths from a random root, with some links off."""
    less = fabric.with_links_down({link for link in range(len(fabric.links)) if chance.random() < 0.25})
    if not less.reached(0).all():
        return None
    routes = up_down(less, chance.randrange(len(fabric.switches)))
    return weave(less, routes, "renamed").state


def pairs(seed, count):
    chance = random.Random(seed)
    while count:
        switches = chance.randint(4, 6)
        links = [(chance.randrange(s), s) for s in range(1, switches)]
        others = [pair for pair in combinations(range(switches), 2) if pair not in links]
        links += chance.sample(others, min(len(others), chance.randint(2, 4)))
        fabric = make_irregular([1] * switches, links, model="powerconnect-5324")
        try:
            before, after = renamed(fabric, chance), renamed(fabric, chance)
        except PlanError:
            continue
        if before and after and before != after:
            count -= 1
            yield fabric, before, after


@pytest.mark.slow
def test_it_proves_wherever_both_path_sets_are_acyclic_together_and_not_without_m_or_n():
    proven = without_m = without_n = cyclic = 0
    for fabric, before, after in pairs(0, 40):
        free = acyclic(len(fabric.tail), *map(proof_services(fabric).dependencies, (before, after)))
        strategy = attempt(fabric, before, after, "per-port")
        assert bool(strategy) is free
        if strategy != "per-port":
            cyclic += not free
            continue
        change = rollout(fabric, before, after, strategy="per-port", duplicates_allowed=True)
        if len(change.waves) < 5:
            continue  # some in-ports' VLANs are the same before and after
        assert [wave.name for wave in change.waves] == ["add", "flip", "flip", "flip", "remove"]
        assert [wave.drain_seconds > 0 for wave in change.waves if wave.name == "flip"] == [False, True, False]
        proven += 1
        add, by_m, by_n, by_f = (wave.state for wave in change.waves[:4])
        without_m += _proves(fabric, add, by_n)
        without_n += _proves(fabric, by_m, by_f)
    assert min(proven, cyclic) > 5
    assert without_m < proven / 2
    assert without_n < proven / 2


def test_a_cyclic_union_is_no_case_for_it():
    ring = make_fabric("ring", 6, model="powerconnect-5324")
    before, after = (weave(ring, up_down(ring, root), "renamed").state for root in (0, 3))
    assert attempt(ring, before, after, "per-port") == ""
    assert attempt(ring, before, after, "auto") == "slides"


def _proves(fabric, before, after):
    """Prove a wave with duplicates allowed."""
    services = proof_services(fabric, duplicates_allowed=True)
    return services.wave(before, after, ProofAssumptions())[0].proven


# Next to these paths none of the 8 spanning trees closes no cycle (section 7 of the rollout research).
NO_TREE = (
    "041 04132 03 04 130 132 103 14 230 2301 23 23014 310 301 32 3104 40 401 4132 413"  # from each switch to each other
)


def by_paths(fabric, words):
    """Follow the paths written as their switches' numbers, each next channel by the in-channel and the destination."""
    switches, channels = len(fabric.switches), len(fabric.tail)
    channel = {(int(a), int(b)): c for c, (a, b) in enumerate(zip(fabric.tail, fabric.head, strict=True))}
    first, following = (np.full((rows, switches), -2, np.int32) for rows in (switches, channels))
    first[np.arange(switches), np.arange(switches)] = -1
    for path in words.split():
        along = [channel[int(a), int(b)] for a, b in pairwise(path)]
        goal = int(path[-1])
        first[int(path[0]), goal] = along[0]
        for c, then in pairwise([*along, -1]):
            assert following[c, goal] in (-2, then)
            following[c, goal] = then
    each = np.arange(switches, dtype=np.int32)
    return weave(fabric, Routes("by hand", "", each, each, None, Relation(first, following)), "renamed").state


def test_it_is_taken_where_no_tree_fits_and_a_tree_where_one_does():
    links = [(0, 1), (0, 3), (0, 4), (1, 3), (1, 4), (2, 3)]
    fabric = make_irregular([1] * 5, links, model="powerconnect-5324")
    before = by_paths(fabric, NO_TREE)
    after = by_paths(fabric, NO_TREE.replace("041 ", "01 "))
    with pytest.raises(PlanError, match="dependency cycles") as caught:
        rollout(fabric, before, after, strategy="park", duplicates_allowed=True)
    assert "no spanning tree was found" in caught.value.witness
    change = rollout(fabric, before, after, duplicates_allowed=True)
    assert (change.strategy, len(change.waves)) == ("per-port", 5)
    parked = next(
        found
        for fabric, *ends in pairs(5, 100)
        if (found := attempt(fabric, *ends, "auto")) == "park" and attempt(fabric, *ends, "per-port") == "per-port"  # type: ignore[call-arg]
    )
    assert parked


def attempt(fabric, before, after, strategy):
    try:
        return rollout(fabric, before, after, strategy=strategy, duplicates_allowed=True).strategy
    except PlanError:
        return ""


def test_a_switch_without_ids_for_it_is_the_reason():
    fabric, before, after = next(each for each in pairs(5, 100) if attempt(*each, "per-port") == "per-port")  # type: ignore[call-arg]
    services = replace(proof_services(fabric, duplicates_allowed=True), vlan_limit=lambda _: 101)
    with pytest.raises(PlanError) as caught:
        choose(fabric, before, after, services, strategy="per-port")
    assert "too few VLAN ids" in caught.value.witness
