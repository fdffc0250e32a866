"""Write results/eee-errors.md: how far forecasts of run time under EEE are from the frame-by-frame simulation."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from judges.application import Profile, by_calls, by_messages
from judges.networks import SWITCH_SECONDS, all_to_all, exchange, network, row, star, stream
from judges.simulate import simulate
from tagloom.predict.eee import POWERCONNECT_5548, fit_overhead
from tagloom.predict.link import one_link
from tagloom.predict.trace import replay
from tagloom.records.sleep import Eee, Fit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from judges.simulate import Run
    from tagloom.records.simulation import Network, Program

    Make = Callable[[int, np.random.Generator], list[Program]]

ROOT = Path(__file__).resolve().parents[1]
HOSTS = 4
SIZES = (256, 1024, 4096, 16384, 65536, 131072)
SLEEPS = tuple(range(0, 1001, 100))  # usleep, microseconds
STEPS = 40  # rounds of each run
SLACK = 50e-6  # what Linux adds to a usleep: its default timer slack
NPB = ("bt", "cg", "ft", "is", "lu", "mg", "sp")
DEVICES = {
    "PowerConnect 5548 (1 ms, 182 us, 60 us), 1 Gb/s": (POWERCONNECT_5548, 1e9),
    "10GBASE-T (50 us, 2.88 us, 4.48 us), 10 Gb/s": (Eee(50e-6, 2.88e-6, 4.48e-6), 1e10),
    "1000BASE-T (300 us, 182 us, 16.5 us), 1 Gb/s": (Eee(300e-6, 182e-6, 16.5e-6, together=True), 1e9),
}
SHORT = replace(POWERCONNECT_5548, timeout_seconds=100e-6, wake_seconds=16.5e-6)


@dataclass(frozen=True)
class Errors:
    """The relative errors of three models over the same runs, and the slow-downs themselves.

    simulation_seconds, trace_seconds  CPU seconds of the judge and of the forecast from a trace, all runs together
    """

    trace: NDArray[np.float64]
    calls: NDArray[np.float64]
    paper: NDArray[np.float64]
    slowdown: NDArray[np.float64]
    simulation_seconds: float
    trace_seconds: float


def profile(run: Run, program: Program, eee: Eee, rate: float) -> Profile:
    """Read from a run without sleep what a profiler would tell."""
    host, (steps, ranks) = program.host, program.compute_seconds.shape
    source = np.repeat(np.arange(steps * ranks) % ranks, np.diff(program.first_message))
    remote = host[source] != host[program.destination]
    bits = np.where(remote, program.wire_bits, 0.0)
    busiest = max(np.bincount(host[end], bits).max() for end in (source, program.destination))
    step = np.diff(run.step_seconds.max(axis=1), prepend=0.0)
    idle = step - busiest / steps / rate
    call = np.vstack([np.zeros((1, ranks)), run.step_seconds[:-1]]) + program.compute_seconds
    last = call.argmax(axis=1)
    with_it = host[None, :] == host[last][:, None] if eee.together else np.ones_like(call, bool)
    skew = float((call.max(axis=1) - np.where(with_it, call, np.inf).min(axis=1)).mean())
    most = np.bincount(source[remote]).max()
    return Profile(
        run.seconds,
        float(most),
        bits.sum() / remote.sum(),
        steps,
        busiest / steps,
        float(idle.std() / idle.mean()),
        skew,
    )


def measured_fit(eee: Eee, rate: float) -> Fit:
    """Fit the paper's (c, alpha, t) as it does: to a ping-pong of 8 bytes whose sender waits longer and longer."""
    rng, rounds = np.random.default_rng(7), 400
    pairs = []
    for mean in np.array([0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1, 1.1, 1.2, 1.5, 2, 3, 5]) * eee.timeout_seconds:
        wait = np.zeros((rounds, 2))
        wait[np.arange(rounds), np.arange(rounds) % 2] = mean * rng.gamma(100, 0.01, rounds)
        volume = np.full((rounds, 2, 2), np.nan)
        volume[0::2, 0, 1] = volume[1::2, 1, 0] = 8
        ping_pong = exchange([0, 1], wait, volume)
        awake, asleep = (simulate(star(2, rate, e), ping_pong).seconds for e in (None, eee))
        pairs.append((awake / rounds, max(0.0, asleep - awake) / rounds))
    return fit_overhead(pairs)


