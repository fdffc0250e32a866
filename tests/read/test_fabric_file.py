"""The fabric file of the contract: families, ports in their order, parts that override, every error at once."""

from pathlib import Path

import pytest

from fabrics import ROOT, make_fabric
from tagloom.errors import InputError
from tagloom.read.fabric_file import parse_fabric, read_fabric
from tagloom.read.fabric_text import format_fabric, format_family

ERRORS = sorted((ROOT / "tests" / "golden" / "errors").glob("*.yml"))


@pytest.mark.parametrize(
    ("family", "dims", "options", "switches", "links", "hosts"),
    [
        ("mesh", (4, 4), {}, 16, 24, 16),
        ("torus", (4, 4), {"parallel": 2}, 16, 64, 16),
        ("torus", (4, 2), {"parallel": 3, "hosts": 2}, 8, 36, 16),  # a ring of two has one link, not two
        ("hypercube", (4,), {}, 16, 32, 16),
        ("fat-tree", (2, 4, 2), {"hosts": 2}, 14, 24, 16),  # 8 + 4 + 2 switches
        ("fat-tree", (2, 4, 3), {}, 60, 112, 32),
        ("clos", (4, 4), {"hosts": 2}, 8, 16, 16),
        ("complete", (6,), {"parallel": 2, "hosts": 11}, 6, 30, 66),
        ("tree", (3, 2), {}, 13, 12, 13),
        ("ring", (5,), {}, 5, 5, 5),
        ("dragonfly", (19, 6), {}, 114, 456, 114),
    ],
)
def test_a_family_has_the_switches_links_and_hosts_the_contract_says(family, dims, options, switches, links, hosts):
    fabric = make_fabric(family, *dims, **options)
    assert (len(fabric.switches), len(fabric.links), len(fabric.hosts)) == (switches, links, hosts)
    assert [s.name for s in fabric.switches] == [f"s{i}" for i in range(switches)]
    assert [h.name for h in fabric.hosts] == [f"h{i}" for i in range(hosts)]


def test_ports_run_by_dimension_minus_before_plus_parallel_links_together_then_hosts():
    fabric = make_fabric("torus", 4, 4, parallel=2, model="powerconnect-5324")
    at_s5 = {link.a_port: link.b for link in fabric.links if link.a == 5}
    at_s5 |= {link.b_port: link.a for link in fabric.links if link.b == 5}
    assert [at_s5[p] for p in range(1, 9)] == [4, 4, 6, 6, 1, 1, 9, 9]
    assert fabric.hosts[5].port == 9


def test_an_edge_of_a_mesh_leaves_no_gap_in_its_port_numbers():
    fabric = make_fabric("mesh", 3, 3)
    for s, ports in enumerate(fabric.used_ports):
        assert list(ports) == list(range(1, len(ports) + 1)), f"s{s}"


def test_the_first_dimension_runs_fastest():
    fabric = make_fabric("mesh", 4, 2)
    assert [s.at for s in fabric.switches[:5]] == [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)]


def test_every_switch_of_a_fat_tree_has_its_links_up_and_down():
    fabric = make_fabric("fat-tree", 2, 4, 3)
    level = [s.at[0] for s in fabric.switches]
    up, down = [0] * 60, [0] * 60
    for link in fabric.links:
        low, high = sorted((link.a, link.b), key=lambda s: level[s])
        assert level[high] == level[low] + 1
        up[low] += 1
        down[high] += 1
    assert [up[s] for s in range(60)] == [2 if lv < 3 else 0 for lv in level]
    assert [down[s] for s in range(60)] == [4 if lv > 0 else 0 for lv in level]


def test_two_groups_of_a_dragonfly_share_exactly_one_global_link():
    fabric = make_fabric("dragonfly", 7, 3)
    between = [tuple(sorted((fabric.switches[x.a].at[0], fabric.switches[x.b].at[0]))) for x in fabric.links]
    across = [pair for pair in between if pair[0] != pair[1]]
    assert len(across) == len(set(across)) == 7 * 6 // 2


def test_explicit_parts_add_to_and_override_the_family():
    fabric = parse_fabric(
        """
name: parts
shape: {family: mesh, dims: [2, 2], hosts: 1}
switches:
  s0: {model: powerconnect-6248, address: 192.0.2.10}
  extra: {}
hosts:
  h0: {mac: "02:aa:00:00:00:01"}
  guest: {switch: extra, port: g9}
links:
  - {ends: ["s0:1/g1", "s1:g1"], speed: 100, state: down}
  - ["extra:g1", "s3:g20"]
""",
        "test",
    )
    assert [s.model for s in fabric.switches] == ["powerconnect-6248", *["powerconnect-5324"] * 4]
    assert fabric.switches[0].address == "192.0.2.10"
    assert fabric.hosts[0].mac == 0x02AA00000001
    assert (fabric.hosts[4].name, fabric.hosts[4].switch, fabric.hosts[4].port) == ("guest", 4, 9)
    overridden = [link for link in fabric.links if not link.up]
    assert [(x.a, x.b, x.speed_mbps) for x in overridden] == [(0, 1, 100)]
    assert len(fabric.links) == 5


