"""Pages of learnt addresses, as switches of each family print them, against the second reader that tests have."""

import json

import pytest

from fabrics import ROOT
from judges.shows import read_addresses
from tagloom.observe.address_pages import learnt_on_page
from tagloom.platforms import load

SHOWS = ROOT / "tests" / "data" / "shows"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("powerconnect-5448", "dell_powerconnect_addresses"),
        ("powerconnect-6248", "62xx_addresses"),
        ("n-series", "dell_os6_addresses"),
    ],
)
def test_learnt_rows_of_real_pages_are_those_of_the_second_reader(model, name):
    platform, text = load(model), (SHOWS / f"{name}.txt").read_text("utf-8")
    theirs = {
        (row.vlan, row.mac): platform.port_number(row.port)
        for row in read_addresses(text)
        if row.kind == "dynamic" and platform.port_number(row.port)
    }
    assert theirs
    assert learnt_on_page(platform, text) == theirs


def test_static_and_management_rows_are_passed_over_and_another_page_is_none():
    page = (
        "Aging time is 300 sec\n\n  Vlan        Mac Address       Port     Type\n-------- ------------- ------ ------\n"
        "  100      02:00:00:00:00:01    g3    static\n  100      00:1e:c9:00:00:05    g4    dynamic\n"
        "  1        00:1e:c9:00:00:06    0     self\n  1        00:1e:c9:00:00:07    g99    dynamic\n"
    )
    platform = load("powerconnect-5324")
    assert learnt_on_page(platform, page) == {(100, 0x001E_C900_0005): 4}
    assert learnt_on_page(platform, "% Unrecognized command\n") is None


def test_a_bridge_shows_what_nobody_pinned():
    rows = [
        {"mac": "00:1e:c9:00:00:05", "ifname": "swp4", "vlan": 100, "flags": [], "master": "br0", "state": ""},
        {"mac": "00:1e:c9:00:00:06", "ifname": "swp4", "vlan": 100, "flags": [], "master": "br0", "state": "static"},
        {"mac": "33:33:00:00:00:01", "ifname": "eth0", "flags": ["self"], "state": "permanent"},
        "odd",
    ]
    assert learnt_on_page(load("linux-bridge"), json.dumps(rows)) == {(100, 0x001E_C900_0005): 4}
    assert learnt_on_page(load("linux-bridge"), "not JSON") is None
