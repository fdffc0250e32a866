"""What of a fabric is dead, as its switches show it from outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class DeadParts:
    """The dead links and switches of a fabric, by index.

    links       no cable of them carries anything; those of dead switches among them
    switches    they do not answer, and every cable to them is down
    silent      names of switches that do not answer while a neighbour has a cable to them up: nobody knows what they do
    back        links and switches that were dead and are back, by name, with the seconds that they have been; those
                that have not been for long enough are still among the dead
    """

    links: frozenset[int] = frozenset()
    switches: frozenset[int] = frozenset()
    silent: tuple[str, ...] = ()
    back: Mapping[str, float] = field(default_factory=dict)
