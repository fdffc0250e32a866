"""Show a repair: what is dead, which pairs it cut off, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tagloom.report.terminal import count, row

if TYPE_CHECKING:
    from collections.abc import Mapping

_MEANS = {
    "detour": "detours that were installed beforehand",
    "wake": "links switched on that were off",
    "replan": "paths planned anew",
}


def repair_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return what is dead, how many pairs it cut off, what was or would be done, and what remains."""
    dead = [*payload["dead_switches"], *payload["dead_links"]]
    lines = row("dead", ", ".join(dead) if dead else "nothing")
    if payload["silent_switches"]:
        lines += row("silent", f"{', '.join(payload['silent_switches'])}: no answer over SNMP, but their cables are up")
    for name, seconds in payload["waiting"].items():
        lines += row("back", f"{name}, for {seconds:.0f} s: paths do not go home yet (--hold)")
    if payload["pairs_cut"]:
        text = f"{count(payload['pairs_cut'], 'pair')} cut off"
        if payload["pairs_apart"]:
            hosts = f" ({', '.join(payload['hosts_apart'])})" if payload["hosts_apart"] else ""
            text += f", {payload['pairs_apart']} of them joined by no cable any more{hosts}"
        lines += row("pairs", text)
    if payload["means"]:
        would = "would restore" if payload["proposed"] else "restored"
        woken = f" ({', '.join(payload['links_woken'])})" if payload["links_woken"] else ""
        text = f"{would} {count(payload['pairs_restored'], 'pair')} by {_MEANS[payload['means']]}{woken}"
        lines += row("repair", f"{text}, {payload['seconds']:.1f} s")
        lines += row("why", payload["reason"])
    return lines
