"""tagloom run without switches: what it would do, by the clock, by jobs, and after a sleep; its files and metrics."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fabrics import ROOT, make_fabric
from tagloom.adapters.clock_metrics import ClockMetrics
from tagloom.adapters.timetable_memory import TimetableMemory
from tagloom.apply.site import Site
from tagloom.cli import main
from tagloom.errors import DeviceError, Finding, InputError, PlanError
from tagloom.operate.clock import Jobs, LoadProbe, TimetableController
from tagloom.operate.reweave_watch import ReweaveWatch
from tagloom.operate.reweaving import WovenPaths
from tagloom.pipeline.planning import plan
from tagloom.platforms.port_names import link_ends
from tagloom.read.requests import REQUEST_BYTES, mark_answered, requests_in
from tagloom.read.timetable_file import read_timetable
from tagloom.read.windows import MaintenanceWindows
from tagloom.records.observation import Observation
from tagloom.records.reweave import ReweaveLimits
from tagloom.records.timetable import ClockStatus, TimetableProgress, Watch

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC).timestamp()
HOUR = 3600.0


class FastClock:
    """Jump over every wait, doing something at given times; it ends where nothing is left to do."""

    def __init__(self, actions):
        self.passed = 0.0  # whatever the clock is set to
        self.at, self.actions = NOON, list(actions)

    def now(self):
        return self.at

    def steady(self):
        return self.passed

    def sleep(self, seconds):
        self.passed += seconds
        self.at += seconds
        while self.actions and self.actions[0][0] <= self.at:
            self.at = self.actions.pop(0)[1]() or self.at
        if not self.actions:
            raise KeyboardInterrupt


@pytest.fixture
def fabric():
    return make_fabric("ring", 4, parallel=2, model="powerconnect-5324")


@pytest.fixture
def home(tmp_path):
    """Write settings that leave links off (one of each pair at night), and a timetable of them."""

    def settings(path, *off):
        ends = [{"ends": [f"s{s}:g{p}", f"s{t}:g{q}"]} for s, p, t, q in off]
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"method": "by hand", "off": ends}))

    settings(tmp_path / "night.json", (0, 4, 1, 2), (1, 4, 2, 2), (2, 4, 3, 2), (3, 4, 0, 2))
    settings(tmp_path / "profiles" / "ft.json", (0, 4, 1, 2), (1, 4, 2, 2))
    settings(tmp_path / "profiles" / "is.json", (1, 4, 2, 2), (2, 4, 3, 2))
    rules = '- {when: "0 20 * * *", settings: night.json}\n- {when: "0 7 * * *", settings: all-on}\n'
    (tmp_path / "t.yml").write_text(rules)
    return tmp_path


def narrate(fabric, home, *actions, watch=None, windows=None):
    told, statuses = [], []
    with contextlib.closing(TimetableMemory(home / "state.db")) as memory:
        controller = TimetableController(
            *(fabric, read_timetable(home / "t.yml"), Site(home, ROOT, {}, "run"), None, home, memory),
            FastClock(actions),
            *(watch or Watch(dwell_seconds=900), None, Jobs(home / "requests", home / "profiles")),
            lambda at, text: told.append(f"{datetime.fromtimestamp(at, UTC):%d %H:%M:%S} {text}"),
            statuses.append,
            dry_run=True,
            windows=windows or MaintenanceWindows(),
        )
        with pytest.raises(KeyboardInterrupt):
            controller.run()
    return told, statuses


@pytest.mark.slow
def test_a_dry_run_says_what_would_be_done_and_after_a_sleep_only_what_should_hold(fabric, home):
    def asleep():
        return NOON + 60 * HOUR  # two nights are missed; it is midnight

    told, statuses = narrate(
        fabric, home, (NOON + 20 * HOUR, lambda: None), (NOON + 21 * HOUR, asleep), (NOON + 61 * HOUR, bool)
    )
    assert told == [
        "20 12:00:00 would change to all-on: 0 of 8 links off (the timetable; what runs is not known)",
        "20 20:00:00 would change to night.json: 4 of 8 links off (the timetable)",
        "21 07:00:00 would change to all-on: 0 of 8 links off (the timetable)",
        "23 00:00:00 would change to night.json: 4 of 8 links off (the timetable)",
    ]
    assert (statuses[-1].links_off, statuses[-1].scheduled) == (4, "night.json")
    assert statuses[-1].watts < statuses[-1].full_watts
    with contextlib.closing(TimetableMemory(home / "state.db")) as memory:
        assert (memory.standing(), memory.counts()) == (TimetableProgress(), (0, 0))  # nothing was remembered


@pytest.mark.slow
def test_links_go_off_in_maintenance_windows_alone_and_come_on_at_any_time(fabric, home):
    windows = MaintenanceWindows(ZoneInfo("UTC"), (("0 12 20 11 *", 1.0), ("0 22 * * *", 2.0)))
    told, _ = narrate(fabric, home, (NOON + 20 * HOUR, lambda: None), (NOON + 21 * HOUR, bool), windows=windows)
    assert told == [
        "20 12:00:00 would change to all-on: 0 of 8 links off (the timetable; what runs is not known)",
        "20 20:00:00 night.json: waits for a maintenance window, that of 2026-11-20 22:00 UTC",
        "20 22:00:00 would change to night.json: 4 of 8 links off (the timetable)",
        "21 07:00:00 would change to all-on: 0 of 8 links off (the timetable)",
    ]


def test_all_links_come_on_where_the_links_of_two_profiles_would_move_a_tagged_networks_tree(tmp_path):
    """Either of them keeps the tree; it would be another with the links that both of them leave on."""
    said = "networks: {compute: [h0, h2], storage: {hosts: [h1, h3], tagged: [h0, h4], vlan: 20}}\n"
    fabric = make_fabric("mesh", 3, 3, extra=said, model="powerconnect-5324")
    requests, profiles = tmp_path / "requests", tmp_path / "profiles"
    requests.mkdir()
    profiles.mkdir()
    for name, off in (("ft", (10, 11)), ("is", (7, 11))):
        ends = [{"ends": list(link_ends(fabric, i))} for i in off]
        (profiles / f"{name}.json").write_text(json.dumps({"method": "by hand", "off": ends}))
    (tmp_path / "t.yml").write_text('- {when: "0 20 * * *", settings: profiles/ft.json}\n')

    def ask(job, profile):
        return lambda: (requests / job).write_text(profile + "\n") and None

    told, _ = narrate(
        fabric, tmp_path, (NOON + 9 * HOUR, bool), (NOON + 9.1 * HOUR, ask("1", "is")), (NOON + 10 * HOUR, bool)
    )
    words = [line.partition("would change to ")[2].split(" links")[0] for line in told if "would" in line]
    assert words[-1].endswith("0 of 12"), words
    assert any(line.split(": ")[-1].startswith("2 of 12") for line in words), words


@pytest.mark.daily
@pytest.mark.slow
def test_jobs_have_the_links_of_all_their_profiles_until_they_end(fabric, home):
    requests = home / "requests"
    requests.mkdir()

    def ask(job, profile):
        return lambda: (requests / job).write_text(profile + "\n") and None

    told, statuses = narrate(
        fabric,
        home,
        (NOON + 9 * HOUR, ask("1", "ft")),
        (NOON + 10 * HOUR, ask("2", "is")),
        (NOON + 11 * HOUR, (requests / "1").unlink),
        (NOON + 11.1 * HOUR, (requests / "1").exists),
        (NOON + 11.2 * HOUR, ask("3", "../night")),
        (NOON + 11.3 * HOUR, ask("3", "ft")),
        (NOON + 12 * HOUR, bool),
    )
    words = [line.partition("would change to ")[2].split(" links")[0] for line in told if "would" in line]
    assert words == [
        "all-on: 0 of 8",
        "night.json: 4 of 8",
        "ft.json + night.json: 2 of 8",  # the links of both
        "ft.json + is.json + night.json: 1 of 8",
        "is.json + night.json: 2 of 8",
        "all-on: 0 of 8",  # a profile that nobody knows
        "ft.json + is.json + night.json: 1 of 8",
    ]
    assert any("a job asks for '../night', of which there are no settings here" in line for line in told)
    assert statuses[-1].jobs == 2


@pytest.mark.daily
@pytest.mark.slow
def test_slower_links_are_told_and_come_back_to_full_speed_where_no_settings_have_just_them(fabric, home):
    def slow(name, mbps):
        page = json.loads((home / "night.json").read_text())
        page["slowed"] = [{"ends": ["s0:g3", "s1:g1"], "mbps": mbps}, {"ends": ["s1:g3", "s2:g1"], "mbps": 110 - mbps}]
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(json.dumps(page))

    slow("night.json", 100)
    slow("profiles/ft.json", 10)
    slow("profiles/is.json", 100)
    requests = home / "requests"
    requests.mkdir()
    told, statuses = narrate(
        fabric,
        home,
        (NOON + 9 * HOUR, lambda: (requests / "1").write_text("ft") and None),
        (NOON + 10 * HOUR, (requests / "1").unlink),
        (NOON + 11 * HOUR, lambda: (requests / "2").write_text("is") and None),
        (NOON + 12 * HOUR, bool),
    )
    words = [line.partition("would change to ")[2].split(" (")[0] for line in told if "would" in line]
    assert words == [
        "all-on: 0 of 8 links off",
        "night.json: 4 of 8 links off, 2 slowed",
        "ft.json + night.json: 4 of 8 links off",  # neither has 100 Mb/s on both
        "night.json: 4 of 8 links off, 2 slowed",
        "is.json + night.json: 4 of 8 links off, 2 slowed",
    ]
    assert statuses[-1].links_off == 4


def test_what_was_begun_and_not_ended_leaves_unknown_what_runs(tmp_path):
    with contextlib.closing(TimetableMemory(tmp_path / "state.db")) as memory:
        memory.note(1.0, "begun", ("a",), "")
        memory.note(2.0, "done", ("a",), "")
        memory.remember(TimetableProgress(("a",), raised=True, busy_at=5.0, lowered_at=(1.0, 2.0)))
        with pytest.raises(InputError, match="no other tagloom that keeps it"):
            TimetableMemory(tmp_path / "state.db")
    with contextlib.closing(TimetableMemory(tmp_path / "state.db")) as memory:
        assert memory.standing() == TimetableProgress(("a",), raised=True, busy_at=5.0, lowered_at=(1.0, 2.0))
        assert memory.counts() == (1, 0)
        memory.note(3.0, "begun", ("b",), "")
    with contextlib.closing(TimetableMemory(tmp_path / "state.db")) as memory:
        assert memory.standing().settings == ()
        assert memory.standing().raised
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE x (y)")
    with pytest.raises(InputError, match="another program"):
        TimetableMemory(tmp_path / "other.db")


def test_what_repair_decides_is_kept_and_leaves_known_what_runs(memory):
    memory.remember(TimetableProgress(("night.json",)))
    memory.note(1.0, "done", ("night.json",), "the timetable")
    memory.note(2.0, "dead", ("s0:g1 - s1:g2",), "as SNMP shows it")
    assert (memory.standing().settings, memory.counts()) == (("night.json",), (1, 0))


def test_a_failed_change_is_tried_again_later_and_later(fabric, home, monkeypatch):
    tried = []

    def refuse(*_):
        tried.append(clock.at)
        raise PlanError("no")

    told = []
    clock = FastClock([(NOON + 600, bool)])
    with contextlib.closing(TimetableMemory(home / "state.db")) as memory:
        table, site = read_timetable(home / "t.yml"), Site(home, ROOT, {}, "run")
        words = (fabric, table, site, None, home, memory, clock, Watch(), None, None)
        controller = TimetableController(*words, lambda _, text: told.append(text), lambda _: None)
        monkeypatch.setattr(controller, "_lead", refuse)
        with pytest.raises(KeyboardInterrupt):
            controller.run()
        assert memory.counts() == (0, len(tried))
    assert [at - NOON for at in tried] == [0, 60, 180, 420]
    assert told[0] == "failed: no; tried again in 60 s"


class Regulated:
    """A keeper whose pushes are done by the test, each minute; the settings of the night hold from 12:15 to 14:00."""

    def __init__(self, fabric, home, memory, prepared=lambda _: 1, metrics=lambda _: None, every=60.0):
        (home / "t.yml").write_text(
            '- {when: "15 12 * * *", settings: night.json}\n- {when: "0 14 * * *", settings: all-on}\n'
        )
        self.told, self.pushed, self.load, self._push = [], [], 0.0, prepared
        self.clock = FastClock(())
        words = (fabric, read_timetable(home / "t.yml"), Site(home, ROOT, {}, "run"), None, home, memory, self.clock)
        jobs = Jobs(home / "requests", home / "profiles")
        watch = Watch(hold_seconds=600, dwell_seconds=900)
        self.controller = TimetableController(
            *(*words, watch, LoadProbe({}, lambda *_: {}), jobs, lambda _, text: self.told.append(text), metrics),
            every_seconds=every,
        )
        self.controller._look = lambda: (self.load, True)
        self.controller._lead = self.lead

    def lead(self, fabric, _):
        off = sum(not link.up for link in fabric.links)
        self.pushed.append((self.clock.passed, off))
        return self._push(off), False

    def run(self, *actions):
        self.clock.actions = list(actions)
        with pytest.raises(KeyboardInterrupt):
            self.controller.run()

    def sees(self, load):
        def see():
            self.load = load

        return see


@pytest.fixture
def memory(home):
    with contextlib.closing(TimetableMemory(home / "state.db")) as kept:
        yield kept


def test_links_come_on_at_once_after_a_change_that_failed_however_often_it_did(fabric, home, memory):
    """Going to the night's settings fails again and again; when load comes, nothing waits for the next try."""
    broken = [False]

    def prepared(off):
        if off or broken:
            raise PlanError("no")
        return 1

    broken.clear()
    regulated = Regulated(fabric, home, memory, prepared)

    def rush():
        regulated.load = 0.95
        broken.append(True)

    regulated.run((NOON + 4800, rush), (NOON + 4900, broken.clear), (NOON + 6000, bool))
    assert [at for at, off in regulated.pushed if off] == [900, 960, 1080, 1320, 1800, 2760, 4680]
    assert [at for at, off in regulated.pushed if not off] == [0, 4800, 4860, 4920]
    assert regulated.controller._standing.settings == ("all-on",)


