"""Plan a build again for hosts with a new card or place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.pipeline.files import write_rollout
from tagloom.pipeline.planning import plan
from tagloom.pipeline.rollouts import rollout_between

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tagloom.records.addresses import AddressChange
    from tagloom.records.build import Build


def propose(old: Build, changes: Collection[AddressChange], templates: Path, directory: Path) -> dict[str, Any]:
    """Plan a build again with changes of hosts, write the proven rollout, and return its document.

    Links and paths stay as in the build, as far as possible. Raises InputError for changes that do not fit the build,
    PlanError if no rollout is proven.
    """
    fabric, hosts = old.fabric, {host.name: host for host in old.fabric.hosts}
    for each in changes:
        host = hosts[each.host]
        if each.moved:
            name, _, word = each.where.partition(":")
            s = fabric.index[name]
            host = replace(host, switch=s, port=platforms.of(fabric.switches[s]).port_number(word) or host.port)
        hosts[each.host] = replace(host, mac=each.macs[0], also=each.macs[1:])
    fabric = replace(fabric, hosts=tuple(hosts.values()))
    new, proof, _ = plan(
        fabric,
        templates,
        routing="auto" if fabric.own_ways else old.routes.method,
        assignment=old.assignment,
        static_arp=old.duplicates_allowed,
        keep=old,
        protect=old.protection.protect if old.protection is not None else "none",
    )
    if not proof.proven:
        raise PlanError("a plan with these hosts proves", str(next(iter(proof.findings), "")), "tagloom plan FABRIC")
    return write_rollout(new, rollout_between(old, new), templates, directory)
