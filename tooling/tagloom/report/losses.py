"""Describe the effect of single failures, and of detours on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tagloom.report.terminal import count, row, verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.records.what_if import WhatIf

SHOWN = 5  # failures named; the counts are complete
NOUNS = {"links": "link", "switches": "switch"}
PARTS = {"auto": "link", "link": "link", "switch": "link and switch"}


def failover_lines(summary: Mapping[str, Any], *, verbose: bool = False) -> list[str]:
    """Return what the detours of a plan protect and cost, or why it has none; nothing where none were asked for.

    More is said about detours that were asked for, and with `verbose`.
    """
    kind = summary.get("protect", "none")
    if kind == "none":
        why = summary.get("unprotected_why", "")
        return row("failover", why) if why else []
    left, cases = summary["unprotected"], summary["protected"] + summary["unprotected"]
    moved = summary.get("assignment") == "pinned"
    cost = f"{count(summary['detour_vlans'], 'more VLAN')}, {count(summary['detour_entries'], 'static entry')}"
    by = "changes of entries, and nothing until then" if moved else f"detours ({cost})"
    what = f"every single {PARTS[kind]} protected by {by}"
    if left:
        failed = "pairs of hosts x failed links" if kind != "switch" else "pairs of hosts x failed parts"
        what = f"{summary['protected']:,} of {cases:,} {failed} protected by {by}"
    lines = row("failover", what)
    if kind == "auto" and not verbose:
        return lines
    hops, load = summary["hops_after_failure"], summary["load_after_failure_max"]
    lines += row("", f"after the worst failure {hops:.2f} times the hops, max channel load {count(load, 'host pair')}")
    if left and moved:
        lines += row(
            "", f"{left:,} have none: beside the paths and floods that run no change was found that closes no cycle; a "
            "repair plans anew for them; tagloom verify BUILD --what-if names them"
        )  # fmt: skip
    elif left:
        lines += row(
            "", f"{left:,} have none: no one order of the channels was found along which all climb, as on a ring, "
            "where one turn stays forbidden, or their network has a VLAN of its own; tagloom verify BUILD --what-if "
            "names them"
        )  # fmt: skip
    return lines


def what_if_lines(found: WhatIf | None) -> list[str]:
    """Return the effect of single failures, and the worst of those that leave pairs without a path, by name."""
    if found is None:
        return []
    cases = found.protected + found.unprotected
    lines = [
        *verdict(
            "what if",
            f"a way for all still cabled, any of {count(found.failures, NOUNS[found.kind])} lost",
            f"{found.protected:,} of {cases:,}",
            good=not found.unprotected,
        ),
        *verdict("", "no deadlock, storm or second copy meanwhile", "all states", good=found.safe),
    ]
    if found.isolated is not None:
        leaks = count(len(found.leaks), "leak") if found.leaks else "all states"
        lines += verdict("", "no frame of a network at ports of others meanwhile", leaks, good=found.isolated)
    ports, cut, without = found.pvids_max, found.cut_pairs_max, found.unprotected_pairs_max
    by = f"new PVIDs, at most {count(ports, 'port')} each"
    if found.entries_max:
        by = f"other entries, at most {found.entries_max:,} each"
    lines += row(
        "",
        f"{found.saved:,} saved by {by}; at most {count(cut, 'pair')} cut by one, "
        f"{without:,} without a way; max channel load {found.load_before:,} -> {found.load_max:,}",
    )
    worst = sorted(found.losses, key=lambda loss: -loss.unprotected)
    for loss in worst[:SHOWN]:
        lines += row(
            "", f"{' - '.join(loss.dead)}: {count(loss.unprotected, 'pair')} without a way: {', '.join(loss.pairs)} ..."
        )
    if more := len(worst) - SHOWN:
        lines += row("", f"and {more:,} failures more") if more > 0 else []
    if found.deadlock_cycle:
        lines += row("", f"cycle: {'; '.join(found.deadlock_cycle)}")
    for leak in found.leaks[:SHOWN]:
        lines += row("", str(leak.finding()))
    return lines
