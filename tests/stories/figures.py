"""Write what told stories came to as the table of benchmarks/results/stories.md, from what many_stories.py wrote.

Run `python tests/stories/figures.py told.jsonl`.
"""

import json
import sys
from collections import Counter
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "stories.md"


def rows(stories):
    """Return (what, how many) of stories, in the order of the table."""
    sent = [row for story in stories for row in story["sent"]]
    kinds = Counter(event.partition(":")[0] for story in stories for event in story["events"])
    steps = Counter(step for story in stories for event in story["events"] for step in event.partition(":")[2].split())
    wrong = Counter(defect.partition(" ")[0] for story in stories for defect in story["defects"])
    yield "stories", len(stories)
    yield "of them over open sessions, not by Ansible", sum(story.get("by_ansible") is False for story in stories)
    yield "events", f"{kinds.total()}: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    yield "steps of changes", ", ".join(f"{count} {step.replace('_', ' ')}" for step, count in steps.most_common())
    yield "commands that send", len(sent)
    yield "refusals followed to their end", sum(len(story["refusals"]) for story in stories)
    yield "ends that only hands lead on from", sum(len(story["by_hand"]) for story in stories)
    yield "pairs that worked, summed over commands", sum(row["worked"] for row in sent)
    yield "pairs announced as interrupted", sum(row["announced"] for row in sent)
    yield "pairs really interrupted", sum(row["cut"] for row in sent)
    yield "commands that cut a pair unannounced", wrong["UNANNOUNCED"]
    yield "storms", wrong["STORM"]
    yield "advice that ended nowhere", wrong["DEAD"]
    yield "other disagreements", wrong.total() - sum(wrong[each] for each in ("UNANNOUNCED", "STORM", "DEAD"))


def table(stories):
    """Return the table's lines."""
    return ["| | |", "|---|---|", *(f"| {what} | {count} |" for what, count in rows(stories))]


def main():
    stories = [json.loads(line) for path in sys.argv[1:] for line in Path(path).read_text("utf-8").splitlines()]
    lines = table(stories)
    before, _, rest = PAGE.read_text("utf-8").partition("\n".join(lines[:2]) + "\n")
    after = rest[rest.index("\n\n") :]
    PAGE.write_text("\n".join([before + lines[0], *lines[1:]]) + after, "utf-8")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
