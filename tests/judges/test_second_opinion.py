"""What tagloom says of ROS and FASTPATH texts, and what an interpreter that shares no code with it sees frames do."""

import ast
import random
import sys
from collections import Counter
from pathlib import Path

import pytest

from fabrics import ROOT, make_fabric
from judges.frames import Network, judge
from judges.spoil import spoil
from judges.switchtext import canonical, interfaces, read
from tagloom import pipeline, platforms
from tagloom.errors import PlanError
from tagloom.read.fabric_file import parse_fabric

HERE = Path(__file__).parent
FAMILY = {
    "powerconnect-5324": "ros",
    "powerconnect-5548": "ros",
    "powerconnect-6224": "fastpath",
    "powerconnect-6248": "fastpath",
    "n-series": "fastpath",
}
SHAPES = [
    ("mesh", (2, 2), {}),
    ("mesh", (3, 2), {"hosts": 2}),
    ("torus", (3, 3), {}),
    ("ring", (5,), {"parallel": 2}),
    ("ring", (3,), {"parallel": 2, "lag": True}),
    ("tree", (2, 2), {"parallel": 3, "lag": True}),
    ("fat-tree", (2, 4, 1), {"hosts": 2}),
    ("complete", (4,), {}),
]
GADGETS = sorted((ROOT / "tests" / "gadgets").glob("*.yml"))
MODULES = ("switchtext.py", "frames.py")


def planned(rng):
    """Plan a small fabric or a gadget for some model, fixed or renamed; return its fabric, texts and family."""
    while True:
        model = rng.choice(sorted(FAMILY))
        if rng.random() < 0.3:
            text = rng.choice(GADGETS).read_text("utf-8")
            fabric = parse_fabric(f"{text}\nmodel: {model}\n", "gadget")
        else:
            family, dims, options = rng.choice(SHAPES)
            fabric = make_fabric(family, *dims, model=model, **options)
        try:
            build, proof, texts = pipeline.plan(fabric, ROOT / "templates", assignment=rng.choice(["fixed", "renamed"]))
        except PlanError:
            continue
        return build, proof, texts, FAMILY[model]


def opinion(fabric, texts, family):
    """Let the second interpreter read the texts and send frames; cables and hosts have the front panel's names."""
    names = [platforms.load(switch.model).port_name for switch in fabric.switches]
    cables = [
        (fabric.switches[li.a].name, canonical(names[li.a](p)), fabric.switches[li.b].name, canonical(names[li.b](q)))
        for li in fabric.links
        if li.up
        for p, q in li.cables
    ]
    hosts = {
        host.name: (fabric.switches[host.switch].name, canonical(names[host.switch](host.port)), f"{host.mac:012x}")
        for host in fabric.hosts
    }
    return judge(Network({name: read(text, family) for name, text in texts.items()}, cables, hosts))


def compare(fabric, texts, family):
    """Return how a case is judged, and in what the two differ."""
    _, proof = pipeline.prove(fabric, texts, None, whole=True)
    seen = opinion(fabric, texts, family)
    for kind in ("unclear", "refused", "loose"):
        if why := getattr(seen, kind):
            return kind, [f"proven, although {kind}: {why[0]}"] if proof.proven else []
    of_ports = any(f.where.endswith(": model") for f in proof.findings)  # those of a stack that the fabric file lacks
    if of_ports or proof.unknown_lines or any(f.expected.startswith("a line ") for f in proof.findings):
        return "not read", []  # tagloom names lines that it does not take
    if not proof.paste_order and not proof.proven:
        return "no order", []  # tagloom names lines that the switch does not take where they stand
    wrong = []
    if proof.storm_free == seen.storm:
        wrong.append(f"storm: expected {not proof.storm_free}, actual {seen.storm}")
    if proof.deadlock_free == seen.cycle:
        wrong.append(f"cycle: expected {not proof.deadlock_free}, actual {seen.cycle}")
    stp = {f.where.split()[0] for f in proof.findings if f.where.endswith("spanning tree")}
    if stp != seen.spanning_tree:
        wrong.append(f"spanning tree: expected {sorted(stp)}, actual {sorted(seen.spanning_tree)}")
    if not seen.storm:
        if proof.reachable_pairs != len(seen.reached):
            wrong.append(f"reachable pairs: expected {proof.reachable_pairs}, actual {len(seen.reached)}")
        if proof.off_path_pairs != len(seen.flooded):
            wrong.append(f"off-path pairs: expected {proof.off_path_pairs}, actual {len(seen.flooded)}")
        once = all(copies == (a != b) for (a, b), copies in seen.copies.items())
        if proof.broadcast_exactly_once != once:
            wrong.append(f"broadcasts once: expected {proof.broadcast_exactly_once}, actual {once}")
    misplaced = seen.misplaced
    if misplaced and proof.proven and proof.paste_order:
        wrong.append(f"said to work when pasted, although misplaced: {misplaced[0]}")
    return "misplaced" if seen.misplaced else "judged", wrong


