"""Lead the records through the verbs: the only file that knows the order of the steps."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom import __version__, platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.platforms.power import fabric_watts, link_watts
from tagloom.predict import forecast
from tagloom.predict.eee import POWERCONNECT_5548, Eee
from tagloom.read import format_fabric, read_fabric, read_traffic
from tagloom.records.forecast import Forecast
from tagloom.records.routes import Routes, channel_load
from tagloom.regulate import static
from tagloom.render import parse_configuration, render_configuration
from tagloom.rollout import direct
from tagloom.route import route
from tagloom.verify import Plan, channel_name, dependencies, verify
from tagloom.weave import weave

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.rollout import Rollout
    from tagloom.records.settings import LinkSettings
    from tagloom.records.switch_state import FabricState
    from tagloom.records.traffic import Traffic

BUILD_FORMAT = 1  # raised when plan.json changes so that an older reader would misread it


@dataclass(frozen=True, eq=False)
class Build:
    """Hold a planned fabric as it stands in a build directory; `vlans` and `assignment` as in VlanPlan."""

    fabric: Fabric
    routes: Routes
    assignment: str
    vlans: int
    state: FabricState

    def summary(self, proof: Findings) -> dict[str, Any]:
        """Give the plan's figures with the keys of the command line."""
        load = channel_load(self.fabric, self.routes)
        return {
            "name": self.fabric.name,
            "switches": len(self.fabric.switches),
            "links": len(self.fabric.links),
            "links_off": sum(not link.up for link in self.fabric.links),
            "hosts": len(self.fabric.hosts),
            "routing": self.routes.method,
            "routing_reason": self.routes.reason,
            "assignment": self.assignment,
            "vlans": self.vlans,
            "average_hops": round(self.routes.average_hops(self.fabric), 6) if self.fabric.hosts else 0.0,
            "max_channel_load": round(float(load.max(initial=0.0))),
            **proof.as_json(),
        }


# --- plan and verify -------------------------------------------------------------------------------------------------


def plan(
    fabric: Fabric,
    templates: Path,
    *,
    routing: str = "auto",
    assignment: str = "fixed",
    previous: Build | None = None,
) -> tuple[Build, Findings, dict[str, str]]:
    """Route, weave, render, and prove the plan from the rendered texts.

    Gives the build, its proof and the text of every switch. Raises InputError where a model's command line is not
    known or the links that are up do not connect the fabric, PlanError where no deadlock-free plan fits.
    """
    _plannable(fabric)
    routes = route(fabric, routing, assignment)
    woven = weave(fabric, routes, assignment, previous.state if previous is not None else None)
    texts = render(fabric, woven.state, templates)
    state, unknown = parse(fabric, texts)
    if unknown or state != woven.state:
        raise PlanError("a rendered configuration must read back as the planned state", "; ".join(map(str, unknown)))
    build = Build(fabric, routes, woven.assignment, woven.vlans, state)
    return build, verify(fabric, state, Plan(routes)), texts


def _plannable(fabric: Fabric) -> None:
    findings = []
    speaking = [m for m in platforms.models() if platforms.load(m).grammar]
    for model in sorted({s.model for s in fabric.switches} - set(speaking)):
        findings.append(Finding(f"model {model}", "a model whose command line is known: " + ", ".join(speaking), model))
    if len(fabric.hosts) == 0:
        findings.append(Finding("hosts", "at least one host", "none"))
    reached = _reached(fabric)
    if apart := [s.name for i, s in enumerate(fabric.switches) if i not in reached]:
        findings.append(Finding("links", "links that are up to connect all switches", f"no way to {', '.join(apart)}"))
    if findings:
        raise InputError(findings)


def _reached(fabric: Fabric) -> set[int]:
    up, reached = fabric.channel_up, {0}
    tail, head = fabric.tail[up], fabric.head[up]
    while True:
        mask = np.isin(tail, list(reached))
        grown = reached | set(head[mask].tolist())
        if grown == reached:
            return reached
        reached = grown


