"""Export what a build makes of each switch, as local config contexts of NetBox's devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.platforms.port_names import port_name

if TYPE_CHECKING:
    from tagloom.records.build import Build


def contexts(build: Build) -> dict[str, dict[str, Any]]:
    """Return what NetBox is told of each switch: its model, the plan, and where its ports lead, off or on.

    It changes with the build alone, so that what did not change need not be written again.
    """
    fabric = build.fabric
    plan = {
        "fabric": fabric.name,
        "routing": build.routes.method,
        "assignment": build.assignment,
        "vlans": build.vlans,
    }
    found: dict[str, dict[str, Any]] = {
        switch.name: {**plan, "model": switch.model, "state": "up" if switch.up else "down", "ports": {}}
        for switch in fabric.switches
    }

    def add(s: int, port: int, said: dict[str, Any]) -> None:
        found[fabric.switches[s].name]["ports"][platforms.of(fabric.switches[s]).port_name(port)] = said

    for link in fabric.links:
        state = "up" if link.up else "dead" if link.dead else "down"
        speed = {"mbps": link.speed_mbps} if link.speed_mbps else {}
        for a_port, b_port in link.cables:
            add(link.a, a_port, {"to": port_name(fabric, link.b, b_port), "state": state, **speed})
            add(link.b, b_port, {"to": port_name(fabric, link.a, a_port), "state": state, **speed})
    for host in fabric.hosts:
        add(host.switch, host.port, {"to": host.name, "state": "up"})
    return found
