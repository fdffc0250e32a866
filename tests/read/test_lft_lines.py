"""The compiled scan of forwarding tables finds what the regular expression that describes their lines finds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.read.lft_lines import scan
from thinned import examples

pytestmark = pytest.mark.kernel

ENTRY = re.compile(r"0x([0-9A-Fa-f]{4}) *:? +([0-9]{3})\b")  # at the beginning of a line
PIECES = [
    "0x00Af",
    "0x",
    "0X0001",
    "0x000g",
    "0x0001",
    " ",
    "  ",
    ":",
    " : ",
    "003",
    "12",
    "0123",
    "00é",
    "_",
    "x",
    "\n",
    "\n\n",
]
PIECES += ["0x0001 : 003  : 01   : yes\n", "0x0002 001 : (Switch)\n", "LID    : Port : Hops : Optimal\n"]


@examples(300)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_it_finds_what_the_expression_finds(text):
    data, others, at, lids, ports = scan(text)
    assert data == text.encode() + b"\n"
    lines = text.split("\n")
    starts = [len("\n".join(lines[:n]).encode()) + (n > 0) for n in range(len(lines))]
    if not lines[-1]:  # nothing stands behind the last end of a line
        lines, starts = lines[:-1], starts[:-1]
    found = [(start, ENTRY.match(line)) for start, line in zip(starts, lines, strict=True)]
    assert at.tolist() == [start for start, match in found if match]
    assert lids.tolist() == [int(match[1], 16) for _, match in found if match]
    assert ports.tolist() == [int(match[2]) for _, match in found if match]
    assert others.tolist() == [start for start, line in zip(starts, lines, strict=True) if not line.startswith("0x")]
