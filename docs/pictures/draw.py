"""Write the drawings of the documents: `python docs/pictures/draw.py`, from plans that tagloom makes.

A drawing has its own background, light or dark as its reader's screen. tests/docs/test_pictures.py draws them again.
"""

from __future__ import annotations

import sys
from functools import cache
from itertools import count, pairwise
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom import pipeline
from tagloom.pipeline.reporting import vlan_trees
from tagloom.predict.eee import POWERCONNECT_5548
from tagloom.predict.link import one_link
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
    size = f"{width:.0f} {height:.0f}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {size}" width="{width:.0f}">',
            f"<title>{title}</title>",
            STYLE,
            f'<rect class="paper" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="8"/>',
            *lines,
            "</svg>\n",
        ]
    )


def tags() -> str:
    """Return one frame on its way there and back, with the tag it has on each link, from the plan."""
    build = planned()
    lines = []
    for row, (kind, ends) in enumerate((("a", ("h0", "h5")), ("b", ("h5", "h0")))):
        vlan, names = path_of(build, *ends)
        y = 70.0 + 95 * row
        stops = [ends[0], *names, ends[1]]
        at = [50.0 + 130 * i for i in range(len(stops))]
        for i, (left, right) in enumerate(pairwise(at)):
            outside = i in (0, len(stops) - 2)
            lines += [f'<path class="{"link" if outside else kind}" d="M{left:.0f} {y:.0f}H{right:.0f}"/>']
            said = "untagged" if outside else f"VLAN {vlan}"
            lines += [text((left + right) / 2, y - 9, said, anchor="middle", kind="soft" if outside else f"f{kind}")]
        for i, (x, name) in enumerate(zip(at, stops, strict=True)):
            shape = f'<rect class="node" x="{x - 16:.0f}" y="{y - 13:.0f}" width="32" height="26" rx="3"/>'
            lines += [shape if i in (0, len(stops) - 1) else f'<circle class="node" cx="{x:.0f}" cy="{y:.0f}" r="15"/>']
            lines += [text(x, y + 4.5, name, anchor="middle")]
        lines += [text(at[1], y + 32, f"PVID {vlan} gives the tag", anchor="middle", kind="soft")]
        lines += [text(at[-2], y + 32, "takes it off", anchor="middle", kind="soft")]
    return sheet(at[-1] + 50, 215, lines, "A frame from h0 to h5 and its answer: each has the VLAN of its sender")


def path_of(build: Build, source: str, destination: str) -> tuple[int, list[str]]:
    """Return the VLAN of a frame between two hosts, and the switches it passes."""
    names = [host.name for host in build.fabric.hosts]
    ends = names.index(source), names.index(destination)
    found = pipeline.frame_path(build.fabric, build.state, *ends)
    return found.hops[0].vlan, [hop.switch for hop in found.hops]


def deadlock() -> str:
    """Return four channels of a ring that wait for one another, and the same ring with its circle opened."""
    lines = []
    for column, opened in enumerate((False, True)):
        left = 40.0 + 290 * column
        corners = [(left, 50.0), (left + 150, 50.0), (left + 150, 200.0), (left, 200.0)]
        for i, (x, y) in enumerate(corners):
            to_x, to_y = corners[(i + 1) % 4]
            middle = (0.5 * (x + to_x), 0.5 * (y + to_y))
            lines += [f'<path class="link" d="M{x:.0f} {y:.0f}L{to_x:.0f} {to_y:.0f}"/>']
            in_x, in_y = left + 75 + 0.62 * (middle[0] - left - 75), 125 + 0.62 * (middle[1] - 125)
            after = corners[(i + 1) % 4], corners[(i + 2) % 4]
            next_x = left + 75 + 0.62 * (0.5 * (after[0][0] + after[1][0]) - left - 75)
            next_y = 125 + 0.62 * (0.5 * (after[0][1] + after[1][1]) - 125)
            if not (opened and i == 3):
                lines += [arrow(in_x, in_y, next_x, next_y, "a" if opened else "b")]
        for i, (x, y) in enumerate(corners):
            lines += [f'<circle class="node" cx="{x:.0f}" cy="{y:.0f}" r="13"/>']
            lines += [text(x, y + 4.5, f"s{i}", anchor="middle")]
        said = ("no path goes from s3 over s0 to s1:", "nothing waits in a circle") if opened else (
            "each link waits for room on the next:", "no frame ever moves")  # fmt: skip
        lines += [text(left - 25, 238 + 18 * i, words, kind="" if i else "soft") for i, words in enumerate(said)]
    return sheet(620, 275, lines, "A circle of waiting links in a ring, and the ring with one turn left out")


