"""Show a repair to people: what is dead, which pairs it cut off, and what became of them."""

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


def repair_lines(page: Mapping[str, Any]) -> list[str]:
    """Return what is dead, how many pairs it cut off, what was done or would be, and what is left."""
    dead = [*page["dead_switches"], *page["dead_links"]]
    lines = row("dead", ", ".join(dead) if dead else "nothing")
    if page["silent_switches"]:
        lines += row("silent", f"{', '.join(page['silent_switches'])}: no answer over SNMP, but their cables are up")
    for name, seconds in page["waiting"].items():
        lines += row("back", f"{name}, for {seconds:.0f} s: paths do not go home yet (--hold)")
    if page["pairs_cut"]:
        text = f"{count(page['pairs_cut'], 'pair')} cut off"
        if page["pairs_apart"]:
            hosts = f" ({', '.join(page['hosts_apart'])})" if page["hosts_apart"] else ""
            text += f", {page['pairs_apart']} of them joined by no cable any more{hosts}"
        lines += row("pairs", text)
    if page["means"]:
        would = "would restore" if page["proposed"] else "restored"
        woken = f" ({', '.join(page['links_woken'])})" if page["links_woken"] else ""
        text = f"{would} {count(page['pairs_restored'], 'pair')} by {_MEANS[page['means']]}{woken}"
        lines += row("repair", f"{text}, {page['seconds']:.1f} s")
        lines += row("why", page["reason"])
    return lines