def test_links_that_a_failed_change_left_down_come_on_without_waiting(fabric, home, memory):
    """The timetable ends the night's settings while the back-off after their failed change has long to go."""

    def prepared(off):
        if off:
            raise PlanError("no")
        return 1

    regulated = Regulated(fabric, home, memory, prepared)
    regulated.run((NOON + 7300, bool))
    assert regulated.pushed[-2:] == [(4680, 4), (7200, 0)]


class Offering(ReweaveWatch):
    """A comparison of paths that ends in an offer when the test says so, whatever was measured."""

    offers = 0

    def look(self, *_):
        self.offers, offered = max(self.offers - 1, 0), self.offers
        return WovenPaths(None, None, {}) if offered else None

    def forget(self):
        super().forget()
        self.forgotten = getattr(self, "forgotten", 0) + 1


class Rewoven(Regulated):
    """The same with other paths on offer; `answers` says what becomes of the attempts to lead to them."""

    def __init__(self, fabric, home, memory, *answers):
        self.answers, self.led = list(answers), []
        super().__init__(fabric, home, memory)
        words = (fabric, ROOT / "templates", ReweaveLimits(), 900.0, None, self.told.append, lambda *_: None)
        self.controller.reweaves = self.offering = Offering("auto", *words)

    def lead(self, fabric, regulated, woven=None, directory="build"):
        self.led.append((self.clock.passed, directory))
        if woven is not None and self.answers:
            raise self.answers.pop(0)
        return super().lead(fabric, regulated)

    def offer(self):
        self.offering.offers = 1


