"""A report speaks per network: a row for each of the page's table, VLANs by network, and leaks."""

import re

import pytest

from tagloom.pipeline.reporting import report

FABRIC = "shape: {family: mesh, dims: [3], hosts: 2}\nnetworks: {compute: [h0, h2, h4], storage: [h1, h3]}\n"
TRAFFIC = "# seconds: 10\nsource,destination,bytes\nh0,h4,5000\nh1,h3,7000\nh3,h1,3000\n"


@pytest.fixture
def build(tmp_path, answer):
    (tmp_path / "fabric.yml").write_text(FABRIC, "utf-8")
    (tmp_path / "t.csv").write_text(TRAFFIC, "utf-8")
    assert answer("plan", tmp_path / "fabric.yml", "-o", tmp_path / "build")[0] == 0
    return tmp_path / "build"


def rows_of(page):
    table = re.search(r'<table id="network-table">.*?</table>', page.read_text("utf-8"), re.DOTALL)[0]
    return [
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]
    ]


def test_the_page_has_a_row_for_each_network(build, tmp_path, answer):
    page = tmp_path / "report.html"
    status, said = answer("report", build, "-o", page)
    assert status == 0
    assert {name: (of["hosts"], of["pairs"], of["vlans"]) for name, of in said["networks"].items()} == {
        "compute": (3, 6, [100]),
        "storage": (2, 2, [101]),
        "default": (1, 0, [102]),
    }
    assert {name: (of["max_channel_load"], of["shared_channels"]) for name, of in said["networks"].items()} == {
        "compute": (2, 2),
        "storage": (1, 2),
        "default": (0, 0),
    }
    assert [row[:4] for row in rows_of(page)] == [
        ["compute", "3", "6", "100"],
        ["storage", "2", "2", "101"],
        ["default", "1", "0", "102"],
    ]
    assert {of["seconds_predicted"] for of in said["networks"].values()} == {None}, "no traffic, no run"
    text = page.read_text("utf-8")
    assert "No frame of a network at ports of others" in text
    assert "VLAN 101 of storage (1 links)" in text


def test_networks_that_share_a_port_have_each_their_own_vlans(tmp_path, answer):
    networks = "{compute: [h0, h2, h4], storage: {hosts: [h1, h3], tagged: [h0, h4], vlan: 20}}"
    shape = "shape: {family: mesh, dims: [3], hosts: 2}\n"
    (tmp_path / "trunk.yml").write_text(f"{shape}networks: {networks}\n", "utf-8")
    assert answer("plan", tmp_path / "trunk.yml", "-o", tmp_path / "trunk")[0] == 0
    said = answer("report", tmp_path / "trunk", "-o", tmp_path / "report.html")[1]["networks"]
    proven = answer("verify", tmp_path / "trunk")[1]["networks"]
    assert {name: of["vlans"] for name, of in said.items()} == {"compute": [100], "storage": [20], "default": [101]}
    assert {of["name"]: of["vlans"] for of in proven}["compute"] == [100]


def test_with_traffic_the_page_says_when_each_networks_bytes_are_moved(build, tmp_path, answer):
    page = tmp_path / "report.html"
    status, said = answer("report", build, "-o", page, "--traffic", tmp_path / "t.csv")
    assert status == 0
    assert {name: of["max_channel_load"] for name, of in said["networks"].items()} == {
        "compute": 5000,
        "storage": 7000,
        "default": 0,
    }
    forecast = answer("predict", build, "--traffic", tmp_path / "t.csv")[1]["networks"]
    for name, of in said["networks"].items():
        assert of["shared_channels"] == forecast[name]["shared_channels"]
        assert of["max_channel_load"] == forecast[name]["max_channel_load_after"]
        moved = [forecast[name][f"communication_seconds_{when}"] for when in ("before", "after")]
        assert [of[f"communication_seconds_{when}"] for when in ("before", "after")] == moved
        for key in ("volume_bytes", "seconds_base", "seconds_predicted", "seconds_predicted_low"):
            assert of[key] == forecast[name][key], key
    assert [said["networks"][name]["seconds_base"] for name in ("compute", "storage", "default")] == [10, 10, None]
    compute, storage, default = rows_of(page)
    assert [row[11:] for row in (compute, storage, default)] == [["10 s", "10 s"], ["10 s", "10 s"], ["-", "-"]]
    assert (compute[8], storage[8]) == ("5,000", "10,000")
    assert storage[6].startswith("s0:")
    assert storage[5] == "58 %"


