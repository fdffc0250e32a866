"""Show in lines whether routes that others made can deadlock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.records.route_set import NOT_COVERED
from tagloom.report.terminal import count, row

if TYPE_CHECKING:
    from tagloom.records.route_set import LosslessProof

MOST = 12  # turns, findings or channels of a cycle that are listed


def lossless_lines(proof: LosslessProof) -> list[str]:
    """Return the lines that show a proof, its witness, and what it does not cover."""
    routes = proof.routes
    lines = row(
        "routes",
        f"{routes.routes:,} routes to {count(routes.destinations, 'destination')} over "
        f"{count(len(routes.switches), 'switch')}, {count(len(routes.channels), 'channel')}, "
        f"{count(routes.dependencies, 'dependency')}",
    )
    if proof.cycle:
        lines += row("cycle", _few([*proof.cycle, proof.cycle[0]], " -> "))
    for priority, cycle in proof.cycles_by_priority.items():
        lines += row(
            "priority", f"{priority}: " + (f"cycle {_few([*cycle, cycle[0]], ' -> ')}" if cycle else "no cycle")
        )
    if proof.turns:
        number = len(proof.turns)
        least = "the fewest" if number == proof.turns_at_least else f"at least {proof.turns_at_least} are needed"
        turns = [f"{turn.before} to {turn.after} at {turn.switch}" for turn in proof.turns]
        lines += row("forbid", f"{count(number, 'turn')} ({least}): {_few(turns, '; ')}")
    for finding in routes.findings[:MOST]:
        lines += row("finding", str(finding))
    if len(routes.findings) > MOST:
        lines += row("", f"and {len(routes.findings) - MOST} more")
    verdict = "yes" if proof.deadlock_free else "NO"
    whatever = ", whatever priorities frames have" if proof.any_priority else ""
    lines += row("lossless", f"no deadlock: {verdict}{whatever}")
    for number, each in enumerate(NOT_COVERED):
        lines += row("" if number else "assumes", each)
    return lines


def _few(names: list[str] | tuple[str, ...], between: str) -> str:
    """Join names, the first MOST of them."""
    more = f"{between}and {len(names) - MOST} more" if len(names) > MOST else ""
    return between.join(names[:MOST]) + more
