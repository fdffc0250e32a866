"""Tables and paths of others: what each form says, and what is refused."""

import json

import numpy as np
import pytest

from fabrics import ROOT
from tagloom.errors import InputError
from tagloom.pipeline import prove_paths, prove_tables

pytestmark = pytest.mark.kernel

RING = ROOT / "tests" / "data" / "infiniband" / "ring"
LINKS = "a,a_port,b,b_port\nr0,eth0,r1,eth0\nr1,eth1,r2,eth0\nr2,eth1,r0,eth1\n"
TABLE = "switch,destination,ports\nr0,h,eth0\nr1,h,eth1\nr2,h,swp9\n"


def write(directory, **files):
    for name, text in files.items():
        (directory / name.replace("__", ".")).write_text(text if isinstance(text, str) else json.dumps(text), "utf-8")
    return directory


def findings(of, path):
    with pytest.raises(InputError) as refused:
        of(path)
    return [str(each).replace(str(path), "HERE") for each in refused.value.findings]


def test_routers_send_by_the_longest_prefix(tmp_path):
    frr = {
        "10.0.0.0/24": [
            {
                "selected": True,
                "protocol": "connected",
                "nexthops": [{"directlyConnected": True, "interfaceName": "swp9", "fib": True, "active": True}],
            }
        ],
        "0.0.0.0/0": [
            {"selected": False, "protocol": "static", "nexthops": [{"interfaceName": "lost", "active": True}]},
            {
                "selected": True,
                "protocol": "bgp",
                "nexthops": [
                    {"interfaceName": "eth0", "fib": True, "active": True},
                    {"interfaceName": "eth1", "fib": True, "active": True},
                ],
            },
        ],
    }
    linux = [
        {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0"},
        {"dst": "10.0.0.0/16", "nexthops": [{"gateway": "192.0.2.9", "dev": "eth1"}]},
        {"dst": "10.0.1.0/24", "dev": "swp9", "protocol": "kernel"},
        {"dst": "192.0.2.0/31", "dev": "eth0", "protocol": "kernel"},
    ]
    third = [
        {"dst": "10.0.0.0/24", "via": {"host": "x"}, "dev": "eth1"},
        {"dst": "10.0.1.0/24", "dev": "eth0", "gateway": "x"},
    ]
    write(tmp_path, links__csv=LINKS, r0__json=frr, r1__json=linux, r2__json=third)
    proof = prove_tables(tmp_path)
    names = proof.routes.channels
    held = {(names[a], names[b]) for a, b in proof.routes.pairs.T}
    # 10.0.0.0/24 from r1 by eth1 and r2 by eth1; 10.0.1.0/24 from r0 by eth0 or eth1, and from r2 by eth0.
    assert held == {("r1:eth1", "r2:eth1"), ("r0:eth1", "r2:eth0")}
    assert proof.deadlock_free
    assert (proof.routes.destinations, proof.routes.dead_ends) == (2, 0)


def test_missing_and_wrong_entries_are_told(tmp_path):
    proof = prove_tables(write(tmp_path, links__csv=LINKS, tables__csv=TABLE.replace("r2,h,swp9", "r0,g,swp1")))
    assert (proof.routes.dead_ends, proof.proven, proof.deadlock_free) == (1, False, True)
    write(tmp_path, links__csv=LINKS, tables__csv=TABLE + "r2,h,swp9\nr9,h,eth0\nr0,g,eth0 swp3\nr1,g,\n")
    assert findings(prove_tables, tmp_path) == [
        "HERE/tables.csv:5: expected one entry for 'h' at r2, actual a second",
        "HERE/tables.csv:6: expected a switch that a link names, actual 'r9'",
        "HERE/tables.csv:7: expected ports that all carry links, or one that carries none, actual ('eth0', 'swp3')",
        "HERE/tables.csv:8: expected ports that all carry links, or one that carries none, actual ()",
    ]
    write(tmp_path, links__csv=LINKS + "r0,eth0,r2,eth7\n", tables__csv=TABLE)
    assert findings(prove_tables, tmp_path) == [
        "HERE/links.csv:5: expected one link at a port, actual a second at 'r0:eth0'"
    ]


def test_arrays_say_the_same_as_rows(tmp_path):
    arrays = {
        "ends": [[0, 1], [1, 0], [1, 2], [2, 1], [2, 0], [0, 2]],
        "group": [[0], [1], [-2]],
        "first": [0, 1, 2],
        "members": [0, 2],
        "senders": [1, 1, 1],
    }

    def write_arrays(**changed):
        kept = {name: np.array(value, np.int32) for name, value in {**arrays, **changed}.items()}
        np.savez(tmp_path / "tables.npz", **kept)
        return tmp_path

    routes = prove_tables(write_arrays()).routes
    assert routes.pairs.T.tolist() == [[0, 2]]
    assert prove_tables(write_arrays(senders=[0, 1, 0])).routes.dependencies == 0
    for name, value in (("ends", [[0, 9]]), ("first", [0, 2]), ("members", [0, 9]), ("group", [[0], [0], [-2]])):
        assert findings(prove_tables, write_arrays(**{name: value})), name
    for name, value in (("senders", [1]), ("group", [0]), ("group", [[2], [1], [-2]]), ("group", [[-3], [1], [-2]])):
        assert findings(prove_tables, write_arrays(**{name: value})), name


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("a,b,s0 s1,9\n", "HERE:2  priority: expected 0 to 7, actual '9'"),
        ("a,b,s0:g1 s1,0\na,b,s0:g1 s2,0\n", "HERE:3: expected s0:g1 leads to s1, as above, actual s2"),
        (
            "a,b,s0:g1 s1,0\na,b,s0 s1,0\n",
            "HERE:3: expected ports named on all paths from s0 to s1, or on none, actual 's0'",
        ),
        ("a,b,,0\n", "HERE:2  path: expected switches, or SWITCH:PORT, with spaces between, actual ''"),
        ("a,b,s0 s1\n", "HERE:2: expected 4 cells, actual 3"),
        ("", "HERE: expected paths, actual none"),
    ],
)
def test_paths_that_are_refused(tmp_path, rows, expected):
    path = tmp_path / "paths.csv"
    path.write_text("source,destination,path,priority\n" + rows, "utf-8")
    assert findings(prove_paths, path) == [expected]


def test_a_directory_of_something_else_is_refused(tmp_path):
    assert findings(prove_tables, tmp_path) == [
        "HERE: expected tables.npz, links.csv, or files of a subnet manager, actual nothing"
    ]
    write(tmp_path, links__csv=LINKS)
    assert findings(prove_tables, tmp_path) == ["HERE: expected tables.csv, or SWITCH.json of routers, actual neither"]
    write(tmp_path, r9__json={})
    assert findings(prove_tables, tmp_path) == ["HERE/r9.json: expected the name of a switch in links.csv, actual 'r9'"]


def test_numbers_of_a_subnet_are_as_long_as_the_standard_lets_them(tmp_path):
    for name in ("opensm-subnet.lst", "opensm.fdbs"):
        text = (RING / name).read_text("utf-8")
        (tmp_path / name).write_text(text.replace("LID:0001", f"LID:{'9' * 5000}"), "utf-8")
    assert prove_tables(tmp_path).routes.destinations == 3
