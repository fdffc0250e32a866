"""Render changes of one switch as the command lines that make them, in an order that is safe at every line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.errors import PlanError
from tagloom.platforms import iproute2
from tagloom.platforms.grammar import Grammar
from tagloom.records.change import apply_changes
from tagloom.render.page import print_page
from tagloom.render.shell import shell_lines
from tagloom.render.steps import lay_out, steps_of

if TYPE_CHECKING:
    from pathlib import Path

    from tagloom.platforms import Platform
    from tagloom.records.change import Change
    from tagloom.records.switch_state import SwitchState


def render_commands(
    platform: Platform, changes: tuple[Change, ...], templates: Path, before: SwitchState | None = None
) -> tuple[str, ...]:
    """Render changes as lines to send from ``(config)#``, each sub-mode closed by ``exit``.

    Closed, because netmiko's drivers for these switches do not notice sub-modes. The order is the grammar's phase
    table, over the whole switch. `before` is the state the changes start from; it is needed only where VLANs change
    on a port that stays in access or trunk mode, which tagloom's own plans never do, and for a Linux bridge, whose
    lines are not single changes. Raises PlanError where the model has no words for a change.
    """
    if platform.grammar == iproute2.FAMILY:
        if before is None:
            raise PlanError(f"the lines of a {platform.title} say all of a membership", "nothing is known of it")
        lines = shell_lines(platform, before, apply_changes(before, changes))
        return tuple(print_page(templates, platform.grammar, "commands", blocks=[lines]).splitlines())
    grammar = Grammar.of(platform)
    blocks = lay_out(grammar, steps_of(grammar, changes, before), grammar.order, ranges=True)
    return tuple(print_page(templates, grammar.code, "commands", blocks=blocks).splitlines())
