"""Set a running fabric and a rollout of it on a rack, strike, and judge what is left."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import yaml

from command_line import commands
from command_line.loaded import family, parent
from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access
from tagloom.apply.journal import SAVED, Journal
from tagloom.lab import process
from tagloom.platforms.grammar import switchwide
from tagloom.platforms.interpreter import Interpreter
from tagloom.read import read_fabric
from tagloom.records.change import difference
from tagloom.records.ownership import overlay
from tagloom.records.switch_state import SwitchEditor
from tagloom.render import read_state
from waiting import until

BAD = ("lost", "duplicated", "storms", "flooded", "overheard")
STRUCK_SECONDS = 120.0
ANSWER_SECONDS = 6.0  # of a switch; what takes longer has failed


def tagloom(home, *words, expect=(0,)):
    """Run one command to its end."""
    done = commands.run(words, home)
    assert done.returncode in expect, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    assert "has a fault" not in done.stderr, done.stderr
    return done


def command(*words):
    return [sys.executable, "-m", "tagloom.cli", *map(str, words)]


class Stage:
    """A rack that runs build `a`, and the rollout `r` to build `b`, which does without the link of s0's first port."""

    def __init__(self, home, *family):
        self.home = home
        tagloom(home, "new", *family, "-o", "f.yml")
        tagloom(home, "plan", "f.yml", "-o", "a", "--protect", "none")
        tagloom(home, "plan", "f.yml", "-o", "b", "--off", "s0:g1", "--previous", "a", "--protect", "none")
        tagloom(home, "rollout", "a", "b", "-o", "r")
        self.without_waits("r")
        self.rack = home / "rack"
        tagloom(home, "lab", "up", "f.yml", "--dir", "rack")
        self.fabric = read_fabric(home / "f.yml")
        self.names = [switch.name for switch in self.fabric.switches]
        self.ports = process.read_info(self.rack).ports
        tagloom(home, "apply", "a", "-i", "rack", "--allow", "interrupt")
        process.keep(self.rack)
        self.inventory = home / "inventory"

    def begin(self):
        """Go back to build `a`, with a journal that knows of nothing yet, and let the hosts send."""
        process.restore(self.rack)
        shutil.rmtree(self.inventory, ignore_errors=True)
        self.inventory.mkdir()
        for name in ("fabric.yml", "tagloom.yml", "known_hosts"):
            shutil.copy(self.rack / name, self.inventory / name)
        page = yaml.safe_load((self.rack / "group_vars/all.yml").read_text())
        page |= {"tagloom_answer_seconds": ANSWER_SECONDS, "tagloom_login_seconds": ANSWER_SECONDS}
        (self.inventory / "group_vars").mkdir()
        (self.inventory / "group_vars/all.yml").write_text(yaml.safe_dump(page))
        process.traffic(self.rack, "start")

    def without_waits(self, rollout):
        """Let a rollout's waves follow one another at once, a frame of the rack being never old: gives its page."""
        return self.with_waits(rollout, 0.0)

    def with_waits(self, rollout, seconds):
        """Let every wave of a rollout wait so long for old frames to leave: gives its page."""
        path = self.home / rollout / "rollout.json"
        page = json.loads(path.read_text())
        for wave in page["waves"]:
            wave["drain_seconds"] = seconds
        path.write_text(json.dumps(page))
        return page

    def __call__(self, *words, expect=(0,)):
        """Run a command on the switches; gives its page."""
        done = tagloom(self.home, *words, "-i", "inventory", "--json", expect=expect)
        return json.loads(done.stdout)

    def type(self, switch, *lines):
        """Change a switch by hand, and save it."""
        platform = platforms.of(self.fabric.switches[self.names.index(switch)])
        access = Access("127.0.0.1", self.ports[switch], "lab", "lab", known_hosts=str(self.rack / "known_hosts"))
        with connect(switch, platform, access) as wire:
            wire.send(lines)
            wire.save()

    def fault(self, switch, kind, **how):
        process.fault(self.rack, switch, kind, **how)

    def struck(self):
        return process.faults(self.rack)["struck"]

    def commands(self):
        """Count per switch what was typed since `begin`."""
        return {name: each["commands"] for name, each in process.status(self.rack)["switches"].items()}

    def wave(self):
        """Give the wave that the journal's newest run is in, 0 where there is none."""
        path = next(self.inventory.rglob("journal.db"), None)
        try:
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as wire:
                return wire.execute("select wave from runs order by id desc limit 1").fetchone()[0]
        except (sqlite3.Error, TypeError):  # not there yet
            return 0

    # --- processes ---

    def start(self, *words):
        """Start a command on the switches, and give its process."""
        words = command(*words, "-i", "inventory", "--json")
        log = (self.home / "started.log").open("w")
        with log:
            return subprocess.Popen(words, cwd=self.home, stdout=log, stderr=log, start_new_session=True)

    def wait_for_strike(self, running):
        """Wait until a fault has struck; False where the command ended before."""
        until(lambda: self.struck() or running.poll() is not None, seconds=STRUCK_SECONDS)
        return bool(self.struck())

    def speaker(self, root, switch):
        """List the process under `root` that holds the session to a switch; none where it has hung up."""
        inodes = set()
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if int(fields[2].rpartition(":")[2], 16) == self.ports[switch] and fields[3] == "01":
                inodes.add(f"socket:[{fields[9]}]")
        for pid in family(root)[1:]:
            with contextlib.suppress(OSError):
                if inodes & {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}:
                    return [pid]
        return []

    def worker(self, root, switch):
        """List Ansible's worker, which waits for those who speak to the switches."""
        return [parent(pid) for pid in self.speaker(root, switch)]

    # --- judgement ---

    def target(self, build):
        """Give what every switch must hold of a build, on top of what is others'."""
        return {name: (self.home / build / "configs" / f"{name}.cfg").read_text() for name in self.names}

    def texts_of(self, *waves):
        """Give what every switch must hold after each of these waves of the rollout."""
        return [{n: (self.home / f"r/waves/{wave}/{n}.cfg").read_text() for n in self.names} for wave in waves]

    def read(self, texts):
        """Parse configurations, of switches or of a build."""
        read = {}
        for name, ports, switch in zip(self.names, self.fabric.used_ports, self.fabric.switches, strict=True):
            read[name] = read_state(platforms.of(switch), texts[name], name, ports)[0]
        return read

    def differences(self, build, *, startup=False):
        """List what of a build is not on the switches, cell by cell."""
        running = self.read(process.configurations(self.rack, startup=startup))
        wanted = self.read(self.target(build))
        return {name: cells for name in self.names if (cells := self.missing(name, running[name], wanted[name]))}

    def check_frames(self, *, may_lose=()):
        """See that no frame was lost but to a fault of ours, none came twice, and nothing flooded or circled."""
        page = process.traffic(self.rack, "report")
        assert page["frames"] > 0
        assert [page[each] for each in BAD] == [0] * len(BAD), page["witnesses"][:5]
        assert {fault.split()[0] for fault in page["by_fault"]} <= set(may_lose), page["by_fault"]
        return page

    def check_sessions(self):
        """See that no switch ever had two sessions at once."""
        status = process.status(self.rack)["switches"]
        assert {name: each["most_sessions"] for name, each in status.items() if each["most_sessions"] > 1} == {}

    def check_journal(self, *, forgetful=()):
        """See that the journal tells the truth of the last wave it knows: gives the run, None where none was begun.

        A switch that it calls saved starts with that wave's end. Any other holds its wave's lines up to one of them,
        and not less than are counted as sent; `forgetful` ones, which rebooted or cheated, may hold less.
        """
        path = next(self.inventory.rglob("journal.db"), None)
        journal = Journal(path) if path else None
        if journal is None or not journal.runs():
            return None
        run = journal.runs()[0]
        running, starts = (self.read(process.configurations(self.rack, startup=startup)) for startup in (False, True))
        for row in journal.switches(run.id, run.wave):
            if not row.after:
                continue
            here = {**self.target("a"), row.switch: row.before}
            steps = self.steps(row.switch, self.read(here)[row.switch], row.lines)
            if row.state == SAVED:
                assert not self.missing(row.switch, starts[row.switch], steps[-1]), f"{row.switch} is called saved"
            elif row.switch not in forgetful:
                good = [not self.missing(row.switch, running[row.switch], step) for step in steps[row.sent :]]
                assert any(good), f"{row.switch} took less than {row.sent} of {row.lines}"
        return run

    def steps(self, switch, state, lines):
        """List what a switch holds before the first of some lines and after each."""
        editor = SwitchEditor.of(state)
        interpreter = Interpreter(platforms.of(self.fabric.switches[self.names.index(switch)]), editor)
        found = [state]
        for line in lines:
            interpreter.feed(line)
            found.append(editor.freeze())
        return found

    def missing(self, switch, running, wanted):
        """List what of a state is not on a switch, on all that tagloom owns."""
        at = self.names.index(switch)
        platform = platforms.of(self.fabric.switches[at])
        return difference(running, overlay(running, wanted, self.fabric.used_ports[at], switchwide(platform)))

    def check_end(self, build):
        """See that the fabric runs and starts with a build, and that every host reaches every other."""
        assert self.differences(build) == {}
        assert self.differences(build, startup=True) == {}
        ping = process.ping(self.rack)
        assert (ping["lost"], ping["storm"], ping["duplicated"]) == (0, "", [])


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
