"""Answer the commands that exchange fabrics with other tools: export."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.screen import GOOD
from tagloom.errors import Finding, InputError
from tagloom.storage.whole import write_whole

if TYPE_CHECKING:
    import argparse

    from tagloom.cli.screen import Screen
    from tagloom.cli.words import Commands

EXPORTS = {
    "simgrid": "a platform with the planned routes",
    "containerlab": "a lab of Linux bridges that run the build's scripts",
    "netlab": "the same",
    "graphml": "switches, hosts and links",
    "dot": "the same for Graphviz",
    "slurm": "topology.conf",
    "batfish": "layer1_topology.json",
    "prometheus": "alert rules",
    "grafana": "a dashboard",
}


def _export(args: argparse.Namespace, screen: Screen) -> int:
    text = _exported(args)
    if args.output is None:
        screen.say(text.rstrip())
    else:
        write_whole(args.output, text)
        screen.say(f"wrote     {args.output}")
    screen.answer({"format": args.format, "wrote": str(args.output or ""), "text": text if not args.output else ""})
    return GOOD


def _exported(args: argparse.Namespace) -> str:
    """Return the text. Raises InputError, where a format needs a build and another file was named, too."""
    from tagloom import pipeline
    from tagloom.read import read_fabric
    from tagloom.report.exports import OF_BUILD, OF_FABRIC

    if args.source.is_dir():
        build: Any = pipeline.read_build(args.source, states=False)
        if args.format in OF_FABRIC:
            return OF_FABRIC[args.format](build.fabric)
        beside = args.output.parent if args.output is not None else Path()
        configs = Path(os.path.relpath(args.source / "configs", beside)).as_posix()
        return OF_BUILD[args.format](build.fabric, build.routes, configs)
    if args.format in OF_BUILD:
        expected = f"a build (tagloom plan {args.source} -o BUILD): {args.format} needs what was planned"
        raise InputError([Finding(str(args.source), expected, "no directory")])
    return OF_FABRIC[args.format](read_fabric(args.source))


def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    export = commands.add("export", _export, "write a build or a fabric in another tool's format")
    words = "; ".join(f"{name}: {what}" for name, what in EXPORTS.items())
    export.add_argument("format", choices=list(EXPORTS), metavar="FORMAT", help=words)
    export.add_argument(
        "source",
        type=Path,
        metavar="BUILD",
        help="a build; a fabric file is enough but for simgrid, containerlab and netlab",
    )
    export.add_argument("-o", "--output", type=Path, metavar="FILE", help="write here instead of to standard output")
