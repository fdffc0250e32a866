"""Kill -9 the controller, Ansible's worker, the process that speaks to a switch, or all at every command of a rollout.

Run `python tests/faults/sweep.py`. Every command typed on either switch is a point: held back (slow) or done and
unanswered (late), in turn. Two racks take the points side by side, in an order that is spread over the whole rollout
from the first on. Prints a row a point and the sum; `--every N` takes each Nth, `--who` and `--switch` some, `--minutes
M` begins no point after that time.
"""

import argparse
import math
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from command_line.loaded import WAITS
from stage import Stage
from tagloom.lab import process
from test_faults import kill_at

WAIT_SECONDS = 0.5  # for old frames: the next wave's logins fall into it
GOLDEN = (5**0.5 - 1) / 2  # steps of this share of a row never bunch (three-distance theorem)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--who", nargs="+", default=["controller", "worker", "speaker", "everything"])
    parser.add_argument("--switch", nargs="+", default=["s0", "s1"])
    parser.add_argument("--racks", type=int, default=2, metavar="R")
    parser.add_argument("--minutes", type=float, default=math.inf, metavar="M")
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    os.environ[WAITS] = "1"  # faults strike in the waits, too
    told = Counter()
    with tempfile.TemporaryDirectory(prefix="sweep-") as folder, ExitStack() as ends:
        racks = SimpleQueue()
        for number in range(asked.racks):
            home = Path(folder) / str(number)
            home.mkdir()
            racks.put(stage := Stage(home, "mesh", "--dims", 2, 1, "--parallel", 2))
            stage.with_waits("r", WAIT_SECONDS)
            ends.callback(process.down, stage.rack)
        stage.begin()
        stage("apply", "r")
        counts = stage.commands()
        print(f"commands typed in the whole rollout: {counts}", flush=True)
        points = [
            (who, switch, ("slow", "late")[at % 2], at)
            for who in asked.who
            for switch in asked.switch
            for at in range(1, counts[switch] + 1, asked.every)
        ]

        def strike(point):
            if time.monotonic() > end:
                return
            rack, began = racks.get(), time.monotonic()
            try:
                rack.begin()
                how = kill_at(rack, *point, ".")  # type: ignore[call-arg]
            except Exception as error:  # noqa: BLE001 - whatever it is, it is this point's, and the others go on
                how = f"FAILED: {type(error).__name__}: {' '.join(str(error).split())[:600]}"
            racks.put(rack)
            told[how.split(":")[0]] += 1
            print(f"  {' '.join(map(str, point))}: {how}, {time.monotonic() - began:.0f} s", flush=True)

        spread = [points[at] for at in sorted(range(len(points)), key=lambda at: at * GOLDEN % 1)]
        with ThreadPoolExecutor(asked.racks) as pool:
            list(pool.map(strike, spread))
    print(f"{told.total()} of {len(points)} points: {dict(told)}")
    return 1 if told["FAILED"] or told.total() < len(points) else 0


if __name__ == "__main__":
    sys.exit(main())
