"""Lines nobody understands: a finding where they bear on the fabric, passed over where they are others' business."""

import pytest

from tagloom import platforms
from tagloom.render import parse_configuration, read_state

TEXT = """\
vlan database
vlan 100,200
exit
interface vlan 100
name tagloom
bridge teleport 02:00:00:00:00:01
exit
interface vlan 200
name office
bridge teleport 02:00:00:00:00:01
exit
interface ethernet g1
switchport mode general
switchport general allowed vlan add 100 tagged
switchport protected
exit
interface ethernet g9
switchport protected
exit
interface ethernet g10
channel-group 1 mode auto
exit
"""


@pytest.mark.parametrize(
    ("ports", "found"),
    [
        ([1, 2], ["s0:6  interface vlan 100", "s0:15  interface ethernet g1"]),
        ([9], ["s0:6  interface vlan 100", "s0:18  interface ethernet g9"]),
        ([10], ["s0:6  interface vlan 100", "s0:21  interface ethernet g10"]),
    ],
)
def test_a_line_bears_on_its_own_port_or_vlan(ports, found):
    state, findings = read_state(platforms.load("powerconnect-5324"), TEXT, "s0", ports)
    assert [finding.where for finding in findings] == found
    assert all(finding.expected == "a line tagloom knows" for finding in findings)
    assert state.owned_vlans == (100,)


def test_a_line_the_switch_would_refuse_says_what_it_would_answer():
    text = "interface ethernet g1\nswitchport mode general\nswitchport general pvid 300\nexit\n"
    _, findings = read_state(platforms.load("powerconnect-5324"), text, "s0", [1])
    assert [str(f) for f in findings] == [
        (
            "s0:3  interface ethernet g1: expected a line the switch takes, "
            "actual 'switchport general pvid 300' (VLAN was not created by user.)"
        )
    ]


@pytest.mark.parametrize("line", ["switchport mode trunk", "vlan 100", "channel-group 1 mode on"])
def test_a_line_of_ours_outside_of_any_block_bears_on_every_port(line):
    _, findings = read_state(platforms.load("powerconnect-5324"), f"hostname a\n{line}\n", "s0", [1])
    assert [finding.where for finding in findings] == ["s0:2  configuration"]


def test_a_line_of_ours_without_a_port_bears_on_every_port_of_a_linux_machine():
    _, findings = read_state(platforms.load("linux-bridge"), "bridge mdb add dev tagloom\n", "s0", [1])
    assert [finding.where for finding in findings] == ["s0:1  configuration"]


@pytest.mark.parametrize(
    ("model", "text", "named"),
    [
        (
            "huawei-s5731-s24t4x",
            "interface GigabitEthernet0/0/1\nport hybrid untagged vlan 300\nport link-type hybrid\n",
            (2, "port hybrid untagged vlan 300"),
        ),
        (
            "hpe-5130-24g-4sfp",
            "interface GigabitEthernet1/0/1\nport hybrid vlan 300 untagged\nport link-type hybrid\nvlan 100\n",
            (2, "port hybrid vlan 300 untagged"),
        ),
        (
            "arista-7050tx-64",
            (
                "vlan 100\ninterface Ethernet1\nswitchport trunk allowed vlan 100\nswitchport mode trunk\n"
                "interface Ethernet20\nno vlan 100\n"
            ),
            (6, "no vlan 100"),
        ),
    ],
)
def test_the_line_is_known_by_which_a_port_will_carry_a_vlan_that_is_not_there(model, text, named):
    """One that is refused until the next says the port's link type, and one in another port's block."""
    parsed = parse_configuration(platforms.load(model), text)
    waiting = [(line.number, line.text) for line in parsed.waiting if "not there" in line.answer]
    assert waiting == [named]
