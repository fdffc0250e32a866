"""Answer the commands that look and change nothing: path, status, backup."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.cli.inputs import (
    LAB,
    Findings,
    check_snmp_limits,
    inventory_words,
    site_of,
    snmp_reader,
    snmp_settings_of,
    with_parts_dead,
)
from tagloom.cli.screen import DEVICE_FAILED, GOOD, NO
from tagloom.cli.words import Parser, snmp_words
from tagloom.errors import Finding, InputError, nearest
from tagloom.units import number_of

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from tagloom.cli.screen import Screen
    from tagloom.cli.words import Commands
    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation
    from tagloom.records.switch_state import FabricState

BUILD = Path("build")


def _path(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline
    from tagloom.report import terminal

    all_found = Findings()
    all_found.of(lambda: _take_build(args))
    all_found.end()
    followed = all_found.of(lambda: _followed(args))
    all_found.end()
    assert followed is not None  # noqa: S101 - else there are findings
    fabric, state, place = followed
    hosts = {host.name: h for h, host in enumerate(fabric.hosts)}
    for word, name in (("A", args.source), ("B", args.destination)):
        if name not in hosts:
            all_found.findings.append(Finding(word, f"a host of {place}{nearest(name, hosts)}", repr(name)))
    if args.source == args.destination:
        all_found.findings.append(Finding("A, B", "two hosts", f"{args.source} twice"))
    after = all_found.of(lambda: with_parts_dead(fabric, args.after))
    all_found.end()
    assert after is not None  # noqa: S101 - as above
    a, b = hosts[args.source], hosts[args.destination]
    there, back = (pipeline.frame_path(after, state, *ends) for ends in ((a, b), (b, a)))
    for each in (there, back):
        screen.say(*terminal.frame_path_lines(each))
    screen.answer(there.to_json() | {"back": back.to_json(), "after": list(args.after)})
    return GOOD if there.reaches and back.reaches else NO


def _take_build(args: argparse.Namespace) -> None:
    """Take the one of three words that is a build's directory as `--build`. Raises InputError where none is."""
    words = [args.source, args.destination, *([args.third] if args.third else [])]
    if len(words) < 3:
        return
    if args.build is not None:
        raise InputError([Finding("path", "A B beside --build, two hosts", " ".join(words))])
    builds = [word for word in words if (Path(word) / "plan.json").is_file()]
    builds = builds or [word for word in words if Path(word).is_dir() or "/" in word]
    if len(builds) != 1:
        actual = f"{' and '.join(builds)} (say which: --build DIR)" if builds else " ".join(words)
        raise InputError([Finding("path", "two hosts and one build, a directory that tagloom plan wrote", actual)])
    words.remove(builds[0])
    args.build, (args.source, args.destination) = Path(builds[0]), words


def _followed(args: argparse.Namespace) -> tuple[Fabric, FabricState, str]:
    """Return whose frames are followed, and its place: a build, else what an inventory's runs brought to switches.

    Raises InputError where neither is named nor there.
    """
    from tagloom import pipeline
    from tagloom.operate.status import recorded

    place = args.build
    if place is None and (args.inventory or LAB.exists()):
        known = recorded(site_of(args).home)
        if known.fabric is not None:
            return known.fabric, known.state, f"what {args.inventory or LAB} runs"
    if place is None and args.inventory is None and BUILD.is_dir():
        place = BUILD
    if place is None:
        raise InputError([Finding("--build", f"a build, {BUILD}, or an inventory that one was applied to", "none")])
    build = pipeline.read_build(place)
    return build.fabric, build.state, str(place)


