"""Write the drawings of the documents: `python docs/pictures/draw.py`, from plans that tagloom makes.

A drawing has its own background, light or dark as its reader's screen. tests/docs/test_pictures.py draws them again.
"""

from __future__ import annotations

import sys
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom import pipeline
from tagloom.pipeline.reporting import vlan_trees
from tagloom.read.fabric_file import parse_fabric
from tagloom.report.layout import CELL, draw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tagloom.pipeline import Build

HERE = Path(__file__).resolve().parent
TEMPLATES = HERE.parents[1] / "templates"
TORUS = "name: torus\nmodel: powerconnect-5324\nshape: {family: torus, dims: [4, 4], parallel: 2, hosts: 1}\n"
ASLEEP = 20  # a link between s5 and s6
TREES = (101, 103)  # VLANs whose trees share no link
# Colours after Okabe and Ito (2008), as the report's; what a colour says, a width or a dash says too.
STYLE = """<style>
  .paper { fill: #ffffff; stroke: #c9d1d9 } .node { fill: #ffffff; stroke: #17202a; stroke-width: 1.2 }
  .host { fill: #52606d } text { fill: #17202a; font: 13px system-ui, sans-serif } .soft { fill: #52606d }
  .link { stroke: #b4bcc5; stroke-width: 1.2; fill: none } .off { stroke: #8a949e; stroke-dasharray: 2 5 }
  .a { stroke: #005f99; stroke-width: 4; fill: none } .b { stroke: #d55e00; stroke-width: 2.4; fill: none }
  .fa { fill: #005f99 } .fb { fill: #d55e00 } text.fa, text.fb { font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #10151b; stroke: #3a4652 } .node { fill: #10151b; stroke: #e8edf2 } .host { fill: #a7b3bf }
    text { fill: #e8edf2 } .soft { fill: #a7b3bf } .link { stroke: #55616d } .off { stroke: #7d8993 }
    .a { stroke: #56b4e9 } .b { stroke: #f0903c } .fa { fill: #56b4e9 } .fb { fill: #f0903c }
  }
</style>"""


def main() -> int:
    """Write every drawing beside this file."""
    for name, picture in PICTURES.items():
        (HERE / name).write_text(picture(), "utf-8")
    return 0


@cache
def planned() -> Build:
    """Return a proven plan of the torus with one link off."""
    fabric = parse_fabric(TORUS, "torus").with_links_down({ASLEEP})
    build, proof, _ = pipeline.plan(fabric, TEMPLATES)
    assert proof.proven, "only proven plans are drawn"  # noqa: S101 - a script's own check
    return build


def torus() -> str:
    """Return the torus with the trees of two VLANs and one link asleep."""
    build = planned()
    fabric, drawn = build.fabric, draw(build.fabric)
    trees = vlan_trees(fabric, build.state)
    lines = []
    for i, path in enumerate(drawn.paths):
        kinds = [kind for kind, vlan in zip("ab", TREES, strict=True) if i in trees[vlan]]
        kinds = kinds or ["link" if fabric.links[i].up else "link off"]
        lines += [f'<path class="{kind}" d="{path}"/>' for kind in kinds]
    x, y = drawn.middle[ASLEEP]
    lines += [text(x, y - 9, "asleep", anchor="middle", kind="soft")]
    for switch, (x, y) in zip(fabric.switches, drawn.points, strict=True):
        lines += [f'<circle class="node" cx="{x}" cy="{y}" r="13"/>', text(x, y + 4.5, switch.name, anchor="middle")]
    lines += list(legend(build, drawn.width + 10, CELL))
    return sheet(drawn.width + 245, drawn.height, lines, "A 4x4 torus, the trees of two of its VLANs, one link asleep")


def senders(build: Build, vlan: int) -> str:
    """Name the hosts whose frames a VLAN carries."""
    found = [
        host.name
        for host in build.fabric.hosts
        if build.state[build.fabric.switches[host.switch].name].pvid[host.port - 1] == vlan
    ]
    return " and ".join(found)


def legend(build: Build, x: float, y: float) -> Iterable[str]:
    """Yield what the colours mean, beside a drawing."""
    rows = [
        ("a", f"VLAN {TREES[0]}", f"paths from {senders(build, TREES[0])}"),
        ("b", f"VLAN {TREES[1]}", f"paths from {senders(build, TREES[1])}"),
        ("link", "other links", f"for {build.vlans - len(TREES)} more VLANs"),
        ("link off", "link off", "paths keep clear of it"),
    ]
    for (kind, name, what), row in zip(rows, count(), strict=False):
        at = y + 46 * row
        yield f'<path class="{kind}" d="M{x:.0f} {at:.0f}h34"/>'
        yield text(x + 44, at + 1, name, kind={"a": "fa", "b": "fb"}.get(kind, ""))
        yield text(x + 44, at + 18, what, kind="soft")


def text(x: float, y: float, words: str, *, anchor: str = "", kind: str = "") -> str:
    """Return words at a point."""
    more = "".join(f' {name}="{value}"' for name, value in (("class", kind), ("text-anchor", anchor)) if value)
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{words}</text>'


def sheet(width: float, height: float, lines: Iterable[str], title: str) -> str:
    """Return a whole SVG document with its background."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" height="{height:.0f}">',
            f"<title>{title}</title>",
            STYLE,
            f'<rect class="paper" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="8"/>',
            *lines,
            "</svg>\n",
        ]
    )


PICTURES: dict[str, Callable[[], str]] = {"torus.svg": torus}

if __name__ == "__main__":
    sys.exit(main())
