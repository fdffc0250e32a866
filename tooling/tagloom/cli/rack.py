"""Answer the commands of the virtual rack: lab, demo."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.cli.inputs import LAB
from tagloom.cli.screen import GOOD, NO, Screen
from tagloom.cli.words import described
from tagloom.errors import Finding, InputError
from tagloom.units import first_of, number_of

if TYPE_CHECKING:
    from tagloom.cli.words import Commands

MOST_NAMED = 8  # in one line
_WHAT_ADD_TAKES = """

Switches that the rack doesn't have yet start as from the factory. Their cables and hosts are plugged in, and so are new
cables and hosts of the other switches, none of which restarts. The rack's inventory has them from then on. What is
plugged in stays: a file that has another cable or host at such a port is refused."""


def _lab(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.lab import process
    from tagloom.report import terminal

    folder: Path = args.dir
    if args.lab == "up":
        from tagloom.lab.directory import Order
        from tagloom.read import read_fabric
        from tagloom.share import share_directory

        fabric = read_fabric(args.fabric)
        with screen.waiting("starting the rack"):
            quirks = {"*": {"delay_seconds": args.delay}} if args.delay else {}
            templates, base_port = share_directory() / "templates", args.base_port
            order = Order(fabric, templates, quirks=quirks, base_port=base_port, dataplane=args.dataplane)
            info = process.up(order, folder, force=args.force)
        ports = sorted(info.ports.values())
        screen.say(
            *terminal.row(
                "rack",
                f"{terminal.count(len(ports), 'switch')} on 127.0.0.1, ports {ports[0]} to {ports[-1]}, "
                "user lab, password lab",
            ),
            *terminal.row("inventory", str(folder)),
            *terminal.row(
                "snmp",
                f"agents from {next(iter(info.agents.values()))} on, UDP port {info.snmp_port} ({folder}/snmp.yml)",
            ),
            *_next_lines(args),
        )
        screen.answer({"pid": info.pid, "ports": info.ports, "inventory": str(folder)})
    elif args.lab == "add":
        return _lab_add(args, screen)
    elif args.lab == "status":
        payload = process.status(folder)
        rows = [(n, s["model"], s["address"], str(s["sessions"])) for n, s in payload["switches"].items()]
        screen.say(*terminal.table(("switch", "model", "address", "sessions"), rows, right=(3,)))
        screen.answer(payload)
    elif args.lab == "ping":
        payload = process.ping(folder, args.a, args.b)
        screen.say(*terminal.ping_lines(payload))
        screen.answer(payload)
        return GOOD if payload["lost"] == 0 and not payload["storm"] else NO
    elif args.lab == "fault":
        return _lab_fault(args, screen)
    elif args.lab == "console":
        payload = process.console(folder, args.switch)
        screen.say(*terminal.row("telnet", payload["telnet"]), *terminal.row("serial", payload["serial"]))
        screen.answer(payload)
    elif args.lab == "play":
        payload = process.play(folder, args.switch, args.file)
        screen.say(f"{args.switch} answers as a {payload['model']}, {payload['pages']} recorded pages")
        screen.answer(payload)
    elif args.lab == "manner":
        return _lab_manner(args, screen)
    elif args.lab == "mend":
        process.mend(folder, *args.switches)
        screen.say("the faults of " + (", ".join(args.switches) or "all switches") + " are mended")
        screen.answer({"mended": args.switches})
    elif args.lab == "traffic":
        payload = process.traffic(folder, args.order, args.seed)
        screen.say(*terminal.traffic_lines(payload))
        screen.answer(payload)
        reported = args.order != "start"
        return NO if reported and any(payload[what] for what in ("lost", "duplicated", "storms")) else GOOD
    else:
        process.down(folder)
        screen.say("the rack is down")
        screen.answer({"down": True})
    return GOOD


def _next_lines(args: argparse.Namespace) -> list[str]:
    """Return the commands that bring a rack to a build of its fabric file."""
    from tagloom import platforms
    from tagloom.cli.following import free_build
    from tagloom.read import read_fabric
    from tagloom.report import terminal

    build = free_build(args.fabric.parent)
    where = "" if args.dir == LAB else f" -i {args.dir}"
    only = {platforms.of(switch).assignments[0] for switch in read_fabric(args.fabric).switches} - {""}
    how = "".join(f" --assignment {each}" for each in only) if len(only) == 1 else ""
    plan = f"tagloom plan {args.fabric}{how} -o {build}{where}"
    return terminal.row("next", f"{plan}, then tagloom apply {build}{where}")


def _lab_add(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.lab import process
    from tagloom.read import read_fabric
    from tagloom.report import terminal

    growth, info = process.add(args.dir, read_fabric(args.fabric), force=args.force)
    counts = (
        *([_named(growth.switches, "switch")] if growth.switches else []),
        *([terminal.count(growth.cables, "cable")] if growth.cables else []),
        *([_named(growth.hosts, "host")] if growth.hosts else []),
    )
    what = ", ".join(counts) or f"nothing: the rack has all of {args.fabric}"
    changed = f"{_named(growth.readdressed, 'host')} as in {args.fabric}: a build of the former file has others"
    screen.say(
        *terminal.row("added", what),
        *(terminal.row("addresses", f"changed for {changed}") if growth.readdressed else []),
        *terminal.row("rack", f"{terminal.count(len(info.ports), 'switch')}; none of those it had was restarted"),
        *(_next_lines(args) if counts else []),
    )
    added = {"switches": list(growth.switches), "cables": growth.cables, "hosts": list(growth.hosts)}
    added["readdressed"] = list(growth.readdressed)
    screen.answer({"added": added, "pid": info.pid, "ports": info.ports, "inventory": str(args.dir)})
    return GOOD


def _named(names: tuple[str, ...], noun: str) -> str:
    return f"{number_of(len(names), noun)} ({first_of(names, MOST_NAMED)})"


def _lab_manner(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.lab import process

    if (args.name is None) == (not args.plain):
        raise InputError([Finding("manner", "NAME or --plain", "both" if args.plain else "neither")])
    payload = process.manner(args.dir, args.switch, args.name or "")
    screen.say(f"{args.switch} {payload['about']}" + (", in sessions from now on" if args.name else ""))
    screen.answer(payload)
    return GOOD


def _lab_fault(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.lab import process
    from tagloom.report import terminal

    if (args.switch is None) != (args.kind is None):
        raise InputError([Finding("fault", "SWITCH KIND, or neither to list faults", str(args.switch))])
    if args.switch is not None:
        said = {name: getattr(args, name) for name in ("at", "line", "after", "lasts", "port", "seed")}
        process.fault(args.dir, args.switch, args.kind, **{k: v for k, v in said.items() if v is not None})
    payload = process.faults(args.dir)
    screen.say(*terminal.fault_lines(payload))
    screen.answer(payload)
    return GOOD


def _demo(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import demo
    from tagloom.share import share_directory

    start = time.monotonic()
    detail = screen.say if screen.verbose else lambda *_lines: None
    stage = demo.Stage(screen.say, detail, screen.progress)
    good = demo.run(args.dir, share_directory(), dict(os.environ), stage, force=args.force)
    screen.say(
        "",
        f"{'everything held' if good.held else 'not everything held: see NO above'}, {time.monotonic() - start:.0f} s",
    )
    screen.answer(good.payload)
    return GOOD if good.held else NO


def _faults_that_there_are() -> str:
    from tagloom.lab.faults import KINDS

    return "\n\n" + "\n".join(f"  {kind:<13} {what}" for kind, what in KINDS.items())


def _manners_that_there_are() -> str:
    from tagloom.lab.manners import MANNERS

    return "\n\n" + "\n".join(f"  {name:<22} {manner.about}" for name, manner in MANNERS.items())


def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    lab = commands.add("lab", _lab, "run a virtual rack: each switch is an SSH console on loopback")
    verbs = lab.add_subparsers(
        dest="lab", metavar="up|add|status|ping|traffic|fault|console|play|manner|mend|down", required=True
    )
    for name, what, more in (
        ("up", "start a rack", ""),
        ("add", "add to the running rack what a grown fabric file has beside it", _WHAT_ADD_TAKES),
        ("status", "show what runs", ""),
        ("ping", "send a frame between every ordered pair of hosts, or from A to B", ""),
        ("traffic", "make all hosts send frames continuously, and report what was lost", ""),
        ("fault", "rehearse a fault: order one on a switch, or list what was ordered", _faults_that_there_are()),
        ("console", "open a switch's serial line and telnet port, and show where they are", ""),
        ("play", "have a switch answer as a transcript of tagloom record has it", ""),
        ("manner", "have a switch's console behave as real ones do", _manners_that_there_are()),
        ("mend", "end the faults of some or all switches", ""),
        ("down", "end the rack", ""),
    ):
        about = described(f"lab {name}", what[0].upper() + what[1:] + "." + more)
        raw = argparse.RawDescriptionHelpFormatter
        verb = verbs.add_parser(name, help=what, description=about, parents=[commands.common], formatter_class=raw)
        verb.add_argument(
            "--dir", type=Path, default=LAB, metavar="DIR", help=f"the rack's directory, an inventory (default {LAB})"
        )
        if name in ("up", "add"):
            verb.add_argument("fabric", type=Path, metavar="FABRIC", help="fabric file")
            verb.add_force()
        if name == "up":
            verb.add_argument(
                "--base-port", type=int, default=0, metavar="N", help="SSH port of the first switch (default: any free)"
            )
        if name == "up":
            verb.add_argument(
                "--dataplane",
                choices=("frames", "kernel"),
                default="frames",
                help="what forwards frames: the rack's own simulation (default) or bridges of a real Linux kernel",
            )
            verb.add_argument(
                "--delay",
                type=float,
                default=0.0,
                metavar="S",
                help="seconds that every console command takes (default 0)",
            )
        if name == "ping":
            verb.add_argument("a", nargs="?", metavar="A", help="sending host")
            verb.add_argument("b", nargs="?", metavar="B", help="receiving host")
        if name == "traffic":
            verb.add_argument("order", choices=("start", "stop", "report"), help="start resets the counts")
        if name in ("traffic", "fault"):
            verb.add_argument("--seed", type=int, default=0, metavar="N", help="seed of random choices (default 0)")
        if name == "fault":
            verb.add_argument("switch", nargs="?", metavar="SWITCH", help="a switch of the rack")
            verb.add_argument("kind", nargs="?", metavar="KIND", help="the fault, see above")
            verb.add_argument("--at", type=int, metavar="N", help="strike at the Nth line from now on")
            verb.add_argument("--line", metavar="REGEX", help="count these lines only (default: lines that configure)")
            verb.add_argument(
                "--delay", "--after", dest="after", type=float, metavar="S", help="strike after S seconds, without --at"
            )
            verb.add_argument("--for", type=float, dest="lasts", metavar="S", help="how long (default: until mended)")
            verb.add_argument("--port", metavar="P", help="the port whose cable is pulled or loses frames")
        if name in ("console", "play", "manner"):
            verb.add_argument("switch", metavar="SWITCH", help="a switch of the rack")
        if name == "play":
            verb.add_argument(
                "file", type=Path, nargs="?", metavar="FILE", help="a transcript (default: it is itself again)"
            )
        if name == "manner":
            verb.add_argument("name", nargs="?", metavar="NAME", help="the manner, see above")
            verb.add_argument("--plain", action="store_true", help="end its manner")
        if name == "mend":
            verb.add_argument("switches", nargs="*", metavar="SWITCH", help="switches (default: all)")

    demo = commands.add("demo", _demo, "run the whole mission on the virtual rack")
    demo.add_force()
    demo.add_argument(
        "--dir", type=Path, default=Path("demo"), metavar="DIR", help="where to keep builds and the rack (default demo)"
    )
