"""Live through days on sixteen switches by a clock of our own: tagloom run's controller, on the rack.

Run `PYTHONPATH=tests:tests/stories python tests/stories/days.py --days 5 -o days.jsonl`. Failures, returns, the
timetable, an operator, an abort and a push that breaks fall on seeded moments of each day. Switches are asked over
SNMP and set over SSH by Ansible, as by the command; hours pass at once, and a push takes none. After each look every
host sends to every other, and to all. A day is a line of JSON.
"""

import argparse
import contextlib
import json
import os
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import networkx as nx

from command_line.terminal import Terminal
from fabrics import ROOT
from fixtures.held_fabric import held_fabric
from tagloom import platforms
from tagloom.adapters.snmp import Snmp
from tagloom.adapters.timetable_memory import TimetableMemory
from tagloom.apply import abort
from tagloom.apply.site import Site
from tagloom.cli.keeping import warm
from tagloom.cli.screen import Screen
from tagloom.lab import process
from tagloom.observe import CARRIER, PASSING, observe_all
from tagloom.operate.clock import LoadProbe, TimetableController
from tagloom.operate.repair_runs import what_runs
from tagloom.operate.repair_watch import RepairWatch
from tagloom.platforms.grammar import switchwide
from tagloom.read import fabric_of, read_snmp_settings
from tagloom.read.timetable_file import read_timetable
from tagloom.records.change import difference
from tagloom.records.ownership import overlay
from tagloom.records.timetable import Watch
from tagloom.render import parse

MIDNIGHT = datetime(2026, 11, 20, 0, 0, tzinfo=UTC).timestamp()
DAY, LOOK = 86_400.0, 900.0  # seconds; how often it looks, at the clock and at what is dead
HOLD_SECONDS = 0.05  # by the agents' own clocks, which know of no virtual hours: what passes there between two looks
BOUND = 2 * LOOK  # within which pairs that cables join must work again
TIMETABLE = f"""rules:
- {{when: "0 20 * * *", settings: night.json}}
- {{when: "0 7 * * *", settings: all-on}}
repair: auto
repair_hold_seconds: {HOLD_SECONDS}
"""
ABORTED_AFTER = 4.0  # real seconds into a push


@dataclass
class Day:
    """What a day came to."""

    number: int
    seed: int
    happened: list = field(default_factory=list)
    narrated: list = field(default_factory=list)
    longest_cut_seconds: float = 0.0
    looks_with_cut: int = 0
    defects: list = field(default_factory=list)
    seconds: float = 0.0


class VirtualClock:
    """Jump over every wait; at given times, first do something, and after each look see how frames fare."""

    def __init__(self, days):
        self.days, self.at, self.passed = days, MIDNIGHT, 0.0

    def now(self):
        return self.at

    def steady(self):
        return self.passed

    def sleep(self, seconds):
        self.days.looked()
        self.passed += seconds
        self.at += seconds
        time.sleep(HOLD_SECONDS)  # agents' clocks count hundredths
        self.days.reached(self.at)


