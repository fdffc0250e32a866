"""Templates and traffic matrices for every test; Hypothesis's profiles; campaigns and outside programs on request."""

import gc
import io
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from contextlib import redirect_stdout, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

import needs
from fabrics import ROOT
from tagloom.graph import kernel as compiled_loops
from tagloom.lab import process as racks

pytest_plugins = ["fixtures.golden", "fixtures.held_fabric", "fixtures.netbox"]

# What is loaded and collected is never garbage: looked through again and again, it costs a third of a start.
gc.disable()
# Tests start some thousand processes, each of which would compile every module of tagloom again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile(
    "tagloom", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, max_examples=6
)
# `make test-long`: examples are drawn anew each time, and what failed once is kept and tried again.
# `derandomize` takes the database of failed examples away, and a profile made from another inherits that.
settings.register_profile(
    "explore",
    settings.get_profile("tagloom"),
    derandomize=False,
    max_examples=400,
    print_blob=True,
    database=DirectoryBasedExampleDatabase(ROOT / ".hypothesis" / "examples"),
)
# `make mutants`: that a law fails is all that is asked, not by how small an example.
settings.register_profile(
    "mutants",
    settings.get_profile("tagloom"),
    max_examples=100,
    phases=[Phase.explicit, Phase.generate],
    print_blob=False,
)
settings.load_profile("tagloom")

# The folders whose files take longest, on running racks: begun last, they would keep one process busy alone.
LONGEST_FIRST = ("apply", "faults", "whole", "run")
LATER = ("slow", "daily", "long")  # what `make test` leaves out
ENDS = pytest.StashKey()
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
# A file that each test's seconds are added to. Workers report to the process that started them, which alone writes, and
# what tests start is not counted.
DURATIONS = os.environ.pop("TAGLOOM_DURATIONS", "")
SECONDS = {}


def pytest_addoption(parser):
    parser.addoption("--shuffle", type=int, metavar="SEED", help="files, and tests of a file, in an order by chance")
    parser.addoption("--update-golden", action="store_true", help="write and remove the reviewed texts in tests/golden")
    parser.addoption("--judges", action="store_true", help="fail where an outside program that CI installs is missing")
    parser.addoption("--minutes", type=float, default=math.inf, metavar="M", help="begin no test after that time")


def pytest_configure(config):
    config.stash[ENDS] = time.monotonic() + 60 * config.option.minutes
    if config.option.judges:
        os.environ[needs.JUDGES] = "1"
    if config.getoption("numprocesses", None):  # before any of them begins, so that all find it
        from command_line.loaded import begin  # noqa: PLC0415 - it loads a third of tagloom

        begin()
    left_out = re.findall(r"not (\w+)", config.option.markexpr)
    for marker, module, name in (("kernel", compiled_loops, "_compile"), ("rack", racks, "up")):
        if marker in left_out:
            setattr(module, name, refusal(marker, name))


def refusal(marker, name):
    """Return a function that fails the test calling it, because the test lacks a marker that the run leaves out."""

    def refuse(*_arguments, **_options):
        raise AssertionError(f"{name} is called: this test needs the marker `{marker}`")

    return refuse


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Skip or fail a test that lacks what it needs, by a mark, which names the test's own line; let racks be forked."""
    if time.monotonic() > item.config.stash[ENDS]:
        pytest.skip("the time that --minutes gives is over")
    reason, fails = needs.first_missing(name for marker in item.iter_markers("needs") for name in marker.args)
    if fails:
        pytest.fail(reason, pytrace=False)
    if reason:
        item.add_marker(pytest.mark.skip(reason=reason))
    elif item.get_closest_marker("rack"):
        from command_line.loaded import use  # noqa: PLC0415 - as above

        use()


