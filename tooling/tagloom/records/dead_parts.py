"""The dead parts of a fabric, as observed from its switches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class DeadParts:
    """The dead links and switches of a fabric, by index.

    links       no cable of them has carrier; includes the links of dead switches
    switches    they do not answer, and every cable to them is down
    silent      names of switches that do not answer while a neighbour has a cable to them up: their state is unknown
    back        links and switches that were dead and have recovered, by name, with the seconds since; those that
                recovered too recently still count as dead
    """

    links: frozenset[int] = frozenset()
    switches: frozenset[int] = frozenset()
    silent: tuple[str, ...] = ()
    back: Mapping[str, float] = field(default_factory=dict)
