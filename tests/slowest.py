"""Print the ten slowest tests of a file that pytest wrote: set-up and teardown included, all runs together.

TAGLOOM_DURATIONS=FILE pytest ...; slowest.py FILE
"""

import json
import sys
from pathlib import Path

MOST = 10


def slowest(lines):
    """List (seconds, test) of the slowest tests, slowest first; of several runs of a test, its slowest one."""
    seconds = {}
    for line in lines:
        row = json.loads(line)
        seconds[row["test"]] = max(row["seconds"], seconds.get(row["test"], 0.0))
    return sorted(((took, test) for test, took in seconds.items()), reverse=True)[:MOST]


if __name__ == "__main__":
    for took, test in slowest(Path(sys.argv[1]).read_text("utf-8").splitlines()):
        print(f"{took:8.1f} s  {test}")