def pytest_runtest_logreport(report):
    """Add up the seconds of a test's set-up, call and teardown, and write them when it ends."""
    if not DURATIONS or WORKER:
        return
    SECONDS[report.nodeid] = SECONDS.get(report.nodeid, 0.0) + report.duration
    if report.when == "teardown":
        row = {"test": report.nodeid, "seconds": round(SECONDS.pop(report.nodeid), 3)}
        with Path(DURATIONS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def pytest_report_header(config):
    return None if config.option.shuffle is None else f"order: --shuffle {config.option.shuffle}"


def pytest_collection_modifyitems(config, items):
    """Mark laws and tests with racks; sort: longest first, or shuffled; without `-m`, leave out what comes later."""
    seen = {}
    for item in items:
        if item.path.parent.name == "laws":
            item.add_marker("law")
        if starts_racks(item, seen):
            item.add_marker("rack")
    items.sort(key=lambda item: item.path.parent.name not in LONGEST_FIRST)
    if config.option.shuffle is not None:  # a file's tests stay together, since they share racks
        chance = random.Random(config.option.shuffle)
        place = {path: chance.random() for path in dict.fromkeys(item.path for item in items)}
        chance.shuffle(items)
        items.sort(key=lambda item: place[item.path])
    if config.option.markexpr:
        return
    kept, left_out = [], []
    for item in items:
        later = any(item.get_closest_marker(marker) for marker in LATER)
        (left_out if later else kept).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def starts_racks(item, seen):
    """Return whether a test's module, or the module of one of its fixtures, imports what starts a rack.

    `seen` keeps the answer for each module, by the identity of its globals.
    """
    fixtures = [each[-1].func for each in item._fixtureinfo.name2fixturedefs.values()]
    modules = [vars(item.module), *(getattr(fixture, "__globals__", globals()) for fixture in fixtures)]
    for module in modules:
        if id(module) not in seen:
            starts = (thing is racks or getattr(thing, "__name__", "") == "Terminal" for thing in module.values())
            seen[id(module)] = module is not globals() and any(starts)
    return any(seen[id(module)] for module in modules)


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def templates():
    """Return the directory of the templates of all switch families."""
    return ROOT / "templates"


@pytest.fixture(scope="session")
def npb():
    """Return the directory of traffic matrices of the NAS Parallel Benchmarks."""
    return ROOT / "tests" / "data" / "npb"


@pytest.fixture(scope="session")
def descriptors():
    """Return what counts this process's descriptors of a file, or of a directory and what is in it.

    All descriptors of the process are no measure: garbage of earlier tests closes its own at any moment.
    """

    def descriptors(path):
        held = 0
        for each in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):  # the listing's own, or one just closed
                held += Path(each.readlink()).is_relative_to(path)
        return held

    return descriptors


@pytest.fixture
def executed(monkeypatch):
    """Let this process execute Ansible and racks as programs, as an operator's does: found by their command lines."""
    from command_line import loaded  # noqa: PLC0415 - it loads a third of tagloom

    monkeypatch.setattr(loaded.playbook, "subprocess", subprocess)
    monkeypatch.setattr(racks, "start", loaded.EXECUTE_RACK)


class Clock:
    """A clock that only a test moves, but for a millisecond at each look."""

    def __init__(self):
        self.now = 1_800_000_000.0

    def __call__(self):
        self.now += 1e-3
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """Return what `time.time` is during a test, so that it can compare times even if the machine's clock is set."""
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    return clock


@pytest.fixture
def answer(capsys):
    """Return what runs a command with --json: (exit status, the object)."""
    from tagloom.cli import main  # noqa: PLC0415 - most tests need no command

    def answer(*words):
        status = main([*map(str, words), "--json"])
        return status, json.loads(capsys.readouterr().out)

    return answer


@pytest.fixture
def run(capsys):
    """Return what runs a command in this process: (exit status, standard output, standard error)."""
    from tagloom.cli import main  # noqa: PLC0415 - as above

    def run(*words):
        status = main([str(word) for word in words])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def key_login(tmp_path):
    """Run an SSH server on loopback that accepts the key in the test's directory."""
    from fixtures.key_login import KeyLogin  # noqa: PLC0415 - asyncssh is heavy, and few tests log in

    login = KeyLogin(tmp_path)
    yield login
    login.close()


@pytest.fixture(scope="session")
def check_certificate():
    """Return what runs the stand-alone checker on a build with the standard library alone: (exit status, output)."""

    def check_certificate(build):
        words = [sys.executable, "-I", "-S", ROOT / "tooling" / "check_certificate.py", build]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return check_certificate


@pytest.fixture(scope="session")
def site(tmp_path_factory, npb):
    """Return a directory with a plan, settings for the night, the rollout between them and a timetable."""
    from tagloom.cli import main  # noqa: PLC0415 - as above

    home = tmp_path_factory.mktemp("report")
    choose = ["regulate", home / "f.yml", "--traffic", npb / "lu.S.16.matrix.csv", "--method", "greedy"]
    commands = [
        ["new", "torus", "--dims", "4", "4", "--parallel", "2", "-o", home / "f.yml"],
        ["plan", home / "f.yml", "-o", home / "b0"],
        [*choose, "--levels", "off,100", "-o", home / "night.json"],
        ["plan", home / "f.yml", "--settings", home / "night.json", "--previous", home / "b0", "-o", home / "b1"],
        ["rollout", home / "b0", home / "b1", "-o", home / "to-night"],
    ]
    with redirect_stdout(io.StringIO()):
        for words in commands:
            assert main([str(word) for word in words]) == 0
    rules = '- {when: "30 6 * * *", settings: all-on}\n- {when: "0 20 * * *", settings: night.json}\n'
    (home / "day.yml").write_text(rules)
    return home
