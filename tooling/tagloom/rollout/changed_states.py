"""Name the switches and links whose state changes between two fabrics, and the commands for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom.platforms.port_names import link_name
from tagloom.records.fabric_pair import link_ends

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric


@dataclass(frozen=True, slots=True)
class ChangedState:
    """A switch or a link, `part`, that is `now` in another state, and the `way`: the commands that handle it."""

    part: str
    now: str
    way: str
    of_switch: bool = False

    def __str__(self) -> str:
        return f"{self.part} is {self.now}: {self.way}"


def changed_states(old: Fabric, new: Fabric, old_place: str = "OLD", new_place: str = "NEW") -> list[ChangedState]:
    """List the parts that both fabrics have and that are down or dead in one of them alone.

    No rollout handles them: a switch that is down can't be configured, and no line turns a dead link off.
    `old_place` and `new_place` are the builds, as an operator names them. Links of a switch that is listed are not.
    """
    found: list[ChangedState] = []
    was_up = {switch.name: switch.up for switch in old.switches}
    for switch in new.switches:
        name, what = switch.name, f"switch {switch.name}"
        if was_up.get(name, switch.up) == switch.up:
            continue
        if switch.up:
            way = f"tagloom apply {new_place} --readmit {name} takes it back; so does tagloom repair"
            found.append(ChangedState(what, "down in what runs, and up in the new build", way, of_switch=True))
        else:
            way = (
                f"tagloom apply {old_place} --without {name} moves paths off it; so does tagloom repair once it is dead"
            )
            found.append(ChangedState(what, "up in what runs, and down in the new build", way, of_switch=True))
    changed = {state.part.removeprefix("switch ") for state in found}
    was_dead = dict(zip(link_ends(old), (link.dead for link in old.links), strict=True))
    for i, (ends, link) in enumerate(zip(link_ends(new), new.links, strict=True)):
        if was_dead.get(ends, link.dead) == link.dead or changed & {name for name, *_ in ends}:
            continue
        what = f"link {link_name(new, i)}"
        if link.dead:
            way = "tagloom repair moves paths off a broken cable; `state: down` in the fabric file turns a good one off"
            found.append(ChangedState(what, "dead in the new build alone", way))
        else:
            way = "tagloom repair brings the paths back once it carries frames again"
            found.append(ChangedState(what, "dead in what runs, and good in the new build", way))
    return found