def test_other_paths_are_remembered_until_settings_change_and_waits_count_from_them(fabric, home, memory):
    rewoven = Rewoven(fabric, home, memory)
    rewoven.run((NOON + 120, rewoven.offer), (NOON + 200, bool))
    assert memory.standing().woven == "woven-1"
    assert memory.standing().changed_at == NOON + 120
    rewoven.run((NOON + 240, rewoven.offer), (NOON + 900, bool))
    assert memory.standing().woven == "woven-2"  # not over the build that runs
    rewoven.run((NOON + 4000, rewoven.offer), (NOON + 5000, bool))
    assert rewoven.led == [(0.0, "build"), (120.0, "woven-1"), (300.0, "woven-2"), (1200.0, "build")]
    standing = memory.standing()
    assert (standing.settings, standing.woven, len(standing.woven_at)) == (("night.json",), "", 2)
    assert rewoven.offering.offers == 1  # nobody asked while links were off


def test_paths_that_were_refused_leave_known_what_runs(fabric, home, memory):
    rewoven = Rewoven(fabric, home, memory, PlanError("no rollout proves"))
    rewoven.run((NOON + 120, rewoven.offer), (NOON + 600, bool))
    assert rewoven.told[-1] == "paths stay: no rollout proves"
    assert (memory.standing().settings, memory.standing().woven) == (("all-on",), "")
    assert len(rewoven.led) == 2  # once for the settings, once for the offer
    assert rewoven.offering.status.failures == 1


