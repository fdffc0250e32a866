"""Kill -9 the controller, a worker, or both with all their kin at every command of a rollout.

Run `python tests/faults/sweep.py`. Every command typed on either switch is a point: held back (slow) or done and
unanswered (late), in turn. Prints a row a point and the sum; `--every N` takes each Nth, `--who` and `--switch` some.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from stage import Stage
from tagloom.lab import process
from test_faults import kill_at


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--who", nargs="+", default=["controller", "worker", "everything"])
    parser.add_argument("--switch", nargs="+", default=["s0", "s1"])
    asked = parser.parse_args()
    told = Counter()
    with tempfile.TemporaryDirectory(prefix="sweep-") as folder:
        stage = Stage(Path(folder), "mesh", "--dims", 2, 1, "--parallel", 2)
        try:
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
            for who, switch, hold, at in points:
                began = time.monotonic()
                try:
                    stage.begin()
                    how = kill_at(stage, who, switch, hold, at, ".")
                except AssertionError as error:
                    how = f"FAILED: {' '.join(str(error).split())[:300]}"
                told[how.split(":")[0]] += 1
                print(f"  {how}, {time.monotonic() - began:.0f} s", flush=True)
        finally:
            process.down(stage.rack)
    print(f"{told.total()} points: {dict(told)}")
    return 1 if told["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
