"""The words of a line are text and values of a known kind, and an operator's own go before tagloom's."""

import pytest

from tagloom.errors import InputError
from tagloom.platforms import load
from tagloom.platforms.grammar import Grammar
from tagloom.platforms.interpreter import Interpreter
from tagloom.platforms.iproute2 import commands
from tagloom.platforms.words import read_words
from tagloom.records.switch_state import SwitchEditor

ROS = "powerconnect-5324"


@pytest.mark.parametrize(
    ("text", "line", "actual"),
    [
        ("{% macro pvid(vlan) %}{% if vlan %}pvid {{ vlan | pvid }}{% endif %}{% endmacro %}", 1, "pvid: if"),
        ("\n{% macro pvid(vlan) %}{% for v in vlan %}pvid{% endfor %}{% endmacro %}", 2, "pvid: for"),
        ("{% macro pvid(vlan=1) %}pvid {{ vlan | pvid }}{% endmacro %}", 1, "pvid: a default"),
        ("{% macro pvid(vlan) %}pvid {{ vlan }}{% endmacro %}", 1, "pvid: {{ name }}"),
        ("{% macro pvid(vlan) %}pvid {{ vlan | pvid | pvid }}{% endmacro %}", 1, "pvid: {{ filter }}"),
        ("{% macro pvid(vlan) %}pvid {{ vlan | replace('1', '2') }}{% endmacro %}", 1, "pvid: {{ filter }}"),
        ("{% macro pvid(vlan) %}pvid {{ vlan + 1 }}{% endmacro %}", 1, "pvid: {{ add }}"),
        ("{% macro pvid(vlan) %}pvid{% endmacro %}", 1, "pvid(vlan), which writes none"),
        ("{% macro pvid(vlan) %}pvid {{ vlan | pvid }} {{ vlan | pvid }}{% endmacro %}", 1, "writes vlan, vlan"),
        ("{% macro pvid(vlan) %}pvid {{ vlan | upper }}{% endmacro %}", 1, "no kind upper"),
        ("{% macro pvid(vlan) %}pvid-{{ vlan | pvid }}{% endmacro %}", 1, "not words and values with one blank"),
        ("{% macro pvid(vlan) %}pvid {{ vlan | pvid }}\n{% endmacro %}", 1, "not words and values with one blank"),
        ("{% macro shutdown() %}{% endmacro %}", 1, "shutdown: "),
        ("{% macro pvid(port) %}pvid {{ port | pvid }}{% endmacro %}", 1, "pvid(port | pvid)"),
        ("{% macro pvid(vlan) %}pvid {{ vlan | vlans }}{% endmacro %}", 1, "pvid(vlan | vlans)"),
        ("{% macro pwid(vlan) %}pvid {{ vlan | pvid }}{% endmacro %}", 1, "pwid"),
        ("{% macro shutdown() %}off{% endmacro %}{% macro shutdown() %}down{% endmacro %}", 1, "a second of that name"),
        ("{# a comment #}\nswitchport", 1, "'switchport'"),
        ("{% set pvid = 1 %}", 1, "assign"),
        ("{{ vlan }}", 1, "output"),
        ("{% macro pvid(vlan) %}pvid", 1, "Unexpected end of template"),
    ],
)
def test_whatever_is_more_than_text_and_values_is_refused_with_file_and_line(text, line, actual):
    with pytest.raises(InputError) as refused:
        read_words("ros", (("ros/lines.j2", text),))
    (finding,) = refused.value.findings
    assert finding.where == f"templates/ros/lines.j2:{line}"
    assert actual in finding.actual


def test_all_that_is_wrong_is_said_at_once():
    text = "{% macro pvid(vlan) %}pvid{% endmacro %}\n{% macro pwid() %}pwid{% endmacro %}\nloose"
    with pytest.raises(InputError) as refused:
        read_words("ros", (("ros/lines.j2", text),))
    assert [finding.where.rpartition(":")[2] for finding in refused.value.findings] == ["1", "2", "2"]


def test_words_that_mean_two_lines_are_refused_with_file_and_line():
    platform = load(ROS, (), (("ros/lines.j2", "\n{% macro shutdown() %}no shutdown{% endmacro %}"),))
    with pytest.raises(
        InputError, match=r"templates/ros/lines.j2:2: expected words that mean shutdown alone, actual 'no shutdown'"
    ):
        Grammar.of(platform)


def test_a_relative_takes_over_the_operators_words_but_for_its_own():
    interface = "{% macro interface(ports) %}if {{ ports | ports }}{% endmacro %}"
    own = f"{{% macro shutdown() %}}admin down{{% endmacro %}}{interface}"
    grammar = Grammar.of(load("powerconnect-5548", (), (("ros/lines.j2", own),)))
    assert grammar.line("shutdown") == "admin down"
    assert grammar.line("interface", ports=(1,)) == "interface gigabitethernet1/0/1"


def test_an_operators_words_and_tagloom_s_are_both_read():
    own = (("ros/lines.j2", "{% macro shutdown() %}admin down{% endmacro %}"),)
    platform = load(ROS, (), own)
    interpreter = Interpreter(platform, SwitchEditor.blank(platform.ports))
    interpreter.feed("interface ethernet g1")
    for line in ("admin down", "no shutdown", "shutdown"):
        assert interpreter.feed(line).accepted
        assert interpreter.editor.enabled[0] is (line == "no shutdown")


def test_commands_that_mean_two_lines_are_refused_with_file_and_line():
    down = "{% macro port_up(port) %}ip link set dev {{ port | port }} down{% endmacro %}"
    with pytest.raises(InputError, match=r"templates/linux-bridge/lines.j2:1: expected words that mean port_up alone"):
        commands((("linux-bridge/lines.j2", down),))
