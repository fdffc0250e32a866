"""`path`: the path of a frame, offline, by the texts of a build."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.cli.inputs import Findings, with_parts_dead
from tagloom.cli.screen import GOOD, NO
from tagloom.errors import Finding

if TYPE_CHECKING:
    import argparse

    from tagloom.cli.screen import Screen
    from tagloom.cli.words import Commands


def _path(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline
    from tagloom.report import terminal

    all_found = Findings()
    build = all_found.of(lambda: pipeline.read_build(args.build))
    all_found.end()
    assert build is not None  # noqa: S101 - else there are findings
    fabric = build.fabric
    hosts = {host.name: h for h, host in enumerate(fabric.hosts)}
    for word, name in (("A", args.source), ("B", args.destination)):
        if name not in hosts:
            all_found.findings.append(Finding(word, f"a host of {args.build}", repr(name)))
    if args.source == args.destination:
        all_found.findings.append(Finding("A, B", "two hosts", f"{args.source} twice"))
    after = all_found.of(lambda: with_parts_dead(fabric, args.after))
    all_found.end()
    assert after is not None  # noqa: S101 - as above
    a, b = hosts[args.source], hosts[args.destination]
    there, back = (pipeline.frame_path(after, build.state, *ends) for ends in ((a, b), (b, a)))
    for each in (there, back):
        screen.say(*terminal.frame_path_lines(each))
    screen.answer(there.to_json() | {"back": back.to_json(), "after": list(args.after)})
    return GOOD if there.reaches and back.reaches else NO


def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    path = commands.add("path", _path, "show the path of a frame from one host to another, and of the answer")
    path.add_argument("source", metavar="A", help="the host that sends")
    path.add_argument("destination", metavar="B", help="the host that it sends to")
    path.add_argument("--build", type=Path, required=True, metavar="BUILD", help="the build, whose texts are followed")
    path.add_argument(
        "--after",
        nargs="+",
        default=(),
        metavar="FAILURE",
        help="as it would be with these dead: SWITCH or SWITCH:PORT",
    )