def test_after_paths_that_failed_on_their_way_those_of_the_settings_are_led_to(fabric, home, memory):
    rewoven = Rewoven(fabric, home, memory, DeviceError("s0", "vlan database", "it hung up"))
    rewoven.run((NOON + 120, rewoven.offer), (NOON + 600, bool))
    assert rewoven.led == [(0.0, "build"), (120.0, "woven-1"), (180.0, "build")]
    assert (memory.standing().settings, memory.standing().woven) == (("all-on",), "")
    assert memory.counts() == (2, 0)  # changes of settings alone


def test_traffic_that_cannot_be_measured_moves_nothing(fabric, memory):
    """A switch that does not answer, and a build that nobody has any more, are told once each; then all goes on."""
    told = []

    def runs():
        raise InputError([Finding("repair", "a build that tagloom apply has brought to the switches", "none")])

    watch = ReweaveWatch("auto", fabric, ROOT / "templates", ReweaveLimits(), 900.0, runs, told.append, memory.note)
    silent = {switch.name: Observation(switch.name, 0.0, error="no answer") for switch in fabric.switches}
    for at in range(0, 3600, 30):
        assert watch.look(float(at), silent, TimetableProgress(("all-on",))) is None
    assert told == ["paths stay: repair: expected a build that tagloom apply has brought to the switches, actual none"]
    build = plan(fabric, ROOT / "templates")[0]
    known: Any = SimpleNamespace(directory=ROOT, at_home=True, home=build, fabric=fabric)
    watch.runs = lambda: (known, "none")
    for at in range(3600, 7200, 30):
        assert watch.look(float(at), silent, TimetableProgress(("all-on",))) is None
    assert told[1:] == ["paths stay: the readings of ports: expected two readings or more of the fabric, actual one"]
    assert watch.status.why.startswith("the readings of ports")


