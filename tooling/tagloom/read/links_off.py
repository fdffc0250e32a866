"""Check the links that an operator lists to be off: ports of links, and links that no host needs to be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.errors import Finding
from tagloom.platforms.port_names import link_at, link_name, links_near
from tagloom.storage.document import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tagloom.records.fabric import Fabric


def links_off_findings(fabric: Fabric, where: str, ends: Sequence[str]) -> list[Finding]:
    """Find ports of no link, links that carry the management VLAN, and hosts that lose connectivity without the rest.

    A link may be named by either of its ports, or by both. `where` says which list is checked.
    """
    findings: list[Finding] = []
    off = set[int]()
    kept = fabric.management.links if fabric.management is not None else ()
    for number, end in enumerate(ends):
        link = link_at(fabric, end)
        if link is None:
            rule = f"SWITCH:PORT of a link between switches{links_near(fabric, end)}"
            findings.append(Finding(f"{where}[{number}]", rule, shown(end)))
        elif link in kept:
            rule = "a link that does not carry the management VLAN"
            findings.append(Finding(f"{where}[{number}]", rule, link_name(fabric, link)))
        else:
            off.add(link)
    left = fabric.with_links_down(off)
    if apart := sorted(set(left.apart) - set(fabric.apart)):
        names = ", ".join(fabric.switches[s].name for s in apart)
        findings.append(Finding(where, "links without which all hosts are still connected", f"no way to {names}"))
    return findings
