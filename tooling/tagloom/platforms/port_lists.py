"""Read and write lists of ports the way a family writes them: ``g(1-3,5)``, ``1/g1-1/g3``, ``gi1/0/1-3``."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tagloom.units import format_ranges, parse_ranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tagloom.platforms import Platform

NUMBERS = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*")  # short numbers: a typo must not mean 10**9 of them
_LISTS_KEPT = 4096  # bounds what a chatty console can make us keep
_LIST_CHARACTERS = 4096  # of one list of ports: 52 names take a seventh of that


class PortLists:
    """A model's port names; `data` says how its family lists them and spells them out.

    port_list   parenthesised ``g(1-3,5)``; names ``1/g1-1/g3,1/g5``; runs ``gi1/0/1-3,gi1/0/5``
    long_names  short prefix -> the word a configuration spells it by: ``gi`` -> ``gigabitethernet``
    long_gap    what stands between that word and the number: nothing, or a blank
    """

    def __init__(self, platform: Platform, data: Mapping[str, Any]) -> None:
        self._platform = platform
        self._style: str = data["port_list"]
        self._long: dict[str, str] = data.get("long_names", {})
        self._gap: str = data.get("long_gap", "")
        self._read: dict[str, tuple[int, ...]] = {}
        self._parts = [_parts(name) for name in platform.port_names]
        words = "|".join(self._long.values())
        self._spelt_out = re.compile(rf"\b({words})\s*(?=\d)", re.IGNORECASE) if words else None
        self._short = {word.lower(): short for short, word in self._long.items()}

    def shorten(self, line: str) -> str:
        """Write the ports of a line by their short names, so that each is one word."""
        if self._spelt_out is None:
            return line
        return self._spelt_out.sub(lambda found: self._short[found[1].lower()], line)

    def write(self, ports: Iterable[int]) -> str:
        """Write port numbers as a list in the short names."""
        ports = sorted(set(ports))
        if len(ports) == 1:
            return self._platform.port_name(ports[0])
        parts: list[str] = []
        for prefix, group in groupby((self._parts[port - 1] for port in ports), key=lambda part: part[0]):
            numbers = [number for _, number in group]
            runs = [run.split("-") for run in format_ranges(numbers).split(",")]
            if self._style == "names":
                parts.extend("-".join(f"{prefix}{end}" for end in run) for run in runs)
            elif self._style == "runs":
                parts.extend(prefix + "-".join(run) for run in runs)
            else:
                parts.append(f"{prefix}{numbers[0]}" if len(numbers) == 1 else f"{prefix}({format_ranges(numbers)})")
        return ",".join(parts)

    def write_long(self, ports: Iterable[int]) -> str:
        """Write port numbers as a list; one name or one run is spelt out, where the family does that."""
        text = self.write(ports)
        for short, word in self._long.items():
            if text.startswith(short) and "," not in text:
                return f"{word}{self._gap}{text.removeprefix(short)}"
        return text

    def kind(self, port: int) -> str:
        """Return what a port's name begins with; ports of one kind may share a range."""
        return self._parts[port - 1][0]

    def read(self, text: str) -> tuple[int, ...]:
        """Read a list of ports in any family's way, ascending. Raises ValueError for a port the model lacks."""
        ports = self._read.get(text)
        if ports is None:
            numbers: set[int] = set()
            prefix = ""
            if len(text) > _LIST_CHARACTERS:
                raise ValueError(f"a list of {len(text)} characters")
            for part in re.split(r",(?![^(]*\))", self.shorten(text)):
                if grouped := re.fullmatch(rf"([^()]*)\(({NUMBERS.pattern})\)", part):
                    names = [f"{grouped[1]}{n}" for n in parse_ranges(grouped[2])]
                    numbers.update(map(self._number, names))
                    continue
                first, dash, last = part.partition("-")
                first = f"{prefix}{first}" if first.isdigit() else first
                low, prefix = self._number(first), _parts(first)[0]
                high = self._number(f"{prefix}{last}" if last.isdigit() else last) if dash else low
                if high < low:
                    raise ValueError(f"range runs backwards: {part!r}")
                numbers.update(range(low, high + 1))
            ports = tuple(sorted(numbers))
            if len(self._read) < _LISTS_KEPT:
                self._read[text] = ports
        return ports

    def _number(self, text: str) -> int:
        number = self._platform.port_number(text)
        if number is None:
            raise ValueError(f"no such port: {text!r}")
        return number

    def write_channels(self, ports: Iterable[int]) -> str:
        """Write port-channels by their numbers alone."""
        return format_ranges([port - self._platform.physical_ports for port in sorted(set(ports))])

    def read_channels(self, text: str) -> tuple[int, ...]:
        """Read the numbers of port-channels as port numbers. Raises ValueError for one the model lacks."""
        if not NUMBERS.fullmatch(text):
            raise ValueError(f"not a list of port-channels: {text!r}")
        first = self._platform.physical_ports
        ports = tuple(sorted({first + n for n in parse_ranges(text)}))
        if not (first < ports[0] and ports[-1] <= self._platform.ports):
            raise ValueError(f"no such port-channel: {text!r}")
        return ports


def _parts(name: str) -> tuple[str, int]:
    prefix = name.rstrip("0123456789")
    return prefix, int(name[len(prefix) :] or 0)
