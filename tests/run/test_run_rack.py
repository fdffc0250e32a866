"""A timetable of two settings on a running rack: links go off and slow, come on with load; a restart knows."""

import contextlib
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fabrics import ROOT
from tagloom.adapters.snmp import Snmp
from tagloom.adapters.timetable_memory import TimetableMemory
from tagloom.apply.site import Site
from tagloom.cli import main
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.observe import observe_all
from tagloom.operate.clock import Jobs, LoadProbe, TimetableController
from tagloom.read import fabric_of, read_fabric, read_snmp_settings
from tagloom.read.timetable_file import read_timetable
from tagloom.records.timetable import Watch

pytestmark = pytest.mark.slow

EVENING = datetime(2026, 11, 20, 20, 5, tzinfo=UTC).timestamp()


class FastClock:
    """Jump over every wait; at given times, first do something. It ends where nothing is left to do."""

    def __init__(self, begin, actions):
        self.passed = 0.0  # whatever the clock is set to
        self.at, self.actions = begin, sorted(actions, key=lambda each: each[0])

    def now(self):
        return self.at

    def steady(self):
        return self.passed

    def sleep(self, seconds):
        self.passed += seconds
        time.sleep(0.03)  # the agents' clocks count hundredths
        self.at += seconds
        while self.actions and self.actions[0][0] <= self.at:
            self.at = self.actions.pop(0)[1](self.at) or self.at
        if not self.actions:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Give the directory of a running ring of three, two links between neighbours, with settings for the night."""
    home = tmp_path_factory.mktemp("run")
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        assert main(["new", "ring", "--dims", "3", "--parallel", "2", "-o", str(home / "f.yml")]) == 0
        rows = ["# seconds: 86400", "source,destination,bytes", "h0,h1,1e6", "h1,h2,1e3", "h2,h0,1e3"]
        (home / "night.csv").write_text("\n".join([*rows, ""]))
        words = ["--traffic", str(home / "night.csv"), "--method", "greedy", "--levels", "off,100"]
        assert main(["regulate", str(home / "f.yml"), *words, "-o", str(home / "night.json")]) == 0
    rules = '- {when: "0 20 * * *", settings: night.json}\n- {when: "0 7 * * *", settings: all-on}\n'
    (home / "day.yml").write_text(rules)
    process.up(Order(read_fabric(home / "f.yml"), ROOT / "templates"), home / "lab")
    yield home
    process.down(home / "lab")


def test_links_go_off_by_the_clock_come_on_with_load_and_a_restart_knows(home, hold_fabric):
    lab = home / "lab"
    fabric = fabric_of(lab)
    settings = read_snmp_settings(lab / "snmp.yml", {}, None)
    agents = settings.agents(fabric)
    told, statuses, off, slow = [], [], [], []

    def note(_):
        seen = observe_all(fabric, agents, snmp.ask)
        ports = [(fabric.switches[link.a].name, link.a_port) for link in fabric.links]
        up = {(name, port.number): port.oper_up for name, each in seen.items() for port in each.ports}
        off.append(sum(not up[port] for port in ports))
        speed = {(name, port.number): port.speed_bps for name, each in seen.items() for port in each.ports}
        slow.append(sum(up[port] and speed[port] == 100e6 for port in ports))
        assert process.ping(lab)["lost"] == 0

    def controller(memory, *actions):
        site = Site(lab, ROOT, dict(os.environ), f"run{len(statuses)}")
        return TimetableController(
            *(fabric, read_timetable(home / "day.yml"), site, hold_fabric, home / "state", memory),
            FastClock(EVENING, actions),
            *(Watch(1e-7, 1e-8, hold_seconds=600, dwell_seconds=60), LoadProbe(agents, snmp.ask)),
            Jobs(home / "requests", home / "profiles"),
            lambda at, text: told.append(f"{datetime.fromtimestamp(at, UTC):%H:%M:%S} {text}"),
            statuses.append,
            allow_interrupt=True,  # the rack is as from the factory
        )

    with Snmp(settings.credentials, in_flight=8, timeout=1.0, retries=2) as snmp:
        with contextlib.closing(TimetableMemory(home / "state.db")) as memory:
            # at 20:09 links are off, and the frames of the ping are load: the look after it brings all up
            running = controller(memory, (EVENING + 240, note), (EVENING + 540, note))
            with pytest.raises(KeyboardInterrupt):
                running.run()
        with contextlib.closing(TimetableMemory(home / "state.db")) as memory:  # within the hold: still raised
            controller(memory).step()
            assert memory.counts() == (2, 0)
    assert (off, slow) == ([3, 0], [2, 0])
    assert [line.partition(" ")[0] for line in told[:3]] == ["20:05:00", "20:09:00", "20:09:00"]
    assert told[0].startswith("20:05:00 night.json: 3 of 6 links off, 2 slowed (the timetable; what runs is not known)")
    assert told[1].endswith("of its speed: all links come on")
    assert told[-1].endswith("all-on: remembered; the switches hold it still")
    assert (statuses[-1].raised, statuses[-1].links_off, statuses[-1].scheduled) == (True, 0, "night.json")
