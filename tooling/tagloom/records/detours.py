"""Detours installed beforehand: which PVIDs of hosts to change when one link or one switch is dead."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from tagloom.records.forms import DetourForm
from tagloom.storage.document import checked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PROTECTIONS = ("none", "link", "switch")  # from the loss of what detours may protect


@dataclass(frozen=True, slots=True)
class Detour:
    """What to change when one part of the fabric is dead, in one wave and in any order.

    dead   the link, named by its two ends as ``switch:port`` in the models' words, or the one switch, by its name
    pvids  the VLAN that the port of each of these hosts gets as its PVID; hosts not named keep theirs
    """

    dead: tuple[str, ...]
    pvids: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return it as it stands in plan.json."""
        return {"dead": list(self.dead), "pvids": dict(self.pvids)}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any] | DetourForm, where: str = "detour") -> Self:
        """Return it from what `to_json` gave. Raises InputError with everything that differs from that form."""
        document = plain if isinstance(plain, DetourForm) else checked(DetourForm, dict(plain), where)
        return cls(tuple(document.dead), dict(document.pvids))


@dataclass(frozen=True, slots=True)
class Protection:
    """What the detours of a plan protect, and what they cost.

    protect      "link", or "switch" for links and switches
    protected, unprotected  (ordered pair of hosts, failure) that are connected, with and without a path after it
    detour_vlans, detour_entries  VLANs that no host uses before a failure, and static entries for detours in all
    load_after_failure_max, hops_after_failure  host pairs on the busiest channel, and channels on the way of all pairs
                 over those without a failure, by the worst failure
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
    """Return detours with other VLAN ids; those that `number` does not have stay.

    >>> with_vlans([Detour(("s0:g1", "s1:g1"), {"h0": 100})], {100: 200})[0].pvids
    {'h0': 200}
    """
    return tuple(
        Detour(each.dead, {host: number.get(vlan, vlan) for host, vlan in each.pvids.items()}) for each in detours
    )
