"""What a command is told to write is written, also where the reader of its answer has gone (`| head`)."""

import os
import sys

import pytest

from tagloom.cli import main

pytestmark = pytest.mark.kernel

RING = "name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [3], parallel: 2}\n"
DAY = "# seconds: 43200\ntime,source,destination,bytes\n2026-11-20T00:00,h0,h1,1e6\n2026-11-20T12:00,h1,h2,1e6\n"


@pytest.mark.parametrize(
    ("words", "files"),
    [
        ("regulate f.yml --traffic pattern:uniform -o s.json", ["s.json"]),
        ("timetable f.yml --traffic day.csv -o t.yml", ["t.yml", "t.settings-1.json"]),
        ("predict b --csv p.csv --record", ["p.csv", "forecasts.db"]),
    ],
    ids=["regulate", "timetable", "predict"],
)
def test_files_are_written_before_the_first_line_of_the_answer(tmp_path, monkeypatch, words, files):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(RING)
    (tmp_path / "day.csv").write_text(DAY)
    assert main(["plan", "f.yml", "-o", "b"]) == 0
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody:
        monkeypatch.setattr(sys, "stdout", nobody)
        assert main(words.split()) == 0
    for name in files:
        assert (tmp_path / name).stat().st_size
