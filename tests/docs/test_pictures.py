"""The drawings of the documents are those that docs/pictures/draw.py makes of plans."""

import draw
import pytest

from fabrics import ROOT


@pytest.mark.parametrize("name", draw.PICTURES)
def test_a_drawing_is_what_its_plan_gives(name):
    drawn = draw.PICTURES[name]()
    assert (draw.HERE / name).read_text("utf-8") == drawn, "python docs/pictures/draw.py draws it anew"
    assert drawn.count("<title>") == 1, "a drawing says what it shows"
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", ""), "nothing is fetched"


def test_every_drawing_is_shown_by_a_page():
    shown = "".join(page.read_text("utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    drawings = {path.name for path in draw.HERE.glob("*.svg")}
    assert drawings == set(draw.PICTURES)
    assert [name for name in drawings if f"pictures/{name})" not in shown] == []
