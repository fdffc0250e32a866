"""Write the text of docs/can-it.md: of every switch, whether tagloom can use it, and by what source."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.platforms.family import family
from tagloom.platforms.first_contact import first_lines, mark_of
from tagloom.platforms.iproute2 import FAMILY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tagloom.platforms import Platform

_HEAD = """\
# Can it?

Written from `tooling/tagloom/platforms/` by its `can_it.py`; a test compares the two. No real switch was reached yet
([platforms](platforms.md)): a yes means that its command line is known from manuals and transcripts, and played on
the virtual rack.

## Switches that tagloom plans for

Lines are those of its command line, by mark: confirmed (seen in a manual or transcript of this very line, or run in a
kernel), of kin (a close relative), likely. Sources stand at each line in `grammars/<command line>.yml`, those of
limits in the model's page.
"""
_COLUMNS = (
    "model",
    "command line",
    "lines confirmed / of kin / likely",
    "VLANs",
    "addresses",
    "push",
    "first login",
    "refuses tags of hosts",
    "drops BPDUs",
    "binds links",
    "EEE",
)
_REST = """
`push`: netmiko's driver. `first login`: what `tagloom bootstrap` types at a switch out of its box, by the marks of
its lines where these are kept. `refuses
tags of hosts`: ports of hosts can take untagged frames only. A broadcast tree by entries for `ff:ff:ff:ff:ff:ff` is
proven on none of them. Ports of a Linux machine have the names it gave them: `model: "linux-bridge:lan1-4,wan"`.

## Switches that are not there yet

`fixed` is whether `--assignment fixed` and `renamed` could be done, as far as could be read: a port that sends in one
VLAN and hears from many untagged, static entries by VLAN, and frames that pass whatever port their sender's entry
names ([assumptions](assumptions.md)). Their models are refused by name; [adding a family](adding-a-family.md) says
how one comes in.
"""


@cache
def not_yet() -> tuple[dict[str, str], ...]:
    """Return the switches that are no family yet, a row each: switches, fixed, mark, why, source."""
    text = (files("tagloom.platforms") / "not_yet.csv").read_text("utf-8")
    return tuple(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def row_of(model: str) -> tuple[str, ...]:
    """Return what the table says of a model, in the order of its columns."""
    platform = platforms.load(model)
    data = family(platform.grammar) if platform.grammar else {}
    lines = data.get("lines", {})
    marks = Counter("confirmed" if line["mark"] == "kernel" else line["mark"] for line in lines.values())
    counted = [marks["confirmed"], marks["confirmed-kin"], marks["likely"] + marks["manual"]]
    return (
        model,
        platform.grammar or "none known",
        " / ".join(map(str, counted)) if lines else "-",
        f"{platform.max_vlans:,}",
        f"{platform.mac_table:,}",
        platform.netmiko_driver or "no",
        _first_login(platform),
        _yes(platform.refuses_tagged),
        _yes(platform.drops_bpdus),
        _yes("lag_join" in lines and platform.ports > platform.physical_ports and platform.grammar != FAMILY),
        _yes(platform.eee),
    )


def _first_login(platform: Platform) -> str:
    """Return how many lines of a first login are confirmed, of kin and likely; yes where their marks are not kept."""
    marks = Counter(mark_of(platform, line) for line in first_lines(platform))
    if not marks:
        return _yes(platform.has_first_contact)
    return f"{marks['confirmed']} / {marks['confirmed-kin']} / {marks['likely']}"


def _yes(can: bool) -> str:
    return "yes" if can else "no"


def as_markdown() -> str:
    """Return the text of docs/can-it.md."""
    models = [row_of(model) for model in platforms.models()]
    others = [(row["switches"], row["fixed"], row["mark"], row["why"], _linked(row["source"])) for row in not_yet()]
    return "\n".join(
        [_HEAD, *_table(_COLUMNS, models), _REST, *_table(("switches", "fixed", "mark", "why", "source"), others), ""]
    )


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (columns, ("---",) * len(columns), *rows)]


def _linked(source: str) -> str:
    return " ".join(f"<{word}>" if word.startswith("http") else word for word in source.split())