def compare(programs: list[Program], network: Network, awake: Network, eee: Eee, rate: float) -> Errors:
    """Simulate every program with and without sleep, and let every model say the first from the second."""
    fit, rows, clock = measured_fit(eee, rate), [], []
    for program in programs:
        base = simulate(awake, program)
        known = profile(base, program, eee, rate)
        began = process_time()
        true = simulate(network, program).seconds
        simulated = process_time()
        traced = base.seconds + replay(network, program) - replay(awake, program)
        clock.append((simulated - began, process_time() - simulated))
        said = traced, by_calls(known, eee, rate), by_messages(known, fit, rate)
        rows.append([*(s / true - 1 for s in said), true / base.seconds - 1])
    return Errors(*np.array(rows).T, *np.sum(clock, axis=0))


def stars(eee: Eee, rate: float) -> tuple[Network, Network]:
    """Make the paper's four hosts around a switch, sleeping and awake."""
    return star(HOSTS, rate, eee), star(HOSTS, rate, replace(eee, timeout_seconds=np.inf))


def synthetic(
    ranks: int, steps: int, rng: np.random.Generator, sizes: tuple[int, ...] = SIZES, sleeps: tuple[int, ...] = SLEEPS
) -> list[Program]:
    """Make the paper's Fig. 5: usleep, all-to-all, again and again; ranks by turns on four hosts."""
    host = [r % HOSTS for r in range(ranks)]
    return [
        all_to_all(host, usleep * 1e-6 + SLACK + rng.exponential(10e-6, (steps, ranks)), size)
        for size in sizes
        for usleep in sleeps
    ]


def npb(name: str, ranks: int, mean: float, rng: np.random.Generator, most_steps: int = 200) -> Program:
    """Make traffic like a NAS benchmark's: its matrix by exchanges, each rank computing a while in between.

    A pair that sent n messages sends one in n of the steps, evenly spread; the steps are as many as the busiest pair's
    messages, `most_steps` of them. Computing times are gamma-distributed with a tenth of their mean as deviation.
    """
    with (ROOT / f"tests/data/npb/{name}.S.{ranks}.matrix.csv").open() as file:
        rows = [[int(r[key]) for key in ("src", "dst", "wire_bytes", "wire_msgs")] for r in csv.DictReader(file)]
    rows = [r for r in rows if r[0] != r[1] and r[3]]
    busiest = max(r[3] for r in rows)
    steps = min(busiest, most_steps)
    volume = np.full((steps, ranks, ranks), np.nan)
    for source, destination, size, messages in rows:
        at = np.floor(np.arange(messages) * busiest / messages).astype(int)
        volume[at[at < steps], source, destination] = size / messages
    compute = rng.gamma(100, mean / 100, (steps, ranks))
    return exchange([r % HOSTS for r in range(ranks)], compute, volume)


def uneven(
    ranks: int, steps: int, rng: np.random.Generator, sizes: tuple[int, ...] = SIZES, sleeps: tuple[int, ...] = SLEEPS
) -> list[Program]:
    """Make the same of ranks that compute unevenly: a deviation of 30 %."""
    host = [r % HOSTS for r in range(ranks)]
    return [
        all_to_all(host, SLACK + rng.gamma(1 / 0.09, 0.09 * (usleep + 1) * 1e-6, (steps, ranks)), size)
        for size in sizes
        for usleep in sleeps
    ]


