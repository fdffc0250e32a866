"""Put a new box in the place of a switch: what it holds, and the ports to it shut before it takes its configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.apply.switch import cell_finding
from tagloom.errors import Finding, InputError, PlanError
from tagloom.operate import prepare
from tagloom.operate.interrupting import interrupted_by_waves
from tagloom.operate.running import FOLDER, applied_place, is_repair
from tagloom.pipeline.proving import proof_services
from tagloom.platforms.factory import factory_state
from tagloom.platforms.grammar import Grammar
from tagloom.platforms.secrets import scrub
from tagloom.read.build_directory import read_texts
from tagloom.records.change import difference
from tagloom.render import parse, parse_configuration, render_commands
from tagloom.render.console_text import clean_lines
from tagloom.rollout import isolation
from tagloom.rollout.readmit import managed_state, refuse_in_band

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tagloom.apply.journal import Journal
    from tagloom.apply.outcomes import Outcomes
    from tagloom.operate.prepare import PreparedChange
    from tagloom.operate.waves import ApplyContext
    from tagloom.records.fabric import Fabric, Switch
    from tagloom.records.rollout import Rollout
    from tagloom.records.switch_state import FabricState, SwitchState

_OF_NO_ACCOUNT = (
    "!",
    "#",
    "exit",
    "configure",
    "end",
    "vlan database",
    "show ",
    "enable",
    "return",
    "version ",
    "display ",
)


@dataclass(frozen=True)
class Isolation:
    """The ports to a switch that are shut now, or would be, by neighbour; what became of that, None where not begun.

    `opened` are those of its management VLAN that were shut since it was dead, or not there yet.
    """

    ports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    opened: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    outcomes: Outcomes | None = None


def build_applied(journal: Journal, home: Path) -> Path:
    """Return the directory of the build that was applied last, without repairs. Raises InputError where none was."""
    last = journal.applied()
    if last is None:
        raise InputError([Finding("--build", "the build that runs: none was applied from this inventory", "none")])
    if is_repair(last, home):
        return home / FOLDER / "home"
    return applied_place(journal, last, home)


def read_box(switch: Switch, text: str) -> tuple[SwitchState, tuple[Finding, ...], tuple[Finding, ...]]:
    """Return what a box holds, where its cells are not those of the factory, and its lines that nobody here has typed.

    Such lines are users, addresses and the like, secrets hidden: a box that was brought to its first login has some.
    Raises InputError for a text that is no configuration.
    """
    platform = platforms.of(switch)
    parsed = parse_configuration(platform, "\n".join(line.strip() for line in clean_lines(text)) + "\n")
    changes = difference(factory_state(platform), parsed.state)
    lines = sorted({line.number: line.text for line in (*parsed.foreign, *parsed.unknown)}.items())
    others = (
        Finding(f"{switch.name}:{number}", "no line, as from the factory", scrub(line))
        for number, line in lines
        if line and not line.startswith(_OF_NO_ACCOUNT) and not platform.is_of_factory(line)
    )
    return parsed.state, tuple(cell_finding(switch.name, each, platform.port_name) for each in changes), tuple(others)


def refuse_managed_over_it(fabric: Fabric, name: str) -> None:
    """Raise PlanError where a switch cannot be set apart, before anything is typed at a console."""
    refuse_in_band(fabric, name)


def lines_for_management(prepared: PreparedChange, name: str) -> tuple[str, ...]:
    """Return what a new box is typed first where it is reached over the fabric: none of its ports leads frames on.

    Its one link of the management VLAN carries that alone. None where the fabric has no such VLAN.
    """
    fabric = prepared.fabric
    if fabric.management is None:
        return ()
    platform = platforms.of(fabric.switches[fabric.index[name]])
    words = Grammar.of(platform).session
    planned, _ = parse(fabric, read_texts(fabric, prepared.directory / "configs"))
    new = factory_state(platform)
    lines = render_commands(platform, difference(new, managed_state(fabric, planned[name], name)), new)
    enable = (words.enable,) if words.enable else ()
    return (*enable, words.configure, *lines, words.leave)


def isolate(
    context: ApplyContext,
    prepared: PreparedChange,
    name: str,
    held: SwitchState,
    *,
    check: bool,
    allow_interrupt: bool = False,
) -> Isolation:
    """Shut the ports of all neighbours to a switch, by one proven wave; with `check` only return which.

    Where it is managed over one of the fabric's links, that one is opened if it is shut, and carries nothing else.

    The switch itself, which holds `held`, is not contacted; what a box from the factory happens to pass on counts for
    nothing. Raises DeviceError where another switch cannot be read, PlanError where pairs of hosts work over this one,
    unless they may be interrupted, or where the wave does not prove.
    """
    fabric = prepared.fabric
    others = [switch.name for switch in fabric.live if switch.name != name]
    read: FabricState = {**prepare.running_states(fabric, context.site, others), name: held}
    change = isolation(fabric, read, proof_services(fabric), name)
    cut = interrupted_by_waves(fabric, read, change.after)
    harmful = not cut.hitless and held != factory_state(platforms.of(fabric.switches[fabric.index[name]]))
    if harmful and not allow_interrupt:
        rule = f"a switch that pairs of hosts work over is not taken for a new box: {cut.interrupted} would be cut off"
        next_step = "the same command with --allow interrupt, where it is to be taken out all the same"
        raise PlanError(rule, cut.witness, next_step, ("--allow interrupt",))
    shut, opened = (_switched_ports(prepared, change, on=on) for on in (False, True))
    if not change.waves or check:
        return Isolation(shut, opened)
    ordered = prepare.written(prepared, change, context.site)
    run, sequence = context.begin(ordered.sequence, "apply", str(prepared.source.absolute()), allowed=harmful)
    return Isolation(shut, opened, context.push(run, sequence, limit=tuple(sorted({*shut, *opened}))))


def refuse_live(name: str, where: str) -> PlanError:
    """Return the refusal to replace a switch whose address somebody answers at, while its console is a new box's."""
    return PlanError(
        "the old box is taken out before the new one gets its address",
        f"{name}: {where} is answered, and not by the box at this console",
        "unplug the old one, then the same command again",
    )


def _switched_ports(prepared: PreparedChange, change: Rollout, *, on: bool) -> dict[str, tuple[str, ...]]:
    """Return which ports a change opens, or shuts, by switch."""
    ports: dict[str, tuple[str, ...]] = {}
    for switch in prepared.fabric.live:
        was, now = change.before[switch.name].enabled, change.after[switch.name].enabled
        switched = ((now & ~was) if on else (was & ~now)).nonzero()[0]
        names = tuple(platforms.of(switch).port_name(p + 1) for p in switched.tolist())
        if names:
            ports[switch.name] = names
    return ports
