"""Seconds from a cable that breaks to the last pair of hosts that is reached again, on a rack at 20 ms a line.

A torus of 4x4 switches with two links between neighbours (`--switches 64`: 8x8), a host on each. The cable that breaks
is the one of the busiest channel. Pairs are asked for by frames through the rack, all of them, again and again, while
`tagloom repair` runs: a process of its own, begun as the cable breaks. The rack shares this machine's processors.

detour    PVIDs changed, of a plan with --protect link
replan    paths planned anew over links that are on
wake      all parallel links are off: the one beside the broken one is switched on

What notices is not in it: `tagloom run` looks every 5 s (--repair-every).
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tagloom.graph.paths import channel_load
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.pipeline import read_build
from tagloom.platforms import of
from tagloom.platforms.port_names import link_ends
from tagloom.read import format_family, read_fabric

DELAY_SECONDS = 0.02
ROOT = Path(__file__).parent.parent


def tagloom(home: Path, *words: object, expect: int = 0) -> str:
    """Run a command in a directory, and return what it printed."""
    command = [sys.executable, "-m", "tagloom.cli", *map(str, words)]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode != expect:
        raise SystemExit(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def measure(home: Path, build: Path) -> dict[str, object]:
    """Break the busiest cable of a build that runs, repair, and return what it took and what it said."""
    planned = read_build(build)
    load = channel_load(planned.fabric, planned.routes, None)
    link = planned.fabric.links[int(load.argmax()) // 2]
    switch = planned.fabric.switches[link.a]
    began = time.monotonic()
    process.fault(home / "lab", switch.name, "cable", port=of(switch).port_name(link.a_port))
    lost = process.ping(home / "lab")["lost"]
    command = [sys.executable, "-m", "tagloom.cli", "repair", "-i", "lab", "--json"]
    with (home / "said").open("w") as out, subprocess.Popen(command, cwd=home, stdout=out) as repair:
        last = math.nan
        while repair.poll() is None:
            if process.ping(home / "lab")["lost"]:
                last = time.monotonic()
            time.sleep(0.1)
    ended, said = time.monotonic(), (home / "said").read_text("utf-8")
    if repair.returncode or process.ping(home / "lab")["lost"]:
        raise SystemExit(f"not repaired: {said}")
    page = json.loads(said)
    name = " - ".join(link_ends(planned.fabric, int(load.argmax()) // 2))
    process.mend(home / "lab")
    return {
        "means": page["means"],
        "cable": name,
        "pairs_cut": lost,
        "pairs": len(planned.fabric.hosts) * (len(planned.fabric.hosts) - 1),
        "last_pair_seconds": round(last - began, 1),
        "command_seconds": round(ended - began, 1),
    }


def main() -> None:
    """Measure, and print a row for each means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--switches", type=int, choices=[16, 64], default=16)
    size = math.isqrt(parser.parse_args().switches)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "f.yml").write_text(format_family("torus", "torus", (size, size), 2, 1, "powerconnect-5324"))
        fabric = read_fabric(home / "f.yml")
        second = [link_ends(fabric, i)[0] for i, link in enumerate(fabric.links) if link.parallel_link == 1]
        tagloom(home, "plan", "f.yml", "-o", "day")
        tagloom(home, "plan", "f.yml", "--protect", "link", "--previous", "day", "-o", "guarded")
        tagloom(home, "plan", "f.yml", "--off", *second, "--previous", "day", "-o", "night")
        process.up(Order(fabric, ROOT / "templates", quirks={"*": {"delay_seconds": DELAY_SECONDS}}), home / "lab")
        before = home / "day"
        try:
            tagloom(home, "apply", "day", "-i", "lab", "--allow", "interrupt")
            for build in ("day", "guarded", "night"):
                change = home / f"to-{build}"
                if build != "day":
                    tagloom(home, "rollout", before, build, "-o", change)
                    tagloom(home, "apply", change, "-i", "lab")
                    before = change / "build"
                print(json.dumps(measure(home, before)), flush=True)
                tagloom(home, "repair", "-i", "lab", "--hold", "0.1s")
        finally:
            process.down(home / "lab")


if __name__ == "__main__":
    main()
