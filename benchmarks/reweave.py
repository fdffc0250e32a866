"""Measure paths that are woven anew for shifting traffic: the static plan, and ECMP-like spreading, in the same run.

Run `PYTHONPATH=tooling python benchmarks/reweave.py`; it writes `results/reweave.md`, but the part that
`reweave_rack.py` writes. A day of 48 matrices: NPB jobs of
16 ranks, one after another, on hosts in any order. Each interval's bytes begin at once and share channels max-min fair;
the throughput is bytes by seconds until the last has arrived, over the whole day.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from timetable import NPB, RANKS, program

from tagloom.errors import PlanError
from tagloom.graph.cycles import find_cycle
from tagloom.graph.flows import flows_of, one_switch
from tagloom.graph.paths import channel_load
from tagloom.graph.rows import places
from tagloom.graph.search import all_hops
from tagloom.operate.reweaving import possible, weave_for
from tagloom.pipeline.planning import plan
from tagloom.predict.flows import finish
from tagloom.read.estimate import estimate
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.counted import Counted
from tagloom.records.reweave import ReweaveLimits
from tagloom.records.timetable import ALL_ON, TimetableProgress
from tagloom.records.traffic import Traffic
from tagloom.regulate.reweave import decide_reweave, rewoven

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.graph.flows import Flows
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "results" / "reweave.md"
RACK = "\n## On the virtual rack\n"  # begins the part of `reweave_rack.py`
FABRICS = {
    "torus 4x4, 2 links, 16 hosts": "{family: torus, dims: [4, 4], parallel: 2}",
    "fat tree (2,4,2), 16 hosts": "{family: fat-tree, dims: [2, 4, 2], hosts: 2}",
}
SECONDS = 1800.0
INTERVALS = 48
A_DAY = 86_400.0
BUSIEST = 40e6  # bytes per second that a job's busiest host sends or receives, at most
DWELL_SECONDS = 900.0
LIMITS = ReweaveLimits(SECONDS)
TOGETHER = 0.01  # flows that end so close are one event, for speed: times are within 1 %


def fabric_of(shape: str) -> Fabric:
    return parse_fabric(f"name: t\nmodel: powerconnect-5324\nshape: {shape}\n", "benchmark")


def day_of(fabric: Fabric, seed: int) -> list[Traffic]:
    """Make a day: one job of 1 to 4 hours after another, its ranks on hosts in any order, its load up and down."""
    chance = np.random.default_rng(seed)
    hosts = len(fabric.hosts)
    rate = np.zeros((INTERVALS, hosts, hosts))
    programs = [program(name, BUSIEST) for name in NPB]
    begin = 0.0
    while begin < A_DAY:
        end = begin + 3600.0 * chance.uniform(1.0, 4.0)
        job = programs[chance.integers(len(programs))] * chance.uniform(0.3, 1.0)
        where = chance.permutation(hosts)[:RANKS]
        spots = np.arange(int(begin // SECONDS), min(int(end // SECONDS) + 1, INTERVALS))
        rate[np.ix_(spots, where, where)] += job * chance.uniform(0.8, 1.2, (len(spots), 1, 1))
        begin = end
    rate[:, np.arange(hosts), np.arange(hosts)] = 0.0
    return [Traffic(each * SECONDS, np.zeros_like(each), SECONDS) for each in rate]


def counted(fabric: Fabric, routes: Routes, traffic: Traffic) -> Traffic:
    """Return what `tagloom run` makes of the ports' counters: the likeliest matrix that fits them."""
    volume = traffic.volume_bytes
    scale = np.repeat([link.capacity_mbps() / 1000 for link in fabric.links], 2)
    load = channel_load(fabric, routes, volume) * scale
    carried = {
        (fabric.switches[host.switch].name, host.port): (float(volume[h].sum()), float(volume[:, h].sum()))
        for h, host in enumerate(fabric.hosts)
    }
    for i, link in enumerate(fabric.links):
        carried[fabric.switches[link.a].name, link.a_port] = float(load[2 * i + 1]), float(load[2 * i])
        carried[fabric.switches[link.b].name, link.b_port] = float(load[2 * i]), float(load[2 * i + 1])
    return estimate(fabric, routes, Counted(SECONDS, 1, carried))


