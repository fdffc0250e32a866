"""Make the traffic of synthetic patterns over all hosts."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError, one_of
from tagloom.records.traffic import Traffic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

PREFIX = "pattern:"
BYTES = 1_000_000.0  # from each host that sends
MESSAGE_BYTES = 1000.0
PATTERNS = (
    "all-to-all",
    "bit-reversal",
    "matrix-transpose",
    "uniform",
    "permutation",
    "hotspot",
    "nearest-neighbour",
)


def pattern(fabric: Fabric, text: str) -> Traffic:
    """Make `pattern:NAME` or `pattern:NAME:SEED` over all hosts, in their order; a megabyte from each that sends.

    Several networks have each the pattern of its own hosts alone.

    all-to-all         an equal share to every other host
    bit-reversal       to the host whose number is this one's, bits reversed; over the first 2^b hosts
    matrix-transpose   (x, y) of a square to (k-1-y, k-1-x), its transpose about the other diagonal; who would be its
                       own partner there, with x + y = k-1, to (k-1-x, k-1-y); over the first k^2 hosts
    uniform            a thousand messages to hosts drawn at random
    permutation        each to one host, each from one, drawn at random
    hotspot            half to host 0, half spread equally; host 0 spreads all
    nearest-neighbour  an equal share to every host of the switches one link away
    Koibuchi et al. 2011 (Sect. 5.3) use the first three. Raises InputError for a name there is not, and for fewer than
    two hosts of one network.
    """
    name, _, seed_text = text.removeprefix(PREFIX).partition(":")
    hosts = max(map(len, fabric.networks.values()))
    if name not in PATTERNS or not (seed_text or "1").isdigit():
        raise InputError([Finding("--traffic", f"pattern:NAME[:SEED], NAME {one_of(PATTERNS, name)}", repr(text))])
    if hosts < 2:
        raise InputError([Finding("--traffic", "two hosts or more of one network for a pattern", str(hosts))])
    share, chance = np.zeros((len(fabric.hosts),) * 2), np.random.default_rng(int(seed_text or "1"))
    for part, mine in zip(fabric.by_network, fabric.networks.values(), strict=True):
        if len(mine) > 1:
            share[np.ix_(mine, mine)] = _share(part, name, len(mine), chance)
    np.fill_diagonal(share, 0.0)
    volume = np.round(BYTES * share)
    made_up = f"{text} is made up: its bytes are a measure among pairs, over no time that is known"
    return Traffic(volume, np.ceil(volume / MESSAGE_BYTES), remarks=(made_up,))


def _share(fabric: Fabric, name: str, hosts: int, chance: np.random.Generator) -> NDArray[np.float64]:
    share = np.zeros((hosts, hosts))
    everyone = np.full((hosts, hosts), 1.0 / (hosts - 1))
    if name == "all-to-all":
        return everyone
    if name == "hotspot":
        share = everyone / 2
        share[0] *= 2
        share[1:, 0] += 0.5
        return share
    if name == "uniform":
        for h in range(hosts):
            others = np.delete(np.arange(hosts), h)
            np.add.at(share[h], chance.choice(others, 1000), 1e-3)
        return share
    if name == "nearest-neighbour":
        joined = np.zeros((len(fabric.switches),) * 2, np.bool_)
        joined[fabric.tail, fabric.head] = True
        share = joined[np.ix_(fabric.host_switch, fabric.host_switch)].astype(np.float64)
        partners = share.sum(axis=1, keepdims=True)
        return np.asarray(share / np.maximum(partners, 1.0), np.float64)
    if name == "bit-reversal":
        bits = hosts.bit_length() - 1
        to = np.array([int(format(h, f"0{bits}b")[::-1], 2) for h in range(1 << bits)])
    elif name == "matrix-transpose":
        square = np.arange(isqrt(hosts) ** 2).reshape((isqrt(hosts),) * 2)
        to = np.where(np.fliplr(np.eye(len(square), dtype=np.bool_)), square[::-1, ::-1], square[::-1, ::-1].T).ravel()
    else:
        to = chance.permutation(hosts)
    share[np.arange(len(to)), to] = 1.0
    return share
