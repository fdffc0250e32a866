"""Change the code one place at a time, and see whether a test notices: `make mutants`.

The tree is copied, and only the copy is changed. For each mutant, the files of tests that cover its module are run one
after another, the quickest first, up to the first test that fails. Where none of them does, other tests that execute
the changed line follow, the quickest first, as many as OTHER_SECONDS allow. A mutant that
takes several times what the tests take, or more memory than they can want, is noticed. Ends with 1 where less than GOAL
of the mutants were noticed, equivalent ones (see survivors.yml) apart.
"""

import argparse
import ctypes
import difflib
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import contextmanager
from itertools import chain, zip_longest
from pathlib import Path

import hypothesis.extra.numpy  # noqa: F401 - as below
import networkx as nx  # noqa: F401 - as below
import numba  # loaded once, so that a mutant costs its tests and not the libraries
import numpy as np  # noqa: F401 - as above
import pytest
import scipy.optimize
import scipy.sparse.csgraph  # noqa: F401 - as above
import yaml

from covering import RECORDED, ROOMS, files_of, recorded_tests, tests_of
from executed import Recorder, chosen
from places import mutants, sample

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("tooling") / "tagloom"
GOAL = 0.95
MEMORY = 12 << 30  # bytes of addresses, of which libraries reserve some
SLACK = 5  # times the CPU seconds that the tests take by themselves; a loop without end is found by those
PATIENCE = 15  # times those CPU seconds, by the clock: where a mutant waits for what never comes
OTHER_SECONDS = 20  # of tests in RECORDED, by their own times, for one mutant, three at least
ABOUT = """\
Made by `{command}`: of {places} places where one of cosmic-ray's operators, or the
removal of a statement, changes what the code says, a sample, as many in each part of the code; one change at each
place, drawn alike. The tests that cover a part are those of `tests/mutants/covering.py`, not the whole suite."""
NOTICED, BY_TIME, SURVIVED, UNCLEAR = "noticed", "noticed by time", "survived", "unclear"


