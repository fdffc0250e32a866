"""Write docs/eee-errors.md: how far forecasts of run time under EEE are from the frame-by-frame simulation."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tagloom.predict.application import by_calls, by_messages
from tagloom.predict.eee import POWERCONNECT_5548, Eee, Fit, fit_overhead
from tagloom.predict.link import one_link
from tagloom.predict.networks import all_to_all, exchange, row, star, stream
from tagloom.predict.simulate import simulate
from tagloom.predict.trace import by_trace
from tagloom.records.profile import Profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.simulation import Network, Program, Run

ROOT = Path(__file__).resolve().parents[1]
HOSTS = 4
SIZES = (256, 1024, 4096, 16384, 65536, 131072)
SLEEPS = tuple(range(0, 1001, 100))  # usleep, microseconds
SLACK = 50e-6  # what Linux adds to a usleep: its default timer slack
NPB = ("bt", "cg", "ft", "is", "lu", "mg", "sp")
DEVICES = {
    "PowerConnect 5548 (1 ms, 182 us, 60 us), 1 Gb/s": (POWERCONNECT_5548, 1e9),
    "10GBASE-T (50 us, 2.88 us, 4.48 us), 10 Gb/s": (Eee(50e-6, 2.88e-6, 4.48e-6), 1e10),
    "1000BASE-T (300 us, 182 us, 16.5 us), 1 Gb/s": (Eee(300e-6, 182e-6, 16.5e-6, together=True), 1e9),
}


@dataclass(frozen=True)
class Errors:
    """Hold the relative errors of three models over the same runs, and the slow-downs themselves."""

    trace: NDArray[np.float64]
    calls: NDArray[np.float64]
    paper: NDArray[np.float64]
    slowdown: NDArray[np.float64]


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
    fit, rows = measured_fit(eee, rate), []
    for program in programs:
        base = simulate(awake, program)
        true = simulate(network, program).seconds
        known = profile(base, program, eee, rate)
        said = by_trace(network, program, base), by_calls(known, eee, rate), by_messages(known, fit, rate)
        rows.append([*(s / true - 1 for s in said), true / base.seconds - 1])
    return Errors(*np.array(rows).T)


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


def irregular(steps: int) -> list[str]:
    """Lay out where the forecast from a trace does not hold its bounds."""
    eee, rate = replace(POWERCONNECT_5548, timeout_seconds=100e-6, wake_seconds=16.5e-6), 1e9
    rng, sets = np.random.default_rng(9), {}
    for ranks in (4, 16):
        host = [r % HOSTS for r in range(ranks)]
        programs = [
            all_to_all(host, SLACK + rng.gamma(1 / 0.09, 0.09 * (usleep + 1) * 1e-6, (steps, ranks)), size)
            for size in SIZES
            for usleep in SLEEPS
        ]
        sets[f"{ranks} processes"] = compare(programs, *stars(eee, rate), eee, rate)
    return [
        "## Where it fails: a time-out below Ts, and ranks that compute unevenly (a deviation of 30 %)",
        "",
        "Waits as long as the gaps change which message comes first; a trace keeps the order of the run without sleep.",
        "",
        *table("1000BASE-T (100 us, 182 us, 16.5 us), 1 Gb/s", sets),
    ]


def table(title: str, found: dict[str, Errors]) -> list[str]:
    """Lay the errors of some sets of runs out."""
    lines = [
        f"### {title}",
        "",
        "| runs | slow-down, mean / worst | from a trace: mean / worst error | from calls | the paper's model |",
        "|---|---|---|---|---|",
    ]
    for name, e in found.items():
        cells = [
            f"{100 * np.abs(x).mean():.2f} / {100 * np.abs(x).max():.1f} %"
            for x in (e.slowdown, e.trace, e.calls, e.paper)
        ]
        lines.append(f"| {name} ({len(e.trace)}) | {' | '.join(cells)} |")
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
    """Simulate frames of 1500 bytes over one link; give relative power and mean waiting time in seconds."""
    both = gaps.shape[1] == 2
    run = simulate(row(0, rate, eee, 0.0), stream(gaps, 1500, both=both))
    waited = run.delivered_seconds - run.released_seconds - 12000 / rate
    return 1.0 - (1.0 - eee.lpi_power) * float(run.lpi_share[0]), float(waited.mean())


def page(steps: int = 40) -> str:
    """Run everything and lay it out as Markdown."""
    lines = [
        "# Run time under EEE: forecasts against the simulation",
        "",
        "Written by `python benchmarks/eee_error.py`; tests hold the bounds on a part of it. The judge is our",
        "frame-by-frame simulation, `tagloom.predict.simulate`; the last table sets it against an independent one.",
        "Errors are of the run time: who always said 'no slow-down' would err by about the slow-down itself.",
        "All models see only the run without sleep:",
        "",
        "- from a trace: every message pays for the gaps its links really had (`predict.trace`);",
        "- from calls: calls, bytes and the spread of the gaps, closed form (`predict.application.by_calls`);",
        "- the paper's model: eq. 1-4, messages and bytes, (c, alpha, t) fitted to a simulated ping-pong.",
        "",
        "## The paper's synthetic application (Fig. 5): all-to-all every usleep, four hosts around a switch",
        "",
        f"256 B to 128 KB, usleep 0 to 1000 us, {steps} rounds each, 4 processes and 16 (four on each host).",
        "A usleep takes 50 us more than asked (Linux's timer slack) and an exponential 10 us on top: our assumption.",
        "",
    ]  # fmt: skip
    for title, (eee, rate) in DEVICES.items():
        rng = np.random.default_rng(7)
        sets = {f"{p} processes": compare(synthetic(p, steps, rng), *stars(eee, rate), eee, rate) for p in (4, 16)}
        lines += table(title, sets)
    lines += [
        "## Traffic like the NAS benchmarks' (class S matrices), computing 0.3, 1 and 3 ms between exchanges",
        "",
    ]
    for title, (eee, rate) in DEVICES.items():
        rng = np.random.default_rng(8)
        sets = {
            f"{p} processes": compare(
                [npb(name, p, mean, rng) for name in NPB for mean in (3e-4, 1e-3, 3e-3)], *stars(eee, rate), eee, rate
            )
            for p in (4, 16)
        }
        lines += table(title, sets)
    lines += [*irregular(steps), "## One link, Poisson frames of 1500 bytes, time-out 0", "", *one_link_table()]
    return "\n".join(lines)


if __name__ == "__main__":
    target = ROOT / "docs" / "eee-errors.md"
    target.write_text(page(), "utf-8")
    sys.stdout.write(f"wrote {target.name}\n")
