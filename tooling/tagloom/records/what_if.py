"""The effect of losing each link or switch alone on host pairs, with detours taken."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tagloom.records.leak import Leak


@dataclass(frozen=True, slots=True)
class Loss:
    """One failure that leaves pairs without a path although they are connected.

    dead   the link by its two ends, or the switch, as in Detour
    cut    ordered pairs that it disconnects, or whose host it takes
    saved  ordered pairs that it breaks and new PVIDs restore
    unprotected  ordered pairs that are connected but have no path; `pairs` are some of them, as "h3 -> h7"
    """

    dead: tuple[str, ...]
    cut: int
    saved: int
    unprotected: int
    pairs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """All single failures of a kind, over all ordered host pairs.

    kind         "links" or "switches"
    failures     number of them
    protected, unprotected  (pair, failure) cases still connected, with and without a path after the change of PVIDs
    saved        of the protected, those that are cut until then
    cut_pairs_max, unprotected_pairs_max  by the worst failure
    pvids_max    host ports that change after the worst failure
    entries_max  static entries that change after the worst failure: under pinned, where no PVID does
    deadlock_free  no cycle in the dependencies of all frames before, during and after every one of them together (of
                 each of them, where entries change); otherwise `deadlock_cycle` names its channels
    broadcast_exactly_once  in each of these states, every broadcast reaches each host that its sender's frames reach
                 once
    storm_free   nothing loops in any of them
    load_before, load_max  pairs on the busiest channel, before and after the worst failure
    hops_before, hops_max  total path length of all pairs, likewise
    isolated     no frame of a network comes to a port of another in any of them; None for a fabric of one network
    leaks        a witness for each two networks between which one does
    losses       the failures that leave pairs unprotected
    duplicates_allowed  hosts know each other's addresses beforehand, so that a second copy of a broadcast does no harm
    dependencies  (held, wanted), int64: those between channels, of all frames in all these states; none where each
                 failure is judged by itself
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
    broadcast_exactly_once: bool
    storm_free: bool
    load_before: int
    load_max: int
    hops_before: int
    hops_max: int
    losses: tuple[Loss, ...]
    isolated: bool | None = None
    leaks: tuple[Leak, ...] = ()
    dependencies: tuple[NDArray[np.int64], ...] = field(default=(), compare=False, repr=False)
    entries_max: int = 0
    duplicates_allowed: bool = False

    @property
    def safe(self) -> bool:
        """Return whether no failure does harm beyond pairs without a path: no deadlock, storm, second copy or leak."""
        once = self.broadcast_exactly_once or self.duplicates_allowed
        calm = self.deadlock_free and self.storm_free and once
        return calm and self.isolated is not False

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line."""
        plain = asdict(replace(self, dependencies=()))
        del plain["dependencies"], plain["duplicates_allowed"]
        return plain
