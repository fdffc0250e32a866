"""The fabric file of the contract: families, ports in their order, parts that override, every error at once."""

import dataclasses

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import InputError
from tagloom.read.fabric_file import parse_fabric, read_fabric
from tagloom.read.fabric_text import format_fabric, format_family
from tagloom.read.snmp_settings import SnmpSettings
from tagloom.report import terminal

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


def test_former_names_of_switches_are_checked_all_at_once():
    with pytest.raises(InputError) as caught:
        make_fabric("ring", 4, extra="renamed: {a: s9, b: s1, c: s1, s0: s2, d: s3}\n")
    said = [str(finding).partition("renamed.")[2] for finding in caught.value.findings]
    assert sorted(said) == [
        "a: expected a switch of this fabric, actual 's9'",
        "b: expected one former name of s1, actual 2 of them",
        "c: expected one former name of s1, actual 2 of them",
        "s0: expected a name that no switch of this fabric has kept, actual 's0'",
    ]
    assert make_fabric("ring", 4, extra="renamed: {s0: s1, s1: s0, a: s2}\n").renamed == (
        ("a", "s2"),
        ("s0", "s1"),
        ("s1", "s0"),
    )


@pytest.mark.parametrize("path", ERRORS, ids=lambda p: p.stem)
def test_a_broken_file_gets_every_finding_at_once_with_its_line(path, golden):
    """Golden messages: change them only on purpose, and read them as an operator would."""
    with pytest.raises(InputError) as caught:
        parse_fabric(path.read_text(), path.name)
    golden.check(f"errors/{path.stem}.txt", str(caught.value) + "\n")


def test_no_golden_message_is_one_of_a_file_that_is_gone(golden):
    golden.check_names("errors", [f"{path.stem}{suffix}" for path in ERRORS for suffix in (".yml", ".txt")])


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
        "own-lines": (4, 4, 4),
        "supernova": (8, 36, 225),
        "supernova128": (8, 36, 128),
        "supernova128-complete": (8, 56, 128),
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
        *("192.0.2.311", "192.0.2.311:22", "192.0.2", "192.0.2.1.5", "192.0.2.010", "192.0.2.1.", "3221225985"),
        *("0xC0000201", "0xC0.0.2.0x1", "rack.7"),
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


def test_an_address_that_is_none_is_named_with_its_line():
    text = f"{RING}switches:\n  s1: {{address: 192.0.2.11}}\n  s2: {{address: 192.0.2.311}}\n"
    rule = "expected HOST or HOST:PORT, a name or an IP address, actual '192.0.2.311'"
    assert findings(text) == [f"f:4  switches.s2.address: {rule}"]


def test_a_switch_without_an_address_may_have_any_name():
    fabric = parse_fabric('switches: {"1": {}, "7.1": {}}\nlinks: [["1:g1", "7.1:g1"]]\n', "f")
    assert SnmpSettings(version="2c", community="c").agents(fabric) == {"1": ("1", 161), "7.1": ("7.1", 161)}


def findings(text):
    with pytest.raises(InputError) as raised:
        parse_fabric(text, "f")
    return [str(finding) for finding in raised.value.findings]


RING = "shape: {family: ring, dims: [4]}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shape: {family: ring, dims: [4], paralel: 2}\n", "shape.paralel: expected {} (did you mean parallel?)"),
        (f"{RING}swiches: {{}}\n", "swiches: expected {} (did you mean switches?)"),
        (f"{RING}switches: {{s0: {{adress: s0}}}}\n", "switches.s0.adress: expected {} (did you mean address?)"),
        (f"{RING}colour: red\n", "colour: expected {}, actual 'colour'"),
    ],
)
def test_an_unknown_key_gets_the_nearest_known(text, expected):
    (found,) = findings(text)
    assert expected.format("a key the fabric file has") in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{RING}vlans: {{first: 5000}}\n", "vlans.first: expected less than or equal to 4000, actual 5000"),
        (f"{RING}switches: {{s0: {{state: off}}}}\n", "switches.s0.state: expected 'up' or 'down', actual False"),
    ],
)
def test_what_is_expected_is_a_sentence_of_ours(text, expected):
    assert [found.partition("  ")[2] for found in findings(text)] == [expected]


