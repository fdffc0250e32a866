"""Answer the commands that exchange fabrics with other tools: export, import."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.inputs import Findings, new_file
from tagloom.cli.screen import GOOD, NO
from tagloom.errors import Finding, InputError
from tagloom.storage.document import YAML_BYTES
from tagloom.storage.text import read_text
from tagloom.storage.whole import write_whole

if TYPE_CHECKING:
    import argparse

    from tagloom.cli.screen import Screen
    from tagloom.cli.words import Commands
    from tagloom.read.drawn_fabric import Drawing

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


def _import(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.observe.discover import check_discovery
    from tagloom.read.drawn_fabric import fabric_of_drawing
    from tagloom.report import terminal

    found = Findings()
    found.of(lambda: check_discovery(args.name, args.model))
    found.findings += new_file(args.output, replace=args.replace)
    drawing = found.of(lambda: _drawing(args))
    found.end()
    fabric, text = fabric_of_drawing(drawing)
    counts = {"switches": len(fabric.switches), "links": len(fabric.links), "hosts": len(fabric.hosts)}
    said = ", ".join(terminal.count(number, what.removesuffix("s")) for what, number in counts.items())
    screen.say(*terminal.row(fabric.name, said), *terminal.finding_lines(drawing.remarks))
    if args.output is not None:
        write_whole(args.output, text)
        screen.say(f"wrote     {args.output}", f"next      tagloom plan {args.output} -o build")
    else:
        screen.say(text.rstrip())
    remarks = [finding.to_json() for finding in drawing.remarks]
    screen.answer({**counts, "findings": remarks, "fabric": text, "wrote": str(args.output or "")})
    return NO if remarks else GOOD


def _drawing(args: argparse.Namespace) -> Drawing:
    """Return what another tool drew. Raises InputError."""
    from tagloom.read.graph_files import read_dot, read_graphml

    text = read_text(args.source, "GraphML or DOT", YAML_BYTES)
    xml = args.format == "graphml" or (args.format == "auto" and text.lstrip("\ufeff \t\r\n").startswith("<"))
    return (read_graphml if xml else read_dot)(text, str(args.source), args.name, args.model)


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

    taken = commands.add("import", _import, "write a fabric file from what another tool has")
    taken.add_argument("source", type=Path, metavar="SOURCE", help="a GraphML or DOT file")
    taken.add_argument("--format", choices=("auto", "graphml", "dot"), default="auto", help="what SOURCE is")
    taken.add_argument("-o", "--output", type=Path, metavar="FABRIC", help="write the fabric file here")
    taken.add_argument("--name", default="imported", metavar="NAME", help="name of the fabric")
    taken.add_argument("--model", metavar="M", help="model of switches that do not say theirs")
    taken.add_argument("--replace", action="store_true", help="overwrite FABRIC")
