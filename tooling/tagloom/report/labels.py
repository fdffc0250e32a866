"""Write a sheet to print for whoever cables a fabric: a page for each rack, with a label for each end of a cable."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jinja2

from tagloom import platforms

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric


def labels_html(fabric: Fabric) -> str:
    """Return the sheet as one HTML file that needs no network; links that are down are cabled too.

    A switch of which nobody said where it is mounted has a page of its own.
    """
    name_of = [platforms.of(switch).port_name for switch in fabric.switches]
    rows: list[list[tuple[int, dict[str, str]]]] = [[] for _ in fabric.switches]
    for link in fabric.links:
        for a, b in link.cables:
            for (here, port), (there, far) in (((link.a, a), (link.b, b)), ((link.b, b), (link.a, a))):
                end = {"port": name_of[here](port), "to": fabric.switches[there].name, "far": name_of[there](far)}
                end["rack"] = fabric.switches[there].rack
                rows[here].append((port, end))
    for host in fabric.hosts:
        rows[host.switch].append(
            (host.port, {"port": name_of[host.switch](host.port), "to": host.name, "far": "", "rack": ""})
        )
    switches: list[dict[str, Any]] = [
        {
            "name": switch.name,
            "model": switch.model,
            "address": switch.address,
            "rows": [end for _, end in sorted(rows[number], key=lambda each: each[0])],
        }
        for number, switch in enumerate(fabric.switches)
    ]
    pages: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for switch, shown in zip(fabric.switches, switches, strict=True):
        pages.setdefault((switch.rack, "" if switch.rack else switch.name), []).append(shown)
    racks = [{"name": name, "switches": mounted} for (name, _), mounted in pages.items()]
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page = (files("tagloom.report") / "labels.html.j2").read_text("utf-8")
    return environment.from_string(page).render(fabric=fabric.name, racks=racks)
