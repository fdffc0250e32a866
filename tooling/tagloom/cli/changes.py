"""Summarize what a look at switches, or a push, changes on each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.operate.waves import states_of
from tagloom.records.change import difference
from tagloom.report.change_summary import switch_change

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tagloom.apply.outcomes import Outcome, Outcomes
    from tagloom.records.fabric import Fabric
    from tagloom.report.change_summary import SwitchChange


def whole_change(fabric: Fabric, outcomes: Outcomes) -> list[SwitchChange]:
    """Summarize each changed switch over all waves, from what it held before the first to its state after the last."""
    found = []
    for changed in outcomes.by_switch.values():
        waves = [outcome for outcome in changed if outcome.read]
        if not any(_sends(outcome) for outcome in waves):
            continue
        own = sum(len(outcome.own_lines) for outcome in waves)
        found.append(_summary(fabric, waves[0].switch, waves[0].before, waves[-1].after, own))
    return found


def each_wave(fabric: Fabric, outcomes: Outcomes) -> Iterator[tuple[Outcome, SwitchChange]]:
    """Yield the outcomes that send something, each with its summary."""
    for outcome in outcomes.outcomes:
        if _sends(outcome):
            own = len(outcome.own_lines)
            yield outcome, _summary(fabric, outcome.switch, outcome.before, outcome.after, own)


def _sends(outcome: Outcome) -> bool:
    return outcome.changed or bool(outcome.own_lines)


def _summary(fabric: Fabric, switch: str, before: str, after: str, own_lines: int) -> SwitchChange:
    was, now = (states_of(fabric, {switch: text}) for text in (before, after))
    changes = difference(was[switch], now[switch]) if switch in was else ()
    return switch_change(switch, before, after, changes, own_lines)
