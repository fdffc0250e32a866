"""Small named fabrics, each with the one right answer in the head of its file."""

import re
from functools import partial
from pathlib import Path

import pytest

from tagloom.graph.paths import average_hops, dependencies
from tagloom.read import read_fabric
from tagloom.route import route
from tagloom.verify import Plan, broadcasts_once, verify
from tagloom.weave import weave

GADGETS = sorted(Path(__file__).parent.glob("*.yml"))


@pytest.mark.parametrize("path", GADGETS, ids=lambda p: p.stem)
def test_a_gadget_has_its_one_right_answer(path):
    (line,) = re.findall(r"^# expect: (.*)$", path.read_text("utf-8"), re.MULTILINE)
    expected = dict(item.split() for item in line.split(", "))
    fabric = read_fabric(path)
    found = {}
    for assignment in ("fixed", "renamed"):
        routes = route(fabric, "auto", assignment)
        plan = weave(fabric, routes, assignment, broadcasts_once=partial(broadcasts_once, fabric))
        proof = verify(fabric, plan.state, Plan(routes))
        assert proof.proven, [str(finding) for finding in proof.findings]
        found[assignment] = str(plan.vlans)
        if assignment == "fixed":
            found["routing"] = routes.method
            found["average_hops"] = str(round(average_hops(fabric, routes), 6))
            found["dependencies"] = str(len(dependencies(fabric, routes)[0]))
    assert {key: found[key] for key in expected} == expected
