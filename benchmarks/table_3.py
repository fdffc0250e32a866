"""Write results/table-3.md: the VLANs of Koibuchi et al. 2011, Table 3, the paper's formulas beside counted plans."""

from __future__ import annotations

import sys
from pathlib import Path

from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_family
from tagloom.route import route
from tagloom.weave import weave

ROWS = (
    # name, family, parallel, one link off, paper fixed, paper renamed, why ours differ
    ("mesh", "mesh", 1, False, lambda k, n: k ** (n - 1), lambda _, n: n, "equal"),
    ("torus", "torus", 2, False, lambda k, n: 2 * k ** (n - 1), lambda _, n: 3 * n,
     ("rule R7 in the first dimension gives the paper's fixed figure; renamed, R7 needs 2n, where the paper's dateline "
     "(rule R3, or R1 on k = 4) needs 3n")),
    ("mesh, a link off", "mesh", 1, True, lambda k, n: (k + 1) * k ** (n - 2), lambda _, n: n,
     ("fixed: a link off in one plane adds no VLAN, as a broken tree takes its detour whole; the paper counts one in "
     "every plane. Renamed: route-derived members need n + 1 at the detour's switch for most positions; n would let "
     "in all turns of the model, and with them up to 2^21 copies of a broadcast (8 x 8)")),
    ("torus, a link off", "torus", 2, True, lambda k, n: 2 * (k + 1) * k ** (n - 2), lambda _, n: 3 * n,
     "the parallel link takes the paths over, so nothing is added to what the torus takes with all links on"),
)  # fmt: skip
SIZES = ((3, 2), (4, 2), (5, 2), (3, 3), (4, 3))


def figures(family: str, k: int, n: int, parallel: int, *, off: bool) -> dict[str, tuple[int, int]]:
    """Count the VLANs of plans, by assignment: the fewest and the most over every position of the link that is off."""
    fabric = parse_fabric(format_family(family, family, (k,) * n, parallel, 1, "linux-bridge"), family)
    fabrics = [fabric.with_links_down({i}) for i in range(len(fabric.links))] if off else [fabric]
    counts = {kind: [weave(f, route(f, "auto", kind), kind).vlans for f in fabrics] for kind in ("fixed", "renamed")}
    return {kind: (min(some), max(some)) for kind, some in counts.items()}


def fat_tree(u: int, d: int, r: int) -> tuple[int, int]:
    """Count the VLANs of a fat tree with u hosts on a leaf: (fixed, renamed)."""
    fabric = parse_fabric(format_family("fat-tree", "fat-tree", (u, d, r), 1, u, "linux-bridge"), "fat-tree")
    fixed, renamed = (weave(fabric, route(fabric, "auto", kind), kind).vlans for kind in ("fixed", "renamed"))
    return fixed, renamed


def page(sizes: tuple[tuple[int, int], ...] = SIZES) -> str:
    """Lay the table out as Markdown."""
    lines = [
        "# VLANs needed: the paper's Table 3 beside counted plans",
        "",
        "Written by `python benchmarks/table_3.py`; a test counts a part of it again. Where a link is off, the range",
        "is over every position of the link. Tori have two links between neighbours, hypercubes are meshes of k = 2.",
        "",
        "| topology | k, n | fixed: paper | ours | renamed: paper | ours |",
        "|---|---|---|---|---|---|",
    ]
    for name, family, parallel, off, fixed, renamed, _ in ROWS:
        for k, n in (*sizes, *(((2, 4),) if family == "mesh" and not off else ())):
            ours = figures(family, k, n, parallel, off=off)
            cells = [
                name,
                f"{k}, {n}",
                str(fixed(k, n)),
                _span(ours["fixed"]),
                str(renamed(k, n)),
                _span(ours["renamed"]),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    for u, d, r in ((2, 4, 2), (2, 4, 3), (3, 6, 2)):
        ours_fixed, ours_renamed = fat_tree(u, d, r)
        lines.append(f"| fat tree | u {u}, d {d}, r {r} | {u**r} | {ours_fixed} | {u} | {ours_renamed} |")
    lines += ["", "Where the figures differ:", ""]
    lines += [f"- {name}: {why}." for name, *_, why in ROWS if why != "equal"]
    return "\n".join(lines) + "\n"


def _span(ends: tuple[int, int]) -> str:
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "table-3.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(page(), "utf-8")
    sys.stdout.write(f"wrote {target.name}\n")
