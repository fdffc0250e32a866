"""Answer tagloom report: write the page, or serve it while it follows observe and run."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom import __version__
from tagloom.cli.forecasting import assumptions_of
from tagloom.cli.inputs import (
    LAB,
    Findings,
    add_placement_options,
    listening_at,
    placement_findings,
    placement_of,
    traffic_findings,
    traffic_given,
)
from tagloom.cli.screen import GOOD, NO, Screen
from tagloom.errors import Finding, InputError
from tagloom.plain_text import printable
from tagloom.storage.outputs import write_output

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from tagloom.cli.words import Commands
    from tagloom.records.observation import Observation
    from tagloom.records.report import Report
    from tagloom.records.traffic import Traffic

SERVED_SECONDS = 3600.0  # of a history, on a page that is served: what is now, not what was on average


def _report(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.report.html import html_document
    from tagloom.report.networks import networks_payload

    all_found = Findings(args)
    listening = all_found.of(lambda: listening_at(args.serve, "--serve")) if args.serve else None
    if args.output is None and not args.serve:
        all_found.findings.append(Finding("report", "-o FILE or --serve [HOST:]PORT", "neither"))
    given = _given(args, all_found)
    with screen.waiting("proving, loading and drawing"):
        found = all_found.of(lambda: _made(args, given))
        all_found.findings += traffic_findings([args.traffic, args.profile], args.seconds, args.ranks)
        all_found.findings += placement_findings(args)
        all_found.end()
    assert found is not None  # noqa: S101 - else there are findings
    payload: dict[str, Any] = {
        "left_out": list(found.left_out),
        "findings": [finding.to_json() for finding in found.proof.findings],
        "networks": networks_payload(found),
    }
    status = GOOD if found.proof.proven else NO
    if args.output is not None:
        text = html_document(found, _written(args))
        write_output(args.output, text, force=args.force)
        screen.say(
            f"wrote     {args.output} ({len(text.encode()) / 1024:,.0f} KiB; opens in any browser, no network needed)"
        )
        payload = {"wrote": str(args.output), "bytes": len(text.encode()), **payload}
    screen.remark(*(f"left out  {what}" for what in found.left_out))
    if listening is not None:
        _serve(args, given, found, listening, screen)
    screen.answer(payload)
    return status


def _given(args: argparse.Namespace, all_found: Findings) -> dict[str, Any]:
    """Return what the report is made of besides the files that are read anew each time."""
    rates, eee, power = assumptions_of(args, all_found)
    return {"eee": eee, "rates": rates, "power": power}


def _made(args: argparse.Namespace, given: Mapping[str, Any]) -> Report:
    """Return the report; a history of observe is read as traffic, and as what its last reading showed of links."""
    from tagloom.adapters.history import History, is_one
    from tagloom.observe.links import states_seen
    from tagloom.pipeline.reporting import report

    span = SERVED_SECONDS if args.serve else None

    def counted(path: Path, build: Any) -> Traffic:
        return traffic_given(
            path, build.fabric, lambda: build.routes, placement_of(args), args.seconds, args.ranks, span
        )

    found = report(
        args.build,
        at_seconds=time.time(),
        traffic_file=args.traffic,
        read_traffic=counted,
        profile=args.profile,
        placement=placement_of(args),
        seconds=args.seconds,
        ranks=args.ranks,
        settings=args.settings,
        rollout=args.rollout,
        timetable=args.timetable,
        **given,
    )
    if args.traffic is None or not is_one(args.traffic):
        return found
    with closing(History(args.traffic)) as history:
        return replace(found, states=states_seen(found.fabric, found.states, history.last(found.fabric.name)))


def _written(args: argparse.Namespace) -> str:
    return f"Written {time.strftime('%Y-%m-%d %H:%M')} by tagloom {__version__} from {args.build}."


def _serve(
    args: argparse.Namespace, given: Mapping[str, Any], first: Report, listening: tuple[str, int], screen: Screen
) -> None:
    """Serve the page until Ctrl-C; a page is made anew where a file that it reads changed."""
    from tagloom.adapters.live_page import LivePage

    page = _Page(args, given, first, screen)
    with LivePage(listening, page.newest) as server:
        try:  # from the line on that says it is served: who reads it may interrupt at once
            screen.say(f"serving   {server.url}", "next      Ctrl-C ends it")
            server.serve_forever()
        except KeyboardInterrupt:
            screen.remark("interrupted: nobody serves the page any more")


class _Page:
    """The newest page and the files that it was made of; a file that cannot be read leaves the last page as it is."""

    def __init__(self, args: argparse.Namespace, given: Mapping[str, Any], first: Report, screen: Screen) -> None:
        self._args, self._given, self._screen = args, given, screen
        inventory = args.inventory or (LAB if LAB.exists() else None)
        self._inventory: Path | None = inventory
        self._stamp, self._version = self._stamps(), 1
        self._text = self._html(first, self._version)

    def newest(self) -> tuple[str, str]:
        """Return the version, and the document."""
        stamp = self._stamps()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                text = self._html(_made(self._args, self._given), self._version + 1)
            except InputError as error:
                self._screen.remark(*map(str, error.findings), "the page stays as it was")
            else:
                self._version, self._text = self._version + 1, text
        return str(self._version), self._text

    def _html(self, found: Report, version: int) -> str:
        from tagloom.records.report import Live
        from tagloom.report.html import html_document

        live = Live(str(version), tuple(map(printable, self._lines(found))))
        return html_document(found, _written(self._args), live)

    def _lines(self, found: Report) -> list[str]:
        """Return what holds now: as tagloom status says without asking a switch, and the last reading."""
        from tagloom.adapters.history import History, is_one
        from tagloom.apply.abort import home_of
        from tagloom.operate import status
        from tagloom.report.status import reading_lines, status_lines

        lines: list[str] = []
        if self._inventory is not None:
            known = status.recorded(home_of(self._inventory))
            lines += status_lines(status.status_page(found.fabric.name, known, None), time.time())
        if self._args.traffic is not None and is_one(self._args.traffic):
            with closing(History(self._args.traffic)) as history:
                seen: Mapping[str, Observation] = history.last(found.fabric.name)
            lines += reading_lines(seen, time.time())
        return lines or [f"build     {self._args.build}"]

    def _stamps(self) -> tuple[tuple[str, int, int], ...]:
        """Return every file that the page is made of with its time and size; a file that is missing has none."""
        from tagloom.apply.abort import JOURNAL, home_of
        from tagloom.operate.clock_document import CLOCK

        args = self._args
        paths = [args.build / "plan.json", args.build / "configs"]
        paths += [each for each in (args.traffic, args.profile, args.settings, args.timetable) if each is not None]
        paths += [args.rollout / "rollout.json"] if args.rollout is not None else []
        if self._inventory is not None:
            paths += [home_of(self._inventory) / name for name in (CLOCK, JOURNAL, f"{JOURNAL}-wal")]
        if args.traffic is not None:
            paths.append(args.traffic.with_name(f"{args.traffic.name}-wal"))  # SQLite writes there first
        found = []
        for path in paths:
            try:
                known = path.stat()
            except OSError:
                found.append((str(path), 0, 0))
            else:
                found.append((str(path), known.st_mtime_ns, known.st_size))
        return tuple(found)


def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    report = commands.add("report", _report, "write a build, its proof and its forecast as one HTML page, or serve it")
    report.add_argument("build", type=Path, metavar="BUILD", help="a build")
    report.add_output("-o", "--output", gathered=True, help="the page to write")
    report.add_argument(
        "--serve",
        metavar="[HOST:]PORT",
        help="serve the page (on loopback by default) until Ctrl-C; it follows what observe and run write",
    )
    report.add_argument(
        "-i", "--inventory", type=Path, metavar="INVENTORY", help="with --serve: whose run and status are shown"
    )
    report.add_argument(
        "--traffic", type=Path, metavar="F", help="traffic, by host or by rank; or a history that observe -o writes"
    )
    add_placement_options(report)
    report.add_argument("--seconds", type=float, metavar="S", help="duration of the traffic, as for predict")
    report.add_argument("--profile", type=Path, metavar="FILE", help="profile of a run, as for predict")
    report.add_argument("--ranks", type=int, metavar="N", help="number of ranks, for a paraprof summary")
    report.add_argument(
        "--settings", type=Path, metavar="F", help="links to turn off, in addition to those off in the build"
    )
    report.add_argument("--eee", metavar="TIMEOUT,TS,TW", help="EEE parameters of the host ports, as for predict")
    report.add_argument(
        "--rollout", type=Path, metavar="DIR", help="show the waves of this rollout, and what they interrupt"
    )
    report.add_argument("--timetable", type=Path, metavar="F", help="show power over a day or a week of this timetable")
    report.add_argument("--price", type=float, metavar="P", help="price of a kWh")
    report.add_argument("--currency", default="", metavar="C", help="what the price is in, such as EUR")
    report.add_argument("--co2", type=float, metavar="KG", help="kilograms of CO2 per kWh")
    report.add_argument("--host-watts", type=float, default=0.0, metavar="W", help="watts of one host, as for predict")
    report.add_argument(
        "--power", type=Path, metavar="FILE", help="YAML file of watts by model, used before tagloom's own figures"
    )
