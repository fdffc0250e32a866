"""The ports of one machine of a model: of a layout, a stack, modules, or by their names."""

import pytest

from tagloom import platforms
from tagloom.errors import InputError
from tagloom.observe.models import model_of
from tagloom.observe.objects import COLUMNS, SCALARS
from tagloom.platforms.detect import by_object_id, by_text, mistaken
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.snmp import Raw
from tagloom.records.switch_state import Membership
from tagloom.render import read_text

DELL = "1.3.6.1.4.1.674.10895."


@pytest.mark.parametrize(
    ("model", "physical", "first", "last", "channel"),
    [
        ("powerconnect-5548:units=2", 100, "gi1/0/1", "te2/0/2", "po8"),
        ("powerconnect-6248:modules", 52, "1/g1", "1/xg4", "ch8"),
        ("powerconnect-6224:units=2", 48, "1/g1", "2/g24", "ch8"),
        ("powerconnect-7048:units=12", 576, "Gi1/0/1", "Gi12/0/48", "Po8"),
        ("n-series:N4032", 24, "Te1/0/1", "Te1/0/24", "Po8"),
        ("n-series:N4032,modules", 44, "Te1/0/1", "Te1/2/8", "Po8"),
        ("cisco-sg300-28:SG500X-24,units=2", 56, "gi1/1/1", "te2/1/4", "Po8"),
        ("cisco-sg350-28:SG350X-48", 52, "gi1/0/1", "te1/0/4", "Po8"),
        ("n-series:n2048,N2024", 76, "Gi1/0/1", "Te2/0/2", "Po8"),
        ("n-series:lags=64", 50, "Gi1/0/1", "Te1/0/2", "Po64"),
        ("n-series:N4032,units=2,lags=9", 48, "Te1/0/1", "Te2/0/24", "Po9"),
        ("hpe-5130-24g-4sfp:units=2", 56, "GE1/0/1", "XGE2/0/28", "XGE2/0/28"),
        ("huawei-s5731-s24t4x:units=2", 56, "GE0/0/1", "XGE1/0/4", "XGE1/0/4"),
        ("cisco-cbs350-24t-4x:units=4", 112, "gi1/0/1", "te4/0/4", "Po8"),
        ("arista-7050tx-64:Et1/1-36,Et2/1,Et3/1/1", 38, "Et1/1", "Et3/1/1", "Et3/1/1"),
        ("powerconnect-5548:gi1/0/1-20,gi2/0/1-gi2/0/20", 40, "gi1/0/1", "gi2/0/20", "po8"),
    ],
)
def test_what_stands_behind_a_model_names_its_ports(model, physical, first, last, channel):
    platform = platforms.load(model)
    names = platform.port_names
    assert (platform.physical_ports, names[0], names[physical - 1], names[-1]) == (physical, first, last, channel)
    assert all(platform.port_number(name) == number for number, name in enumerate(names, start=1))
    assert set(names).isdisjoint(platform.further_names)
    assert platforms.page_of(model) in platforms.models()


@pytest.mark.parametrize(
    "words",
    [
        "",
        "units=9",
        "units=0",
        "units=x",
        "lags=33",
        "modules",
        "N4032",
        "gi1/0/1,GI1/0/1",
        "gi1/0/9-1",
        "lan1",
        "gi1/0/1;reload",
        "units=2,gi1/0/1",
        "gi1/0/1,",
        "gi1/0/1-999999",
        "units=2,units=2",
        "gi1/0/" + "1" * 5000,
    ],
)
def test_what_cannot_stand_behind_a_model_is_refused(words):
    assert not platforms.is_model(f"powerconnect-5548:{words}") or words == ""
    if words:
        page = f'name: t\nswitches: {{s0: {{model: "powerconnect-5548:{words}"}}}}\nhosts: {{h0: {{switch: s0}}}}\n'
        with pytest.raises(InputError) as caught:
            parse_fabric(page, "t.yml")
        assert "units=N" in str(caught.value.findings[0])


@pytest.mark.parametrize(
    ("model", "names", "described"),
    [
        ("powerconnect-5548", ["gi1/0/1"], "powerconnect-5548"),
        ("powerconnect-5548", ["gi2/0/1", "po20"], "powerconnect-5548:units=2,lags=20"),
        ("powerconnect-6248", ["1/g1", "1/xg1"], "powerconnect-6248:modules"),
        ("cisco-cbs350-24t-4g", ["gi1", "gi52", "Po8"], "cisco-cbs350-24t-4g:CBS350-48"),
        ("n-series", [f"Te1/0/{n}" for n in range(1, 25)], "n-series:N4032"),
        ("huawei-s5731-s24t4x", ["GE3/0/1"], "huawei-s5731-s24t4x:units=4"),
        ("arista-7050tx-64", ["Et1/1", "Et1/2", "Et3/1/1"], "arista-7050tx-64:Et1/1-2,Et3/1/1"),
        ("n-series", ["Tw1/0/1", "Tw1/0/2", "Hu1/1/1"], "n-series:Tw1/0/1-2,Hu1/1/1"),
        ("huawei-s5731-s48t4x", ["GE0/0/1", "40GE0/0/1", "40GE0/0/2"], "huawei-s5731-s48t4x:GE0/0/1,40GE0/0/1-2"),
        ("hpe-5130-24g-4sfp", ["WGE1/0/25", "HGE1/0/49"], "hpe-5130-24g-4sfp:WGE1/0/25,HGE1/0/49"),
        ("linux-bridge:lan1", ["wan"], "linux-bridge:lan1"),
    ],
)
def test_a_model_is_written_with_the_ports_that_its_switch_has(model, names, described):
    assert platforms.with_ports(model, names) == described
    assert set(names) <= set(platforms.load(described).port_names) or model.startswith("linux")


