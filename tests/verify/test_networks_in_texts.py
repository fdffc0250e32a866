"""Texts by which a frame would come from one network to another are found, with the frame and its way."""

import pytest

FABRIC = "name: lab\nshape: {family: mesh, dims: [3], hosts: 2}\nnetworks: {compute: [h0, h2, h4], storage: [h1, h3]}\n"
JOINED = "interface ethernet g4\nswitchport general allowed vlan add 101 untagged"
TAGGED = "interface range ethernet g(3-4)\nswitchport general acceptable-frame-type untagged-only\nexit\n"


@pytest.fixture
def build(tmp_path, answer):
    fabric = tmp_path / "fabric.yml"
    fabric.write_text(FABRIC, "utf-8")
    status, plan = answer("plan", fabric, "-o", tmp_path / "build")
    assert (status, plan["isolated"], plan["leaks"]) == (0, True, [])
    assert {each["name"]: each["pairs"] for each in plan["networks"]} == {"compute": 6, "storage": 2, "default": 0}
    return tmp_path / "build"


def edit(build, switch, *changes):
    path = build / "configs" / f"{switch}.cfg"
    text = path.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def test_the_texts_of_a_plan_are_isolated_and_no_harm_comes_of_tags_where_ports_would_take_them(build, answer):
    assert answer("verify", build)[0] == 0
    edit(build, "s1", (TAGGED, ""))
    status, proof = answer("verify", build)
    assert (status, proof["isolated"], proof["tagged_frames_ports"]) == (0, True, 2)


def test_a_port_in_a_vlan_of_another_network_is_a_leak(build, answer):
    edit(build, "s1", (JOINED, JOINED.replace("101", "100-101")))
    status, proof = answer("verify", build)
    assert (status, proof["proven"], proof["isolated"]) == (1, False, False)
    assert proof["leaks"] == [
        {
            "source": "h2",
            "network": "compute",
            "destination": "h3",
            "other": "storage",
            "tag": 0,
            "way": ["s1:g4 (VLAN 100)"],
        }
    ]
    assert {"where": "h2 -> h3", "expected": "no frame of network compute at ports of network storage"}.items() <= {
        key: value for finding in proof["findings"] for key, value in finding.items()
    }.items()


def test_a_tag_that_a_port_takes_is_a_leak_where_it_does_not_filter(build, answer):
    no_filter = "interface ethernet g4\nswitchport general ingress-filtering disable\nexit\n"
    edit(build, "s1", (TAGGED, no_filter))
    leaks = answer("verify", build)[1]["leaks"]
    assert [(leak["source"], leak["network"], leak["other"], leak["tag"]) for leak in leaks] == [
        ("h3", "storage", "compute", 100)
    ]