@pytest.mark.parametrize("shape", ["{family: rign, dims: [4]}", "{family: mesh, dims: [4, 0]}"])
def test_what_needs_no_family_is_told_beside_a_shape_that_cannot_be_read(shape):
    text = (
        f"name: f\nmodel: powerconnect-5324\nshape: {shape}\nswitches: {{s1: {{address: 'a b'}}}}\n"
        'hosts: {h0: {mac: "zz"}, h9: {switch: s99, port: g2, mac: "yy"}}\n'
    )
    with pytest.raises(InputError) as told:
        parse_fabric(text, "f.yml")
    where = [finding.where.split()[1] for finding in told.value.findings]
    assert where[0].startswith("shape.")
    assert where[1:] == ["switches.s1.address", "hosts.h0.mac", "hosts.h9.mac"]


def test_a_host_at_an_unknown_switch_has_its_address_checked_too():
    text = (
        'name: f\nmodel: powerconnect-5324\nshape: {family: ring, dims: [4]}\nhosts: {h9: {switch: s99, mac: "yy"}}\n'
    )
    with pytest.raises(InputError) as told:
        parse_fabric(text, "f.yml")
    assert [finding.where.split()[1] for finding in told.value.findings] == ["hosts.h9.switch", "hosts.h9.mac"]


def test_all_of_a_shape_is_told_in_one_pass():
    found = findings("shape: {family: ring, dims: [4], paralel: 2, hosts: 600}\nvlans: {first: 1}\n")
    assert [each.partition("  ")[2].partition(":")[0] for each in found] == [
        "shape.hosts",
        "shape.paralel",
        "vlans.first",
    ]


@pytest.mark.parametrize("own", [False, True])
def test_one_misspelt_model_is_one_finding(own):
    links = 'links: [["a:g1", "b:g1"], ["b:g2", "c:g1"]]\nhosts: {h: {switch: a, port: g2}}\n'
    model = "powerconnect-53244"
    text = f"switches: {{a: {{model: {model}}}, b: {{model: {model}}}, c: {{model: {model}}}}}\n{links}"
    text = text if own else f"model: {model}\nswitches: {{a: , b: , c: }}\n{links}"
    (found,) = findings(text)
    assert "(did you mean powerconnect-5324?), actual 'powerconnect-53244'" in found


def test_a_table_of_traffic_given_as_a_fabric_is_one_line():
    rows = "".join(f"h{a},h{b},{a * b}\n" for a in range(40) for b in range(40))
    (found,) = findings(f"# seconds: 3600\nsource,destination,bytes\n{rows}")
    assert found.startswith("f: expected a mapping with name, model, shape, switches, hosts, links, actual 'source,")
    assert len(found.splitlines()) == 1
    assert len(found) < 300


@pytest.mark.parametrize("second", ["s0.example", "S0.example", "s0.example:22"])
def test_two_switches_behind_one_address_are_a_finding(second):
    switches = f's0: {{address: s0.example}}, s1: {{address: "{second}"}}, s2: {{address: "s0.example:23"}}'
    text = f"{RING}switches: {{{switches}}}\n"
    assert findings(text) == [f"f:2  switches.s1.address: expected an address of its own, actual {second} (that of s0)"]


@pytest.mark.parametrize(
    "both",
    [
        ("2001:db8::1", "2001:DB8:0::1"),
        ("2001:db8::1", "[2001:db8::0001]:22"),
        ("192.0.2.1", "::ffff:192.0.2.1"),
        ("s0.example", "s0.example."),
    ],
)
def test_two_spellings_of_one_address_are_one_device(both):
    first, second = both
    text = f'{RING}switches: {{s0: {{address: "{first}"}}, s1: {{address: "{second}"}}}}\n'
    assert findings(text) == [f"f:2  switches.s1.address: expected an address of its own, actual {second} (that of s0)"]


def test_a_key_that_replaces_one_of_a_merge_stands_once():
    hosts = "hosts:\n  h0: &h {port: g9}\n  h1: {<<: *h, port: g8}\n  h2: {<<: [*h], port: g7}\n"
    assert [host.port for host in parse_fabric(RING + hosts, "f").hosts[:3]] == [9, 8, 7]
    (found,) = findings(f"{RING}{hosts}  h3: {{<<: *h, port: g8, port: g7}}\n")
    assert found == "f:6  hosts.h3.port: expected each key once, actual twice"
    (found,) = findings(f"{RING}{hosts}  h3: {{<<: *h, <<: *h}}\n")
    assert found == "f:6: expected YAML, actual << stands twice in one mapping"


def test_a_line_feed_in_a_key_does_not_begin_another_line():
    (found,) = findings(f'{RING}"x\\nall is well": 1\n')
    assert found.startswith("f:2  x\\x0aall is well: expected a key the fabric file has")


