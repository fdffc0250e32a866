"""Write results/predict-errors.md: how far `tagloom predict` is from frame-by-frame simulations of the same runs."""

from __future__ import annotations

import io
import json
import sys
import tempfile
from contextlib import redirect_stdout
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from judges.orders import KINDS, interval_score, lasting, links_of, order, read_matrix, slowdown
from judges.simulate import simulate
from tagloom.cli import main
from tagloom.pipeline import read_build
from tagloom.records.sleep import Eee

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.simulation import Network, Program

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "results" / "predict-errors.md"
NPB = ROOT / "tests" / "data" / "npb"
NAMES = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")
EEE = "1e-3,182e-6,60e-6"
POLICY = Eee(1e-3, 182e-6, 60e-6, together=True)
BUSY = (1.5, 8.0)  # a run takes so many times as long as its messages alone
MOST = 60  # messages of a pair: of more, one in so many is taken, so that a judge of frames is done today
ORDERS, OTHERS = 16, 4
SIZES = 1, 4, 16  # times the bytes of class S
HELD = 0.9
MOST_MEAN, MOST_WORST, LEAST_HELD, MOST_WIDTH = 1.0, 5.0, 80, 1.5  # the goals
SAME = 0.01  # percent of the run: orders that differ by less are one

TEXT = """\
# Run times that `tagloom predict` forecasts, against simulations

Written by `python benchmarks/predict_error.py`; a test computes one row once more. The judge draws its own orders of
the messages of NAS matrices, at most 60 of a pair: an order sends at random, evenly, in bursts or pipelined, as often
each. Bytes are those of class S, four or sixteen times as many, drawn for each matrix. The judge scales its own
computing times until the run takes the given seconds, walks the planned paths itself, and follows every frame
(`tests/judges/orders.py`, `simulate.py`). The forecasts are those of the command that users run. A run takes 1.5 or 8
times as long as its messages alone; a cell is over both. All numbers are percent of the run.

- slow-down: of the simulated runs, mean and worst; who always says "none" errs by that
- error: of the forecast against every simulated order, mean and worst
- least: the error of the simulated orders' own median, which no forecast from a matrix can be better than on average
- held: how many simulated orders lie in the forecast's interval; it is made for 90
- width: of the interval over that of nine in ten simulated orders (only where these differ by more than 0.01)
- score: Winkler's interval score at 90 %, and that of the simulated orders' own quantiles; vagueness costs as misses do
- TAU, mpiP: error of `--profile` alone, for four of these runs, one of each kind, mean and worst, and how many lie in
  the interval; mpiP does not report who sent to whom
- trace: the same of `--trace`
- others: mean error, and share held, for programs that compute otherwise than is assumed: times that vary by 100 %

What sleeping links, queues and PAUSE of real switches do beyond the simulation's rules is not in these numbers.
"""

GOALS = f"""\
## Beyond the goals

An error of {MOST_MEAN:g} % of the run on average and {MOST_WORST:g} % at worst, {LEAST_HELD} % of the orders held, an
interval at most {MOST_WIDTH:g} times as wide as needed. Where the least error is beyond these too, a matrix says too
little: the same messages in another order cost that much more or less, and only a trace says which it was.
"""


@dataclass(frozen=True)
class Bench:
    """A change to judge: the build after it, the words that forecast it, and the links before and after."""

    name: str
    ranks: int
    build: Path
    words: tuple[str, ...]
    before: Network
    after: Network


@dataclass(frozen=True)
class Judged:
    """What one forecast and the simulations of it found, in percent of the run.

    found   float64[ORDERS], slow-downs of orders, of each of KINDS in turn; `others` of other programs
    tau, mpip, traced  float64[KINDS, 2], forecasts from a profile or a trace less what the simulation of it found, and
                       whether that lies in the interval
    """

    said: float
    low: float
    high: float
    found: NDArray[np.float64]
    others: NDArray[np.float64]
    tau: NDArray[np.float64]
    mpip: NDArray[np.float64]
    traced: NDArray[np.float64]


def tagloom(*words: object) -> dict[str, Any]:
    """Run a command in this process and return what it answers."""
    out = io.StringIO()
    with redirect_stdout(out):
        status = main([*map(str, words), "--json"])
    if status:
        raise SystemExit(f"{' '.join(map(str, words))}: {status}")
    return dict(json.loads(out.getvalue()))


