"""What the threads of a push import while they run: nothing, in any family, whether a switch fails or not."""

import json
import os
import subprocess
import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

import pytest

from fabrics import make_fabric
from tagloom import pipeline
from tagloom.apply.playbook import Ansible
from tagloom.apply.site import Site
from tagloom.cli.applying import context_of
from tagloom.cli.screen import Screen
from tagloom.lab import process
from tagloom.lab.device import Quirks
from tagloom.lab.directory import Order
from tagloom.share import share_directory
from terminal import Terminal

SHARE = share_directory()
TEMPLATES = SHARE / "templates"
NAMES = ["s0", "s1", "s2", "s3", "s4"]
QUIRKS = {
    "s0": {"refuse_login": True},
    "s1": {"reject_line": "^name"},
    "s2": {"drop_after": 12},
    "s3": {"ignore_line": "pvid"},
    "s4": {"reject_line": "^bridge fdb"},
}

# Python runs a `sitecustomize` of PYTHONPATH at its start: so both are in ansible-playbook and all that it forks.
WATCH = """
import os, sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        process = getattr(sys.modules.get("multiprocessing.process"), "current_process", None)
        if process is not None and type(process()).__name__ == "ForkProcess":  # forked to speak to switches
            with open(os.environ["IMPORTS_SEEN"], "a") as file:
                file.write(name + "\\n")

sys.meta_path.insert(0, Watch())
"""
FAULT = """
import numpy

def union1d(*_):
    try:
        raise KeyError("username plant password " + "".join(("watch", "tower")))
    except KeyError as error:
        raise RecursionError("maximum recursion depth exceeded") from error

numpy.union1d = union1d
"""
SWITCHES = """switches:
  s0: {model: powerconnect-5324}
  s1: {model: powerconnect-5548}
  s2: {model: powerconnect-6248}
  s3: {model: n-series}
  s4: {model: linux-bridge}
"""


class Families(Terminal):
    """A running ring of a switch of every family, and a build of it."""

    def __init__(self, home):
        super().__init__(home)
        fabric = make_fabric("ring", 5, model="powerconnect-5324", extra=SWITCHES)
        build, proof, texts = pipeline.plan(fabric, TEMPLATES)
        pipeline.write_build(build, proof, texts, home / "a")
        for name, text in (("watch", WATCH), ("fault", FAULT)):
            (home / name).mkdir()
            (home / name / "sitecustomize.py").write_text(text)
        self.seen = home / "seen"
        process.up(Order(fabric, TEMPLATES), self.rack)

    def under(self, folder, *words, expect=0):
        """Run a command with a folder's sitecustomize in all its processes; gives its page and what it said."""
        environment = os.environ | {"PYTHONPATH": str(self.home / folder), "IMPORTS_SEEN": str(self.seen)}
        command = [sys.executable, "-m", "tagloom.cli", *words, "--json"]
        done = subprocess.run(command, env=environment, cwd=self.home, capture_output=True, text=True, check=False)
        assert done.returncode == expect, done.stdout + done.stderr
        return json.loads(done.stdout), done.stderr

    def imported(self):
        return sorted(set(self.seen.read_text().split())) if self.seen.exists() else []


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    made = Families(tmp_path_factory.mktemp("families"))
    yield made
    process.down(made.rack)


def test_the_watcher_sees_what_a_thread_imports(tmp_path, families):
    (tmp_path / "one.py").write_text(
        "from tagloom.adapters.worker_pool import run_parallel\n"
        "run_parallel(lambda name: lambda released: __import__('colorsys') and None, ['s0'])\n"
    )
    environment = os.environ | {"PYTHONPATH": str(families.home / "watch"), "IMPORTS_SEEN": str(tmp_path / "seen")}
    subprocess.run([sys.executable, tmp_path / "one.py"], env=environment, check=True)
    assert (tmp_path / "seen").read_text() == "colorsys\n"


def test_the_traceback_of_a_fault_of_ours_is_kept_without_what_was_read(families):
    page, _ = families.under("fault", "apply", "a", "--allow", "interrupt", expect=3)
    errors = {each["switch"]: each["error"] for each in page["outcomes"]}
    assert sorted(errors) == NAMES
    for name, error in errors.items():
        assert error.startswith("tagloom has a fault: RecursionError, traceback in ")
        (kept,) = [word.rstrip(";") for word in error.split() if word.endswith(f"faults/{name}.txt;")]
        text = Path(kept).read_text()
        assert "RecursionError: maximum recursion depth exceeded" in text
        assert "change.py" in text
        assert "KeyError\n" in text
        assert "watchtower" not in text
        assert Path(kept).stat().st_mode & 0o777 == 0o600


def test_nothing_is_imported_while_threads_speak_to_switches(families):
    """Where this fails, `tagloom.adapters.worker_pool.NEEDED_BY_THREADS` lacks what is named here."""
    process.quirks(families.rack, QUIRKS)
    assert families.under("watch", "apply", "a", "--allow", "interrupt", expect=3)[0]["failed"] == NAMES
    process.quirks(families.rack, {"*": asdict(Quirks())})
    assert families.under("watch", "apply", "--resume")[0]["changed"] == NAMES
    assert families.imported() == []


def test_the_traceback_of_a_fault_of_the_command_is_kept_beside_its_runs(tmp_path, capsys):
    site = Site(tmp_path, SHARE, {}, "now")
    with (
        pytest.raises(ZeroDivisionError),
        context_of(Namespace(command="apply"), Screen(as_json=True), Ansible(site)),
    ):
        _ = 1 / 0
    kept = tmp_path / "runs/now-fault.txt"
    assert str(kept) in capsys.readouterr().err
    assert "_ = 1 / 0" in kept.read_text()
