"""Find the hitless waves of a first push: from the factory's VLAN 1 under spanning tree to a build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.errors import PlanError, TagloomError, one_line
from tagloom.observe.network import active_tree as reported_tree
from tagloom.observe.network import edge_ports
from tagloom.operate import prepare
from tagloom.pipeline.proving import proof_services
from tagloom.pipeline.rollouts import from_spanning_tree
from tagloom.platforms.port_names import port_name
from tagloom.rollout import why_not_from
from tagloom.rollout.spanning import active_tree
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.apply.site import Site
    from tagloom.operate.prepare import PreparedChange
    from tagloom.records.fabric import Fabric
    from tagloom.records.network import ReadNetwork
    from tagloom.records.observation import Observation
    from tagloom.records.switch_state import FabricState
    from tagloom.rollout.spanning import Spanning

_WHERE = "spanning tree"
_SET_UP = "which is not set up (snmp.yml beside the inventory)"


def first_push(
    prepared: PreparedChange,
    before: FabricState,
    after: FabricState,
    site: Site,
    read: ReadNetwork | None,
    *,
    allow_drain: bool = False,
    foreign: str = "refuse",
) -> tuple[PreparedChange | None, str]:
    """Return the waves that lead switches under spanning tree to a build without cutting off a pair.

    `before` and `after` are what the switches hold and what the build makes of it. The second value says why there are
    no such waves; "" where no switch runs spanning tree.
    """
    fabric = prepared.fabric
    if not any(before[switch.name].spanning_tree for switch in fabric.live):
        return None, ""
    if why := why_not_from(fabric, before):
        return None, f"no hitless way: {why}"
    if read is None:
        return None, f"no hitless way: the ports that spanning tree blocks are read over SNMP, {_SET_UP}"
    try:
        tree = _tree(fabric, before, read(fabric))
        services = proof_services(fabric, duplicates_allowed=prepared.proof.duplicates_allowed)
        change = from_spanning_tree(fabric, before, after, services, tree, allow_drain=allow_drain, foreign=foreign)
        return prepare.written(prepared, change, site), ""
    except PlanError as error:  # its own way out would be that of a rollout
        return None, f"no hitless way: {'; '.join(filter(None, (error.rule, error.witness)))}"
    except TagloomError as error:
        return None, f"no hitless way: {one_line(error)}"


def _tree(fabric: Fabric, state: FabricState, seen: Mapping[str, Observation]) -> Spanning:
    """Return the active tree that switches report. Raises PlanError if it is not known, or is not the fabric's."""
    failed = {name: shown.error for name, shown in seen.items() if shown.error}
    if failed:
        first = next(iter(failed))
        raise PlanError(
            f"SNMP: {len(failed)} of {number_of(len(seen), 'switch')} do not answer", f"{first}: {failed[first]}"
        )
    reported = reported_tree(fabric, state, seen)
    if reported is None:
        raise PlanError("the ports that spanning tree blocks cannot be read", "a switch lacks BRIDGE-MIB's dot1dStp")
    if reported.findings:
        raise PlanError("spanning tree has not settled", str(reported.findings[0]))
    blocked = [
        port_name(fabric, fabric.index[name], port)
        for name, shown in seen.items()
        if shown.spanning is not None
        for port in sorted(shown.spanning.blocked)
        if fabric.port_channel[fabric.index[name], port] >= 0
        or any(p.number == port and p.oper_up for p in shown.ports)
    ]
    outside = [found.where for found in edge_ports(fabric, state, seen, {}, {name: {} for name in seen}).uplinks]
    tree, assumed = active_tree(fabric, reported.root, blocked, _WHERE, outside)
    if assumed and len(fabric.links) >= len(fabric.live):
        raise PlanError("the ports that spanning tree blocks cannot be told", "no switch reports one")
    return tree
