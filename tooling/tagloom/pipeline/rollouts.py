"""Order the change from one build to another, or from factory default to a build."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.pipeline.planning import by_new_names, plan
from tagloom.pipeline.proving import proof_services
from tagloom.platforms.factory import factory_state
from tagloom.read.active_tree import FILE, read_active_tree
from tagloom.read.build_directory import read_texts
from tagloom.records.fabric_pair import FabricPair, alike
from tagloom.records.switch_state import dead_states
from tagloom.render import parse
from tagloom.rollout import choose, from_factory
from tagloom.rollout.back import to_spanning_tree
from tagloom.rollout.between_fabrics import WavesRequest, grow
from tagloom.rollout.changed_states import changed_states
from tagloom.rollout.pruning import laid_over, pruned_first, shared_with_others
from tagloom.rollout.spanning import active_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.rollout import Rollout
    from tagloom.records.switch_state import FabricState
    from tagloom.rollout import ProofServices
    from tagloom.rollout.spanning import Spanning


def rollout_between(
    old: Build,
    new: Build,
    *,
    strategy: str = "auto",
    allow_drain: bool = False,
    allow_duplicates: bool = False,
    foreign: str = "refuse",
    running: Path | None = None,
    own_ids: bool = False,
) -> Rollout:
    """Order the change from one build to another; `allow_duplicates` permits repeated broadcasts meanwhile.

    With `own_ids`, VLANs of a new fabric get the ids of its build if those are free.

    `running` is a directory of configurations read from the switches, in place of the old build's. Foreign
    configuration in them stays, except VLANs that would loop, which `foreign` "prune" prunes. Neither is for fabrics
    that differ. Raises InputError for fabrics without a possible rollout, PlanError if none was found.
    """
    old = by_new_names(old, new.fabric)
    a, b = old.fabric, new.fabric
    allowed = old.duplicates_allowed or new.duplicates_allowed or allow_duplicates
    if not alike(a, b):
        if running is not None or foreign != "refuse":
            rule = "two builds of one fabric; what loops is pruned first: tagloom apply OLD --foreign prune"
            raise InputError([Finding("--running, --foreign", rule, "they differ in parts")])
        requested = WavesRequest(proof_services, partial(_planned_alone, new), allowed, strategy, allow_drain, own_ids)
        with _ways_of_states(a, b):
            return grow(FabricPair(a, b), old.state, new.state, requested)
    before, after = what_runs(running, b, old.state, new.state)
    services = proof_services(b, duplicates_allowed=allowed)
    order = partial(choose, b, services=services, strategy=strategy, allow_drain=allow_drain)
    with _ways_of_states(a, b):
        return pruned_first(b, services, before, after, order, foreign=foreign)


@contextmanager
def _ways_of_states(old: Fabric, new: Fabric) -> Iterator[None]:
    """Add to the refusal of a rollout the commands for parts that are down or dead in one fabric alone."""
    try:
        yield
    except PlanError as error:
        ways = "; ".join(map(str, changed_states(old, new)))
        if not ways:
            raise
        raise PlanError(error.rule, error.witness, f"{ways}; or {error.next_step}", error.advice) from error


def _planned_alone(new: Build, fabric: Fabric) -> FabricState:
    """Return the state of a fabric on the way to `new`; under pinned by its paths, else by one tree."""
    if new.assignment == "pinned":
        return plan(fabric, Path(), assignment="pinned", routing="tree", keep=new, texts=False)[0].state
    return plan(fabric, Path(), texts=False)[0].state


def what_runs(
    directory: Path | None, fabric: Fabric, before: FabricState, after: FabricState
) -> tuple[FabricState, FabricState]:
    """Return both ends of a change with foreign configuration from a directory of running ones, else from `before`.

    Raises InputError for texts that cannot be read, and for unknown lines in them that affect the fabric.
    """
    if directory is not None:
        before, unknown = parse(fabric, read_texts(fabric, directory))
        if unknown:
            raise InputError(unknown)
    return (before, laid_over(fabric, before, after)) if shared_with_others(before) else (before, after)


def greenfield(
    build: Build,
    *,
    before: FabricState | None = None,
    root: str | None = None,
    blocked: Sequence[str] = (),
    allow_drain: bool = False,
    foreign: str = "refuse",
    running: Path | None = None,
    back: bool = False,
) -> Rollout:
    """Order the change from factory default (or `back` to it), with loops cabled and spanning tree running, to a build.

    `root` names the root of the running spanning tree, by default the first switch. `blocked` lists the ports it
    blocks, as ``switch:port``, read from the switches. Without them the tree is computed by 802.1D with equal costs and
    bridge addresses in the order of the fabric, and the rollout states that assumption. `before` is the state of the
    switches if it was read, `running` a directory of their configurations, and of the tree where `adopt` wrote it.
    Foreign VLANs in them stay, unless they would loop: then the change is refused, or with `foreign` "prune" they are
    pruned to trees. Raises InputError, PlanError.
    """
    fabric = build.fabric
    kept = read_active_tree(running) if running is not None and root is None and not blocked else None
    if running is not None and kept is not None:
        tree, assumed = active_tree(fabric, kept.root, kept.blocked, str(running / FILE), kept.outside)
    else:
        tree, assumed = active_tree(fabric, root, blocked)
    held = before or {s.name: factory_state(platforms.of(s)) for s in fabric.live} | dead_states(fabric)
    held, after = what_runs(
        running, fabric, {switch.name: held[switch.name] for switch in fabric.switches}, build.state
    )
    services = proof_services(fabric, duplicates_allowed=build.duplicates_allowed)
    found = from_spanning_tree(
        fabric, held, after, services, tree, assumed=assumed, allow_drain=allow_drain, foreign=foreign
    )
    return to_spanning_tree(found, services) if back else found


def from_spanning_tree(
    fabric: Fabric,
    before: FabricState,
    after: FabricState,
    services: ProofServices,
    tree: Spanning,
    *,
    assumed: str = "",
    allow_drain: bool = False,
    foreign: str = "refuse",
) -> Rollout:
    """Order the change from the factory's VLAN 1 under spanning tree, whose active tree is `tree`, to `after`.

    `assumed` says what of the tree was not read from switches, `foreign` what is done about foreign VLANs that would
    loop. Raises PlanError if a wave is not proven.
    """

    def order(here: FabricState, there: FabricState) -> Rollout:
        return from_factory(fabric, here, there, services, tree, assumed=assumed, allow_drain=allow_drain)

    return pruned_first(fabric, services, before, after, order, foreign=foreign, forwards=tree.links, floods=True)


def rollout(
    fabric: Fabric,
    before: FabricState,
    after: FabricState,
    *,
    duplicates_allowed: bool = False,
    strategy: str = "auto",
    allow_drain: bool = False,
) -> Rollout:
    """Order the change from one state to another into waves, with every intermediate state proven, line by line."""
    services = proof_services(fabric, duplicates_allowed=duplicates_allowed)
    return choose(fabric, before, after, services, strategy=strategy, allow_drain=allow_drain)
