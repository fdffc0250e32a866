"""Live a day of shifting traffic on the virtual rack: `tagloom run`, the static plan and ECMP-like spreading.

Run `PYTHONPATH=tooling python benchmarks/reweave_rack.py`; it writes the last part of `results/reweave.md`. Six
NPB jobs of 16 ranks run for four hours each, every one on hosts in another order. Each half hour the hosts send one
job's matrix as frames, and ports count them. Only the clock is quickened: pushes, readings and frames are the rack's.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from reweave import PAGE, RACK, ROOT, fabric_of, of_interval, spread_at_random
from timetable import RANKS, program

from tagloom.adapters.snmp import Snmp
from tagloom.adapters.timetable_memory import TimetableMemory
from tagloom.apply.playbook import Ansible
from tagloom.apply.site import Site
from tagloom.graph.flows import flows_of
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.lab.mib import FRAME_OCTETS
from tagloom.observe import observe_all
from tagloom.operate.clock import LoadProbe, TimetableController
from tagloom.operate.reweave_watch import ReweaveWatch
from tagloom.operate.waves import ApplyContext, open_context
from tagloom.pipeline.planning import plan
from tagloom.read import fabric_of as fabric_at
from tagloom.read import read_snmp_settings
from tagloom.read.timetable_file import read_timetable
from tagloom.records.timetable import Watch
from tagloom.route.spread import any_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tagloom.graph.flows import Flows
    from tagloom.records.fabric import Fabric

SHAPE = "{family: torus, dims: [4, 2], parallel: 2, hosts: 2}"
LINK_MBPS = 10
JOBS = ("cg", "ft", "is", "lu", "mg", "sp")
SEED = 1
FRAMES = 4000  # of a half hour, about: every pair of hosts sends a whole number
SECONDS = 1800.0
SHIFT_SECONDS = 4 * 3600.0
SPREADS = 10
MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC).timestamp()
TIMETABLE = """\
dwell_seconds: 10800
rules: [{when: "0 0 * * *", settings: all-on}]
reweave: auto
reweave_seconds: 1800
"""


def rack_fabric() -> Fabric:
    """Return the fabric of the rack, its links between switches slow: frames are few."""
    fabric = fabric_of(SHAPE)
    return fabric.with_speeds(dict.fromkeys(range(len(fabric.links)), LINK_MBPS))


def frames_of_jobs() -> list[NDArray[np.int64]]:
    """Return the frames that each job's hosts send in half an hour, int64[16, 16]."""
    chance = np.random.default_rng(SEED)
    found = []
    for name in JOBS:
        job, where = program(name, 1.0), chance.permutation(RANKS)
        frames = np.zeros((RANKS, RANKS))
        frames[np.ix_(where, where)] = job * FRAMES / job.sum()
        found.append(np.rint(frames).astype(np.int64))
    return found


def throughput_mbps(octets: float, busiest_seconds: float) -> float:
    """Return the throughput of traffic whose busiest port or channel is busy for so long, in Mb/s."""
    return 8e-6 * octets / busiest_seconds


def throughput_of(flows: Flows) -> float:
    """Return the throughput of flows while their busiest channel never rests, in Mb/s."""
    length = np.diff(flows.first)
    carried = np.bincount(flows.channel, np.repeat(flows.volume_bytes, length), len(flows.capacity_bps))
    return throughput_mbps(flows.volume_bytes.sum(), float((8 * carried / flows.capacity_bps).max()))


def beside(fabric: Fabric) -> tuple[list[dict[str, Any]], int]:
    """Return for each job the throughputs in Mb/s that are computed, and how many of the spreads close a cycle.

    By kind: the static plan, the one for load, ECMP-like spreading by seed, and what no paths exceed.
    """
    pairs = {}
    for prefer in ("vlans", "load"):
        routes = plan(fabric, ROOT / "templates", prefer=prefer, texts=False)[0].routes
        pairs[prefer] = flows_of(fabric, routes, 1.0 - np.eye(RANKS))
    spread, cyclic = zip(*(spread_at_random(fabric, pairs["vlans"], seed) for seed in range(SPREADS)), strict=True)
    found = []
    for frames in frames_of_jobs():
        volume = frames * float(FRAME_OCTETS)
        found.append(
            {
                "static": throughput_of(of_interval(pairs["vlans"], volume)),
                "balanced": throughput_of(of_interval(pairs["load"], volume)),
                "spread": [throughput_of(of_interval(flows, volume)) for flows in spread],
                "bound": throughput_mbps(volume.sum(), 8e-9 * any_bound(fabric, volume)),
            }
        )
    return found, sum(cyclic)


