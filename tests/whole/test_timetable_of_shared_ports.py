"""A timetable where ports carry several networks: links go off and come on by the clock, and nobody is cut off."""

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fabrics import ROOT
from tagloom import pipeline
from tagloom.adapters.timetable_memory import TimetableMemory
from tagloom.apply.site import Site
from tagloom.lab import process
from tagloom.operate.clock import TimetableController
from tagloom.read import fabric_of
from tagloom.read.timetable_file import read_timetable
from tagloom.records.timetable import Watch

pytestmark = pytest.mark.slow

FABRIC = """name: lab
model: powerconnect-5324
shape: {family: ring, dims: [4], hosts: 2, parallel: 2}
networks: {compute: [h0, h2, h4, h6], storage: {hosts: [h1, h3], tagged: [h0, h4, h7], vlan: 20}, rest: {hosts: [h5]}}
"""
PAIRS = 4 * 3 + 5 * 4
HOUR = 3600.0


class FastClock:
    """Jump over every wait, and do something at given times; it ends where nothing is left to do."""

    def __init__(self, begin, actions):
        self.begin = self.at = begin
        self.actions = list(actions)

    def now(self):
        return self.at

    def steady(self):
        return self.at - self.begin

    def sleep(self, seconds):
        self.at += seconds
        while self.actions and self.actions[0][0] <= self.at:
            self.actions.pop(0)[1]()
        if not self.actions:
            raise KeyboardInterrupt


@pytest.mark.long
def test_links_go_off_at_night_and_come_on_in_the_morning_without_a_cut(terminal, hold_fabric):
    rows = [f"2026-11-20T{hour:02d}:00,h0,h2,{400e9 if 9 <= hour < 17 else 1e3}" for hour in range(24)]
    rows += [f"2026-11-20T{hour:02d}:00,h0@storage,h3,2000" for hour in range(24)]
    text = "# seconds: 3600\ntime,source,destination,bytes\n" + "\n".join(rows) + "\n"
    (terminal.home / "day.csv").write_text(text, "utf-8")
    page = terminal.answer("timetable", "f.yml", "--traffic", "day.csv", "-o", "week.yml")
    night = max(page["settings"], key=lambda each: each["links_off"])
    assert night["links_off"] >= 3
    fabric, told, off = fabric_of(terminal.rack), [], []

    def look():
        state = pipeline.parse(fabric, process.configurations(terminal.rack))[0]
        off.append(sum(not state[fabric.switches[link.a].name].enabled[link.a_port - 1] for link in fabric.links))
        assert terminal.heard() == (PAIRS, [])
        assert terminal.kept_apart()

    morning = datetime(2026, 11, 23, 12, 0, tzinfo=UTC).timestamp()  # busy
    table = read_timetable(Path(terminal.home / "week.yml"))
    with contextlib.closing(TimetableMemory(terminal.home / "state.db")) as memory:
        running = TimetableController(
            *(fabric, table, Site(terminal.rack, ROOT, dict(os.environ), "run"), hold_fabric, terminal.home, memory),
            FastClock(morning, [(morning + HOUR, look), (morning + 8 * HOUR, look), (morning + 24 * HOUR, look)]),
            *(Watch(dwell_seconds=60), None, None, lambda _at, text: told.append(text), lambda _status: None),
        )
        with pytest.raises(KeyboardInterrupt):
            running.run()
    assert off == [0, night["links_off"], 0], told
    assert not any("failed" in line for line in told), told
