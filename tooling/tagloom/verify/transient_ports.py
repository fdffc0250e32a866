"""Model ports and tags whose hosts are leaving or have not arrived yet as hosts, to follow the frames they send."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom.records.fabric import Host

if TYPE_CHECKING:
    from collections.abc import Collection

    from tagloom.records.fabric import Fabric
    from tagloom.records.fabric_pair import Place, TransientTag

_ADDRESSES = 1 << 40  # addresses from here on belong to no entry and no host


def transient_hosts(fabric: Fabric, ports: Collection[Place], tags: Collection[TransientTag]) -> list[Fabric]:
    """Return the fabric with transient hosts alone, on live switches, one for each tag that their frames have.

    `ports` send untagged; of `tags` the networks count as one: what their frames may do is done by any one's.
    """
    here = {(name, port, 0) for name, port in ports} | {(name, port, tag) for name, port, tag, _ in tags}
    by_tag: dict[int, list[Host]] = {}
    for i, (name, port, tag) in enumerate(sorted(here)):
        if (s := _live(fabric, name)) is not None:
            by_tag.setdefault(tag, []).append(Host("a guest", s, port, _ADDRESSES + i, tag=tag))
    return [replace(fabric, hosts=tuple(hosts)) for _, hosts in sorted(by_tag.items())]


def with_transient_tags(fabric: Fabric, tags: Collection[TransientTag]) -> Fabric:
    """Return the fabric with a host for each network that a port with hosts is leaving or has not joined yet.

    A port's untagged host is its first: what no other there expects is of its network.
    """
    used = {(host.switch, host.port) for host in fabric.hosts}
    known = {(host.switch, host.port, host.tag) for host in fabric.hosts}
    found: dict[bool, list[Host]] = {False: [], True: []}
    for i, (name, port, tag, network) in enumerate(sorted(tags)):
        s = _live(fabric, name)
        if s is not None and (s, port) in used and (s, port, tag) not in known:
            found[tag > 0].append(Host(f"a guest@{network}", s, port, _ADDRESSES + i, network=network, tag=tag))
            known.add((s, port, tag))
    if not (found[False] or found[True]):
        return fabric
    return replace(fabric, hosts=(*found[False], *fabric.hosts, *found[True]))


def _live(fabric: Fabric, name: str) -> int | None:
    s = fabric.index.get(name)
    return s if s is not None and fabric.switches[s].up else None