class Copy:
    """The copied tree, and pytest in it."""

    def __init__(self, root):
        self.root, self.changes = root, 0
        listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
        for name in filter(None, names):
            if (ROOT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes((ROOT / name).read_bytes())
        (root / ".tmp").mkdir()
        self.environment = {
            "PYTHONPATH": str(root / "tooling"),
            "NUMBA_CACHE_DIR": str(root / ".numba"),
            "TMPDIR": str(root / ".tmp"),
            "TAGLOOM_WAVES": "600",  # of the campaign in tests/rollout/test_wave_proof.py
            "TAGLOOM_MUTANTS": str(root),  # by which what a run leaves behind is known
        }

    @contextmanager
    def changed(self, module, text):
        """Put a mutant in the place of a module, with caches of its own.

        Python and numba tell by a file's time, in seconds, and size whether what they compiled is still that file.
        """
        path, cache = self.root / PACKAGE / module, self.root / ".numba"
        was, mutants_cache = path.stat(), self.root / ".numba-mutant"
        self.changes += 1
        try:
            if cache.exists():
                shutil.copytree(cache, mutants_cache)
            original = path.read_text()
            path.write_text(text)
            os.utime(path, (self.changes, self.changes))
            self.environment["NUMBA_CACHE_DIR"] = str(mutants_cache)
            yield
        finally:
            path.write_text(original)
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
            self.environment["NUMBA_CACHE_DIR"] = str(cache)
            shutil.rmtree(mutants_cache, ignore_errors=True)

    def record(self, tests):
        """Run tests, and return which of them execute which lines, see `Recorder.write`."""
        recorded = self.root / ".recorded"
        _, _, out = self.test(tests, 3600.0, recorded)
        assert recorded.is_file(), f"nothing was recorded:\n{out}"
        found = json.loads(recorded.read_text())
        print(f"{len(found['seconds'])} tests recorded of {' '.join(tests)}; without:\n{out[-2000:]}", flush=True)
        return found

    def test(self, tests, seconds=600.0, recorded=None, clock=0.0):
        """Run tests up to the first that fails; return (pytest's exit status, CPU seconds, output).

        In a fork of this process, which has loaded the libraries already, but nothing of tagloom. `recorded` takes
        which lines each executes; `clock` are the seconds to wait for, PATIENCE times the others unless it is given.
        """
        with tempfile.TemporaryFile("w+") as out:
            if not (pid := os.fork()):
                status = 70
                try:
                    status = self._child(tests, SLACK * seconds, out, recorded)
                except BaseException:  # noqa: BLE001 - whatever it is, this process must not go on
                    traceback.print_exc()
                finally:
                    os._exit(status)
            ended = os.pidfd_open(pid)
            if not select.select([ended], [], [], clock or PATIENCE * seconds)[0]:
                os.kill(pid, signal.SIGKILL)
            os.close(ended)
            _, status, used = os.wait4(pid, 0)
            self.end_what_is_left()
            out.seek(0)
            return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, out.read()

    def _child(self, tests, seconds, out, recorded):
        """Run tests in a process of its own, and return pytest's exit status."""
        os.setsid()
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with its parent
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        os.chdir(self.root)
        os.environ.update(self.environment)
        tempfile.tempdir = None
        numba.config.reload_config()
        sys.path[:0] = [str(self.root / "tooling")]
        from tagloom import __file__ as found  # noqa: PLC0415 - the copy's

        assert Path(found).is_relative_to(self.root), f"the tests would import {found}"
        words = ["-q", "--tb=line", "--hypothesis-profile", "mutants", "-p", "no:cacheprovider"]
        words += ["-m", "not long and not (slow and rack)"]
        # plugins are imported once, before this process was made of the first
        words += ["-W", "ignore::pytest.PytestAssertRewriteWarning", *tests]
        if recorded is None:
            return pytest.main(["-x", *words])
        recorder = Recorder(self.root)
        status = recorder.run(words)
        recorder.write(self.root / PACKAGE, recorded)
        return status

    def end_what_is_left(self):
        """End what runs of this copy left behind, such as racks."""
        mark = f"TAGLOOM_MUTANTS={self.root}".encode()
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in environ.read_bytes().split(b"\0"):
                    os.kill(int(environ.parent.name), signal.SIGKILL)
            except OSError:  # another's, or gone
                continue


class Judge:
    """What runs the tests of a mutant, each kind of tests once before anything is changed."""

    def __init__(self, copy, kept, texts, *, racks=True):
        self.copy, self.texts, self.racks, self.allowed = copy, texts, racks, {}
        self.kept, self.recorded = kept, json.loads(kept.read_text()) if kept and kept.exists() else {}

    def verdict(self, mutant):
        """Return (what became of a mutant, what it took, the tests' output)."""
        became, cpu, out, ran, began, tests = SURVIVED, 0.0, "", 0, time.monotonic(), ()
        for tests, seconds, clock in self._runs(mutant):
            with self.copy.changed(mutant.module, mutant.text(self.texts[mutant.module])):
                status, used, out = self.copy.test(tests, seconds, clock=clock)
            became, cpu, ran = verdict(status), cpu + used, ran + 1
            if became != SURVIVED:
                break
        took = f"{cpu:.0f} s of CPU, {time.monotonic() - began:.0f} s, {ran} runs, the last of {' '.join(tests[:3])}"
        return became, took, out

    def _runs(self, mutant):
        """Yield (tests, CPU seconds, seconds by the clock): files of its name, then the quickest."""
        files, room = files_of(self.copy.root, tests_of(mutant.module)), mutant.module.partition("/")[0]
        name = Path(mutant.module).stem
        for file in sorted(files, key=lambda file: (name not in file, self.allowed.get(file, float("inf")))):
            if seconds := self._whole(file):
                yield (file,), seconds, 0.0
        if room in RECORDED and self.racks:
            tests, taken = chosen(self._record(room), mutant, self.texts[mutant.module], OTHER_SECONDS, without=files)
            if tests:
                yield tests, taken + 10.0, 4 * taken + 60.0

    def _record(self, room):
        """Return which tests of a part execute which lines; parts with the same tests are recorded once."""
        tests = recorded_tests(room)
        key = " ".join(tests)
        if key not in self.recorded:
            self.recorded[key] = self.copy.record(tests)
            if self.kept:
                self.kept.write_text(json.dumps(self.recorded))
        return self.recorded[key]

    def _whole(self, file):
        """Return the CPU seconds that a file's tests may take, with the compiling of loops; 0 where it has none."""
        if file not in self.allowed:
            status, cpu, out = self.copy.test((file,))
            assert status in {0, 5}, f"tests fail before anything is changed:\n{out}"
            self.allowed[file] = cpu + 5.0 if status == 0 else 0.0
            print(f"{cpu:7.1f} s of CPU  {file}", flush=True)
        return self.allowed[file]


def verdict(status):
    """Return what pytest's exit status tells: 0 all passed, 1 one failed, 2 could not be imported, 3 to 5 its own."""
    if status == 0:
        return SURVIVED
    if status in {-signal.SIGXCPU, -signal.SIGKILL}:
        return BY_TIME
    return UNCLEAR if status in {3, 4, 5} else NOTICED


def difference(before, after):
    """Return the lines that a mutant changes, as (before, after)."""
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""))[2:]
    return tuple(" ".join(line[1:].strip() for line in lines if line[0] == sign) for sign in "-+")