def campaign(seed, plans, spoilt):
    """Judge `plans` plans and `spoilt` texts of each; return counts, and the cases in which the two differ."""
    rng = random.Random(seed)
    counts, differing = Counter(), []
    for number in range(plans):
        build, proof, texts, family = planned(rng)
        fabric = build.fabric
        kind, wrong = compare(fabric, texts, family)
        assert proof.proven, (number, fabric.name)
        assert kind == "judged", (number, fabric.name)
        counts["plans"] += 1
        where = f"plan {number} ({fabric.name}, {fabric.switches[0].model}, {build.assignment})"
        differing += [(where, "as planned", wrong, fabric, texts)] if wrong else []
        for _ in range(spoilt):
            slip = spoil(rng, texts)
            if slip is None:
                continue
            kind, wrong = compare(fabric, slip[0], family)
            counts[kind] += 1
            counts["spoilt"] += 1
            differing += [(where, slip[1], wrong, fabric, slip[0])] if wrong else []
    return counts, differing


def told(differing):
    return "\n".join(f"{where}, {slip}: {'; '.join(wrong)}" for where, slip, wrong, _, _ in differing[:10])


def test_the_interpreter_shares_no_code_with_tagloom():
    for name in MODULES:
        for node in ast.walk(ast.parse((HERE / name).read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for each in names:
                assert each.split(".")[0] in {*sys.stdlib_module_names, "switchtext"}, f"{name} imports {each}"


@pytest.mark.slow
def test_both_say_the_same_of_plans_and_of_texts_with_a_slip():
    counts, differing = campaign(1623, 14, 16)
    assert not differing, told(differing)
    assert counts["judged"] > 80, counts
    assert counts["refused"], counts
    assert counts["misplaced"], counts


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_both_say_the_same_of_thousands_of_texts(seed):
    counts, differing = campaign(seed, 40, 50)
    assert not differing, told(differing)
    assert counts["judged"] > 800, counts


def test_a_5324s_running_configuration_is_read_as_it_was_seen():
    """The two real texts of g-port switches that are on record: blocks over ranges, the same port in many of them."""
    switch = read(
        "vlan database\nvlan 2-3\nexit\ninterface range ethernet g(17-20)\nswitchport access vlan 2\nexit\n", "ros"
    )
    assert switch.vlans == {1, 2, 3}
    assert {name: switch.members(name) for name in ("g16", "g17", "g20")} == {
        "g16": {1: "untagged"},
        "g17": {2: "untagged"},
        "g20": {2: "untagged"},
    }
    assert not switch.refused
    assert interfaces("ethernet g(1-3,6,8-9)") == ["g1", "g2", "g3", "g6", "g8", "g9"]


def test_a_6224s_running_configuration_is_read_as_it_was_seen():
    """The real text of a 6224 with firmware 3.3.4.1: PVID before membership, untagged without a keyword."""
    text = """!Current Configuration:
configure
vlan database
vlan 12-13,30-31,103,2012-2013,2091,2093
exit
interface ethernet 1/g1
switchport mode general
switchport general pvid 2093
switchport general allowed vlan add 2093
switchport general allowed vlan add 12-13,2012-2013 tagged
exit
"""
    switch = read(text, "fastpath")
    tagged = dict.fromkeys((12, 13, 2012, 2013), "tagged")
    assert switch.members("1/g1") == {1: "untagged", 2093: "untagged", **tagged}  # VLAN 1 stays until it is removed
    assert switch.pvid("1/g1") == 2093
    assert not switch.refused + switch.misplaced


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("switchport general pvid 99", True),  # VLAN was not created by user
        ("switchport general pvid 4095", False),
        ("switchport general allowed vlan add 20 untagged", True),
        ("switchport general allowed vlan remove 99", False),
        ("switchport general acceptable-frame-type untagged-only", False),
        ("switchport general colour blue", True),
        ("bridge address 02:00:00:00:00:01 permanent ethernet g1", True),  # not among a port's lines
    ],
)
def test_a_line_that_a_switch_would_not_take_has_no_effect(line, refused):
    text = f"vlan database\nvlan 10\nexit\ninterface ethernet g1\nswitchport mode general\n{line}\nexit\n"
    assert bool(read(text, "ros").refused) is refused


