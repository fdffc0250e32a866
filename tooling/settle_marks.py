"""Keep a transcript of a real switch's console, and mark the lines that transcripts confirm, each with its source.

``python tooling/settle_marks.py [TRANSCRIPT]``; without one, what tests/data/transcripts say is written anew.
"""

from __future__ import annotations

import csv
import io
import shutil
import sys
from pathlib import Path

from tagloom.platforms.evidence import settled_by
from tagloom.platforms.family import SETTLED
from tagloom.read.transcript_file import read_transcript

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "tests/data/transcripts"
PAGE = ROOT / "tooling/tagloom/platforms" / SETTLED


def page_of(folder: Path) -> str:
    """Return what the transcripts of a folder settle, as it is kept. Raises InputError for a file that is none."""
    found = settled_by({path.name: read_transcript(path) for path in sorted(folder.glob("*.json"))})
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("family", "line", "source"))
    rows.writerows((family, line, source) for family, lines in found.items() for line, source in lines.items())
    return text.getvalue()


if __name__ == "__main__":
    for word in sys.argv[1:]:
        read_transcript(Path(word))
        KEPT.mkdir(exist_ok=True)
        shutil.copy(word, KEPT / Path(word).name)
    PAGE.write_text(page_of(KEPT), "utf-8")
    sys.stdout.write(f"wrote     {PAGE.relative_to(ROOT)}\n")
