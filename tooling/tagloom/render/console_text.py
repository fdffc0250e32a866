"""Take from a console's output what is not the page itself: erasures, pagers, log lines, prompts."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x08+ *\x08*")
_PAGER = re.compile(r"(?:More: <space>,[^\n]*?One line: <return>|--More-- or \(q\)uit) ?")
# Lines of the log, which ROS prints into the session, and prompts with what was typed behind them.
NOISE = re.compile(r"\d{2}-\w{3}-\d{4} \d{2}:\d{2}:\d{2} *:? *%|[\w .@-]+(\([\w/ -]*\))?[#>]")


def clean_lines(text: str) -> list[str]:
    """Give the lines as a terminal would show them in the end, as many as came; columns keep their places.

    Of a line that was written over after a carriage return, the last writing stays: that is how pagers wipe theirs.
    """
    return [
        _PAGER.sub("", line.rstrip("\r").rpartition("\r")[2].rstrip()) for line in _ESCAPES.sub("", text).split("\n")
    ]


def page_lines(text: str) -> list[str]:
    """Give the lines of a page alone: no log lines, no prompts."""
    return [line for line in clean_lines(text) if not NOISE.match(line)]
