"""Law: however a session is cut into pieces, and whatever stands between its lines, the same rows come out.

The wire is netmiko's, reduced to what a session asks of it here: bytes, piece by piece.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from netmiko.base_connection import BaseConnection

from judges.shows import read_addresses, read_status, read_vlans
from tagloom.adapters.ssh import Access, SshSwitch
from tagloom.platforms import load
from thinned import examples

PAGES = Path(__file__).parents[1] / "data" / "shows"
COMMAND = "show something"
NOISE = [
    "",
    "01-Jan-2026 10:11:12 %LINK-W-Down:  g7\r\n",
    "More: <space>,  Quit: q or CTRL+Z, One line: <return> \r" + " " * 54 + "\r",
    "More: <space>,  Quit: q, One line: <return>\r" + " " * 43 + "\r\x1b[K",
    "--More-- or (q)uit\r" + " " * 18 + "\r",
    "\x1b[K",
    "\r\n",
]


class Wire(BaseConnection):
    """Give what a switch printed, in pieces; take what is typed without a word."""

    def __init__(self, pieces):
        self.pieces = list(pieces)

    def read_bytes(self):
        return self.pieces.pop(0) if self.pieces else b""

    def write_channel(self, out_data):
        pass

    def paramiko_cleanup(self):
        pass


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        (read_vlans, "5324_vlan"),
        (read_vlans, "62xx_vlan"),
        (read_addresses, "62xx_addresses"),
        (read_addresses, "dell_powerconnect_addresses"),
        (read_status, "os6_status"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
@examples(60)
@given(data=st.data())
def test_a_page_in_any_pieces_has_the_same_rows(reader, name, data):
    page = (PAGES / f"{name}.txt").read_text("utf-8")
    lines = [data.draw(st.sampled_from(NOISE)) + line for line in page.split("\n")]
    text = (f"{COMMAND}\r\r\n" + "\r\n".join(lines) + "\r\n\r\r\x1b[Kconsole# ").encode()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=30)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    switch = SshSwitch("s0", load("powerconnect-5324"), Access("192.0.2.1", answer_seconds=5))
    switch._wire = switch._channel = Wire(pieces)
    switch._prompt = re.compile(r"^console(\([^)\n]*\))?[#>]", re.MULTILINE)
    assert reader(switch._exchange(COMMAND)) == reader(page)