def arrow(x: float, y: float, to_x: float, to_y: float, kind: str) -> str:
    """Return an arrow from one point to another."""
    far = hypot(to_x - x, to_y - y)
    dx, dy = (to_x - x) / far, (to_y - y) / far
    x, y, to_x, to_y = x + 5 * dx, y + 5 * dy, to_x - 5 * dx, to_y - 5 * dy
    head = " ".join(f"{to_x - 9 * dx + s * 5 * dy:.1f},{to_y - 9 * dy - s * 5 * dx:.1f}" for s in (1, -1))
    line = (
        f'<path class="{kind}" style="stroke-width: 2.4" d="M{x:.1f} {y:.1f}L{to_x - 6 * dx:.1f} {to_y - 6 * dy:.1f}"/>'
    )
    return f'{line}<polygon class="f{kind}" points="{to_x:.1f},{to_y:.1f} {head}"/>'


def waves() -> str:
    """Return the three waves of a rollout: what each does, and by which VLAN frames go meanwhile."""
    steps = (
        ("running", "old tree", "hosts send by it", "a"),
        ("1 add", "new tree beside it", "nobody sends by it yet", "a"),
        ("2 flip", "PVIDs of host ports", "each in any order", "ab"),
        ("3 remove", "old tree", "old frames have left", "b"),
    )
    lines = []
    for i, (name, what, meanwhile, kinds) in enumerate(steps):
        x = 25.0 + 165 * i
        lines += [f'<rect class="node" x="{x:.0f}" y="30" width="145" height="90" rx="6"/>']
        lines += [text(x + 72, 52, name, anchor="middle"), text(x + 72, 74, what, anchor="middle", kind="soft")]
        drawn = "a" if i == 0 else "b" if i == 3 else "ab"
        for row, kind in enumerate(drawn):
            lines += [f'<path class="{kind}" d="M{x + 15:.0f} {92 + 14 * row}h115"/>']
        lines += [text(x + 72, 142, meanwhile, anchor="middle", kind="soft")]
        lines += [
            text(x + 72, 162, {"a": "old", "b": "new", "ab": "old or new"}[kinds], anchor="middle", kind=f"f{kinds[0]}")
        ]
        lines += [arrow(x - 22, 75, x + 2, 75, "a")] if i else []
    return sheet(690, 180, lines, "A rollout: add the new trees, flip the hosts, remove the old trees")


def eee() -> str:
    """Return what one sleeping link draws and how long frames wait, by its load, as `tagloom eee` computes them."""
    loads = [10 ** (-4 + 4 * i / 60) * 0.9 for i in range(61)]
    found = [one_link(POWERCONNECT_5548, load, 1500.0, 1e9) for load in loads]
    left, top, wide, high = 70.0, 40.0, 430.0, 180.0
    x = [left + wide * i / 60 for i in range(61)]
    longest = max(one.mean_delay_seconds for one in found)
    power = [top + high * (1 - one.power_relative) for one in found]
    delay = [top + high * (1 - one.mean_delay_seconds / longest) for one in found]
    lines = [f'<path class="link" d="M{left:.0f} {top:.0f}v{high:.0f}h{wide:.0f}"/>']
    for kind, ys in (("a", power), ("b", delay)):
        lines += [f'<path class="{kind}" d="M{" L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, ys, strict=True))}"/>']
    for share, words in ((0.0, "0"), (1.0, "100 %")):
        lines += [text(left - 8, top + high * (1 - share) + 4, words, anchor="end", kind="soft")]
    for i, words in ((0, "0.01 %"), (30, "0.9 %"), (60, "90 %")):
        lines += [text(x[i], top + high + 20, words, anchor="middle", kind="soft")]
    lines += [text(left + wide / 2, top + high + 42, "load of the link", anchor="middle")]
    lines += [text(left + wide + 14, power[-1] + 6, "power, of an awake port's", kind="fa")]
    lines += [text(left + wide + 14, top + high * 0.55, "mean wait", kind="fb")]
    lines += [text(left + wide + 14, top + high * 0.55 + 18, f"100 % is {longest * 1e6:.0f} us", kind="soft")]
    return sheet(740, 280, lines, "A sleeping link of a PowerConnect 5548: power and mean wait by load")


PICTURES: dict[str, Callable[[], str]] = {
    "torus.svg": torus,
    "tags.svg": tags,
    "deadlock.svg": deadlock,
    "waves.svg": waves,
    "eee.svg": eee,
}

if __name__ == "__main__":
    sys.exit(main())
