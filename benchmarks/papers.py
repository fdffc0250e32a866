"""Write docs/papers.md: every table, figure and equation of four papers, their numbers and ours, and how to run ours.

The papers' numbers are from their own texts. Each paper has a module with its rows; this one lays out the page.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import paper_koibuchi
import paper_miwa
import paper_netpipe
import paper_rps
from paper_rows import ROOT

TEXT = """\
# The papers, row by row

Written by `python benchmarks/papers.py`; a test compares it with what that prints, and tests compare the pages of
[results](../benchmarks/results/README.md) with what their scripts compute, or a part of it. The papers' numbers are
from their own texts, so bars of a figure without numbers have none here. None of ours was measured on a real switch.
A command runs in the repository's top directory. Where our numbers differ, the row or the page that it names gives the
reason. The proofs rest on Dally and Seitz, *Deadlock-Free Message Routing in Multiprocessor Interconnection Networks*,
IEEE Trans. Computers, 1987: no cycle of channel dependencies, no deadlock.
"""
HEADER = ("where", "what", "the paper's", "ours", "how to run it, or why not")
PAPERS = (paper_koibuchi, paper_miwa, paper_rps, paper_netpipe)


def page() -> str:
    """Lay all rows out as Markdown."""
    lines = [TEXT]
    for paper in PAPERS:
        lines += [f"## {paper.TITLE.partition(':')[0]}", "", f"{paper.TITLE}.", ""]
        lines += [f"| {' | '.join(row)} |" for row in (HEADER, ("---",) * len(HEADER))]
        lines += [f"| {' | '.join(row)} |" for row in paper.rows()] + [""]
    return "\n".join(lines)


if __name__ == "__main__":
    (ROOT / "docs" / "papers.md").write_text(page(), "utf-8")
    sys.stdout.write("wrote docs/papers.md\n")
