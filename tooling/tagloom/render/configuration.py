"""Render the whole state of a switch as its own running-config would print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.errors import PlanError
from tagloom.platforms import iproute2
from tagloom.platforms.factory import factory_state
from tagloom.platforms.grammar import Grammar
from tagloom.records.switch_state import Membership, PortMode, SwitchState
from tagloom.render.page import print_page
from tagloom.render.shell import shell_lines
from tagloom.render.view import SwitchLines, view_of

if TYPE_CHECKING:
    from pathlib import Path

    from tagloom.platforms import Platform


def render_configuration(platform: Platform, state: SwitchState, templates: Path) -> str:
    """Render a state as text that the switch takes line by line from its factory default, and that parses back.

    What equals the factory default is not printed, so the text is that of the changes from there.
    Raises PlanError where the model has no words for the state, ValueError where the port counts differ.
    """
    if platform.grammar == iproute2.FAMILY:
        commands = shell_lines(platform, factory_state(platform), state)
        return print_page(templates, platform, "configuration", title=platform.title, commands=commands)
    _check_modes(platform, state)
    lines = SwitchLines(Grammar.of(platform))
    view = view_of(lines, state)
    return lines.joined(print_page(templates, platform, "configuration", title=platform.title, **view))


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
