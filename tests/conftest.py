"""Templates and traffic matrices for every test; Hypothesis's profiles; campaigns only where they are asked for."""

import json
import random

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from fabrics import ROOT

settings.register_profile("tagloom", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
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
    "mutants", settings.get_profile("tagloom"), phases=[Phase.explicit, Phase.generate], print_blob=False
)
settings.load_profile("tagloom")


def pytest_addoption(parser):
    parser.addoption("--shuffle", type=int, metavar="SEED", help="files, and tests of a file, in an order by chance")


def pytest_report_header(config):
    return None if config.option.shuffle is None else f"order: --shuffle {config.option.shuffle}"


def pytest_collection_modifyitems(config, items):
    """Put tests into an order by chance where `--shuffle` asks; leave campaigns out unless `-m` asks for markers."""
    if config.option.shuffle is not None:  # a file's tests stay together, since they share racks
        chance = random.Random(config.option.shuffle)
        place = {path: chance.random() for path in dict.fromkeys(item.path for item in items)}
        chance.shuffle(items)
        items.sort(key=lambda item: place[item.path])
    if config.option.markexpr:
        return
    kept, left_out = [], []
    for item in items:
        (left_out if item.get_closest_marker("long") else kept).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


@pytest.fixture(scope="session")
def templates():
    return ROOT / "templates"


@pytest.fixture(scope="session")
def npb():
    return ROOT / "tests" / "data" / "npb"


@pytest.fixture
def answer(capsys):
    """Return what runs a command with --json: (exit status, the object)."""
    from tagloom.cli import main  # noqa: PLC0415 - most tests need no command

    def answer(*words):
        status = main([*map(str, words), "--json"])
        return status, json.loads(capsys.readouterr().out)

    return answer
