"""Tell seeded stories of growth, shrink, deaths and returns on the rack, and keep what each came to.

Run `PYTHONPATH=tests:tests/stories python tests/stories/many_stories.py --count 500 --at-once 4 -o told.jsonl`.
Each story is a line of JSON; one that is in the file already is not told again. `--minutes M` begins no story after
that time. Exit status 1 where any pair was cut unannounced, anything stormed, or advice ended nowhere. Commands are
forked from a process that has loaded tagloom, and from one that has loaded Ansible; stories wait side by side.
"""

import argparse
import json
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from command_line.loaded import begin
from tagloom.errors import TagloomError


def tell(seed, home, end):
    """Tell one story in a directory of its own; None where it is too late to begin."""
    from living import live  # noqa: PLC0415 - whatever is forked for a command loads this module again
    from telling import drawn  # noqa: PLC0415

    if time.monotonic() > end:
        return None
    folder = home / str(seed)
    folder.mkdir(parents=True, exist_ok=True)
    return asdict(live(drawn(seed), folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=4, metavar="N")
    parser.add_argument("--at-once", type=int, default=4, metavar="RACKS")
    parser.add_argument("--minutes", type=float, default=math.inf, metavar="M")
    parser.add_argument("--home", type=Path, default=Path("stories"), help="where stories that disagree are left")
    parser.add_argument("-o", "--output", type=Path, default=Path("told.jsonl"))
    asked = parser.parse_args()
    known = (
        {json.loads(line)["seed"] for line in asked.output.read_text().splitlines()} if asked.output.exists() else ()
    )
    seeds = [seed for seed in range(asked.first, asked.first + asked.count) if seed not in known]
    end, wrong = time.monotonic() + 60 * asked.minutes, 0
    begin()
    with ThreadPoolExecutor(asked.at_once) as racks:
        begun = [racks.submit(tell, seed, asked.home.absolute(), end) for seed in seeds]
        for each in as_completed(begun):
            try:
                told = each.result()
            except TagloomError as error:  # its rack did not start; it is told again the next time
                print(f"      no rack: {error}", flush=True)
                continue
            if told is None:
                continue
            wrong += bool(told["defects"])
            with asked.output.open("a") as file:
                file.write(json.dumps(told) + "\n")
            print(f"{told['seed']:5} {told['seconds']:5.0f} s  {'; '.join(told['events'])}", flush=True)
            for defect in told["defects"]:
                print(f"      {defect}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
