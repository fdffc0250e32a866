"""What agents answer becomes ports, VLANs, entries and neighbours; what is missing is named."""

import numpy as np
import pytest
from pysnmp.proto.api import v2c

from loopback import V3, scripted, served, snmp, switch, truthful
from strategies_snmp import woven
from tagloom import platforms
from tagloom.lab.device import Quirks
from tagloom.observe import interpret
from tagloom.observe.interpret import port_number
from tagloom.observe.objects import COLUMNS, EVERYTHING, SCALARS
from tagloom.platforms.detect import by_object_id
from tagloom.records.snmp import Raw
from tagloom.records.switch_state import Membership, SwitchEditor
from test_snmp_adapter import GOOD, OCTETS, liar

MODELS = ["powerconnect-5324", "powerconnect-6224", "powerconnect-6248"]


def read(agent, model, credentials=V3):
    with served(agent) as [place], snmp(credentials) as wire:
        return interpret("s0", wire.ask({"s0": place}, EVERYTHING)["s0"], platforms.load(model))


@pytest.mark.parametrize("model", MODELS)
def test_a_switch_is_read_back_as_it_stands(model):
    """PVID, egress and untagged sets, static entries: the state itself, by another way than the command line."""
    state = woven(platforms.load(model))
    _, agent = switch(model, state, octets=lambda port: (port * 10, port * 20))
    found = read(agent, model)
    assert (found.error, found.complaints, found.name) == ("", (), "s0")
    assert by_object_id(found.object_id).models == (model,)
    members = {
        vlan: {p: Membership(int(how)) for p, how in enumerate(row, start=1) if how}
        for vlan, row in zip(state.vlans.tolist(), state.membership, strict=True)
    }
    assert found.vlans.members == members
    assert found.vlans.pvid == dict(enumerate(state.pvid.tolist(), start=1))
    entries = SwitchEditor.of(state).entries
    assert found.vlans.entries == entries
    assert len(entries) > 3
    assert [port.number for port in found.ports] == list(range(1, state.ports + 1))
    assert [port.name for port in found.ports] == list(platforms.load(model).port_names)
    assert [port.admin_up for port in found.ports] == state.enabled.tolist()
    assert all((p.in_octets, p.out_octets, p.bits) == (p.number * 10, p.number * 20, 64) for p in found.ports)


def test_what_a_switch_has_learnt_is_told_from_what_it_was_told():
    device, agent = switch(state=woven(platforms.load("powerconnect-5324")))
    device.learned = {(100, 0x0200_0000_0042): 7, (103, 0x0200_0000_0042): 9, (101, 0x0200_0000_0001): 5}
    found = read(agent, "powerconnect-5324")
    assert found.complaints == ()
    assert found.vlans.learned == {(100, 0x0200_0000_0042): 7, (103, 0x0200_0000_0042): 9}


def test_vlans_that_learn_together_are_named():
    """Filtering database 1 for all: the method rests on independent VLAN learning."""
    rows = GOOD | {(*COLUMNS["dot1dBasePortIfIndex"], port): v2c.Integer32(port) for port in range(1, 25)}
    rows |= {(*COLUMNS["dot1qVlanFdbId"], 0, vlan): v2c.Gauge32(1) for vlan in (1, 100, 101)}
    rows |= {(*COLUMNS["dot1qTpFdbPort"], 1, 2, 0, 0, 0, 0, 9): v2c.Integer32(4)}
    rows |= {(*COLUMNS["dot1qTpFdbStatus"], 1, 2, 0, 0, 0, 0, 9): v2c.Integer32(3)}
    with scripted(truthful(rows)) as place, snmp() as wire:
        found = interpret("s0", wire.ask({"s0": place}, EVERYTHING)["s0"], platforms.load("powerconnect-5324"))
    assert "dot1qVlanFdbId: VLANs share what they learn (filtering database 1) (2 times)" in found.complaints
    assert found.vlans.learned == {(1, 0x0200_0000_0009): 4}


def rows_of(table, rows):
    """Return rows (index, port, status) of a table of learnt addresses, as an agent answers them."""
    return {
        (*COLUMNS[f"{table}{column}"], *index): v2c.Integer32(value)
        for index, port, status in rows
        for column, value in (("Port", port), ("Status", status))
        if value is not None
    }


def learned_of(rows):
    with scripted(truthful(GOOD | rows)) as place, snmp() as wire:
        return interpret("s0", wire.ask({"s0": place}, EVERYTHING)["s0"], platforms.load("powerconnect-5324"))


