"""What a switch answers is told apart: a configuration, or why it shows none."""

import pytest

from fabrics import ROOT
from tagloom import platforms
from tagloom.platforms.configuration_texts import is_configuration
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


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_what_real_switches_showed_is_a_configuration_and_an_excuse_is_none(name):
    grammar = Grammar.of(platforms.load(TRANSCRIPTS[name]))
    text = (ROOT / "tests" / "render" / "transcripts" / f"{name}.cfg").read_text()
    whole = f"{text.rstrip()}\nreturn\n" if grammar.session.brackets and "\nreturn" not in text else text
    assert is_configuration(whole, grammar)
    assert not any(is_configuration(f"\n{excuse}\n", grammar) for excuse in EXCUSES)


@pytest.mark.parametrize("model", ["hpe-5130-24g-4sfp", "huawei-s5720-52x-ei"])
def test_a_configuration_without_its_last_line_is_cut_off(model):
    grammar = Grammar.of(platforms.load(model))
    assert is_configuration("#\n sysname s0\n#\nreturn\n", grammar)
    assert not any(is_configuration(text, grammar) for text in ("", "#\n sysname s0\n#\n", "#\nreturn\n#\n sysname s"))
