"""Plan, prove, regulate and forecast: which verb follows which, from records to records."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.platforms.power import fabric_watts, link_watts
from tagloom.predict import forecast
from tagloom.predict.eee import POWERCONNECT_5548, Eee
from tagloom.read import read_traffic
from tagloom.records.routes import Routes, channel_load
from tagloom.records.switch_state import SwitchEditor
from tagloom.regulate import static
from tagloom.render import read_state, render_configuration
from tagloom.rollout import direct
from tagloom.route import route
from tagloom.route.alternatives import alternatives
from tagloom.verify import Plan, channel_name, dependencies, verify
from tagloom.weave import weave

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.forecast import Forecast
    from tagloom.records.rollout import Rollout
    from tagloom.records.settings import LinkSettings
    from tagloom.records.switch_state import FabricState
    from tagloom.records.traffic import Traffic


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
            "switches_down": len(self.fabric.switches) - len(self.fabric.live),
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
    if unknown or state != {**woven.state, **dead_states(fabric)}:
        raise PlanError("a rendered configuration must read back as the planned state", "; ".join(map(str, unknown)))
    build = Build(fabric, routes, woven.assignment, woven.vlans, state)
    return build, verify(fabric, state, Plan(routes)), texts


def routings(fabric: Fabric, assignment: str) -> list[dict[str, Any]]:
    """List what each routing that can route the fabric costs, fewest VLANs first."""
    return [asdict(row) for row in alternatives(fabric, assignment)]


def _plannable(fabric: Fabric) -> None:
    speaking = [m for m in platforms.models() if platforms.load(m).grammar]
    known = ", ".join(speaking)
    findings = [
        Finding(f"model {model}", f"a model whose command line is known: {known}", model)
        for model in sorted({switch.model for switch in fabric.live} - set(speaking))
    ]
    if len(fabric.hosts) == 0:
        findings.append(Finding("hosts", "at least one host", "none"))
    reached = _reached(fabric)
    if apart := [s.name for i, s in enumerate(fabric.switches) if s.up and i not in reached]:
        findings.append(Finding("links", "links that are up to connect all switches", f"no way to {', '.join(apart)}"))
    if findings:
        raise InputError(findings)


def _reached(fabric: Fabric) -> set[int]:
    up, reached = fabric.channel_up, {next((i for i, switch in enumerate(fabric.switches) if switch.up), 0)}
    tail, head = fabric.tail[up], fabric.head[up]
    while True:
        mask = np.isin(tail, list(reached))
        grown = reached | set(head[mask].tolist())
        if grown == reached:
            return reached
        reached = grown


def render(fabric: Fabric, state: FabricState, templates: Path) -> dict[str, str]:
    """Render every live switch's configuration, by switch name."""
    return {
        switch.name: render_configuration(platforms.load(switch.model), state[switch.name], templates)
        for switch in fabric.live
    }


def dead_states(fabric: Fabric) -> FabricState:
    """Give what a dead switch counts as: nothing configured, cut off by its neighbours' ports."""
    state: FabricState = {}
    for switch, ports in zip(fabric.switches, fabric.ports, strict=True):
        if not switch.up:
            editor = SwitchEditor.blank(ports)
            editor.enabled = [False] * ports
            state[switch.name] = editor.freeze()
    return state


def parse(fabric: Fabric, texts: Mapping[str, str]) -> tuple[FabricState, list[Finding]]:
    """Read every switch's text, with a finding for each line that is not understood and bears on the fabric."""
    state: FabricState = {}
    findings: list[Finding] = []
    dead = dead_states(fabric)
    for switch, ports in zip(fabric.switches, fabric.used_ports, strict=True):
        if not switch.up:
            state[switch.name] = dead[switch.name]
            continue
        platform = platforms.load(switch.model)
        state[switch.name], found = read_state(platform, texts[switch.name], switch.name, ports)
        findings += found
    return state, findings


def prove(fabric: Fabric, texts: Mapping[str, str], routes: Routes | None) -> tuple[FabricState, Findings]:
    """Prove a fabric from configuration texts alone; with `routes`, frames must also keep to the planned paths."""
    state, unknown = parse(fabric, texts)
    proof = verify(fabric, state, Plan(routes))
    return state, replace(proof, findings=(*unknown, *proof.findings))


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
