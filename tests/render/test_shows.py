"""What real switches print is read into the right rows, whatever the console puts in between."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ntc_templates.parse import parse_output

from judges.shows import (
    AddressRow,
    StatusRow,
    Switchport,
    VlanRow,
    expand_ports,
    read_addresses,
    read_descriptions,
    read_status,
    read_switchport,
    read_vlans,
)
from tagloom.platforms import load
from tagloom.records.switch_state import Frames, PortMode
from tagloom.render import parse_configuration
from tagloom.units import parse_mac

PAGES = Path(__file__).parents[1] / "data" / "shows"
TRANSCRIPTS = Path(__file__).parent / "transcripts"


def page(name):
    return (PAGES / f"{name}.txt").read_text("utf-8")


def ntc(platform, command, name):
    return parse_output(
        platform=platform, command=command, data=page(name).lstrip() if platform.startswith("dell") else page(name)
    )


G24, CH8 = tuple(f"g{n}" for n in range(1, 25)), tuple(f"ch{n}" for n in range(1, 9))


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "5324_vlan",
            (
                VlanRow(1, "1", G24 + CH8, "other"),
                VlanRow(10, "10", (), "permanent"),
                VlanRow(100, "100", (), "permanent"),
            ),
        ),
        (
            "62xx_vlan",
            (
                VlanRow(1, "Default", (), "default"),
                VlanRow(300, "shizzle", (), "static"),
                VlanRow(1000, "", ("1/g1", "1/g2", "1/xg1"), "static"),
            ),
        ),
        (
            "80xx_vlan",
            (
                VlanRow(1, "default", (), "default"),
                VlanRow(10, "VLAN10", ("Te0/0/1", "Te0/0/2"), "static"),
                VlanRow(11, "VLAN11", ("Te0/0/1", "Te1/0/2"), "static"),
            ),
        ),
    ],
)
def test_vlans_of_every_generation(name, rows):
    assert read_vlans(page(name)) == rows


def test_a_name_with_the_sign_of_a_prompt_in_it_is_a_row_all_the_same():
    text = (
        page("5324_vlan")
        .replace(" 10         10       ", " 10   a#b > c        ")
        .replace("100         100", "100  pupils#1-of-2")
    )
    assert [row.name for row in read_vlans(text)][1:] == ["a#b > c", "pupils#1-of-2"]


@pytest.mark.parametrize(("name", "count"), [("cisco_s300_vlan_1", 8), ("cisco_s300_vlan_2", 7)])
def test_wrapped_names_and_ports_come_together(name, count):
    rows = {row.vlan: row for row in read_vlans(page(name))}
    assert len(rows) == count
    assert rows[402].name == "Test-Long-Vlan-Name1"
    assert rows[402].ports == ("fa5", "gi1")
    assert rows[3131].ports == expand_ports("fa1-2,fa11,fa15-18,fa21-22,gi1-4")
    assert rows[3133] == VlanRow(3133, "Test-Long-Vlan-Name3", (), rows[3133].kind)
    assert rows[1].ports[-1] == ("Po8" if name.endswith("1") else "fa20")
    assert {row.kind for row in rows.values()} == ({"default", "static"} if name.endswith("1") else {"d", "s"})


@pytest.mark.parametrize(
    ("platform", "command", "name"),
    [
        ("dell_powerconnect", "show bridge address-table", "dell_powerconnect_addresses"),
        ("cisco_s300", "show mac address-table", "cisco_s300_addresses"),
    ],
)
def test_address_tables_agree_with_the_maintained_templates(platform, command, name):
    theirs = ntc(platform, command, name)
    keys = {key.lower(): key for key in theirs[0]}
    mac, vlan = keys.get("mac_address") or keys["destination_address"], keys.get("vlan_id") or keys["vlan"]
    ours = read_addresses(page(name))
    assert len(ours) == len(theirs)
    for row, other in zip(ours, theirs, strict=True):
        assert (str(row.vlan), row.mac) == (other[vlan], parse_mac(other[mac]))
        assert {row.port, row.kind} <= {str(value).lower() for value in other.values()}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "62xx_addresses",
            (
                AddressRow(1201, 0xF8B156490F99, "vlan 1201", "management"),
                AddressRow(3991, 0x02E052363801, "ch1", "dynamic"),
                AddressRow(4063, 0x0013C60153A7, "1/g22", "dynamic"),
            ),
        ),
        (
            "dell_os6_addresses",
            tuple(
                AddressRow(vlan, 0x0123ABCD7800 + low, f"Po{n}", "dynamic")
                for n, (vlan, low) in enumerate([(1, 0x92), (2, 0x9A), (7, 0x9B), (15, 0x9E), (19, 0x9F)], start=1)
            ),
        ),
    ],
)
def test_address_tables_of_fastpath(name, rows):
    assert read_addresses(page(name)) == rows


@pytest.mark.parametrize(
    ("platform", "name"), [("dell_powerconnect", "dell_powerconnect_status"), ("cisco_s300", "cisco_s300_status")]
)
def test_status_pages_agree_with_the_maintained_templates(platform, name):
    theirs = {row["port"]: row for row in ntc(platform, "show interfaces status", name)}
    ours = {row.port: row for row in read_status(page(name)) if row.state != "Not Present"}
    assert ours.keys() == {port for port in theirs if not port.lower().startswith(("ch", "po"))}
    for port, row in ours.items():
        other = {value.lower() for value in map(str, theirs[port].values())}
        assert row.state.lower() in other
        assert not row.speed_mbps or str(row.speed_mbps) in other
        assert row.negotiation is None or ("enabled" if row.negotiation else "disabled") in other


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "5324_status",
            (
                StatusRow("g1", "Down", 0, None),
                StatusRow("g19", "Up", 1000, True),
                StatusRow("g21", "Down", 0, None),
                StatusRow("g24", "Up", 1000, True),
                StatusRow("ch1", "Not Present", 0, None),
            ),
        ),
        ("8024f_status", (StatusRow("1/xg1", "Up", 10000, False),)),
        (
            "os6_status",
            (
                StatusRow("Te1/0/1", "Down", 10000, False),
                StatusRow("Te1/0/2", "Up", 10000, False),
                StatusRow("Te1/0/9", "Up", 10000, False),
                StatusRow("Te1/0/17", "Up", 10000, False),
                StatusRow("Te1/0/49", "Detach", 0, None),
            ),
        ),
    ],
)
def test_status_pages_of_every_generation(name, rows):
    assert read_status(page(name)) == rows


def test_switchport_pages_tell_tagged_from_untagged():
    assert read_switchport(page("cisco_s300_switchport")) == Switchport(
        "fa1", PortMode.TRUNK, 203, True, Frames.ALL, (203,), (222,)
    )
    assert read_switchport(page("m6348_switchport")) == Switchport("", PortMode.TRUNK, 1, True, Frames.ALL, (1,), ())
    with pytest.raises(ValueError, match="not a page of show interfaces switchport"):
        read_switchport(page("5324_vlan"))


@pytest.mark.parametrize(
    ("name", "was", "now"),
    [
        ("cisco_s300_switchport", "( NATIVE ): 203", "( NATIVE ): 4095"),
        ("m6348_switchport", "General Mode PVID: 1 (default)", "General Mode PVID: 4095"),
    ],
)
def test_a_port_that_drops_untagged_frames_has_no_pvid(name, was, now):
    text = page(name)
    assert was in text
    assert read_switchport(text.replace(was, now)).pvid == 0


def test_descriptions_are_the_maintained_templates_work():
    rows = read_descriptions(page("dell_powerconnect_descriptions"))
    assert (rows["g1"], rows["g46"], rows["g48"]) == ("TO_SRV05-VSAN_[DRAC]", "", "ADMIN_[1Gbit]")
    cousin = read_descriptions(page("cisco_s300_descriptions"))
    assert (cousin["fa3"], cousin["fa5"], cousin["gi4"]) == ("Socket_7/7", "", "Eltex2124-8 - gi1/0/5")
    assert len(cousin) == 28 + 8


def test_the_maintained_templates_refuse_the_pages_of_a_switch_that_tagloom_configured():
    """When this fails they have learned it, and our readers of these pages can go."""
    table = page("dell_powerconnect_addresses") + "  220      02:00:00:00:00:01     g1    static\n"
    with pytest.raises(Exception, match="State Error"):
        parse_output(platform="dell_powerconnect", command="show bridge address-table", data=table)
    with pytest.raises(Exception, match="State Error"):
        parse_output(platform="dell_powerconnect", command="show interfaces status", data=page("5324_status"))
    assert read_addresses(table)[-1] == AddressRow(220, 0x020000000001, "g1", "static")


# --- what consoles do -------------------------------------------------------------------------------------------------

READERS = {
    read_vlans: ["5324_vlan", "62xx_vlan", "80xx_vlan", "cisco_s300_vlan_1", "cisco_s300_vlan_2"],
    read_addresses: ["62xx_addresses", "dell_os6_addresses", "dell_powerconnect_addresses", "cisco_s300_addresses"],
    read_status: ["5324_status", "8024f_status", "os6_status", "cisco_s300_status", "dell_powerconnect_status"],
    read_switchport: ["cisco_s300_switchport", "m6348_switchport"],
}
LOG = "01-Jan-2026 10:11:12 %LINK-W-Down:  g7\r\n"
ROS_PAGER = "More: <space>,  Quit: q or CTRL+Z, One line: <return> "
NOISE = st.sampled_from(
    [
        "",
        LOG,
        f"{ROS_PAGER}\r{' ' * len(ROS_PAGER)}\r",
        f"{ROS_PAGER}\r\x1b[K",
        "More: <space>,  Quit: q, One line: <return>\x1b[0m\r" + " " * 43 + "\r\x1b[K",
        f"--More-- or (q)uit\r{' ' * 18}\r",
        "--More-- or (q)uit\r\n",
        "\r\r",
        "\x1b[K",
        "\x1b[0m",
        "\r\r\x1b[Kconsole# \r\n",
    ]
)


@st.composite
def printed(draw, text, heading=()):
    """Print a page on a console: noise before any line, odd ends of lines, the heading again after a pager."""
    out = ["console# show something\r\r\n"]
    for number, line in enumerate(text.split("\n")):
        noise = draw(NOISE)
        out.append(noise)
        if heading and "More" in noise and number > len(heading) and draw(st.booleans()):
            out.extend(f"{words}\r\n" for words in heading)
        out.append(line + draw(st.sampled_from(["\r\n", "\r\r\n", "\n", "\x1b[K\r\n"])))
    return "".join(out)


def heading_of(text):
    lines = text.split("\n")
    at = next((n for n, line in enumerate(lines) if re.match(r"-+( +-+)+ *$", line.strip())), None)
    return () if at is None else lines[at - 1 : at + 1]


@pytest.mark.parametrize(
    ("reader", "name"),
    [(reader, name) for reader, names in READERS.items() for name in names],
    ids=lambda value: getattr(value, "__name__", value),
)
@given(data=st.data())
def test_noise_of_the_console_changes_no_row(reader, name, data):
    text = page(name)
    heading = () if reader is read_switchport else heading_of(text)
    assert reader(data.draw(printed(text, heading))) == reader(text)


@pytest.mark.parametrize("name", ["5324", "6224", "g_ports", "eltex_order"])
@given(data=st.data())
def test_noise_of_the_console_changes_no_configuration(name, data):
    platform = load("powerconnect-6224" if name == "6224" else "powerconnect-5324")
    text = (TRANSCRIPTS / f"{name}.cfg").read_text("utf-8")
    clean, noisy = parse_configuration(platform, text), parse_configuration(platform, data.draw(printed(text)))
    assert noisy.unknown == clean.unknown == ()
    assert noisy.state == clean.state
