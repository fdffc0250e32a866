"""The record of detours: what plan.json says of them is read back as it was written, or refused whole."""

import json
from dataclasses import replace

import pytest

from fabrics import make_fabric
from tagloom import pipeline
from tagloom.errors import InputError
from tagloom.platforms.port_names import link_ends
from tagloom.records.detours import Detour, with_vlans
from tagloom.share import share_directory


def test_what_was_written_is_read_back():
    detours = (Detour(("s0:g1", "s1:g1"), {"h0": 101, "h1": 100}), Detour(("s3",), {}))
    assert tuple(Detour.from_json(json.loads(json.dumps(each.to_json()))) for each in detours) == detours
    assert with_vlans(detours, {101: 7})[0].pvids == {"h0": 7, "h1": 100}


@pytest.mark.parametrize(
    "plain", [{"dead": [], "pvids": {}}, {"dead": ["a", "b", "c"], "pvids": {}}, {"dead": ["a"], "pvids": {"h": 4095}}]
)
def test_another_form_is_refused(plain):
    with pytest.raises(InputError, match="detour"):
        Detour.from_json(plain)


def test_a_build_keeps_its_detours_and_names_strangers_in_them(tmp_path):
    fabric = make_fabric("mesh", 2, 2, model="powerconnect-5324")
    build, proof, texts = pipeline.plan(fabric, share_directory() / "templates")
    detours = (Detour(link_ends(fabric, 0), {"h0": 100}), Detour(("s2",), {}))
    path = tmp_path / "build"
    pipeline.write_build(replace(build, detours=detours), proof, texts, path)
    assert pipeline.read_build(path).detours == detours
    page = json.loads((path / "plan.json").read_text())
    assert page["detours"][0] == {"dead": list(link_ends(fabric, 0)), "pvids": {"h0": 100}}
    page["detours"] = [{"dead": ["s0:g1", "s9:g1"], "pvids": {"h9": 100}}]
    (path / "plan.json").write_text(json.dumps(page))
    with pytest.raises(InputError) as refused:
        pipeline.read_build(path)
    assert [each.where.rpartition(": ")[2] for each in refused.value.findings] == ["detours.0.dead", "detours.0.pvids"]
