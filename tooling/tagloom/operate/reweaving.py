"""Plan other paths for measured traffic beside those in use, and forecast what they change and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.graph.paths import channel_load
from tagloom.pipeline.files import read_build
from tagloom.pipeline.planning import plan
from tagloom.pipeline.proving import prove
from tagloom.pipeline.rollouts import rollout_between
from tagloom.read.build_directory import read_texts
from tagloom.records.reweave import ReweaveForecast
from tagloom.records.traffic import Traffic
from tagloom.route.spread import any_bound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.routes import Routes

GIGABIT_BYTES = 1e9 / 8  # per second: to which `channel_load` scales


@dataclass(frozen=True, eq=False)
class WovenPaths:
    """A build with paths for measured traffic, its proof and texts, and the traffic; None where nobody has it again."""

    build: Build
    proof: Findings
    texts: Mapping[str, str]
    traffic: Traffic | None = None


def possible(fabric: Fabric, routes: Routes, measured: Sequence[Traffic]) -> ReweaveForecast:
    """Forecast the most that any paths can gain, at no cost: the bound of all routings, matrix by matrix."""
    bounds = (any_bound(fabric, each.volume_bytes) / _capacity(each) for each in measured)
    return ReweaveForecast(busiest_shares(fabric, routes, measured), tuple(bounds))


def weave_for(
    running: Build, measured: Sequence[Traffic], templates: Path, protect: str
) -> tuple[WovenPaths, ReweaveForecast]:
    """Plan paths for the sum of measured matrices, and a proven rollout to them that cuts off no pair.

    The plan keeps the assignment in use, and gives no VLAN id that is in use to another tree. Raises InputError where
    hosts' paths cannot be chosen for load, PlanError where no plan fits or proves, or no rollout is found.
    """
    fabric = running.fabric
    traffic = together(measured)
    build, proof, texts = _planned(fabric, running, traffic, templates, protect)
    if not proof.proven:
        raise PlanError("paths must prove before they are pushed", str(proof.findings[0]))
    change = rollout_between(running, build)
    forecast = ReweaveForecast(
        busiest_shares(fabric, running.routes, measured),
        busiest_shares(fabric, build.routes, measured),
        sum(wave.expected_seconds for wave in change.waves),
        len(change.waves),
        sum(wave.lines for wave in change.waves),
    )
    return WovenPaths(build, proof, texts, traffic), forecast


def woven_beside(
    woven: WovenPaths, running: Build, templates: Path, protect: str
) -> tuple[Build, Findings, dict[str, str]]:
    """Plan woven paths again beside what was read from the switches: no VLAN id in use is given to another tree.

    Raises PlanError where the traffic that they were planned for is not known any more.
    """
    if woven.traffic is None:
        raise PlanError("paths woven for measured traffic are led to as they were", "VLAN ids are in use for others")
    return _planned(woven.build.fabric, running, woven.traffic, templates, protect)


def read_woven(directory: Path) -> WovenPaths:
    """Return the woven paths of a build directory, proven from its texts. Raises InputError where it is none."""
    build = read_build(directory)
    texts = read_texts(build.fabric, directory / "configs")
    _, proof = prove(build.fabric, texts, None, duplicates_allowed=build.duplicates_allowed)
    return WovenPaths(build, proof, texts)


def _planned(
    fabric: Fabric, running: Build, traffic: Traffic, templates: Path, protect: str
) -> tuple[Build, Findings, dict[str, str]]:
    return plan(
        fabric,
        templates,
        assignment=running.assignment,
        previous=running,
        prefer="load",
        traffic=traffic,
        protect=protect,
    )


def together(measured: Sequence[Traffic]) -> Traffic:
    """Return the sum of matrices, over the sum of their times."""
    volume = np.sum([each.volume_bytes for each in measured], axis=0)
    messages = np.sum([each.messages for each in measured], axis=0)
    return Traffic(volume, messages, sum(each.seconds or 0.0 for each in measured))


def busiest_shares(fabric: Fabric, routes: Routes, measured: Sequence[Traffic]) -> tuple[float, ...]:
    """Return the share of its speed that the busiest channel carries on average, matrix by matrix."""
    loads = (float(channel_load(fabric, routes, each.volume_bytes).max(initial=0.0)) for each in measured)
    return tuple(load / _capacity(each) for load, each in zip(loads, measured, strict=True))


def _capacity(traffic: Traffic) -> float:
    """Return the bytes that a channel of 1 Gb/s carries in the time of a matrix."""
    return GIGABIT_BYTES * (traffic.seconds or 1.0)
