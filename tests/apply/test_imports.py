"""What the threads of a push import while they run: nothing, in any family, whether a switch fails or not."""

import json
import os
import subprocess
import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

import pytest

from command_line.terminal import Terminal
from fabrics import make_fabric
from tagloom import pipeline, platforms
from tagloom.apply.playbook import Ansible
from tagloom.apply.site import Site
from tagloom.cli.applying import context_of
from tagloom.cli.screen import Screen
from tagloom.lab import process
from tagloom.lab.device import Quirks
from tagloom.lab.directory import Order
from tagloom.share import share_directory
from thinned import daily

SHARE = share_directory()
TEMPLATES = SHARE / "templates"
OLDER = {
    "s0": {"refuse_login": True},
    "s1": {"reject_line": "^name"},
    "s2": {"drop_after": 12},
    "s3": {"ignore_line": "pvid"},
    "s4": {"reject_line": "^bridge fdb"},
}
NEWER = {
    "s0": {"reject_line": "vlan"},
    "s1": {"reject_line": "vlan"},
    "s2": {"drop_after": 6},
    "s3": {"reject_line": "bridge vlan"},
    "s4": {"reject_line": "name"},
    "s5": {"refuse_login": True},
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
# By name: models, how they are planned, and how each fails.
RINGS = {
    "older": (["powerconnect-5324", "powerconnect-5548", "powerconnect-6248", "n-series", "linux-bridge"], {}, OLDER),
    "newer": (
        [
            "cisco-cbs350-24t-4g",
            "hpe-5130-24g-4sfp",
            "huawei-s5731-s24t4x",
            "mikrotik-crs326-24g-2s",
            "arista-7010t-48",
            "cisco-sg300-28",
        ],
        {"assignment": "pinned", "routing": "tree"},
        NEWER,
    ),
}


class Families(Terminal):
    """A running ring of a switch of several families, and a build of it."""

    def __init__(self, home, ring):
        super().__init__(home)
        models, options, self.quirks = RINGS[ring]
        self.names = [f"s{n}" for n in range(len(models))]
        switches = "".join(f"  {name}: {{model: {model}}}\n" for name, model in zip(self.names, models, strict=True))
        fabric = make_fabric("ring", len(models), model=models[0], extra=f"switches:\n{switches}")
        build, proof, texts = pipeline.plan(fabric, TEMPLATES, **options)
        pipeline.write_build(build, proof, texts, home / "a")
        for name, text in (("watch", WATCH), ("fault", FAULT)):
            (home / name).mkdir()
            (home / name / "sitecustomize.py").write_text(text)
        self.seen = home / "seen"
        process.up(Order(fabric, TEMPLATES), self.rack)
        process.keep(self.rack)

    def under(self, folder, *words, expect=0):
        """Run a command with a folder's sitecustomize in all its processes; gives its page and what it said."""
        environment = os.environ | {"PYTHONPATH": str(self.home / folder), "IMPORTS_SEEN": str(self.seen)}
        command = [sys.executable, "-m", "tagloom.cli", *words, "--json"]
        done = subprocess.run(command, env=environment, cwd=self.home, capture_output=True, text=True, check=False)
        assert done.returncode == expect, done.stdout + done.stderr
        return json.loads(done.stdout), done.stderr

    def imported(self):
        return sorted(set(self.seen.read_text().split())) if self.seen.exists() else []


@pytest.fixture(scope="module", params=daily(RINGS, 0))
def ring(request, tmp_path_factory):
    made = Families(tmp_path_factory.mktemp("families"), request.param)
    yield made
    process.down(made.rack)


@pytest.fixture
def families(ring):
    """The ring of all tests here, as it started."""
    ring.seen.unlink(missing_ok=True)
    return ring.fresh()


def test_the_watcher_sees_what_a_thread_imports(tmp_path, families):
    (tmp_path / "one.py").write_text(
        "from tagloom.adapters.worker_pool import run_parallel\n"
        "run_parallel(lambda name: lambda released: __import__('colorsys') and None, ['s0'])\n"
    )
    environment = os.environ | {"PYTHONPATH": str(families.home / "watch"), "IMPORTS_SEEN": str(tmp_path / "seen")}
    subprocess.run([sys.executable, tmp_path / "one.py"], env=environment, check=True)
    assert (tmp_path / "seen").read_text() == "colorsys\n"


@pytest.mark.slow
def test_the_traceback_of_a_fault_of_ours_is_kept_without_what_was_read(families):
    page, _ = families.under("fault", "apply", "a", "--allow", "interrupt", expect=3)
    errors = {each["switch"]: each["error"] for each in page["outcomes"]}
    assert sorted(errors) == families.names
    for name, error in errors.items():
        assert error.startswith("tagloom has a fault: RecursionError, traceback in ")
        (kept,) = [word.rstrip(";") for word in error.split() if word.endswith(f"faults/{name}.txt;")]
        text = Path(kept).read_text()
        assert "RecursionError: maximum recursion depth exceeded" in text
        assert "change.py" in text
        assert "KeyError\n" in text
        assert "watchtower" not in text
        assert Path(kept).stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_nothing_is_imported_while_threads_speak_to_switches(families):
    """Where this fails, `tagloom.adapters.worker_pool.NEEDED_BY_THREADS` lacks what is named here."""
    process.quirks(families.rack, families.quirks)
    assert families.under("watch", "apply", "a", "--allow", "interrupt", expect=3)[0]["failed"] == families.names
    process.quirks(families.rack, {"*": asdict(Quirks())})
    assert families.under("watch", "apply", "--resume")[0]["changed"] == families.names
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


def test_every_family_is_among_them():
    known = {platforms.load(model).grammar for models, _, _ in RINGS.values() for model in models}
    pushed = {platforms.load(model).grammar for model in platforms.models() if platforms.load(model).netmiko_driver}
    assert known == pushed