def page(rows, known, options, places, missed=frozenset()):
    """Write the results: scores by room, and every survivor with its reason; `missed` are keys that survived first."""
    scored = [row for row in rows if not (row["verdict"] == SURVIVED and known.get(row["key"], {}).get("equivalent"))]
    noticed = sum(row["verdict"] in {NOTICED, BY_TIME} for row in scored)
    since = sum(row["verdict"] in {NOTICED, BY_TIME} and tuple(row["key"]) in missed for row in scored)
    score = noticed / len(scored) if scored else 1.0
    others = (
        f" (goal {100 * GOAL:.0f} %). {len(rows) - len(scored)} more change nothing that can be seen and do not count."
    )
    lines = [
        "# Mutants: does a test fail when the code is changed?",
        "",
        ABOUT.format(command=command(options), places=places),
        "",
        f"{len(rows)} mutants of this sample were tried. **{noticed} of {len(scored)} noticed: {100 * score:.1f} %**"
        + others,
        *([f"{since} of those noticed survived when they were first tried: by tests written since."] if since else []),
        "",
        "| part | mutants | noticed | of these by time | equivalent | survived | score |",
        "|---|---|---|---|---|---|---|",
    ]
    scores = []
    for room in ROOMS:
        here = [row for row in rows if row["module"].startswith(f"{room}/")]
        count = Counter(row["verdict"] for row in here)
        good = sum(row["verdict"] in {NOTICED, BY_TIME} for row in here)
        alike = sum(row not in scored for row in here)
        left = len(here) - good - alike
        if not here:
            continue
        scores.append(good / (good + left) if good + left else 1.0)
        cells = (room, len(here), good, count[BY_TIME], alike, left, f"{100 * scores[-1]:.1f} %")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for title, wanted in (("Survivors", True), ("Equivalent", False)):
        lines += ["", f"## {title}", ""]
        for row in rows:
            if row["verdict"] in {NOTICED, BY_TIME} or (row in scored) is not wanted:
                continue
            reason = known.get(row["key"], {}).get("reason", "not looked at yet")
            lines.append(f"- `{row['module']}:{row['row']}` {row['verdict']}: {reason}")
            lines += ["  ```diff", f"  -{row['before']}", f"  +{row['after']}", "  ```"]
    return "\n".join(lines) + "\n", score, min(scores, default=1.0)


def command(options):
    """Return the words by which the sample is drawn again."""
    if not options.room:
        return f"make mutants SAMPLE={options.sample} SEED={options.seed}"
    rooms = " ".join(f"--room {room}={count}" if count else f"--room {room}" for room, count in options.room)
    return f"tests/mutants/run.py --sample {options.sample} --seed {options.seed} {rooms}"


