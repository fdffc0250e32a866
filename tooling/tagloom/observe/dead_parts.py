"""Find dead links and switches in an SNMP reading of all switches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tagloom.platforms.port_names import link_name
from tagloom.records.dead_parts import DeadParts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Counters, Observation

    Shown = Mapping[tuple[int, int], Counters]


def dead_parts(
    fabric: Fabric,
    seen: Mapping[str, Observation],
    known: DeadParts,
    hold_seconds: float = 0.0,
) -> DeadParts:
    """Return the dead links among those wanted up, and the dead switches; `known` are those dead before.

    A link is dead if a port at either end is down (IF-MIB ifOperStatus, RFC 2863), an aggregated one if all its cables
    are. A switch is dead if it does not answer and every cable to it is down at its answering neighbours; silence alone
    proves nothing, since an agent may hang. A dead part stays dead until it has been back for `hold_seconds`, by the
    switches' own clocks, so that a flapping part moves paths only once. Links known to be dead are checked, too.
    """
    shown = {
        (fabric.index[name], port.number): port for name, each in seen.items() if not each.error for port in each.ports
    }
    silent = {s for s, switch in enumerate(fabric.switches) if switch.up and _is_silent(seen, switch.name)}
    dead: set[int] = set()
    back: dict[str, float] = {}
    carrying: dict[int, bool] = {}
    for i, link in enumerate(fabric.links):
        up = _is_up(shown, fabric, i)
        if up is None or not (link.up or i in known.links):
            continue
        carrying[i] = up
        if not up:
            dead.add(i)
        elif i in known.links:
            seconds = _steady_seconds(fabric, seen, shown, i)
            back[link_name(fabric, i)] = seconds
            dead |= {i} if seconds < hold_seconds else set()
    gone = _dead_switches(fabric, silent, carrying, known)
    for s in known.switches - silent:
        name = fabric.switches[s].name
        back[name] = seen[name].uptime_seconds or 0.0
        gone |= {s} if back[name] < hold_seconds else set()
    links = {i for i, link in enumerate(fabric.links) if link.up and (link.a in gone or link.b in gone)}
    hung = tuple(fabric.switches[s].name for s in sorted(silent - gone))
    return DeadParts(frozenset(dead | links), frozenset(gone), hung, back)


def ports_up(
    fabric: Fabric, ports: Mapping[str, Collection[int]], poll: Callable[[Collection[str]], Mapping[str, Observation]]
) -> bool:
    """Return whether ports of switches, by name, are seen up at both ends of their cables; False for no ports.

    `poll` reads switches.
    """
    raised = {(fabric.index[name], port) for name, mine in ports.items() for port in mine}
    ends = {((a, p), (b, q)) for _, a, p, b, q in fabric.cables.tolist() if {(a, p), (b, q)} & raised}
    wanted = raised | {end for both in ends for end in both}
    seen = poll({fabric.switches[s].name for s, _ in wanted}) if wanted else {}
    up = {(fabric.index[name], each.number) for name, shown in seen.items() for each in shown.ports if each.oper_up}
    return bool(wanted) and wanted <= up


def _is_silent(seen: Mapping[str, Observation], name: str) -> bool:
    return name not in seen or bool(seen[name].error)


def _ends(fabric: Fabric, link: int) -> Iterable[tuple[tuple[int, int], tuple[int, int]]]:
    each = fabric.links[link]
    return (((each.a, a), (each.b, b)) for a, b in each.cables)


def _is_up(shown: Shown, fabric: Fabric, link: int) -> bool | None:
    """Return whether some cable of a link is up at each end that is shown; None if no end is."""
    known = None
    for ends in _ends(fabric, link):
        up = [shown[end].oper_up for end in ends if end in shown and shown[end].oper_up is not None]
        if up:
            known = bool(known) or all(up)
    return known


def _steady_seconds(fabric: Fabric, seen: Mapping[str, Observation], shown: Shown, link: int) -> float:
    """Return the seconds since a port of a link last went up or down, infinite if unknown."""
    since = math.inf
    for ends in _ends(fabric, link):
        for s, port in ends:
            clock = seen[fabric.switches[s].name].uptime_seconds if (s, port) in shown else None
            changed = shown[s, port].last_change_seconds if (s, port) in shown else None
            if clock is not None and changed is not None:
                since = min(since, clock - changed)
    return since


def _dead_switches(fabric: Fabric, silent: Collection[int], carrying: Mapping[int, bool], known: DeadParts) -> set[int]:
    """Return the silent switches that no cable reaches, judged in groups of silent neighbours.

    A group without any observed cable is dead only if it was before.
    """
    dead: set[int] = set()
    left = set(silent)
    while left:
        group, here = set[int](), [left.pop()]
        while here:
            s = here.pop()
            group.add(s)
            near = {x.b if x.a == s else x.a for x in fabric.links if s in (x.a, x.b)}
            here += near & left
            left -= near
        border = [carrying[i] for i, x in enumerate(fabric.links) if i in carrying and (x.a in group) != (x.b in group)]
        if not any(border):
            dead |= group if border else group & known.switches
    return dead