def test_paths_that_were_begun_and_not_ended_leave_unknown_what_runs(memory):
    for last, known in (
        ("rewoven", True),
        ("reweave-begun", False),
        ("reweave-refused", True),
        ("reweave-failed", False),
        ("reweave-stopped", False),
        ("reweave-proposed", False),  # of which nothing follows: what was before it counts
    ):
        memory.remember(TimetableProgress(("all-on",), woven="woven-1", woven_at=(1.0,)))
        memory.note(2.0, last, ("all-on",), "")
        assert memory.standing() == TimetableProgress(("all-on",) if known else (), woven="woven-1", woven_at=(1.0,))


def test_a_clock_that_is_set_back_holds_nothing_up(fabric, home, memory):
    """The clock goes back by 30 days while load keeps links up; hold and dwell go by what has really passed."""
    month = 30 * 24 * HOUR
    regulated = Regulated(fabric, home, memory)
    regulated.run(
        (NOON + 1800, regulated.sees(0.9)),
        (NOON + 1860, lambda: regulated.clock.at - month),
        (NOON + 1920 - month, regulated.sees(0.0)),
        (NOON + 3600 - month, bool),
    )
    assert regulated.pushed == [(0, 0), (900, 4), (1800, 0), (2700, 4)]


def test_what_a_clock_ahead_remembered_holds_nothing_up(fabric, home, memory):
    """Links went off twelve times in a day that is to come: as far as that can be known, in the last one."""
    later = NOON + 30 * 24 * HOUR
    memory.note(later, "done", ("all-on",), "")
    memory.remember(
        TimetableProgress(("all-on",), raised=True, busy_at=later, changed_at=later, lowered_at=(later,) * 12)
    )
    regulated = Regulated(fabric, home, memory, every=600.0)
    regulated.run((NOON + 25 * HOUR, bool))
    assert regulated.pushed == [(0, 0), (24 * HOUR + 900, 4)]  # the first makes sure of what was remembered


