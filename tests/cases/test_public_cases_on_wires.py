"""Cases from public reports of agents and consoles, each under its own name: SNMP, LLDP, banners at a login.

`tests/data/public-cases` has a folder for each, with where it is from.
"""

import re

import pytest
from pysnmp.proto.api import v2c

from fabrics import ROOT
from loopback import scripted, snmp, truthful
from tagloom import platforms
from tagloom.adapters.greeting import TAIL, WAITS, Greeting
from tagloom.errors import DeviceError
from tagloom.observe import cabling_of, interpret, next_agents
from tagloom.observe.network import cabling_by_name, read_switches
from tagloom.observe.objects import COLUMNS, EVERYTHING, SCALARS
from tagloom.records.snmp import Raw, Wanted

CASES = ROOT / "tests" / "data" / "public-cases"
NAME, ALIAS, DESCRIPTION = COLUMNS["ifName"], (1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 18), SCALARS["sysDescr"]
LONG = {(port,): b"port-with-a-long-name-%d" % port for port in range(1, 49)}
N_PORTS = [*(f"Gi1/0/{n}" for n in range(1, 49)), "Te1/0/1", "Te1/0/2"]
N2048, N2048_ID = "Dell Networking N2048, 6.3.3.7", (1, 3, 6, 1, 4, 1, 674, 10895, 3054)
CRS_PORTS = [*(f"ether{n}" for n in range(1, 25)), "sfp-sfpplus1", "sfp-sfpplus2"]
CRS = "RouterOS CRS326-24G-2S+"


# --- agents and neighbors --------------------------------------------------------------------------------------------


def switch_mac(number):
    return bytes([0, 0x1E, 0xC9, 0, 0, number])


def station_mac(number):
    return bytes([2, 0x1E, 0xC9, 9, 0, number])


def agent(number, description, ports, *neighbours, object_id=None):
    """Return what the agent of switch `number` answers; `neighbours` are a port and what LLDP received there."""
    scalars = {"sysDescr": description.encode(), "sysName": b"s%d" % number, "lldpLocChassisIdSubtype": 4}
    scalars |= {"lldpLocChassisId": switch_mac(number), "sysObjectID": object_id}
    columns = {oid: {} for oid in COLUMNS.values()}
    for port, name in enumerate(ports, start=1):
        for column in ("ifName", "ifDescr", "lldpLocPortId"):
            columns[COLUMNS[column]][port,] = name.encode()
        columns[COLUMNS["dot1dBasePortIfIndex"]][port,] = port
    for row, (port, received) in enumerate(neighbours, start=1):
        for column, value in received.items():
            columns[COLUMNS[f"lldpRem{column}"]][0, port, row] = value
    known = {SCALARS[name]: value for name, value in scalars.items() if value is not None}
    return Raw(at=1.0, scalars=known, columns=columns)


def received(chassis, kind, port, name, enabled, description=None):
    """Return one neighbor's row of LLDP; kinds of port ids: 3 is an address, 5 an interface's name."""
    row = {"ChassisIdSubtype": 4, "ChassisId": chassis, "PortIdSubtype": kind, "PortId": port, "SysName": name}
    row |= {"SysCapEnabled": enabled}
    return row if description is None else row | {"PortDesc": description}


def cabling_beside(*neighbours):
    """Return what an N2048 with these neighbors reports, and the cabling that is found from it alone."""
    raw = agent(1, N2048, N_PORTS, *neighbours, object_id=N2048_ID)
    seen, models, failed = read_switches({"s1": raw})
    assert (models, failed) == ({"s1": "n-series"}, {})
    [only] = seen.values()
    return only, cabling_of("x", {only.chassis: only}, {only.chassis: "n-series"}, {})


@pytest.mark.parametrize("path", [b"bridge/ether%d", b"bridge1/bond1/ether%d", b"tagloom/ether%d"])
def test_lldp_routeros_bridge_path_ends_with_the_port(path):
    s1 = agent(1, CRS, CRS_PORTS, (2, received(switch_mac(2), 5, path % 1, b"s2", b"\x28\0")))
    s2 = agent(2, CRS, CRS_PORTS, (1, received(switch_mac(1), 5, path % 2, b"s1", b"\x28\0")))
    seen, models, failed = read_switches({"s1": s1, "s2": s2})
    assert failed == {}
    found = cabling_by_name("x", seen, models, dict.fromkeys(seen, "127.0.0.1"))
    assert [(link.a, link.a_port, link.b, link.b_port) for link in found.fabric.links] == [(0, 2, 1, 1)]
    assert found.complaints == ()


def test_lldp_two_hosts_one_port_are_one_host_with_both_addresses_and_both_are_named():
    host = received(station_mac(1), 3, station_mac(1), b"n1", b"\x01\0", b"eno1")
    controller = received(station_mac(7), 3, station_mac(7), b"bmc1", b"\x01\0", b"NIC")
    for neighbours in ((host, controller), (controller, host)):
        _, found = cabling_beside(*((5, each) for each in neighbours))
        assert [(each.name, each.port, set(each.macs)) for each in found.fabric.hosts] == [
            ("n1", 5, {0x021E_C909_0001, 0x021E_C909_0007})
        ]
        [words] = found.complaints
        assert words.startswith(
            "s1:Gi1/0/5: 2 stations at one port, n1 (02:1e:c9:09:00:01) and bmc1 (02:1e:c9:09:00:07): read as one host"
        )


