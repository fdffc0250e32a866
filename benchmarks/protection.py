"""Measure what detours protect and cost, beside the plan without them in the same run.

Run `PYTHONPATH=tooling python benchmarks/protection.py [--curve] [--large]`; it writes `results/protection.md`, but
`--large`. One host per switch. `protected` counts
(ordered pair of hosts, failure of a link) that are connected; `load` is the busiest channel after the worst failure
over that of the plan without detours and without a failure, `hops` likewise the channels on all paths; `entries` are of
the fullest switch. CPU seconds are of the whole plan, proof of every failure included, kernels compiled before.

`--curve` shows for a random 4-regular fabric of 64 switches what longer paths and more VLANs buy. The order search may
make paths longer by that factor without a failure, and leaves fewer pairs without a way after one. Detours of one
source round links as far from it are dealt into so many trees (0: few trees for all sources).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from any_routing import family, random_regular

from tagloom import pipeline
from tagloom.route.any_order.plan import any_protected
from tagloom.route.detours import find_detours
from tagloom.verify import protection, what_if
from tagloom.weave import name_detours, weave, weave_detours

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tagloom.records.fabric import Fabric

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
LONGER = (1.0, 1.02, 1.05, 1.1)
PARTS = (0, 1, 2, 4, 8)


def rows(name: str, fabric: Fabric) -> list[tuple[str, ...]]:
    bare = pipeline.plan(fabric, TEMPLATES, prefer="load", texts=False)[0]
    before = what_if(fabric, bare.state, "links", ())
    found: list[tuple[str, ...]] = []
    for prefer in ("vlans", "load"):
        start = time.process_time()
        build, proof, _ = pipeline.plan(fabric, TEMPLATES, prefer=prefer, protect="link", texts=False)
        seconds = time.process_time() - start
        got = what_if(fabric, build.state, "links", build.detours)
        found.append(
            (
                name,
                prefer,
                f"{got.protected:,}",
                f"{got.unprotected:,}",
                f"{bare.vlans} -> {build.vlans}",
                f"{proof.fdb_entries_max:,}",
                f"{got.hops_max / before.hops_before:.2f}",
                f"{got.load_max / before.load_before:.2f}",
                f"{seconds:.1f}",
            )
        )
    return found


def curve(fabric: Fabric) -> list[tuple[str, ...]]:
    bare = pipeline.plan(fabric, TEMPLATES, prefer="load", texts=False)[0]
    before = what_if(fabric, bare.state, "links", ())
    found: list[tuple[str, ...]] = []
    fabric = replace(fabric, first_vlan=2)  # there are 4,094
    for longer, parts in [(longer, 4) for longer in LONGER] + [(LONGER[2], parts) for parts in PARTS]:
        routes, order, _ = any_protected(fabric, "link", longer=(longer,))
        plain = weave(fabric, routes).state
        trees = find_detours(fabric, routes, order, "link", 1 << 12, parts)
        state, vlan_of = weave_detours(fabric, routes, [trees])
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
        found.append((f"{longer:.2f}", str(parts), f"{got.unprotected:,}", str(cost.detour_vlans), *ratios))
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
    args = parser.parse_args()
    pipeline.plan(family("torus", 3, 3), TEMPLATES, prefer="load", protect="link", texts=False)
    pipeline.plan(family("torus", 3, 3), TEMPLATES, prefer="vlans", protect="link", texts=False)
    if args.curve:
        header = ("longer", "trees", "left", "detour VLANs", "hops", "load", "hops after", "load after")
        keep(header, curve(FABRICS["random 4-regular 64"]))
        return
    header = ("fabric", "prefer", "protected", "left", "VLANs", "entries", "hops", "load", "CPU s")
    if args.large:
        print(*in_markdown(header, rows("random 4-regular 256", random_regular(4, 256))), sep="\n")
    else:
        keep(header, [row for name, fabric in FABRICS.items() for row in rows(name, fabric)])


if __name__ == "__main__":
    main()
