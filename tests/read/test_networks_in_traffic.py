"""Traffic of several networks: patterns and estimates keep to each, and what crosses is refused with its pairs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_estimate import counters

from fabrics import make_fabric
from tagloom.errors import InputError
from tagloom.graph.paths import channel_load
from tagloom.read import read_messages, read_traffic
from tagloom.read.estimate import estimate
from tagloom.read.patterns import PATTERNS, pattern
from tagloom.route import route
from thinned import examples

FABRIC = make_fabric("mesh", 4, extra="networks: {a: [h0, h1], b: [h2]}\n")
CROSSING = "h0,h1,5\nh1,h2,7\nh2,h0,0\nh3,h1,2\n"
NAMED = "2 of 3 pairs between networks: h1 (a) -> h2 (b), h3 (default) -> h1 (a)"


def parted(fabric, numbers):
    """Return the fabric with its hosts in networks of these numbers."""
    hosts = (replace(host, network=f"n{n}") for host, n in zip(fabric.hosts, numbers, strict=True))
    return replace(fabric, hosts=tuple(hosts))


def numbers_of(chance, fabric):
    return chance.integers(3, size=len(fabric.hosts)).tolist()


@pytest.mark.parametrize(
    ("header", "rows", "read"),
    [
        ("source,destination,bytes,messages\n", CROSSING.replace("\n", ",1\n").replace("0,1\n", "0,0\n"), read_traffic),
        ("src,dst,wire_bytes,wire_msgs\n", "0,1,5,1\n1,2,7,1\n3,1,2,1\n", read_traffic),
        ("step,source,destination,bytes\n", "0,h0,h1,5\n0,h1,h2,7\n1,h3,h1,2\n", read_messages),
    ],
    ids=["hosts", "ranks", "trace"],
)
def test_bytes_between_networks_are_refused_with_their_pairs(tmp_path, header, rows, read):
    path = tmp_path / "t.csv"
    path.write_text(header + rows, "utf-8")
    with pytest.raises(InputError) as refused:
        read(path, FABRIC)
    assert [str(finding) for finding in refused.value.findings] == [
        f"{path}: expected bytes between hosts of one network alone, actual {NAMED}"
    ]


def test_of_many_pairs_between_networks_the_first_are_named(tmp_path):
    path = tmp_path / "t.csv"
    fabric = parted(make_fabric("ring", 8), [0, 1] * 4)
    rows = [f"{a.name},{b.name},1" for a in fabric.hosts for b in fabric.hosts if a is not b]
    path.write_text("\n".join(["source,destination,bytes", *rows]), "utf-8")
    with pytest.raises(InputError, match=r"32 of 56 pairs between networks: h0 \(n0\) -> h1 \(n1\).*, and 27 more$"):
        read_traffic(path, fabric)


def test_messages_without_bytes_count_as_traffic(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("source,destination,bytes,messages\nh0,h2,0,3\n", "utf-8")
    with pytest.raises(InputError, match="1 of 1 pairs between networks"):
        read_traffic(path, FABRIC)


def test_every_command_that_takes_traffic_refuses_it(tmp_path, answer):
    fabric, traffic, build = tmp_path / "fabric.yml", tmp_path / "t.csv", tmp_path / "build"
    fabric.write_text("shape: {family: mesh, dims: [4]}\nnetworks: {a: [h0, h1], b: [h2]}\n", "utf-8")
    traffic.write_text("# seconds: 10\nsource,destination,bytes\nh0,h1,5\nh1,h2,7\nh3,h1,2\n", "utf-8")
    assert answer("plan", fabric, "-o", build)[0] == 0
    written = sorted(build.rglob("*"))
    for words in (
        ("plan", fabric, "-o", build, "--traffic", traffic),
        ("regulate", fabric, "--traffic", traffic),
        ("predict", build, "--traffic", traffic),
    ):
        status, answered = answer(*words)
        assert status == 2, words
        assert NAMED in [finding["actual"] for finding in answered["findings"]], words
    assert sorted(build.rglob("*")) == written


@examples(20)
@given(st.sampled_from(["all-to-all", "bit-reversal", "matrix-transpose", "hotspot", "nearest-neighbour"]), st.data())
def test_a_pattern_of_several_networks_is_that_of_each_one(name, data):
    fabric = make_fabric("mesh", 3, 2, hosts=2)
    fabric = parted(fabric, [data.draw(st.integers(0, 2)) for _ in fabric.hosts])
    found = pattern(fabric, f"pattern:{name}").volume_bytes
    expected = np.zeros_like(found)
    for part, mine in zip(fabric.by_network, fabric.networks.values(), strict=True):
        if len(mine) > 1:
            alone = replace(part, hosts=tuple(replace(host, network="") for host in part.hosts))
            expected[np.ix_(mine, mine)] = pattern(alone, f"pattern:{name}").volume_bytes
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", PATTERNS)
def test_no_pattern_crosses_networks(name):
    fabric = parted(make_fabric("mesh", 4, 3), [0, 1, 1] * 4)
    traffic = read_traffic(Path(f"pattern:{name}"), fabric)
    assert traffic.messages.any()
    assert not traffic.messages[fabric.within_networks == 0].any()


def test_a_pattern_needs_two_hosts_of_one_network():
    fabric = parted(make_fabric("ring", 3), [0, 1, 2])
    with pytest.raises(InputError, match="two hosts or more of one network for a pattern, actual 1"):
        pattern(fabric, "pattern:uniform")


@examples(15)
@given(st.integers(0, 10_000))
def test_an_estimate_places_bytes_within_networks_alone_and_meets_the_counts(seed):
    chance = np.random.default_rng(seed)
    fabric = make_fabric("mesh", 3, 2, hosts=2, model="powerconnect-5324")
    fabric = parted(fabric, numbers_of(chance, fabric))
    if fabric.within_networks is None or not fabric.pairs:
        return
    routes = route(fabric, "auto")
    volume = chance.exponential(1e6, fabric.within_networks.shape) * fabric.within_networks
    found = estimate(fabric, routes, counters(fabric, routes, volume))
    close = 1e-4 * volume.sum()
    assert not found.volume_bytes[fabric.within_networks == 0].any()
    assert found.volume_bytes.sum(axis=1) == pytest.approx(volume.sum(axis=1), abs=close)
    assert channel_load(fabric, routes, found.volume_bytes) == pytest.approx(
        channel_load(fabric, routes, volume), abs=close
    )
    assert any(f" of {fabric.pairs:,} pairs' bytes free" in remark for remark in found.remarks)


def test_of_networks_of_two_hosts_counters_say_all():
    fabric = parted(make_fabric("mesh", 4, model="powerconnect-5324"), [0, 1, 0, 1])
    routes = route(fabric, "auto")
    volume = np.zeros((4, 4))
    volume[[0, 1, 2, 3], [2, 3, 0, 1]] = 3e6, 5e6, 7e6, 11e6
    found = estimate(fabric, routes, counters(fabric, routes, volume))
    assert found.volume_bytes == pytest.approx(volume)
    assert any("leave 0 of 4 pairs" in words for words in found.remarks)
    assert any(words.startswith("100 % of the bytes") for words in found.remarks)
