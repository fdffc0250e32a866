"""Find what an operator's own templates print otherwise than they must, by file and line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.errors import Finding
from tagloom.platforms.family import relatives
from tagloom.records.change import difference
from tagloom.render.command_line import parse_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tagloom.platforms import Platform
    from tagloom.records.change import Change
    from tagloom.records.switch_state import SwitchState

_TAKEN = ("configure",)  # changes nothing, and FASTPATH prints it


def template_findings(platform: Platform, wanted: SwitchState, text: str) -> Iterator[Finding]:
    """Find the lines of a printed configuration that are none of tagloom's, else the cell that reads back wrong.

    A line that changes nothing but a comment would stand in the file alone: an apply sends the changes of a state.
    """
    parsed = parse_configuration(platform, text)
    strange = [line for line in (*parsed.unknown, *parsed.foreign) if line.text not in _TAKEN]
    for line in strange:
        answer = f" ({' '.join(line.answer.split())})" if line.answer else ""
        yield Finding(_place(platform, line.text), "a line of tagloom's, or a comment", f"{line.text!r}{answer}")
    if not strange and parsed.state != wanted:
        what = cell_words(platform, difference(wanted, parsed.state)[0])
        yield Finding(_place(platform, ""), f"a configuration that reads back with {what} as planned", "another")


def cell_words(platform: Platform, change: Change) -> str:
    """Return which cell a change is of, in the switch's own words."""
    vlan = f"VLAN {change.vlan}" if change.vlan else ""
    port = platform.port_name(change.port) if change.port else ""
    return " ".join(part for part in (vlan, port, change.cell.value) if part)


def _place(platform: Platform, line: str) -> str:
    """Return the file, and where it has the words of `line` the line, of the operator's template that printed it."""
    own = dict(platform.templates)
    files = [f"{family}/configuration.j2" for family in relatives(platform.grammar)]
    file = next((each for each in files if each in own), files[-1])
    rows = enumerate(own.get(file, "").splitlines(), start=1)
    return next((f"templates/{file}:{number}" for number, row in rows if line and line in row), f"templates/{file}")
