"""Find what takes back a change that must be confirmed: a switch's own timer, or the watchdog on this computer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.units import first_of, number_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tagloom.records.fabric import Fabric

TIMER, WATCHDOG = "timer", "watchdog"
_NAMED = 8  # switches, in one sentence


def protection_of(fabric: Fabric, changed: Collection[str]) -> dict[str, str]:
    """Return TIMER or WATCHDOG for each switch that a change sends lines to.

    A switch with a timer is set to reload what it has saved, and the reload is called off once its lines are saved.
    """
    return {
        switch.name: WATCHDOG if platforms.of(switch).why_no_reload else TIMER
        for switch in fabric.live
        if switch.name in changed
    }


def protection_sentences(protection: Mapping[str, str]) -> tuple[str, ...]:
    """Return how many switches each of the two protects, and what the watchdog needs; none for no switch."""
    if not protection:
        return ()
    timed = [name for name, by in protection.items() if by == TIMER]
    watched = [name for name, by in protection.items() if by == WATCHDOG]
    said = []
    if timed:
        what = "reloads what it has saved if this computer loses it during its change"
        said.append(f"own timer: {_counted(timed)}; {'it' if len(timed) == 1 else 'each'} {what}")
    if watched:
        said.append(f"this computer's watchdog: {_counted(watched)}; no timer command is known for their models")
    what = "the watchdog also takes the whole change back unless it is confirmed in time"
    return (*said, f"{what}: keep this computer on, and connected to the switches, until you confirm")


def _counted(names: list[str]) -> str:
    return f"{number_of(len(names), 'switch')} ({first_of(names, _NAMED)})"
