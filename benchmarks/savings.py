"""Write results/savings.md: links off and watts saved on papers' clusters, beside Koibuchi et al. 2011, Sect. 5.4."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom import pipeline
from tagloom.graph.floods import load_by
from tagloom.pipeline.planning import own_routes
from tagloom.platforms.power import fabric_watts, port_watts
from tagloom.read import read_fabric, read_traffic
from tagloom.regulate.choose import RegulateOptions
from tagloom.regulate.own_ways import rerouting
from tagloom.regulate.settings_file import to_json
from tagloom.regulate.static import static

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "results" / "savings.md"
NPB = tuple(f"{name}.S.16" for name in ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp"))
PATTERNS = ("all-to-all", "bit-reversal", "matrix-transpose")
CLUSTERS = (("misc", 20), ("supernova", 19), ("supernova64-6248", 19), ("supernova64-5324", 25))
FIGURES = (  # of the paper, as its text and its captions name them
    ("misc", "Fig. 12a by the text, a complete graph", 20),
    ("supernova128-complete", "Fig. 12a by its caption, a complete graph", 20),
    ("supernova128", "Fig. 12b by the text, a torus, 128 processes", 19),
    ("supernova64-6248", "Fig. 12b by the text, a torus, 64 processes", 19),
    ("supernova64-5324", "Fig. 13, a torus, 64 processes", 25),
)
METHODS = (
    ("static", RegulateOptions("static")),
    ("greedy, bridges allowed", RegulateOptions("greedy", allow_cut=True)),
    ("greedy", RegulateOptions("greedy")),
    ("optimal", RegulateOptions("optimal", time_limit_seconds=300.0)),
)

TEXT = """\
# Links off and watts saved

Rows as `python benchmarks/savings.py` measured them, some run again alone; a test computes two once more. Watts of
whole switches, both ends of a link (Koibuchi et al. 2011, table 2). NAS matrices of class S on 16 ranks, ranks spread
over all switches, stand in for the paper's classes W and A; patterns are over all hosts. No method lets the busiest
channel's load rise. `static` is the paper's rule, with equality allowed (see Figures 12 and 13); "bridges allowed" is
its connectivity rule; `greedy` and `optimal` beside it keep the fabric so that any one link may still fail. A cell is
links off, percent saved, and the gap: how far its watts are above a lower bound for every choice under the same rule,
in percent; 0.00 is a proof that there is none better. `optimal` had at most five minutes a row; CPU seconds are of all
four methods with their bounds, the first row's with compiling. Gaps are from before the bound counted whole flows
([selection](selection.md)): those above 0 may be smaller now, and `optimal` sooner done.

## The arithmetic of the paper's 20, 19 and 25 %

| cluster | links | all on, W | one link off | a tree left saves | the paper | links off for that |
|---|---|---|---|---|---|---|
"""
AFTER = """
## Figures 12 and 13

`static` on each NAS matrix: links off, percent saved of whole switches with the ports of hosts, and the same without
those ports; last, links off by the paper's own words, "less than" the maximum. Fig. 12a is Misc in the paper's text
and SuperNova in its caption, Fig. 12b the other way round; both say 128 processes of class C, on a complete graph in
12a and on a torus in 12b. A complete graph of SuperNova with two links between each two switches (`Compl(2link)`)
saves the 20 % of Fig. 12a with all ports counted. The text's reading comes to 20 and 19 % if ports of hosts do not
count: {misc} % on Misc, {torus} % on SuperNova's torus of 36 links; with them, Misc saves 17.3 % at most, a tree left,
and SuperNova's torus cannot save 19 %: even with all 36 links off it would be 17.3 %. Its 64 hosts on 60 links, five
between neighbours and the 23 ports in use on a switch of which the paper speaks, save more than its 19 and 25 %: 38
links off are 19 % on PowerConnect 6248, 35 are 25 % on 5324. By the words "less than" no link can be turned off at all,
as the busiest channel keeps its load: so `static` lets a channel carry as much as the busiest did.