def render(fabric: Fabric, state: FabricState, templates: Path) -> dict[str, str]:
    """Render every switch's configuration, by switch name."""
    return {
        switch.name: render_configuration(platforms.load(switch.model), state[switch.name], templates)
        for switch in fabric.switches
    }


def parse(fabric: Fabric, texts: Mapping[str, str]) -> tuple[FabricState, list[Finding]]:
    """Read every switch's text, with a finding for each line inside a block of ours that is not understood."""
    state: FabricState = {}
    findings: list[Finding] = []
    for switch in fabric.switches:
        parsed = parse_configuration(platforms.load(switch.model), texts[switch.name])
        state[switch.name] = parsed.state
        findings += [
            Finding(
                f"{switch.name}:{line.number}  {line.block or 'configuration'}",
                "a line tagloom knows" if not line.answer else "a line the switch takes",
                repr(line.text) + (f" ({' '.join(line.answer.split())})" if line.answer else ""),
            )
            for line in parsed.unknown
        ]
    return state, findings


def prove(fabric: Fabric, texts: Mapping[str, str], routes: Routes | None) -> tuple[FabricState, Findings]:
    """Prove a fabric from configuration texts alone; with `routes`, frames must also keep to the planned paths."""
    state, unknown = parse(fabric, texts)
    proof = verify(fabric, state, Plan(routes))
    return state, replace(proof, findings=(*unknown, *proof.findings))


# --- files -----------------------------------------------------------------------------------------------------------


def write_build(build: Build, summary: dict[str, Any], texts: Mapping[str, str], directory: Path) -> None:
    """Write a build directory whole or not at all. Raises InputError where something else stands in its place."""
    routes = build.routes
    page = {
        "tagloom": __version__,
        "format": BUILD_FORMAT,
        "summary": summary,
        "routes": {
            "method": routes.method,
            "reason": routes.reason,
            "source_of_host": routes.source_of_host.tolist(),
            "root": routes.root.tolist(),
            "parent": routes.parent.tolist(),
        },
    }
    with _replaced(directory, "plan.json") as fresh:
        (fresh / "fabric.yml").write_text(format_fabric(build.fabric), "utf-8")
        (fresh / "plan.json").write_text(json.dumps(page) + "\n", "utf-8")
        write_texts(fresh / "configs", texts)


class _replaced:  # noqa: N801 - reads as a verb where it is used
    """Fill a directory beside `directory` and swap the two at the end; `mark` proves an existing one to be ours."""

    def __init__(self, directory: Path, mark: str) -> None:
        self.directory, self.mark = directory, mark
        self.fresh = directory.with_name(f".{directory.name}.new")

    def __enter__(self) -> Path:
        if self.directory.exists() and not (self.directory / self.mark).exists():
            empty = self.directory.is_dir() and not any(self.directory.iterdir())
            if not empty:
                raise InputError([Finding(str(self.directory), f"a new directory, or one with a {self.mark}", "neither")])
        shutil.rmtree(self.fresh, ignore_errors=True)
        try:
            self.fresh.mkdir(parents=True)
        except OSError as error:
            raise InputError([Finding(str(self.directory), "a directory that can be written", str(error))]) from None
        return self.fresh

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            if self.directory.exists():
                shutil.rmtree(self.directory)
            self.fresh.rename(self.directory)
        else:
            shutil.rmtree(self.fresh, ignore_errors=True)


