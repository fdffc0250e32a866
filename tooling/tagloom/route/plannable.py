"""Reject a fabric that cannot be planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.records.detours import PROTECTIONS, UNASKED
from tagloom.route.choose import routed_alike

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric

RENAMED_SHARES = "--assignment renamed tells frames between switches apart by their port, which networks would share"


def plannable(fabric: Fabric, *, spoken: bool = True) -> None:
    """Raise InputError for a fabric that cannot be planned; `spoken` requires models whose command line is known."""
    speaking = [m for m in platforms.models() if platforms.load(m).grammar]
    known = ", ".join(speaking)
    findings = [
        Finding(
            f"model {model}",
            f"a model whose command line is known, for texts and apply: {known}",
            f"{platforms.load(model).title}, of which none is: plan it with --no-texts",
        )
        for model in sorted({platforms.page_of(switch.model) for switch in fabric.live} - set(speaking))
        if spoken
    ]
    if len(fabric.hosts) == 0:
        findings.append(Finding("hosts", "at least one host", "none"))
    if apart := [fabric.switches[s].name for s in fabric.apart]:
        findings.append(Finding("links", "links that are up to connect all hosts", f"no way to {', '.join(apart)}"))
    if findings:
        raise InputError(findings)


def refuse_networks(fabric: Fabric, assignment: str) -> None:
    """Raise InputError for several networks whose links `assignment` does not let one turn off."""
    findings = []
    if assignment == "renamed" and len(fabric.networks) > 1:
        findings.append(Finding("networks", f"one network: {RENAMED_SHARES}", " ".join(fabric.networks)))
    if assignment == "pinned" and fabric.own_ways:
        rule = "fixed, where networks have a routing, links or a VLAN of their own"
        findings.append(Finding("--assignment", rule, assignment))
    if findings:
        raise InputError(findings)


def refuse_moved_entries(fabric: Fabric, option: str) -> None:
    """Raise InputError where detours under pinned assignment, entries that move, are not to be had."""
    unable = sorted({each.title for each in map(platforms.of, fabric.live) if not each.floods_by_port})
    findings = [Finding(option, "switches that can be told by which ports to flood", each) for each in unable]
    if len(fabric.uplinks):
        name = fabric.hosts[int(fabric.uplinks[0])].name
        findings.append(Finding(option, "hosts whose addresses are known", f"the uplink {name}"))
    if routed_alike(fabric, "pinned").own_ways:
        findings.append(Finding(option, "one routing over all links", "networks with routings or links of their own"))
    if findings:
        raise InputError(findings)


def refuse_protection(protect: str, assignment: str, fabric: Fabric) -> None:
    """Raise InputError for detours that are not to be had."""
    if protect not in PROTECTIONS:
        raise InputError([Finding("--protect", " or ".join(PROTECTIONS), repr(protect))])
    if protect not in UNASKED and assignment == "pinned":
        refuse_moved_entries(fabric, f"--protect {protect} with --assignment pinned")
