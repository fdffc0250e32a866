"""Answer the commands that choose links: regulate, timetable."""

from __future__ import annotations

import itertools
import json
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.following import free_build
from tagloom.cli.inputs import (
    Findings,
    add_placement_options,
    placement_findings,
    placement_of,
    seconds_of,
    traffic_findings,
    traffic_given,
)
from tagloom.cli.screen import GOOD, Screen
from tagloom.cli.words import Commands, routing_words
from tagloom.errors import Finding, InputError
from tagloom.storage.outputs import check_outputs, write_output
from tagloom.units import number_of

if TYPE_CHECKING:
    import argparse

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.traffic import Traffic


PROMETHEUS_SPAN_SECONDS = 3600.0


def _regulate(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline
    from tagloom.operate.repair_target import failures_left
    from tagloom.platforms.power import read_power
    from tagloom.read import read_fabric
    from tagloom.regulate.choose import RegulateOptions, option_findings, read_levels
    from tagloom.regulate.settings_file import to_json
    from tagloom.report import terminal

    all_found = Findings(args)
    fabric = all_found.of(lambda: read_fabric(args.fabric))
    levels, sleep = all_found.of(lambda: read_levels(args.levels), ((0,), False))
    power = all_found.of(lambda: read_power(args.power)) if args.power else None
    all_found.of(lambda: pipeline.refuse_plan(None, args.routing, args.assignment))
    wrong = traffic_findings([args.traffic], args.seconds, args.ranks, args.span) + placement_findings(args)
    all_found.findings += wrong
    traffic = all_found.of(lambda: _traffic(args, fabric)) if fabric is not None and not wrong else None
    options = RegulateOptions(args.method, levels, sleep, args.allow == "cut", args.headroom, args.time_limit, power)
    options = replace(options, max_hops=args.max_hops, guaranteed=args.guarantee)
    all_found.findings += option_findings(options, traffic)
    all_found.end()
    assert fabric is not None  # noqa: S101 - else there are findings
    assert traffic is not None  # noqa: S101 - as above
    if args.survive == "link":
        options = replace(options, survives=lambda smaller: not failures_left(smaller, fabric))
    with screen.progress("links tried") as note:
        settings = pipeline.regulate(fabric, traffic, args.routing, args.assignment, note, options, time.process_time)
    payload = to_json(fabric, settings)
    if args.output is not None:
        write_output(args.output, json.dumps(payload, indent=2) + "\n", force=args.force)
    screen.say(*terminal.settings_lines(payload))
    if args.output is not None:
        how = f" --routing {args.routing}" if args.routing != "auto" else ""
        how += f" --assignment {args.assignment}" if args.assignment != "fixed" else ""
        build = free_build(args.fabric.parent, f"build-{args.output.stem}")
        words = f"tagloom plan {args.fabric}{how} --settings {args.output} -o {build}"
        screen.say(f"wrote     {args.output}", f"next      {words}")
    screen.answer(payload)
    return GOOD


def _traffic(args: argparse.Namespace, fabric: Fabric) -> Traffic:
    """Read the traffic that `regulate` is given: a file, a history of `observe`, or what a Prometheus kept."""
    from tagloom import pipeline
    from tagloom.adapters import prometheus
    from tagloom.platforms.port_names import port_numbers

    def paths() -> Routes:
        return pipeline.own_routes(fabric, args.routing, args.assignment)

    where = str(args.prometheus or args.traffic)
    if args.prometheus:
        span = args.span or PROMETHEUS_SPAN_SECONDS
        seen = prometheus.snapshots(args.prometheus, span, time.time(), port_numbers(fabric))
        traffic = pipeline.traffic_from(fabric, paths(), seen, where)
    else:
        given = placement_of(args), args.seconds, args.ranks, args.span
        traffic = traffic_given(args.traffic, fabric, paths, *given)
    if not traffic.volume_bytes.any():
        raise InputError([Finding(where, "some bytes between two hosts", "none: nothing to choose by")])
    return traffic


def _timetable(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.pipeline import timetabling
    from tagloom.platforms.power import read_power
    from tagloom.read import read_fabric
    from tagloom.read.timetable_file import format_timetable, read_timetable
    from tagloom.regulate import day, day_figures
    from tagloom.report import clock
    from tagloom.share import share_directory

    all_found = Findings(args)
    if bool(args.traffic) == (args.calendar is not None):
        all_found.findings.append(
            Finding("timetable", "--traffic FILES or --calendar FILE", "both" if args.traffic else "neither")
        )
    fabric = all_found.of(lambda: read_fabric(args.fabric))
    power = all_found.of(lambda: read_power(args.power)) if args.power else None
    if args.calendar is not None:
        table = all_found.of(lambda: read_timetable(args.calendar, args.timezone, fabric))
        all_found.end()
        assert fabric is not None  # noqa: S101 - else there are findings
        assert table is not None  # noqa: S101 - as above
        with screen.waiting("planning and proving every setting"):
            fabrics = timetabling.check_settings(fabric, table, share_directory() / "templates")
        payload = timetabling.calendar_payload(fabric, table, time.time(), fabrics, power)
        screen.say(*clock.calendar_lines(payload), f"next      tagloom run {args.calendar} -i INVENTORY --check")
        screen.answer(payload)
        return GOOD
    options = day.TimetableOptions(
        args.settings,
        args.headroom,
        all_found.of(lambda: seconds_of(args.dwell, "--dwell"), 0.0),
        args.changes,
        args.change_seconds,
        args.allow == "cut",
        power,
        all_found.of(lambda: day.day_levels(args.levels), (0,)),
        args.max_hops,
        args.guarantee,
    )
    zone = args.timezone or "UTC"
    all_found.findings += day.option_findings(options) + traffic_findings(args.traffic or [])
    all_found.findings += placement_findings(args)
    read = fabric is not None and args.traffic
    history = all_found.of(lambda: _history(args, fabric, zone)) if read else None
    all_found.end()
    assert fabric is not None  # noqa: S101 - else there are findings
    assert history is not None  # noqa: S101 - as above
    with screen.progress("settings sought") as note:
        planner = timetabling.planner(fabric, share_directory() / "templates")
        found = day.timetable(fabric, history, planner, options, note, time.process_time)
    schedule = found.schedules[-1]
    payload = day_figures.to_json(fabric, found, options, schedule)
    files: dict[str, str] = {}
    if args.output is not None:
        files = day_figures.files_of(fabric, found, options, schedule, zone, args.output.stem, format_timetable)
        own = f"{args.output.stem}.yml"
        places = {args.output if name == own else args.output.parent / name: text for name, text in files.items()}
        check_outputs(*places, force=args.force)
        for path, text in places.items():
            write_output(path, text, force=args.force)
    screen.say(*clock.day_lines(payload))
    if args.output is not None:
        screen.say(
            f"wrote     {args.output} and {number_of(len(files) - 1, 'settings file')} beside it",
            f"next      tagloom run {args.output} -i INVENTORY --check",
        )
    screen.answer({**payload, "wrote": str(args.output or "")})
    return GOOD


def _history(args: argparse.Namespace, fabric: Any, zone: str) -> Any:
    """Read a day of traffic: matrices, or the counters that observe kept."""
    from tagloom.adapters.history import History, is_one
    from tagloom.observe import counted_interval
    from tagloom.read.counter_history import history_of_counters
    from tagloom.read.history import read_history

    if not any(is_one(path) for path in args.traffic):
        return read_history(args.traffic, fabric, zone, placement_of(args))
    if len(args.traffic) > 1:
        raise InputError([Finding("--traffic", "one history of tagloom observe, alone", f"{len(args.traffic)} files")])
    with closing(History(args.traffic[0])) as history:
        shots = list(history.snapshots(fabric.name))
    return history_of_counters(fabric, [counted_interval(*both) for both in itertools.pairwise(shots)], zone)


def _add_guarantee(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks for more than an estimate."""
    parser.add_argument(
        "--guarantee",
        action="store_true",
        help="with counters as traffic: take only settings that keep the headroom whatever traffic the counts allow "
        "(default: settings that keep it for the estimated traffic)",
    )


# An argument for each option of its commands, nothing else.
def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    regulate = commands.add(
        "regulate", _regulate, "choose links to turn off, slow down or let sleep, from traffic", routing_words()
    )
    regulate.add_argument("fabric", type=Path, metavar="FABRIC", help="fabric file")
    source = regulate.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--traffic",
        type=Path,
        metavar="FILE",
        help="traffic by host or by rank: CSV, Open MPI .prof, TAU, mpiP, nfdump -o csv; a history that "
        "tagloom observe -o wrote; or pattern:NAME",
    )
    source.add_argument(
        "--prometheus",
        metavar="URL",
        help="read traffic that this Prometheus collected from tagloom observe --metrics-port",
    )
    regulate.add_argument(
        "--span",
        type=float,
        metavar="S",
        help="use the last S seconds of a history (default: all; an hour with --prometheus)",
    )
    regulate.add_argument(
        "--method",
        default="static",
        choices=["static", "greedy", "optimal"],
        help="static: turn off the least loaded links one by one; greedy: also move trees and hosts, and prove "
        "small fabrics; optimal: search until the bound or the time limit. No channel gets busier than the busiest was",
    )
    regulate.add_argument(
        "--levels", default="off", metavar="L,..", help="what a link may become: off, 10, 100, 1000, eee (default off)"
    )
    regulate.add_argument(
        "--allow",
        choices=["cut"],
        help="cut: greedy and optimal may make a link the only connection of two switches (default: not)",
    )
    regulate.add_argument("--allow-cut", dest="allow", action="store_const", const="cut", help="--allow cut")
    regulate.add_argument(
        "--survive",
        default="none",
        choices=["none", "link"],
        help="link: where any one link that is left dies, a repair wakes one other at most (default none)",
    )
    regulate.add_argument(
        "--max-hops", type=int, metavar="N", help="no path between two hosts has more than N switches (default: any)"
    )
    regulate.add_argument(
        "--headroom",
        type=float,
        metavar="SHARE",
        help="share of each channel's capacity to keep free (needs --seconds)",
    )
    _add_guarantee(regulate)
    regulate.add_argument(
        "--time-limit",
        type=float,
        default=60.0,
        metavar="S",
        help="processor seconds for --method optimal and its bound (default 60)",
    )
    regulate.add_argument(
        "--power", type=Path, metavar="FILE", help="YAML file of watts by model, used before tagloom's own figures"
    )
    regulate.add_argument("--seconds", type=float, metavar="S", help="duration of the traffic, if its file has none")
    regulate.add_argument("--ranks", type=int, metavar="N", help="number of ranks, for a paraprof summary")
    add_placement_options(
        regulate,
        "hosts of ranks: block, spread or a file of rank,host lines (default: rank i on host i if there are as "
        "many of both); for nfdump a file of address,host lines",
    )
    regulate.add_output(
        "-o", "--output", gathered=True, metavar="SETTINGS", help="write the settings, for plan --settings"
    )

    timetable = commands.add(
        "timetable", _timetable, "choose a few link settings for a day of traffic, and their times"
    )
    timetable.add_argument("fabric", type=Path, metavar="FABRIC", help="fabric file")
    timetable.add_argument(
        "--traffic",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="a day: traffic files with '# start:' and '# seconds:', directories of them, one CSV "
        "time,source,destination,bytes, or the history that tagloom observe keeps",
    )
    timetable.add_argument(
        "--calendar", type=Path, metavar="FILE", help="rules in cron syntax instead, to check, prove and preview"
    )
    timetable.add_argument(
        "--levels", default="off", metavar="L,..", help="what a link may become: off, 10, 100, 1000 (default off)"
    )
    timetable.add_argument(
        "--most-settings",
        "--settings",
        dest="settings",
        type=int,
        default=3,
        metavar="N",
        help="number of different settings at most (default 3)",
    )
    timetable.add_argument("--dwell", default="15m", metavar="TIME", help="minimum time between changes (default 15m)")
    timetable.add_argument("--changes", type=int, default=12, metavar="N", help="changes a day at most (default 12)")
    timetable.add_argument(
        "--headroom",
        type=float,
        default=0.5,
        metavar="SHARE",
        help="share of each channel's capacity to keep free while links are off (default 0.5)",
    )
    timetable.add_argument(
        "--change-seconds",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds that each change takes, which count as on (default 60)",
    )
    _add_guarantee(timetable)
    timetable.add_argument("--allow", choices=["cut"], help="as for regulate")
    timetable.add_argument("--allow-cut", dest="allow", action="store_const", const="cut", help="--allow cut")
    timetable.add_argument("--max-hops", type=int, metavar="N", help="as for regulate")
    timetable.add_argument(
        "--power", type=Path, metavar="FILE", help="YAML file of watts by model, used before tagloom's own figures"
    )
    add_placement_options(timetable)
    timetable.add_argument(
        "--timezone", metavar="ZONE", help="time zone of the timetable, such as Europe/Berlin (default UTC)"
    )
    timetable.add_output("-o", "--output", gathered=True, help="write the timetable here, and its settings beside it")
