"""Detours installed in advance: the host PVIDs to change when one link or one switch is dead."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from tagloom.records.forms import DetourForm
from tagloom.storage.document import checked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PROTECTIONS = ("none", "link", "switch")  # the failures that detours may protect against


@dataclass(frozen=True, slots=True)
class Detour:
    """The PVID changes after one failure, applied in one wave and in any order.

    dead   the link, named by its two ends as ``switch:port`` in the models' words, or the one switch, by its name
    pvids  the new PVID of each of these hosts' ports; hosts not named keep theirs
    """

    dead: tuple[str, ...]
    pvids: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return it as written in plan.json."""
        return {"dead": list(self.dead), "pvids": dict(self.pvids)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any] | DetourForm, where: str = "detour") -> Self:
        """Return it from the output of `to_json`. Raises InputError with every difference from that form."""
        document = plain if isinstance(plain, DetourForm) else checked(DetourForm, dict(plain), where)
        return cls(tuple(document.dead), dict(document.pvids))


@dataclass(frozen=True, slots=True)
class Protection:
    """What the detours of a plan protect, and their cost.

    protect      "link", or "switch" for links and switches
    protected, unprotected  (ordered host pair, failure) cases still connected, with and without a path afterwards
    detour_vlans, detour_entries  VLANs that no host uses before a failure, and the static entries of all detours
    load_after_failure_max  host pairs on the busiest channel after the worst failure
    hops_after_failure      total path length over that without a failure, after the worst failure
    """

    protect: str
    protected: int
    unprotected: int
    detour_vlans: int
    detour_entries: int = 0
    load_after_failure_max: int = 0
    hops_after_failure: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line."""
        return asdict(self)


def with_vlans(detours: Iterable[Detour], number: Mapping[int, int]) -> tuple[Detour, ...]:
    """Return detours with VLAN ids mapped by `number`; ids it lacks stay.

    >>> with_vlans([Detour(("s0:g1", "s1:g1"), {"h0": 100})], {100: 200})[0].pvids
    {'h0': 200}
    """
    return tuple(
        Detour(each.dead, {host: number.get(vlan, vlan) for host, vlan in each.pvids.items()}) for each in detours
    )
