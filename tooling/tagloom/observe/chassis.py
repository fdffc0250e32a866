"""Settle one chassis id for each switch, where its agent has none or its neighbours report another."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.records.observation import Neighbour, Observation


def with_one_id_each(seen: Mapping[str, Observation]) -> dict[str, Observation]:
    """Return the readings, with each switch called by one chassis id, in its own reading and in its neighbours'.

    An agent may have no id (lldpLocChassisId), or another than the switch announces (``lldp chassis-id host-name``).
    Then the system name joins the two, if nothing speaks against it: one switch of that name, one unknown id, and the
    two switches see each other. Each such step is a complaint; so is a neighbour with the id of one switch and the name
    of another.
    """
    names = Counter(shown.name for shown in seen.values() if shown.name)
    own = {shown.chassis for shown in seen.values() if shown.chassis}
    reported = {each.chassis for shown in seen.values() for each in shown.neighbours}
    unknown: dict[str, dict[str, list[tuple[Observation, Neighbour]]]] = {}
    for shown in seen.values():
        for each in shown.neighbours:
            if each.chassis not in own and each.name and (each.bridge or each.doubt):
                unknown.setdefault(each.name, {}).setdefault(each.chassis, []).append((shown, each))
    known: dict[str, str] = {}
    ids: dict[str, str] = {}
    said: dict[str, str] = {}
    for key, shown in seen.items():
        others = unknown.get(shown.name, {}) if not shown.chassis or shown.chassis not in reported else {}
        if len(others) == 1 and names[shown.name] == 1 and _sees(shown, others):
            [(other, _)] = others.items()
            ids[key] = shown.chassis or other
            known[other] = ids[key]
            actual = f"its agent has {shown.chassis}" if shown.chassis else "its agent has none (lldpLocChassisId)"
            said[key] = f"neighbours report the chassis id {other}, {actual}: taken to be this switch by its name"
        elif not shown.chassis:
            ids[key] = f"name {shown.name or key}"
            more = f"; {len(others)} ids are reported by its name: {', '.join(others)}" if others else ""
            said[key] = f"lldpLocChassisId: missing, so that only what it reports itself shows its links{more}"
        elif others:
            readings = f"{', '.join(others)} may be this switch or another of its name"
            said[key] = f"no neighbour reports its chassis id {shown.chassis}; {readings}: give each its own name"
    found = {
        key: replace(
            shown,
            chassis=ids.get(key, shown.chassis),
            neighbours=tuple(replace(n, chassis=known.get(n.chassis, n.chassis)) for n in shown.neighbours),
            complaints=(*shown.complaints, *([said[key]] if key in said else ())),
        )
        for key, shown in seen.items()
    }
    called = {shown.chassis: shown.name for shown in found.values() if shown.chassis and shown.name}
    return {
        key: replace(
            shown,
            complaints=(
                *shown.complaints,
                *(
                    f"port {each.port}: a neighbour announces the chassis id of {called[each.chassis]} and the name of"
                    f" {each.name}: taken to be {called[each.chassis]}"
                    for each in shown.neighbours
                    if each.name in names and called.get(each.chassis, each.name) != each.name
                ),
            ),
        )
        for key, shown in found.items()
    }


def _sees(shown: Observation, others: Mapping[str, list[tuple[Observation, Neighbour]]]) -> bool:
    """Return whether a switch sees those that report an id; one that sees nothing at all does not speak against it."""
    here = {each.chassis for each in shown.neighbours}
    reporters = {reporter.chassis for rows in others.values() for reporter, _ in rows if reporter.chassis}
    return not here or not reporters or bool(here & reporters)
