"""The matrix estimated from counters: it adds up to them, says what it cannot know, and refuses too little."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import make_fabric
from tagloom.errors import InputError
from tagloom.graph.paths import channel_load
from tagloom.read.estimate import estimate
from tagloom.records.counted import Counted
from tagloom.route import route
from thinned import examples

FABRICS = {
    "torus": make_fabric("torus", 3, 3, model="powerconnect-5324"),
    "tree": make_fabric("tree", 2, 2, hosts=2, model="powerconnect-5324"),
    "mesh": make_fabric("mesh", 3, 2, hosts=2, model="powerconnect-5324"),
}


def counters(fabric, routes, volume):
    """Count what a matrix brings every port: the plan's channel loads (all links 1 Gb/s), and hosts' sums."""
    load = channel_load(fabric, routes, volume)
    carried = {}
    for h, host in enumerate(fabric.hosts):  # what a port carries of several networks is counted in one
        sent, received = carried.get(at := (fabric.switches[host.switch].name, host.port), (0.0, 0.0))
        carried[at] = sent + float(volume[h].sum()), received + float(volume[:, h].sum())
    for i, link in enumerate(fabric.links):
        there, back = float(load[2 * i]), float(load[2 * i + 1])
        carried[fabric.switches[link.a].name, link.a_port] = back, there
        carried[fabric.switches[link.b].name, link.b_port] = there, back
    return Counted(300.0, 1, carried)


@examples(25)
@given(st.sampled_from(sorted(FABRICS)), st.integers(0, 10_000), st.floats(0.05, 1.0))
def test_loads_and_sums_of_the_estimate_are_those_counted(name, seed, filled):
    fabric = FABRICS[name]
    routes = route(fabric, "auto")
    chance = np.random.default_rng(seed)
    hosts = len(fabric.hosts)
    volume = chance.exponential(1e6, (hosts, hosts)) * (chance.random((hosts, hosts)) < filled)
    np.fill_diagonal(volume, 0.0)
    if not volume.any():
        return
    found = estimate(fabric, routes, counters(fabric, routes, volume))
    close = 1e-4 * volume.sum()
    assert np.all(found.volume_bytes >= 0)
    assert found.volume_bytes.sum(axis=1) == pytest.approx(volume.sum(axis=1), abs=close)
    assert found.volume_bytes.sum(axis=0) == pytest.approx(volume.sum(axis=0), abs=close)
    expected = channel_load(fabric, routes, volume)
    assert channel_load(fabric, routes, found.volume_bytes) == pytest.approx(expected, abs=close)


def test_an_estimate_is_given_where_singular_values_are_not_found(monkeypatch):
    """LAPACK may give up on nearly singular equations, as it did on a woven torus: what was fitted so far stands."""

    def give_up(*_, **__):
        raise np.linalg.LinAlgError("SVD did not converge in Linear Least Squares")

    fabric = FABRICS["torus"]
    routes = route(fabric, "auto")
    volume = np.diag(np.full(8, 1e6), 1)  # most pairs send nothing: scaling alone is slow to meet that
    seen = counters(fabric, routes, volume)
    monkeypatch.setattr(np.linalg, "lstsq", give_up)
    found = estimate(fabric, routes, seen)
    assert np.isfinite(found.volume_bytes).all()
    assert found.volume_bytes.sum(axis=1) == pytest.approx(volume.sum(axis=1), rel=0.05, abs=1.0)


@examples(15)
@given(st.integers(0, 10_000))
def test_what_a_port_counts_is_that_of_all_networks_which_it_carries(seed):
    said = "networks: {compute: [h0, h2, h3], storage: {hosts: [h1, h4], tagged: [h0, h2, h5], vlan: 20}}\n"
    fabric = make_fabric("mesh", 3, hosts=2, extra=said, model="powerconnect-5324")
    routes, hosts = route(fabric, "auto"), len(fabric.hosts)
    volume = np.random.default_rng(seed).exponential(1e6, (hosts, hosts)) * fabric.within_networks
    found = estimate(fabric, routes, counters(fabric, routes, volume)).volume_bytes
    assert not found[fabric.within_networks == 0].any()
    assert found.sum() == pytest.approx(volume.sum())
    assert channel_load(fabric, routes, found) == pytest.approx(channel_load(fabric, routes, volume), rel=1e-3)
    for first in np.unique(fabric.host_link):
        mine = fabric.host_link == first
        assert found[mine].sum() == pytest.approx(volume[mine].sum(), rel=1e-3)
        assert found[:, mine].sum() == pytest.approx(volume[:, mine].sum(), rel=1e-3)


def test_on_a_chain_of_two_the_matrix_is_certain():
    """One host on each of two switches: the counters say all."""
    fabric = make_fabric("mesh", 2, 1, model="powerconnect-5324")
    routes = route(fabric, "auto")
    found = estimate(fabric, routes, counters(fabric, routes, np.array([[0, 7e6], [3e6, 0]])))
    assert found.volume_bytes == pytest.approx(np.array([[0, 7e6], [3e6, 0]]))
    assert any("leave 0 of 2 pairs" in words for words in found.remarks)
    assert any(words.startswith("100 % of the bytes") for words in found.remarks)


def test_what_four_hosts_of_one_switch_sent_is_free_and_said_to_be():
    """Four hosts, eight sums, one of them implied by the others: 12 pairs - 7 = 5 are free."""
    fabric = make_fabric("ring", 3, hosts=4, model="powerconnect-5324")
    routes = route(fabric, "auto")
    volume = np.zeros((12, 12))
    volume[:4, :4] = 1e6 * (1 - np.eye(4))
    found = estimate(fabric, routes, counters(fabric, routes, volume))
    assert found.volume_bytes[:4, :4] == pytest.approx(volume[:4, :4], rel=1e-3)
    assert not found.volume_bytes[4:].any()
    assert any("a pair's bytes are known within" in words for words in found.remarks)
    assert any(words.startswith("0 % of the bytes") for words in found.remarks)
    for words in ("who sent to whom", "bursts", "octets hold", "another network", "messages"):
        assert any(words in remark for remark in found.remarks)


def test_the_true_matrix_lies_within_the_bounds_that_are_told():
    fabric = FABRICS["torus"]
    routes = route(fabric, "auto")
    volume = np.random.default_rng(1).exponential(1e6, (9, 9))
    np.fill_diagonal(volume, 0.0)
    found = estimate(fabric, routes, counters(fabric, routes, volume))
    (words,) = [words for words in found.remarks if words.startswith("a pair's bytes")]
    widest = float(words.split("(median), ")[1].split(" %")[0])
    assert 100 * np.abs(found.volume_bytes - volume).max() / volume.sum() <= widest


def test_counters_that_contradict_one_another_are_missed_by_what_is_said():
    """Over a tree's link goes what the hosts beyond it send; here a port counted three times that."""
    fabric = FABRICS["tree"]
    routes = route(fabric, "auto")
    volume = np.full((len(fabric.hosts),) * 2, 1e6)
    np.fill_diagonal(volume, 0.0)
    true = counters(fabric, routes, volume)
    link = fabric.links[0]
    ends = ((fabric.switches[link.a].name, link.a_port), (fabric.switches[link.b].name, link.b_port))
    wrong = {key: (3 * true.carried[key][0], 3 * true.carried[key][1]) for key in ends}
    found = estimate(fabric, routes, Counted(300.0, 1, {**true.carried, **wrong}))
    (words,) = [words for words in found.remarks if "misses a count" in words]
    assert float(words.split("at most ")[1].split(" %")[0]) > 1


def test_a_host_port_that_was_never_read_is_a_finding():
    fabric = FABRICS["torus"]
    routes = route(fabric, "auto")
    true = counters(fabric, routes, np.ones((9, 9)) - np.eye(9))
    host = fabric.hosts[4]
    rest = {key: pair for key, pair in true.carried.items() if key != (fabric.switches[host.switch].name, host.port)}
    with pytest.raises(InputError, match="none of h4"):
        estimate(fabric, routes, Counted(300.0, 1, rest))
    nothing = dict.fromkeys(true.carried, (0.0, 0.0))
    with pytest.raises(InputError, match="some bytes"):
        estimate(fabric, routes, Counted(300.0, 1, nothing))