def _status(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.operate import status
    from tagloom.read import fabric_of, fabric_path
    from tagloom.report.status import log_lines, status_lines

    wrong = Findings()
    site = wrong.of(lambda: site_of(args))
    wrong.of(lambda: check_snmp_limits(args))
    if args.log is not None and args.log < 1:
        wrong.findings.append(Finding("--log", "1 or more", str(args.log)))
    fabric = wrong.of(lambda: fabric_of(site.inventory)) if site is not None else None
    agents = None
    if fabric is not None and not args.offline:
        settings = wrong.of(lambda: snmp_settings_of(args, site.inventory))
        agents = wrong.of(lambda: settings.agents(fabric)) if settings is not None else None
    known = wrong.of(lambda: status.recorded(site.home)) if site is not None else None
    wrong.end()
    assert fabric is not None and known is not None  # noqa: S101, PT018 - else there are findings
    seen = None
    if agents is not None:
        with snmp_reader(args, settings) as snmp, screen.waiting(f"reading {number_of(len(fabric.live), 'switch')}"):
            seen = status.look(known, fabric, lambda every: _poll(every, agents, settings, snmp.ask), site)
    words = status.next_words(known, seen or status.Look())
    again = f"tagloom {words}{inventory_words(args)}" if words else ""
    if known.last is None and not known.locked_by:
        again = f"tagloom plan {fabric_path(site.inventory)} -o build"
    log = status.sent_log(site.home, args.log) if args.log is not None else None
    payload = status.status_page(fabric.name, known, seen) | {"next": again, "log": log}
    screen.say(*status_lines(payload, time.time()), *log_lines(log or [], whole=args.verbose > 0))
    screen.say(*([f"next      {again}"] if again else []))
    screen.answer(payload)
    if seen is not None and not seen.answered:
        return DEVICE_FAILED
    return GOOD if status.is_as_built(known, seen) and not again else NO


def _backup(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.operate.backup import FOLDER, back_up
    from tagloom.read import fabric_of
    from tagloom.report.status import backup_lines
    from tagloom.storage.repository import check_repository

    wrong = Findings()
    site = wrong.of(lambda: site_of(args))
    fabric = wrong.of(lambda: fabric_of(site.inventory)) if site is not None else None
    home = args.output or (site.home.parent / FOLDER if site is not None else None)
    if home is not None and home.exists() and not home.is_dir():
        wrong.findings.append(Finding(str(home), "a directory", "another file"))
    elif home is not None and args.git:
        names = [f"{switch.name}.cfg" for switch in fabric.live] if fabric is not None and not args.force else []
        wrong.of(lambda: check_repository(home, names, os.environ))
    wrong.end()
    assert fabric is not None and home is not None  # noqa: S101, PT018 - else there are findings
    with screen.waiting(f"reading {number_of(len(fabric.live), 'switch')}"):
        done = back_up(fabric, site, home, git=args.git, secrets=args.secrets)
    payload = done.to_json()
    screen.say(*backup_lines(payload))
    screen.answer(payload)
    return DEVICE_FAILED if done.failed else GOOD


def _poll(every: Fabric, agents: Any, settings: Any, ask: Any) -> dict[str, Observation]:
    """Read the switches of a fabric, which may be another than the inventory's: switches have come or gone since."""
    from tagloom.observe import observe_all

    own = {name: address for name, address in settings.addresses.items() if name in every.index}
    mine = settings.model_copy(update={"addresses": own})
    return observe_all(every, {**mine.agents(every), **agents}, ask)


def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    site = Parser(add_help=False)
    site.add_argument(
        "-i", "--inventory", type=Path, metavar="INVENTORY", help=f"inventory (default {LAB}, where a lab runs)"
    )
    path = commands.add("path", _path, "show the path of a frame from one host to another, and back", site)
    path.add_argument("source", metavar="A", help="the host that sends")
    path.add_argument("destination", metavar="B", help="the host that it sends to")
    path.add_argument("third", nargs="?", metavar="BUILD", help="as --build; A, B and BUILD may stand in any order")
    path.add_argument(
        "--build",
        type=Path,
        metavar="BUILD",
        help="the build whose configurations are followed (default: the one that was applied, else build)",
    )
    path.add_argument(
        "--after",
        nargs="+",
        default=(),
        metavar="FAILURE",
        help="with these dead: SWITCH or SWITCH:PORT",
    )

    status = commands.add("status", _status, "show what runs, what differs and what is dead", snmp_words())
    status.add_argument("--offline", action="store_true", help="contact no switch; read the journal and the lock")
    status.add_argument(
        "--log",
        type=int,
        nargs="?",
        const=20,
        metavar="N",
        help="list who sent what where in the last N runs (20); -v: lines",
    )

    backup = commands.add("backup", _backup, "save every switch's running configuration, read over SSH", site)
    backup.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="directory to write (default: backups beside the inventory)"
    )
    backup.add_argument(
        "--git", action="store_true", help="commit changes to a git repository there, instead of dated directories"
    )
    backup.add_force()
    backup.add_argument("--secrets", action="store_true", help="save passwords and keys too (default: <hidden>)")
