"""A live network as its switches report it: what becomes of it in a fabric file, and what it does today."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tagloom.errors import Finding
    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.observation import Observation

    # reads every switch of a fabric: neighbors, learned addresses, the ports that spanning tree blocks
    ReadNetwork = Callable[[Fabric], Mapping[str, Observation]]


@dataclass(frozen=True, slots=True)
class ForeignVlan:
    """A VLAN that stays as it is: its id and name, its ports that lead out of the fabric, and links that carry it."""

    vlan: int
    name: str
    ports: tuple[str, ...]
    links: int


@dataclass(frozen=True, slots=True)
class EdgePorts:
    """What is at the ports between which and the switches there is no link.

    hosts     as (name, switch index, port, addresses), in order
    uplinks   a finding for each port that looks like a way to others: many addresses, a switch that is no part
    silent    ports that are up in the VLAN of the hosts, where nothing was learnt
    reserved  (switch index, port) of ports in foreign VLANs alone, ascending
    findings  addresses at several ports
    """

    hosts: tuple[tuple[str, int, int, tuple[int, ...]], ...] = ()
    uplinks: tuple[Finding, ...] = ()
    silent: tuple[str, ...] = ()
    reserved: tuple[tuple[int, int], ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ActiveTree:
    """What spanning tree keeps active: the root, "" if it is no switch of the network, and the ports it blocks.

    `blocked` are (switch index, port) at ends of links; `assumed` says what was not read from switches, `findings` why
    the tree is not one that has settled.
    """

    root: str = ""
    blocked: tuple[tuple[int, int], ...] = ()
    assumed: str = ""
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class AdoptedNetwork:
    """A live network as a fabric, and the proof of what it does today.

    `blocked` names ports as switch:port, `texts` are the running configurations with secrets hidden, `remarks` what was
    missing or inconsistent in what was read. `failed` says of switches that could not be read why not: then the fabric
    is that of the others.
    """

    fabric: Fabric
    edge: EdgePorts
    tree: ActiveTree
    blocked: tuple[str, ...]
    proof: Findings
    foreign: tuple[ForeignVlan, ...]
    texts: Mapping[str, str] = field(repr=False)
    remarks: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Return whether all was read, and what runs today is proven."""
        return self.proof.proven and not (self.failed or self.edge.findings or self.tree.findings)

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line: those of `verify`, and what was read."""
        proof = self.proof.to_json()
        more = [finding.to_json() for finding in (*self.edge.findings, *self.tree.findings)]
        models = [switch.model for switch in self.fabric.switches]
        return proof | {
            "proven": self.holds,
            "findings": [*proof["findings"], *more],
            "switches": len(self.fabric.switches),
            "links": len(self.fabric.links),
            "hosts": len(self.fabric.hosts),
            "models": {model: models.count(model) for model in sorted(set(models))},
            "root": self.tree.root,
            "blocked": list(self.blocked),
            "assumed": self.tree.assumed,
            "proposed_uplinks": [finding.to_json() for finding in self.edge.uplinks],
            "silent": list(self.edge.silent),
            "foreign": [asdict(vlan) for vlan in self.foreign],
            "remarks": list(self.remarks),
            "failed": list(self.failed),
            "unread": dict(self.failed),
        }
