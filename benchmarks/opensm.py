"""Set up*/down* and the routing of any graph beside OpenSM's updn and nue: the seconds that computing routes takes.

Run `PYTHONPATH=tooling python benchmarks/opensm.py`. Ours are CPU seconds of one process, the least of some runs as
theirs are, the kernels compiled before; from the fabric's arrays to the table of paths. up*/down* is timed twice,
looking for the best of 16 roots and with the root given, as updn has its root given.

Where Debian's opensm and ibsim-utils are installed, OpenSM routes the same fabric here (ibsim runs on this machine
only): the time from "building routing with" to "tables configured on all switches" in its log, which is before the
tables are sent. That is wall time of one thread, the least of three runs (one above 512 switches): its CPU time cannot
be read from outside, and other load on the machine lengthens this, but not our CPU time. The reference is the thread's
CPU time for the same work, measured once with OpenSM 3.3.23 under ibsim 0.10 on two virtual cores of a shared Zen 4
machine. One host per switch (fat tree: one per edge switch).
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))
from any_routing import cabled, family, random_regular

from tagloom.records.fabric import Fabric, Host
from tagloom.route.any_order import any_relation, any_trees
from tagloom.route.up_down import best_root, up_down

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 7
STAGE = re.compile(r"(\w+ +\d+ [\d:]+ \d{6}) .*(?:building routing with '(\S+)'|: (\S+) tables configured)")


def fat_tree(k: int) -> Fabric:
    """Cable a fat tree of k-port switches in k pods, with one host per edge switch."""
    half = k // 2
    edges = []
    for pod in range(k):
        for edge in range(half):
            edges += [(pod * half + edge, k * half + pod * half + up) for up in range(half)]
        for up in range(half):
            edges += [(k * half + pod * half + up, 2 * k * half + up * half + core) for core in range(half)]
    tree = cabled("fat tree", 5 * half * half, edges)
    hosts = tuple(Host(f"h{s}", s, k, s + 1) for s in range(k * half))
    return Fabric("fat tree", tree.switches, hosts, tree.links, (k,) * len(tree.switches))


# CPU seconds of OpenSM's updn and nue, where measured
GRAPHS: dict[str, tuple[Callable[[], Fabric], float | None, float | None]] = {
    "torus 16x16": (lambda: family("torus", 16, 16), 0.018, 0.075),
    "mesh 16x16": (lambda: family("mesh", 16, 16), 0.016, 0.068),
    "random 4-regular 256": (lambda: random_regular(4, 256), None, None),
    "torus 8x8x8": (lambda: family("torus", 8, 8, 8), 0.15, 0.72),
    "mesh 8x8x8": (lambda: family("mesh", 8, 8, 8), 0.125, 0.62),
    "fat tree k=20 (500)": (lambda: fat_tree(20), 0.091, 1.16),
    "torus 10x10x10": (lambda: family("torus", 10, 10, 10), 1.01, 7.14),
    "mesh 10x10x10": (lambda: family("mesh", 10, 10, 10), 0.92, None),
    "torus 32x32": (lambda: family("torus", 32, 32), 0.83, 1.82),
    "mesh 32x32": (lambda: family("mesh", 32, 32), 0.80, None),
    "random 4-regular 1024": (lambda: random_regular(4, 1024), None, None),
}


def netlist(fabric: Fabric) -> str:
    """Write the fabric as ibsim reads it; it gives the switches the GUIDs 0x200000, 0x200001, ... in this order."""
    ports: list[list[str]] = [[] for _ in fabric.switches]
    for link in fabric.links:
        ports[link.a].append(f'[{link.a_port}]\t"s{link.b}"[{link.b_port}]')
        ports[link.b].append(f'[{link.b_port}]\t"s{link.a}"[{link.a_port}]')
    lines = []
    for i, host in enumerate(fabric.hosts):
        lines += [f'Hca\t1 "h{i}"', f'[1]\t"s{host.switch}"[{host.port}]', ""]
        ports[host.switch].append(f'[{host.port}]\t"h{i}"[1]')
    for s, rows in enumerate(ports):
        lines += [f'Switch\t{fabric.ports[s]} "s{s}"', *rows, ""]
    return "\n".join(lines)


def torus_seed(dims: tuple[int, ...]) -> str:
    """Write what torus-2QoS must be told of a torus whose switches are numbered first dimension fastest."""
    lines = ["torus " + " ".join(map(str, (*dims, 1, 1)[:3]))]
    stride = 1
    for axis, k in zip("xyz", dims, strict=False):
        first = 0x200000
        lines.append(f"{axis}p_link {first:#x} {first + stride:#x}")
        lines.append(f"{axis}m_link {first:#x} {first + (k - 1) * stride:#x}")
        stride *= k
    return "\n".join(lines) + "\n"


def opensm(
    fabric: Fabric, engine: str, root: int, folder: Path, dims: tuple[int, ...] = (), *, dumps: bool = False
) -> float | None:
    """Return the wall seconds that OpenSM takes for the routes, None where it gave up on the engine.

    `dims` are those of the torus that torus-2QoS is told of; `dumps` has tables written that ibdmchk reads.
    """
    for name, text in {
        "net": netlist(fabric),
        "roots": f"{0x200000 + root:#x}\n",
        "modules": "osm_ucast_mgr.c 0x07\n",
        "torus": torus_seed(dims) if dims else "",
        "opensm.conf": f"per_module_logging_file {folder}/modules\ntorus_config {folder}/torus\n"
        f"dump_files_dir {folder}\n",
    }.items():
        (folder / name).write_text(text)
    place = {"IBSIM_SOCKNAME": f"bench{os.getpid()}", "OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder)}
    caps = ["-N", "60000", "-S", "8192", "-P", "600000", "-L", "49152"]
    log = folder / "opensm.log"
    with (folder / "ibsim.log").open("w") as said, (folder / "out").open("w") as out:
        simulator = subprocess.Popen(
            ["ibsim", "-s", "-n", *caps, str(folder / "net")], env=os.environ | place, stdout=said, stderr=said
        )
        try:
            time.sleep(1.0)  # it reads the netlist, then listens
            more = [*(["-Q"] if dims else []), *(["-D", "0x43"] if dumps else [])]
            words = ["opensm", *more, "-o", "-e", "-F", str(folder / "opensm.conf"), "-f", str(log)]
            subprocess.run(
                ["ibsim-run", *words, "-R", engine, "-a", str(folder / "roots")],
                env=os.environ | place,
                stdout=out,
                stderr=out,
                timeout=120,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        finally:
            simulator.terminate()
            simulator.wait()
    begin = None
    for line in log.read_text(errors="replace").splitlines():
        if stage := STAGE.match(line):
            at = datetime.strptime(f"2000 {stage[1]}", "%Y %b %d %H:%M:%S %f").replace(tzinfo=UTC).timestamp()
            if stage[2] == engine:
                begin = at
            elif stage[3] == engine and begin is not None:
                return at - begin
    return None


def credit_loops(folder: Path) -> tuple[float, str]:
    """Return what ibdmchk says of credit loops in the tables OpenSM dumped, and its CPU seconds, parsing too."""
    files = ["-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    requested = ["ibdmchk", *(str(folder / word) if "." in word else word for word in files)]
    said = subprocess.run(requested, capture_output=True, text=True, timeout=300, check=False).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    verdicts = {"credit loops in routing": "a loop", "no credit loops found": "none"}
    return seconds, next((word for key, word in verdicts.items() if key in said), "no verdict")


def least(make: Callable[[], object]) -> float:
    took = []
    for _ in range(RUNS):
        begin = time.process_time()
        make()
        took.append(time.process_time() - begin)
    return min(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=GRAPHS, help="this graph alone")
    options = parser.parse_args()
    peers = shutil.which("opensm") and shutil.which("ibsim") and shutil.which("ibsim-run")
    if not peers:
        print("opensm and ibsim are not installed (Debian: opensm, ibsim-utils); only the references stand below")
    print(f"{'graph':22} {'routing':30} {'CPU s':>8}  peer   here s  ratio  reference s  ratio")
    for name, (make, *references) in GRAPHS.items():
        if options.only not in (None, name):
            continue
        fabric = make()
        top = best_root(fabric)
        here: dict[str, float | None] = {}
        for engine in ("updn", "nue") if peers else ():
            took = []
            for _ in range(3 if len(fabric.switches) <= 512 else 1):
                with tempfile.TemporaryDirectory() as folder:
                    took.append(opensm(fabric, engine, top, Path(folder)))
            here[engine] = min((seconds for seconds in took if seconds is not None), default=None)
        rows: list[tuple[str, str, Callable[[], object]]] = [
            ("up*/down*, best root", "updn", lambda fabric=fabric: up_down(fabric)),
            ("up*/down*, root given", "updn", lambda fabric=fabric, top=top: up_down(fabric, top)),
        ]
        for effort in (0, 1):
            rows += [
                (f"any renamed, effort {effort}", "nue", lambda fabric=fabric, e=effort: any_relation(fabric, e)),
                (f"any fixed, effort {effort}", "nue", lambda fabric=fabric, e=effort: any_trees(fabric, e)),
            ]
        for what, peer, run in rows:
            run()
            seconds = least(run)
            cells = [
                f"{theirs:11.4f} {theirs / seconds:5.0f}x" if theirs and theirs / seconds >= 10 else
                f"{theirs:11.4f} {theirs / seconds:5.1f}x" if theirs else f"{'-':>11} {'-':>6}"
                for theirs in (here.get(peer), references[peer == "nue"])
            ]  # fmt: skip
            print(f"{name:22} {what:30} {seconds:8.4f}  {peer:4} {'  '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
