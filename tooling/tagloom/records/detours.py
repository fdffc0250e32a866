"""Detours known in advance: the host PVIDs, or the static entries, to change when one link or one switch is dead."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from tagloom.records.forms import DetourForm
from tagloom.records.switch_state import SwitchEditor
from tagloom.storage.document import checked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState

# The failures that detours may protect against; auto: links, as far as that changes no path and surely fits.
PROTECTIONS = ("none", "auto", "link", "switch")
UNASKED = ("none", "auto")  # those that refuse nothing, and change no path


@dataclass(frozen=True, slots=True)
class Detour:
    """The changes after one failure: of PVIDs, applied in one wave and in any order, or under pinned of entries.

    dead     the link, named by its two ends as ``switch:port`` in the models' words, or the one switch, by its name
    pvids    the new PVID of each of these hosts' ports; hosts not named keep theirs
    entries  under pinned, by switch: the new port of the entries for these hosts, by their names
    floods   under pinned, by switch: the ports (by number) that flood afterwards, or flood no more
    """

    dead: tuple[str, ...]
    pvids: Mapping[str, int]
    entries: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    floods: Mapping[str, Mapping[int, bool]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it as written in plan.json."""
        moved = {
            "entries": {switch: dict(ports) for switch, ports in self.entries.items()},
            "floods": {switch: {str(p): on for p, on in ports.items()} for switch, ports in self.floods.items()},
        }
        return {
            "dead": list(self.dead),
            "pvids": dict(self.pvids),
            **{key: each for key, each in moved.items() if each},
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any] | DetourForm, where: str = "detour") -> Self:
        """Return it from the output of `to_json`. Raises InputError with every difference from that form."""
        document = plain if isinstance(plain, DetourForm) else checked(DetourForm, dict(plain), where)
        floods = {switch: {int(p): on for p, on in ports.items()} for switch, ports in document.floods.items()}
        return cls(tuple(document.dead), dict(document.pvids), dict(document.entries), floods)


@dataclass(frozen=True, slots=True)
class Protection:
    """What the detours of a plan protect, and their cost.

    protect      "link", "switch" for links and switches, "auto" for links beside paths that were not chosen for it
    protected, unprotected  (ordered host pair, failure) cases still connected, with and without a path afterwards
    detour_vlans, detour_entries  VLANs that no host uses before a failure, and the static entries of all detours
    fdb_entries_max_without  the most static entries of a switch without detours
    load_after_failure_max  host pairs on the busiest channel after the worst failure
    hops_after_failure      total path length over that without a failure, after the worst failure
    """

    protect: str
    protected: int
    unprotected: int
    detour_vlans: int
    detour_entries: int = 0
    fdb_entries_max_without: int = 0
    load_after_failure_max: int = 0
    hops_after_failure: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line."""
        return asdict(self)


def taken(state: FabricState, fabric: Fabric, detour: Detour) -> FabricState:
    """Return a state with what a detour changes, of the hosts and live switches that a fabric has.

    An entry for a host is changed for each of its addresses, in the VLAN of its network at its own port.
    """
    moved: dict[str, SwitchEditor] = {}

    def editor(switch: str) -> SwitchEditor:
        if switch not in moved:
            moved[switch] = SwitchEditor.of(state[switch])
        return moved[switch]

    hosts, live = {host.name: host for host in fabric.hosts}, {switch.name for switch in fabric.live}
    for name, vlan in detour.pvids.items():
        if name in hosts:
            editor(fabric.switches[hosts[name].switch].name).pvid[hosts[name].port - 1] = vlan
    for switch, ports in detour.entries.items():
        for name, port in ports.items():
            if switch in live and (host := hosts.get(name)) is not None:
                own = state[fabric.switches[host.switch].name]
                for mac in host.macs:
                    editor(switch).set_entry(host.tag or int(own.pvid[host.port - 1]), mac, (port,))
    for switch, floods in detour.floods.items():
        for port, on in floods.items():
            if switch in live:
                editor(switch).flooding[port - 1] = on
    return {**state, **{name: each.freeze() for name, each in moved.items()}}


def with_vlans(detours: Iterable[Detour], number: Mapping[int, int]) -> tuple[Detour, ...]:
    """Return detours with VLAN ids mapped by `number`; ids it lacks stay.

    >>> with_vlans([Detour(("s0:g1", "s1:g1"), {"h0": 100})], {100: 200})[0].pvids
    {'h0': 200}
    """
    return tuple(
        replace(each, pvids={host: number.get(vlan, vlan) for host, vlan in each.pvids.items()}) for each in detours
    )
