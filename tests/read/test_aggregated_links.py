"""An aggregated link in the fabric file: several cables, one link, a port-channel at each end."""

from __future__ import annotations

import pytest

from fabrics import make_fabric
from tagloom.errors import InputError
from tagloom.platforms.power import fabric_watts
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric

HEAD = """\
name: t
switches: {s0: {}, s1: {model: powerconnect-5548}}
hosts: {h0: {switch: s0, port: g24}, h1: {switch: s1, port: g48}}
"""


def read(link, head=HEAD):
    return parse_fabric(f"{head}links:\n  - {link}\n", "t.yml")


def findings(link, head=HEAD):
    with pytest.raises(InputError) as caught:
        read(link, head)
    return [str(finding) for finding in caught.value.findings]


def test_an_aggregated_link_is_one_link_between_port_channels():
    fabric = read('{ends: [["s0:g1", "s0:g2"], ["s1:gi1/0/1", "s1:te1/0/1"]], lag: true}')
    (link,) = fabric.links
    assert (link.a_port, link.b_port, link.members) == (25, 51, ((1, 1), (2, 49)))
    assert (link.capacity_mbps(), link.capacity_mbps(10_000)) == (2000, 20_000)
    assert fabric.used_ports == ((1, 2, 24, 25), (1, 48, 49, 51))
    assert fabric.port_channel[0, 25] == 0
    assert parse_fabric(format_fabric(fabric), "again").links == fabric.links


def test_a_port_channel_may_be_named_at_both_ends_or_at_each():
    assert read('{ends: [["s0:g1", "s0:g2"], ["s1:g1", "s1:g2"]], lag: 3}').links[0].a_port == 27
    link = read('{ends: [["s0:g1", "s0:g2"], ["s1:g1", "s1:g2"]], lag: [3, 8], speed: 100}').links[0]
    assert (link.a_port, link.b_port, link.capacity_mbps()) == (27, 58, 200)


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (
            '{ends: [["s0:g1", "s0:g2"], ["s1:g1"]], lag: true}',
            "two or more ports, as many at each end, actual 2 and 1",
        ),
        ('{ends: ["s0:g1", "s1:g1"], lag: true}', "two or more ports, as many at each end, actual 1 and 1"),
        ('{ends: [["s0:g1", "s0:g2"], ["s1:g1", "s1:g2"]]}', "lag: true where an end has several ports, actual no lag"),
        (
            '{ends: [["s0:g1", "s1:g2"], ["s1:g1", "s1:g3"]], lag: true}',
            "ports of one switch at each end, actual s0 and",
        ),
        (
            '{ends: [["s0:g1", "s0:g1"], ["s1:g1", "s1:g2"]], lag: true}',
            "a free port, actual s0:g1 (taken by links[0])",
        ),
        (
            '{ends: [["s0:g1", "s0:g2"], ["s1:g1", "s1:g2"]], lag: 9}',
            "at most 8 port-channels on s0 (PowerConnect 5324)",
        ),
        ('{ends: [["s0:g1", "s0:g2"], ["s1:g1", "s1:g2"]], lag: 0}', "true, or the number of the port-channel, or one"),
        ('{ends: ["s0:ch1", "s1:g1"]}', "a port of PowerConnect 5324 (g1 to g24), actual 'ch1'"),
    ],
)
def test_what_is_wrong_with_one_is_said(link, expected):
    assert expected in findings(link)[0]


def test_a_model_without_port_channels_has_none():
    head = HEAD.replace("name: t\n", "name: t\nmodel: linux-bridge\n")
    assert (
        "at most 0 port-channels on s0 (Linux bridge)"
        in findings('{ends: [["s0:g1", "s0:g2"], ["s1:g1", "s1:g2"]], lag: true}', head)[0]
    )


def test_two_links_cannot_share_a_port_channel():
    one = '{ends: [["s0:g1", "s0:g2"], ["s1:g1", "s1:g2"]], lag: 2}'
    links = f"{one}\n  - {one.replace('g1', 'g3').replace('g2', 'g4')}"
    assert findings(links) == [
        "t.yml:6  links[1].lag: expected a free port-channel, actual 2 of s0 (taken by links[0])",
        "t.yml:6  links[1].lag: expected a free port-channel, actual 2 of s1 (taken by links[0])",
    ]


def test_a_family_aggregates_the_links_of_neighbours():
    """The papers' baseline: a tree whose every link is four cables."""
    plain = make_fabric("tree", 2, 2, parallel=4, model="powerconnect-5324")
    fabric = make_fabric("tree", 2, 2, parallel=4, lag=True, model="powerconnect-5324")
    assert (len(plain.links), len(fabric.links)) == (24, 6)
    assert {link.capacity_mbps() for link in fabric.links} == {4000}
    assert {port for link in fabric.links for port, _ in link.members} >= {1, 2, 3, 4}
    assert fabric.hosts == plain.hosts
    assert fabric_watts(fabric) == fabric_watts(plain)
    assert fabric_watts(fabric.with_links_down({0})) == pytest.approx(fabric_watts(fabric) - 8 * 1.2)
    again = parse_fabric(format_fabric(fabric), "again")
    assert (again.shape, again.links) == (fabric.shape, fabric.links)


def test_one_cable_is_nothing_to_aggregate():
    with pytest.raises(InputError, match="at least 2 cables to aggregate"):
        make_fabric("tree", 2, 1, lag=True, model="powerconnect-5324")
