"""Set EEE in the states of switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.records.switch_state import SwitchEditor

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState


def asleep(fabric: Fabric, state: FabricState, ports: Mapping[str, Collection[int]]) -> FabricState:
    """Return `state` with EEE on at `ports`, by switch, and off at the fabric's others; unchanged if `ports` has none.

    If one line sets all ports of a switch, EEE is on at all of them when any of its `ports` is listed.
    """
    changed = dict(state)
    for s, switch in enumerate(fabric.switches if any(ports.values()) else ()):
        platform, editor = platforms.of(switch), SwitchEditor.of(state[switch.name])
        mine = ports.get(switch.name, ())
        if platform.at_once("eee_on"):
            editor.eee = [bool(mine)] * platform.ports
        else:
            for port in fabric.used_ports[s]:
                editor.eee[port - 1] = port in mine
        changed[switch.name] = editor.freeze()
    return changed
