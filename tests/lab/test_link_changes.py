"""The rack's agents report when a port went up or down, by the switch's own clock (IF-MIB, ifLastChange)."""

import pytest

from lab_fabrics import TEMPLATES, fabric
from tagloom.adapters.snmp import Snmp
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.observe import CARRIER, observe_all
from tagloom.read import fabric_of, read_snmp_settings

DAY = 86_400.0


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    """Return a rack of three switches in a row, and what reads (uptime, when each port last changed) by switch."""
    directory = tmp_path_factory.mktemp("rack")
    process.up(Order(fabric(3, [(0, 1, 1, 1), (1, 2, 2, 2)]), TEMPLATES), directory)
    made, settings = fabric_of(directory), read_snmp_settings(directory / "snmp.yml", {}, None)

    def look():
        with Snmp(settings.credentials, in_flight=8, timeout=2.0, retries=3) as snmp:
            seen = observe_all(made, settings.agents(made), snmp.ask, CARRIER)
        return {
            name: (each.uptime_seconds, {port.number: port.last_change_seconds for port in each.ports})
            for name, each in seen.items()
        }

    process.elapse(directory, DAY)
    assert {at for _, ports in look().values() for at in ports.values()} == {0.0}
    yield directory, look
    process.down(directory)


def moved(before, after):
    """Return the ports that changed in between, each by a clock that had come to that."""
    ports = {(name, port) for name, (_, at) in after.items() for port in at if at[port] != before[name][1][port]}
    for name, port in ports:
        assert before[name][0] <= after[name][1][port] <= after[name][0]
    return ports


def test_a_cable_that_is_pulled_and_plugged_in_moves_both_its_ends_and_nothing_else(looked):
    rack, look = looked
    process.elapse(rack, DAY)
    before = look()
    process.fault(rack, "s0", "cable", port="g1")
    pulled = look()
    assert moved(before, pulled) == {("s0", 1), ("s1", 1)}
    process.elapse(rack, DAY)
    process.mend(rack)
    mended = look()
    assert moved(pulled, mended) == {("s0", 1), ("s1", 1)}
    assert mended["s0"][1][1] > DAY
    assert moved(mended, look()) == set()


def test_a_switch_that_starts_begins_its_time_and_its_neighbours_ports_move(looked):
    rack, look = looked
    process.elapse(rack, DAY)
    before = look()
    process.fault(rack, "s1", "reboot")
    after = look()
    assert after["s1"][0] < before["s1"][0]
    assert set(after["s1"][1].values()) == {0.0}
    del before["s1"], after["s1"]
    assert moved(before, after) == {("s0", 1), ("s2", 2)}
    process.fault(rack, "s1", "reboot", lasts=DAY)
    down = look()
    assert moved(after, {name: down[name] for name in after}) == {("s0", 1), ("s2", 2)}
    process.mend(rack)
    up = look()
    assert set(up["s1"][1].values()) == {0.0}
    assert moved({name: down[name] for name in after}, {name: up[name] for name in after}) == {("s0", 1), ("s2", 2)}
