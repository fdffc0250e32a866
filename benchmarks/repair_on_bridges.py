"""Write results/repair-on-bridges.md: seconds until a broken cable is gone round, by detours and by spanning tree.

Stands tori of Linux bridges up in a real kernel (this machine's own, else user-mode Linux), takes one link after the
other really down, and asks for the pairs of hosts that it cut off, again and again, by frames. Once the bridges carry a
plan of tagloom with `--protect link`, and the lines of the link's detour are typed at once; once they are plain bridges
under the kernel's own spanning tree. Needs no root. `--switches 16` measures one size anew, and keeps the other's rows.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

import networkx as nx

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "dataplane"), str(ROOT / "tests")]

from bench import PLATFORM, Bench, Seen  # noqa: E402 - below a path put first
from fabrics import make_fabric  # noqa: E402 - as above
from spanning import spanning  # noqa: E402 - as above
from tagloom import pipeline  # noqa: E402 - as above
from tagloom.lab.kernel import choice  # noqa: E402 - as above
from tagloom.platforms.port_names import link_ends  # noqa: E402 - as above
from tagloom.records.change import difference  # noqa: E402 - as above
from tagloom.records.switch_state import SwitchEditor  # noqa: E402 - as above
from tagloom.render import render_commands  # noqa: E402 - as above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tagloom.records.build import Build
    from tagloom.records.detours import Detour
    from tagloom.records.fabric import Fabric, Link

SHAPES = {16: (4, 4), 64: (8, 8)}
BREAKS = {16: 4, 64: 0}  # links broken under spanning tree, drawn by chance of those that frames cross
DETOURS = {16: 32, 64: 12}  # links broken under a plan: at 16 switches all
LONGEST_SECONDS = 120.0  # that a pair is asked for
# Hundredths of a second, hello, forward delay and maximum age: the kernel's defaults, and the least that it takes.
TIMERS = {"default timers": (200, 1500, 2000), "least timers": (100, 400, 600)}
PAGE = ROOT / "benchmarks" / "results" / "repair-on-bridges.md"
Pair: TypeAlias = tuple[int, int]  # hosts, from and to
DETOUR = "detours of `--protect link`, typed at once"
TEXT = """\
# A broken cable, gone round: detours beside spanning tree, on a real kernel's bridges

