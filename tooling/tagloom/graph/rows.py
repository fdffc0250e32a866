"""Expand rows of different lengths that stand one after another in an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def places(first: NDArray[np.integer], size: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the places of rows, row after row: of row i ``size[i]`` places from ``first[i]`` on.

    ``np.repeat(x, size)`` gives what a row has to each of its places.

    >>> places(np.array([5, 0, 7]), np.array([2, 0, 3])).tolist()
    [5, 6, 7, 8, 9]
    """
    end = np.cumsum(size)
    return np.repeat(first - (end - size), size) + np.arange(end[-1] if len(end) else 0, dtype=np.int64)