def test_a_full_disk_ends_nothing_is_told_once_and_is_recovered_from(fabric, home, memory):
    """The state file cannot grow, and the metrics' directory is gone, while the settings change twice."""
    metrics = home / "metrics"
    metrics.mkdir()

    def fill():
        (pages,) = memory._file.wire.execute("PRAGMA page_count").fetchone()
        memory._file.wire.execute(f"PRAGMA max_page_count = {pages}")
        for size in (900, 90, 1):
            with contextlib.suppress(InputError):
                while True:
                    memory.note(0.0, "failed", ("x" * size,), "")
        shutil.rmtree(metrics)

    def free():
        memory._file.wire.execute("PRAGMA max_page_count = 100000")
        metrics.mkdir()

    with contextlib.closing(ClockMetrics(None, metrics / "run.prom")) as shown:
        regulated = Regulated(fabric, home, memory, metrics=shown.show)
        regulated.run((NOON + 300, fill), (NOON + 7300, free), (NOON + 7500, bool))
    assert regulated.pushed == [(0, 0), (900, 4), (7200, 0)]
    assert memory.standing().settings == ("all-on",)
    for words in ("cannot be remembered", "remembered again", "cannot be shown"):
        assert sum(words in each for each in regulated.told) == 1, regulated.told
    assert 'settings="all-on"' in (metrics / "run.prom").read_text()


# --- the directory of requests ----------------------------------------------------------------------------------------


def test_links_pipes_and_others_files_ask_for_nothing(tmp_path):
    requests, secret = tmp_path / "requests", tmp_path / "secret"
    requests.mkdir()
    secret.write_text("root:hash")
    (requests / "1").write_text("ft\n")
    (requests / "2").symlink_to(secret)
    (requests / "3").mkdir()
    os.mkfifo(requests / "4")
    (requests / "5").write_text("x" * 100_000)
    (requests / ".6").write_text("is")
    assert requests_in(requests) == {"1": "ft", "5": "x" * REQUEST_BYTES}
    (tmp_path / "link").symlink_to(requests)
    assert requests_in(tmp_path / "link") == {}
    assert requests_in(tmp_path / "none") == {}


@pytest.mark.needs("root")
def test_in_a_directory_that_all_may_write_to_strangers_ask_for_nothing(tmp_path):
    requests = tmp_path / "requests"
    requests.mkdir()
    (requests / "ours").write_text("ft")
    (requests / "theirs").write_text("is")
    os.chown(requests / "theirs", 12345, 12345)
    assert set(requests_in(requests)) == {"ours", "theirs"}  # whoever the directory lets write
    requests.chmod(0o1777)
    assert set(requests_in(requests)) == {"ours"}