Written by `PYTHONPATH=tooling python benchmarks/repair_on_bridges.py`. Tori of Linux bridges with one host each, in
{kernel}; one link after the other is taken down at one end, and the other end loses its carrier. From then on every
pair of hosts that used it is asked for by frames, until all have been heard. With tagloom the time is that of typing
the detour's lines, one switch after the other, and of the frames that ask, all by one processor that others shared:
what notices a dead cable and what logs in are not in it
([how long that takes](repair.md)). Under spanning tree, links of the tree were drawn by
chance, and pairs are asked for by broadcasts, so that entries learnt before, which last longer, are not counted. After
each link, all pairs of hosts reached each other: asked for, not assumed.
"""
AFTER = """
Sixty-four bridges under spanning tree were not measured: the one processor of that kernel did not bring them to rest.
Their bounds are those of the timers, above. Rapid spanning tree (IEEE 802.1D-2004, clause 17) was not run: the kernel
has none. It promises no time. Where a bridge sees its root port go down and has an alternate port, it forwards at once,
and a new designated port asks its neighbour, hop by hop, instead of waiting; where it must learn of a failure from
missing messages it waits for three hello times, six seconds; and a port whose neighbour does not answer waits twice the
forward delay, 30 s. Operators read "less than a second" between two switches, and more with each hop
(<https://networkengineering.stackexchange.com/questions/35923/how-fast-can-stp-rstp-and-mstp-find-a-new-route>). Both
kinds of spanning tree leave the links off that they do not need, {spare} of {links} at 16 switches: that is what they
may wake.
"""


@dataclass(frozen=True)
class Row:
    """Seconds from a link that went down to the last pair heard, one for each broken link; `cut` counts its pairs."""

    switches: int
    means: str
    cut: tuple[int, ...]
    seconds: tuple[float, ...]


def torus(switches: int) -> Fabric:
    """Return a torus of Linux bridges with a host each."""
    return make_fabric("torus", *SHAPES[switches])


def detours(bench: Bench, build: Build, folder: Path, links: Iterable[int]) -> Row:
    """Break links under a plan with detours. Raises ValueError where a pair stays cut off."""
    fabric = bench.fabric
    texts = pipeline.render(fabric, build.state, ROOT / "templates")
    for s, switch in enumerate(
        fabric.switches
    ):  # one after the other: all at once would take longer than a request may
        path = folder / f"{switch.name}.cfg"
        path.write_text(texts[switch.name], "utf-8")
        if wrong := bench.machine.request("run", texts={str(s): str(path)})["errors"][str(s)]:
            raise ValueError(wrong)
    cut, seconds = [], []
    crossing = _crossing(bench)
    for i in links:
        (detour,) = (each for each in build.detours if set(each.dead) == set(link_ends(fabric, i)))
        there, back = _lines(build, detour)
        pairs = crossing[i]
        with _broken(bench, fabric.links[i]) as since:
            bench.machine.request("batch", orders=there)
            seconds.append(_last(bench, pairs, since))
            _all_reach(bench)
        bench.machine.request("batch", orders=back)
        cut.append(len(pairs))
    return Row(len(fabric.switches), DETOUR, tuple(cut), tuple(seconds))


def spanning_tree(bench: Bench, timers: str, count: int) -> Row:
    """Break links under the kernel's spanning tree."""
    hello, delay, age = TIMERS[timers]
    bridge = f"hello_time {hello} forward_delay {delay} max_age {age} stp_state 1"
    fabric = bench.fabric
    orders = {
        str(s): [
            f"ip link add name tagloom type bridge {bridge}",
            *(f"ip link set dev swp{port} master tagloom up" for port in sorted(fabric.used_ports[s])),
            "ip link set dev tagloom up",
        ]
        for s in range(len(fabric.switches))
    }
    bench.machine.request("batch", orders=orders)
    every = _pairs(bench)
    _last_flooded(bench, every, time.monotonic())
    cut, seconds = [], []
    chance = random.Random(timers)  # noqa: S311 - which links are broken is no secret
    for _ in range(count):
        i, pairs = chance.choice(sorted(_tree_crossing(bench).items()))
        with _broken(bench, fabric.links[i]) as since:
            seconds.append(_last_flooded(bench, pairs, since))
            _last_flooded(bench, every, time.monotonic())
        cut.append(len(pairs))
        bench.machine.request("batch", orders={})  # until all ports forward or are blocked
        _last_flooded(bench, every, time.monotonic())
    return Row(len(fabric.switches), f"spanning tree, {timers}", tuple(cut), tuple(seconds))


class _broken:  # noqa: N801 - a context manager, used as a function
    """A link that is down in the meantime; gives the time when it went down."""

    def __init__(self, bench: Bench, link: Link) -> None:
        self._set = lambda *, up: bench.machine.request("cable", switch=link.a, port=link.a_port, up=up)

    def __enter__(self) -> float:
        since = time.monotonic()
        self._set(up=False)
        return since

    def __exit__(self, *_: object) -> None:
        self._set(up=True)


def _pairs(bench: Bench) -> list[Pair]:
    hosts = range(len(bench.fabric.hosts))
    return [(a, b) for a in hosts for b in hosts if a != b]


def _crossing(bench: Bench) -> dict[int, list[Pair]]:
    """Return the pairs of hosts whose frames cross each link, by its number: as they go now."""
    fabric = bench.fabric
    ends = {end: i for i, x in enumerate(fabric.links) for end in ((x.a, x.a_port), (x.b, x.b_port))}
    found: dict[int, list[Pair]] = {i: [] for i in range(len(fabric.links))}
    for pair, seen in _heard(bench, _pairs(bench)):
        for i in {ends[s, port] for s, port, _ in seen.hops if (s, port) in ends}:
            found[i].append(pair)
    return found


def _tree_crossing(bench: Bench) -> dict[int, list[Pair]]:
    """Return the pairs of hosts whose ways in the spanning tree cross each link that forwards, by its number."""
    fabric = bench.fabric
    _, blocked = spanning(bench)
    tree = nx.Graph()
    for i, x in enumerate(fabric.links):
        if not {(x.a, x.a_port), (x.b, x.b_port)} & blocked:
            tree.add_edge(x.a, x.b, link=i)
    if not nx.is_tree(tree):
        raise ValueError(f"expected a spanning tree, actual {len(tree.edges)} links of {len(fabric.switches)} switches")
    found: dict[int, list[Pair]] = {i: [] for _, _, i in tree.edges.data("link")}
    ways = dict(nx.all_pairs_shortest_path(tree))
    for a, b in _pairs(bench):
        for u, v in pairwise(ways[fabric.hosts[a].switch][fabric.hosts[b].switch]):
            found[tree.edges[u, v]["link"]].append((a, b))
    return found


def _last(bench: Bench, pairs: Sequence[Pair], since: float) -> float:
    """Ask for pairs until each has been heard; return the seconds. Raises ValueError after LONGEST_SECONDS."""
    for _ in _heard(bench, pairs):
        pass
    return time.monotonic() - since


def _last_flooded(bench: Bench, pairs: Sequence[Pair], since: float) -> float:
    """Do as `_last`, by broadcasts: a frame to a host that no bridge has learnt takes the same way."""
    left, until = set(pairs), time.monotonic() + LONGEST_SECONDS
    while left:
        for a in sorted({a for a, _ in left}):
            (seen,) = bench.broadcasts([a])
            left -= {(a, b) for b in seen.heard}
        if left and time.monotonic() > until:
            raise ValueError(f"{len(left)} pairs were not heard")
    return time.monotonic() - since


def _heard(bench: Bench, pairs: Sequence[Pair]) -> Iterator[tuple[Pair, Seen]]:
    """Yield each pair once it is heard, with where its frame went. Raises ValueError after LONGEST_SECONDS."""
    left, until = list(pairs), time.monotonic() + LONGEST_SECONDS
    while left:
        now, left = left, []
        for pair, seen in zip(now, bench.unicasts(now), strict=True):
            if pair[1] in seen.heard:
                yield pair, seen
            else:
                left.append(pair)
        if left and time.monotonic() > until:
            raise ValueError(f"{len(left)} pairs were not heard")


def _all_reach(bench: Bench) -> None:
    pairs = _pairs(bench)
    lost = [pair for pair, seen in zip(pairs, bench.unicasts(pairs), strict=True) if seen.heard.get(pair[1]) != 1]
    if lost:
        raise ValueError(f"{len(lost)} of {len(pairs)} pairs are cut off, or heard more than once: {lost[:3]}")


def _lines(build: Build, detour: Detour) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the lines of a detour by switch, and those that take it back."""
    there, back = {}, {}
    fabric = build.fabric
    editors: dict[int, SwitchEditor] = {}
    for host in fabric.hosts:
        if host.name in detour.pvids:
            editor = editors.setdefault(host.switch, SwitchEditor.of(build.state[fabric.switches[host.switch].name]))
            editor.pvid[host.port - 1] = detour.pvids[host.name]
    for s, editor in editors.items():
        before, after = build.state[fabric.switches[s].name], editor.freeze()
        there[str(s)] = list(render_commands(PLATFORM, difference(before, after), before))
        back[str(s)] = list(render_commands(PLATFORM, difference(after, before), after))
    return there, back


def measure(
    switches: int, *, breaks: int, links: int | None = None, timers: Iterable[str] = TIMERS
) -> tuple[list[Row], str]:
    """Measure one size; return the rows and the kernel's name.

    `breaks` links are broken under spanning tree with each of `timers`, and the first `links`, or all, under a plan.
    """
    fabric = torus(switches)
    build = pipeline.plan(fabric, ROOT / "templates", protect="link")[0]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="tagloom-") as folder, choice.start(Path(folder, "log")) as machine:
        with Bench(machine, fabric) as bench:
            rows.append(detours(bench, build, Path(folder), range(len(fabric.links))[:links]))
        for each in timers if breaks else ():
            with Bench(machine, fabric) as bench:
                rows.append(spanning_tree(bench, each, breaks))
        name = machine.name
    return rows, name


def table(rows: Iterable[Row]) -> list[str]:
    """Return the rows as Markdown."""
    seconds: Callable[[float], str] = lambda s: f"{s:.2f}" if s < 10 else f"{s:.0f}"  # noqa: E731 - used twice below
    lines = [
        "| switches | means | links broken | pairs cut, median | last pair after, median s | worst s |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = row.switches, row.means, len(row.cut), f"{median(row.cut):g}"
        lines.append(
            f"| {' | '.join(map(str, cells))} | {seconds(median(row.seconds))} | {seconds(max(row.seconds))} |"
        )
    return lines


def main() -> None:
    """Measure, print, and write the page where all sizes were measured."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--switches", type=int, choices=SHAPES)
    chosen = words.parse_args().switches
    lines: list[str] = []
    kernel = ""
    for switches in SHAPES:
        if chosen in (None, switches):
            rows, kernel = measure(switches, breaks=BREAKS[switches], links=DETOURS[switches])
            print("\n".join(table(rows)), flush=True)
            lines += table(rows)[2:]
        else:
            lines += [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(f"| {switches} |")]
    tree = torus(min(SHAPES))
    links = len(tree.links)
    after = AFTER.format(spare=links - len(tree.switches) + 1, links=links)
    PAGE.write_text("\n".join([TEXT.format(kernel=kernel), *table([]), *lines, after]), "utf-8")


if __name__ == "__main__":
    main()
