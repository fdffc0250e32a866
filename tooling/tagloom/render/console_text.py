"""Take from a console's output what is not the page itself: erasures, pagers, log lines, prompts."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x08+ *\x08*")
_PAGER = re.compile(r"(?:More: <space>,[^\n]*?One line: <return>|--More-- or \(q\)uit|  ---- More ----) ?")
# A pager's line with what it is wiped by, and what alone a terminal is told besides that leaves its text as it came.
_WIPED = re.compile(rf"(?:{_ESCAPES.pattern})*(?:{_PAGER.pattern})(?:{_ESCAPES.pattern}| +(?=[\x1b\x08])|\r *\r?)*")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")  # to a console, keys: one erases the line, one ends the session
_DRAWN = re.compile(r"\x1b\[[0-9;?]*[mKJHhl]")
_LOG = r"\d{2}-\w{3}-\d{4} \d{2}:\d{2}:\d{2} *:? *%"  # which ROS prints into the session
# A prompt, with what was typed behind it; host names may hold blanks. The strict form leaves rows of tables alone,
# which may have a # in a name: it has no two blanks in a row.
_VIEW = r"<[\w.@-]+>|\[[\w.@/-]+\]"  # the prompts of Comware
NOISE = re.compile(rf"{_LOG}|[\w .@-]+(\([\w/ -]*\))?[#>]|{_VIEW}")
_NO_BLANK = re.compile(r"[^\S \t\r]")
# What alone of it may stand between the lines of a text that is to be proven: a log line, or a prompt with no command
# behind it that could change anything.
PROMPT = re.compile(
    rf"{_LOG}|[\w.@-]+(\([\w/ -]*\))?[#>] ?((show|terminal|more) .*|exit|end|quit)?$"
    rf"|(?:{_VIEW})((display|screen-length) .*|quit|return)?$"
)
_STRICT = re.compile(rf"{_LOG}|\w[\w.@-]*( [\w.@-]+)*(\([\w/ -]*\))?[#>] ?(\S+( \S+)*)?$|(?:{_VIEW})(\S+( \S+)*)?$")


def clean_lines(text: str) -> list[str]:
    """Return the lines as a terminal would show them in the end, as many as came; columns keep their places.

    Of a line that was written over after a carriage return, the last writing stays: that is how pagers wipe theirs.
    """
    plain = _ESCAPES.sub("", text) if "\x1b" in text or "\x08" in text else text
    lines = plain.split("\n")
    if "\r" in plain:
        lines = [line.rstrip("\r").rpartition("\r")[2] for line in lines]
    return [_PAGER.sub("", line) for line in lines] if _PAGER.search(plain) else lines


def concealing_lines(text: str) -> list[tuple[int, str]]:
    """List the (number, line) that a terminal shows otherwise than it came, or that has blanks which are none.

    What a pager writes and wipes is left out. A switch that is sent such a line may take what nobody has read.
    """
    found: list[tuple[int, str]] = []
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.rstrip("\r")
        if line.isascii() and line.isprintable():
            continue
        hidden = _PAGER.sub("", _ESCAPES.sub("", line.rpartition("\r")[0]))
        shown = _DRAWN.sub("", _WIPED.sub("", line))
        if hidden.strip(" \r") or _NO_BLANK.search(line) or _CONTROL.search(shown):
            found.append((number, line))
    return found


def page_lines(text: str) -> list[str]:
    """Return the lines of a page alone: no log lines, no prompts."""
    return [line for line in map(str.rstrip, clean_lines(text)) if not _STRICT.match(line)]
