"""A day of shifting traffic on a running rack: paths follow it by proven rollouts, and no frame is lost on the way."""

import contextlib
import os
import sqlite3
import time
from collections import Counter
from datetime import UTC, datetime

import pytest
from test_run_rack import FastClock

from fabrics import ROOT, make_fabric
from tagloom.adapters.clock_metrics import ClockMetrics
from tagloom.adapters.snmp import Snmp
from tagloom.adapters.timetable_memory import TimetableMemory
from tagloom.apply.site import Site
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.operate.clock import LoadProbe, TimetableController
from tagloom.operate.reweave_watch import ReweaveWatch
from tagloom.read import fabric_of, read_snmp_settings
from tagloom.read.timetable_file import read_timetable
from tagloom.records.timetable import Watch

pytestmark = pytest.mark.slow

MIDNIGHT = datetime(2026, 11, 20, 0, 1, tzinfo=UTC).timestamp()
HOUR = 3600.0
PART = 3  # hours, of a day of nine, that each couple sends
#: of the three hosts of s0, two at a time send to s1, over two links: any paths lead one of these couples over one link
COUPLES = (("h0", "h1"), ("h0", "h2"), ("h1", "h2"))
TIMETABLE = """\
dwell_seconds: 3600
rules: [{when: "0 0 * * *", settings: all-on}]
reweave: auto
reweave_seconds: 1800
"""


class BusyClock(FastClock):
    """Let the hosts of the rack send between two looks: every couple for its part of the day."""

    lab = None

    def sleep(self, seconds):
        hour = (self.at - MIDNIGHT) / HOUR
        couple = COUPLES[int(hour // PART) % 3]
        pairs = [(a, b) for a, b in zip(couple, ("h3", "h4"), strict=True)]
        process.ping(self.lab, pairs=pairs * 300)
        super().sleep(seconds)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Give the directory of a running ring of three, three hosts a switch, with two slow links between neighbours."""
    home = tmp_path_factory.mktemp("reweave")
    fabric = make_fabric("ring", 3, parallel=2, hosts=3, model="powerconnect-5324")
    (home / "day.yml").write_text(TIMETABLE)
    process.up(Order(fabric.with_speeds(dict.fromkeys(range(6), 10)), ROOT / "templates"), home / "lab")
    yield home
    process.down(home / "lab")


def together(lab, couple):
    """Count the frames of a couple over the channel that most of them share, of one frame each."""
    paths = process.trace(lab)
    channels = [path[:-1] for a, b in zip(couple, ("h3", "h4"), strict=True) for path in [paths[f"{a} {b}"]]]
    return max(Counter((switch, out) for path in channels for switch, _, out in path).values())


@contextlib.contextmanager
def controlled(home, hold_fabric, memory, clock, told, statuses):
    lab = home / "lab"
    fabric, table = fabric_of(lab), read_timetable(home / "day.yml")
    settings = read_snmp_settings(lab / "snmp.yml", {}, None)
    agents = settings.agents(fabric)
    with Snmp(settings.credentials, in_flight=8, timeout=1.0, retries=2, now=time.monotonic) as snmp:
        controller = TimetableController(
            *(fabric, table, Site(lab, ROOT, dict(os.environ), f"run{len(statuses)}"), hold_fabric, home / "state"),
            *(memory, clock, Watch(1e9, 1e8, 600, table.dwell_seconds), LoadProbe(agents, snmp.ask), None),
            lambda at, text: told.append(f"{datetime.fromtimestamp(at, UTC):%H:%M} {text}"),
            statuses.append,
            every_seconds=1800.0,
            allow_interrupt=True,  # the rack is as from the factory
        )
        controller.reweaves = ReweaveWatch(
            *(table.reweave, fabric, ROOT / "templates", table.reweave_limits, table.dwell_seconds),
            *(controller.runs_and_protection, lambda text: controller.tell(clock.at, text), controller.note_decision),
        )
        yield controller


@pytest.mark.daily
def test_paths_follow_a_day_of_shifting_traffic_and_no_frame_is_lost(home, hold_fabric):
    lab, told, statuses, shared = home / "lab", [], [], []

    def begin(_):
        process.traffic(lab, "start")

    def note(at):
        shared.append(together(lab, COUPLES[min(int((at - MIDNIGHT - 1) / HOUR // PART), 2)]))

    def day(begins, *actions):
        clock = BusyClock(MIDNIGHT + begins * HOUR, [(MIDNIGHT + hour * HOUR, what) for hour, what in actions])
        clock.lab = lab
        with contextlib.closing(TimetableMemory(home / "state.db")) as memory:
            with (
                controlled(home, hold_fabric, memory, clock, told, statuses) as controller,
                pytest.raises(KeyboardInterrupt),
            ):
                controller.run()
            return memory.standing()

    standing = day(0, (0.5, begin), (0.5, note), *((PART * part, note) for part in (1, 2, 3)))
    report = process.traffic(lab, "stop")
    assert shared == [2, 1, 1, 1]  # at first both share a channel; then, whoever sends, each has one of its own
    assert {kind: report[kind] for kind in ("lost", "duplicated", "flooded", "overheard", "storms")} == dict.fromkeys(
        ("lost", "duplicated", "flooded", "overheard", "storms"), 0
    )
    steps = [line for line in told if "woven anew" in line]
    assert len(steps) == len(standing.woven_at) == statuses[-1].reweave.changes > 1
    assert "paths woven anew: the busiest channel's load would fall by " in steps[0]
    assert steps[0].endswith("; changed 3 switches")
    with contextlib.closing(sqlite3.connect(home / "state.db")) as wire:
        kinds = Counter(kind for (kind,) in wire.execute("SELECT kind FROM event"))
    assert kinds == {"begun": 1, "done": 1, "reweave-begun": len(steps), "rewoven": len(steps)}
    metrics = ClockMetrics(None, home / "m.prom")
    metrics.show(statuses[-1])
    assert f"tagloom_run_reweaves_total {len(steps)}.0" in (home / "m.prom").read_text()

    # a restart knows that other paths run than the settings', and leaves them
    texts = process.configurations(lab)
    assert day(24, (24.6, lambda _: None)).woven == standing.woven
    assert "00:01 all-on: remembered; the switches hold it still" in told
    assert process.configurations(lab) == texts

    # who only wants proposals gets one, and nothing is sent
    (home / "day.yml").write_text(TIMETABLE.replace("auto", "propose"))
    apart = next(n for n, couple in enumerate(COUPLES) if together(lab, couple) == 2)  # of three over two links
    day(45 + PART * apart, (47.5 + PART * apart, lambda _: None))
    proposals = [line for line in told if "could be" in line]
    assert len(proposals) == 1
    assert proposals[0].endswith("; reweave: auto does it")
    assert process.configurations(lab) == texts
    assert not statuses[-1].reweave.changes
