"""Cabling: each cable once as CSV, at both of its ends in the table, and alike switches in one line."""

import csv
import io
from dataclasses import replace

import pytest

from fabrics import make_fabric
from tagloom import platforms
from tagloom.report.cabling import cables, cabling_csv, cabling_table, port_lines, ports_taken

FAMILIES = [
    ("torus", (4, 4), {"parallel": 2, "model": "powerconnect-5324"}),
    ("fat-tree", (2, 4, 2), {"hosts": 3, "model": "cisco-cbs350-24t-4g"}),
    ("tree", (2, 2), {"parallel": 2, "lag": True, "model": "powerconnect-6248"}),
    ("dragonfly", (3, 2), {"model": "hpe-5130-24g-4sfp"}),
]


@pytest.mark.parametrize(("family", "dims", "more"), FAMILIES)
def test_every_port_of_a_fabric_stands_once_in_the_list_and_once_in_the_table(family, dims, more):
    fabric = make_fabric(family, *dims, **more)
    taken = [(each.switch, each.port) for each in cables(fabric)]
    taken += [(each.to, each.to_port) for each in cables(fabric) if each.to_port]
    physical = {
        (switch.name, platforms.of(switch).port_name(port))
        for switch, ports in zip(fabric.switches, fabric.used_ports, strict=True)
        for port in ports
        if port <= platforms.of(switch).physical_ports
    }
    assert len(taken) == len(set(taken))
    assert set(taken) == physical
    shown = ports_taken(fabric)
    assert {(name, port) for name, kinds in shown.items() for ports in kinds.values() for port in ports} == physical
    rows = [line.split() for line in cabling_table(fabric).splitlines()]
    assert sum(row[:1] == [port] for row in rows for port in {port for _, port in physical}) == len(physical)


def test_the_list_is_csv_with_the_state_and_speed_of_each_cable():
    fabric = make_fabric("ring", 3, model="powerconnect-5548")
    slow, down, *rest = fabric.links
    fabric = replace(fabric, links=(replace(slow, speed_mbps=100), replace(down, up=False), *rest))
    rows = list(csv.DictReader(io.StringIO(cabling_csv(fabric))))
    ends = {"from": "s0", "from_port": "gi1/0/2", "to": "s1", "to_port": "gi1/0/1"}
    assert rows[0] == ends | {"speed_mbps": "100", "state": "up"}
    assert (rows[1]["speed_mbps"], rows[1]["state"]) == ("", "down")
    assert [(row["from"], row["to"], row["to_port"]) for row in rows[-3:]] == [(f"s{n}", f"h{n}", "") for n in range(3)]
    shown = [line.split() for line in cabling_table(fabric).splitlines() if line.endswith("down")]
    assert shown == [["gi1/0/2", "s2", "gi1/0/1", "down"], ["gi1/0/1", "s1", "gi1/0/2", "down"]]


def test_switches_that_are_alike_share_a_line_of_ports():
    torus = make_fabric("torus", 4, 4, parallel=2, model="powerconnect-5324")
    assert port_lines(torus) == ["ports     links g1 to g8, hosts g9 on s0 ... s15 (16 switches)"]
    tree = make_fabric("tree", 2, 1, hosts=2, model="powerconnect-6224")
    assert port_lines(tree) == [
        "ports     links 1/g1 to 1/g2, hosts 1/g3 to 1/g4 on s0",
        "          links 1/g1, hosts 1/g2 to 1/g3 on s1, s2",
    ]