def part(words):
    """Return a part of the code and how many mutants of it are to be tried, 0 = as many as of the others."""
    room, _, count = words.partition("=")
    if room not in ROOMS:
        raise argparse.ArgumentTypeError(f"no part: {room}")
    return room, int(count or 0)


def tell(row, known, took, out):
    """Print what became of a mutant."""
    said, key = row["verdict"], row["key"]
    if key in known:
        said += f" ({known[key]['reason']})" if said == SURVIVED else ", although survivors.yml lists it"
    print(f"{row['module']}:{row['row']} {said}, {took}\n  -{row['before']}\n  +{row['after']}", flush=True)
    if row["verdict"] == UNCLEAR:
        print(out[-2000:], flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=240, help="mutants, over all parts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", type=part, action="append", help="only these parts: NAME, or NAME=MUTANTS")
    parser.add_argument("-o", "--output", type=Path, help="write the results as Markdown")
    parser.add_argument("--recorded", type=Path, help="keep which tests execute which lines (JSON), for these sources")
    parser.add_argument("--kept", type=Path, help="go on with what this file holds, and add to it (JSON lines)")
    parser.add_argument("--again", action="store_true", help="try again what survived in that file, but equivalents")
    words = "leave out the tests that only a recorded run finds; what survives is for --again"
    parser.add_argument("--without-racks", action="store_true", help=words)
    options = parser.parse_args()
    listed = yaml.safe_load((Path(__file__).parent / "survivors.yml").read_text())
    known = {(entry["module"], entry["before"], entry["after"]): entry for entry in listed}
    rooms = dict(options.room or [(room, 0) for room in ROOMS])
    done, missed = {}, set()
    if options.kept and options.kept.exists():
        tried = [json.loads(line) for line in options.kept.read_text().splitlines()]
        missed = {tuple(row["key"]) for row in tried if row["verdict"] == SURVIVED}
        done = {tuple(row["key"]): row for row in tried}
        if options.again:
            alike = {key for key, entry in known.items() if entry.get("equivalent")}
            done = {key: row for key, row in done.items() if key in alike or row["verdict"] in {NOTICED, BY_TIME}}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(Path(folder).resolve())
        texts, drawn, places = {}, [], 0
        for room, count in rooms.items():
            every = []
            for path in sorted((copy.root / PACKAGE / room).rglob("*.py")):
                module = str(path.relative_to(copy.root / PACKAGE))
                texts[module] = path.read_text()
                every += mutants(module, texts[module])
            places += len({mutant.place for mutant in every})
            drawn.append(sample(every, count or options.sample // len(rooms), options.seed, texts))
        judge, rows, score, least = Judge(copy, options.recorded, texts, racks=not options.without_racks), [], 1.0, 1.0
        for mutant in filter(None, chain.from_iterable(zip_longest(*drawn))):  # all parts alike, should it be ended
            key = (mutant.module, *difference(texts[mutant.module], mutant.text(texts[mutant.module])))
            if key in done:
                rows.append(done[key] | {"key": key, "row": mutant.row})
                continue
            row = {"module": mutant.module, "row": mutant.row, "before": key[1], "after": key[2], "key": key}
            became, took, out = judge.verdict(mutant)
            rows.append(row | {"verdict": became, "operator": mutant.operator})
            if options.kept:
                with options.kept.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
            tell(rows[-1], known, took, out)
            shown, score, least = page(rows, known, options, places, missed)
            if options.output:
                options.output.write_text(shown)
        shown, score, least = page(rows, known, options, places, missed)
        if options.output:
            options.output.write_text(shown)
    print(
        f"{100 * score:.1f} % of {len(rows)} mutants noticed, equivalent ones apart, {100 * least:.1f} % or more in"
        f" each part; goal {100 * GOAL:.0f} %"
    )
    return int(score < GOAL)


if __name__ == "__main__":
    sys.exit(main())
