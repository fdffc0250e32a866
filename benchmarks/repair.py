"""Seconds from a cable that breaks to the last pair of hosts that is reached again, on a rack at 20 ms a line.

A torus of 4x4 switches with two links between neighbours (`--switches 64`: 8x8), a host on each. The cable that breaks
is the one of the busiest channel. The pairs that it cut off are asked for by frames through the rack, again and again,
while `tagloom repair` runs: a process of its own, begun as the cable breaks. The rack shares this machine's processors,
and answers nobody else while it carries these frames: they are few, with a pause between.

run       with --run MEANS, alone: `tagloom run` with `repair: auto` and `traps`, whose sessions are open
detour    PVIDs changed, of a plan with --protect link
replan    paths planned anew over links that are on
wake      all parallel links are off: the one beside the broken one is switched on

Each pair that the cable cut is asked for by one frame at a time, every 0.1 s (0.25 s at 64 switches, where the frames
of all of them would take a third of the rack's time), so the frames lost are of those with which it was asked for. What
notices is in the first alone: agents send a v2c trap. Otherwise `tagloom run` looks every 5 s (--repair-every).
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.graph.paths import channel_load
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.pipeline import read_build
from tagloom.platforms import of
from tagloom.platforms.port_names import link_ends
from tagloom.read import format_family, read_fabric

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.records.fabric import Link

DELAY_SECONDS = 0.02
TRAPS = ("127.0.0.1", 20163)
PAUSE_SECONDS = {16: 0.1, 64: 0.25}  # between two times that pairs are asked for
SETTLED_SECONDS = {16: 30.0, 64: 120.0}  # in which sessions are opened, and detours proven
ROOT = Path(__file__).parent.parent


def tagloom(home: Path, *words: object, expect: int = 0) -> str:
    """Run a command in a directory, and return what it printed."""
    command = [sys.executable, "-m", "tagloom.cli", *map(str, words)]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode != expect:
        raise SystemExit(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def over(home: Path, link: Link) -> list[list[str]]:
    """Return the pairs of hosts whose frames go over a link."""
    fabric = read_fabric(home / "f.yml")
    ends = [[fabric.switches[s].name, port] for s, port in ((link.a, link.a_port), (link.b, link.b_port))]
    paths = process.trace(home / "lab").items()
    return [pair.split() for pair, hops in paths if any([switch, out] in ends for switch, _, out in hops)]


@dataclass
class Probe:
    """Pairs that are asked for again and again: when a frame was last lost, the frames sent, and those lost."""

    home: Path
    pairs: list[list[str]]
    last: float
    pause: float
    sent: int = 0
    lost: int = 0

    def until(self, done: Callable[[], bool]) -> None:
        """Ask for each pair by one frame at a time, with a pause between, until something is done."""
        while not done():
            missed = process.ping(self.home / "lab", pairs=self.pairs)["lost"]
            self.last = time.monotonic() if missed else self.last
            self.sent, self.lost = self.sent + len(self.pairs), self.lost + missed
            time.sleep(self.pause)


def measure_run(home: Path, means: str, off: list[tuple[str, str]]) -> dict[str, object]:
    """Break a cable under a `tagloom run` that hears traps, and return what it took and what it said."""
    fabric = read_fabric(home / "f.yml")
    settings, protect = "night.json" if means == "wake" else "all-on", "link" if means == "detour" else "none"
    (home / "night.json").write_text(json.dumps({"off": [{"ends": ends} for ends in off]}))
    (home / "day.yml").write_text(
        f'rules: [{{when: "0 0 * * *", settings: {settings}}}]\nrepair: auto\nprotect: {protect}\n'
        "repair_hold_seconds: 3600\n"
        f"traps: {{listen: '{TRAPS[0]}:{TRAPS[1]}'}}\n"
    )
    events = home / "events"
    events.touch()
    (home / "hook.py").write_text(f"import sys\nopen({str(events)!r}, 'a').write(sys.stdin.read())\n")
    words = ["run", "day.yml", "-i", "lab", "--every", "1h", "--on-event", f"{sys.executable} hook.py"]
    command = ["env", "--default-signal=INT", sys.executable, "-m", "tagloom.cli", *words]
    log = home / "run.log"
    with log.open("w") as out, subprocess.Popen(command, cwd=home, stdout=out, stderr=out) as run:
        while f"{settings}:" not in log.read_text():
            if run.poll() is not None:
                raise SystemExit(log.read_text())
            time.sleep(0.2)
        time.sleep(SETTLED_SECONDS[len(fabric.switches)])
        process.traps(home / "lab", TRAPS, "v3-trap")
        link = fabric.links[0]
        switch = fabric.switches[link.a]
        cut = over(home, link)
        began = time.monotonic()
        process.fault(home / "lab", switch.name, "cable", port=of(switch).port_name(link.a_port))
        ends = ('"repaired"', '"repair-failed"')
        probe = Probe(home, cut, began, PAUSE_SECONDS[len(fabric.switches)])
        probe.until(lambda: any(end in events.read_text() for end in ends))
        ended = time.monotonic()
        run.send_signal(signal.SIGINT)
    page = next(each for each in map(json.loads, events.read_text().splitlines()) if "means" in each)
    if process.ping(home / "lab")["lost"]:
        raise SystemExit(f"not repaired: {page}")
    process.mend(home / "lab")
    return {
        "means": f"run: {page['means']}",
        "cable": " - ".join(link_ends(fabric, 0)),
        "pairs_cut": len(cut),
        "pairs": len(fabric.hosts) * (len(fabric.hosts) - 1),
        "frames": probe.sent,
        "frames_lost": probe.lost,
        "last_pair_seconds": round(probe.last - began, 2),
        "command_seconds": round(ended - began, 2),
    }


def measure(home: Path, build: Path) -> dict[str, object]:
    """Break the busiest cable of a build that runs, repair, and return what it took and what it said."""
    planned = read_build(build)
    load = channel_load(planned.fabric, planned.routes, None)
    link = planned.fabric.links[int(load.argmax()) // 2]
    switch = planned.fabric.switches[link.a]
    began = time.monotonic()
    process.fault(home / "lab", switch.name, "cable", port=of(switch).port_name(link.a_port))
    cut = process.ping(home / "lab")["lost_pairs"]
    command = [sys.executable, "-m", "tagloom.cli", "repair", "-i", "lab", "--json"]
    with (home / "said").open("w") as out, subprocess.Popen(command, cwd=home, stdout=out) as repair:
        probe = Probe(home, cut, math.nan, PAUSE_SECONDS[len(planned.fabric.switches)])
        probe.until(lambda: repair.poll() is not None)
    ended, said = time.monotonic(), (home / "said").read_text("utf-8")
    if repair.returncode or process.ping(home / "lab")["lost"]:
        raise SystemExit(f"not repaired: {said}")
    page = json.loads(said)
    name = " - ".join(link_ends(planned.fabric, int(load.argmax()) // 2))
    process.mend(home / "lab")
    return {
        "means": page["means"],
        "cable": name,
        "pairs_cut": len(cut),
        "pairs": len(planned.fabric.hosts) * (len(planned.fabric.hosts) - 1),
        "frames": probe.sent,
        "frames_lost": probe.lost,
        "last_pair_seconds": round(probe.last - began, 1),
        "command_seconds": round(ended - began, 1),
    }


def main() -> None:
    """Measure, and print a row for each means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--switches", type=int, choices=[16, 64], default=16)
    parser.add_argument(
        "--run", nargs="?", const="detour", choices=["detour", "replan", "wake"], help="under tagloom run, nothing else"
    )
    args = parser.parse_args()
    size = math.isqrt(args.switches)
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "f.yml").write_text(format_family("torus", "torus", (size, size), 2, 1, "powerconnect-5324"))
        fabric = read_fabric(home / "f.yml")
        second = [link_ends(fabric, i) for i, link in enumerate(fabric.links) if link.parallel_link == 1]
        tagloom(home, "plan", "f.yml", "-o", "day")
        tagloom(home, "plan", "f.yml", "--protect", "link", "--previous", "day", "-o", "guarded")
        tagloom(home, "plan", "f.yml", "--off", *(ends[0] for ends in second), "--previous", "day", "-o", "night")
        process.up(Order(fabric, ROOT / "templates", quirks={"*": {"delay_seconds": DELAY_SECONDS}}), home / "lab")
        before = home / "day"
        try:
            first = {"detour": "guarded", "wake": "night"}.get(args.run, "day")
            tagloom(home, "apply", first, "-i", "lab", "--allow", "interrupt")
            if args.run:
                print(json.dumps(measure_run(home, args.run, second)), flush=True)
                return
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
