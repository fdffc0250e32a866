"""Render the whole state of a switch as its own running-config would print it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom.errors import PlanError
from tagloom.platforms import iproute2
from tagloom.platforms.factory import factory_state
from tagloom.platforms.grammar import Grammar
from tagloom.records.change import difference
from tagloom.records.switch_state import Membership, PortMode, SwitchState
from tagloom.render.page import print_page
from tagloom.render.shell import shell_lines
from tagloom.render.steps import entry_steps, lay_out, steps_of

if TYPE_CHECKING:
    from pathlib import Path

    from tagloom.platforms import Platform


def render_configuration(platform: Platform, state: SwitchState, templates: Path) -> str:
    """Render a state as text that the switch takes line by line from its factory default, and that parses back.

    What equals the factory default is not printed, so the text is that of the changes from there.
    Raises PlanError where the model has no words for the state, ValueError where the port counts differ.
    """
    if platform.grammar == iproute2.FAMILY:
        lines = shell_lines(platform, factory_state(platform), state)
        return print_page(templates, platform, "configuration", title=platform.title, blocks=[lines])
    grammar = Grammar.of(platform)
    _check_modes(platform, state)
    born = factory_state(platform)
    empty = {name: getattr(state, name)[:0] for name in ("entry_vlan", "entry_mac", "entry_port")}
    # Nearly all lines of a large fabric are static entries: they skip the change of one cell at a time.
    steps = steps_of(grammar, difference(born, replace(state, **empty)), born, printed=True)
    blocks = lay_out(
        grammar, [*steps, *entry_steps(grammar, state)], grammar.printed_order, ranges=grammar.prints_ranges
    )
    return print_page(templates, platform, "configuration", title=platform.title, blocks=blocks)


def _check_modes(platform: Platform, state: SwitchState) -> None:
    """Refuse what no line can say: an access or trunk port that is not untagged in its PVID."""
    untagged = state.membership == Membership.UNTAGGED
    alone = untagged.sum(axis=0) == 1
    its_pvid = state.vlans[untagged.argmax(axis=0)] == state.pvid
    for at, mode in enumerate(state.mode.tolist()):
        port = at + 1
        if mode != PortMode.GENERAL and not (alone[at] and its_pvid[at]):
            rule = "a port outside general mode is untagged in its PVID alone"
            raise PlanError(rule, f"port {platform.port_name(port)}", "plan the port in general mode")
