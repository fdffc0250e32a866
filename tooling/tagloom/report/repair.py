"""Show a repair: what is dead, which pairs it cut off, and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tagloom.report.terminal import count, row

if TYPE_CHECKING:
    from collections.abc import Mapping

_MEANS = {
    "detour": "detour",
    "wake": "links turned on",
    "replan": "replanned",
}


def repair_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return what is down, how many pairs that disconnected, what was or would be done, and what remains."""
    down = [f"switch {name}" for name in payload["dead_switches"]] + [f"link {ends}" for ends in payload["dead_links"]]
    lines = row("down", ", ".join(down) if down else "nothing")
    if payload["silent_switches"]:
        lines += row("silent", f"{', '.join(payload['silent_switches'])}: no answer over SNMP, but their cables are up")
    for name, seconds in payload["waiting"].items():
        lines += row("back", f"{name}, up for {seconds:.0f} s: its original paths are not restored yet (--hold)")
    if payload["pairs_cut"]:
        text = f"{count(payload['pairs_cut'], 'host pair')} disconnected"
        if payload["pairs_apart"]:
            hosts = f" ({', '.join(payload['hosts_apart'])})" if payload["hosts_apart"] else ""
            text += f", {payload['pairs_apart']} of them without any cable between them{hosts}"
        lines += row("impact", text)
    if payload["means"]:
        lines += row("repair", _done(payload))
        lines += row("reason", payload["reason"])
    return lines


def _done(payload: Mapping[str, Any]) -> str:
    """Return what a repair did, or would do, with its means and seconds."""
    means = ", ".join([_MEANS[payload["means"]], *payload["links_woken"]])
    if not (payload["dead_links"] or payload["dead_switches"]):
        done = "would restore" if payload["proposed"] else "restored"
        return f"{done} the original paths in {payload['seconds']:.1f} s"
    pairs = count(payload["pairs_restored"], "host pair")
    if payload["proposed"]:
        return f"would reroute {pairs} ({means}); found in {payload['seconds']:.1f} s"
    return f"rerouted {pairs} in {payload['seconds']:.1f} s ({means})"