def test_a_leak_is_on_the_page_and_the_answer_is_no(build, tmp_path, answer):
    path = build / "configs" / "s1.cfg"
    line = "interface ethernet g4\nswitchport general allowed vlan add 101 untagged"
    path.write_text(path.read_text("utf-8").replace(line, line.replace("101", "100-101")), "utf-8")
    page = tmp_path / "report.html"
    status, _ = answer("report", build, "-o", page)
    assert status == 1
    text = page.read_text("utf-8")
    assert "1 leak" in text
    assert "no frame of network compute at ports of network storage" in text


def test_a_fabric_of_one_network_has_no_table_of_them(tmp_path, answer):
    (tmp_path / "fabric.yml").write_text("shape: {family: ring, dims: [4]}\n", "utf-8")
    assert answer("plan", tmp_path / "fabric.yml", "-o", tmp_path / "build")[0] == 0
    status, said = answer("report", tmp_path / "build", "-o", tmp_path / "report.html")
    assert (status, said["networks"]) == (0, {})
    assert 'id="networks"' not in (tmp_path / "report.html").read_text("utf-8")


MIXED = """model: linux-bridge
shape: {family: ring, dims: [4], hosts: 2}
links:
- {ends: ["s0:g10", "s1:g10"], speed: 100}
- {ends: ["s1:g11", "s2:g11"], speed: 10}
- {ends: ["s2:g12", "s3:g12"], state: down}
- {ends: ["s0:g13", "s2:g13"], speed: 100}
"""
BONDED = "model: powerconnect-5324\nshape: {family: mesh, dims: [2, 2], parallel: 3, hosts: 2, lag: true}\n"
TENANTS = "networks: {compute: [h0, h2, h4, h6, h7], storage: [h1, h3, h5]}\n"
SENT = "# seconds: 7\nsource,destination,bytes\nh0,h4,12345671\nh2,h7,3000001\nh3,h1,9999991\nh5,h3,7777777\nh6,h2,11\n"


def busiest(directory, traffic=None):
    """Return the load of the busiest channel that a build's report draws."""
    return float(report(directory, at_seconds=0.0, traffic_file=traffic).load.max())


@pytest.mark.parametrize(
    ("fabric", "assignment"),
    [
        (MIXED, "fixed"),
        (MIXED + TENANTS, "fixed"),
        (MIXED + TENANTS, "pinned"),
        (BONDED, "fixed"),
        (BONDED + TENANTS, "fixed"),
    ],
    ids=["speeds", "speeds-networks", "speeds-networks-pinned", "aggregated", "aggregated-networks"],
)
def test_every_command_counts_the_same_load_to_the_last_digit(fabric, assignment, tmp_path, answer):
    path, traffic, plain, build = (tmp_path / name for name in ("fabric.yml", "t.csv", "plain", "build"))
    path.write_text(fabric, "utf-8")
    traffic.write_text(SENT, "utf-8")
    pairs = answer("plan", path, "--assignment", assignment, "-o", plain)[1]
    assert busiest(plain) == pairs["max_channel_load"] == int(pairs["max_channel_load"])
    assert pairs["max_channel_load_bound"] <= pairs["max_channel_load_bound_of_paths"] <= pairs["max_channel_load"]
    planned = answer("plan", path, "--assignment", assignment, "--traffic", traffic, "-o", build)[1]
    chosen = answer("regulate", path, "--assignment", assignment, "--traffic", traffic)[1]
    drawn = answer("report", build, "--traffic", traffic, "-o", tmp_path / "report.html")[1]
    forecast = answer("predict", build, "--traffic", traffic)[1]
    assert round(busiest(build, traffic)) == planned["max_channel_load"] == chosen["max_channel_load_before"]
    for name, network in chosen["networks"].items():
        exact = drawn["networks"][name]["max_channel_load"]
        assert exact == forecast["networks"][name]["max_channel_load_after"]
        assert round(exact) == network["max_channel_load_before"]
