"""YAML, JSON and text are bounded in size, depth and digits, and what is no file is refused without waiting."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fabrics import ROOT
from tagloom.cli import main
from tagloom.errors import InputError
from tagloom.storage import text as texts
from tagloom.storage.document import parse_json, parse_yaml, read_yaml, shown, split_rows
from tagloom.storage.text import read_bytes, read_text

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[" * 100_000, "parts at most 40 deep"),
        ("- " * 100_000 + "x", "parts at most 40 deep"),
        ("{a: " * 1000, "parts at most 40 deep"),
        (BOMB, "aliases of at most 100000 parts"),
        ("&a [*a]", "no part inside itself"),
        ("a: " + "9" * 5000, "a number of at most 100 digits"),
        ("a: 0x" + "f" * 5000, "a number of at most 100 digits"),
        ("a: .inf", "not finite"),
        ("a: .nan", "not finite"),
        ("? [a]\n: b", "unhashable"),
        ("a: 2001-99-99", "month must be in 1..12"),
        ("a: !!python/object/apply:os.getcwd []", "could not determine a constructor"),
        ("--- 1\n--- 2\n", "another document"),
        ('a: "\\ud800"', "invalid Unicode character"),
    ],
    ids=lambda value: value[:12],
)
def test_yaml_that_is_no_document_of_ours_is_a_finding(text, told):
    with pytest.raises(InputError, match=told):
        parse_yaml(text, "w")


def test_aliases_and_merges_of_reasonable_size_are_read():
    assert parse_yaml("a: &x {b: 1}\nc: {<<: *x, d: *x}", "w").value["c"] == {"b": 1, "d": {"b": 1}}


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "NaN", "-Infinity", "1e999", "9" * 5000, "[99999999999999999999]", '{"a"', '{"a": "\\uD83D"}'],
)
def test_json_that_is_no_document_of_ours_is_a_finding(text):
    with pytest.raises(InputError):
        parse_json(text, "w", "JSON")


def test_characters_in_two_halves_are_read():
    assert parse_json('["\\ud83d\\ude00"]', "w", "JSON") == ["\U0001f600"]


def test_numbers_that_only_look_odd_are_read():
    assert parse_json("[1e-300, 0.12345678901234567890, 18446744073709551615]", "w", "JSON")[2] == 2**64 - 1


def test_what_is_shown_of_a_value_is_short():
    deep = [[]]
    deep[0].append(deep)
    for value in (deep, "x" * 10**6, 10**6000, {"a": [10**6000]}, list(range(10**5))):
        assert len(shown(value)) <= 60


def test_cells_beyond_any_bound_are_findings():
    with pytest.raises(InputError, match="w:2: expected cells with commas between"):
        split_rows(["a,b", "x" * 200_000], "w")


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"a\n\xff", "in UTF-8, actual byte 0xff on line 2"), (b"a\n\0", "a text, actual a NUL on line 2")],
)
def test_what_is_no_text_is_a_finding(tmp_path, content, told):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(InputError, match=told):
        read_text(tmp_path / "f", "a readable file")


def test_marks_and_ends_of_lines_of_other_systems_are_read(tmp_path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert read_yaml(tmp_path / "f") == {"a": 1, "b": 2}


def test_a_file_beyond_its_bound_is_a_finding(tmp_path):
    (tmp_path / "f").write_bytes(b"x" * 100)
    with pytest.raises(InputError, match="of at most 99 bytes, actual more"):
        texts.read_bytes(tmp_path / "f", "a readable file", 99)


@pytest.mark.parametrize(
    "words",
    [
        *("plan X -o b", "verify --fabric X --configs .", "regulate X --traffic X", "sweep X"),
        *("fit --pairs X", "run X", "rollout X X -o r"),
    ],
)
def test_no_command_waits_for_a_pipe_or_reads_a_device(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("folder").mkdir()
    for name in ("pipe", "/dev/zero", "folder"):
        assert main(words.replace("X", name).split()) == 2
        assert "tagloom has a fault" not in capsys.readouterr().err


@pytest.mark.slow
def test_what_the_shell_gives_as_a_pipe_is_read(tmp_path):
    python = f"{sys.executable} -m tagloom.cli"
    fabric = "name: ring\\nmodel: powerconnect-5324\\nshape: {family: ring, dims: [3]}\\n"
    script = (
        f"{python} plan <(printf '{fabric}') -o b && printf 'source,destination,bytes\\nh0,h1,9\\n' | "
        f"{python} predict b --traffic /dev/stdin --seconds 9"
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tooling")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_directory_is_no_file_and_leaves_nothing_open(tmp_path, descriptors):
    with pytest.raises(InputError, match="expected a page, actual Is a directory"):
        read_bytes(tmp_path, "a page")
    assert descriptors(tmp_path) == 0