HEAD = "vlan database\nvlan 10\nexit\nno spanning-tree\n"
OPEN = "interface range ethernet g(1-3)\nswitchport mode general\nswitchport general allowed vlan add 10 untagged\n"
OPEN += "switchport general allowed vlan remove 1\nswitchport general pvid 10\nexit\n"
RING = [("a", "g1", "b", "g2"), ("b", "g1", "c", "g2"), ("c", "g1", "a", "g2")]
HOSTS = {f"h{s}": (s, "g3", f"02000000000{i}") for i, s in enumerate("abc")}


def entries(ports):
    return "interface vlan 10\n" + "".join(
        f"bridge address 02:00:00:00:00:0{i} permanent ethernet {port}\n" for i, port in enumerate(ports)
    )


def test_a_ring_without_spanning_tree_storms_and_says_so():
    seen = judge(Network({s: read(HEAD + OPEN, "ros") for s in "abc"}, RING, HOSTS))
    assert seen.storm
    assert seen.cycle
    line = judge(Network({s: read(HEAD + OPEN, "ros") for s in "abc"}, RING[:2], HOSTS))
    assert not line.storm
    assert not line.cycle
    assert len(line.reached) == len(line.flooded) == 6  # nothing is pinned
    assert all(copies == (x != y) for (x, y), copies in line.copies.items())


def test_entries_pin_paths_and_all_round_a_ring_they_wait_for_each_other():
    way = {"a": ["g3", "g1", "g1"], "b": ["g1", "g3", "g1"], "c": ["g1", "g1", "g3"]}
    seen = judge(Network({s: read(HEAD + OPEN + entries(way[s]), "ros") for s in "abc"}, RING, HOSTS))
    assert len(seen.reached) == 6
    assert not seen.flooded
    assert seen.cycle


def test_what_a_port_takes_and_how_it_sends_decide_what_arrives():
    def reached(change):
        texts = {s: read(HEAD + OPEN + (change if s == "b" else ""), "ros") for s in "abc"}
        return {x + y for x, y in judge(Network(texts, RING[:2], HOSTS)).reached}

    everything = {"hahb", "hahc", "hbha", "hbhc", "hcha", "hchb"}
    port = "interface ethernet g{}\n{}\nexit\n"
    assert reached("") == everything
    assert reached(port.format(1, "shutdown")) == {"hahb", "hbha"}
    assert reached(port.format(2, "switchport general acceptable-frame-type tagged-only")) == everything - {
        "hahb",
        "hahc",
    }
    assert reached(port.format(3, "switchport general allowed vlan add 10 tagged")) == everything - {"hahb", "hchb"}
    assert reached(port.format(3, "switchport general pvid 4095")) == everything - {"hbha", "hbhc"}
    assert reached(port.format(3, "switchport general allowed vlan remove 10")) == {"hahc", "hcha"}