def test_marks_follow_no_links(tmp_path):
    requests, elsewhere = tmp_path / "requests", tmp_path / "elsewhere"
    requests.mkdir()
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("stays")
    (requests / ".answered").symlink_to(elsewhere)
    with pytest.raises(OSError, match="answered"):
        mark_answered(requests, ["1"])
    assert [path.name for path in elsewhere.iterdir()] == ["precious"]
    (requests / ".answered").unlink()
    mark_answered(requests, ["1", "2"])
    (requests / ".answered" / "3").symlink_to(elsewhere / "made")
    mark_answered(requests, ["2", "3"])
    assert sorted(path.name for path in (requests / ".answered").iterdir()) == ["2", "3"]
    assert not (elsewhere / "made").exists()


@pytest.mark.needs("root")
def test_marks_of_another_user_are_not_touched(tmp_path):
    marks = tmp_path / ".answered"
    marks.mkdir()
    (marks / "1").touch()
    os.chown(marks, 12345, 12345)
    with pytest.raises(PermissionError, match="another user's"):
        mark_answered(tmp_path, [])
    assert (marks / "1").exists()


def test_marks_that_cannot_be_made_end_nothing(fabric, home, memory):
    (home / "requests").mkdir()
    (home / "requests" / "1").write_text("ft")
    (home / "requests" / ".answered").symlink_to(home)
    regulated = Regulated(fabric, home, memory)
    regulated.run((NOON + 1000, bool))
    assert [off for _, off in regulated.pushed] == [0, 2]
    assert sum("cannot be marked" in each for each in regulated.told) == 1
    assert (home / "night.json").exists()


def test_switches_whose_watts_nobody_knows_are_regulated_and_have_no_metric_of_watts(home):
    bridges = make_fabric("ring", 4, parallel=2, model="linux-bridge")  # ports are numbered alike
    told, statuses = narrate(bridges, home, (NOON + 9 * HOUR, bool))
    assert told[-1] == "20 20:00:00 would change to night.json: 4 of 8 links off (the timetable)"
    assert (statuses[-1].watts, statuses[-1].full_watts) == (None, None)
    with contextlib.closing(ClockMetrics(None, home / "run.prom")) as metrics:
        metrics.show(statuses[-1])
    text = (home / "run.prom").read_text()
    assert "tagloom_run_links_off 4.0" in text
    assert "watts" not in text


def test_metrics_say_how_it_stands(tmp_path):
    file = tmp_path / "run.prom"
    with contextlib.closing(ClockMetrics(("127.0.0.1", 0), file)) as metrics:
        metrics.show(ClockStatus(1.0, ("a", "b"), "a", True, 3, 90.0, 100.0, None, 2, None, 5, 1))
        assert metrics.port > 0
    text = file.read_text()
    assert 'tagloom_run_settings{settings="a + b"} 1.0' in text
    assert "tagloom_run_links_off 3.0" in text
    assert "tagloom_run_changes_total 5.0" in text
    assert "busiest" not in text


