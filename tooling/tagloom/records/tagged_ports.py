"""Show a fabric's states as hosts see them whose port carries their network tagged: with that tag for none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.lines import FRAMES, MEMBER, PVID, Lines
from tagloom.records.switch_state import Frames, Membership

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState

_TAGGED, _UNTAGGED = int(Membership.TAGGED), int(Membership.UNTAGGED)
# What a port takes, by what it takes of frames with a tag and without: the two change places.
_TAKES = {Frames.UNTAGGED_ONLY: Frames.TAGGED_ONLY, Frames.TAGGED_ONLY: Frames.ALL, Frames.ALL: Frames.ALL}


def without_tags(fabric: Fabric, state: FabricState) -> tuple[Fabric, FabricState]:
    """Return a fabric of one network, and states, in which hosts send and hear untagged what they do with a tag.

    At the port of a host with the tag T, frames of T come and go without, all others with one. What holds for untagged
    frames of the result holds for the hosts' frames of `state`: at a port, a tag only tells frames apart.
    """
    tags = _tags(fabric)
    if not tags:
        return fabric, state
    seen = dict(state)
    for s, ports in tags.items():
        seen[fabric.switches[s].name] = _seen(state[fabric.switches[s].name], ports)
    return replace(fabric, hosts=tuple(replace(host, tag=0) for host in fabric.hosts)), seen


def lines_without_tags(fabric: Fabric, lines: Mapping[str, Lines]) -> Mapping[str, Lines]:
    """Return the lines of a wave as `without_tags` has states."""
    tags = _tags(fabric)
    seen = dict(lines)
    for s, ports in tags.items():
        if (sent := lines.get(name := fabric.switches[s].name)) is not None:
            seen[name] = _seen_lines(sent, ports)
    return seen


def _tags(fabric: Fabric) -> dict[int, dict[int, int]]:
    """Return the tag at each port of a host that has one, by switch and port."""
    tags: dict[int, dict[int, int]] = {}
    for host in fabric.hosts:
        if host.tag:
            tags.setdefault(host.switch, {})[host.port] = host.tag
    return tags


def _seen(held: SwitchState, ports: Mapping[int, int]) -> SwitchState:
    members, pvid, frames = held.membership.copy(), held.pvid.copy(), held.frames.copy()
    for port, tag in ports.items():
        column = members[:, port - 1]
        members[:, port - 1] = _swapped(column, held.vlans == tag)
        pvid[port - 1] = tag
        frames[port - 1] = _TAKES[Frames(int(frames[port - 1]))]
    return replace(held, membership=members, pvid=pvid, frames=frames)


def _swapped(how: NDArray[np.integer], own: NDArray[np.bool_]) -> NDArray[np.integer]:
    """Return memberships with the `own` VLAN's tagged ones untagged, and all others tagged."""
    inside = np.where(own & (how == _TAGGED), _UNTAGGED, _TAGGED)
    return np.where(how == int(Membership.NONE), how, inside).astype(how.dtype)


def _seen_lines(sent: Lines, ports: Mapping[int, int]) -> Lines:
    value, kept = sent.value.copy(), np.ones(len(sent.value), np.bool_)
    for port, tag in ports.items():
        here = sent.port == port
        member = here & (sent.cell == MEMBER)
        value[member] = _swapped(value[member], sent.vlan[member] == tag)
        for row in np.flatnonzero(here & (sent.cell == FRAMES)).tolist():
            value[row] = int(_TAKES[Frames(int(value[row]))])
        kept &= ~(here & (sent.cell == PVID))
    columns = {name: getattr(sent, name)[kept] for name in ("position", "cell", "port", "vlan", "mac")}
    return Lines(**columns, value=value[kept])
