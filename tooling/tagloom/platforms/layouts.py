"""List the ports of one machine of a model: those of its page, of a stack of such units, or ports by their names.

What differs from the page stands behind the model's name, with commas between:

    n-series:N4032                   a layout that the page lists
    powerconnect-5548:units=2        a stack of two units that are alike
    n-series:N2048,N2024             a stack of two that are not
    powerconnect-6248:modules        with the ports of its expansion modules
    n-series:lags=64                 more port-channels than the page has
    arista-7050tx-64:Et1/1-36,Et2/1  the ports themselves, in the model's own words
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, product
from typing import TYPE_CHECKING, Any

from tagloom.platforms.family import family
from tagloom.units import format_ranges

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

RULE = "behind the model a layout of its page, units=N, modules, lags=N, or its ports by name, as Gi1/0/1-48"
MOST_PORTS = 1024  # of a stack
_CHARACTERS = 4096
_PORT = re.compile(r"(?:\d{2,3}(?=[A-Za-z]))?[A-Za-z]{0,8}\d{1,3}(?:/[A-Za-z]{0,4}\d{1,3}){0,3}", re.ASCII)
_RUN = re.compile(r"(.*?)(\d{1,3})-(?:\1)?(\d{1,3})", re.ASCII)


@dataclass(frozen=True)
class PortNames:
    """The names of a machine's ports: its own, its port-channels, all others that are known of the model; its units."""

    physical: tuple[str, ...]
    channels: tuple[str, ...]
    further_channels: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    units: int = 1


def names_of_ports(page: Mapping[str, Any], named: str | None = None) -> PortNames:
    """Return the names of the ports that `named` describes, None for what the page has. Raises ValueError.

    >>> page = {"ports": [{"name": "gi{unit}/0/{n}", "first": 1, "count": 2}], "units": {"first": 1, "count": 8}}
    >>> names_of_ports(page, "units=2").physical
    ('gi1/0/1', 'gi1/0/2', 'gi2/0/1', 'gi2/0/2')
    """
    described = _Described.read(page, named)
    physical = described.names(page)
    channels, most = _channels(page, described.lags)
    known: dict[str, None] = {}
    for unit in _units(page):
        for blocks in (page["ports"], *_layouts(page).values(), page.get("modules", ())):
            known |= dict.fromkeys(_of_blocks(blocks, unit))
    further = tuple(name for name in known if name not in set(physical))
    return PortNames(physical, channels, most, further, len(described.units))


def mbps_of_ports(page: Mapping[str, Any]) -> dict[str, int]:
    """Return the best speed of each port that the page gives one, 0 if its layouts give the port different ones."""
    found: dict[str, int] = {}
    for unit in _units(page):
        for blocks in (page["ports"], *_layouts(page).values(), page.get("modules", ())):
            for block in blocks:
                mbps = block.get("mbps", 0)
                for name in _of_blocks((block,), unit):
                    found[name] = mbps if found.get(name, mbps) == mbps else 0
    return found


def described_as(page: Mapping[str, Any], names: Collection[str]) -> str:
    """Return what to write behind a model whose switch has these ports, "" for its page's own; "" too where none is.

    The ports are counted as the model's where the page, a layout or a stack has all of them.

    >>> page = {"ports": [{"name": "gi{unit}/0/{n}", "first": 1, "count": 2}], "units": {"first": 1, "count": 4}}
    >>> described_as(page, ["gi1/0/1", "gi2/0/2"]), described_as(page, ["gi1/0/2"]), described_as(page, ["te1/0/9"])
    ('units=2', '', 'te1/0/9')
    """
    own, most = _channels(page, 0)
    bound = [at for at, name in enumerate((*own, *most), start=1) if name in names]
    more = [f"lags={max(bound)}"] if max(bound, default=0) > len(own) else []
    wanted = [name for name in names if name not in {*own, *most}]
    stacks = ["", *(f"units={n}" for n in range(2, len(_units(page)) + 1))]
    modules = ["", "modules"] if page.get("modules") else [""]
    for parts in product(modules, stacks, ["", *_layouts(page)]):
        words = [part for part in reversed(parts) if part]
        with suppress(ValueError):  # of a model that does not stack
            if set(wanted) <= set(_Described.read(page, ",".join(words) if words else None).names(page)):
                return ",".join([*words, *more])
    return ",".join([*_runs(wanted), *more])


def is_port_of(page: Mapping[str, Any], name: str) -> bool:
    """Return whether a name is spelt as the model's family spells ports, though its page may not list that port.

    >>> page = {"ports": [{"name": "gi{unit}/0/{n}", "first": 1, "count": 2}]}
    >>> is_port_of(page, "gi1/0/9"), is_port_of(page, "vlan1")
    (True, False)
    """
    return _PORT.fullmatch(name) is not None and _spelt(name) in _letters(page)