def test_the_command_narrates_once_and_finds_everything_wrong_at_once(home, capsys):
    (home / "inventory").mkdir()
    shape = "name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [4], parallel: 2}\n"
    (home / "inventory" / "fabric.yml").write_text(shape)
    (home / "inventory" / "tagloom.yml").write_text("plugin: tagloom\nfabric: fabric.yml\n")
    words = ["run", str(home / "t.yml"), "-i", str(home / "inventory"), "--dry-run", "--once", "--no-watch", "--json"]
    assert main(words) == 0
    page = json.loads(capsys.readouterr().out)
    assert "would change to " in page["told"][0]["text"]
    assert not (home / "inventory" / "run").exists()
    (home / "night.json").write_text("{}")
    assert main([*words, "--every", "soon", "--hold", "-1", "--raise-above", "0.1", "--metrics-port", "x"]) == 2
    page = json.loads(capsys.readouterr().out)
    where = [each["where"].rpartition("/")[2] for each in page["findings"]]
    assert where == ["--every", "--lower-after", "--metrics-port", "--lower-below and --raise-above", "night.json: off"]
    (home / "night.json").write_text('{"method": "by hand", "off": []}')
    (home / "t.yml").write_text(f"reweave: auto\nrules:\n{(home / 't.yml').read_text()}")
    assert main(words) == 2  # traffic is not counted without a look at ports
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["where"], found["expected"]) == ("--no-watch", "reweave: off")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_told_to_and_when_its_terminal_hangs_up(home, number):
    (home / "inventory").mkdir()
    shape = "name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [4], parallel: 2}\n"
    (home / "inventory" / "fabric.yml").write_text(shape)
    (home / "inventory" / "tagloom.yml").write_text("plugin: tagloom\nfabric: fabric.yml\n")
    words = ["run", home / "t.yml", "-i", home / "inventory", "--dry-run", "--no-watch"]
    running = subprocess.Popen(
        [sys.executable, "-m", "tagloom.cli", *map(str, words)], stdout=subprocess.PIPE, env=os.environ, text=True
    )
    try:
        assert "would change to " in running.stdout.readline()
        running.send_signal(number)
        assert running.stdout.read().strip().endswith("told to end: ended")
        assert running.wait(30) == 0
    finally:
        running.kill()
        running.wait()


# --- Slurm ------------------------------------------------------------------------------------------------------------


SCRIPTS = ROOT / "roles" / "tagloom_run" / "files"


def slurm(script, requests, **environment):
    settings = {"TAGLOOM_REQUESTS": str(requests), "TAGLOOM_WAIT": "0"} | environment
    run = subprocess.run([SCRIPTS / f"slurm-{script}.sh"], env=settings, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def test_prolog_asks_and_epilog_takes_back(tmp_path):
    assert slurm("prolog", tmp_path, SLURM_JOB_ID="7", SLURM_JOB_NAME="x y", SLURM_JOB_COMMENT="tagloom:ft") == (0, "")
    assert (tmp_path / "7").read_text() == "ft\n"
    assert slurm("prolog", tmp_path, SLURM_JOB_ID="8_2", SLURM_JOB_NAME="is.C") == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["7", "8_2"]
    assert slurm("epilog", tmp_path, SLURM_JOB_ID="7") == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["8_2"]


@pytest.mark.parametrize("profile", ["", "../x", "a b", ".x", "$(id)", "a;b"])
def test_what_is_no_profile_asks_for_nothing(tmp_path, profile):
    assert slurm("prolog", tmp_path, SLURM_JOB_ID="7", SLURM_JOB_COMMENT=f"tagloom:{profile}") == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_a_job_never_fails_for_it(tmp_path):
    assert slurm("prolog", tmp_path / "none", SLURM_JOB_ID="7", SLURM_JOB_NAME="ft") == (0, "")
    assert slurm("prolog", tmp_path, SLURM_JOB_ID="../7", SLURM_JOB_NAME="ft") == (0, "")
    assert slurm("prolog", tmp_path, SLURM_JOB_ID="7", SLURM_JOB_NAME="ft", TAGLOOM_WAIT="long") == (0, "")
    assert slurm("epilog", tmp_path / "none", SLURM_JOB_ID="7") == (0, "")
    (tmp_path / ".answered").mkdir()
    (tmp_path / ".answered" / "7").touch()
    assert slurm("prolog", tmp_path, SLURM_JOB_ID="7", SLURM_JOB_NAME="ft", TAGLOOM_WAIT="60") == (0, "")


@pytest.mark.needs("shellcheck")
def test_the_scripts_are_clean_in_shellchecks_eyes():
    subprocess.run(["shellcheck", *sorted(SCRIPTS.glob("*.sh"))], check=True)
