"""Spoil one line of a switch's text, as a slip of the hand or a broken session would."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

VLAN = re.compile(r"\d+")
PORT = re.compile(r"(?<=ethernet )g\d+|(?<=ethernet )1/g\d+|gigabitethernet ?1/0/\d+|(?<=port-channel )\d+")
ADDRESS = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}")


def spoil(rng: random.Random, texts: dict[str, str]) -> tuple[dict[str, str], str] | None:
    """Return the texts with one of them changed, and what was done; None where this slip has no place there."""
    name = rng.choice(sorted(texts))
    lines = texts[name].splitlines()
    kind = rng.choice(sorted(KINDS))
    change = KINDS[kind](rng, lines)
    if change is None or change == lines:
        return None
    gone = next((a for a, b in zip(lines, [*change, ""], strict=False) if a != b), lines[-1])
    return {**texts, name: "\n".join(change) + "\n"}, f"{name}: {kind} at {gone!r}"


def _at(rng: random.Random, lines: list[str], pattern: str) -> int | None:
    places = [i for i, line in enumerate(lines) if re.search(pattern, line) and not line.startswith("!")]
    return rng.choice(places) if places else None


def _drop(rng: random.Random, lines: list[str], pattern: str = ".") -> list[str] | None:
    at = _at(rng, lines, pattern)
    return None if at is None else lines[:at] + lines[at + 1 :]


def _swap(rng: random.Random, lines: list[str]) -> list[str]:
    at = rng.randrange(len(lines) - 1)
    return [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]


def _move(rng: random.Random, lines: list[str]) -> list[str]:
    line = lines[at := rng.randrange(len(lines))]
    rest = lines[:at] + lines[at + 1 :]
    at = rng.randrange(len(rest))
    return [*rest[:at], line, *rest[at:]]


def _repeat(rng: random.Random, lines: list[str]) -> list[str]:
    at = rng.randrange(len(lines))
    return [*lines[: at + 1], *lines[at:]]


def _replace(rng: random.Random, lines: list[str], pattern: str, word: re.Pattern[str]) -> list[str] | None:
    """Put a word of the same kind from elsewhere in the text in the place of one in a line that matches."""
    at = _at(rng, lines, pattern)
    if at is None or not (here := list(word.finditer(lines[at]))):
        return None
    match = rng.choice(here)
    others = sorted({m[0] for line in lines if re.search(pattern, line) for m in word.finditer(line)} - {match[0]})
    if not others:
        return None
    new = lines[at][: match.start()] + rng.choice(others) + lines[at][match.end() :]
    return [*lines[:at], new, *lines[at + 1 :]]


def _after(rng: random.Random, lines: list[str], pattern: str, new: str) -> list[str] | None:
    at = _at(rng, lines, pattern)
    return None if at is None else [*lines[: at + 1], new, *lines[at + 1 :]]


def _turn(rng: random.Random, lines: list[str]) -> list[str] | None:
    at = _at(rng, lines, r"(allowed vlan add|acceptable-frame-type)")
    if at is None:
        return None
    line = lines[at]
    if "acceptable" in line:
        new = (
            line.replace("tagged-only", "untagged-only")
            if "untagged" not in line
            else line.replace("untagged", "tagged")
        )
    elif " untagged" in line or " tagged" not in line:
        new = line.replace(" untagged", "") + " tagged"
    else:
        new = line.replace(" tagged", " untagged")
    return [*lines[:at], new, *lines[at + 1 :]]


KINDS = {
    "a line dropped": _drop,
    "an exit dropped": lambda rng, lines: _drop(rng, lines, "^exit$"),
    "an entry dropped": lambda rng, lines: _drop(rng, lines, "^(bridge address|mac address-table static)"),
    "two lines swapped": _swap,
    "a line moved": _move,
    "a line twice": _repeat,
    "another VLAN": lambda rng, lines: _replace(rng, lines, r"(pvid|add|vlan) [\d,-]+( |$)", VLAN),
    "another PVID": lambda rng, lines: _replace(rng, lines, r"pvid \d+|allowed vlan add \d+", VLAN),
    "another port": lambda rng, lines: _replace(rng, lines, r"^(bridge address|mac address-table)", PORT),
    "another interface": lambda rng, lines: _replace(rng, lines, r"^interface (?!vlan|range)", PORT),
    "another address": lambda rng, lines: _replace(rng, lines, r"^(bridge address|mac address-table)", ADDRESS),
    "tagged and untagged": _turn,
    "a port shut": lambda rng, lines: _after(rng, lines, r"^interface (range )?(?!vlan|range)", "shutdown"),
    "a group left": lambda rng, lines: _drop(rng, lines, "^channel-group"),
    "ingress filtering off": lambda rng, lines: _after(
        rng, lines, "^switchport mode general", "switchport general ingress-filtering disable"
    ),
    "a VLAN joined": lambda rng, lines: _after(
        rng, lines, "^switchport general pvid", "switchport general allowed vlan add 100-103 tagged"
    ),
}
