"""What is counted agrees with its number: one of a thing is never shown in the plural."""

import re

import pytest

from tagloom.cli import main
from tagloom.units import number_of

NOUNS = (
    "hosts|host pairs|pairs|links|switches|VLANs|waves|lines|entries|ports|channels|dependencies|addresses|findings|"
    "cells|configurations|settings|files|static entries|static MAC entries|networks|copies|states"
)
ONE_OF_MANY = re.compile(rf"(?<![\d.,/-])1 (?:more )?(?:{NOUNS})\b")
FABRIC = """\
name: small
switches: {s0: {model: powerconnect-5548}, s1: {model: powerconnect-6248}}
hosts: {h0: {switch: s0, port: gi1/0/5}}
links: [["s0:gi1/0/1", "s1:1/g1"]]
"""
MORE = "hosts: {h0: {switch: s0, port: gi1/0/5}, h1: {switch: s1, port: 1/g5}}"
COMMANDS = (
    "plan more.yml -o b",
    "plan f.yml -o a",
    "plan more.yml -o c --from-scratch --routing tree --protect link",
    "verify b",
    "verify b --what-if links --assumptions",
    "rollout a b -o r",
    "rollout b a -o back",
    "path b h0 h1",
    "predict b",
    "report b -o page.html",
    "export cabling b -o cabling.csv",
    "regulate more.yml --traffic traffic.csv -o night.json",
)


@pytest.mark.kernel
def test_one_of_a_thing_is_no_plural(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(FABRIC)
    (tmp_path / "more.yml").write_text(re.sub("hosts: .*", MORE, FABRIC))
    (tmp_path / "traffic.csv").write_text("# seconds: 3600\nsource,destination,bytes\nh0,h1,1\n")
    wrong = {}
    for command in COMMANDS:
        main(command.split())
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err
        said = " ".join((shown.out + shown.err).split())
        assert "expected arguments" not in said, said
        if found := [said[max(0, m.start() - 30) : m.end() + 30] for m in ONE_OF_MANY.finditer(said)]:
            wrong[command] = found
    assert wrong == {}


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (1, "host", "1 host"),
        (0, "host", "0 hosts"),
        (2, "static entry", "2 static entries"),
        (1234, "switch", "1,234 switches"),
    ],
)
def test_a_number_of_things_is_said_in_words(number, noun, said):
    assert number_of(number, noun) == said
