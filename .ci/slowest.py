"""Print the ten slowest tests of a file that pytest wrote. Seconds include set-up and teardown.

TAGLOOM_DURATIONS=FILE pytest ...; python3 .ci/slowest.py FILE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 10


def slowest(lines: Iterable[str]) -> list[tuple[float, str]]:
    """List (seconds, test) of the slowest tests, slowest first. A test that ran several times counts once."""
    seconds: dict[str, float] = {}
    for line in lines:
        row = json.loads(line)
        seconds[row["test"]] = max(row["seconds"], seconds.get(row["test"], 0.0))
    return sorted(((took, test) for test, took in seconds.items()), reverse=True)[:MOST]


if __name__ == "__main__":
    for took, test in slowest(Path(sys.argv[1]).read_text("utf-8").splitlines()):
        print(f"{took:8.1f} s  {test}")
