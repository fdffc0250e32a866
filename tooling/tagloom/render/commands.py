"""Render changes of one switch as the command lines that make them, in an order that is safe at every line."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from tagloom.errors import PlanError
from tagloom.platforms import iproute2
from tagloom.platforms.grammar import Grammar
from tagloom.records.change import apply_changes
from tagloom.render.shell import shell_lines
from tagloom.render.steps import lay_out, steps_of

if TYPE_CHECKING:
    from tagloom.platforms import Platform
    from tagloom.records.change import Change
    from tagloom.records.switch_state import SwitchState


def render_commands(
    platform: Platform, changes: tuple[Change, ...], before: SwitchState | None = None
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
        return tuple(shell_lines(platform, before, apply_changes(before, changes)))
    grammar = Grammar.of(platform)
    return tuple(chain.from_iterable(lay_out(grammar, steps_of(grammar, changes, before))))