def lived(start: Build, day: list[Traffic], *, known: bool) -> tuple[list[Routes], int, int]:
    """Return the routes in use in each interval, how often they were changed, and how often no rollout was found."""
    running, standing = start, TimetableProgress((ALL_ON,), changed_at=-A_DAY)
    measured: tuple[Traffic, ...] = ()
    used, refused = [], 0
    for number, traffic in enumerate(day, start=1):
        used.append(running.routes)
        now = number * SECONDS
        if not traffic.volume_bytes.any():
            continue
        seen = traffic if known else counted(start.fabric, running.routes, traffic)
        measured = (*measured, seen)[-LIMITS.intervals :]
        most = possible(start.fabric, running.routes, measured)
        if not decide_reweave(now, most, standing, LIMITS, DWELL_SECONDS).change:
            continue
        try:
            woven, forecast = weave_for(running, measured, ROOT / "templates", "none")
        except PlanError:
            refused += 1
            continue
        if decide_reweave(now, forecast, standing, LIMITS, DWELL_SECONDS).change:
            running, measured = woven.build, ()
            standing = rewoven(now, "woven-1", standing)
    return used, len(standing.woven_at), refused


def spread_at_random(fabric: Fabric, flows: Flows, seed: int) -> tuple[Flows, bool]:
    """Lead each flow over a shortest path drawn hop by hop, as hashes would, and tell whether that closes a cycle."""
    chance = np.random.default_rng(seed)
    hops = all_hops(len(fabric.switches), fabric.tail[fabric.channel_up], fabric.head[fabric.channel_up])
    at, target = fabric.host_switch[flows.source].copy(), fabric.host_switch[flows.destination]
    steps = []
    while (moving := at != target).any():
        closer = (fabric.tail[None, :] == at[:, None]) & fabric.channel_up & moving[:, None]
        closer &= hops[fabric.head[None, :], target[:, None]] < hops[at, target][:, None]
        taken = np.where(closer, chance.random(closer.shape), -1.0).argmax(axis=1)
        steps.append(np.where(moving, taken, -1))
        at = np.where(moving, fabric.head[taken], at)
    path = np.stack(steps, axis=1)
    count = np.count_nonzero(path >= 0, axis=1)
    first = np.concatenate([[0], np.cumsum(count + 2)])
    channel = np.empty(first[-1], np.int32)
    channel[first[:-1]] = flows.channel[flows.first[:-1]]
    channel[first[1:] - 1] = flows.channel[flows.first[1:] - 1]
    channel[places(first[:-1] + 1, count)] = 2 * flows.hosts + path[path >= 0]
    both = (path[:, :-1] >= 0) & (path[:, 1:] >= 0)
    cycle = find_cycle(len(fabric.tail), path[:, :-1][both], path[:, 1:][both])
    return replace(flows, first=first, channel=channel), bool(cycle)


def of_interval(pairs: Flows, volume: NDArray[np.float64]) -> Flows:
    """Return the flows of one matrix on the paths of all pairs."""
    bytes_of = volume[pairs.source, pairs.destination]
    return replace(pairs, volume_bytes=bytes_of).among(bytes_of > 0)


def seconds_of(flows: Flows) -> float:
    return finish(flows, TOGETHER).makespan_seconds


