"""A Linux machine's ports have the names that it gave them, said behind the model's name."""

import pytest

from tagloom import platforms
from tagloom.errors import InputError
from tagloom.platforms.detect import mistaken
from tagloom.platforms.own_port_names import MOST_PORTS, own_port_names
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric

FABRIC = """\
name: t
switches: {s0: {model: "linux-bridge:lan1-4,wan"}, s1: {model: "linux-bridge:enp3s0-enp3s1,br-x.7"}}
hosts: {h0: {switch: s0, port: lan2}, h1: {switch: s1, port: br-x.7}}
links: [["s0:wan", "s1:enp3s1"]]
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("lan1-4,wan", ["lan1", "lan2", "lan3", "lan4", "wan"]),
        ("eth0-eth2", ["eth0", "eth1", "eth2"]),
        ("enp3s0-3,eno1", ["enp3s0", "enp3s1", "enp3s2", "enp3s3", "eno1"]),
        ("wan-x", ["wan-x"]),
    ],
)
def test_names_and_runs_of_names_are_read_in_order(text, names):
    assert list(own_port_names(text)) == names


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lan1,",
        "lan1,LAN1",
        "lan4-1,",
        "lo",
        "tagloom",
        "1lan",
        "a b",
        "x;reboot",
        "lan$",
        "l" * 16,
        "lan1-999",
        "é1",
    ],
)
def test_what_no_port_can_be_called_is_refused(text):
    with pytest.raises(ValueError, match="lan1-4,wan"):
        own_port_names(text)
    assert not platforms.is_model(f"linux-bridge:{text}")
    assert MOST_PORTS < 999


def test_a_fabric_of_such_machines_is_read_written_and_read_again():
    fabric = parse_fabric(FABRIC, "t.yml")
    assert [(link.a_port, link.b_port) for link in fabric.links] == [(5, 2)]
    assert [host.port for host in fabric.hosts] == [2, 3]
    again = parse_fabric(format_fabric(fabric), "again")
    assert (again.switches, again.links, again.hosts) == (fabric.switches, fabric.links, fabric.hosts)
    assert mistaken(fabric.switches[0].model, "Linux box 6.6.30 mips", "s0") == ()


@pytest.mark.parametrize(
    ("model", "expected"),
    [("linux-bridge:lan1,lan1", "ports as lan1-4,wan"), ("powerconnect-5324:lan1", "whose ports have names")],
)
def test_names_that_cannot_be_and_models_that_have_their_own_are_findings(model, expected):
    with pytest.raises(InputError) as caught:
        parse_fabric(FABRIC.replace("linux-bridge:lan1-4,wan", model), "t.yml")
    assert any(f"switches.s0.model: expected {expected}" in str(f) or expected in str(f) for f in caught.value.findings)
    assert "t.yml:2" in str(caught.value.findings[0])