@pytest.mark.parametrize("family", [("mesh", 3, 2), ("torus", 4, 4), ("fat-tree", 2, 4, 2), ("dragonfly", 3, 2)])
def test_a_fabric_written_out_in_full_reads_back_equal(family):
    fabric = make_fabric(*family, parallel=2, hosts=2, model="powerconnect-6248", extra="vlans: {first: 300}\n")
    again = parse_fabric(format_fabric(fabric), "again")
    assert (again.switches, again.hosts, again.links, again.ports) == (
        fabric.switches,
        fabric.hosts,
        fabric.links,
        fabric.ports,
    )
    assert (again.shape, again.first_vlan) == (fabric.shape, 300)


@pytest.mark.parametrize("path", ERRORS, ids=lambda p: p.stem)
def test_a_broken_file_gets_every_finding_at_once_with_its_line(path: Path):
    """Golden messages: change them only on purpose, and read them as an operator would."""
    with pytest.raises(InputError) as caught:
        parse_fabric(path.read_text(), path.name)
    assert str(caught.value) + "\n" == path.with_suffix(".txt").read_text()


@pytest.mark.parametrize("text", ["", "- a list", "name: [", "\x00", "shape: {family: torus, dims: [4, 4]"])
def test_what_is_no_fabric_at_all_is_a_finding_too(text):
    with pytest.raises(InputError):
        parse_fabric(text, "test")


def test_a_missing_file_is_a_finding(tmp_path):
    with pytest.raises(InputError, match="expected a readable fabric file"):
        read_fabric(tmp_path / "none.yml")


@pytest.mark.parametrize(
    ("family", "dims", "words"),
    [
        ("fat-tree", (3, 4, 2), "divide"),
        ("fat-tree", (2, 4), "up down levels"),
        ("dragonfly", (6, 2), "multiple"),
        ("torus", (4000, 4000), "at most"),
        ("hypercube", (40,), "at most"),
        ("star", (4,), "one of"),
        ("mesh", (0, 4), "from 1"),
    ],
)
def test_dims_that_make_no_fabric_are_a_finding(family, dims, words):
    with pytest.raises(InputError, match=r"expected .*") as caught:
        format_family("x", family, dims, 1, 1, "powerconnect-5324")
    assert words in str(caught.value)


def test_every_inventory_reads_and_asks_for_no_more_ports_than_there_are():
    sizes = {}
    for path in sorted((ROOT / "inventory").glob("*/fabric.yml")):
        if path.parent.name != "lab":
            fabric = read_fabric(path)
            sizes[path.parent.name] = (len(fabric.switches), len(fabric.links), len(fabric.hosts))
    assert sizes == {
        "misc": (6, 30, 66),
        "supernova": (8, 36, 225),
        "supernova64-5324": (8, 60, 64),
        "supernova64-6248": (8, 60, 64),
        "testbed": (16, 64, 16),
    }


@pytest.mark.parametrize("name", ["all", "ungrouped", "localhost", "powerconnect_5324", "n_series"])
def test_a_switch_is_not_called_like_a_host_or_group_of_ansibles_own(name):
    with pytest.raises(InputError) as raised:
        parse_fabric(f'shape: {{family: ring, dims: [3]}}\nswitches: {{"{name}": {{}}}}\n', "f")
    assert str(raised.value.findings[0]) == (
        f"f:2  switches.{name}: expected a name that is no host or group of Ansible's own, actual {name!r}"
    )


@pytest.mark.parametrize("name", ["a:b", "!x", "&x", "~x", "x,y", "x[0]", "x*", "-x", "a b", "{{ x }}"])
def test_a_switch_is_not_called_like_a_pattern_of_ansibles(name):
    with pytest.raises(InputError, match="a name of letters, digits, dot, hyphen, underscore"):
        parse_fabric(f'shape: {{family: ring, dims: [3]}}\nswitches: {{"{name}": {{}}}}\n', "f")


@pytest.mark.parametrize(
    "address",
    [
        *("", "{{ lookup('pipe', 'id') }}", "10.0.0.1; id", "a b", "a:b", "s0:0", "s0:70000", "[s0]:22"),
        *("2001:db8::g", "[2001:db8::1", "fe80::1%{{ x }}", "-oProxyCommand=id", "a..b", "a\\n", "s0:²"),
    ],
)
def test_an_address_is_the_name_of_a_host_or_an_ip_address(address):
    with pytest.raises(InputError) as raised:
        parse_fabric(f'shape: {{family: ring, dims: [3]}}\nswitches: {{s1: {{address: "{address}"}}}}\n', "f")
    assert [finding.expected for finding in raised.value.findings] == ["HOST or HOST:PORT, a name or an IP address"]


@pytest.mark.parametrize(
    "address", ["s1", "s_1.rack.example.", "192.0.2.1", "192.0.2.1:22", "2001:db8::1", "[2001:db8::1]:22", "fe80::1%e0"]
)
def test_every_spelling_of_an_address_is_taken(address):
    text = f'shape: {{family: ring, dims: [3]}}\nswitches: {{s1: {{address: "{address}"}}}}\n'
    assert parse_fabric(text, "f").switches[1].address == address
