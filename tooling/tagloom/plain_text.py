"""Write the words of others so that they can be shown: what would steer a terminal stands as an escape."""

from __future__ import annotations

import re

_UNUSUAL = re.compile(r"[^\n\t -~]")


def printable(text: str) -> str:
    r"""Return the text with every character that is not printable as an escape; line feeds and tabs stay.

    Control characters (ESC, the 8-bit CSI and OSC, BEL, backspace, NUL), bidirectional overrides and other characters
    without a shape of their own (`str.isprintable`) come from switches, files and hosts, and reach no terminal as such.
    Two texts that differ in them still differ.

    >>> print(printable("s0\x1b]0;mine\x07 \u202e is Zürich"))
    s0\x1b]0;mine\x07 \u202e is Zürich
    """
    return _UNUSUAL.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