def benches(folder: Path) -> list[Bench]:
    """Plan four hosts around one switch, and a 4x4 torus of which rows and one column are left."""
    star, torus = folder / "star.yml", folder / "torus.yml"
    tagloom("new", "mesh", "--dims", 1, 1, "--hosts", 4, "-o", star)
    tagloom("new", "torus", "--dims", 4, 4, "-o", torus)
    for file in (star, torus):
        tagloom("plan", file, "-o", file.with_suffix(""))
    links = read_build(folder / "torus").fabric.links
    off = [f"s{link.a}:g{link.a_port}" for link in links if link.a // 4 != link.b // 4 and link.a % 4]
    tagloom("plan", torus, "-o", folder / "comb", "--off", *off)
    asleep = ("--eee", EEE)

    def over(name: str, policy: Eee | None = None) -> Network:
        build = read_build(folder / name, states=False)
        return links_of(build.fabric, build.routes, policy)

    return [
        Bench("Four hosts on one switch, EEE", 4, folder / "star", asleep, over("star"), over("star", POLICY)),
        Bench("Torus, 12 of 32 links off", 16, folder / "comb", (), over("torus"), over("comb")),
        Bench("Torus, 12 of 32 links off and EEE", 16, folder / "comb", asleep, over("torus"), over("comb", POLICY)),
    ]


def judge(bench: Bench, name: str, busy: float, folder: Path) -> Judged:
    """Forecast one matrix, and simulate orders of it."""
    messages = read_matrix(NPB / f"{name}.S.{bench.ranks}.matrix.csv")
    each = max(1.0, max(count for _, count in messages.values()) / MOST)
    times = float(np.random.default_rng([bench.ranks, NAMES.index(name), round(10 * busy)]).choice(SIZES))
    messages = {pair: (times * size / count * (n := ceil(count / each)), n) for pair, (size, count) in messages.items()}
    matrix = folder / "matrix.csv"
    rows = [f"{a},{b},{size!r},{count}" for (a, b), (size, count) in messages.items()]
    matrix.write_text("\n".join(["src,dst,wire_bytes,wire_msgs", *rows, ""]))
    alone = [order(messages, bench.ranks, 0, kind=kind) for kind in KINDS]
    alone = [program._replace(compute_seconds=0 * program.compute_seconds) for program in alone]
    seconds = busy * max(simulate(bench.before, program).seconds for program in alone)

    def slower(program: Program) -> float:
        return 100 * slowdown(program, bench.before, bench.after)

    page = tagloom("predict", bench.build, "--traffic", matrix, "--seconds", seconds, *bench.words)
    drawn = [
        lasting(order(messages, bench.ranks, seed, kind=KINDS[seed % len(KINDS)]), bench.before, seconds)
        for seed in range(ORDERS)
    ]
    found = np.array([slower(program) for program in drawn])
    others = [
        slower(lasting(order(messages, bench.ranks, seed, uneven=1.0), bench.before, seconds)) for seed in range(OTHERS)
    ]
    wrong: dict[str, list[tuple[float, bool]]] = {"tau": [], "run.mpiP": [], "trace.csv": []}
    for program, true in zip(drawn[: len(KINDS)], found, strict=False):
        write_tau(folder / "tau", program, seconds)
        write_mpip(folder / "run.mpiP", program, seconds)
        write_trace(folder / "trace.csv", program)
        for file, errors in wrong.items():
            option = "--trace" if file == "trace.csv" else "--profile"
            of_file = tagloom("predict", bench.build, option, folder / file, *bench.words)
            low, high = of_file["slowdown_percent_low"] - SAME, of_file["slowdown_percent_high"] + SAME
            errors.append((of_file["slowdown_percent"] - true, low <= true <= high))
    low, high = page["slowdown_percent_low"], page["slowdown_percent_high"]
    wrongs = (np.array(each) for each in wrong.values())
    return Judged(page["slowdown_percent"], low, high, found, np.array(others), *wrongs)


def waits_of(program: Program) -> list[int]:
    """Return in how many steps each rank is sent something, which it waits for."""
    steps, ranks = program.compute_seconds.shape
    step = np.repeat(np.arange(steps * ranks), np.diff(program.first_message)) // ranks
    awaited = np.zeros((steps, ranks), np.bool_)
    awaited[step, program.destination] = True
    return [int(n) for n in awaited.sum(axis=0)]


def write_tau(path: Path, program: Program, seconds: float) -> None:
    """Write what TAU reports with TAU_COMM_MATRIX=1: by rank, its times, its waits, and what it sent to each other."""
    steps, ranks = program.compute_seconds.shape
    path.mkdir(exist_ok=True)
    source = np.repeat(np.arange(steps * ranks), np.diff(program.first_message)) % ranks
    for rank, waits in enumerate(waits_of(program)):
        inside = 1e6 * (seconds - float(program.compute_seconds[:, rank].sum()))
        lines = [
            "2 templated_functions_MULTI_TIME",
            "# Name Calls Subrs Excl Incl ProfileCalls #",
            f'".TAU application" 1 1 {1e6 * seconds - inside:.0f} {1e6 * seconds:.0f} 0 GROUP="TAU_DEFAULT"',
            f'"MPI_Waitall()  " {waits} 0 {inside:.0f} {inside:.0f} 0 GROUP="MPI"',
            "0 aggregates",
        ]
        events = []
        for other in range(ranks):
            sizes = program.volume_bytes[(source == rank) & (program.destination == other)]
            if len(sizes):
                numbers = f"{len(sizes)} {sizes.max()!r} {sizes.min()!r} {sizes.mean()!r} {(sizes**2).sum()!r}"
                events.append(
                    f'"Message size sent to node {other}" {numbers.replace("np.float64(", "").replace(")", "")}'
                )
        if events:
            lines += [f"{len(events)} userevents", "# eventname numevents max min mean sumsqr", *events]
        (path / f"profile.{rank}.0.0").write_text("\n".join(lines) + "\n")


def write_mpip(path: Path, program: Program, seconds: float) -> None:
    """Write what mpiP reports of a run: its time, how often ranks waited, and what all sent, to three digits."""
    ranks = program.compute_seconds.shape[1]
    inside = seconds - float(program.compute_seconds.sum(axis=0).mean())
    count, size = len(program.destination), float(program.volume_bytes.sum())
    lines = [
        "@ mpiP",
        "@--- Task Time Statistics (seconds) ---",
        "AppTime MPITime MPI% App Task MPI Task",
        f"Max {seconds:.6f} {inside:.6f} 0 0",
        f"Mean {seconds:.6f} {inside:.6f}",
        f"Aggregate {ranks * seconds:.6f} {ranks * inside:.6f} 1.0",
        "@--- Aggregate Time (top twenty, descending, milliseconds) ---",
        "Call Site Time App% MPI% Count",
        f"Waitall 1 {1e3 * ranks * inside:.3g} 1.0 100.0 {sum(waits_of(program))}",
        "@--- Aggregate Sent Message Size (top twenty, descending, bytes) ---",
        "Call Site Count Total Avrg Sent%",
        f"Isend 2 {count} {size:.2e} {size / count:.2e} 100.0",
        "@--- End of Report ---",
    ]
    path.write_text("\n".join(lines) + "\n")


def write_paraprof(path: Path, program: Program, seconds: float) -> None:
    """Write what `paraprof --dumpmpisummary` says of a run: times and calls, in columns of 12 and 16 characters."""
    waits = np.array(waits_of(program))
    inside = 1e6 * (seconds - program.compute_seconds.sum(axis=0))
    whole, once, none = np.array([1e6 * seconds]), np.ones(1), np.zeros(1)
    groups = ("Calls", "Child Calls", "Exclusive TIME (Microseconds)", "Inclusive TIME (Microseconds)")
    lines = ["", f"   {'   '.join([*groups, 'Bytes Transferred', 'Name'])}", "   " + "Min   Max   Mean   " * 5]
    rows = [("MPI_Waitall()", waits, inside, inside), (".TAU application", once, whole - inside, whole)]
    for name, calls, own, all_of in rows:
        columns = ((calls, 12, 3), (none, 12, 3), (own, 16, 5), (all_of, 16, 5), (none, 16, 5))
        cells = (f"{end:{wide}.{digits}f}" for x, wide, digits in columns for end in (x.min(), x.max(), x.mean()))
        lines.append(f"{''.join(cells)}   {name}")
    path.write_text("\n".join(lines) + "\n")


def write_trace(path: Path, program: Program) -> None:
    """Write a program as the messages of a run, rank i on host i."""
    steps, ranks = program.compute_seconds.shape
    lines = ["step,source,destination,bytes,compute_seconds"]
    for row in range(steps * ranks):
        step, rank = divmod(row, ranks)
        lines.append(f"{step},h{rank},,,{float(program.compute_seconds[step, rank])!r}")
        mine = range(int(program.first_message[row]), int(program.first_message[row + 1]))
        lines += [f"{step},h{rank},h{program.destination[m]},{float(program.volume_bytes[m])!r}," for m in mine]
    path.write_text("\n".join(lines) + "\n")


def line(name: str, cases: list[Judged]) -> str:
    """Lay out what was found of some forecasts as one row."""
    found = np.concatenate([case.found for case in cases])
    wrong = np.concatenate([np.abs(case.said - case.found) for case in cases])
    of_files = [
        np.concatenate([np.abs(part) for part in parts])
        for parts in zip(*((c.tau, c.mpip, c.traced) for c in cases), strict=True)
    ]
    least = np.concatenate([np.abs(np.median(case.found) - case.found) for case in cases])
    astray = np.concatenate([np.abs(case.said - case.others) for case in cases])
    within = np.concatenate([_inside(case, case.found) for case in cases])
    still = np.concatenate([_inside(case, case.others) for case in cases])
    own = [np.quantile(case.found, [(1 - HELD) / 2, (1 + HELD) / 2]).tolist() for case in cases]
    wide = [(c.high - c.low) / (b - a) for c, (a, b) in zip(cases, own, strict=True) if b - a > SAME]
    score = np.mean([interval_score(c.low, c.high, c.found, HELD) for c in cases])
    best = np.mean([interval_score(a, b, c.found, HELD) for c, (a, b) in zip(cases, own, strict=True)])
    cells = (
        f"{found.mean():.2f} / {found.max():.2f}",
        f"{wrong.mean():.2f} / {wrong.max():.2f}",
        f"{least.mean():.2f} / {least.max():.2f}",
        f"{100 * within.mean():.0f}",
        f"{np.mean(wide):.2f}" if wide else "-",
        f"{score:.3f} / {best:.3f}",
        *(f"{part[:, 0].mean():.2f} / {part[:, 0].max():.2f}, {100 * part[:, 1].mean():.0f}" for part in of_files),
        f"{astray.mean():.2f}, {100 * still.mean():.0f}",
    )
    return f"| {name} | {' | '.join(cells)} |"


def by_kind(cases: list[Judged]) -> list[str]:
    """Lay out what was found of all forecasts, by the way in which runs sent."""
    lines = ["| orders | slow-down | error | held |", "|---|---|---|---|"]
    for number, kind in enumerate(KINDS):
        found = np.concatenate([case.found[number :: len(KINDS)] for case in cases])
        wrong = np.concatenate([np.abs(case.said - case.found[number :: len(KINDS)]) for case in cases])
        within = np.concatenate([_inside(case, case.found[number :: len(KINDS)]) for case in cases])
        lines.append(
            f"| {kind} | {found.mean():.2f} / {found.max():.2f} | {wrong.mean():.2f} / {wrong.max():.2f} | "
            f"{100 * within.mean():.0f} |"
        )
    return lines


def losers(written: str) -> str:
    """List the rows of the page that are beyond the goals: its last section."""
    beyond, bench = [], ""
    for row in written.splitlines():
        bench = row.removeprefix("## ") if row.startswith("## ") else bench
        cells = row.strip("| ").split(" | ")
        if len(cells) < 10 or not cells[1][0].isdigit() or bench == "All":
            continue
        mean, worst = map(float, cells[2].split(" / "))
        held, width = int(cells[4]), 0.0 if cells[5] == "-" else float(cells[5])
        said = [f"error {cells[2]} (least {cells[3]})"] if mean > MOST_MEAN or worst > MOST_WORST else []
        said += [f"held {held}"] if held < LEAST_HELD else []
        said += [f"width {width}"] if width > MOST_WIDTH else []
        beyond += [f"- {bench}, {cells[0]}: {', '.join(said)}"] if said else []
    return "\n".join([GOALS, *beyond, ""])


def _inside(case: Judged, found: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which slow-downs lie in the forecast's interval, to the digits that the command prints."""
    return (found >= case.low - SAME) & (found <= case.high + SAME)


def page(folder: Path) -> str:
    """Judge every change with every matrix."""
    lines, every = [TEXT], list[Judged]()
    head = "| runs | slow-down | error | least | held | width | score, own | TAU | mpiP | trace | others: error, held |"
    rule = "|---" * head.count(" | ") + "|---|"
    for bench in benches(folder):
        lines += [f"## {bench.name}", "", head, rule]
        of_bench: list[Judged] = []
        for name in NAMES:
            cases = [judge(bench, name, busy, folder) for busy in BUSY]
            lines.append(line(f"{name}.S.{bench.ranks}", cases))
            of_bench += cases
            sys.stderr.write(f"{bench.name}: {lines[-1]}\n")
        lines += [line("all", of_bench), ""]
        every += of_bench
    lines += ["## All", "", head, rule, line("all", every), "", *by_kind(every), ""]
    return "\n".join([*lines, losers("\n".join(lines))])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(page(Path(folder)), "utf-8")
    sys.stdout.write(f"wrote {PAGE.name}\n")
