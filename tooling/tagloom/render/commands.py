"""Render changes of one switch as the command lines that make them, in an order that is safe at every line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.platforms.grammar import Grammar
from tagloom.render.page import print_page
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
    on a port that stays in access or trunk mode, which tagloom's own plans never do.
    Raises PlanError where the model has no words for a change.
    """
    grammar = Grammar.of(platform)
    blocks = lay_out(grammar, steps_of(grammar, changes, before), grammar.order, ranges=True)
    return tuple(print_page(templates, grammar.code, "commands", blocks=blocks).splitlines())