| figure | cluster | all on, W | without hosts' ports, W | the paper | most links off | saves | without hosts' ports |
|---|---|---|---|---|---|---|---|
"""
BY_TRAFFIC = """
| cluster | traffic | links off | saves | without hosts' ports | links off by "less than" |
|---|---|---|---|---|---|
"""
FIRST = "\n## misc (the paper"


def row(cluster: str, traffic_name: str, methods: tuple[tuple[str, RegulateOptions], ...] = METHODS) -> list[str]:
    """Return one line's cells: the traffic, and per method links off and percent saved; last the gap."""
    fabric = read_fabric(ROOT / "inventory" / cluster / "fabric.yml")
    pattern = traffic_name in PATTERNS
    path = (
        Path(f"pattern:{traffic_name}") if pattern else ROOT / "tests" / "data" / "npb" / f"{traffic_name}.matrix.csv"
    )
    traffic = read_traffic(path, fabric)
    cells = [traffic_name]
    page = {}
    for _, wish in methods:
        settings = pipeline.regulate(fabric, traffic, "auto", "fixed", lambda *_: None, wish, time.process_time)
        page = to_json(fabric, settings)
        assert page["max_channel_load_after"] <= page["max_channel_load_before"]
        cells.append(f"{page['links_off']}, {page['saving_percent']:.1f} %, {page['gap_percent']:.2f}")
    return cells


def arithmetic(cluster: str, percent: int) -> list[str]:
    """Return what table 2 says of a cluster, and how many links off the paper's percentage would be."""
    fabric = read_fabric(ROOT / "inventory" / cluster / "fabric.yml")
    links, switches = len(fabric.links), len(fabric.switches)
    full = fabric_watts(fabric)
    each = 100 * (full - fabric_watts(fabric.with_links_down({0}))) / full
    most = each * (links - switches + 1)
    needed = round(percent / each)
    possible = f"{needed}" if needed <= links - switches + 1 else f"{needed}: more than a tree leaves"
    return [cluster, str(links), f"{full:.1f}", f"{each:.3f} %", f"{most:.1f} %", f"{percent} %", possible]


def without_hosts(fabric: Fabric) -> float:
    """Return the watts of all switches but those of ports to hosts."""
    ports = sum(port_watts(fabric.switches[host.switch].model, 1000) for host in fabric.hosts)
    return fabric_watts(fabric) - ports


def figure_row(cluster: str, name: str) -> list[str]:
    """Return what `static` turns off and saves for a NAS matrix, and how many links the paper's "less than" allows."""
    fabric = read_fabric(ROOT / "inventory" / cluster / "fabric.yml")
    traffic = read_traffic(ROOT / "tests" / "data" / "npb" / f"{name}.matrix.csv", fabric)
    everything = own_routes(fabric, "auto", "fixed")
    load_of = load_by(fabric, everything, "fixed")
    before = float(load_of(fabric, everything, traffic.volume_bytes).max())
    reroute = rerouting(fabric, everything, partial(own_routes, routing="auto", assignment="fixed"), None)
    kept, less = (
        static(fabric, traffic, reroute, fabric_watts, limit=limit, load_of=load_of)
        for limit in (before, before * (1 - 1e-9))
    )
    saved = fabric_watts(fabric) - fabric_watts(fabric.with_links_down(set(kept.links_off)))
    shares = (f"{100 * saved / full:.1f} %" for full in (fabric_watts(fabric), without_hosts(fabric)))
    return [cluster, name, str(len(kept.links_off)), *shares, str(len(less.links_off))]


def figure_lines(rows: list[list[str]]) -> list[str]:
    """Return the section of figures 12 and 13 from the rows of every cluster's matrices."""
    most = {cluster: max((r for r in rows if r[0] == cluster), key=lambda r: int(r[2])) for cluster, *_ in FIGURES}
    plain = {cluster: row[4].removesuffix(" %") for cluster, row in most.items()}
    lines = [AFTER.format(misc=plain["misc"], torus=plain["supernova128"]).rstrip("\n")]
    for cluster, where, paper_percent in FIGURES:
        fabric = read_fabric(ROOT / "inventory" / cluster / "fabric.yml")
        watts = (f"{each:.1f}" for each in (fabric_watts(fabric), without_hosts(fabric)))
        cells = [where, cluster, *watts, f"up to {paper_percent} %", *most[cluster][2:5]]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, BY_TRAFFIC.rstrip("\n"), *(f"| {' | '.join(row)} |" for row in rows)]