@dataclass(frozen=True)
class Counted:
    """What ports counted over a time: octets that reached hosts, and the seconds that the busiest port sent for."""

    octets: float
    busiest_seconds: float

    @property
    def mbps(self) -> float:
        """Return the throughput."""
        return throughput_mbps(self.octets, self.busiest_seconds)


def together(counted: Sequence[Counted]) -> Counted:
    """Return what ports counted over several times, one after another."""
    return Counted(sum(each.octets for each in counted), sum(each.busiest_seconds for each in counted))


@dataclass
class Meter:
    """Reads what every port of the rack has sent since it was read last, over SNMP."""

    fabric: Fabric
    read: Callable[[], dict[tuple[str, int], int]]
    _before: dict[tuple[str, int], int] = field(default_factory=dict)

    def passed(self) -> Counted:
        """Return what ports counted since the last time."""
        now = self.read()
        sent = {port: octets - self._before.get(port, 0) for port, octets in now.items()}
        self._before = now
        name = [switch.name for switch in self.fabric.switches]
        ends = [
            (8e-6 * sent[name[switch], port] / link.capacity_mbps())
            for link in self.fabric.links
            for switch, port in ((link.a, link.a_port), (link.b, link.b_port))
        ]
        return Counted(sum(sent[name[host.switch], host.port] for host in self.fabric.hosts), max(ends))


