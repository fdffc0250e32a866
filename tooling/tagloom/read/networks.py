"""Refuse traffic between hosts of different networks, whose frames no plan carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric
    from tagloom.records.traffic import Traffic

NAMED_PAIRS = 5  # in a finding


def check_networks(fabric: Fabric, traffic: Traffic, where: str) -> None:
    """Raise InputError for bytes or messages between hosts of different networks: the first pairs, and how many."""
    if (within := fabric.within_networks) is None:
        return
    sent = (traffic.volume_bytes > 0) | (traffic.messages > 0)
    source, destination = np.nonzero(sent & (within == 0))
    if not len(source):
        return
    names = [f"{host.name} ({network})" for host, network in zip(fabric.hosts, _network_of(fabric), strict=True)]
    pairs = zip(source[:NAMED_PAIRS].tolist(), destination[:NAMED_PAIRS].tolist(), strict=True)
    named = ", ".join(f"{names[a]} -> {names[b]}" for a, b in pairs)
    more = f", and {len(source) - NAMED_PAIRS} more" if len(source) > NAMED_PAIRS else ""
    count = f"{len(source)} of {np.count_nonzero(sent)} pairs between networks"
    raise InputError([Finding(where, "bytes between hosts of one network alone", f"{count}: {named}{more}")])


def _network_of(fabric: Fabric) -> list[str]:
    names = [""] * len(fabric.hosts)
    for name, hosts in fabric.networks.items():
        for h in hosts.tolist():
            names[h] = name
    return names
