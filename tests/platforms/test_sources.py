"""Every number in the models' data says what it is and where it is from."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabrics import make_fabric
from tagloom import platforms
from tagloom.platforms.power import datasheets
from tagloom.platforms.sources import KINDS, sources_of
from tagloom.predict.links import predict
from tagloom.predict.performance import move
from tagloom.predict.phy import phys
from tagloom.read import read_traffic
from tagloom.route import route

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(str(files("tagloom")))
KOIBUCHI = "Koibuchi et al. 2011, table "


def numbers(value: Any, at: str = "") -> Iterator[str]:
    """Yield the path of every number and every truth in a document."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from numbers(one, f"{at}.{key}" if at else str(key))
    elif isinstance(value, list):
        for one in value:
            yield from numbers(one, at)
    elif isinstance(value, int | float):
        yield at


@pytest.mark.parametrize("model", platforms.models())
def test_every_number_of_a_model_has_a_source(model):
    page = yaml.safe_load((PACKAGE / "platforms" / f"{model}.yml").read_text("utf-8"))
    method = {"pvid_is_membership", "floods_by_port", "ports_are_named_by_the_machine"}  # how it forwards: no number
    said = {path.removeprefix("limits.").partition(".")[0] for path in numbers(page)} - method
    if "like" in page.get("watts", ()):  # another model's numbers
        said.add("watts")
        assert platforms.load(model).sources["watts"].kind == "assumed"
    assert said == set(platforms.load(model).sources)
    assert {source.kind for source in platforms.load(model).sources.values()} <= set(KINDS)


def test_every_time_of_a_phy_has_a_source():
    for phy in phys().values():
        assert set(phy.sources) >= {"rate_bps", "wake", "lpi_power"}
        known = {
            "sleep": phy.sleep_seconds, "quiet": phy.quiet_seconds, "refresh": phy.refresh_seconds,
            "timeout": phy.timeout_seconds,
        }  # fmt: skip
        assert {key for key, seconds in known.items() if seconds} == set(phy.sources) & set(known)
    assert phys()["PowerConnect-5548"].sources["timeout"].kind == "measured"
    assert phys()["100BASE-TX"].sources["sleep"].kind == "assumed"


def test_every_row_of_the_data_sheets_names_its_data_sheet():
    assert all(source.startswith("https://") for _, source in datasheets().values())


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"sources": {}}, "eee"),
        ({"sources": {"eee": "seen: a"}, "latency_seconds": 1e-6}, "latency_seconds"),
        ({"sources": {"eee": "rumoured: a"}}, "eee"),
        ({"sources": {"eee": "seen: "}}, "eee"),
        ({"sources": {"eee": "seen: a", "watts": "seen: b"}}, "watts"),
    ],
)
def test_a_page_with_a_number_of_unknown_origin_is_refused(change, wrong):
    with pytest.raises(ValueError, match=f"sources: {wrong}"):
        sources_of({"title": "T", "eee": True, **change})


def test_table_4_has_no_6248_so_its_latency_is_a_6224s_and_a_forecast_says_so():
    known = {m: platforms.load(m) for m in platforms.models() if platforms.load(m).latency_seconds is not None}
    like = known.pop("powerconnect-6248")
    assert list(known) == ["powerconnect-5324", "powerconnect-6224", "sf-0420g"]
    assert all(page.sources["latency_seconds"].text == f"{KOIBUCHI}4, U-(T)-U" for page in known.values())
    assert like.latency_seconds == known["powerconnect-6224"].latency_seconds
    fabric = make_fabric("mesh", 2, 2, model="powerconnect-6248")
    traffic = replace(read_traffic(Path("pattern:all-to-all"), fabric), seconds=1.0)
    moved = (move(fabric, route(fabric, "tree"), traffic),) * 2
    said = predict(fabric, fabric, traffic, None, moved=moved).assumed
    assert "latency of powerconnect-6248 as a PowerConnect 6224's, 3.85 us" in said


def test_table_6_is_a_minimum_so_a_forecast_leaves_the_upper_end_open():
    fabric = make_fabric("mesh", 2, 2, model="powerconnect-5324")
    found = predict(fabric, fabric.with_links_down({0}), None)
    toggle = found.toggle_seconds
    assert (toggle.value, toggle.low, toggle.high, toggle.source) == (3.2, 3.2, None, f"at least: {KOIBUCHI}6")
    assert found.energy.transition_joules.high is None


def test_a_forecast_names_the_tables_its_watts_are_from():
    fabric = make_fabric("mesh", 2, 2, model="powerconnect-5324")
    assert predict(fabric, fabric, None).watts_after.source.startswith(f"chassis + ports by speed: {KOIBUCHI}2;")
    own = {"powerconnect-5324": platforms.PortWatts(10.0, {1000: 1.0}, "our meter")}
    found = predict(fabric, fabric, None, power=own)
    assert found.watts_after.source.startswith("chassis + ports by speed: our meter;")


@pytest.mark.parametrize("path", [*sorted((PACKAGE / "predict").glob("*.py")), PACKAGE / "platforms" / "power.py"])
def test_every_number_among_the_models_constants_says_what_it_is(path):
    """A comment behind it or above it."""
    lines = path.read_text("utf-8").splitlines()
    bare = [
        line
        for above, line in zip(["", *lines], lines, strict=False)
        if re.match(r"[A-Z][A-Z_0-9]*(, [A-Z_0-9]+)* = -?[0-9]", line) and "#" not in line and not above.startswith("#")
    ]
    assert bare == []
