"""A day by the clock on the rack: a cable breaks while links are off, and a rule that is due meanwhile waits."""

import contextlib
import os
import time
from datetime import UTC, datetime

import pytest

from command_line.terminal import Terminal
from fabrics import ROOT
from tagloom import pipeline
from tagloom.adapters.snmp import Snmp
from tagloom.adapters.timetable_memory import TimetableMemory
from tagloom.apply.site import Site
from tagloom.lab import process
from tagloom.observe import CARRIER, PASSING, observe_all
from tagloom.operate.clock import TimetableController
from tagloom.operate.repair_watch import RepairWatch
from tagloom.read import fabric_of, read_snmp_settings
from tagloom.read.timetable_file import read_timetable
from tagloom.records.timetable import Watch

pytestmark = pytest.mark.slow

HOLD_SECONDS = 0.05  # by the agents' own clocks: as much as passes there between two looks, on however fast a machine
NIGHT = ("s0:g2", "s1:g2", "s2:g2")  # one of the two links between any two switches
RULES = f"""repair: auto
repair_hold_seconds: {HOLD_SECONDS}
rules:
- {{when: "0 20 * * *", off: [{", ".join(NIGHT)}]}}
- {{when: "0 7 * * *", off: []}}
"""
EVENING = datetime(2026, 11, 20, 19, 55, tzinfo=UTC).timestamp()
HOUR, LOOK = 3600.0, 900.0


class FastClock:
    """Jump over every wait, and do something at given times; it ends where nothing is left to do."""

    def __init__(self, actions):
        self.at, self.actions = EVENING, list(actions)

    def now(self):
        return self.at

    def steady(self):
        return self.at - EVENING

    def sleep(self, seconds):
        self.at += seconds
        time.sleep(HOLD_SECONDS)  # the agents' clocks count hundredths
        while self.actions and self.actions[0][0] <= self.at:
            self.actions.pop(0)[1]()
        if not self.actions:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    """Start a ring of three with two links between neighbors, that runs a build."""
    terminal = Terminal(tmp_path_factory.mktemp("day"))
    (terminal.home / "day.yml").write_text(RULES)
    with terminal.double_ring(3):
        yield terminal


@pytest.mark.daily
def test_links_that_are_off_come_on_for_a_broken_cable_and_a_rule_waits_for_the_repair(terminal, hold_fabric):
    rack, fabric, told, seen = terminal.rack, fabric_of(terminal.rack), [], []
    settings = read_snmp_settings(rack / "snmp.yml", {}, None)
    agents = settings.agents(fabric)

    def look():
        state = pipeline.parse(fabric, process.configurations(rack))[0]
        on = [state[fabric.switches[link.a].name].enabled[link.a_port - 1] for link in fabric.links]
        seen.append((int(sum(on)), process.ping(rack)["lost"]))

    def tell(at, text):
        told.append(f"{datetime.fromtimestamp(at, UTC):%H:%M} {text}")

    clock = FastClock(
        [
            (EVENING + HOUR, look),  # 20:55: three links are off
            (EVENING + 3 * HOUR, lambda: process.fault(rack, "s0", "cable", port="g1")),
            (EVENING + 4 * HOUR, look),
            (EVENING + 12 * HOUR, look),  # 7:55: the rule of 7:00 waits
            (EVENING + 12.1 * HOUR, lambda: process.mend(rack)),
            (EVENING + 14 * HOUR, look),
        ]
    )
    with (
        Snmp(settings.credentials, in_flight=8, timeout=2.0, retries=3) as snmp,
        contextlib.closing(TimetableMemory(terminal.home / "state.db")) as memory,
    ):
        controller = TimetableController(
            *(
                fabric,
                read_timetable(terminal.home / "day.yml", fabric=fabric),
                Site(rack, ROOT, dict(os.environ), "r"),
            ),
            *(hold_fabric, terminal.home / "state", memory, clock, Watch(dwell_seconds=60), None, None),
            *(tell, lambda _status: None),
            every_seconds=LOOK,
        )
        controller.repairs = RepairWatch(
            *("auto", fabric, lambda judged: observe_all(judged, agents, snmp.ask, PASSING)),
            lambda judged, names: observe_all(judged, agents, snmp.ask, CARRIER, names),
            *(controller.next_site, hold_fabric, clock.steady, lambda text: tell(clock.at, text)),
            *(controller.note_decision, lambda _event: None, HOLD_SECONDS, LOOK),
        )
        with pytest.raises(KeyboardInterrupt):
            controller.run()
    on, lost = zip(*seen, strict=True)
    assert lost == (0, 0, 0, 0), told
    assert (on[0], on[-1]) == (3, 6), told
    assert on[1] == on[2] == 4, told  # the link beside the broken one, whose ports stay enabled
    assert not any("failed" in line for line in told), told
    changes = [line for line in told if "links off (" in line]
    assert [line[:5] for line in changes if "all-on" in line][-1] > "07:55", told
