"""Networks of a fabric file: each host belongs to one, and what is wrong with them is found at once."""

import pytest

from fabrics import make_fabric
from tagloom.errors import InputError
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric

THREE = "networks: {storage: [h0, h3], compute: [h1]}\n"


def members(fabric):
    return {name: [fabric.hosts[h].name for h in mine.tolist()] for name, mine in fabric.networks.items()}


def test_hosts_that_no_network_names_are_the_network_default():
    fabric = make_fabric("ring", 5, extra=THREE)
    assert members(fabric) == {"compute": ["h1"], "storage": ["h0", "h3"], "default": ["h2", "h4"]}
    assert [[host.name for host in part.hosts] for part in fabric.by_network] == [["h1"], ["h0", "h3"], ["h2", "h4"]]
    assert all(part.links == fabric.links for part in fabric.by_network)


def test_without_networks_all_hosts_are_one():
    fabric = make_fabric("ring", 3)
    assert members(fabric) == {"": ["h0", "h1", "h2"]}
    assert fabric.by_network == (fabric,)


@pytest.mark.parametrize("extra", [THREE, "networks: {all: [h0, h1, h2, h3, h4]}\n", "networks: {default: [h0]}\n"])
def test_networks_are_read_back_as_they_were_written(extra):
    fabric = make_fabric("ring", 5, extra=extra)
    assert parse_fabric(format_fabric(fabric), "again").hosts == fabric.hosts
    less = fabric.with_switches_down({0, 1, 2})
    assert parse_fabric(format_fabric(less), "again").hosts == less.hosts


def test_everything_wrong_with_networks_is_found_at_once():
    extra = "networks:\n  a: [h0, h9, h0]\n  b: [h1, h0]\n  c: []\n  d: 3\n"
    with pytest.raises(InputError) as caught:
        make_fabric("ring", 3, extra=extra)
    assert [str(finding) for finding in caught.value.findings] == [
        "test:5  networks.a[1]: expected a host of this fabric, actual 'h9'",
        "test:5  networks.a[2]: expected each host once, actual h0 twice",
        "test:6  networks.b[1]: expected one network for the port of h0, actual a and b",
        "test:7  networks.c: expected at least one host, actual none",
        "test:8  networks.d: expected a list, actual 3",
    ]
