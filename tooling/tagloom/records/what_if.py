"""What the loss of each link or switch, alone, does to the pairs of hosts, detours taken."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Loss:
    """One failure that leaves pairs without a path although they are connected.

    dead   the link by its two ends, or the switch, as in Detour
    cut    ordered pairs that it parts, or of whose hosts it takes one
    saved  ordered pairs that it breaks and new PVIDs bring back
    unprotected  ordered pairs that are connected and do without a path; `pairs` are some of them, as "h3 -> h7"
    """

    dead: tuple[str, ...]
    cut: int
    saved: int
    unprotected: int
    pairs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Every single failure of a kind, over all ordered pairs of hosts.

    kind         "links" or "switches"
    failures     how many there are
    protected, unprotected  (pair, failure) that are connected then, with and without a path after PVIDs have changed
    saved        of the protected, those that a failure breaks until then
    cut_pairs_max, unprotected_pairs_max  by the worst failure
    pvids_max    ports of hosts that change after the worst failure
    deadlock_free  no cycle in the dependencies of all frames before, during and after every one of them together;
                   `deadlock_cycle` names its channels else
    broadcast_exactly_once  every broadcast reaches each host that its sender's frames reach once, in each of these
                   states; None if entries lead broadcasts along a tree of their own
    storm_free   nothing goes round in any of them
    load_before, load_max  pairs on the busiest channel, before and after the worst failure
    hops_before, hops_max  channels on the way of all pairs, likewise
    losses       the failures that leave pairs unprotected
    dependencies  (held, wanted), int64: those between channels, of all frames in all these states
    """

    kind: str
    failures: int
    protected: int
    unprotected: int
    saved: int
    cut_pairs_max: int
    unprotected_pairs_max: int
    pvids_max: int
    deadlock_free: bool
    deadlock_cycle: tuple[str, ...]
    broadcast_exactly_once: bool | None
    storm_free: bool
    load_before: int
    load_max: int
    hops_before: int
    hops_max: int
    losses: tuple[Loss, ...]
    dependencies: tuple[NDArray[np.int64], ...] = field(default=(), compare=False, repr=False)

    @property
    def safe(self) -> bool:
        """Return whether no failure does harm beyond pairs without a path: no deadlock, no storm, no second copy."""
        return self.deadlock_free and self.storm_free and self.broadcast_exactly_once is not False

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line."""
        plain = asdict(replace(self, dependencies=()))
        del plain["dependencies"]
        return plain