def write_texts(directory: Path, texts: Mapping[str, str]) -> None:
    """Write one ``<switch>.cfg`` per switch."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (directory / f"{name}.cfg").write_text(text, "utf-8")


def read_texts(fabric: Fabric, directory: Path) -> dict[str, str]:
    """Read one ``<switch>.cfg`` per switch. Raises InputError for files that are missing or belong to no switch."""
    texts: dict[str, str] = {}
    findings: list[Finding] = []
    if not directory.is_dir():
        raise InputError([Finding(str(directory), "a directory of configurations", "none")])
    for switch in fabric.switches:
        path = directory / f"{switch.name}.cfg"
        try:
            texts[switch.name] = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            findings.append(Finding(str(path), "a readable configuration", getattr(error, "strerror", None) or str(error)))
    for path in sorted(directory.glob("*.cfg")):
        if path.stem not in fabric.index:
            findings.append(Finding(str(path), "a file named after a switch of the fabric", path.stem))
    if findings:
        raise InputError(findings)
    return texts


def read_build(directory: Path) -> Build:
    """Read a build directory back. Raises InputError where it is not one."""
    try:
        page = json.loads((directory / "plan.json").read_text("utf-8"))
        if page["format"] != BUILD_FORMAT:
            raise InputError([Finding(f"{directory}/plan.json", f"format {BUILD_FORMAT}", str(page["format"]))])
        raw, summary = page["routes"], page["summary"]
        routes = Routes(
            raw["method"],
            raw["reason"],
            *(np.array(raw[key], np.int32) for key in ("source_of_host", "root")),
            np.array(raw["parent"], np.int32).reshape(len(raw["root"]), -1),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError([Finding(str(directory), "a build made by tagloom plan", str(error) or "another")]) from None
    fabric = read_fabric(directory / "fabric.yml")
    state, _ = parse(fabric, read_texts(fabric, directory / "configs"))
    return Build(fabric, routes, summary["assignment"], summary["vlans"], state)


# --- links off -------------------------------------------------------------------------------------------------------


def with_links_off(fabric: Fabric, ends: Iterable[str], settings: Path | None) -> Fabric:
    """Want links down: each named by one of its ends, and those of a settings file. Raises InputError."""
    findings: list[Finding] = []
    off: set[int] = set()
    for end in ends:
        link = _link_at(fabric, end)
        if link is None:
            findings.append(Finding("--off", "switch:port of a link of the fabric", repr(end)))
        else:
            off.add(link)
    if settings is not None:
        try:
            named = [link["ends"] for link in json.loads(settings.read_text("utf-8"))["off"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            expected = "settings made by tagloom regulate"
            raise InputError([Finding(str(settings), expected, str(error) or "another file")]) from None
        for ends_of_link in named:
            links = {_link_at(fabric, end) for end in ends_of_link}
            link = links.pop()
            if link is None or links:
                findings.append(Finding(str(settings), "both ends of one link of the fabric", repr(ends_of_link)))
            else:
                off.add(link)
    if findings:
        raise InputError(findings)
    return fabric.with_links_down(off)


def _link_at(fabric: Fabric, end: str) -> int | None:
    name, _, word = end.partition(":")
    s = fabric.index.get(name)
    if s is None:
        return None
    port = platforms.load(fabric.switches[s].model).port_number(word)
    channel = int(fabric.port_channel[s, port]) if port is not None else -1
    return channel // 2 if channel >= 0 else None


def regulate(
    fabric: Fabric, traffic: Traffic, routing: str, assignment: str, progress: Callable[[int, int], None]
) -> LinkSettings:
    """Choose links to turn off by the paper's static algorithm, every intermediate set of paths deadlock-free."""
    _plannable(fabric)

    def reroute(smaller: Fabric) -> Routes | None:
        try:
            return route(smaller, routing, assignment)
        except PlanError:
            return None

    if reroute(fabric) is None:
        route(fabric, routing, assignment)  # says why
    return static(fabric, traffic, reroute, fabric_watts, progress)


def settings_page(fabric: Fabric, settings: LinkSettings) -> dict[str, Any]:
    """Give chosen settings with the keys of the command line; `off` names the links, by both ends."""
    # No connected fabric has fewer links than a spanning tree; the cheapest ones bound it from below.
    none = fabric_watts(fabric.with_links_down(set(range(len(fabric.links)))))
    prices = sorted(link_watts(fabric, i) for i in range(len(fabric.links)))
    lower = none + sum(prices[: len(fabric.switches) - 1])
    after = settings.watts_after
    return {
        "method": settings.method,
        "links_off": len(settings.links_off),
        "links_slowed": 0,
        "watts_before": round(settings.watts_before, 6),
        "watts_after": round(after, 6),
        "saving_percent": round(settings.saving_percent, 6),
        "max_channel_load_before": round(settings.max_channel_load_before),
        "max_channel_load_after": round(settings.max_channel_load_after),
        "lower_bound_watts": round(lower, 6),
        "gap_percent": round(100.0 * (after - lower) / after, 6) if after else 0.0,
        "two_connected": settings.two_connected,
        "off": [{"ends": list(link_ends(fabric, i))} for i in settings.links_off],
    }


