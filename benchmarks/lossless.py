"""Prove the routes of large lossless networks, and the same tables as ibdmchk.

python benchmarks/lossless.py               # a three-level fat tree of 10,125 switches with ECMP; time and memory
python benchmarks/lossless.py --ibdmchk     # beside ibdmchk (Debian's ibutils), both as whole processes
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / part) for part in ("tests", "tooling")]

from judges.ibdm import IBDMCHK, write_subnet  # noqa: E402 - the package of this checkout
from tagloom.records.route_set import DELIVERED, ForwardingTables  # noqa: E402 - as above
from tagloom.verify.lossless import dependencies, prove_lossless  # noqa: E402 - as above


def fat_tree(k: int) -> ForwardingTables:
    """Return the tables of a fat tree of k-port switches: spread over all ways up, one way down (Al-Fares et al. 2008).

    Edge switches come first, k/2 to each of k pods, then those that aggregate, then the core. A destination is an edge
    switch.
    """
    half = k // 2
    edges, cores = k * half, half * half
    edge, middle = np.arange(edges), edges + np.arange(edges)
    pod_edge, pod_middle = np.repeat(edge, half), (edge[:, None] // half * half + np.arange(half)).ravel() + edges
    up = np.repeat(middle, half)
    core = 2 * edges + (np.arange(edges)[:, None] % half * half + np.arange(half)).ravel()
    ends = np.concatenate([np.stack([pod_edge, pod_middle]), np.stack([up, core])], axis=1)
    ends = np.concatenate([ends, ends[::-1]], axis=1).T.astype(np.int32)  # all ways up, then all ways down
    low, high = edges * half, 2 * edges * half
    switches = 2 * edges + cores
    single = np.arange(high, 2 * high)  # a group for each way down, then one for all ways up of a switch
    members = np.concatenate([single, np.arange(high)]).astype(np.int32)
    first = np.concatenate([np.arange(high), high + np.arange(0, high + 1, half)]).astype(np.int32)
    group = np.empty((switches, edges), np.int32)
    group[:edges] = (high + edge)[:, None]
    group[edge, edge] = DELIVERED
    group[middle] = (high + edges + edge)[:, None]
    down = np.arange(low).reshape(edges, half)  # of an edge switch, the link to each switch above it
    for pod in range(k):
        inside = np.arange(pod * half, pod * half + half)
        group[np.ix_(edges + inside, inside)] = down[inside].T
    to_pod = np.arange(low, high).reshape(k, half, half)  # pod, its switch, its link to a core switch
    group[2 * edges :] = to_pod.reshape(k, cores).T[:, edge // half]
    senders = np.arange(switches) < edges
    names = tuple(f"s{s}" for s in range(switches))
    channels = tuple(map(str, range(len(ends))))
    return ForwardingTables(names, channels, tuple(map(str, edge)), ends, group, first, members, senders)


def large(k: int) -> dict[str, object]:
    """Prove a fat tree, after compiling by a small one."""
    assert prove_lossless(dependencies(fat_tree(4))).proven
    tables = fat_tree(k)
    start = time.process_time()
    proof = prove_lossless(dependencies(tables))
    seconds = time.process_time() - start
    found = proof.to_json()
    return {
        **{name: found[name] for name in ("switches", "destinations", "channels", "dependencies", "proven")},
        "cpu_seconds": round(seconds, 1),
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20), 2),
    }


def beside_ibdmchk(side: int) -> dict[str, object]:
    """Time both commands on a mesh of side x side switches, routed by dimension order."""
    switches = side * side
    port = {(0, 1): 2, (0, -1): 3, (1, 0): 4, (-1, 0): 5}
    at = [divmod(s, side) for s in range(switches)]
    links = [((s, 2), (s + 1, 3)) for s, (_, x) in enumerate(at) if x + 1 < side]
    links += [((s, 4), (s + side, 5)) for s, (y, _) in enumerate(at) if y + 1 < side]
    entries = {}
    for s, (y, x) in enumerate(at):
        for d, (v, u) in enumerate(at):
            step = (0, (u > x) - (u < x)) if u != x else ((v > y) - (v < y), 0)
            if s != d:
                entries[s, d] = port[step]
    with tempfile.TemporaryDirectory() as place:
        write_subnet(Path(place), switches, links, entries)
        ours = [sys.executable, "-m", "tagloom.cli", "verify", "--fdb", place, "--json"]
        theirs = [str(IBDMCHK), "-s", f"{place}/opensm-subnet.lst", "-f", f"{place}/opensm.fdbs", "-m", "/dev/null"]
        seconds, cpu, said = {}, {}, {}
        for name, words in (("tagloom", ours), ("ibdmchk", theirs), ("tagloom", ours)):
            start, used = time.monotonic(), _children_seconds()
            said[name] = subprocess.run(words, capture_output=True, text=True, check=False)
            seconds[name], cpu[name] = time.monotonic() - start, _children_seconds() - used
    free = json.loads(said["tagloom"].stdout)["deadlock_free"]
    assert free == ("credit loops in routing" not in said["ibdmchk"].stdout)
    return {
        "switches": switches,
        "deadlock_free": free,
        "tagloom_seconds": round(seconds["tagloom"], 2),
        "ibdmchk_seconds": round(seconds["ibdmchk"], 2),
        "ratio": round(seconds["ibdmchk"] / seconds["tagloom"], 1),
        "tagloom_cpu_seconds": round(cpu["tagloom"], 2),
        "ibdmchk_cpu_seconds": round(cpu["ibdmchk"], 2),
        "cpu_ratio": round(cpu["ibdmchk"] / cpu["tagloom"], 1),
    }


def _children_seconds() -> float:
    """Return the processor time of all processes that were waited for; what else the machine does is not in it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Answer the command line."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--ibdmchk", action="store_true")
    words.add_argument("--ports", type=int, default=90, help="of the fat tree's switches")
    words.add_argument("--sides", type=int, nargs="+", default=[10, 20, 30], help="of the meshes")
    args = words.parse_args()
    if not args.ibdmchk:
        print(json.dumps(large(args.ports)))
        return
    if IBDMCHK is None:
        sys.exit("ibdmchk is not here: sudo apt install ibutils")
    for side in args.sides:
        print(json.dumps(beside_ibdmchk(side)), flush=True)


if __name__ == "__main__":
    main()