@pytest.mark.parametrize("enabled", [b"\x28\0", b"\0\0", b""])
def test_lldp_zero_capabilities_are_no_host_and_named_as_a_doubt(enabled):
    seen, found = cabling_beside((30, received(switch_mac(2), 5, b"Gi1/0/12", b"s2", enabled, b"")))
    assert found.fabric.hosts == ()
    assert [far.bridge for far in seen.neighbours] == [True]
    doubt = (
        "s1:Gi1/0/30: s2 (00:1e:c9:00:00:02) is read as a switch, which was not read, and may be a host: it announces "
        "no capabilities; hosts.s2 (switch, port) or links in the fabric file settles it (discover --against)"
    )
    assert found.complaints == (() if enabled == b"\x28\0" else (doubt,))
    assert list(next_agents([seen], (), 161)) == ["mac 00:1e:c9:00:00:02"]


def walk(case):
    """Return the rows of a walk that `snmpwalk -On` wrote, as an agent holds them."""
    rows = re.findall(r"^\.([\d.]+) = INTEGER: (\d+)$", (CASES / case / "walk.txt").read_text("utf-8"), re.MULTILINE)
    return {tuple(map(int, oid.split("."))): v2c.Integer32(int(value)) for oid, value in rows}


def test_huawei_dot1d_fdb_is_read_by_bridge_port():
    rows = walk("huawei-dot1d-fdb")
    assert len(rows) == 3
    rows |= {(*NAME, port): v2c.OctetString(f"GigabitEthernet0/0/{port}") for port in range(1, 25)}
    with scripted(truthful(rows)) as place, snmp() as wire:
        raw = wire.ask({"s0": place}, EVERYTHING)["s0"]
    found = interpret("s0", raw, platforms.load("huawei-s5731-s24t4x"))
    assert (found.error, found.vlans.learned) == ("", {(0, 0x021E_C900_0001): 7})


# --- what an SNMP agent sends ----------------------------------------------------------------------------------------


def names_asked_of(answer, source="127.0.0.1"):
    with scripted(answer, source) as place, snmp(timeout=0.5) as wire:
        found = wire.ask({"a": place}, Wanted(scalars=(DESCRIPTION,), tables=((NAME, ALIAS),)))["a"]
    assert found.error == ""
    assert found.scalars == {DESCRIPTION: b"PowerConnect 5324"}
    assert found.columns == {NAME: LONG, ALIAS: LONG}
    return found


HELD = {(*column, *port): v2c.OctetString(name) for column in (NAME, ALIAS) for port, name in LONG.items()}
HELD[DESCRIPTION] = v2c.OctetString(b"PowerConnect 5324")


def test_snmp_large_reply_lost_is_asked_for_in_smaller_ones():
    lost = []

    def answer(request):
        whole = truthful(HELD, most=50)(request)
        lost.extend(data for data in whole if len(data) > 1472)  # which arrives in fragments, or not at all
        return [data for data in whole if len(data) <= 1472]

    assert names_asked_of(answer).complaints == ()
    assert lost


def test_snmp_other_source_is_taken_by_its_request_id_and_named():
    found = names_asked_of(truthful(HELD), source="127.0.0.2")
    assert found.complaints == ("it answers from 127.0.0.2, not 127.0.0.1: taken by its request id",)


# --- what a console says at a login ----------------------------------------------------------------------------------

LEGAL = "Without permission no access.\n****\nPress Y or ENTER to continue, N to exit.\n"
MOTD = "Planned work tonight\n\nPress 'y' to continue"
TERMS = "Authorised use only.\nDo you accept the terms (y/n)? "
TIMED = "Planned work\nPress 'y' to continue (within 30 seconds) (y/n)"
RENEW = "Please change your password.\nEnter old password  :"


def waited_for(said):
    return WAITS.search(said, max(0, len(said) - TAIL)) is not None


def refusal_of(said):
    with pytest.raises(DeviceError) as raised:
        Greeting("s", "ada", "pw").answer(said)
    return str(raised.value)


def test_comware_legal_banner_is_answered_as_configured_or_shown():
    assert waited_for(LEGAL)
    assert Greeting("s", "ada", "pw", answers=[("consent", "y")]).answer(LEGAL) == "\n"
    assert refusal_of(LEGAL) == (
        "s at 'login': the console wants consent, which tagloom_console_answers gives: {consent: y}; its last lines: "
        "Without permission no access. / **** / Press Y or ENTER to continue, N to exit."
    )
    key = "Please Press ENTER.\n"
    assert waited_for(key)
    assert Greeting("s", "ada", "pw").answer(key) == "\n"


@pytest.mark.parametrize(("said", "keys"), [(MOTD, "y"), (TERMS, "y\n"), (TIMED, "y")])
def test_os6_banner_acknowledge_is_agreed_to_once_as_configured_or_shown(said, keys):
    assert waited_for(said)
    greeting = Greeting("s", "ada", "pw", answers=[("consent", "y")])
    assert greeting.answer(said) == keys
    with pytest.raises(DeviceError, match="asks again after 'y'"):
        greeting.answer(said)
    assert refusal_of(said) == (
        "s at 'login': the console wants consent, which tagloom_console_answers gives: {consent: y}; its last lines: "
        + " / ".join(line.strip() for line in said.splitlines() if line)
    )


def test_os6_banner_acknowledge_leaves_an_old_password_to_the_operator():
    assert waited_for(RENEW)
    assert "the console wants another password: log in once and set it" in refusal_of(RENEW)
