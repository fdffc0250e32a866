"""Nothing that a switch, a file or a host says steers the terminal it is shown on; what differs looks different."""

import json

import pytest

from tagloom.cli import main
from tagloom.cli.screen import Screen
from tagloom.errors import DeviceError
from tagloom.plain_text import printable

STEERS = {
    "title": "\x1b]0;mine\x07",
    "colour": "\x1b[31m",
    "8-bit CSI": "\x9b2J",
    "8-bit OSC": "\x9d0;mine\x9c",
    "bell": "\x07",
    "backspaces": "\b\b\b",
    "carriage return": "\rall is well",
    "NUL": "\0",
    "DEL": "\x7f",
    "bidirectional override": "\u202eevil\u202c",
    "isolate": "\u2066x\u2069",
    "invisible": "a\u200bb",
    "line separator": "a\u2028b",
    "surrogate": "\udcff",
}
KEPT = "Zürich\t東京 → 5 µs\nnext"


@pytest.mark.parametrize("text", STEERS.values(), ids=STEERS)
def test_every_stream_shows_it_and_does_not_do_it(capsys, text):
    Screen(as_json=False).say(f"s0 {text} {KEPT}")
    Screen(as_json=False).remark(f"s0 {text} {KEPT}")
    Screen(as_json=True).answer({"text": f"{text} {KEPT}"})
    page, said = capsys.readouterr()
    line, _, page = page.partition("{")
    for shown in (line, said, page):
        assert all(character.isprintable() or character in "\n\t" for character in shown)
    assert line == said == f"s0 {printable(text)} {KEPT}\n"
    assert json.loads("{" + page) == {"text": f"{text} {KEPT}"}


@pytest.mark.parametrize("text", STEERS.values(), ids=STEERS)
def test_two_texts_that_differ_in_it_look_different(text):
    plain = "".join(character for character in text if character.isprintable())
    assert printable(f"vlan {text}") != printable(f"vlan {plain}")
    assert printable(f"vlan {text}").isprintable()
    assert printable(printable(text)) == printable(text)


def test_a_devices_error_is_plain_before_it_is_kept():
    error = DeviceError("s0", "show version", "\x1b]0;mine\x07 \u202e")
    assert error.text == r"\x1b]0;mine\x07 \u202e"
    assert str(error).isprintable()


@pytest.mark.parametrize("as_json", [False, True])
def test_a_files_name_and_words_are_shown_as_they_are(capsys, tmp_path, as_json):
    path = tmp_path / "f\x1b]0;mine\x07\u202e.yml"
    path.write_text('name: "\\e]0;x\\a\\x9b2J"\nmodel: "\\u202emodel"\nshape: {family: ring, dims: [4]}\n')
    assert main(["plan", str(path), "-o", str(tmp_path / "b"), *(["--json"] if as_json else [])]) == 2
    for stream in capsys.readouterr():
        assert all(character.isprintable() or character in "\n\t" for character in stream)