def figures() -> None:
    """Compute figures 12 and 13 and put them in their place on the page."""
    clusters, names = zip(*((cluster, name) for cluster, *_ in FIGURES for name in NPB), strict=True)
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(figure_row, clusters, names))
    head, mark, tail = PAGE.read_text("utf-8").partition(FIRST)
    head = head.partition("\n## Figures")[0].rstrip("\n")
    PAGE.write_text("\n".join([head, *figure_lines(rows), mark + tail]), "utf-8")


def line(cluster: str, name: str) -> str:
    """Return one row of a cluster's table; greedy must not save less than static does under static's own rule."""
    start = time.process_time()
    cells = row(cluster, name)
    assert percent(cells[2]) >= percent(cells[1]), (cluster, name)
    found = f"| {' | '.join(cells)} | {time.process_time() - start:.0f} |"
    print(cluster, found, file=sys.stderr, flush=True)
    return found


def percent(cell: str) -> float:
    return float(cell.split(", ")[1].removesuffix(" %"))


def part(cluster: str, paper_percent: int) -> list[str]:
    """Return the lines of one cluster."""
    names = [name for name, _ in METHODS]
    lines = ["", f"## {cluster} (the paper: up to {paper_percent} %)", ""]
    lines += [f"| traffic | {' | '.join(names)} | CPU s |", "|---" * (len(names) + 2) + "|"]
    rows = [line(cluster, name) for name in (*NPB, *PATTERNS)]
    return [*lines, *rows, "", summary(rows)]


def summary(rows: list[str]) -> str:
    """Return in how many rows greedy saves more than static, and in how many optimal is proven."""
    cells = [each.strip("| ").split(" | ") for each in rows]
    more = sum(percent(each[2]) > percent(each[1]) for each in cells)
    closed = sum(each[4].endswith(", 0.00") for each in cells)
    rest = "and as much in the rest" if more < len(rows) else "in all"
    said = f"Under static's own rule greedy saves more in {more} rows of {len(rows)}, {rest}."
    return f"{said} `optimal` is proven the best there is in {closed}."


def again(cluster: str, name: str) -> None:
    """Run one row again and put it in its place on the page, as where a busy machine left `optimal` no time."""
    lines = PAGE.read_text("utf-8").splitlines()
    begin = next(i for i, each in enumerate(lines) if each.startswith(f"## {cluster} "))
    end = next(i for i, each in enumerate(lines) if i > begin and each.startswith("Under static's own rule"))
    at = next(i for i in range(begin, end) if lines[i].startswith(f"| {name} |"))
    lines[at] = line(cluster, name)
    lines[end] = summary([each for each in lines[begin:end] if each.startswith("| ") and "traffic" not in each])
    PAGE.write_text("\n".join(lines) + "\n", "utf-8")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("row", nargs="*", metavar="CLUSTER TRAFFIC", help="run this row alone again")
    arguments.add_argument("--figures", action="store_true", help="compute figures 12 and 13 alone again")
    given = arguments.parse_args()
    if given.row or given.figures:
        again(*given.row) if given.row else figures()
        return
    lines = [TEXT.rstrip("\n")]
    lines += [f"| {' | '.join(arithmetic(cluster, paper_percent))} |" for cluster, paper_percent in CLUSTERS]
    with ProcessPoolExecutor(2) as pool:
        for some in pool.map(part, *zip(*CLUSTERS, strict=True)):
            lines += some
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines += ["", f"All rows took {usage.ru_utime + usage.ru_stime:.0f} CPU seconds."]
    PAGE.write_text("\n".join(lines) + "\n", "utf-8")
    figures()


if __name__ == "__main__":
    main()
