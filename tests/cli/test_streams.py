"""An exit status is the answer's, whatever becomes of the streams it is printed on."""

import argparse
import contextlib
import os
import shutil
import sys
import traceback
from pathlib import Path

import pytest

from tagloom.cli import main, parser

RING = "name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [3], parallel: 2}\n"
DAY = "# seconds: 43200\ntime,source,destination,bytes\n2026-11-20T00:00,h0,h1,1e6\n2026-11-20T12:00,h1,h2,1e6\n"
COMMANDS = {
    "--help": 0,
    "--version": 0,
    "plan --help": 0,
    "nothing": 2,
    "completion bash": 0,
    "new ring --dims 3": 0,
    "new ring --dims zero": 2,
    "plan f.yml -o p": 0,
    "plan f.yml -o p --json": 0,
    "plan missing.yml -o p": 2,
    "verify b": 0,
    "verify bad": 1,
    "verify bad --json": 1,
    "verify missing": 2,
    "rollout b b -o r": 0,
    "regulate f.yml --traffic pattern:uniform -o s.json": 0,
    "timetable f.yml --traffic day.csv -o t.yml": 0,
    "predict b": 0,
    "eee --phy 1000BASE-T --load 0.1 --timeout 0": 0,
    "export simgrid b": 0,
    "report b -o r.html": 0,
    "score --measured watts_after=1": 2,
    "fit --pairs missing": 2,
    "sweep missing": 2,
    "observe": 2,
    "discover --seed 127.0.0.1:9 --timeout 0.01 --retries 0": 2,
    "apply b": 2,
    "rollback": 2,
    "abort": 2,
    "run t.yml": 2,
    "lab status": 2,
    "measure power --meter csv:missing --seconds 1": 2,
    "adopt": 2,
    "backup": 2,
    "bootstrap f.yml": 2,
    "confirm": 2,
    "demo --help": 0,
    "docs": 0,
    "explain": 0,
    "docs index": 0,
    "hosts": 2,
    "import missing": 2,
    "init rack --force": 0,
    "init rack --switches 0": 2,
    "path b": 2,
    "paths": 0,
    "paths none": 2,
    "record s0": 2,
    "repair": 2,
    "replace s0": 2,
    "schema": 0,
    "status": 2,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    home = tmp_path_factory.mktemp("made")
    (home / "f.yml").write_text(RING)
    (home / "day.csv").write_text(DAY)
    with contextlib.chdir(home):
        assert main(["plan", "f.yml", "-o", "b"]) == 0
    shutil.copytree(home / "b", home / "bad")
    text = (home / "bad/configs/s0.cfg").read_text()
    (home / "bad/configs/s0.cfg").write_text(text.replace("general pvid 100", "general pvid 101"))
    return home


def forked(words, place, *, out, err):
    """Run a command in a fork, its streams as given: a descriptor, or None for closed; gives status and errors."""
    reading, telling = os.pipe()
    child = os.fork()
    if child == 0:
        status = 70
        try:
            os.chdir(place)
            telling = os.dup2(telling, 100)
            for number, name, stream in ((1, "stdout", out), (2, "stderr", err)):
                if stream is None:
                    os.close(number)
                    setattr(sys, name, None)  # as Python does where the shell closed it
                else:
                    os.dup2(stream, number)
                    setattr(sys, name, os.fdopen(number, "w", closefd=False))
            sys.stdin = sys.__stdout__ = sys.__stderr__ = None
            try:
                status = main(words)
            except SystemExit as error:
                status = error.code or 0
        except BaseException:  # noqa: BLE001 - the parent compares what is told
            os.write(100, traceback.format_exc().encode())
        finally:
            os._exit(status)
    os.close(telling)
    with os.fdopen(reading) as told:
        fault = told.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), fault


@pytest.fixture
def place(made, tmp_path):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


FEW = [
    "--help",
    "nothing",
    "new ring --dims 3",
    "verify b",
    "verify bad",
    "verify bad --json",
    "verify missing",
    "observe",
    "docs index",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [*FEW, *(pytest.param(each, marks=pytest.mark.long) for each in COMMANDS if each not in FEW)]
)
def test_the_status_is_the_answers(place, words):
    nobody, broken = os.pipe()
    os.close(nobody)
    full, void = os.open("/dev/full", os.O_WRONLY), os.open("/dev/null", os.O_WRONLY)
    streams = {
        "broken stdout": (broken, void),
        "both broken": (broken, broken),
        "closed stderr": (void, None),
        "both closed": (None, None),
        "full stdout": (full, void),
    }
    try:
        found = {name: forked(words.split(), place, out=out, err=err) for name, (out, err) in streams.items()}
    finally:
        for descriptor in (broken, full, void):
            os.close(descriptor)
    assert found == dict.fromkeys(streams, (COMMANDS[words], ""))


def test_every_command_is_among_them():
    every = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)).choices
    assert set(every) <= {words.split()[0] for words in COMMANDS}


def test_a_full_standard_output_is_told(place):
    with (place / "told").open("w+") as told, Path("/dev/full").open("w") as full:
        assert forked(["verify", "b"], place, out=full.fileno(), err=told.fileno()) == (0, "")
        told.seek(0)
        assert told.read().count("standard output: expected a place that can be written, actual [Errno 28]") == 1


@pytest.mark.parametrize(
    "words", [["plan", "\udcff.yml", "-o", "b"], ["new", "ring", "--dims", "3", "--name", "\udc80"]]
)
def test_words_that_are_no_text_are_refused(place, words, capsys, monkeypatch):
    monkeypatch.chdir(place)
    assert main(words) == 2
    assert "expected text in UTF-8" in capsys.readouterr().err
