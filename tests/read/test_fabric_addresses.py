"""Addresses go into the operator's own fabric file: what else stands there stays, character by character."""

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagloom.errors import InputError
from tagloom.read.fabric_addresses import with_hosts
from tagloom.read.fabric_file import parse_fabric
from tagloom.storage.document import parse_yaml
from tagloom.units import format_mac

A, B, C = 0x001E_C900_0001, 0x001E_C900_0002, 0x001E_C900_0003
HEAD = "# ours\nname:   three   # of them\nmodel: powerconnect-5324\nshape: {family: ring,   dims: [3]}\n"


def with_addresses(text, macs, source):
    return with_hosts(text, {name: {"mac": format_mac(mac)} for name, mac in macs.items()}, source)


def macs_of(text):
    return {host.name: host.mac for host in parse_fabric(text, "new").hosts}


@pytest.mark.parametrize(
    ("hosts", "written"),
    [
        ("", 'hosts:\n  h0: {mac: "00:1e:c9:00:00:01"}\n  h2: {mac: "00:1e:c9:00:00:03"}\n'),
        ("hosts:\n", 'hosts:\n  h0: {mac: "00:1e:c9:00:00:01"}\n  h2: {mac: "00:1e:c9:00:00:03"}\n'),
        ("hosts: {}  # none\n", None),
        ("hosts: ~\n", None),
        (
            "hosts:\n    # the head\n    h0:\n    h1:   # later\n",
            (
                'hosts:\n    # the head\n    h0: {mac: "00:1e:c9:00:00:01"}\n    h1:   # later\n'
                '    h2: {mac: "00:1e:c9:00:00:03"}\n'
            ),
        ),
        (
            "hosts:\n  h2: {mac: 001e.c9ff.0000,  port: g9}  # card of May\n  h0: { port: g8 }\nfirmware: {}\n",
            (
                'hosts:\n  h2: {mac: "00:1e:c9:00:00:03",  port: g9}  # card of May\n'
                '  h0: { port: g8, mac: "00:1e:c9:00:00:01" }\nfirmware: {}\n'
            ),
        ),
        (
            'hosts:\n  h0:\n    port: "g9"   # left\n\n    # right\n  h2:\n    mac: 00-00-00-00-00-09\n    port: g7',
            (
                'hosts:\n  h0:\n    port: "g9"   # left\n    mac: "00:1e:c9:00:00:01"\n\n    # right\n'
                '  h2:\n    mac: "00:1e:c9:00:00:03"\n    port: g7'
            ),
        ),
        ("hosts: {h1: {port: g9}, }\n", None),
        ("hosts: {\n  h0: {port: g9},  # a\n  h2: {\n    port: g8  # b\n  }\n}\n", None),
        ("hosts:\n  h1: {port: g9}", None),
        ("hosts:\n  h0: {mac: }\n  h2:\n    mac:\n", None),
    ],
)
def test_only_addresses_change(hosts, written):
    text = HEAD + hosts
    new = with_addresses(text, {"h0": A, "h2": C}, "f.yml")
    if written is not None:
        assert new == HEAD + written
    assert {name: macs_of(new)[name] for name in ("h0", "h2")} == {"h0": A, "h2": C}
    assert macs_of(new)["h1"] == macs_of(text)["h1"]
    assert [line for line in text.splitlines() if "#" in line and "h" not in line] == [
        line for line in new.splitlines() if "#" in line and "h" not in line
    ]


def test_a_host_moves_with_its_switch_and_port():
    text = (
        HEAD + "hosts:\n  h0: {port: g9, mac: 001e.c9ff.0000}  # moved\n  h1:\n    port: g8\n    mac: 001e.c9ff.0001\n"
    )
    place = {"switch": "s2", "port": "g20"}
    assert with_hosts(text, {"h0": place, "h1": place}, "f") == HEAD + (
        'hosts:\n  h0: {port: "g20", mac: 001e.c9ff.0000, switch: "s2"}  # moved\n'
        '  h1:\n    port: "g20"\n    mac: 001e.c9ff.0001\n    switch: "s2"\n'
    )


def test_a_json_fabric_stays_json():
    text = '{"name": "x", "model": "powerconnect-5324", "shape": {"family": "ring", "dims": [3]}}'
    assert macs_of(with_addresses(text, {"h1": B}, "f"))["h1"] == B


@pytest.mark.parametrize(
    "hosts",
    [
        "hosts:\n  h0: &a {mac: 001ec9ff0000}\n  h1: *a\n",
        "hosts:\n  h0: {mac: &m 001ec9ff0000}\n  h1: {port: g7}\n  h2: {port: *m}\n",
        "x: &x {port: g9}\nhosts:\n  h0: {<<: *x}\n  h1: *x\n",
    ],
)
def test_what_would_change_more_than_the_address_is_refused(hosts):
    with pytest.raises(InputError, match="without aliases"):
        with_addresses(HEAD + hosts, {"h0": A, "h1": B}, "f.yml")


NAMES = ["h0", "1", "on", "a.b", "é x"]
PARTS = st.sampled_from(
    ["{}", "", "~", "{switch: s0}", '{ "port": "g1" , }', "\n    port: g1 # p\n    switch: s0", "{mac: x}"]
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), PARTS), unique_by=lambda e: e[0]),
    st.sets(st.sampled_from(NAMES)),
    st.booleans(),
)
def test_the_old_text_stands_in_the_new_one_and_only_addresses_are_new(hosts, chosen, last):
    """Every line of the new text that is not an old one speaks of an address."""
    body = "".join(f"  {name!r}: {part}\n" for name, part in hosts)
    text = ("hosts: # all\n" + body if hosts else "") + "name: x # y\n"
    text = text if not last else "name: x # y\n" + ("hosts: # all\n" + body if hosts else "")
    macs = {name: A + n for n, name in enumerate(sorted(chosen))}
    new = with_addresses(text, macs, "f")
    value = parse_yaml(new, "f").value
    assert {name: value["hosts"][name]["mac"] for name in macs} == {n: format_mac(mac) for n, mac in macs.items()}
    changed = [line for line in difflib.ndiff(text.splitlines(), new.splitlines()) if line.startswith("+ ")]
    assert all("mac" in line or line == "+ hosts:" for line in changed)
    assert with_addresses(new, macs, "f") == new
