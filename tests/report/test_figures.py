"""Figures for papers: there, whole, and the same bytes again."""

import pytest

from fabrics import ROOT

pytestmark = pytest.mark.slow

LU = ROOT / "tests" / "data" / "npb" / "lu.S.16.matrix.csv"


@pytest.mark.daily
def test_figures_are_drawn_and_come_out_the_same_twice(site, answer, tmp_path):
    words = ["predict", site / "b0", "--traffic", LU, "--seconds", "10", "--settings", site / "night.json", "--figures"]
    status, page = answer(*words, tmp_path / "a")
    assert status == 0
    assert answer(*words, tmp_path / "b")[0] == 0
    names = [f"{name}.{kind}" for name in ("load", "wait", "sleep", "saving") for kind in ("pdf", "png")]
    assert page["figures"] == names
    for name in names:
        first = (tmp_path / "a" / name).read_bytes()
        assert first.startswith(b"%PDF" if name.endswith("pdf") else b"\x89PNG")
        assert first == (tmp_path / "b" / name).read_bytes()
    other = tmp_path / "c"
    assert answer(*words[:-3], "--figures", other)[0] == 0  # without the settings
    assert (other / "saving.png").read_bytes() != (tmp_path / "a" / "saving.png").read_bytes()
    assert answer(*words, tmp_path / "a" / "load.pdf")[0] == 2  # a file stands there