def trees(eee: Eee, rate: float) -> tuple[Network, Network]:
    """Make the four hosts on two switches, and a third between those: four links on the long paths."""

    def path(a: int, b: int) -> list[int]:
        over = [] if a // 2 == b // 2 else [2 * (HOSTS + a // 2), 2 * (HOSTS + b // 2) + 1]
        return [] if a == b else [2 * a, *over, 2 * b + 1]

    paths = [[path(a, b) for b in range(HOSTS)] for a in range(HOSTS)]
    awake = replace(eee, timeout_seconds=np.inf)
    sleeping, kept = (network(HOSTS + 2, paths, rate, policy, SWITCH_SECONDS) for policy in (eee, awake))
    return sleeping, kept


def table(title: str, found: dict[str, Errors]) -> list[str]:
    """Lay the errors of some sets of runs out."""
    lines = [
        f"### {title}",
        "",
        "| runs | slow-down, mean / worst | error from a trace, mean / worst | calls | the paper's model | faster |",
        "|---|---|---|---|---|---|",
    ]
    for name, e in found.items():
        cells = [
            f"{100 * np.abs(x).mean():.2f} / {100 * np.abs(x).max():.1f} %"
            for x in (e.slowdown, e.trace, e.calls, e.paper)
        ]
        faster = e.simulation_seconds / e.trace_seconds
        lines.append(f"| {name} ({len(e.trace)}) | {' | '.join(cells)} | {faster:.0f} times |")
    return [*lines, ""]