def test_a_table_of_the_bridge_mib_alone_is_read_by_bridge_port_in_the_ports_pvid():
    """Bridge ports are not numbered as interfaces are; an address that both tables have counts once."""
    rows = {(*COLUMNS["dot1dBasePortIfIndex"], port): v2c.Integer32(port + 4) for port in range(1, 21)}
    rows |= {(*COLUMNS["dot1qPvid"], 3): v2c.Gauge32(1)}
    mac = (2, 30, 201, 0, 0)
    alone = rows_of("dot1dTpFdb", [((*mac, 1), 3, 3), ((*mac, 2), 4, 3), ((*mac, 3), 3, 4), ((*mac, 4), 0, 3)])
    found = learned_of(rows | alone)
    assert found.vlans.learned == {(1, 0x021E_C900_0001): 7, (0, 0x021E_C900_0002): 8}
    assert not [words for words in found.complaints if "TpFdb" in words]
    both = rows_of("dot1qTpFdb", [((9, *mac, 1), 3, 3)])
    assert learned_of(rows | alone | both).vlans.learned == {(9, 0x021E_C900_0001): 7, (0, 0x021E_C900_0002): 8}


def test_rows_of_learnt_addresses_that_cannot_be_read_are_counted():
    rows = {(*COLUMNS["dot1dBasePortIfIndex"], port): v2c.Integer32(port) for port in range(1, 25)}
    mac = (2, 30, 201, 0, 0, 1)
    for table, index in (("dot1dTpFdb", mac), ("dot1qTpFdb", (1, *mac))):
        wrong = rows_of(table, [((*index, 0), 3, 3), (index, 99, 3), ((*index[:-1], 2), 4, None)])
        found = learned_of(rows | wrong)
        assert found.vlans.learned == {}
        for words in (
            "an index that is no ",
            "a row at a port that dot1dBasePortTable lacks",
            "a row without its status",
        ):
            assert any(f"{table}Table: {words}" in each for each in found.complaints)
    assert any("missing, so no address is known" in each for each in learned_of(rows).complaints)


def test_a_local_port_is_known_by_the_end_of_its_path():
    """RouterOS: lldpLocPortId is bridge/ether7, and its number no ifIndex of a port."""
    rows = {oid: {} for oid in COLUMNS.values()}
    rows[COLUMNS["ifName"]] = {(port,): f"ether{port}".encode() for port in range(1, 9)}
    rows[COLUMNS["lldpLocPortId"]] = {(3,): b"bridge/ether7"}
    rows[COLUMNS["lldpRemChassisId"]] = {(0, 3, 1): b"\2\x1e\xc9\0\0\1"}
    found = interpret("s0", Raw(1.0, columns=rows), platforms.load("mikrotik-crs326-24g-2s"))
    assert [each.port for each in found.neighbours] == [7]


@pytest.mark.parametrize(
    ("said", "bridge", "port", "doubtful"),
    [
        ({}, {}, 3, False),  # an ifIndex, as a rule
        ({}, {3: 3}, 3, False),
        ({}, {3: 5}, 3, True),  # the bridge's own number 3 is port 5
        ({"lldpLocPortId": b"ether7"}, {3: 5}, 7, False),
        ({"lldpLocPortId": b"7"}, {3: 5}, 7, False),
        ({"lldpLocPortId": b"\2\x1e\xc9\0\0\7", "lldpLocPortDesc": b"ether5"}, {3: 5}, 5, False),
        ({"lldpLocPortDesc": b"ether8"}, {3: 3}, 8, True),  # words of an operator, who may name the far end
    ],
)
def test_a_local_port_without_an_id_is_a_complaint_where_its_readings_differ(said, bridge, port, doubtful):
    rows = {oid: {} for oid in COLUMNS.values()}
    rows[COLUMNS["ifName"]] = {(number,): f"ether{number}".encode() for number in range(1, 9)}
    rows[COLUMNS["dot1dBasePortIfIndex"]] = {(number,): index for number, index in bridge.items()}
    rows |= {COLUMNS[column]: {(3,): octets} for column, octets in said.items()}
    rows[COLUMNS["lldpRemChassisId"]] = {(0, 3, 1): b"\2\x1e\xc9\0\0\1"}
    found = interpret("s0", Raw(1.0, columns=rows), platforms.load("mikrotik-crs326-24g-2s"))
    assert [each.port for each in found.neighbours] == [port]
    assert any("no id for lldpRemLocalPortNum 3" in each for each in found.complaints) is doubtful


def test_a_filtering_database_that_is_no_vlan_gets_the_ports_vlan():
    rows = {(*COLUMNS["dot1dBasePortIfIndex"], port): v2c.Integer32(port) for port in range(1, 25)}
    rows |= {(*COLUMNS["dot1qPvid"], 3): v2c.Gauge32(7)} | rows_of("dot1qTpFdb", [((0, 2, 30, 201, 0, 0, 1), 3, 3)])
    found = learned_of(rows)
    assert found.vlans.learned == {(7, 0x021E_C900_0001): 3}
    assert "dot1qTpFdbTable: filtering database 0 is no VLAN; the PVID of each port is taken" in found.complaints


