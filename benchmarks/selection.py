"""Measure selection: greedy on 1,024 switches (goals: 30 CPU-s, 2 GiB), and its gap to the bound on 64 switches."""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

from tagloom import pipeline
from tagloom.pipeline import Wish
from tagloom.read import read_traffic
from tagloom.read.fabric_file import parse_fabric

ROOT = Path(__file__).resolve().parents[1]
NPB = [f"{name}.S.{ranks}" for name in ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp") for ranks in (4, 16)]


def measure(side: int, model: str, name: str, seconds: float) -> float:
    shape = f"{{family: torus, dims: [{side}, {side}], parallel: 2, hosts: 1}}"
    fabric = parse_fabric(f"name: t\nmodel: {model}\nshape: {shape}\n", "benchmark")
    path = ROOT / "tests" / "data" / "npb" / f"{name}.matrix.csv"
    traffic = read_traffic(path if path.exists() else Path(f"pattern:{name}"), fabric)
    start = time.process_time()
    wish = Wish("greedy", time_limit_seconds=seconds)
    settings = pipeline.regulate(fabric, traffic, "auto", "fixed", lambda *_: None, wish, time.monotonic)
    took = time.process_time() - start
    page = pipeline.settings_page(fabric, settings)
    gap: float = page["gap_percent"]
    print(
        f"{side}x{side} {model} {name}: {page['links_off']} of {len(fabric.links)} links off, "
        f"{page['saving_percent']:.1f} % saved, gap {gap:.2f} %, {took:.1f} CPU-s with the bound, "
        f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB so far",
        flush=True,
    )
    return gap


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--model", default="powerconnect-6248", help="model on 64 switches")
    arguments.add_argument("--only", type=int, choices=[64, 1024], help="switches")
    args = arguments.parse_args()
    if args.only != 64:
        measure(4, "powerconnect-5324", "uniform", 0.2)  # loads the compiled loops
        measure(32, "powerconnect-5324", "bit-reversal", 0.2)
    if args.only != 1024:
        gaps = {name: measure(8, args.model, name, 10.0) for name in NPB}
        over = [f"{name} {gap:.2f}" for name, gap in gaps.items() if gap > 2]
        print(f"within 2 % of the bound: {len(gaps) - len(over)} of {len(gaps)}; not: {', '.join(over) or 'none'}")


if __name__ == "__main__":
    main()