def one_link_table(frames: int = 2_000_000) -> list[str]:
    """Lay the closed form of one link beside the independent simulator and ours."""
    lines = [
        "| PHY | load | power: theirs | closed form | simulated | delay, us: theirs | closed form | simulated |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rng = np.random.default_rng(3)
    for file, name, eee, rate in (
        ("hyst_1g.csv", "1000BASE-T", Eee(0.0, 182e-6, 16.5e-6), 1e9),
        ("hyst_10g.csv", "10GBASE-T", Eee(0.0, 2.88e-6, 4.48e-6), 1e10),
    ):
        with (ROOT / "tests/data/eee" / file).open() as text:
            for line in csv.DictReader(text):
                load, service = float(line["rho"]), 12000 / rate
                form = one_link(eee, load, 1500, rate)
                power, delay = simulated_link(eee, rate, rng.exponential(service / load, (frames, 1)))
                theirs = float(line["power_rel(sigma=0.1)"]), float(line["mean_queue_delay_us"])
                lines.append(
                    f"| {name} | {load:g} | {theirs[0]:.4f} | {form.power_relative:.4f} | {power:.4f} "
                    f"| {theirs[1]:.2f} | {form.mean_delay_seconds * 1e6:.2f} | {delay * 1e6:.2f} |"
                )
    return [*lines, ""]


def simulated_link(eee: Eee, rate: float, gaps: NDArray[np.float64]) -> tuple[float, float]:
    """Simulate frames of 1500 bytes over one link; return relative power and mean waiting time in seconds."""
    both = gaps.shape[1] == 2
    run = simulate(row(0, rate, eee, 0.0), stream(gaps, 1500, both=both))
    waited = run.delivered_seconds - run.released_seconds - 12000 / rate
    return 1.0 - (1.0 - eee.lpi_power) * float(run.lpi_share[0]), float(waited.mean())


def sections(steps: int = STEPS) -> list[tuple[list[str], dict[str, dict[str, Errors]]]]:
    """Run all programs: a heading with the runs of each table under it."""
    star_of = {title: stars(*device) for title, device in DEVICES.items()}

    def both(seed: int, device: tuple[Eee, float], nets: tuple[Network, Network], make: Make) -> dict[str, Errors]:
        rng = np.random.default_rng(seed)
        return {f"{ranks} processes": compare(make(ranks, rng), *nets, *device) for ranks in (4, 16)}

    def figure_5(ranks: int, rng: np.random.Generator) -> list[Program]:
        return synthetic(ranks, steps, rng)

    def nas(ranks: int, rng: np.random.Generator) -> list[Program]:
        return [npb(name, ranks, mean, rng) for name in NPB for mean in (3e-4, 1e-3, 3e-3)]

    def irregular(ranks: int, rng: np.random.Generator) -> list[Program]:
        return uneven(ranks, steps, rng)

    return [
        (
            [
                "## The paper's synthetic application (Fig. 5): all-to-all every usleep, four hosts around a switch",
                "",
                f"256 B to 128 KB, usleep 0 to 1000 us, {steps} rounds each, 4 processes and 16 (four on each host). A",
                "usleep takes 50 us more than asked (timer slack) and an exponential 10 us on top: our assumption.",
            ],
            {title: both(7, device, star_of[title], figure_5) for title, device in DEVICES.items()},
        ),
        (
            ["## Traffic like the NAS benchmarks' (class S matrices), computing 0.3, 1 and 3 ms between exchanges"],
            {title: both(8, device, star_of[title], nas) for title, device in DEVICES.items()},
        ),
        (
            [
                "## A time-out below Ts, and ranks that compute unevenly (a deviation of 30 %)",
                "",
                "Waits as long as the gaps change which message comes first.",
            ],
            {"1000BASE-T (100 us, 182 us, 16.5 us), 1 Gb/s": both(9, (SHORT, 1e9), stars(SHORT, 1e9), irregular)},
        ),
        (
            [
                "## Beyond one switch: four hosts on two switches, a third between those, ranks that compute unevenly",
                "",
                "Up to four links on a path; every link sleeps.",
            ],
            {title: both(10, device, trees(*device), irregular) for title, device in DEVICES.items()},
        ),
    ]


def page(found: list[tuple[list[str], dict[str, dict[str, Errors]]]], of_one_link: list[str]) -> str:
    """Lay all runs and the table of one link out as Markdown."""
    left = "; ".join(above(found)) or "none of the runs below"
    lines = [
        "# Run time under EEE: forecasts against the simulation",
        "",
        "Written by `python benchmarks/eee_error.py`; tests compute it again, all but times. The judge is our",
        "frame-by-frame simulation, `tests/judges/simulate.py`; the last table sets it against an independent one.",
        "Errors are of the run time: who always said 'no slow-down' would err by about the slow-down itself.",
        "All models see only the run without sleep:",
        "",
        "- from a trace: its messages are replayed over links that sleep, as flows (`predict.trace`), as orders of a",
        "  matrix are; `predict --trace` replays frames, up to a million, and errs less ([there](predict-errors.md));",
        "- from calls: calls, bytes and the spread of the gaps, closed form (`tests/judges/application.py`);",
        "- the paper's model: eq. 1-4, messages and bytes, (c, alpha, t) fitted to a simulated ping-pong. Miwa et al.",
        "  give 2.63 / 20.0 % (4 processes) and 1.11 / 15.3 % (16) for it, mean / worst, on their own cluster.",
        "",
        f"The trace's bound, mean 1 % and worst 10 %, is not kept by: {left}. What is left of",
        "errors is the order of frames within messages that share a link. 'Faster' is the CPU time of the simulation",
        "with sleep over that of the forecast from a trace, two replays: a long message is two events on a link,",
        "however many frames it has; where all messages are of one frame, less is saved.",
        "Replay and simulation sleep by the same rules: what this shows is what leaving frames out costs, not how near",
        "either is to a real switch.",
        "",
    ]  # fmt: skip
    for heading, tables in found:
        lines += [*heading, "", *(line for title, sets in tables.items() for line in table(title, sets))]
    lines += ["## One link, Poisson frames of 1500 bytes, time-out 0", "", *of_one_link]
    return "\n".join(lines)


def above(found: list[tuple[list[str], dict[str, dict[str, Errors]]]]) -> list[str]:
    """Name the runs whose forecast from a trace is off by more than 1 % on average or 10 % at worst."""
    return [
        f"{title}, {name}"
        for _, tables in found
        for title, sets in tables.items()
        for name, e in sets.items()
        if np.abs(e.trace).mean() > 0.01 or np.abs(e.trace).max() > 0.10
    ]


if __name__ == "__main__":
    target = ROOT / "benchmarks" / "results" / "eee-errors.md"
    target.write_text(page(sections(), one_link_table()), "utf-8")
    sys.stdout.write(f"wrote {target.name}\n")
