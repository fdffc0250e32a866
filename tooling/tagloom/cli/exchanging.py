"""Answer the commands that exchange fabrics with other tools: export, import."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.following import free_build
from tagloom.cli.inputs import Findings, filters_of, netbox_of
from tagloom.cli.screen import GOOD, NO
from tagloom.errors import Finding, InputError
from tagloom.storage.outputs import write_output
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    import argparse

    from tagloom.adapters.netbox import NetBox
    from tagloom.cli.screen import Screen
    from tagloom.cli.words import Commands
    from tagloom.read.drawn_fabric import Drawing

CONTEXT = "netbox-context"
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
    "cabling": "which port is cabled to which, as CSV",
    "cabling-table": "the same as a table to print",
    CONTEXT: "what NetBox's devices are told, to be PATCHed",
}


def _export(args: argparse.Namespace, screen: Screen) -> int:
    if args.format != CONTEXT and (args.netbox or args.write or args.filter):
        raise InputError([Finding("--netbox", f"export {CONTEXT}", f"export {args.format}")])
    text, written = _contexts(args) if args.format == CONTEXT else (_exported(args), {})
    if args.output is None:
        screen.say(text.rstrip())
    else:
        write_output(args.output, text, force=args.force)
        screen.say(f"wrote     {args.output}")
    if args.write:
        screen.remark(f"NetBox    {len(written['changed'])} devices changed, {len(written['unchanged'])} as they were")
    shown = text if not args.output else ""
    screen.answer({"format": args.format, "wrote": str(args.output or ""), "text": shown, **written})
    return GOOD


def _contexts(args: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Return what NetBox is to be told of a build's switches, as JSON; with --write it is told, and of which devices.

    Raises InputError and DeviceError.
    """
    from tagloom import pipeline
    from tagloom.records.netbox import KEY, context_of, with_context
    from tagloom.report.netbox_context import contexts

    found = Findings()
    build = found.of(lambda: pipeline.read_build(args.source, states=False))
    filters = found.of(lambda: filters_of(args.filter))
    netbox = found.of(lambda: netbox_of(args.netbox)) if args.netbox else None
    if not args.netbox and (args.write or args.filter):
        found.findings.append(Finding("--netbox", "the URL of a NetBox beside --write and --filter", "none"))
    found.end()
    said = contexts(build)
    if netbox is None:
        devices = [{"name": name, "local_context_data": {KEY: each}} for name, each in said.items()]
        return json.dumps(devices, indent=1), {}
    known: dict[str, list[dict[str, Any]]] = {}
    for device in netbox.devices(**filters) if filters else netbox.devices_named(list(said)):
        known.setdefault(device["name"], []).append(device)
    wrong = {name: len(known.get(name, [])) for name in said if len(known.get(name, [])) != 1}
    if wrong:
        raise InputError(Finding(f"{args.netbox}: {name}", "one device", str(n)) for name, n in wrong.items())
    new = [with_context(known[name][0], each) for name, each in said.items()]
    changed = [each for each in new if each["local_context_data"] != context_of(known[each["name"]][0])]
    text = json.dumps(new, indent=1)
    if not args.write:
        return text, {}
    netbox.write_contexts(changed)
    names = {each["name"] for each in changed}
    return text, {"changed": sorted(names), "unchanged": sorted(said.keys() - names)}


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

    found = Findings(args)
    found.of(lambda: check_discovery(args.name, args.model))
    drawing = found.of(lambda: _drawing(args))
    found.end()
    fabric, text = fabric_of_drawing(drawing)
    counts = {"switches": len(fabric.switches), "links": len(fabric.links), "hosts": len(fabric.hosts)}
    said = ", ".join(terminal.count(number, what.removesuffix("s")) for what, number in counts.items())
    screen.say(*terminal.row(fabric.name, said), *terminal.finding_lines(drawing.remarks))
    if args.output is not None:
        write_output(args.output, text, force=args.force)
        build = free_build(args.output.parent)
        screen.say(f"wrote     {args.output}", f"next      tagloom plan {args.output} -o {build}")
    else:
        screen.say(text.rstrip())
    remarks = [finding.to_json() for finding in drawing.remarks]
    screen.answer({**counts, "findings": remarks, "fabric": text, "wrote": str(args.output or "")})
    return NO if remarks else GOOD


def _drawing(args: argparse.Namespace) -> Drawing:
    """Return what another tool has. Raises InputError and DeviceError."""
    from tagloom.adapters.netbox import is_url
    from tagloom.read.graph_files import read_dot, read_graphml
    from tagloom.read.netbox import answers_of, drawing_of_netbox, read_answers
    from tagloom.storage.document import YAML_BYTES

    path = Path(args.source)
    if is_url(args.source):
        answers = answers_of(_ask_netbox(netbox_of(args.source), filters_of(args.filter)), args.source)
        return drawing_of_netbox(answers, args.name, args.model)
    if path.is_dir() or args.format == "netbox":
        return drawing_of_netbox(read_answers(path), args.name, args.model)
    text = read_text(path, "GraphML or DOT", YAML_BYTES)
    xml = args.format == "graphml" or (args.format == "auto" and text.lstrip("\ufeff \t\r\n").startswith("<"))
    return (read_graphml if xml else read_dot)(text, args.source, args.name, args.model)


def _ask_netbox(netbox: NetBox, filters: dict[str, list[str]]) -> dict[str, list[dict[str, Any]]]:
    """Return what NetBox has of the devices that filters name. Raises DeviceError."""
    from tagloom.read.netbox import ENDPOINTS

    devices = netbox.devices(**filters)
    ids = [each["id"] for each in devices]
    others = {name: endpoint for name, endpoint in ENDPOINTS.items() if name != "devices"}
    return {"devices": devices, **{name: netbox.of_devices(endpoint, ids) for name, endpoint in others.items()}}


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
    export.add_output("-o", "--output", or_printed=True, help="write here instead of to standard output")
    export.add_argument(
        "--netbox", metavar="URL", help=f"{CONTEXT}: of this NetBox's devices, with what it has of them"
    )
    export.add_argument("--filter", nargs="+", default=[], metavar="KEY=VALUE", help="which devices: as import has it")
    export.add_argument("--write", action="store_true", help="write it to that NetBox, too")

    taken = commands.add("import", _import, "write a fabric file from what another tool has")
    taken.add_argument(
        "source", metavar="SOURCE", help="a GraphML or DOT file, the URL of a NetBox, or a directory of its answers"
    )
    taken.add_argument("--format", choices=("auto", "graphml", "dot", "netbox"), default="auto", help="what SOURCE is")
    taken.add_argument(
        "--filter",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="which devices of a NetBox, by its own filters, such as site=lab (its token: TAGLOOM_NETBOX_TOKEN)",
    )
    taken.add_output(
        "-o", "--output", or_printed=True, gathered=True, metavar="FABRIC", help="write the fabric file here"
    )
    taken.add_argument("--name", default="imported", metavar="NAME", help="name of the fabric")
    taken.add_argument("--model", metavar="M", help="model of switches that do not say theirs")
    taken.add_argument("--replace", dest="force", action="store_true", help="the same as --force")
