"""`tagloom bootstrap` writes files to paste, and names the switches for which it knows nothing to paste."""

from dataclasses import replace

import pytest

from fabrics import make_fabric
from tagloom import platforms
from tagloom.read.fabric_text import format_fabric

WORDS = ("--network", "192.0.2.0/24", "-o", "first")


def written(path, *models):
    """Write a ring of switches of some models, which have addresses."""
    ring = make_fabric("ring", len(models))
    switches = tuple(
        replace(switch, model=model, address=f"192.0.2.{s + 1}")
        for s, (switch, model) in enumerate(zip(ring.switches, models, strict=True))
    )
    ports = tuple(platforms.load(model).ports for model in models)
    path.write_text(format_fabric(replace(ring, switches=switches, ports=ports, shape=None)), "utf-8")
    return path


def test_switches_that_nothing_is_known_to_be_pasted_at_are_named(tmp_path, run, answer, monkeypatch):
    monkeypatch.chdir(tmp_path)
    models = ("powerconnect-5324", "sf-0420g", "sf-0420g")
    fabric = written(tmp_path / "fabric.yml", *models)
    status, page = answer("bootstrap", fabric, *WORDS)
    assert (status, page["left_out"]) == (0, ["s1", "s2"])
    assert [*map(str, page["written"])] == ["first/s0.txt", "first/labels.html"]
    said = run("bootstrap", fabric, *WORDS)[1]
    assert "by hand   s1, s2: tagloom knows no first lines of sf-0420g" in said
    assert "paste" in said
    assert "next" in said


def test_where_nothing_can_be_pasted_nothing_is_named_next(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("bootstrap", written(tmp_path / "fabric.yml", *["sf-0420g"] * 3), *WORDS)[1]
    assert "by hand" in said
    assert "next" not in said
    assert "replace" not in said


INVENTORY = """
all:
  vars: {ansible_user: ops, ansible_password: "two words"}
  hosts: {s0: {ansible_host: 192.0.2.1}, s1: {ansible_host: 192.0.2.2}}
"""
LINES = {"bootstrap": ("--serial", "/dev/null", "--switch", "s0"), "record": ("s0",), "replace": ("s0",)}


@pytest.fixture
def site(tmp_path):
    """Write an inventory of two of three switches, beside the fabric file of all."""
    fabric = written(tmp_path / "fabric.yml", *["powerconnect-5324"] * 3)
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    return fabric


def places(page):
    return [each["where"] for each in page["findings"]]


@pytest.mark.slow
def test_what_is_wrong_of_all_switches_is_told_at_once(site, answer):
    words = ("bootstrap", site, "-i", site.parent / "hosts.yml", "--secrets", *WORDS)
    status, page = answer(*words)
    assert (status, places(page)) == (2, ["s0: ansible_password", "s1: ansible_password", "-i"])
    assert page["findings"][2]["expected"] == "an inventory with a host s2"
    assert places(answer(*words, "--user", "a b")[1])[:2] == ["s0: ansible_password", "--user"]
    status, page = answer("bootstrap", site, "-i", site.parent / "none", "--network", "x", "-o", "first")
    assert (status, places(page)) == (2, ["--network", "-i"])


@pytest.mark.parametrize("command", ["bootstrap", "record", "replace"])
@pytest.mark.parametrize("baud", ["0", "-9600", "9" * 20])
def test_a_speed_that_no_line_has_is_a_finding(site, answer, command, baud):
    fabric = [site, *WORDS[:2]] if command == "bootstrap" else []
    more = ["-o", site.parent / "s0.json"] if command == "record" else []
    status, page = answer(command, *LINES[command], *fabric, *more, "-i", site.parent / "hosts.yml", "--baud", baud)
    assert status == 2
    assert "--baud" in places(page)


@pytest.mark.parametrize("place", ["", "fabric.yml/s0.json"], ids=["a directory", "below a file"])
def test_a_transcript_that_has_no_place_is_told_before_a_switch_is_asked(site, answer, place):
    (site.parent / "tagloom.yml").write_text("plugin: tagloom.network.fabric\nfabric: fabric.yml\n")
    words = ("record", "s0", "-i", site.parent, "--try", "--ports", "g20,g20", "--vlans", "3001,3002")
    status, page = answer(*words, "-o", site.parent / place)
    assert (status, places(page)) == (2, ["--ports", str(site.parent / place)])


def test_a_switch_that_the_inventory_does_not_know_is_not_replaced(site, answer):
    (site.parent / "lone.yml").write_text(INVENTORY.replace("two words", "secret"))
    assert answer("plan", site, "-o", site.parent / "b")[0] == 0
    status, page = answer("replace", "s2", "--build", site.parent / "b", "-i", site.parent / "lone.yml")
    assert (status, places(page)) == (2, ["-i"])
