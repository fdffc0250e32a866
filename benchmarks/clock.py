"""Seconds that a change of one link pair takes, by the clock and by `apply`, and where they go.

A rack of 4x4 switches with two links between neighbors; the rack takes no time for a line (`--delay` sets it), so what
is left is tagloom's own: reading, planning, proving, logging in, and the waits for old frames and for links. Commands
are timed from their start to their end. The parts are of one change of `tagloom run --once`, by the times of the files
that its run left.

sessions  logins to switches: each reads, or sends the lines of one wave
lines     configuration lines that were sent, without those that only change the mode
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.read import read_fabric

ROOT = Path(__file__).parent.parent
OFF = ("s0:g2", "s1:g4")


@dataclass(frozen=True)
class Part:
    """One part of a change: what happened, its seconds, the sessions that it opened and the lines that it sent."""

    what: str
    seconds: float
    sessions: int = 0
    lines: int = 0


def tagloom(home: Path, *words: str) -> float:
    """Run a command in a directory, and return the seconds that it took."""
    began = time.monotonic()
    command = [sys.executable, "-m", "tagloom.cli", *words]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
    return time.monotonic() - began


def parts(runs: Path, began: float) -> list[Part]:
    """Return the parts of the newest change, which began at a time of the wall clock."""
    newest = max(runs.glob("*-apply*/outcomes"), key=lambda each: each.stat().st_mtime).parent
    order = json.loads((newest / "order.json").read_text())
    found = [
        Part("start, plan, read, order, prove", (newest / "job.json").stat().st_mtime - began, sessions(runs, began))
    ]
    at = (newest / "job.json").stat().st_mtime
    for number, wave in sorted(order["waves"].items(), key=lambda each: int(each[0])):
        files = list((newest / "outcomes").glob(f"{number}.*.json"))
        sent = sum(len(json.loads(path.read_text())["sent"]) for path in files)
        end = max(path.stat().st_mtime for path in files)
        found.append(Part(f"wave {number}: {wave['name']}", end - at, len(files), sent))
        up = newest / f"links-up-{number}"
        at = up.stat().st_mtime if up.exists() else end + (0.0 if wave["last"] else wave["drain_seconds"])
        if at > end:
            found.append(Part("wait: links come up" if wave["until_up"] else "wait: old frames leave", at - end))
    return found


def sessions(runs: Path, began: float) -> int:
    """Count the switches that were read before the first line."""
    return sum(path.stat().st_mtime >= began for path in runs.glob("*-check/outcomes/*.json"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS", help="of a switch for each line")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clock-") as folder:
        home = Path(folder)
        tagloom(home, "new", "torus", "--dims", "4", "4", "--parallel", "2", "-o", "fabric.yml")
        tagloom(home, "plan", "fabric.yml", "-o", "day")
        tagloom(home, "plan", "fabric.yml", "--off", *OFF, "--previous", "day", "-o", "night")
        for name, off in (("off", OFF), ("on", ())):
            (home / f"{name}.yml").write_text(
                f'dwell_seconds: 0\nrules: [{{when: "0 0 * * *", off: [{", ".join(off)}]}}]\n'
            )
        rack = home / "inventory" / "lab"
        quirks = {"*": {"delay_seconds": arguments.delay}}
        process.up(Order(read_fabric(home / "fabric.yml"), ROOT / "templates", quirks=quirks), rack)
        try:
            tagloom(home, "apply", "day")
            measure(home, rack)
        finally:
            process.down(rack)


def measure(home: Path, rack: Path) -> None:
    """Time changes off and on, by `apply` and by the clock, and print the parts of those by the clock."""
    print(f"{'':44}{'off s':>8}{'on s':>8}", flush=True)
    for what, words in (
        ("tagloom apply", (("apply", "night"), ("apply", "day"))),
        ("tagloom run --once", (("run", "off.yml", "--once"), ("run", "on.yml", "--once"))),
        (
            "tagloom run --once --no-watch",
            (("run", "off.yml", "--once", "--no-watch"), ("run", "on.yml", "--once", "--no-watch")),
        ),
    ):
        took, found = [], []
        for each in words:
            began = time.time()
            took.append(tagloom(home, *each))
            found.append(parts(rack / "runs", began) if "--no-watch" in each else [])
        print(f"{what:44}{took[0]:8.1f}{took[1]:8.1f}", flush=True)
    for name, change in zip(("off", "on"), found, strict=True):
        print(f"\n{'links go ' + name + ', by the clock alone':44}{'s':>8}{'sessions':>10}{'lines':>8}")
        for part in change:
            print(f"{part.what:44}{part.seconds:8.1f}{part.sessions or '':>10}{part.lines or '':>8}")


if __name__ == "__main__":
    main()
