"""Measure what detours protect and cost, beside the plan without them in the same run.

Run `PYTHONPATH=tooling python benchmarks/protection.py [--curve] [--large] [--largest]`; it writes
`results/protection.md`, but for the last two, 256 and 1,024 switches. One host per switch. `protected` counts
(ordered pair of hosts, failure of a link) that are connected; `load` is the busiest channel after the worst failure
over that of the plan without detours and without a failure, `hops` likewise the channels on all paths; `entries` are of
the fullest switch. CPU seconds are of the whole plan, proof of every failure included, kernels compiled before.

`--curve` shows for a random 4-regular fabric of 64 switches what longer paths and more VLANs buy. The order search may
make paths longer by that factor without a failure, and leaves fewer pairs without a way after one. Detours of one
source round links as far from it are dealt into so many trees (0: few trees for all sources). While some failure leaves
a load of more than `enough` times that without a failure, trees for one source and failure are added.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from any_routing import family, random_regular

from tagloom import pipeline
from tagloom.pipeline.protecting import with_detours
from tagloom.route import route
from tagloom.route.any_order.plan import any_protected
from tagloom.route.detours import DetourLimits, find_detours
from tagloom.route.gather import gather
from tagloom.verify import protection, what_if
from tagloom.weave import name_detours, weave, weave_detours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"
PAGE = Path(__file__).resolve().parent / "results" / "protection.md"
FABRICS = {
    "complete 8": family("complete", 8),
    "Clos 4 x 4": family("clos", 4, 4),
    "hypercube 4": family("hypercube", 4),
    "torus 8 x 8": family("torus", 8, 8),
    "mesh 8 x 8": family("mesh", 8, 8),
    "random 4-regular 64": random_regular(4, 64),
    "random 3-regular 64": random_regular(3, 64),
}
LONGER = ((1.0,), (1.02,), (1.05,), (1.05, 1.1))
FREE_VLANS = 4_094 - 1 - 64  # but VLAN 1, and that of each source
PARTS = (0, 1, 2, 4, 8)
HEADER = ("fabric", "prefer", "protected", "left", "VLANs", "entries", "hops", "load", "CPU s")
CURVE_HEADER = (
    *("longer", "trees", "enough", "left", "detour VLANs", "entries"),
    *("hops", "load", "hops after", "load after"),
)
ENOUGH = (1.5, 1.4, 1.2, 1.0)


def rows(name: str, fabric: Fabric, prefers: Sequence[str] = ("vlans", "load")) -> list[tuple[str, ...]]:
    bare = pipeline.plan(fabric, TEMPLATES, prefer="load", texts=False)[0]
    before = what_if(fabric, bare.state, "links", ())
    found: list[tuple[str, ...]] = []
    for prefer in prefers:
        start = time.process_time()
        build, proof, _ = pipeline.plan(fabric, TEMPLATES, prefer=prefer, protect="link", texts=False)
        seconds = time.process_time() - start
        got = what_if(fabric, build.state, "links", build.detours)
        vlans = {vlan for held in build.state.values() for vlan in held.owned_vlans}
        found.append(
            (
                name,
                prefer,
                f"{got.protected:,}",
                f"{got.unprotected:,}",
                f"{bare.vlans} -> {len(vlans)}",
                f"{proof.fdb_entries_max:,}",
                f"{got.hops_max / before.hops_before:.2f}",
                f"{got.load_max / before.load_before:.2f}",
                f"{seconds:.1f}",
            )
        )
    return found


def planning_seconds(fabric: Fabric) -> float:
    """Return the CPU seconds of a plan with few VLANs and its detours, without the proofs."""
    start = time.process_time()
    routes = gather(fabric, route(fabric, "auto", "fixed", 1, None), None)
    with_detours(fabric, routes, weave(fabric, routes), "link", own=False, effort=1, free=True, hosts_tag=False)
    return time.process_time() - start


def large(switches: int, prefers: Sequence[str]) -> None:
    """Print the rows of a random 4-regular fabric, the seconds of planning alone, and the memory that all took."""
    fabric = random_regular(4, switches)
    print(f"planning: {planning_seconds(fabric):.1f} CPU s")
    print(*in_markdown(HEADER, rows(fabric.name, fabric, prefers)), sep="\n")
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:,} MB of memory at most")


def curve(fabric: Fabric) -> list[tuple[str, ...]]:
    bare = pipeline.plan(fabric, TEMPLATES, prefer="load", texts=False)[0]
    before = what_if(fabric, bare.state, "links", ())
    found: list[tuple[str, ...]] = []
    fabric = replace(fabric, first_vlan=2)
    planned: dict[tuple[float, ...], tuple[Routes, NDArray[np.int32], int]] = {}
    choices = [(longer, 4, 1.3) for longer in LONGER] + [(LONGER[-1], parts, np.inf) for parts in PARTS]
    for longer, parts, enough in choices + [(LONGER[-1], 4, enough) for enough in ENOUGH]:
        if longer not in planned:
            planned[longer] = any_protected(fabric, "link", longer=longer)
        routes, order, _ = planned[longer]
        plain = weave(fabric, routes).state
        trees = find_detours(fabric, routes, order, "link", DetourLimits(FREE_VLANS, parts, enough=enough))
        state, vlan_of = weave_detours(fabric, routes, "fixed", [trees])
        detours = name_detours(fabric, routes, [trees], vlan_of)
        cost, _ = protection(fabric, plain, state, "link", detours)
        got = what_if(fabric, state, "links", detours)
        ratios = [
            f"{part / whole:.2f}"
            for part, whole in (
                (got.hops_before, before.hops_before),
                (got.load_before, before.load_before),
                (got.hops_max, before.hops_before),
                (got.load_max, before.load_before),
            )
        ]
        entries = max(len(held.entry_vlan) for held in state.values())
        limits = f"{np.prod(longer):.2f}", str(parts), f"{enough:.1f}" if np.isfinite(enough) else "-"
        found.append((*limits, f"{got.unprotected:,}", str(cost.detour_vlans), f"{entries:,}", *ratios))
    return found


def in_markdown(header: Sequence[str], found: Sequence[Sequence[str]]) -> list[str]:
    """Return a table's lines."""
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *found)]
    return [lines[0], "|" + "---|" * len(header), *lines[1:]]


def keep(header: Sequence[str], found: Sequence[Sequence[str]]) -> None:
    """Print a table, and write it in the place of the page's that begins with the same word."""
    lines, text = in_markdown(header, found), PAGE.read_text("utf-8")
    begin = text.index(f"| {header[0]} |")
    PAGE.write_text(text[:begin] + "\n".join(lines) + text[text.index("\n\n", begin) :], "utf-8")
    print(*lines, sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--largest", action="store_true")
    args = parser.parse_args()
    pipeline.plan(family("torus", 3, 3), TEMPLATES, prefer="load", protect="link", texts=False)
    pipeline.plan(family("torus", 3, 3), TEMPLATES, prefer="vlans", protect="link", texts=False)
    if args.curve:
        keep(CURVE_HEADER, curve(FABRICS["random 4-regular 64"]))
    elif args.large:
        large(256, ("vlans", "load"))
    elif args.largest:
        large(1024, ("vlans",))
    else:
        keep(HEADER, [row for name, fabric in FABRICS.items() for row in rows(name, fabric)])


if __name__ == "__main__":
    main()
