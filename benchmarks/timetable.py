"""Measure timetables: a day of 288 matrices on 64 switches; goal: 3 settings keep 95 % of what 288 would save."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tagloom.pipeline.timetabling import planner
from tagloom.read import read_traffic
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.timetable import History
from tagloom.regulate.day import TimetableOptions, per_interval, timetable
from tagloom.regulate.day_figures import to_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

ROOT = Path(__file__).resolve().parents[1]
NPB = ("bt", "cg", "ft", "is", "lu", "mg", "sp")  # 16 ranks each; ep sends next to nothing
RANKS = 16
CHATTER = 2e3  # bytes per second from every host to every other, day and night
#: name -> (hours with jobs, jobs begun per hour, bytes per second that a job's busiest host sends)
DAYS = {"office": ((8.0, 18.0), 3.0, 12e6), "busy": ((8.0, 18.0), 3.0, 30e6), "hard": ((0.0, 24.0), 5.0, 40e6)}


def fabric_of(side: int) -> Fabric:
    shape = f"{{family: torus, dims: [{side}, {side}], parallel: 2, hosts: 1}}"
    return parse_fabric(f"name: t\nmodel: powerconnect-5324\nshape: {shape}\n", "benchmark")


def day_of(fabric: Fabric, kind: str, minutes: int, seed: int = 1) -> History:
    """Make a day: NPB jobs of 20 minutes to 3 hours on hosts side by side, their load 20 % up or down by interval.

    A job is not begun on hosts that have one already, as a scheduler of whole nodes would do.
    """
    (opens, closes), per_hour, busiest = DAYS[kind]
    chance = np.random.default_rng(seed)
    hosts, intervals = len(fabric.hosts), 24 * 60 // minutes
    rate = np.full((intervals, hosts, hosts), CHATTER)
    programs = [program(name, busiest) for name in NPB]
    busy = np.zeros((intervals, hosts), np.bool_)
    for _ in range(chance.poisson(per_hour * (closes - opens))):
        begin = chance.uniform(opens, closes)
        end = min(begin + chance.uniform(1 / 3, 3.0), closes)
        job = programs[chance.integers(len(programs))] * chance.uniform(0.3, 1.0)
        where = (int(chance.integers(hosts // RANKS)) * RANKS + np.arange(RANKS)) % hosts
        spots = np.arange(int(begin * 60 / minutes), max(int(begin * 60 / minutes) + 1, int(end * 60 / minutes)))
        spots = spots[spots < intervals]
        if not busy[np.ix_(spots, where)].any():
            busy[np.ix_(spots, where)] = True
            noise = chance.uniform(0.8, 1.2, (len(spots), 1, 1))
            rate[np.ix_(spots, where, where)] += job * noise
    rate[:, np.arange(hosts), np.arange(hosts)] = 0.0
    seconds = np.full(intervals, minutes * 60.0)
    start = np.arange(intervals) * minutes * 60.0
    return History(start, seconds, rate.astype(np.float32), np.ones(intervals, np.bool_))


def program(name: str, busiest: float) -> NDArray[np.float64]:
    """Read an NPB matrix of 16 ranks, its busiest rank sending or receiving `busiest` bytes per second."""
    path = ROOT / "tests" / "data" / "npb" / f"{name}.S.{RANKS}.matrix.csv"
    volume = read_traffic(path, fabric_of(4)).volume_bytes
    return np.asarray(volume * busiest / max(volume.sum(axis=0).max(), volume.sum(axis=1).max()), np.float64)


def measure(side: int, kind: str, minutes: int, settings: int, *, each: bool) -> None:
    fabric = fabric_of(side)
    history = day_of(fabric, kind, minutes)
    wish = TimetableOptions(settings)
    start = time.process_time()
    day = timetable(fabric, history, planner(fabric, ROOT / "templates"), wish, lambda *_: None, time.monotonic)
    took = time.process_time() - start
    page = to_json(fabric, day, wish, day.schedules[-1])
    print(f"{kind} day, {side}x{side}, {len(history)} matrices: {page['candidates']} candidates, {took:.0f} CPU-s")
    for row in page["by_settings"]:
        print(
            f"  {row['settings']} settings: {row['saving_percent']:.2f} % saved, {row['changes']} changes, "
            f"{row['kept_percent']:.1f} % of what no {len(history)} settings can exceed",
            flush=True,
        )
    if each:
        start = time.process_time()
        joules = per_interval(day, planner(fabric, ROOT / "templates"), wish, lambda *_: None, time.monotonic)
        took = time.process_time() - start
        kept = 100 * (day.full_joules - day.schedules[-1].joules) / (day.full_joules - joules)
        saving = 100 * (1 - joules / day.full_joules)
        print(
            f"  {len(history)} settings by greedy, changes free: {saving:.2f} %; kept {kept:.1f} % ({took:.0f} CPU-s)"
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--side", type=int, default=8, help="switches along each side of the torus")
    arguments.add_argument("--minutes", type=int, default=5, help="length of an interval")
    arguments.add_argument("--settings", type=int, default=3)
    arguments.add_argument("--day", choices=list(DAYS), help="only this one")
    arguments.add_argument("--no-each", action="store_true", help="leave out settings for every interval")
    args = arguments.parse_args()
    for kind in [args.day] if args.day else DAYS:
        measure(args.side, kind, args.minutes, args.settings, each=not args.no_each)


if __name__ == "__main__":
    main()
