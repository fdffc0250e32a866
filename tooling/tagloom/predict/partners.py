"""Draw who sends to whom, where a profile says only how much all ranks sent: patterns that parallel programs have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.traffic import Run

UNEVEN = 0.5  # of the patterns drawn
PATTERNS = "all", "ring", "grid", "torus", "row", "cube", "few"


def with_partners(run: Run, chance: np.random.Generator) -> Run:
    """Return a run whose hosts send what is spread over all pairs to fewer partners, by a pattern drawn at random.

    Bytes and messages in all stay. In half of the draws each pair of the pattern has as many, in the other half they
    are as uneven as exponential numbers. Patterns are those of the NAS Parallel Benchmarks and the like, over hosts in
    their order: everybody; the next and the one before; the neighbours in a grid as square as can be, its edges joined
    or not; the others of its row; hosts whose numbers differ in one bit; a few by chance.
    """
    n = len(run.hosts)
    among = np.zeros(run.traffic.messages.shape, np.bool_)
    among[np.ix_(run.hosts, run.hosts)] = _pattern(PATTERNS[int(chance.integers(len(PATTERNS)))], n, chance)
    among &= run.traffic.messages > 0
    if not among.any():
        return run
    weight = among * (chance.exponential(size=among.shape) if chance.random() < UNEVEN else 1.0)
    weight /= weight.sum()
    parts = {key: weight * getattr(run.traffic, key).sum() for key in ("volume_bytes", "messages")}
    return replace(run, traffic=replace(run.traffic, **parts))


def _pattern(name: str, n: int, chance: np.random.Generator) -> NDArray[np.bool_]:
    """Return which of n hosts send to which, bool[n, n]; nobody to itself."""
    at = np.arange(n)
    a, b = at[:, None], at[None, :]
    apart = (a - b) % n
    wide = max(d for d in range(1, n + 1) if n % d == 0 and d * d <= n) if n else 1
    dx, dy = np.abs(a % wide - b % wide), np.abs(a // wide - b // wide)
    if name == "ring":
        return np.asarray(((apart == 1) | (apart == n - 1)) & (a != b))
    if name in {"grid", "torus"}:
        if name == "torus":
            dx, dy = np.minimum(dx, wide - dx), np.minimum(dy, n // wide - dy)
        return np.asarray(dx + dy == 1)
    if name == "row":
        return np.asarray((dy == 0) & (a != b)) if wide > 1 else a != b
    if name == "cube":
        return np.asarray((a != b) & ((a ^ b) & ((a ^ b) - 1) == 0))
    if name == "few":
        least = chance.integers(1, max(2, n.bit_length()))
        drawn = np.argsort(chance.random((n, n)) + 2.0 * np.eye(n), axis=1) if n else np.zeros((0, 0), np.int64)
        found = np.zeros((n, n), np.bool_)
        np.put_along_axis(found, drawn[:, :least], True, axis=1)
        return np.asarray(found & (a != b))
    return np.asarray(a != b)
