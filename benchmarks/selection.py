"""Measure selection: optimal on small fabrics and the papers' clusters, greedy on 64 and 1,024 switches."""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom import pipeline
from tagloom.platforms.power import fabric_watts, link_watts
from tagloom.read import read_fabric, read_traffic
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.traffic import Traffic
from tagloom.regulate.choose import RegulateOptions
from tagloom.regulate.settings_file import to_json

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric

ROOT = Path(__file__).resolve().parents[1]
NPB = [f"{name}.S.{ranks}" for name in ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp") for ranks in (4, 16)]
GOAL = 2.0  # percent
MODELS_64 = "powerconnect-5324", "powerconnect-6224", "powerconnect-6248", "sf-0420g"  # table 2; the first is measured
SMALL = ("mesh 3 3", "torus 3 3", "mesh 3 4", "torus 3 4", "hypercube 3", "complete 5", "complete 7", "ring 12")
SMALL_SECONDS = 60.0
RANDOM_SWITCHES, RANDOM_LINKS, RANDOM_CASES = 12, 24, 8
CLUSTERS = ("misc", "testbed", "supernova", "supernova64-5324", "supernova64-6248")
CLUSTER_SECONDS = 60.0


def measure(fabric: Fabric, name: str, method: str, seconds: float, where: str = "") -> dict[str, Any]:
    """Print one row: the traffic, links off, percent saved, the gap, CPU seconds and memory; clocks are CPU seconds.

    `where` goes before the traffic.
    """
    path = ROOT / "tests" / "data" / "npb" / f"{name}.matrix.csv"
    traffic = read_traffic(path if path.exists() else Path(f"pattern:{name}"), fabric)
    return measure_traffic(fabric, traffic, method, seconds, f"{where} {name}".strip())


def measure_traffic(fabric: Fabric, traffic: Traffic, method: str, seconds: float, title: str) -> dict[str, Any]:
    """Print one row under a title, as `measure` does."""
    start = time.process_time()
    wish = RegulateOptions(method, time_limit_seconds=seconds)
    settings = pipeline.regulate(fabric, traffic, "auto", "fixed", lambda *_: None, wish, time.process_time)
    took = time.process_time() - start
    page = to_json(fabric, settings)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cells = [title, f"{page['links_off']} of {len(fabric.links)}", f"{page['saving_percent']:.1f}"]
    cells += [f"{page['gap_percent']:.2f}", f"{took:.1f}", f"{peak:.0f}"]
    print(f"| {' | '.join(cells)} |", flush=True)
    return page


def torus(side: int, model: str) -> Fabric:
    return family(f"torus {side} {side}", model, 2)


def family(words: str, model: str, parallel: int = 1) -> Fabric:
    """Return a fabric of a family and its dimensions, one host on each switch."""
    name, *dims = words.split()
    shape = f"{{family: {name}, dims: [{', '.join(dims)}], parallel: {parallel}, hosts: 1}}"
    return parse_fabric(f"name: t\nmodel: {model}\nshape: {shape}\n", "benchmark")


def random_case(seed: int) -> tuple[Fabric, Traffic]:
    """Return a connected fabric of 12 switches and 24 links at random, parallel ones among them, and random bytes."""
    chance = np.random.default_rng(seed)
    links = [(int(chance.integers(v)), v) for v in range(1, RANDOM_SWITCHES)]
    while len(links) < RANDOM_LINKS:
        links.append(tuple(sorted(chance.choice(RANDOM_SWITCHES, 2, replace=False).tolist())))
    port = [iter(range(1, 25)) for _ in range(RANDOM_SWITCHES)]
    hosts = [f"  h{v}: {{switch: s{v}, port: g{next(port[v])}}}" for v in range(RANDOM_SWITCHES)]
    lines = [f"  - [s{a}:g{next(port[a])}, s{b}:g{next(port[b])}]" for a, b in links]
    names = [f"  s{v}: {{}}" for v in range(RANDOM_SWITCHES)]
    text = ["name: t", "model: powerconnect-5324", "switches:", *names, "hosts:", *hosts, "links:", *lines]
    shape = RANDOM_SWITCHES, RANDOM_SWITCHES
    volume = chance.integers(1, 1000, shape) * (chance.random(shape) < chance.choice([0.2, 0.5, 1.0])) * 1.0
    np.fill_diagonal(volume, 0.0)
    return parse_fabric("\n".join(text) + "\n", "benchmark"), Traffic(volume, volume)


def gap_percent(fabric: Fabric, off: int, most_off: int) -> float:
    """Return the gap of links off to the most that may be, on a fabric whose links all draw the same."""
    watts, of_link = fabric_watts(fabric), link_watts(fabric, 0)
    return 100 * (most_off - off) * of_link / (watts - off * of_link)


def by_model(found: dict[str, tuple[int, int]]) -> None:
    """Print what links off, and the most that may be, come to on each model whose watts are measured."""
    print("\n| model | watts of a link | within 2 % | not |\n|---|---|---|---|")
    for model in MODELS_64:
        fabric = torus(8, model)
        gaps = {name: gap_percent(fabric, *links) for name, links in found.items()}
        over = [f"{name} {gap:.2f}" for name, gap in gaps.items() if gap > GOAL]
        count = f"{len(gaps) - len(over)} of {len(gaps)}"
        print(f"| {model} | {link_watts(fabric, 0):.2f} | {count} | {', '.join(over) or '-'} |", flush=True)


def title(text: str) -> None:
    print(f"\n## {text}\n\n| traffic | links off | saved, % | gap, % | CPU s, bound and all | peak so far, MiB |")
    print("|---|---|---|---|---|---|", flush=True)


def within(gaps: dict[str, float], most: float) -> None:
    over = [f"{name} {gap:.2f}" for name, gap in gaps.items() if gap > most]
    print(
        f"\nWithin {most:g} % of the bound: {len(gaps) - len(over)} of {len(gaps)}; not: {', '.join(over) or 'none'}."
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", choices=["small", "random", *CLUSTERS, "64", "1024"], help="one of the tables")
    args = arguments.parse_args()
    if args.only in {None, "small"}:
        title(f"Small fabrics, optimal, {SMALL_SECONDS:g} CPU s: at most 12 switches and 24 links")
        small = [(words, name) for words in SMALL for name in ("pattern:all-to-all", "pattern:bit-reversal", "is.S.4")]
        gaps = {}
        for words, name in small:
            fabric = family(words, "powerconnect-5324")
            if name != "pattern:bit-reversal" or len(fabric.hosts) & (len(fabric.hosts) - 1) == 0:
                traffic = name.removeprefix("pattern:")
                found = measure(fabric, traffic, "optimal", SMALL_SECONDS, f"{words},")
                gaps[f"{words}, {traffic}"] = float(found["gap_percent"])
        within(gaps, 0.001)
    if args.only in {None, "random"}:
        title(f"Random fabrics, optimal, {SMALL_SECONDS:g} CPU s: 12 switches, 24 links")
        gaps = {}
        for seed in range(RANDOM_CASES):
            found = measure_traffic(*random_case(seed), "optimal", SMALL_SECONDS, f"seed {seed}")
            gaps[f"seed {seed}"] = float(found["gap_percent"])
        within(gaps, 0.001)
    for cluster in CLUSTERS:
        if args.only in {None, cluster}:
            title(f"{cluster}, optimal, {CLUSTER_SECONDS:g} CPU s")
            fabric = read_fabric(ROOT / "inventory" / cluster / "fabric.yml")
            gaps = {name: float(measure(fabric, name, "optimal", CLUSTER_SECONDS)["gap_percent"]) for name in NPB}
            within(gaps, 0.001)
    if args.only in {None, "64"}:
        model = MODELS_64[0]
        title(f"64 switches, greedy: torus 8x8, {model}")
        fabric, links = torus(8, model), dict[str, tuple[int, int]]()
        for name in NPB:
            page = measure(fabric, name, "greedy", 10.0)
            least = (page["watts_before"] - page["lower_bound_watts"]) / link_watts(fabric, 0)
            links[name] = int(page["links_off"]), round(least)
        by_model(links)
    if args.only in {None, "1024"}:
        title("1,024 switches, greedy: torus 32x32, powerconnect-5324 (the first row, 4x4, loads the compiled loops)")
        measure(torus(4, "powerconnect-5324"), "uniform", "greedy", 0.2)
        for name in ("bit-reversal", "all-to-all"):
            measure(torus(32, "powerconnect-5324"), name, "greedy", 0.2)


if __name__ == "__main__":
    main()
