"""Answer the commands that read over SNMP: observe, discover."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.apply import interrupts
from tagloom.cli.inputs import (
    LAB,
    Findings,
    listening_at,
    seconds_of,
    site_of,
    snmp_reader,
    snmp_settings_of,
)
from tagloom.cli.screen import DEVICE_FAILED, GOOD, NO, Screen
from tagloom.cli.words import Commands, snmp_words
from tagloom.errors import Finding
from tagloom.storage.outputs import write_output
from tagloom.units import number_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Mapping

    from tagloom.records.switch_state import FabricState


def _observe(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import observe, pipeline
    from tagloom.adapters.exporter import Exporter
    from tagloom.adapters.history import History
    from tagloom.operate import prepare
    from tagloom.read import fabric_of

    all_found = Findings()
    if args.count is not None and args.count < 1:
        all_found.findings.append(Finding("--count", "1 or more", str(args.count)))
    every = all_found.of(lambda: seconds_of(args.every)) if args.every else 0.0
    listening = (
        all_found.of(lambda: listening_at(args.metrics_port, "--metrics-port")) if args.metrics_port else ("", 0)
    )
    all_found.end()
    count = args.count or (0 if args.every else 1)
    site = site_of(args)
    fabric = fabric_of(site.inventory)
    settings = snmp_settings_of(args, site.inventory)
    agents = settings.agents(fabric)
    build = pipeline.read_build(args.against) if args.against else None

    def running(names: Collection[str]) -> FabricState:
        return prepare.running_states(fabric, site, names)

    shots, code = 0, GOOD
    with ExitStack() as stack:
        snmp = stack.enter_context(snmp_reader(args, settings))
        history = stack.enter_context(closing(History(args.output))) if args.output else None
        exporter = stack.enter_context(closing(Exporter(listening))) if args.metrics_port else None
        before = history.last(fabric.name) if history else {}
        payload: dict[str, Any] = {}
        try:
            with interrupts.unwrapped():
                while True:
                    began = time.monotonic()
                    with screen.waiting(f"reading {number_of(len(fabric.live), 'switch')}"):
                        seen = observe.observe_all(fabric, agents, snmp.ask)
                        witnesses = [(build.fabric, build.state)] if build else []
                        if args.running:
                            witnesses.append((fabric, running(fabric.index)))
                        seen, found = observe.findings_of(witnesses, seen, running)
                        found += observe.link_findings(build.fabric, build.state, seen) if build else ()
                    at = time.time()
                    payload = observe.snapshot_payload(seen, observe.rates_between(before, seen), found, at)
                    shots += 1
                    if history:
                        history.append(fabric.name, at, seen)
                    if exporter:
                        exporter.show(seen, len(found) if witnesses else None)
                    code = DEVICE_FAILED if payload["failed"] else NO if found else GOOD
                    _show_observation(payload, screen, args)
                    before = seen
                    if shots == count or (screen.unheard and not (history or exporter)):
                        break
                    time.sleep(max(0.0, every - (time.monotonic() - began)))
        except KeyboardInterrupt:
            if not shots or not args.every:
                raise
            code = GOOD  # it runs until it is told to end, and it was
    if args.output:
        screen.say(f"wrote     {args.output}, {shots} snapshot{'' if shots == 1 else 's'}")
    screen.answer({**payload, "snapshots": shots, "wrote": str(args.output or "")})
    return code


def _show_observation(payload: Mapping[str, Any], screen: Screen, args: argparse.Namespace) -> None:
    from tagloom.report import terminal

    screen.say(*terminal.observation_lines(payload))
    findings = [Finding(**each) for each in payload["findings"]]
    if args.against or args.running:
        what = "SNMP shows the same" if not findings else f"SNMP differs: {terminal.count(len(findings), 'finding')}"
        screen.say(*terminal.row("witness", what), *terminal.finding_lines(findings))


def _discover(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.observe import discovery_payload
    from tagloom.observe.discover import check_discovery, discover
    from tagloom.read import agent_at, format_fabric, read_fabric
    from tagloom.report import terminal

    settings = snmp_settings_of(args, args.inventory or LAB)
    plan = read_fabric(args.against) if args.against else None
    check_discovery(args.name, args.model)
    seeds = [agent_at(seed, settings.port, "--start") for seed in args.start]
    with snmp_reader(args, settings) as snmp, screen.waiting("walking LLDP"):
        found = discover(args.name, seeds, snmp.ask, args.model, plan)
    payload = discovery_payload(found, plan)
    text = format_fabric(found.fabric)
    if args.output is not None:
        write_output(args.output, text, force=args.force)
    screen.say(*terminal.discovery_lines(payload, str(args.against or "")))
    if args.output is not None:
        screen.say(f"wrote     {args.output}", "next      add the hosts that LLDP does not show, then tagloom plan")
    elif plan is None:
        screen.say(text.rstrip())
    screen.answer({**payload, "fabric": text, "wrote": str(args.output or "")})
    if payload["missing"] or payload["unexpected"]:
        return NO
    return DEVICE_FAILED if found.unreached else GOOD


def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    snmp = snmp_words()
    observe = commands.add("observe", _observe, "read counters, VLANs and neighbours over SNMP", snmp)
    observe.add_argument("-o", "--output", type=Path, metavar="FILE", help="append the reading to this SQLite history")
    observe.add_argument("--every", metavar="TIME", help="read again every 30s, 5m or 1h, until Ctrl-C")
    observe.add_argument("--count", type=int, metavar="N", help="exit after N readings")
    observe.add_argument("--once", dest="count", action="store_const", const=1, help="exit after one: --count 1")
    observe.add_argument(
        "--metrics-port",
        "--prometheus",
        metavar="[HOST:]PORT",
        help="serve the last reading to Prometheus (on loopback by default)",
    )
    observe.add_argument(
        "--against",
        type=Path,
        metavar="BUILD",
        help="compare what SNMP shows with a build: VLANs, entries, links, speeds, hosts",
    )
    observe.add_argument(
        "--running", action="store_true", help="read running configurations over SSH too, and compare SNMP with them"
    )

    discover = commands.add("discover", _discover, "walk LLDP from a switch and write a fabric file", snmp)
    discover.add_argument(
        "--start", "--seed", nargs="+", required=True, metavar="ADDRESS", help="where to begin: host or host:port"
    )
    discover.add_output("-o", "--output", or_printed=True, metavar="FABRIC", help="write the fabric file here")
    discover.add_argument("--against", type=Path, metavar="FABRIC", help="compare the cabling with this fabric file")
    discover.add_argument("--name", default="discovered", metavar="NAME", help="name of the fabric")
    discover.add_argument("--model", metavar="M", help="model of switches that do not say theirs")
