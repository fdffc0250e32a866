"""Write and read the texts of a whole fabric: every switch's configuration, and the lines from one to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.records.switch_state import dead_states
from tagloom.render.command_line import line_effects, render_commands, render_configuration
from tagloom.render.own_templates import template_findings
from tagloom.render.parse import read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tagloom.records.fabric import Fabric
    from tagloom.records.lines import Lines
    from tagloom.records.rollout import Wave
    from tagloom.records.switch_state import FabricState


def render(fabric: Fabric, state: FabricState, templates: Path) -> dict[str, str]:
    """Render every live switch's configuration, by switch name."""
    return {
        switch.name: render_configuration(platforms.of(switch), state[switch.name], templates) for switch in fabric.live
    }


class RenderedOnce:
    """The texts of states, each rendered once: most switches stay as they are from wave to wave.

    States are known by their identity, so they must last as long as this.
    """

    def __init__(self, render: Callable[[Fabric, FabricState, Path], dict[str, str]], templates: Path) -> None:
        self._render, self._templates = render, templates
        self._texts: dict[tuple[str, str, int], str] = {}

    def __call__(self, fabric: Fabric, state: FabricState) -> dict[str, str]:
        """Return the texts of a state, by the names of live switches."""
        keys = {switch.name: (switch.name, switch.model, id(state[switch.name])) for switch in fabric.live}
        new = {name for name, key in keys.items() if key not in self._texts}
        texts = self._render(fabric.with_live(new), state, self._templates)
        self._texts |= {keys[name]: text for name, text in texts.items()}
        return {name: self._texts[key] for name, key in keys.items()}


def parse(fabric: Fabric, texts: Mapping[str, str]) -> tuple[FabricState, list[Finding]]:
    """Read every live switch's text, with a finding for each line that is not understood and bears on the fabric."""
    state, findings = dead_states(fabric), list[Finding]()
    for switch, ports in zip(fabric.switches, fabric.used_ports, strict=True):
        if switch.up:
            state[switch.name], found = read_state(platforms.of(switch), texts[switch.name], switch.name, ports)
            findings += found
    return {switch.name: state[switch.name] for switch in fabric.switches}, findings


def commands(fabric: Fabric, wave: Wave) -> dict[str, tuple[str, ...]]:
    """Write the command lines of a wave, by the name of each switch that it changes."""
    return {
        patch.switch: render_commands(
            platforms.of(fabric.switches[fabric.index[patch.switch]]),
            patch.changes,
            wave.before[patch.switch],
        )
        for patch in wave.patches
    }


def lines_of(fabric: Fabric, before: FabricState, after: FabricState) -> dict[str, Lines]:
    """Return what the lines from one state to another do, by the name of each live switch that both have."""
    return {
        switch.name: line_effects(platforms.of(switch), before[switch.name], after[switch.name])
        for switch in fabric.live
        if switch.name in after and before[switch.name] is not after[switch.name]
    }


def check_templates(fabric: Fabric, wanted: FabricState, written: Mapping[str, str]) -> None:
    """See that what an operator's own templates print is what is wanted. Raises InputError with file and line."""
    findings: dict[str, Finding] = {}
    for switch in fabric.live:
        platform = platforms.of(switch)
        if switch.name in written:
            found = template_findings(platform, wanted[switch.name], written[switch.name])
            findings |= {each.where: each for each in found if each.where not in findings}
    if findings:
        raise InputError(findings.values())
