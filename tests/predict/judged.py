"""Ask SimGrid, where it is installed, what rates it gives flows and when they finish."""

import subprocess

import numpy as np

from fabrics import ROOT
from needs import SYSTEM_PYTHON
from tagloom.report.exports import simgrid


def judge(fabric, routes, flows, folder, what):
    """Give a number for each flow, "rates" in bits per second or "finish" in seconds, and SimGrid's CPU seconds."""
    platform = folder / "platform.xml"
    with platform.open("w") as file:
        file.writelines(simgrid(fabric, routes, latency=False))
    names = [host.name for host in fabric.hosts]
    rows = zip(flows.source, flows.destination, flows.volume_bytes, strict=True)
    lines = "".join(f"{names[a]} {names[b]} {size:.0f}\n" for a, b, size in rows)
    command = [SYSTEM_PYTHON, str(ROOT / "benchmarks" / "simgrid_judge.py"), str(platform), what]
    said = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout
    numbers = np.array(said.split(), float)
    return numbers[:-1], float(numbers[-1])


def random_case(seed):
    """Draw a fabric of some family, links off or slow, with traffic: (fabric, traffic's bytes, what it is)."""
    from fabrics import make_fabric  # noqa: PLC0415 - the names above are what is asked for

    chance = np.random.default_rng(seed)
    family, dims = (
        ("mesh", (4, 3)),
        ("torus", (4, 4)),
        ("fat-tree", (2, 4, 2)),
        ("clos", (4, 4)),
        ("complete", (6,)),
        ("hypercube", (4,)),
        ("ring", (7,)),
        ("dragonfly", (4, 3)),
    )[chance.integers(8)]
    parallel = 2 if family in {"torus", "ring", "hypercube", "dragonfly"} else int(chance.integers(1, 3))
    fabric = make_fabric(family, *dims, parallel=parallel, hosts=int(chance.integers(1, 4)))
    slow = chance.choice(len(fabric.links), len(fabric.links) // 8, replace=False)
    fabric = fabric.with_speeds({int(i): 100 for i in slow})
    hosts = len(fabric.hosts)
    kind = ("all-to-all", "permutation", "some pairs")[chance.integers(3)]
    volume = np.round(chance.uniform(1e5, 1e7, (hosts, hosts)))
    if kind == "permutation":
        volume *= np.eye(hosts)[chance.permutation(hosts)]
    elif kind == "some pairs":
        volume *= chance.random((hosts, hosts)) < 0.2
    np.fill_diagonal(volume, 0.0)
    volume[0, 1] = 1e6  # never without any flow
    return fabric, volume, f"{family} {'x'.join(map(str, dims))}, {parallel} links, {hosts} hosts, {kind}"
