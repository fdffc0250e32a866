"""A switch answers with a configuration, or with the reason why it shows none: the two are distinguished."""

import pytest

from fabrics import ROOT
from tagloom import platforms
from tagloom.platforms.configuration_texts import what_is_missing
from tagloom.platforms.grammar import Grammar

TRANSCRIPTS = {
    "5324": "powerconnect-5324",
    "g_ports": "powerconnect-5324",
    "eltex_order": "powerconnect-5324",
    "6224": "powerconnect-6224",
    "cbs350": "cisco-cbs350-24t-4g",
    "comware": "hpe-5130-24g-4sfp",
    "eos": "arista-7010t-48",
    "huawei": "huawei-s5720-52x-ei",
}
EXCUSES = (
    "Permission denied",
    "% Authorization failed",
    "no permission to show this",
    "interface data not ready",
    "...",
)


LINES = {"powerconnect-6224": "exit\n", "hpe-5130-24g-4sfp": "return\n"}  # that these transcripts lack


def grammar_of(model):
    return Grammar.of(platforms.load(model))


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_what_real_switches_showed_is_a_configuration_and_an_excuse_is_none(name):
    grammar = grammar_of(TRANSCRIPTS[name])
    text = (ROOT / "tests" / "render" / "transcripts" / f"{name}.cfg").read_text()
    whole = text if what_is_missing(text, grammar) == "" else f"{text.rstrip()}\n{LINES[TRANSCRIPTS[name]]}"
    assert what_is_missing(whole, grammar) == ""
    assert all(what_is_missing(f"\n{excuse}\n", grammar) for excuse in EXCUSES)


# What some families always print, by what is cut off the configuration of a switch of theirs, and what is missing then.
CUT = {
    "hpe-5130-24g-4sfp": {"#\n sysname s0\n#\nreturn\n": "", "": "`return` at", "#\n sysname s0\n#\n": "`return` at"},
    "huawei-s5720-52x-ei": {"#\nsysname s0\n#\nreturn\n": "", "#\nreturn\n#\nsysname s0": "`return` at"},
    "arista-7010t-48": {"hostname s0\n!\nend\n": "", "": "`end` at", "hostname s0\n!\n": "`end` at"},
    "powerconnect-6224": {
        "!Current Configuration:\nconfigure\nvlan database\nvlan 2\nvlan 3\nexit\nstack\nmember 1 1\nexit\nexit\n": "",
        "": "`!Current Configuration:` at",
        "!Current Configuration:\n!\n": "`exit` at",
        "!Current Configuration:\nconfigure\nvlan database\nvlan 2\n": "`exit` at",
        "!Current Configuration:\nconfigure\ninterface ethernet 1/g1\nexit\n": "`exit` behind `configure`",
    },
    "n-series": {
        "!Current Configuration:\nconfigure\nvlan 2\nvlan 3-9\nexit\nvlan 2\nname x\nexit\nexit\n": "",
        "!Current Configuration:\nconfigure\ninterface Gi1/0/1\nmtu 9216\n": "`exit` at",
        "!Current Configuration:\nconfigure\ninterface vlan 1 2\nexit\n": "`exit` behind `configure`",
    },
    "cisco-cbs350-24t-4g": {"config-file-header\ns0\n": "", "": "`config-file-header`", "hostname s0": "`config-file"},
    "cisco-sg300-28": {"hostname s0": "", "": "any line"},
    "powerconnect-5324": {"": "", "hostname s0": ""},
}


@pytest.mark.parametrize("model", CUT)
def test_a_configuration_without_what_its_family_always_prints_is_none_or_cut_off(model):
    missing = {text: what_is_missing(text, grammar_of(model)) for text in CUT[model]}
    assert {text: said[: len(CUT[model][text])] for text, said in missing.items()} == CUT[model]
    assert all(bool(said) is bool(CUT[model][text]) for text, said in missing.items())
