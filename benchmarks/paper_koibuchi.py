"""The rows of docs/papers.md on Koibuchi, Otsuka, Kudoh, Amano 2011."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import flows
import savings
from paper_rows import HERE, NOT_RUN, RESULTS, UNKNOWN, WHY_NOT, Row, column

from fabrics import make_fabric, make_irregular
from judges.orders import links_of
from judges.simulate import simulate
from tagloom import platforms
from tagloom.graph.paths import average_hops
from tagloom.records.simulation import Program
from tagloom.route import route

TITLE = (
    "Koibuchi, Otsuka, Kudoh, Amano: *A Switch-Tagged Routing Methodology for PC Clusters with VLAN Ethernet*, IEEE "
    "TPDS 22(2), 2011"
)
TABLE_2 = {"powerconnect-5324": 42.9, "powerconnect-6224": 91.1, "powerconnect-6248": 155.2, "sf-0420g": 55.4}
TABLE_11 = (2.75, 2.50, 2.25, 4.81, 3.50, 3.00, 3.75)
BUFFER = 65_536.0  # of a switch for what came by one link: an assumption; a half or a double changes T12 by 0.4 s
TREES = {  # of six switches; the paper's is not in our notes
    "line": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
    "three levels": [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)],
    "star": [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)],
}
FT = {  # points and steps by class: NAS Parallel Benchmarks
    "S": (64**3, 6),
    "A": (256 * 256 * 128, 6),
    "B": (512 * 256 * 256, 20),
    "C": (512**3, 20),
    "D": (2048 * 1024 * 1024, 25),
}


def power() -> str:
    """Return base + ports at 1 Gb/s beside the printed maximum, by model."""
    found = []
    for model, printed in TABLE_2.items():
        page = platforms.load(model)
        assert page.watts is not None  # these four have been measured
        found.append(f"{page.watts.base_watts + page.physical_ports * page.watts.per_port[1000]:.1f} ({printed})")
    return ", ".join(found)


def table_3() -> tuple[str, str]:
    """Return how many rows of table 3 need as many VLANs as the paper says, fewer or more, fixed and renamed."""
    rows = [line.strip("| ").split(" | ") for line in (RESULTS / "table-3.md").read_text("utf-8").splitlines()]
    cells = [row[2:] for row in rows if len(row) == 6 and row[2].isdigit()]
    said = []
    for paper, ours in ((0, 1), (2, 3)):
        known = [(int(c[paper]), [int(n) for n in re.findall(r"\d+", c[ours])]) for c in cells if c[paper].isdigit()]
        equal = sum(set(mine) == {theirs} for theirs, mine in known)
        more = sum(max(mine) > theirs for theirs, mine in known)
        said.append(f"equal in {equal} of {len(known)}, fewer in {len(known) - equal - more}, more in {more}")
    return said[0], said[1]


def hops() -> list[float]:
    """Return the switches on a path of the networks of table 11."""
    return [
        flows.relative(network)[0]
        if network[4] == "tree"
        else average_hops(fabric := make_fabric(network[1], *network[2], **network[3]), route(fabric, network[4]))
        for network in flows.NETWORKS
    ]


def ft_bytes(kind: str, ranks: int) -> float:
    """Return what the transposes of FT send between different ranks: 16 bytes a point, in every step and twice more."""
    points, steps = FT[kind]
    return 16.0 * points * (steps + 2) * (ranks - 1) / ranks


def ft_simulated(kind: str, buffer_bytes: float, tree: str = "line") -> tuple[float, float]:
    """Return how long the transposes of FT.128 take frame by frame on misc, two processes on each of 64 hosts.

    Misc is the paper's complete graph: six switches, 11 hosts at each. First with two links between each two switches,
    then over a tree of single links, one of TREES. Each rank sends to the next one first, then to the one after it, as
    MPI's linear all-to-all does. A switch sends PAUSE when `buffer_bytes` of one link are half full, so that what waits
    for the busy link blocks what follows it; inf stands for switches without bounds and PAUSE. One transpose is
    simulated, and takes as long as the others.
    """
    steps, ranks = FT[kind][1] + 2, 128
    size = ft_bytes(kind, ranks) / steps / (ranks * (ranks - 1))
    following = [(rank + k) % ranks for rank in range(ranks) for k in range(1, ranks)]
    first = np.arange(0, len(following) + 1, ranks - 1)
    program = Program(
        np.arange(ranks) // 2, np.zeros((1, ranks)), first, np.array(following), np.full(len(following), float(size))
    )
    found = []
    for fabric, method in (
        (make_fabric("complete", 6, parallel=2, hosts=11), "auto"),
        (make_irregular([11] * 6, TREES[tree]), "tree"),
    ):
        links = links_of(fabric, route(fabric, method), None)
        links = links._replace(buffer_bits=8.0 * buffer_bytes, pause=bool(np.isfinite(buffer_bytes)))
        found.append(steps * simulate(links, program).seconds)
    return found[0], found[1]


def rows() -> list[Row]:
    """Return the rows of Koibuchi, Otsuka, Kudoh, Amano 2011."""
    fixed, renamed = table_3()
    saved = {cluster: savings.arithmetic(cluster, percent) for cluster, percent in savings.CLUSTERS}
    performance = "[performance](../benchmarks/results/performance.md), `python benchmarks/flows.py`"
    took = 62.7, 189.0
    free, parted = ft_simulated("C", np.inf)
    paused, blocked = ft_simulated("C", BUFFER)
    others = (took[0] + ft_simulated("C", BUFFER, tree)[1] - paused for tree in ("three levels", "star"))
    whole, levels, star_shaped = (took[0] + blocked - paused, *others)
    tags = column("tagged-bridges.md", "| message", "1,048,576", slice(5, 6))[0]
    equal = [f"{ours:.2f}" for ours in hops()]
    known = ", ".join(f"{1e6 * (platforms.load(m).latency_seconds or 0):g}" for m in TABLE_2 if m[-4:] != "6248")
    return [
        ("T1", UNKNOWN, UNKNOWN, NOT_RUN, WHY_NOT),
        (
            "T2",
            "most watts of a switch (5324, 6224, 6248, SF-420G); those of chassis and ports are taken over",
            ", ".join(map(str, TABLE_2.values())),
            f"base + ports: {power()}",
            HERE,
        ),
        (
            "T3",
            "VLANs, fixed assignment",
            "24 rows, by formulas",
            fixed,
            "[table 3](../benchmarks/results/table-3.md), `python benchmarks/table_3.py`",
        ),
        ("T3", "VLANs, renamed", "those with a number", renamed, "the same"),
        (
            "T4",
            "latency of a switch, us (5324, 6224, SF-420G; no 6248)",
            known,
            NOT_RUN,
            "none: an input, taken over; no switch was measured",
        ),
        (
            "T5",
            "bandwidth with tags",
            UNKNOWN,
            f"{tags} of that without, messages of 1 MiB through kernel bridges",
            "[tags](../benchmarks/results/tagged-bridges.md), `python benchmarks/tagged_bridges.py`",
        ),
        (
            "T6",
            "least seconds a link is away",
            "1.2 to 5.7",
            NOT_RUN,
            "none: an input, taken over; the upper end is open ([rates](../benchmarks/results/rate-switch.md))",
        ),
        ("T7 to T10", UNKNOWN, UNKNOWN, NOT_RUN, WHY_NOT),
        (
            "T11",
            "switches on a path of seven networks",
            ", ".join(f"{n:.2f}" for n in TABLE_11),
            ", ".join(equal),
            HERE,
        ),
        (
            "T12",
            "run time of FT.128, two links in a complete graph to one in a tree",
            "62.7 s to 189.0 s",
            (
                f"its network alone: {free:.1f} s to {parted:.1f} s, with PAUSE {paused:.1f} s to {blocked:.1f} s; "
                f"added to the 62.7 s, {whole:.1f} s"
            ),
            (
                f"{HERE}. Added, not multiplied: what a run computes stays, and FT's all-to-all hides none of it. "
                "The complete graph is misc, six switches with 11 hosts each. Assumed are class C, two processes on "
                "each of 64 hosts in their order, PAUSE with 64 KiB for each link, full duplex, no TCP, and for a tree "
                "a line of the six: the paper's is not in our notes, and of those tried a line comes nearest (with one "
                f"of three levels {levels:.1f} s, with a star {star_shaped:.1f} s). Its middle link explains "
                f"{100 * (parted - free) / (took[1] - took[0]):.0f} % of the 126.3 s between both, with PAUSE and the "
                f"blocking behind it {100 * (blocked - paused) / (took[1] - took[0]):.0f} %. The other rows are not in "
                "our notes"
            ),
        ),
        (
            "F5",
            "a cycle between the paths before and after a change",
            "no number",
            NOT_RUN,
            "none: a drawing; the proof of every wave refuses such cycles ([waves](explanation/waves.md))",
        ),
        ("F6", UNKNOWN, UNKNOWN, NOT_RUN, WHY_NOT),
        ("F7", "PAUSE", UNKNOWN, NOT_RUN, "none: what it shows is not known here; T12 is simulated with PAUSE"),
        ("F8, F9", UNKNOWN, UNKNOWN, NOT_RUN, WHY_NOT),
        (
            "F10",
            "bandwidth relative to one switch, seven networks",
            "bars, not in our notes",
            "all-to-all: "
            + ", ".join(column("performance.md", "## The seven", name, slice(2, 3))[0] for name, *_ in flows.NETWORKS),
            performance,
        ),
        ("F11", UNKNOWN, UNKNOWN, NOT_RUN, WHY_NOT),
        (
            "F12, F13",
            "NAS benchmarks beyond class S",
            UNKNOWN,
            NOT_RUN,
            "none: the matrices kept here are of class S, without the paper's run times",
        ),
        (
            "abstract",
            "a torus's run time beside a tree with link aggregation",
            "up to 27 % shorter",
            NOT_RUN,
            "none: a run time, computation included",
        ),
        (
            "text",
            "650 %: of a cluster, a class and a number of processes that the paper names",
            "650 %",
            NOT_RUN,
            "none: which they are is not in our notes",
        ),
        *(
            (
                "text",
                f"watts saved on {cluster}",
                f"up to {row[5]}",
                f"{row[4]} with a tree left on, of {row[1]} links",
                "[savings](../benchmarks/results/savings.md), `python benchmarks/savings.py`",
            )
            for cluster, row in saved.items()
        ),
    ]