@pytest.mark.parametrize(
    ("said", "models"),
    [
        ('!System Description "Dell Networking N4032, 6.5.1.3, Linux 3.7.10"', ("n-series:N4032",)),
        ("Machine Type...................... Dell Networking N4032F", ("n-series:N4032",)),
        ("Dell EMC Networking N4064F, 6.6.0.13", ("n-series:N4064",)),
        ("Dell EMC Networking N1524P, 6.6.4.9, Linux 3.6.5", ("n-series:N1524",)),
        ("Machine Type: Dell Networking N2048P", ("n-series",)),
        ("SG500X-24 24-Port Gigabit with 4-Port 10-Gigabit Stackable Managed Switch", ("cisco-sg300-28:SG500X-24",)),
        ("SG300-52 52-Port Gigabit Managed Switch", ("cisco-sg300-28:SG300-52",)),
        ("CBS350-48P-4G 48-Port Gigabit PoE Managed Switch", ("cisco-cbs350-24t-4g:CBS350-48",)),
        ("Dell EMC Networking N2128PX-ON, 6.6.3.10", ()),
        ("Dell EMC Networking N2248X-ON, 6.6.3.10", ()),
        ("Dell EMC Networking N3132PX-ON, 6.6.3.10", ()),
        ("Dell EMC Networking N3248TE-ON, 6.7.1.5", ()),
        (f"System Object ID: {DELL}3055\nMachine Type: Dell Networking N2024", ("n-series:N2024",)),
    ],
)
def test_a_switch_is_of_the_layout_that_it_names_and_of_none_where_its_ports_are_not_known(said, models):
    assert by_text(said).models == models


def test_a_model_that_does_not_stack_has_no_units():
    assert not platforms.is_model("cisco-sg300-28:units=2")
    assert platforms.with_ports("cisco-sg300-28", ["gi2/1/28"]) == "cisco-sg300-28:SG500-28,units=2"


def test_a_switch_of_another_layout_is_another_model():
    page = "Machine Type: Dell Networking N4032"
    assert mistaken("n-series:N2024", page, "s0") != ()
    assert mistaken("n-series:N2048,N2024", page, "s0") != ()
    for model in ("n-series:N4032", "n-series:N4032,units=2", "n-series", "n-series:Te1/0/1-24"):
        assert mistaken(model, page, "s0") == ()
    assert by_object_id(f"{DELL}3042").models == ("n-series:N4032",)


def agent(described, names, absent=()):
    """Return the answers of an agent that says what it is and names ports; `absent` are not present."""
    oper = {(n,): 6 if name in absent else 2 for n, name in enumerate(names, start=1)}
    return Raw(
        at=0.0,
        scalars={SCALARS["sysDescr"]: described.encode()},
        columns={
            COLUMNS["ifName"]: {(n,): name.encode() for n, name in enumerate(names, start=1)},
            COLUMNS["ifOperStatus"]: oper,
        },
    )


def test_an_agent_tells_ports_that_no_page_lists():
    fast = [*(f"GE0/0/{n}" for n in range(1, 25)), "40GE0/0/1", "MEth0/0/1", "Vlanif10", "Eth-Trunk1"]
    assert model_of(agent("Huawei S5731-S24T4X", fast)) == ("huawei-s5731-s24t4x:GE0/0/1-24,40GE0/0/1", "")
    text = "vlan batch 10\ninterface 40GE0/0/1\nport link-type trunk\nport trunk allow-pass vlan 10\nquit\n"
    platform = platforms.load("huawei-s5731-s24t4x:GE0/0/1-24,40GE0/0/1")
    reading = read_text(platform, text, "s0", [25])
    assert (reading.findings, reading.unknown_lines) == ((), ())
    assert reading.state.membership[reading.state.vlan_index[10], 24] == Membership.TAGGED


def test_an_agent_tells_the_ports_of_a_stack_and_names_those_of_missing_units():
    units = [[f"gi{unit}/0/{n}" for n in range(1, 49)] for unit in (1, 2, 3)]
    names = [*units[0], *units[1], *units[2], *(f"Po{n}" for n in range(1, 33))]
    assert model_of(agent("PowerConnect 5548", names, units[2])) == ("powerconnect-5548:units=2", "")
    assert model_of(agent("PowerConnect 5548", names, [*units[1], *units[2]])) == ("powerconnect-5548", "")
    said = "powerconnect-5548:gi1/0/1-48"
    assert model_of(agent("PowerConnect 5548", names), said) == (said, "")
    long = ["GigabitEthernet1/0/1", "GigabitEthernet2/0/1", "Ten-GigabitEthernet2/0/25"]
    assert model_of(agent("HPE 5130-24G-4SFP+ EI", long)) == ("hpe-5130-24g-4sfp:units=2", "")
    assert model_of(agent("Dell Networking N4032, 6.5.1.3", ["Te1/0/1", "Te1/0/24", "Po128"])) == ("n-series:N4032", "")
