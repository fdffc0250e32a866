"""Golden configurations of a 2x2 mesh: read the diff of these files as an operator would before renewing them."""

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline

CASES = [
    ("powerconnect-5324", "fixed"),
    ("powerconnect-5324", "renamed"),
    ("powerconnect-6224", "fixed"),
    ("powerconnect-6224", "renamed"),
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
