"""Find in what a console shows the line that was typed: whole, broken by a narrow screen, or not all of it."""

from __future__ import annotations

import re

ERASED = re.compile(r"\x08+ *\x08*")
SLACK = 512  # characters that may stand around an echo
_ECHO_ENDS = re.compile(r"[ \t\a]{0,256}\n")
_LEAST_TAIL = 8  # characters of a line's end that a screen shows behind a $, which stands for what has left it
_SHARE = 0.6  # of a line: what is shown of it where characters are missing
_LEAST = 4
_SIGNS = (">", "#", "]")


def echo_end(text: str, line: str) -> int:
    """Return where the echo of a line and its Return end, -1 where there is none.

    Nothing but blanks may end the line: it may be the beginning of another. A pattern for each line would be plain, and
    take half the time of a push to compile.
    """
    at = text.find(line)
    while at >= 0:
        if end := _ECHO_ENDS.match(text, at + len(line)):
            return end.end()
        at = text.find(line, at + 1)
    if "\n" not in text:
        return -1
    end_of_line = text.find("\n")
    while end_of_line >= 0:
        if is_shown(text[max(0, end_of_line - 2 * len(line) - SLACK) : end_of_line].rstrip(" \t\a"), line):
            return end_of_line + 1
        end_of_line = text.find("\n", end_of_line + 1)
    return -1


def damaged(text: str, line: str) -> tuple[str, int]:
    """Return what is shown in a line's place, with characters of it missing, and where that ends; "" for nothing."""
    end = 0
    for row in text.split("\n")[:-1]:
        end += len(row) + 1
        words = re.split(r"[>#\]] ?", row, maxsplit=1)[-1].strip()
        if len(line) >= _LEAST and _SHARE * len(line) <= len(words) < len(line) and _is_subsequence(words, line):
            return words, end
    return "", 0


def is_shown(text: str, line: str) -> bool:
    """Return whether a screen ends with a line; a narrow one breaks it, some with a blank, or scrolls behind a $."""
    text = ERASED.sub("", text)
    broken = text.replace(" \n", "")
    blanks = len(line) - len(line.rstrip(" "))  # a break may have added one to what ends a line
    for shown in (text, text.replace("\n", ""), broken, broken.rstrip(" ") + " " * blanks):
        if shown.endswith(line):
            before = shown[: len(shown) - len(line)].rstrip(" \t\a")
            return not before or before.endswith("\n") or before.endswith(_SIGNS)
    tail = text.rpartition("\n")[2].rpartition("$")
    return bool(tail[1]) and len(tail[2]) >= _LEAST_TAIL and line.endswith(tail[2])


def _is_subsequence(part: str, whole: str) -> bool:
    keys = iter(whole)
    return all(key in keys for key in part)
