"""What a virtual Huawei switch answers to `display` is read by the maintained templates, row by row."""

import pytest
from ntc_templates.parse import parse_output

from tagloom import platforms
from tagloom.lab import huawei_pages
from tagloom.lab.device import Device
from tagloom.records.switch_state import Membership

MAC = 0x02_00_00_00_00_0A


@pytest.fixture
def device():
    made = Device("s0", platforms.load("huawei-s5731-s24t4x"), render=str, carrier=lambda port: port <= 2)
    made.editor.vlans |= {10: "", 20: "storage"}
    made.editor.members[10] = dict.fromkeys(range(1, 7), Membership.UNTAGGED) | {25: Membership.TAGGED}
    made.editor.members[20] = {}
    made.editor.enabled[2] = False
    made.editor.entries[10, MAC] = (2,)
    made.learned[10, MAC + 1] = 25
    return made


def rows(command, page):
    return parse_output(platform="huawei_vrp", command=command, data="\n".join(page.lines) + "\n")


def test_links_are_up_down_or_shut(device):
    found = {row["interface"]: row["phy"] for row in rows("display interface brief", huawei_pages.interfaces(device))}
    assert len(found) == device.platform.ports
    states = {1: "up", 2: "up", 3: "*down", 4: "down"}
    assert [found[f"GigabitEthernet0/0/{port}"] for port in states] == list(states.values())
    assert found["XGigabitEthernet0/0/1"] == "down"


def test_vlans_have_their_members_line_by_line(device):
    page = huawei_pages.vlans(device)
    found = rows("display vlan", page)
    assert {row["vlan_id"] for row in found} == {"1", "10", "20"}
    untagged = next(row for row in found if (row["vlan_id"], row["mode"]) == ("10", "UT"))
    assert untagged["interface"] == [f"GE0/0/{port}" for port in range(1, 7)]
    assert untagged["interface_status"] == ["U", "U", "D", "D", "D", "D"]
    assert "             TG:XGE0/0/1(D)" in page.lines
    assert next(row["vlan_description"] for row in found if row["vlan_id"] == "20") == "storage"


def test_entries_are_static_or_learnt(device):
    found = [tuple(row.values()) for row in rows("display mac-address", huawei_pages.addresses(device))]
    assert found == [
        ("0200-0000-000a", "GE0/0/2", "static", "10"),
        ("0200-0000-000b", "XGE0/0/1", "dynamic", "10"),
    ]


def test_the_model_is_told(device):
    assert "S5731-S24T4X" in "\n".join(huawei_pages.parts(device).lines)
    assert "S5731" in "\n".join(huawei_pages.version(device).lines)
