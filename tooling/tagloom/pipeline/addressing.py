"""Plan a build again for hosts with a new card or place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tagloom.errors import PlanError
from tagloom.observe import with_changes
from tagloom.pipeline.files import write_rollout
from tagloom.pipeline.planning import plan
from tagloom.pipeline.rollouts import rollout_between

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tagloom.records.addresses import AddressChange
    from tagloom.records.build import Build


def propose(
    old: Build, changes: Collection[AddressChange], templates: Path, directory: Path, *, force: bool = False
) -> dict[str, Any]:
    """Plan a build again with changes of hosts, write the proven rollout, and return its document.

    Links and paths stay as in the build, as far as possible. Raises InputError for changes that do not fit the build,
    PlanError if no rollout is proven.
    """
    fabric = with_changes(old.fabric, changes)
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
    return write_rollout(new, rollout_between(old, new), templates, directory, force=force)
