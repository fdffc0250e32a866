"""Know what each switch family is and can do, from the YAML files beside this one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import yaml


@dataclass(frozen=True)
class PortWatts:
    """Hold a model's power: the chassis without ports, and one port by speed in Mb/s, in watts; `source` cites it."""

    base_watts: float
    per_port: dict[int, float]
    source: str


@dataclass(frozen=True)
class Platform:
    """Hold what tagloom must know of a model; everything firmware may differ in is data here.

    `grammar` names the command line family (a file in `grammars/`), "" where tagloom cannot write one.
    `sys_object_id` lists the SNMP object ids the model answers with, `calls_itself` regular expressions of what it
    says of itself in sysDescr.
    `group_entries` says whether a static entry for the broadcast address narrows a VLAN's flood: proven (seen on a
    real switch), unproven or none.
    """

    model: str
    title: str
    grammar: str
    netmiko_driver: str
    port_names: tuple[str, ...]
    max_vlans: int
    max_vlan_id: int
    mac_table: int
    eee: bool
    watts: PortWatts | None
    group_entries: str = "unproven"
    sys_object_id: tuple[str, ...] = ()
    calls_itself: tuple[str, ...] = ()
    toggle_seconds: dict[str, float] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)  # overrides of the grammar's lines for this model

    @property
    def ports(self) -> int:
        """Count the ports."""
        return len(self.port_names)

    @cached_property
    def _port_numbers(self) -> dict[str, int]:
        return {name.lower(): number for number, name in enumerate(self.port_names, start=1)}

    def port_number(self, text: str) -> int | None:
        """Read a port in the model's own words, or a bare gN taken everywhere; None where there is no such port.

        >>> load("powerconnect-6248").port_number("1/g5"), load("powerconnect-6248").port_number("g5")
        (5, 5)
        """
        word = text.strip().lower()
        number = self._port_numbers.get(word)
        if number is None and (bare := re.fullmatch(r"g(\d+)", word)) and 1 <= int(bare[1]) <= self.ports:
            number = int(bare[1])
        return number

    def port_name(self, number: int) -> str:
        """Write a port number (from 1) in the model's own words."""
        return self.port_names[number - 1]


def models() -> tuple[str, ...]:
    """List the models there are, sorted."""
    folder = files("tagloom.platforms")
    return tuple(sorted(f.name.removesuffix(".yml") for f in folder.iterdir() if f.name.endswith(".yml")))


def identify(object_id: str, description: str) -> str | None:
    """Name the model that answers with this sysObjectID, or else describes itself so; None where no page says.

    The object id comes first: a PowerConnect 5324 describes itself as "Neyland 24T".

    >>> identify("1.3.6.1.4.1.674.10895.3011", "PowerConnect 6248, 3.3.18.1, VxWorks 6.5")
    'powerconnect-6248'
    """
    pages = [load(model) for model in models()]
    by_id = [page.model for page in pages if object_id in page.sys_object_id]
    by_words = [page.model for page in pages if any(re.search(words, description) for words in page.calls_itself)]
    return next(iter(by_id + by_words), None)


@cache
def load(model: str) -> Platform:
    """Read a model's page. Raises KeyError where there is none."""
    if model not in models():
        raise KeyError(model)
    raw: dict[str, Any] = yaml.safe_load((files("tagloom.platforms") / f"{model}.yml").read_text("utf-8"))
    names: list[str] = []
    for block in raw["ports"]:
        names.extend(block["name"].format(n=n) for n in range(block["first"], block["first"] + block["count"]))
    watts = raw.get("watts")
    return Platform(
        model=model,
        title=raw["title"],
        grammar=raw.get("grammar", ""),
        netmiko_driver=raw.get("netmiko_driver", ""),
        port_names=tuple(names),
        max_vlans=raw["limits"]["vlans"],
        max_vlan_id=raw["limits"]["vlan_id"],
        mac_table=raw["limits"]["mac_table"],
        eee=raw["eee"],
        watts=PortWatts(watts["base"], dict(watts["per_port"]), watts["source"]) if watts else None,
        group_entries=raw["group_entries"],
        sys_object_id=tuple(raw.get("sys_object_id", ())),
        calls_itself=tuple(raw.get("calls_itself", ())),
        toggle_seconds=raw.get("toggle_seconds", {}),
        words=raw.get("words", {}),
    )
