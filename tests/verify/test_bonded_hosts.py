"""A bonded host is a host for each card: what a fabric file takes, and what frames do when one card takes over."""

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import InputError
from tagloom.lab.dataplane import Dataplane
from tagloom.read.fabric_file import parse_fabric

CARDS = """hosts:
  h0-a: {switch: s0, port: g20, mac: "00:1e:c9:00:00:0a"}
  h0-b: {switch: s2, port: g20, mac: "00:1e:c9:00:00:0b"}
"""


@pytest.mark.parametrize("dead", ["h0-a", "h0-b"])
def test_the_other_card_is_reached_at_once_without_a_change_of_any_switch(dead):
    """With `fail_over_mac=active` the bond has the address of its active card, and says so to all by a broadcast."""
    fabric = make_fabric("ring", 4, extra=CARDS, model="powerconnect-5324")
    build, proof, _ = pipeline.plan(fabric, ROOT / "templates")
    assert proof.proven
    plane, others = Dataplane(fabric, build.state), {"h0", "h1", "h2", "h3"}
    left = "h0-a" if dead == "h0-b" else "h0-b"
    assert plane.broadcast(left).delivered_to == dict.fromkeys(others | {dead}, 1)
    for host in sorted(others):
        assert plane.unicast(host, left).delivered_to == {left: 1}
        assert plane.unicast(left, host).delivered_to == {host: 1}


@pytest.mark.parametrize(
    "said",
    [
        "switch: [s0, s1], port: g20",
        "switch: s0, port: [g20, g21]",
        "bond: active-backup",
        "lag: true",
        "ports: [g1, g2]",
    ],
)
def test_other_bonds_are_refused_with_what_to_write_instead(said):
    text = f"model: powerconnect-5324\nshape: {{family: ring, dims: [4]}}\nhosts: {{h0: {{{said}}}}}\n"
    with pytest.raises(InputError) as refused:
        parse_fabric(text, "f.yml")
    (finding,) = refused.value.findings
    assert (
        finding.expected
        == "one switch and one port; each card of a bonded host is a host of its own (tagloom docs hosts)"
    )
