"""Choose message sizes and repeats as NetPIPE 3.7 does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PERTURBATION_BYTES = 3
TRIALS = 3  # of every size; NetPIPE's "final" build takes 7
TARGET_SECONDS = 0.1  # one-way, of one trial; NetPIPE's "final" build takes 0.25
STOP_SECONDS = 1.0  # a size with a longer one-way time is the last


def sizes(least: int, most: int, perturbation: int = PERTURBATION_BYTES) -> Iterator[int]:
    """Yield NetPIPE's sizes in bytes: 2^k and 3 * 2^(k-1), each with its neighbours if the step is wide enough.

    `most` bounds the unperturbed size, so the last size may be `most + perturbation`, as NetPIPE's is.

    >>> list(sizes(1, 64))
    [1, 2, 3, 4, 6, 8, 12, 13, 16, 19, 21, 24, 27, 29, 32, 35, 45, 48, 51, 61, 64, 67]
    >>> list(sizes(1, 64, 0))
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
    """
    step, number, size = (least // 2, 1, least) if least > 1 else (1, 0, least)
    while size <= most:
        if number > 2 and number % 2:
            step *= 2
        if 0 < perturbation < step - 1:
            yield from (size - perturbation, size, size + perturbation)
        else:
            yield size
        size, number = size + step, number + 1


def repeats(target_seconds: float, old_bytes: int, old_seconds: float, new_bytes: int, least: int = TRIALS) -> int:
    """Return the round trips of one trial: i = r o / (t n), and at least `least`.

    r is the wanted duration of a trial, o and t are size and one-way time of the last measurement, n is the new size.
    NetPIPE's C source puts (its last size - step + 1) for o and its last size for n, which differs by at most one step.

    >>> repeats(0.1, 64, 10e-6, 128)
    5000
    """
    return max(int(target_seconds * old_bytes / (old_seconds * new_bytes)), least)
