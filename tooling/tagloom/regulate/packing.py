"""Weigh flows by how many of their size fit on a link together: each takes one path, so a link carries whole flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_SHARES = 16  # shares of a link that flows are counted in at most
# Of a flow: a channel's limit allows for rounding, and a flow just above a share counts as that share.
SHRINK = 1 - 1e-9
WORTH = 1.03  # times the bytes' load: below, the bytes themselves bound as well, and more evenly


def weighed(volume: NDArray[np.float64], capacity: float) -> list[NDArray[np.float64]]:
    """Return what flows may count for instead of their bytes, where flow in fractions is to bound them.

    `volume` is float64[H, H], a flow from host to host each, `capacity` what a link carries each way. No set of flows
    that fits on a channel counts for more than `capacity`, so what bounds these flows in fractions bounds the given
    ones as a whole. The given ones are the first.

    A flow of a share x counts for floor((k + 1) x) / k. Shares that fit sum to less than 1 once each is SHRINKed, so
    the floors sum to less than k + 1, and are whole: k at most. Of two flows of 0.6, each counts for 1 with k = 1.
    """
    if capacity <= 0:
        return [volume]
    shares = volume * (SHRINK / capacity)
    return [volume, *(np.floor((k + 1) * shares) * (capacity / k) for k in range(1, MOST_SHARES + 1))]


def heaviest(counted: list[NDArray[np.float64]], hops: NDArray[np.float64]) -> int:
    """Return which of `weighed`'s loads the fabric most along shortest paths, of `hops` channels; 0 if none by far."""
    work = [float((each * hops).sum()) for each in counted]
    most = int(np.argmax(work))
    return most if work[most] > WORTH * work[0] else 0