def link_ends(fabric: Fabric, link: int) -> tuple[str, str]:
    """Name a link by its ends, in their models' own words."""
    cable = fabric.links[link]
    ends = ((cable.a, cable.a_port), (cable.b, cable.b_port))
    named = [(fabric.switches[s], port) for s, port in ends]
    a, b = (f"{switch.name}:{platforms.load(switch.model).port_name(port)}" for switch, port in named)
    return a, b


def predict(before: Fabric, after: Fabric, traffic: Traffic | None, eee: Eee = POWERCONNECT_5548) -> Forecast:
    """Forecast the change from one set of links to another."""

    def toggle_seconds(model: str) -> float:
        return platforms.load(model).toggle_seconds.get("on_off", 0.0)

    return forecast(before, after, traffic, fabric_watts, toggle_seconds, eee)


def traffic_of(path: Path, fabric: Fabric, placement: str, seconds: float | None) -> Traffic:
    """Read traffic; `seconds` says how long it took where the file does not."""
    traffic = read_traffic(path, fabric, placement)
    return replace(traffic, seconds=seconds) if seconds is not None else traffic


# --- rollout ---------------------------------------------------------------------------------------------------------


def rollout(fabric: Fabric, before: FabricState, after: FabricState) -> Rollout:
    """Order the change from one state to another into waves, each ending in a state that is proven."""
    return direct(
        fabric, before, after, partial(verify, fabric), partial(dependencies, fabric), partial(channel_name, fabric)
    )


def rollout_between(old: Build, new: Build) -> Rollout:
    """Order the change from one build to another. Raises InputError where they are not of one cabling."""
    a, b = old.fabric, new.fabric
    if (a.switches, a.hosts, a.ports) != (b.switches, b.hosts, b.ports) or [
        (x.a, x.a_port, x.b, x.b_port) for x in a.links
    ] != [(x.a, x.a_port, x.b, x.b_port) for x in b.links]:
        raise InputError([Finding("rollout", "two builds of one cabling", f"{a.name} and {b.name} differ")])
    return rollout(new.fabric, old.state, new.state)


def write_rollout(plan_of: Build, change: Rollout, templates: Path, directory: Path) -> dict[str, Any]:
    """Write a rollout directory: rollout.json, the state before, after every wave, and the target build."""
    fabric = plan_of.fabric
    page = rollout_page(change)
    with _replaced(directory, "rollout.json") as fresh:
        write_texts(fresh / "before", render(fabric, change.before, templates))
        waves = []
        for number, wave in enumerate(change.waves, start=1):
            folder = f"waves/{number}"
            write_texts(fresh / folder, render(fabric, wave.state, templates))
            waves.append({"name": wave.name, "why": wave.why, "configs": folder, "drain_seconds": wave.drain_seconds})
        target = replace(plan_of, state=change.after)
        proof = change.waves[-1].proof if change.waves else change.before_proof
        (fresh / "rollout.json").write_text(
            json.dumps({"tagloom": __version__, "format": BUILD_FORMAT, "before": "before", **page, "waves": waves}) + "\n",
            "utf-8",
        )
        write_build(target, target.summary(proof), render(fabric, change.after, templates), fresh / "build")
    return page


def rollout_page(change: Rollout) -> dict[str, Any]:
    """Give a rollout's figures with the keys of the command line."""
    proofs = [change.before_proof, *(wave.proof for wave in change.waves)]
    return {
        "strategy": change.strategy,
        "waves": len(change.waves),
        "changes": change.changes,
        "proven_states": sum(proof.proven for proof in proofs),
        "peak_lost_pairs": max(proof.unreachable_pairs for proof in proofs),
        "downtime_seconds": 0.0,
        "wave_names": [wave.name for wave in change.waves],
        "switches_by_wave": [len(wave.patches) for wave in change.waves],
        "drain_seconds": sum(wave.drain_seconds for wave in change.waves),
    }