def test_a_dead_switch_may_leave_its_address_to_another():
    text = f"{RING}switches: {{s0: {{address: 192.0.2.1, state: down}}, s1: {{address: 192.0.2.1}}}}\n"
    assert [switch.address for switch in parse_fabric(text, "f").switches[:2]] == ["192.0.2.1"] * 2


@pytest.mark.parametrize("address", ["0.0.0.0", "255.255.255.255", "224.0.0.5", "::", "ff02::1", "[ff02::1]:22"])  # noqa: S104 - refused
def test_an_address_of_no_single_device_is_a_finding(address):
    (found,) = findings(f'{RING}switches: {{s0: {{address: "{address}"}}}}\n')
    assert found == f"f:2  switches.s0.address: expected the address of one device, actual {address!r}"


def test_a_host_without_a_port_or_with_no_cards_address_is_a_finding():
    assert findings(f'{RING}hosts: {{x: {{switch: s1}}, h0: {{mac: "00:00:00:00:00:00", port: g99}}}}\n') == [
        "f:2  hosts.x.port: expected the port of s1 that the host is plugged in, actual none",
        "f:2  hosts.h0.port: expected a port of PowerConnect 5324 (g1 to g24), actual 'g99'",
        "f:2  hosts.h0.mac: expected the address of a network card, actual 00:00:00:00:00:00",
    ]


def test_reserved_ports_are_left_out_by_families_and_hosts():
    fabric = parse_fabric(f"{RING}reserved: {{s0: [g1, g3], s2: [g24]}}\n", "f")
    assert fabric.used_ports == ((2, 4, 5), (1, 2, 3), (1, 2, 3), (1, 2, 3))
    assert fabric.reserved == ((0, 1), (0, 3), (2, 24))
    again = parse_fabric(format_fabric(fabric), "again")
    assert (again.links, again.hosts, again.reserved) == (fabric.links, fabric.hosts, fabric.reserved)


def test_a_reserved_port_that_is_named_is_a_finding():
    text = f'{RING}reserved: {{s0: [g9, g99], s9: [g1]}}\nhosts: {{h0: {{port: g9}}}}\nlinks: [["s0:g9", "s2:g9"]]\n'
    assert findings(text) == [
        "f:2  reserved.s0[1]: expected a port of PowerConnect 5324 (g1 to g24), actual 'g99'",
        "f:2  reserved.s9: expected a switch of this fabric, actual 's9'",
        "f:3  hosts.h0: expected a free port, actual s0:g9 (taken by links[0])",
        "f:4  links[0]: expected a free port, actual s0:g9 (reserved)",
    ]


def test_a_part_with_two_faults_is_left_out_once():
    text = f"{RING}hosts: {{'{'h' * 80}': {{mac: 1, port: 2}}}}\n"
    assert len(findings(text)) == 3


def test_addresses_that_tagloom_made_up_are_known_and_counted_wherever_they_are_read():
    real = "".join(f'  h{n}: {{mac: "00:1e:c9:00:00:0{n}"}}\n' for n in range(3))
    fabric = parse_fabric(f"{RING}hosts:\n{real}", "f")
    assert [host.invented for host in fabric.hosts] == [False, False, False, True]
    again = parse_fabric(format_fabric(fabric), "again")
    assert [host.invented for host in again.hosts] == [False, False, False, True]
    _, proof, _ = pipeline.plan(again, ROOT / "templates", texts=False)
    assert proof.proven
    assert proof.to_json()["invented_addresses"] == 1
    assert any("made up, of 1 of 4 hosts" in line for line in terminal.proof_lines(proof, 4))


def test_a_name_that_is_too_long_for_a_file_is_a_finding(tmp_path):
    with pytest.raises(InputError, match="File name too long"):
        read_fabric(tmp_path / ("f" * 300))


