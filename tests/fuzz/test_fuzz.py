"""No damaged file gives a traceback, a wrong status, or takes time or memory without bound."""

import contextlib
import os
import shutil
import time

import campaign as fuzz
import pytest
from campaign import campaign
from readers import READERS, Reader, make

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    home, whole = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("whole") / "files"
    with contextlib.chdir(home):
        make(home)
    shutil.copytree(home, whole)
    return home, whole


@pytest.fixture
def home(whole_files):
    home, whole = whole_files
    fuzz.renew(home, whole)  # a reader that crashed leaves its damaged file behind
    with contextlib.chdir(home):
        yield home


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_damaged_files_are_read_or_refused(home, reader):
    assert reader.read() not in (1, 2, 3), "the whole file is refused"
    assert campaign(reader, home, 0, range(6)) == []


@pytest.mark.long
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_many_damaged_files_are_read_or_refused(home, reader, pytestconfig):
    named = pytestconfig.getoption("shuffle")
    assert campaign(reader, home, int(time.time()) if named is None else named, range(300)) == []


SMALL = 1 << 26


def _forget():
    raise KeyError("forgotten")


def _wait():
    while True:
        pass


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (_forget, "KeyError at test_fuzz.py"),
        (_wait, "TimeoutError"),
        (lambda: bytearray(fuzz.MEMORY_BYTES), "MemoryError"),
        (lambda: bytearray(b"x") * (2 * SMALL), "memory grew"),
        (os.abort, "the process ended with -6"),
    ],
    ids=["fault", "endless", "memory", "growth", "crash"],
)
def test_a_reader_that_fails_is_found(home, monkeypatch, read, what):
    monkeypatch.setattr(fuzz, "SECONDS", 2)
    monkeypatch.setattr(fuzz, "GROWTH_BYTES", SMALL)
    ((seed, told),) = campaign(Reader("failing", "f.yml", read), home, 7, range(1))
    assert seed == "7.0"
    assert what in told


def test_a_mutation_is_known_by_its_seed():
    seeds = [f"fabric.0.{n}" for n in range(50)]
    first, again = (
        [fuzz.mutate(fuzz.random.Random(s), b'{"a": [1, "b"]}\n', binary=False) for s in seeds] for _ in "12"
    )
    assert first == again
    assert len(set(first)) > 25