def measure(shape: str, seed: int, spreads: int) -> dict[str, Any]:
    """Return the day's throughputs in bits per second by kind of paths, and what else the page says."""
    fabric = fabric_of(shape)
    day = day_of(fabric, seed)
    templates = ROOT / "templates"
    start = plan(fabric, templates)[0]
    balanced = plan(fabric, templates, prefer="load")[0]
    by_counters, changes, refused = lived(start, day, known=False)
    by_matrix, known_changes, _ = lived(start, day, known=True)
    volumes = [each.volume_bytes for each in day]

    def moved(routes: list[Routes]) -> float:
        return sum(seconds_of(flows_of(fabric, r, v)) for r, v in zip(routes, volumes, strict=True))

    pairs = flows_of(fabric, start.routes, 1.0 - np.eye(len(fabric.hosts)))
    spread, cycles = [], 0
    for chance in range(spreads):
        flows, cyclic = spread_at_random(fabric, pairs, chance)
        spread.append(sum(seconds_of(of_interval(flows, v)) for v in volumes))
        cycles += cyclic
    bits = 8 * float(np.sum(volumes))
    seconds = {
        "static": moved([start.routes] * len(day)),
        "balanced": moved([balanced.routes] * len(day)),
        "counters": moved(by_counters),
        "matrix": moved(by_matrix),
        "one": sum(seconds_of(one_switch(of_interval(pairs, v))) for v in volumes),
    }
    return {
        **{kind: bits / taken for kind, taken in seconds.items()},
        "spread": [bits / taken for taken in spread],
        "cycles": cycles,
        "changes": changes,
        "refused": refused,
        "known_changes": known_changes,
    }


TEXT = """\
# Paths woven anew, measured

What [`tagloom run`](../../docs/reweave.md) makes of a day of shifting traffic with `reweave: auto`, beside paths that
stay and ECMP-like spreading.

Written by `benchmarks/reweave.py`: 48 half hours; one NPB job (class S, 16 ranks, matrices of `tests/data/npb`) after
another for 1 to 4 hours, its ranks on hosts in any order, its busiest host at 12 to 40 MB/s. The bytes of each half
hour begin at once and share channels max-min fair. Throughput is all bytes by the seconds until each half hour's last
byte has arrived. One day (seed 1), of flows: no frames, no queues.

| fabric | static plan | static, `--prefer load` | woven, by counters | woven, matrix known | ECMP-like | one switch |
|---|---|---|---|---|---|---|
{rows}

In units of the static plan's throughput. ECMP-like: the mean of {spreads} seeds, the least to the greatest. One switch:
an ideal one that holds all hosts, which nothing can exceed.

| fabric | changes, by counters | plans with no hitless rollout | changes, matrix known | ECMP-like: cycles |
|---|---|---|---|---|
{more}

- The static plan is `tagloom plan` with its defaults, from which `run` starts. Limits are the defaults, with
  `reweave_seconds: 1800`.
- ECMP-like: each pair of hosts takes a shortest path drawn hop by hop, parallel links too, and keeps it all day. Where
  its dependencies close a cycle it can deadlock as soon as links are loss-free; every plan of tagloom is proven not to.
- By counters, the matrix is an estimate, the likeliest that fits what ports counted. What that costs is the difference
  from the matrix known.
- Paths change after two half hours that showed the gain: until then a job runs on the paths of the job before.
"""


def page(measured: dict[str, dict[str, Any]], spreads: int) -> str:
    """Return the results page of the measured fabrics."""
    rows, more = [], []
    for name, found in measured.items():
        unit = found["static"]
        ratios = [found[kind] / unit for kind in ("static", "balanced", "counters", "matrix")]
        spread = [each / unit for each in found["spread"]]
        cells = [f"{ratio:.2f}" for ratio in ratios]
        cells += [f"{np.mean(spread):.2f} ({min(spread):.2f} to {max(spread):.2f})", f"{found['one'] / unit:.2f}"]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
        counts = (found["changes"], found["refused"], found["known_changes"], f"{found['cycles']} of {spreads}")
        more.append(f"| {name} | " + " | ".join(map(str, counts)) + " |")
    return TEXT.format(spreads=spreads, rows="\n".join(rows), more="\n".join(more))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--spreads", type=int, default=10, help="seeds of ECMP-like spreading")
    args = arguments.parse_args()
    measured = {name: measure(shape, args.seed, args.spreads) for name, shape in FABRICS.items()}
    _, heading, on_rack = PAGE.read_text("utf-8").partition(RACK)
    PAGE.write_text(page(measured, args.spreads) + heading + on_rack, "utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
