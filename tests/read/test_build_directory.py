"""A build reads back as it was planned, and what was read is written again to the same files."""

from dataclasses import fields

import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import InputError
from tagloom.read.build_directory import read_build

pytestmark = pytest.mark.kernel

TEMPLATES = ROOT / "templates"
CASES = {
    "fixed": ("torus", (4, 4), {}),
    "renamed": ("torus", (4, 4), {"assignment": "renamed"}),
    "any": ("ring", (6,), {"routing": "any"}),
    "static ARP": ("ring", (4,), {"static_arp": True}),
    "protected": ("ring", (4,), {"protect": "switch"}),
}


def values(routes):
    """Give the fields of routes, arrays among them, as values that compare."""
    found = {each.name: getattr(routes, each.name) for each in fields(routes)}
    relation = found.pop("relation")
    found |= {each.name: getattr(relation, each.name) for each in fields(relation)} if relation is not None else {}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()}


@pytest.mark.parametrize("case", CASES)
def test_a_build_reads_back_as_it_was_planned(case, tmp_path):
    family, dims, how = CASES[case]
    build, proof, texts = pipeline.plan(make_fabric(family, *dims), TEMPLATES, **how)
    pipeline.write_build(build, proof, texts, tmp_path / "first")
    read = pipeline.read_build(tmp_path / "first")
    assert read.state == build.state
    assert values(read.routes) == values(build.routes)
    for name in ("assignment", "vlans", "broadcast", "remarks", "detours", "protection"):
        assert getattr(read, name) == getattr(build, name), name
    pipeline.write_build(read, proof, texts, tmp_path / "second", summary=pipeline.summary_of(build, proof))
    first, second = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("first", "second")
    )
    assert first == second


def test_a_rollout_in_place_of_a_build_is_told_with_what_proves_it(tmp_path):
    (tmp_path / "rollout.json").write_text("{}")
    with pytest.raises(InputError) as caught:
        read_build(tmp_path, None)
    (found,) = caught.value.findings
    assert f"tagloom apply {tmp_path} --check" in found.actual