@pytest.mark.parametrize(
    ("model", "ends", "speed", "most"),
    [
        ("powerconnect-5324", ("g9", "g9"), 10000, 1000),
        ("powerconnect-5324", ("g9", "g9"), 2500, 1000),
        ("powerconnect-5324", ("g9", "g9"), 1000, 0),
        ("powerconnect-6248", ("1/g9", "1/g9"), 40000, 1000),
        ("powerconnect-8024", ("Te1/0/9", "Te1/0/9"), 10000, 0),
        ("powerconnect-8024", ("Te1/0/9", "Te1/0/9"), 40000, 10000),
        ("hpe-5130-24g-4sfp", ("XGE1/0/25", "GE1/0/9"), 10000, 1000),
        ("hpe-5700-48g-4xg", ("FGE1/0/53", "FGE1/0/53"), 40000, 0),
        ("mikrotik-crs326-24g-2s", ("ether9", "ether9"), 10000, 1000),
        ("mikrotik-crs326-24g-2s", ("sfp-sfpplus1", "sfp-sfpplus1"), 10000, 0),
        ("arista-7010t-48", ("Et48", "Et49"), 10000, 1000),
        ("arista-7050tx-64", ("Et48", "Et49/1"), 10000, 0),
        ("linux-bridge", ("swp9", "swp9"), 100000, 0),  # what its ports can do is the machine's own
    ],
)
def test_a_link_is_no_faster_than_the_ports_at_its_ends(model, ends, speed, most):
    a, b = ends
    text = (
        f"model: {model}\nswitches: {{s0: {{}}, s1: {{}}}}\nlinks: [{{ends: ['s0:{a}', 's1:{b}'], speed: {speed}}}]\n"
    )
    if not most:
        assert parse_fabric(text, "f").links[0].speed_mbps == speed
        return
    with pytest.raises(InputError) as error:
        parse_fabric(text, "f")
    (finding,) = error.value.findings
    assert finding.where.endswith("links[0].speed")
    assert finding.expected.startswith(f"at most {most}, the best speed of s")
    assert finding.actual == str(speed)


def test_a_bond_is_no_faster_than_its_slowest_port():
    text = """model: n-series
switches: {s0: {}, s1: {}}
links: [{ends: [["s0:Te1/0/1", "s0:Gi1/0/2"], ["s1:Te1/0/1", "s1:Te1/0/2"]], lag: true, speed: 10000}]
"""
    with pytest.raises(InputError, match="best speed of s0:Gi1/0/2"):
        parse_fabric(text, "f")


@pytest.mark.parametrize(
    "model", ["PowerConnect-8024F", "powerconnect 8024f", "Powerconnect_8024F", "Powerconnect 8024F"]
)
@pytest.mark.parametrize("family", ["ring", "Ring", "RING"])
def test_models_and_families_are_known_in_every_case_and_with_blanks(model, family):
    fabric = parse_fabric(
        f"name: r\nmodel: {model}\nshape: {{family: {family}, dims: [3], parallel: 1, hosts: 1}}\n", "r.yml"
    )
    assert {switch.model for switch in fabric.switches} == {"powerconnect-8024f"}


EXPLICIT = "shape: {family: ring, dims: [4], explicit: true}\n"
OWN_PORTS = 'links: [["a:g7", "b:g2"], ["b:g9", "c:g1"], ["c:g2", "d:g1"], ["d:g24", "a:g1"]]\n'
OR_ELSE = "(state: down for what is not cabled; or no shape)"
FOUR = "switches: {a: {}, b: {}, c: {}, d: {}}\n"


def test_an_explicit_family_has_the_ports_that_the_file_lists_and_no_others():
    fabric = parse_fabric(f"{EXPLICIT}{FOUR}{OWN_PORTS}hosts: {{h0: {{switch: c, port: g20}}}}\n", "f")
    assert [(link.a, link.a_port, link.b, link.b_port) for link in fabric.links] == [
        *((0, 7, 1, 2), (1, 9, 2, 1), (2, 2, 3, 1), (3, 24, 0, 1)),
    ]
    assert [switch.at for switch in fabric.switches] == [(0,), (1,), (2,), (3,)]
    assert [(host.name, host.switch, host.port) for host in fabric.hosts] == [("h0", 2, 20)]
    assert fabric.shape == make_fabric("ring", 4).shape
    again = parse_fabric(format_fabric(fabric), "again")
    assert all(getattr(again, each.name) == getattr(fabric, each.name) for each in dataclasses.fields(fabric))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"{EXPLICIT}switches: {{a: {{}}, b: {{}}, c: {{}}}}\n",
            "f:2  switches: expected the 4 switches of this ring, in its order; or no shape, actual 3",
        ),
        (
            f"{EXPLICIT}{FOUR}{OWN_PORTS.replace('d:g24', 'b:g24')}",
            f"f:3  links: expected 1 between d and a in this ring {OR_ELSE}, actual 0",
        ),
        (
            f"{EXPLICIT.replace('explicit', 'parallel: 2, explicit')}{FOUR}{OWN_PORTS}",
            f"f:3  links: expected 2 between a and b in this ring {OR_ELSE}, actual 1, and too few between 3 more",
        ),
    ],
)
def test_an_explicit_family_that_the_file_does_not_list_is_a_finding(text, said):
    assert said in findings(text)