@dataclass
class QuickClock:
    """Jumps over every wait of half an hour, in which hosts send one job's frames; ends after the last job.

    `static` is what ports count while each job sends for half an hour before anything is woven, `run` what they count
    in each half hour of each job.
    """

    lab: Path
    meter: Meter
    jobs: Sequence[Sequence[tuple[str, str]]]
    static: list[Counted] = field(default_factory=list)
    run: list[list[Counted]] = field(default_factory=list)
    passed_seconds: float = 0.0

    def now(self) -> float:
        """Return the time of day, in seconds since the epoch."""
        return MIDNIGHT + self.passed_seconds

    def steady(self) -> float:
        """Return the seconds that have passed."""
        return self.passed_seconds

    def sleep(self, seconds: float) -> None:
        """Jump after the hosts have sent. Raises KeyboardInterrupt after the last job."""
        if seconds != SECONDS:
            raise SystemExit(f"a wait of {seconds} s, where half hours were expected")
        if not self.static:
            self.meter.passed()
            self.static = [self._send(job) for job in self.jobs]
            self.run = [[] for _ in self.jobs]
        number = int(self.passed_seconds // SHIFT_SECONDS)
        self.passed_seconds += seconds
        self.run[number].append(self._send(self.jobs[number]))
        if self.passed_seconds >= SHIFT_SECONDS * len(self.jobs):
            raise KeyboardInterrupt

    def _send(self, frames: Sequence[tuple[str, str]]) -> Counted:
        """Send frames through the rack, and return what its ports counted. Ends the program if one is lost."""
        if lost := process.ping(self.lab, pairs=frames)["lost"]:
            raise SystemExit(f"{lost} of {len(frames)} frames were lost")
        return self.meter.passed()


@contextlib.contextmanager
def apply_context(site: Site) -> Iterator[ApplyContext]:
    """Take the fabric's lock and open its journal, as `tagloom run` does for each change."""
    with Ansible(site) as ansible, open_context(ansible, "day", print) as context:
        yield context


def live(home: Path) -> tuple[QuickClock, list[str]]:
    """Live the day on a rack in a directory; return its clock, which has the counts, and what was reported."""
    process.up(Order(rack_fabric(), ROOT / "templates"), home / "lab")
    try:
        return _lived(home, home / "lab")
    finally:
        process.down(home / "lab")


def _lived(home: Path, lab: Path) -> tuple[QuickClock, list[str]]:
    (home / "day.yml").write_text(TIMETABLE, "utf-8")
    fabric, table = fabric_at(lab), read_timetable(home / "day.yml")
    settings = read_snmp_settings(lab / "snmp.yml", {}, None)
    agents = settings.agents(fabric)
    names = [host.name for host in fabric.hosts]
    jobs = [
        [(names[a], names[b]) for a, b in np.argwhere(frames) for _ in range(frames[a, b])]
        for frames in frames_of_jobs()
    ]
    reported: list[str] = []
    with (
        Snmp(settings.credentials, in_flight=16, timeout=5.0, retries=3) as snmp,
        contextlib.closing(TimetableMemory(home / "state.db")) as memory,
    ):

        def read() -> dict[tuple[str, int], int]:
            seen = observe_all(fabric, agents, snmp.ask)
            return {(name, port.number): port.out_octets or 0 for name, each in seen.items() for port in each.ports}

        clock = QuickClock(lab, Meter(fabric, read), jobs)
        controller = TimetableController(
            *(fabric, table, Site(lab, ROOT, dict(os.environ), "day"), apply_context, home / "state"),
            *(memory, clock, Watch(1e9, 1e8, 600, table.dwell_seconds), LoadProbe(agents, snmp.ask), None),
            lambda at, text: reported.append(f"{datetime.fromtimestamp(at, UTC):%H:%M} {text}"),
            lambda _: None,
            every_seconds=SECONDS,
            allow_interrupt=True,  # the rack is as from the factory
        )
        controller.reweaves = ReweaveWatch(
            *(table.reweave, fabric, ROOT / "templates", table.reweave_limits, table.dwell_seconds),
            *(
                controller.runs_and_protection,
                lambda text: controller.tell(clock.now(), text),
                controller.note_decision,
            ),
        )
        with contextlib.suppress(KeyboardInterrupt):
            controller.run()
    return clock, reported


HEADER = (
    "| job | static plan | static, `--prefer load` | `run`, four hours | `run`, last half hour | ECMP-like | no paths |"
)
TEXT = """
Written by `benchmarks/reweave_rack.py`: a 4x2 torus of PowerConnect 5324, two links of {link} Mb/s between neighbours,
two hosts a switch, real SSH, pushes and SNMP on loopback. `tagloom run` with `reweave: auto` lives 24 hours by a clock
that jumps over waits. Six NPB jobs run for four hours each, one after another, their ranks on hosts in any order
(seed {seed}). In each half hour the hosts send the job's matrix as some {frames:,} frames, one by one. None was lost.

{header}
|---|---|---|---|---|---|---|
{rows}

In Mb/s: the octets that reached hosts by the seconds that the busiest port needs for what it sent. Queues are not
played, so it is what the busiest link allows.

- **Counted by ports**: the static plan, which `run` pushed first, and `run`, which begins with it. Other paths come
  after two half hours of a job, or later where `dwell_seconds` are not over (three hours here). Whether a change pays
  is asked in seconds of the machine: on a busy one it can come half an hour later than below.
- **Computed** for the same frames: the other columns. ECMP-like is the mean of {spreads} seeds, the least to the
  greatest; {cycles} of {spreads} close a cycle of dependencies, so loss-free links could deadlock. The last column is
  what no paths exceed.
- Weaving for measured traffic gains over the static plan in every job. A plan for even load, made once, gains nearly as
  much; where hosts send to few others, as in cg, drawn paths can be as good.
- `run` chose by an estimate of who sent to whom, from the same counters. When it changed paths:

```text
{reported}
```
"""


def rack_page(clock: QuickClock, reported: Sequence[str]) -> str:
    """Return the part of the results page that says what the rack counted, beside what is computed."""
    computed, cycles = beside(rack_fabric())
    rows = [
        row(job, each, static.mbps, (together(counted).mbps, counted[-1].mbps))
        for job, each, static, counted in zip(JOBS, computed, clock.static, clock.run, strict=True)
    ]
    whole = together([half for job in clock.run for half in job]).mbps
    rows.append(row("all", over_the_day(computed), together(clock.static).mbps, (whole, None)))
    # Of the forecast gain the last digit differs from day to day: agents' clocks count hundredths of a second.
    woven = [(line[:5], line.partition(", for ")[2]) for line in reported if "woven anew" in line]
    changes = [f"{at} paths woven anew: {cost}" for at, cost in woven]
    return RACK + TEXT.format(
        link=LINK_MBPS,
        seed=SEED,
        frames=FRAMES,
        header=HEADER,
        rows="\n".join(rows),
        spreads=SPREADS,
        cycles=cycles,
        reported="\n".join(changes),
    )


def over_the_day(computed: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the throughputs of all jobs, one after another, by kind as `beside` has them."""
    octets = np.array([frames.sum() for frames in frames_of_jobs()], np.float64)

    def whole(mbps: NDArray[np.float64]) -> Any:
        return (octets.sum() / (octets / mbps.T).sum(axis=-1)).tolist()

    return {kind: whole(np.array([each[kind] for each in computed])) for kind in computed[0]}


def row(job: str, computed: dict[str, Any], static: float, woven: tuple[float, float | None]) -> str:
    """Return a row of the table; `static` and `woven` (all the time, last half hour) are what ports counted."""
    spread = computed["spread"]
    cells = ["" if each is None else f"{each:.0f}" for each in (static, computed["balanced"], *woven)]
    cells += [f"{np.mean(spread):.0f} ({min(spread):.0f} to {max(spread):.0f})", f"{computed['bound']:.0f}"]
    return f"| {job} | " + " | ".join(cells) + " |"


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        part = rack_page(*live(Path(home)))
    PAGE.write_text(PAGE.read_text("utf-8").partition(RACK)[0] + part, "utf-8")
    print(f"wrote the last part of {PAGE}")


if __name__ == "__main__":
    main()
