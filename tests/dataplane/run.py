"""Hold plans, texts and proofs against real Linux kernels; the last line says how many fabrics disagreed.

Nothing is asked of a kernel's exit status: what counts is that last line, and that there is one. Exit status 0 if all
agreed, 1 if not, 2 if no kernel could be started: then nothing was judged.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import resource
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the fabrics of the other tests

from bench import PLATFORM, Bench
from cases import Case, black_hole, looped, planned, slipped
from judge import Figures, Prediction, all_pairs, held, judge, taught
from spanning import Shared, shared, show_shared
from tagloom.errors import DeviceError, InputError, TagloomError
from tagloom.lab.kernel import choice
from tagloom.records.change import difference
from tagloom.render import parse_configuration, render_commands

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.lab.kernel.connection import Connection
    from tagloom.records.switch_state import FabricState

SEED, SMALL, SHARED, KERNELS = 20111, 30, 3, 2
GROUP_ENTRIES_ON = "mesh 4x4, fixed"
ONE_BY_ONE = ("K4,4, fixed", "K4,4, renamed", "1: ", "2: ")  # a process for every line of their texts
ROW = "{:<31} {:<18} {:>5} {:>6} {:>7} {:>9} {:>8} {:>7} {:>5} {:>9} {:>6} {:>6}"
HEAD = ROW.format(
    *(
        "fabric",
        "slip",
        "lines",
        "pairs",
        "arrived",
        "overheard",
        "way back",
        "b'casts",
        "once",
        "storm /s",
        "s",
        "wrong",
    )
)


def show(machine: Connection, case: Case | Shared, folder: Path) -> tuple[Figures, list[str]]:
    """Run one case's texts as they are, and compare: what is held, what frames do, and why."""
    if isinstance(case, Shared):
        with Bench(machine, case.fabric) as bench:
            return Figures(), show_shared(bench, case.texts, folder)
    build, figures = case.build, Figures()
    parsed = {name: parse_configuration(PLATFORM, text) for name, text in case.texts.items()}
    state = {name: each.state for name, each in parsed.items()}
    said = Prediction.of(build.fabric, state, build.routes, duplicates_allowed=build.duplicates_allowed)
    if build.taught:
        with Bench(machine, build.fabric) as bench:
            refused = bench.configure(case.texts, folder, one_by_one=False)
            wrong = [f"{name}: {complaints}" for name, complaints in refused.items() if complaints]
            return figures, wrong + held(state, bench.state()) + taught(bench, build.state, build.routes, figures)
    with Bench(machine, build.fabric) as bench:
        errors = bench.configure(case.texts, folder, one_by_one=case.name.startswith(ONE_BY_ONE))
        wrong = [
            f"{name}: expected {len(parsed[name].unknown)} lines refused, actual {complaints}"
            for name, complaints in errors.items()
            if bool(complaints) != bool(parsed[name].unknown)
        ]
        wrong += held(state, bench.state())
        wrong += judge(bench, state, said, build.routes, figures)
        if not case.slip:
            wrong += _change(bench, case, random.Random(SEED), figures)
        if case.name == GROUP_ENTRIES_ON:
            wrong += _group_entries(bench, case)
    return figures, wrong


def _change(bench: Bench, case: Case, rng: random.Random, figures: Figures) -> list[str]:
    """Spoil a running fabric by patches and mend it again: a wrong entry, then a loop; then all must be as before."""
    build, wrong = case.build, []
    fabric = build.fabric
    hole = black_hole(rng, build)
    if hole is None:
        return ["no entry to spoil"]
    spoilt, target = hole
    wrong += _patch(bench, build.state, spoilt)
    pairs = [(a, b) for a, b in all_pairs(fabric) if b == target]
    said = Prediction.of(fabric, spoilt, build.routes, duplicates_allowed=build.duplicates_allowed)
    wrong += judge(bench, spoilt, said, build.routes, Figures(), pairs)
    wrong += _patch(bench, spoilt, build.state)
    storm = looped(rng, build)
    if storm is None:
        return [*wrong, "no loop to close"]
    wrong += _patch(bench, build.state, storm)
    said = Prediction.of(fabric, storm, build.routes, duplicates_allowed=build.duplicates_allowed)
    wrong += judge(bench, storm, said, build.routes, figures)
    wrong += _patch(bench, storm, build.state)
    said = Prediction.of(fabric, build.state, build.routes, duplicates_allowed=build.duplicates_allowed)
    wrong += held(build.state, bench.state())
    return wrong + judge(bench, build.state, said, build.routes, Figures(), all_pairs(fabric)[:20])


def _patch(bench: Bench, before: FabricState, after: FabricState) -> list[str]:
    """Send the commands of a change as rendered; every one must be taken, and the kernel then hold the new state."""
    wrong, changed = [], [name for name in before if before[name] != after[name]]
    for name in changed:
        changes = difference(before[name], after[name])
        wrong += bench.type(name, render_commands(PLATFORM, changes, before[name]))
    return wrong + held({name: after[name] for name in changed}, bench.state(changed))