@dataclass(frozen=True)
class _Described:
    """What stands behind a model's name: units by their layouts, or names; port-channels, 0 = as the page."""

    units: tuple[str, ...] = ("",)
    modules: bool = False
    ports: tuple[str, ...] = ()
    lags: int = 0

    @classmethod
    def read(cls, page: Mapping[str, Any], named: str | None) -> _Described:
        if named is None:
            return cls()
        layouts = {name.lower(): name for name in _layouts(page)}
        units, modules, ports, lags, letters = list[str](), False, list[str](), 0, _letters(page)
        for part in named.split(",") if len(named) <= _CHARACTERS else [""]:
            key, _, count = part.partition("=")
            if part.lower() in layouts:
                units.append(layouts[part.lower()])
            elif key == "units" and _is_count(count, len(_units(page))) and len(units) < 2:
                units = (units or [""]) * int(count)
            elif key == "lags" and _is_count(count, _most_channels(page)):
                lags = int(count)
            elif part == "modules" and page.get("modules"):
                modules = True
            else:
                ports += _run(part, letters)
        alone = {name.lower() for name in ports}
        if (ports and (units or modules)) or len(alone) < len(ports) or len(units) > max(1, len(_units(page))):
            raise ValueError(RULE)
        return cls(tuple(units) or ("",), modules, tuple(ports), lags)

    def names(self, page: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the physical ports, in order."""
        if self.ports:
            return self.ports
        found: dict[str, None] = {}
        for unit, layout in zip(_units(page), self.units, strict=False):
            own = dict.fromkeys(_of_blocks(_layouts(page)[layout] if layout else page["ports"], unit))
            own |= dict.fromkeys(_of_blocks(page.get("modules", ()) if self.modules else (), unit))
            if not found.keys().isdisjoint(own):  # a model that does not stack has the same names on every unit
                raise ValueError(RULE)
            found |= own
        if len(found) > MOST_PORTS:
            raise ValueError(RULE)
        return tuple(found)


def _is_count(text: str, most: int) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= 3 and 1 <= int(text) <= most


def _units(page: Mapping[str, Any]) -> range:
    units = page.get("units", {"first": 1, "count": 1})
    return range(units["first"], units["first"] + units["count"])


def _layouts(page: Mapping[str, Any]) -> dict[str, Sequence[Mapping[str, Any]]]:
    return {name: layout["ports"] for name, layout in page.get("layouts", {}).items()}


def _of_blocks(blocks: Iterable[Mapping[str, Any]], unit: int) -> list[str]:
    runs = [(block["name"], range(block["first"], block["first"] + block["count"])) for block in blocks]
    return [name.format(n=n, unit=unit) for name, numbers in runs for n in numbers]


def _most_channels(page: Mapping[str, Any]) -> int:
    channels = page.get("port_channels", {})
    return int(channels.get("most", channels.get("count", 0)))


def _channels(page: Mapping[str, Any], count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the port-channels that a machine has, and of those that it may have besides."""
    if not (channels := page.get("port_channels")):
        return (), ()
    count = count or channels["count"]
    names = tuple(channels["name"].format(n=n) for n in range(1, max(count, _most_channels(page)) + 1))
    return names[:count], names[count:]


def _letters(page: Mapping[str, Any]) -> set[str]:
    """Return what names of the model's ports are spelt with, without digits and slashes, as its family lists them."""
    blocks = (page["ports"], *_layouts(page).values(), page.get("modules", ()))
    known = {_spelt(name) for each in blocks for name in _of_blocks(each, 1)}
    data = family(page["grammar"]) if page.get("grammar") else {}
    return known | set(data.get("long_names", ())) | set(data.get("further_kinds", ()))


def _spelt(name: str) -> str:
    return re.sub(r"[\d/]", "", name)


def _run(part: str, letters: Collection[str]) -> list[str]:
    """Return the ports of a name or a run of names, spelt with some of these letters. Raises ValueError."""
    run = _RUN.fullmatch(part)
    low, high = (int(run[2]), int(run[3])) if run else (0, 0)
    names = [f"{run[1]}{n}" for n in range(low, high + 1)] if run else [part]
    if not names or len(names) > MOST_PORTS or not all(map(_PORT.fullmatch, names)) or _spelt(names[0]) not in letters:
        raise ValueError(RULE)
    return names


def _runs(names: Iterable[str]) -> list[str]:
    """Return names as runs, in their order."""
    parts = [(name.rstrip("0123456789"), name) for name in names]
    return [
        f"{prefix}{run}"
        for prefix, group in groupby(parts, key=lambda part: part[0])
        for run in format_ranges(sorted(int(name[len(prefix) :]) for _, name in group)).split(",")
    ]
