"""Order the way from factory default, loops cabled and spanning tree running, to a build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.pipeline.planning import dead_states, proof_services
from tagloom.pipeline.pruning import pruned_first, what_runs
from tagloom.platforms.factory import factory_state
from tagloom.platforms.port_names import port_name
from tagloom.rollout import from_factory, read_back, settled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tagloom.pipeline.planning import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.rollout import Rollout
    from tagloom.records.switch_state import FabricState
    from tagloom.rollout.spanning import Spanning


def greenfield(
    build: Build,
    *,
    before: FabricState | None = None,
    root: str | None = None,
    blocked: Sequence[str] = (),
    allow_drain: bool = False,
    foreign: str = "refuse",
    running: Path | None = None,
) -> Rollout:
    """Order the change from factory default, loops cabled and spanning tree running, to a build.

    `root` names the root of the running spanning tree, by default the first switch; `blocked` lists the ports it
    blocks, as ``switch:port``, read from the switches. Without them the tree is computed as 802.1D would settle it with
    equal costs and bridge addresses in the order of the fabric, which is said in the rollout. `before` is what the
    switches hold, where that was read, or `running` a directory of their configurations: VLANs of others in them stay,
    but where they would loop, which is refused, or they are pruned to trees with `foreign` "prune". Raises InputError,
    PlanError.
    """
    fabric = build.fabric
    findings: list[Finding] = []
    top = fabric.index.get(root) if root is not None else next(i for i, s in enumerate(fabric.switches) if s.up)
    if top is None or not fabric.switches[top].up:
        findings.append(Finding("--root", "a switch of the fabric that is up", repr(root)))
    shut = set()
    for end in blocked:
        name, _, word = end.partition(":")
        s = fabric.index.get(name)
        port = platforms.of(fabric.switches[s]).port_number(word) if s is not None else None
        if s is None or port is None or fabric.port_channel[s, port] < 0:
            findings.append(Finding("--blocked", "switch:port of a link of the fabric", repr(end)))
        else:
            shut.add((s, port))
    if findings or top is None:
        raise InputError(findings)
    held = before or {s.name: factory_state(platforms.of(s)) for s in fabric.live} | dead_states(fabric)
    held, after = what_runs(
        running, fabric, {switch.name: held[switch.name] for switch in fabric.switches}, build.state
    )
    tree, assumed = _active_tree(fabric, top, shut)
    services = proof_services(fabric, duplicates_allowed=build.duplicates_allowed)

    def order(here: FabricState, there: FabricState) -> Rollout:
        return from_factory(fabric, here, there, services, tree, assumed=assumed, allow_drain=allow_drain)

    return pruned_first(fabric, held, after, order, foreign=foreign, forwards=tree.links, floods=True)


def _active_tree(fabric: Fabric, top: int, shut: set[tuple[int, int]]) -> tuple[Spanning, str]:
    """Return the tree that spanning tree keeps active below switch `top`, and what of it nobody has read."""
    if shut:
        return read_back(fabric, top, shut), ""
    order = [top, *(s for s in range(len(fabric.switches)) if s != top)]
    tree = settled(fabric, [order.index(s) for s in range(len(fabric.switches))])
    ports = " ".join(sorted(port_name(fabric, *port) for port in tree.blocked))
    return tree, (
        f"{fabric.switches[top].name} is the root, all links cost the same, and bridge addresses rise in the order "
        f"of the fabric: compare with show spanning-tree, or say --blocked; blocked: {ports or 'none'}"
    )