@pytest.mark.parametrize(
    ("kind", "octets", "chassis"),
    [
        (4, b"\2\x1e\xc9\0\0\1", "mac 02:1e:c9:00:00:01"),
        (4, b"02:1e:c9:00:00:01", "mac 02:1e:c9:00:00:01"),
        (7, b"021e-c900-0001\0", "mac 02:1e:c9:00:00:01"),
        (None, b"\2\x1e\xc9\0\0\1", "mac 02:1e:c9:00:00:01"),
        (7, b"sw-one", "local sw-one"),
        (4, b"\0\0\0\0\0\0", "mac 02:1e:c9:00:00:0b"),
        (4, b"", "mac 02:1e:c9:00:00:0b"),
        (None, None, "mac 02:1e:c9:00:00:0b"),
    ],
)
def test_a_chassis_id_is_read_in_every_form_and_else_taken_from_the_bridge(kind, octets, chassis):
    scalars = {
        "lldpLocChassisIdSubtype": kind,
        "lldpLocChassisId": octets,
        "dot1dBaseBridgeAddress": b"\2\x1e\xc9\0\0\x0b",
    }
    raw = Raw(1.0, scalars={SCALARS[name]: each for name, each in scalars.items() if each is not None})
    found = interpret("s0", raw, platforms.load("powerconnect-5324"))
    assert found.chassis == chassis
    inferred = [words for words in found.complaints if words.startswith("lldpLocChassisId: missing")]
    assert bool(inferred) is chassis.endswith("0b")


def test_what_a_switch_does_not_have_is_named():
    device, agent = switch(state=woven(platforms.load("powerconnect-5324")))
    device.quirks = Quirks(hide=r"^1\.3\.6\.1\.2\.1\.(17|31\.1\.1\.1\.(6|10)$)|^1\.0\.8802")
    found = read(agent, "powerconnect-5324")
    assert found.error == ""
    assert "dot1dBasePortIfIndex: missing" in found.complaints
    assert "ifHCInOctets: missing; 32-bit counters are used" in found.complaints
    assert (found.vlans.members, found.vlans.pvid, found.vlans.entries, found.neighbours) == (None, None, None, ())
    assert {port.bits for port in found.ports} == {32}


def test_a_table_that_ends_early_is_named_with_its_ports():
    device, agent = switch()
    device.quirks = Quirks(hide=r"^1\.3\.6\.1\.2\.1\.2\.2\.1\.8$")
    found = read(agent, "powerconnect-5324")
    assert "ifOperStatus: missing for 32 of 32 ports" in found.complaints
    assert {port.oper_up for port in found.ports} == {None}
    assert {port.admin_up for port in found.ports} == {True}


def test_lies_about_types_are_named_and_not_believed():
    with scripted(liar) as place, snmp() as wire:
        found = interpret(
            "s0", wire.ask({"s0": place}, EVERYTHING)["s0"], platforms.load("powerconnect-5324"), range(1, 25)
        )
    assert found.error == ""
    assert "ifName: expected octets, actual a number (24 times)" in found.complaints
    assert "ifName, ifDescr: no row for g1 and 23 more ports" in found.complaints
    with (
        scripted(truthful(GOOD | {(*OCTETS, port): v2c.OctetString("lots") for port in range(1, 25)})) as place,
        snmp() as wire,
    ):
        found = interpret("s0", wire.ask({"s0": place}, EVERYTHING)["s0"], platforms.load("powerconnect-5324"))
    assert "ifHCInOctets: expected a number, actual octets (24 times)" in found.complaints
    assert {port.in_octets for port in found.ports} == {None}


@pytest.mark.parametrize(
    ("model", "words", "number"),
    [
        ("powerconnect-5324", "g7", 7),
        ("powerconnect-5324", "Ethernet Interface g7", 7),
        ("powerconnect-5548", "gi1/0/48", 48),
        ("powerconnect-5548", "gigabitethernet1/0/3", 3),
        ("powerconnect-5548", "tengigabitethernet1/0/2", 50),
        ("powerconnect-6248", "1/g12", 12),
        ("powerconnect-6248", "Unit: 1 Slot: 0 Port: 12 Gigabit - Level", 12),
        ("n-series", "Gi1/0/5", 5),
        ("n-series", "GigabitEthernet1/0/5", 5),
        ("linux-bridge", "swp3", 3),
        ("powerconnect-5324", "Vlan1", None),
        ("powerconnect-5324", "ch1", 25),
        ("powerconnect-6248", "Unit: 2 Slot: 0 Port: 12 Gigabit - Level", None),
        ("powerconnect-5324", "", None),
    ],
)
def test_ports_are_known_by_the_names_that_mibs_give_them(model, words, number):
    assert port_number(platforms.load(model), words) == number


def test_the_state_of_the_tests_is_not_all_alike():
    state = woven(platforms.load("powerconnect-5324"))
    assert len(np.unique(state.membership)) == 3
    assert len(np.unique(state.pvid)) > 2