def _group_entries(bench: Bench, case: Case) -> list[str]:
    """Show why a Linux bridge is given no entries for broadcasts: it takes them, and floods all the same."""
    vlan, port = int(case.build.state["s0"].pvid[case.build.fabric.hosts[0].port - 1]), 1
    taken = bench.type(
        "s0",
        (
            f"bridge fdb replace ff:ff:ff:ff:ff:ff dev swp{port} vlan {vlan} master static sticky",
            "ip link set dev tagloom type bridge mcast_snooping 1",
            f"bridge mdb add dev tagloom port swp{port} grp ff:ff:ff:ff:ff:ff permanent vid {vlan}",
        ),
    )
    (seen,) = bench.broadcasts([0], 0.2)
    everyone = len(case.build.fabric.hosts) - 1
    if taken or len(seen.heard) != everyone:
        return [f"a bridge holds broadcast entries after all: {taken}, heard by {len(seen.heard)} of {everyone}"]
    return []


class Worker:
    """Show cases on one kernel after the other; a kernel that gives no answer is ended, and its case shown once more.

    rows  what was shown, with what disagreed; lost  what ended a worker, or a kernel under a case that is shown anew
    """

    def __init__(self, start: Callable[[], Connection], folder: Path) -> None:
        self._start, self._folder = start, folder
        self.machine = start()

    def end(self) -> None:
        """End the kernel that runs."""
        self.machine.__exit__()

    def work(self, queue: Queue[Case | Shared], rows: list[tuple[Case | Shared, list[str]]], lost: list[str]) -> None:
        """Show cases until there are none left, or something fails that a new kernel does not mend."""
        try:
            with contextlib.suppress(Empty):
                while True:
                    case = queue.get_nowait()
                    start = time.monotonic()
                    figures, wrong = self.show(case)
                    rows.append((case, wrong))
                    _print_row(case, figures, wrong, time.monotonic() - start)
        except Exception as error:  # noqa: BLE001 - a thread's end must be seen in the verdict, whatever it was
            lost.append(f"{self._folder.name}: {type(error).__name__}: {error}")

    def show(self, case: Case | Shared) -> tuple[Figures, list[str]]:
        """Return what `show` finds. Raises DeviceError where two kernels, one after the other, gave no answer."""
        try:
            return show(self.machine, case, self._folder)
        except DeviceError as error:
            print(f"{case.name}: {error}; once more, on a new kernel", flush=True)
        self.end()
        self.machine = self._start()
        return show(self.machine, case, self._folder)


def _workers(kinds: list[str], places: list[Path], stack: contextlib.ExitStack) -> list[Worker]:
    """Return a worker for each place, all on the first kind of kernel that can be started; print why not another."""
    for kind in kinds:
        try:
            workers = []
            for place in places:
                workers.append(Worker(partial(choice.start, place.with_suffix(".log"), (kind,)), place))
                stack.callback(workers[-1].end)
        except InputError as error:
            print(error)
        else:
            print(f"{len(workers)} side by side: {workers[0].machine.name}", flush=True)
            return workers
    return []


def _print_row(case: Case | Shared, figures: Figures, wrong: list[str], seconds: float) -> None:
    lines = sum(line[:1] not in ("", "#") for text in case.texts.values() for line in text.splitlines())
    rate = f"{figures.storm_rate:,.0f}" if figures.storm_rate else "-"
    row = ROW.format(
        *(
            case.name,
            case.slip or "-",
            lines,
            figures.pairs,
            figures.arrived,
            figures.overheard,
            figures.other_way_back,
        ),
        *(figures.broadcasts, figures.once, rate, f"{seconds:.1f}", len(wrong)),
    )
    print("\n".join([row, *(f"    {line}" for line in wrong[:8])]), flush=True)


def main() -> int:
    """Show all cases, several kernels side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help="of the small fabrics and their slips")
    parser.add_argument("--small", type=int, default=SMALL, help="how many of them")
    parser.add_argument("--shared", type=int, default=SHARED, help="how many networks with a VLAN of others")
    parser.add_argument("--kernels", type=int, default=KERNELS, help="how many run side by side")
    parser.add_argument("--kernel", choices=choice.KINDS, help="this kind only (default: the first that can run)")
    parser.add_argument("--only", default="", help="planned fabrics whose name has this in it")
    args = parser.parse_args()
    start = time.monotonic()
    rows: list[tuple[Case | Shared, list[str]]] = []
    lost: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tagloom-") as folder, contextlib.ExitStack() as stack:
        places = [Path(folder, f"kernel-{number}") for number in range(args.kernels)]
        for place in places:
            place.mkdir()
        workers = _workers([args.kernel] if args.kernel else list(choice.KINDS), places, stack)
        if not workers:
            print("not judged: no kernel that can carry frames could be started", flush=True)
            return 2
        cases: list[Case | Shared] = [case for case in planned() if args.only in case.name]
        cases += slipped(args.small, args.seed)
        cases += shared(args.shared, args.seed)
        queue: Queue[Case | Shared] = Queue()
        for case in cases:
            queue.put(case)
        print(HEAD, flush=True)
        threads = [threading.Thread(target=worker.work, args=(queue, rows, lost)) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for line in lost:
        print(line)
    unseen = len(cases) - len(rows)
    if unseen:
        print(f"{unseen} fabrics were not shown")
    disagreements = sum(bool(wrong) for _, wrong in rows) + unseen + len(lost)
    spent = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"{time.monotonic() - start:.0f} s, {spent:.0f} processor seconds")
    print(f"{len(rows)} fabrics, {disagreements} disagreements", flush=True)
    return int(bool(disagreements) or not rows)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TagloomError as error:
        print(error)
        sys.exit(1)
