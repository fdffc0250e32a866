"""The sheet to print for who cables a fabric has a page for each rack, and each cable's ends name each other."""

import re

import pytest

from tagloom.errors import InputError
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric
from tagloom.report.labels import labels_html

RING = "name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [4]}\n"
RACKS = 'switches:\n  s0: {rack: A3}\n  s1: {rack: "<B4>"}\n  s2: {rack: A3}\n'


def pages_of(text):
    return re.findall(r"<section>(.*?)</section>", labels_html(parse_fabric(text, "test")), re.DOTALL)


def test_there_is_one_page_for_each_rack_and_one_for_each_switch_of_which_none_is_said():
    pages = pages_of(RING + RACKS)
    named = [re.findall(r'class="label">(\w+)<', page) for page in pages]
    assert named == [["s0", "s2"], ["s1"], ["s3"]]
    assert ["rack A3" in page for page in pages] == [True, False, False]
    assert "rack &lt;B4&gt;" in pages[1]
    assert "<h1>" not in pages[2]
    assert [len(re.findall("<section>", each)) for each in pages_of(RING)] == [0] * 4


def test_each_end_of_a_cable_has_a_label_and_says_where_the_other_end_is():
    whole = "".join(pages_of(RING + RACKS))
    rows = [re.findall("<td>(.*?)</td>", row) for row in re.findall(r"<tr>(<td>.*?)</tr>", whole)]
    ends = {row[1]: (f"{row[2]}:{row[3]}", row[4]) for row in rows if row[3]}
    fabric = parse_fabric(RING, "test")
    assert len(ends) == 2 * sum(len(link.cables) for link in fabric.links)
    racks = {"s0": "A3", "s1": "&lt;B4&gt;", "s2": "A3", "s3": ""}
    for label, (far, rack) in ends.items():
        assert ends[far][0] == label
        assert rack == racks[far.partition(":")[0]]
    assert sum(not row[3] for row in rows) == len(fabric.hosts)


def test_a_rack_is_written_back_and_what_cannot_be_printed_is_none():
    fabric = parse_fabric(RING + RACKS, "test")
    again = parse_fabric(format_fabric(fabric), "test")
    assert [switch.rack for switch in again.switches] == ["A3", "<B4>", "A3", ""]
    with pytest.raises(InputError) as wrong:
        parse_fabric(RING + f'switches: {{s0: {{rack: {"x" * 65}}}, s1: {{rack: "a\\nb"}}}}\n', "test")
    assert [each.where.partition("  ")[2] for each in wrong.value.findings] == ["switches.s0.rack", "switches.s1.rack"]
