"""Ports are shown as their switches spell them, whatever spelling an operator typed."""

import re

import pytest

from tagloom.cli import main

FABRIC = """\
name: small
switches: {s0: {model: powerconnect-5548}, s1: {model: powerconnect-6248}, s2: {model: cisco-sg300-28}}
hosts: {h0: {switch: s0, port: g5}, h1: {switch: s1, port: g5}, h2: {switch: s2, port: g5}}
links: [["s0:g1", "s1:g1"], ["s1:g2", "s2:g1"], ["s2:g2", "s0:g2"], ["s0:g3", "s1:g3"]]
"""
BARE = re.compile(r"\b(?:s\d[: ](?:port )?|port |member of |-> |: )g\d+\b")
COMMANDS = {
    "plan f.yml -o b": 0,
    "plan f.yml -o c --off s0:g3 --previous b": 0,
    "plan f.yml -o d --off s0:g77": 2,
    "rollout b c -o r": 0,
    "path b h0 h1": 0,
    "path b h0 h1 --after s0:g1": 1,
    "path b h0 h1 --after s0:g77": 2,
    "verify b": 0,
    "verify b --what-if links": 0,
    "regulate f.yml --traffic traffic.csv -o night.json": 0,
    "predict b --traffic traffic.csv --settings night.json": 0,
    "export cabling b -o -": 0,
    "verify broken": 1,
}


@pytest.mark.kernel
def test_ports_are_shown_as_switches_spell_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(FABRIC)
    (tmp_path / "traffic.csv").write_text("# seconds: 3600\nsource,destination,bytes\nh0,h1,1000\n")
    spelled, wrong = set(), {}
    for command, status in COMMANDS.items():
        if command == "verify broken":
            capsys.readouterr()
            main(["plan", "f.yml", "-o", "broken"])
            text = (tmp_path / "broken/configs/s1.cfg").read_text()
            (tmp_path / "broken/configs/s1.cfg").write_text(re.sub(r"(interface ethernet )1/g5", r"\g<1>1/g40", text))
        capsys.readouterr()
        assert main(command.split()) == status, command
        shown = capsys.readouterr()
        said = shown.out + shown.err
        spelled |= set(re.findall(r"gi1/0/\d+|1/g\d+|\bgi\d+\b", said))
        typed = command.split("s0:")[-1] if "s0:g77" in command else "nothing"
        if found := [m[0] for m in BARE.finditer(said) if not m[0].endswith(typed)]:
            wrong[command] = found
    assert wrong == {}
    assert {"gi1/0/5", "1/g5", "gi5"} <= spelled
