"""Ask for spanning tree outside a fabric alone, and find the switches that cannot take single ports out of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric


def without_port_spanning_tree(fabric: Fabric) -> list[Finding]:
    """Return a finding for each model of live switches that has no line for it, or passes BPDUs on at such ports."""
    first = {switch.model: switch for switch in reversed(fabric.live)}
    unable = [switch for switch in first.values() if not platforms.of(switch).spans_by_port]
    rule = "off, where a model runs spanning tree on all ports or none"
    return [
        Finding("spanning_tree", rule, f"outside, and {switch.name} is a {platforms.of(switch).title}")
        for switch in sorted(unable, key=lambda switch: switch.name)
    ]


def spanning_outside(fabric: Fabric) -> Fabric:
    """Return a fabric whose switches run spanning tree on ports outside it. Raises InputError where a model cannot."""
    if findings := without_port_spanning_tree(fabric):
        raise InputError(findings)
    return replace(fabric, spanning_tree="outside")
