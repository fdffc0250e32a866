"""Golden configurations of a 2x2 mesh: read the diff of these files as an operator would before renewing them."""

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline

CASES = [
    ("powerconnect-5324", "fixed"),
    ("powerconnect-5324", "renamed"),
    ("powerconnect-6224", "fixed"),
    ("powerconnect-6224", "renamed"),
    ("linux-bridge", "fixed"),
    ("linux-bridge", "renamed"),
]


@pytest.mark.parametrize(("model", "assignment"), CASES)
def test_the_configurations_of_a_2x2_mesh(model, assignment, templates):
    """Rows s0 s1 and s2 s3; every host reaches every other by its row first, then a column."""
    fabric = make_fabric("mesh", 2, 2, model=model)
    _, proof, texts = pipeline.plan(fabric, templates, assignment=assignment)
    assert proof.proven
    folder = ROOT / "tests" / "golden" / f"mesh-2x2-{assignment}-{model}"
    for name, text in texts.items():
        assert text == (folder / f"{name}.cfg").read_text("utf-8"), f"{folder.name}/{name}.cfg"


@pytest.mark.parametrize("model", ["powerconnect-5324", "powerconnect-6224"])
def test_a_switch_that_holds_group_entries(model, templates):
    """A ring of five with one link between neighbours: up*/down* from s0, and broadcasts along a tree."""
    fabric = make_fabric("ring", 5, model=model)
    _, proof, texts = pipeline.plan(fabric, templates, assignment="renamed")
    assert proof.proven
    text = (ROOT / "tests" / "golden" / f"ring-5-renamed-{model}" / "s2.cfg").read_text("utf-8")
    assert texts["s2"] == text
