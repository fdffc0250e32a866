"""How a change leads from what switches hold to its target."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

IN_ONE_GO = "in one go"


@dataclass(frozen=True, slots=True)
class ChangeWay:
    """The waves of a change.

    strategy             that of its rollout; IN_ONE_GO for one that sets all switches up at the same time, unproven
    waves                their names
    seconds              expected time for all of them, 0 for one IN_ONE_GO
    ends_spanning_tree   whether a switch that runs spanning tree does not any more afterwards
    """

    strategy: str
    waves: tuple[str, ...]
    seconds: float
    ends_spanning_tree: bool

    @property
    def returns(self) -> bool:
        """Return whether a rollback takes the change back: its waves are proven, so their inverse can be."""
        return self.strategy != IN_ONE_GO

    @property
    def sentence(self) -> str:
        """Return the summary of its waves.

        >>> ChangeWay("greenfield", ("strip", "spanning tree off", "spanning tree off", "flip"), 12.4, True).sentence
        'greenfield, 4 waves, about 12 s: strip, spanning tree off, flip'
        """
        named = ", ".join(name for name, _ in groupby(self.waves))
        count = f"{len(self.waves)} wave{'s' if len(self.waves) != 1 else ''}"
        return f"{self.strategy}, {count}, about {self.seconds:.0f} s: {named}" if self.returns else self.strategy