class Days:
    """A torus of sixteen switches, who keeps it, and what befalls it."""

    def __init__(self, home):
        self.terminal = Terminal(home)
        self.home, self.rack = home, self.terminal.rack
        self.terminal("new", "torus", "--dims", 4, 4, "-o", "f.yml")
        self.terminal("plan", "f.yml", "-o", "b")
        self.terminal("lab", "up", "f.yml")
        self.terminal("apply", "b", "--allow", "interrupt")
        self.fabric = fabric_of(self.rack)
        (home / "night.json").write_text(json.dumps({"method": "by hand", "off": list(self.wraps())}))
        (home / "day.yml").write_text(TIMETABLE)
        self.clock, self.day, self.actions = VirtualClock(self), None, []
        self.dead_links, self.dead_switches = set(), set()
        self.cut_since = None
        self.runs = 0

    def wraps(self):
        """Return the links that close the rings of a torus: without them it is a mesh."""
        for link in self.fabric.links:
            a, b = (self.fabric.switches[s] for s in (link.a, link.b))
            if any(abs(x - y) > 1 for x, y in zip(a.at, b.at, strict=True)):
                model = platforms.of(a)
                yield {"ends": [f"{a.name}:{model.port_name(link.a_port)}", f"{b.name}:{model.port_name(link.b_port)}"]}

    # --- what befalls it ---

    def drawn(self, seed):
        """List what happens on a day, as (seconds from midnight, what)."""
        chance = random.Random(seed)
        found = []
        for _ in range(chance.randint(1, 2)):
            begin = chance.uniform(1, 18) * 3600
            what = chance.choice([self.pull, self.pull, self.pull, self.kill])
            found += [(begin, what), (begin + chance.uniform(0.5, 4) * 3600, self.mend)]
        if chance.random() < 0.4:
            found.append((chance.uniform(8, 19) * 3600, self.operator))
        odd = chance.random()
        if odd < 0.35:  # just before the timetable's next change
            found.append((chance.choice([6.9, 19.9]) * 3600, self.trip))
        elif odd < 0.6:
            found.append((chance.choice([6.9, 19.9]) * 3600, self.aborted))
        found.append((22.9 * 3600, self.mend))
        self.chance = chance
        return sorted(found, key=lambda each: each[0])

    def note(self, what):
        self.day.happened.append(f"{datetime.fromtimestamp(self.clock.at, UTC):%H:%M} {what}")

    def pull(self):
        i = self.chance.randrange(len(self.fabric.links))
        link = self.fabric.links[i]
        name = self.fabric.switches[link.a].name
        port = platforms.of(self.fabric.switches[link.a]).port_name(link.a_port)
        process.fault(self.rack, name, "cable", port=port)
        self.dead_links.add(i)
        self.note(f"cable {name}:{port} pulled")

    def kill(self):
        s = self.chance.randrange(len(self.fabric.switches))
        process.fault(self.rack, self.fabric.switches[s].name, "reboot", lasts=36_000.0)
        self.dead_switches.add(s)
        self.note(f"switch {self.fabric.switches[s].name} died")

    def mend(self):
        if self.dead_links or self.dead_switches:
            process.mend(self.rack)
            self.dead_links, self.dead_switches = set(), set()
            self.note("all is back")

    def operator(self):
        """Read and look, as an operator does beside the daemon, and repair by hand."""
        for words in (["status", "-i", str(self.rack)], ["repair", "--hold", "0s", "-i", str(self.rack)]):
            status = self.command(*words)
            self.note(f"operator: {words[0]}: exit status {status}")

    def command(self, *words):
        """Run a command beside the controller, and return its exit status."""
        for status in (0, 1, 3):
            with contextlib.suppress(AssertionError):
                self.terminal(*words, expect=status)
                return status
        return 2

    def trip(self):
        name = self.chance.choice(self.fabric.switches).name
        process.fault(self.rack, name, "drop-after", at=self.chance.randint(1, 10))
        self.note(f"{name} will hang up at a line")

    def aborted(self):
        """Ask whatever runs at the timetable's next change to stop, as `tagloom abort` does."""

        def stop():
            end = time.monotonic() + 120
            while time.monotonic() < end and not abort.at_work(self.site().home):
                time.sleep(0.2)
            time.sleep(ABORTED_AFTER)
            abort.ask_to_stop(self.site().home, now=False)

        threading.Thread(target=stop, daemon=True).start()
        self.note("the next push will be aborted")

    # --- how it fares ---

    def reached(self, at):
        """Do what is due."""
        while self.actions and self.actions[0][0] <= at:
            self.actions.pop(0)[1]()
        if not self.actions and at >= self.end:
            raise KeyboardInterrupt

    def looked(self):
        """See which pairs that cables join fail after a look, and for how long they do."""
        ping, heard = process.ping(self.rack), process.broadcast(self.rack)
        joined = self.joined()
        lost = [pair for pair in ping["lost_pairs"] if joined(*pair)]
        if storm := ping["storm"] or heard["storm"]:
            self.day.defects.append(f"STORM at {self.clock.at}: {storm}")
        if not lost:
            self.cut_since = None
            return
        self.day.looks_with_cut += 1
        self.cut_since = self.clock.at if self.cut_since is None else self.cut_since
        cut = self.clock.at - self.cut_since
        self.day.longest_cut_seconds = max(self.day.longest_cut_seconds, cut)
        if cut > BOUND:
            when = f"{datetime.fromtimestamp(self.clock.at, UTC):%H:%M}"
            self.day.defects.append(f"CUT {len(lost)} pairs at {when} for {cut:.0f} s: {lost[:3]}")

    def joined(self):
        """Return what tells whether cables join two hosts: those of links that are off too."""
        graph = nx.Graph()
        graph.add_nodes_from(set(range(len(self.fabric.switches))) - self.dead_switches)
        for i, link in enumerate(self.fabric.links):
            if i not in self.dead_links and link.a in graph and link.b in graph:
                graph.add_edge(link.a, link.b)
        part = {s: number for number, those in enumerate(nx.connected_components(graph)) for s in those}
        at = {host.name: host.switch for host in self.fabric.hosts}
        return lambda a, b: at[a] in part and part.get(at[a]) == part.get(at[b], -1)

    def evening(self):
        """See that the journal and the switches agree."""
        with held_fabric(self.site()) as here:
            unfinished = here.journal.unfinished(self.fabric.name)
            runs = what_runs(here)
        if unfinished is not None:
            self.day.defects.append(f"EVENING {unfinished.kind} {unfinished.name} is unfinished: {unfinished.standing}")
        texts = process.configurations(self.rack)
        held = parse(self.fabric, texts)[0]
        for s, switch in enumerate(self.fabric.switches):
            platform, used = platforms.of(switch), self.fabric.used_ports[s]
            wanted = overlay(held[switch.name], runs.state[switch.name], used, switchwide(platform))
            if runs.fabric.switches[s].up and (cells := difference(held[switch.name], wanted)):
                self.day.defects.append(f"EVENING {switch.name} is not as the journal says: {str(cells)[:300]}")

    # --- who keeps it ---

    def site(self):
        self.runs += 1
        return Site(self.rack, ROOT, dict(os.environ), f"days{self.runs}")

    def controller(self, snmp, memory, agents):
        """Return the controller and its repairs, as the command puts them together."""

        def tell(at, text):
            self.day.narrated.append(f"{datetime.fromtimestamp(at, UTC):%H:%M:%S} {text}")

        controller = TimetableController(
            *(
                self.fabric,
                read_timetable(self.home / "day.yml"),
                self.site(),
                held_fabric,
                self.home / "state",
                memory,
            ),
            *(self.clock, Watch(dwell_seconds=60), None, None, tell, lambda _status: None),
            every_seconds=LOOK,
        )
        controller.repairs = RepairWatch(
            *("auto", self.fabric, lambda judged: observe_all(judged, agents, snmp.ask, PASSING)),
            lambda judged, names: observe_all(judged, agents, snmp.ask, CARRIER, names),
            *(controller.next_site, held_fabric, self.clock.steady),
            *(lambda text: tell(self.clock.at, text), controller.note_decision, lambda _event: None),
            *(HOLD_SECONDS, LOOK),
        )
        return controller

    def live(self, number, seed):
        """Live through a day, from midnight to midnight, and return what it came to."""
        began, self.day = time.monotonic(), Day(number, seed)
        first = MIDNIGHT + number * DAY
        self.actions = [(first + at, what) for at, what in self.drawn(seed)]
        self.clock.at, self.end = max(self.clock.at, first), first + DAY
        settings = read_snmp_settings(self.rack / "snmp.yml", {}, None)
        with Snmp(settings.credentials, in_flight=8, timeout=2.0, retries=3) as snmp:
            while self.clock.at < self.end:
                with contextlib.closing(TimetableMemory(self.home / "state.db")) as memory:
                    agents = settings.agents(self.fabric)
                    controller = self.controller(snmp, memory, agents)
                    probe = LoadProbe(agents, snmp.ask)
                    with warm(controller, Screen(as_json=True), probe, lambda _name: None) as direct:
                        controller.repairs.direct = direct
                        with contextlib.suppress(KeyboardInterrupt):  # the day is over, or the push was aborted
                            controller.run()
        self.evening()
        self.day.seconds = time.monotonic() - began
        return self.day


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=1, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--minutes", type=float, default=1e9, metavar="M")
    parser.add_argument("-o", "--output", type=Path, default=Path("days.jsonl"))
    asked = parser.parse_args()
    end, wrong = time.monotonic() + 60 * asked.minutes, 0
    with tempfile.TemporaryDirectory(prefix="days-") as folder:
        days = Days(Path(folder))
        try:
            for number in range(asked.days):
                if time.monotonic() > end:
                    break
                day = days.live(number, asked.first + number)
                wrong += bool(day.defects)
                with asked.output.open("a") as file:
                    file.write(json.dumps(vars(day)) + "\n")
                print(
                    f"{day.seed:4} {day.seconds:4.0f} s  {'; '.join(day.happened)}",
                    *day.defects,
                    sep="\n  ",
                    flush=True,
                )
        finally:
            process.down(days.rack)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
