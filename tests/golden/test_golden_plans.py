"""Golden configurations of a 2x2 mesh: read the diff of these files as an operator would before renewing them."""

import pytest

from fabrics import make_fabric
from fixtures.golden import Golden
from tagloom import pipeline

CASES = [
    ("powerconnect-5324", "fixed"),
    ("powerconnect-5324", "renamed"),
    ("powerconnect-6224", "fixed"),
    ("powerconnect-6224", "renamed"),
    ("linux-bridge", "fixed"),
    ("linux-bridge", "renamed"),
]
RINGS = ["powerconnect-5324", "powerconnect-6224"]


@pytest.mark.parametrize(("model", "assignment"), CASES)
def test_the_configurations_of_a_2x2_mesh(model, assignment, templates, golden):
    """Rows s0 s1 and s2 s3; every host reaches every other by its row first, then a column."""
    fabric = make_fabric("mesh", 2, 2, model=model)
    _, proof, texts = pipeline.plan(fabric, templates, assignment=assignment)
    assert proof.proven
    folder = f"mesh-2x2-{assignment}-{model}"
    for name, text in texts.items():
        golden.check(f"{folder}/{name}.cfg", text)
    golden.check_names(folder, [f"{name}.cfg" for name in texts])


@pytest.mark.parametrize("model", RINGS)
def test_a_switch_that_holds_group_entries(model, templates, golden):
    """A ring of five with one link between neighbours: up*/down* from s0, and broadcasts along a tree."""
    fabric = make_fabric("ring", 5, model=model)
    _, proof, texts = pipeline.plan(fabric, templates, assignment="renamed")
    assert proof.proven
    golden.check(f"ring-5-renamed-{model}/s2.cfg", texts["s2"])
    golden.check_names(f"ring-5-renamed-{model}", ["s2.cfg"])


def test_no_reviewed_text_is_one_that_nothing_makes(golden):
    plans = [f"mesh-2x2-{assignment}-{model}" for model, assignment in CASES]
    golden.check_names(
        ".", [*plans, *(f"ring-5-renamed-{model}" for model in RINGS), "comware", "eos", "huawei", "errors", "render"]
    )


def test_a_stale_text_fails_until_it_is_renewed(tmp_path):
    (tmp_path / "plan").mkdir()
    for name in ("s0.cfg", "s1.cfg"):
        (tmp_path / "plan" / name).write_text("old\n")
    with pytest.raises(AssertionError, match="another text"):
        Golden(tmp_path).check("plan/s0.cfg", "new\n")
    with pytest.raises(AssertionError, match=r"no test makes \['s1.cfg'\]"):
        Golden(tmp_path).check_names("plan", ["s0.cfg"])
    with pytest.raises(AssertionError, match="is missing"):
        Golden(tmp_path).check("plan/s2.cfg", "new\n")
    renewed = Golden(tmp_path, update=True)
    renewed.check("plan/s0.cfg", "new\n")
    renewed.check_names("plan", ["s0.cfg"])
    assert [path.name for path in (tmp_path / "plan").iterdir()] == ["s0.cfg"]
    Golden(tmp_path).check("plan/s0.cfg", "new\n")
