"""Answer the command line: the only file that prints, reads the environment or exits."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import sys
import time
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tagloom import __version__
from tagloom.errors import DeviceError, Finding, InputError, PlanError, TagloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tagloom.apply.outcomes import Outcomes
    from tagloom.records.fabric import Fabric
    from tagloom.records.traffic import Traffic

GOOD, NO, BAD_INPUT, DEVICE_FAILED = 0, 1, 2, 3
LAB = Path("inventory/lab")
DEFAULT_MODEL = "powerconnect-5324"
ABORT_POLL_SECONDS = 0.2
PROMETHEUS_SPAN_SECONDS = 3600.0
FORECASTS = "forecasts.db"  # where predict --record keeps forecasts, beside the build
REMARK_SECONDS = 5.0  # between two lines of progress where standard error is no terminal


class Screen:
    """Print answers on standard output, remarks and progress on standard error."""

    def __init__(self, *, as_json: bool, verbose: int = 0) -> None:
        self.as_json, self.verbose = as_json, verbose
        self._spoken = 0.0

    def say(self, *lines: str) -> None:
        """Print lines of the answer; with --json the answer is the one object of `answer` instead."""
        if not self.as_json:
            for line in lines:
                print(line, flush=True)

    def answer(self, page: Mapping[str, Any]) -> None:
        """Print the answer as one JSON object where that was asked for."""
        if self.as_json:
            print(json.dumps(page, indent=2))

    def remark(self, *lines: str) -> None:
        """Print lines that are not the answer."""
        for line in lines:
            print(line, file=sys.stderr, flush=True)

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """Show how far something is: a bar on a terminal, a line now and then elsewhere."""
        if not sys.stderr.isatty():
            self._spoken = time.monotonic()

            def note(done: int, of: int) -> None:
                if time.monotonic() - self._spoken > REMARK_SECONDS:
                    self._spoken = time.monotonic()
                    self.remark(f"{what}: {done} of {of}")

            yield note
            return
        from rich.console import Console  # noqa: PLC0415 - only where a bar is shown
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, of: bar.update(task, completed=done, total=of)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Say what is being waited for, on a terminal, while it lasts."""
        if not sys.stderr.isatty():
            yield
            return
        from rich.console import Console  # noqa: PLC0415 - only where a spinner is shown

        with Console(stderr=True).status(what):
            yield


# --- commands --------------------------------------------------------------------------------------------------------


def _new(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.read import format_family  # noqa: PLC0415 - commands import what they need, so that --help is instant

    text = format_family(
        args.name or args.family, args.family, tuple(args.dims), args.parallel, args.hosts, args.model, lag=args.lag
    )
    if args.output is None:
        screen.say(text.rstrip())
    else:
        _write(args.output, text)
        screen.say(f"wrote     {args.output}", f"next      tagloom plan {args.output} -o build")
    screen.answer({"fabric": text, "wrote": str(args.output) if args.output else ""})
    return GOOD


def _plan(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.read import read_fabric  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above
    from tagloom.share import share_directory  # noqa: PLC0415 - as above

    start = time.monotonic()
    fabric = pipeline.with_links_off(read_fabric(args.fabric), args.off, args.settings)
    previous = pipeline.read_build(args.previous) if args.previous else None
    templates = share_directory() / "templates"
    traffic = pipeline.traffic_of(args.traffic, fabric, args.placement, None) if args.traffic else None
    chosen = pipeline.chosen(fabric, args.settings) if args.settings else None
    with screen.waiting("routing, weaving and proving"):
        build, proof, texts = pipeline.plan(
            fabric,
            templates,
            routing=args.routing,
            assignment=args.assignment,
            previous=previous,
            prefer=args.prefer or ("load" if traffic is not None else "vlans"),
            traffic=traffic,
            texts=not args.no_texts,
            static_arp=args.static_arp,
            effort=args.effort,
            root=args.root,
            brought=chosen,
        )
        summary = build.summary(proof)
        sleeping = chosen.sleeping_hosts if chosen is not None else ()
        hosts = pipeline.host_pages(build, teach=args.learning, sleeping=sleeping)
        if proof.proven:
            pipeline.write_build(build, summary, texts, args.output, proof, hosts)
    screen.say(*terminal.plan_lines(fabric, summary, "bytes" if traffic is not None else "host pairs"))
    if args.verbose and not screen.as_json:
        screen.say(*terminal.routing_lines(pipeline.routings(fabric, args.assignment)))
        if build.first_fit_vlans is not None:
            first_fit = terminal.count(build.first_fit_vlans, "VLAN")
            screen.say(*terminal.row("", f"the routing's own trees, merged first fit: {first_fit}"))
    screen.say(*terminal.proof_lines(proof, len(fabric.hosts)))
    if proof.proven and args.no_texts:
        screen.say(
            f"wrote     {args.output}/plan.json in {time.monotonic() - start:.1f} s; the planned states are proven, "
            "no texts were written or proven",
            "next      the same without --no-texts",
        )
    elif proof.proven:
        wrote = f"{args.output}/ ({', '.join([terminal.count(len(texts), 'configuration'), 'plan.json', *hosts])})"
        screen.say(
            f"wrote     {wrote} in {time.monotonic() - start:.1f} s",
            f"next      tagloom apply {args.output} --check --diff",
        )
    else:
        screen.say("the plan does not prove; nothing was written", "next      another --routing or --assignment")
    screen.answer({**summary, "texts_proven": proof.proven and not args.no_texts})
    return GOOD if proof.proven else NO


def _verify(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.read import read_fabric  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    if (args.build is None) == (args.fabric is None or args.configs is None):
        raise InputError([Finding("verify", "BUILD, or --fabric FABRIC and --configs DIR", "neither or both")])
    if args.build is not None:
        build = pipeline.read_build(args.build)
        fabric, routes, configs = build.fabric, build.routes, args.configs or args.build / "configs"
        repeats = build.duplicates_allowed
    else:
        fabric, routes, configs, repeats = read_fabric(args.fabric), None, args.configs, False
    with screen.waiting("proving"):
        texts = pipeline.read_texts(fabric, configs)
        _, proof = pipeline.prove(fabric, texts, routes, what_if=args.what_if, duplicates_allowed=repeats)
    screen.say(*terminal.row("read", f"{terminal.count(len(fabric.live), 'configuration')} of {configs}"))
    screen.say(*terminal.proof_lines(proof, len(fabric.hosts)))
    screen.say(
        "" if proof.proven else "not proven",
        *([] if proof.proven else ["next      tagloom plan, or mend the lines above"]),
    )
    screen.answer(proof.as_json())
    return GOOD if proof.proven else NO


def _rollout(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above
    from tagloom.share import share_directory  # noqa: PLC0415 - as above

    allow = args.allow or []
    findings = pipeline.unfit(args.strategy, allow_drain="drain" in allow)
    if len(args.builds) != (1 if args.greenfield else 2):
        findings.append(Finding("rollout", "OLD NEW, or --greenfield NEW", " ".join(map(str, args.builds))))
    if args.greenfield and args.strategy != "auto":
        findings.append(Finding("--strategy", "none: --greenfield is one itself", args.strategy))
    if (args.root or args.blocked) and not args.greenfield:
        findings.append(Finding("--root, --blocked", "--greenfield beside them", "a rollout between two builds"))
    findings += pipeline.occupied(args.output, "rollout.json")
    builds = []
    for path in args.builds:
        try:
            builds.append(pipeline.read_build(path))
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    with screen.waiting("ordering and proving waves"):
        drain = "drain" in allow
        if args.greenfield:
            change = pipeline.greenfield(builds[0], root=args.root, blocked=args.blocked, allow_drain=drain)
        else:
            repeats = "duplicates" in allow
            wish = {"strategy": args.strategy, "allow_drain": drain, "allow_duplicates": repeats}
            change = pipeline.rollout_between(*builds, **wish)
        page = pipeline.write_rollout(builds[-1], change, share_directory() / "templates", args.output)
    screen.say(*terminal.rollout_lines(page), f"wrote     {args.output}/ (waves and the target, {args.output}/build)")
    screen.say(f"next      tagloom apply {args.output} --check --diff")
    screen.answer(page)
    return GOOD


def _regulate(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.read import read_fabric  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    all_found = _Findings()
    fabric = all_found.of(lambda: read_fabric(args.fabric))
    levels, sleep = all_found.of(lambda: pipeline.read_levels(args.levels), ((0,), False))
    power = all_found.of(lambda: pipeline.read_power(args.power)) if args.power else None
    traffic = all_found.of(lambda: _traffic(args, fabric)) if fabric is not None else None
    wish = pipeline.Wish(args.method, levels, sleep, args.allow_cut, args.headroom, args.time_limit, power)
    all_found.findings += pipeline.wish_findings(wish, traffic)
    all_found.end()
    assert fabric is not None  # noqa: S101 - else there are findings
    assert traffic is not None  # noqa: S101 - as above
    with screen.progress("links tried") as note:
        settings = pipeline.regulate(fabric, traffic, args.routing, args.assignment, note, wish, time.monotonic)
    page = pipeline.settings_page(fabric, settings)
    screen.say(*terminal.settings_lines(page))
    if args.output is not None:
        _write(args.output, json.dumps(page, indent=2) + "\n")
        how = f" --routing {args.routing}" if args.routing != "auto" else ""
        how += f" --assignment {args.assignment}" if args.assignment != "fixed" else ""
        screen.say(
            f"wrote     {args.output}", f"next      tagloom plan {args.fabric}{how} --settings {args.output} -o build"
        )
    screen.answer(page)
    return GOOD


def _traffic(args: argparse.Namespace, fabric: Fabric) -> Traffic:
    """Read the traffic that `regulate` is given: a file, a history of `observe`, or what a Prometheus kept."""
    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.adapters import history, prometheus  # noqa: PLC0415 - as above

    if args.span is not None and args.span <= 0:
        raise InputError([Finding("--span", "seconds above 0", f"{args.span:g}")])
    where = str(args.prometheus or args.traffic)
    if args.prometheus:
        span = args.span or PROMETHEUS_SPAN_SECONDS
        seen = prometheus.snapshots(args.prometheus, span, time.time(), pipeline.port_numbers(fabric))
        traffic = pipeline.traffic_counted(fabric, args.routing, args.assignment, seen, where)
    elif history.is_one(args.traffic):
        with closing(history.History(args.traffic)) as kept:
            seen = kept.snapshots(fabric.name, args.span)
            traffic = pipeline.traffic_counted(fabric, args.routing, args.assignment, seen, where)
    else:
        traffic = pipeline.traffic_of(args.traffic, fabric, args.placement, args.seconds, args.ranks)
    if not traffic.volume_bytes.any():
        raise InputError([Finding(where, "some bytes between two hosts", "none: nothing to choose by")])
    return traffic


def _timetable(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.pipeline import timetabling  # noqa: PLC0415 - as above
    from tagloom.read import read_fabric  # noqa: PLC0415 - as above
    from tagloom.report import clock  # noqa: PLC0415 - as above
    from tagloom.share import share_directory  # noqa: PLC0415 - as above

    if bool(args.traffic) == (args.calendar is not None):
        raise InputError([Finding("timetable", "--traffic FILES or --calendar FILE", "neither or both")])
    fabric = read_fabric(args.fabric)
    if args.calendar is not None:
        from tagloom.read.calendar import read_timetable  # noqa: PLC0415 - as above

        table = read_timetable(args.calendar, args.timezone)
        with screen.waiting("planning and proving every setting"):
            fabrics = timetabling.check_settings(fabric, table, share_directory() / "templates")
        page = timetabling.calendar_page(fabric, table, time.time(), fabrics)
        screen.say(*clock.calendar_lines(page), f"next      tagloom run {args.calendar} -i INVENTORY --dry-run")
        screen.answer(page)
        return GOOD
    wish = timetabling.DayWish(
        args.settings,
        args.headroom,
        _seconds(args.dwell, "--dwell"),
        args.changes,
        args.change_seconds,
        args.allow_cut,
        pipeline.read_power(args.power) if args.power else None,
    )
    zone = args.timezone or "UTC"
    history = _history(args, fabric, zone)
    with screen.progress("settings sought") as note:
        day = timetabling.timetable(fabric, history, share_directory() / "templates", wish, note, time.monotonic)
    schedule = day.schedules[-1]
    page = timetabling.day_page(fabric, day, wish, schedule)
    screen.say(*clock.day_lines(page))
    if args.output is not None:
        files = timetabling.pages(fabric, day, wish, schedule, zone, args.output.stem)
        for name, text in files.items():
            _write(args.output.parent / name if name != f"{args.output.stem}.yml" else args.output, text)
        screen.say(
            f"wrote     {args.output} and {len(files) - 1} settings files beside it",
            f"next      tagloom run {args.output} -i INVENTORY --dry-run",
        )
    screen.answer({**page, "wrote": str(args.output or "")})
    return GOOD


def _history(args: argparse.Namespace, fabric: Any, zone: str) -> Any:
    """Read a day of traffic: matrices, or the counters that observe kept."""
    from tagloom.adapters.history import History, is_one  # noqa: PLC0415 - as above
    from tagloom.pipeline import observing, timetabling  # noqa: PLC0415 - as above
    from tagloom.read.history import read_history  # noqa: PLC0415 - as above

    if not any(is_one(path) for path in args.traffic):
        return read_history(args.traffic, fabric, zone, args.placement)
    if len(args.traffic) > 1:
        raise InputError([Finding("--traffic", "one history of tagloom observe, alone", f"{len(args.traffic)} files")])
    with closing(History(args.traffic[0])) as history:
        shots = list(history.snapshots(fabric.name))
    rates = [
        (max(each.at for each in after.values()), observing.rates_between(before, after))
        for before, after in itertools.pairwise(shots)
    ]
    return timetabling.history_of_counters(fabric, rates, zone)


def _predict(args: argparse.Namespace, screen: Screen) -> int:
    import csv  # noqa: PLC0415 - as above
    import io  # noqa: PLC0415 - as above

    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.predict.eee import POWERCONNECT_5548  # noqa: PLC0415 - as above
    from tagloom.predict.energy import Rates  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    all_found = _Findings()
    rates = Rates(args.price, args.co2, args.host_watts)
    all_found.findings += rates.findings()
    eee = all_found.of(lambda: _policy(args.eee, "--eee")) if args.eee is not None else None
    power = all_found.of(lambda: pipeline.read_power(args.power)) if args.power else None
    build = all_found.of(lambda: pipeline.read_build(args.build, states=False))
    traffic = None
    if build is not None:
        fabric = build.fabric
        all_found.of(lambda: pipeline.with_links_off(fabric, [], args.settings))
        place = args.placement, args.seconds, args.ranks
        if args.traffic:
            traffic = all_found.of(lambda: pipeline.traffic_of(args.traffic, fabric, *place))
        if args.profile:
            profile = all_found.of(lambda: pipeline.traffic_of(args.profile, fabric, *place))
            if profile is not None:
                traffic = all_found.of(lambda: pipeline.with_profile(traffic, profile, f"--profile {args.profile}"))
    all_found.end()
    assert build is not None  # noqa: S101 - else there are findings
    every = args.eee_links == "all"
    question = pipeline.Question(traffic, args.settings, eee, every, rates, power, args.rollout)
    with screen.waiting("forecasting"):
        page = terminal.forecast_page(pipeline.predict_build(build, question), build.fabric)
    screen.say(*terminal.forecast_lines(page))
    page |= _kept(args, page, build, traffic, screen) | _figures(args, eee or POWERCONNECT_5548, screen)
    if args.csv is not None:
        table = io.StringIO()
        csv.writer(table, lineterminator="\n").writerows(terminal.forecast_rows(page))
        _write(args.csv, table.getvalue())
        screen.say(f"wrote     {args.csv}")
    screen.answer(page)
    return GOOD


class _Findings:
    """Gather what is wrong with several inputs, to be told at once."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def of(self, read: Callable[[], Any], otherwise: Any = None) -> Any:
        """Give what `read` reads, `otherwise` where it finds something wrong."""
        try:
            return read()
        except InputError as error:
            self.findings += error.findings
            return otherwise

    def end(self) -> None:
        """Raise InputError where anything was found."""
        if self.findings:
            raise InputError(self.findings)


def _export(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.report.exports import export  # noqa: PLC0415 - as above

    build = pipeline.read_build(args.build, states=False)
    text = export(args.format, build.fabric, build.routes)
    if args.output is None:
        screen.say(text.rstrip())
    else:
        _write(args.output, text)
        screen.say(f"wrote     {args.output}")
    screen.answer({"format": args.format, "text": text if args.output is None else "", "wrote": str(args.output or "")})
    return GOOD


# --- what is made of forecasts ---------------------------------------------------------------------------------------


def _kept(
    args: argparse.Namespace, page: Mapping[str, Any], build: Any, traffic: Any, screen: Screen
) -> dict[str, Any]:
    """Keep a forecast where that was asked for; gives what the answer says of it."""
    from tagloom.adapters.forecasts import Forecasts  # noqa: PLC0415 - as above
    from tagloom.pipeline.scoring import quantities_of  # noqa: PLC0415 - as above

    if not args.record and args.store is None:
        return {}
    store = args.store or args.build.parent / FORECASTS
    with closing(Forecasts(store, new=True)) as file:
        quantities = quantities_of(page, build, traffic)
        number = file.keep(time.time(), build.fabric.name, str(args.build), quantities)
    screen.say(f"kept      forecast {number} in {store}, {len(quantities)} quantities")
    screen.say(f"next      tagloom score --store {store} --measured watts_after=W   (or FILE.csv, history.db)")
    return {"recorded": number, "store": str(store)}


def _figures(args: argparse.Namespace, eee: Any, screen: Screen) -> dict[str, Any]:
    """Draw figures where that was asked for; gives what the answer says of them."""
    if args.figures is None:
        return {}
    from tagloom.pipeline.reporting import report  # noqa: PLC0415 - as above
    from tagloom.report.figures import write_figures  # noqa: PLC0415 - as above

    with screen.waiting("drawing"):
        given = {"placement": args.placement, "seconds": args.seconds, "settings": args.settings, "eee": eee}
        names = write_figures(report(args.build, traffic_file=args.traffic, **given), args.figures)
    screen.say(f"wrote     {args.figures}/ ({', '.join(names)})")
    return {"figures": names}


def _score(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.adapters.evidence import read_measured  # noqa: PLC0415 - as above
    from tagloom.adapters.forecasts import Forecasts  # noqa: PLC0415 - as above
    from tagloom.pipeline.scoring import score, score_page  # noqa: PLC0415 - as above
    from tagloom.report.scores import score_lines  # noqa: PLC0415 - as above

    findings = []
    if not 0 <= args.tolerance < float("inf"):
        findings.append(Finding("--tolerance", "percent from 0", f"{args.tolerance:g}"))
    fresh: list[Any] = []
    try:
        fresh = read_measured(args.measured)
    except InputError as error:
        findings += error.findings
    try:
        file = Forecasts(args.store, new=False)
    except InputError as error:
        raise InputError([*error.findings, *findings]) from None
    with closing(file):
        kept = file.forecasts()
        names = {name for forecast in kept for name in forecast.quantities}
        for each in fresh:
            if each.origin == "given" and each.quantity not in names:
                known = ", ".join(sorted(name for name in names if "/" not in name)) or "none: predict --record first"
                findings.append(Finding(f"--measured {each.quantity}", f"a quantity forecast: {known}", "another"))
        if findings:
            raise InputError(findings)
        file.measure(fresh)
        page = score_page(*score(kept, file.measured(), args.tolerance), len(kept), args.tolerance)
    screen.say(*score_lines(page))
    screen.answer(page)
    return GOOD if page["scored"] and page["good"] == page["scored"] else NO


def _fit(args: argparse.Namespace, screen: Screen) -> int:
    import yaml  # noqa: PLC0415 - as above

    from tagloom.adapters.evidence import read_pairs, read_policy  # noqa: PLC0415 - as above
    from tagloom.pipeline.fitting import fit_page, policy_page  # noqa: PLC0415 - as above
    from tagloom.report.scores import fit_lines  # noqa: PLC0415 - as above

    findings = []
    if (args.pairs is None) == (args.probe is None):
        findings.append(Finding("fit", "--pairs FILE or --probe FILE", "neither or both"))
    if args.known_timeout is not None and not 0 < args.known_timeout <= 3600:
        findings.append(Finding("--known-timeout", "seconds above 0, up to 3600", f"{args.known_timeout:g}"))
    if findings:
        raise InputError(findings)
    if args.pairs is not None:
        pairs = read_pairs(args.pairs)
        with screen.waiting("fitting"):
            page = fit_page(pairs, args.pairs.name, regular=args.regular, timeout_seconds=args.known_timeout)
    else:
        page = policy_page(read_policy(args.probe), f"measured, {args.probe.name}")
    screen.say(*fit_lines(page))
    if args.output is not None:
        _write(args.output, yaml.safe_dump(page, sort_keys=False))
        screen.say(f"wrote     {args.output}", f"next      tagloom predict BUILD --traffic F --eee {args.output}")
    screen.answer({**page, "wrote": str(args.output or "")})
    return GOOD


def _sweep(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.adapters.workers import workers  # noqa: PLC0415 - as above
    from tagloom.pipeline.sweeping import csv_text, read_sweep, sweep  # noqa: PLC0415 - as above
    from tagloom.report.scores import sweep_lines  # noqa: PLC0415 - as above

    findings = []
    if args.jobs is not None and args.jobs < 1:
        findings.append(Finding("--jobs", "1 or more", str(args.jobs)))
    if args.output is not None and args.output.suffix not in {".csv", ".json"}:
        findings.append(Finding("--output", "a file that ends in .csv or .json", str(args.output)))
    try:
        cells = read_sweep(args.sweep)
    except InputError as error:
        findings += error.findings
    if findings:
        raise InputError(findings)
    with screen.progress("forecasts") as note, workers(args.scheduler, args.jobs) as executor:
        rows = sweep(cells, executor, note)
    failed = sum(bool(row["error"]) for row in rows)
    screen.say(*sweep_lines(rows))
    if args.output is not None:
        as_csv = args.output.suffix == ".csv"
        _write(args.output, csv_text(rows) if as_csv else json.dumps({"cells": rows}, indent=2) + "\n")
        screen.say(f"wrote     {args.output}")
    screen.answer({"cells": rows, "count": len(rows), "failed": failed, "wrote": str(args.output or "")})
    return NO if failed else GOOD


def _report_page(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.pipeline.reporting import report  # noqa: PLC0415 - as above
    from tagloom.report.html import page  # noqa: PLC0415 - as above

    with screen.waiting("proving, loading and drawing"):
        found = report(
            args.build,
            traffic_file=args.traffic,
            placement=args.placement,
            seconds=args.seconds,
            settings=args.settings,
            rollout=args.rollout,
            timetable=args.timetable,
        )
        text = page(found, f"Written {time.strftime('%Y-%m-%d %H:%M')} by tagloom {__version__} from {args.build}.")
    _write(args.output, text)
    screen.say(
        f"wrote     {args.output} ({len(text.encode()) / 1024:,.0f} KiB; opens in any browser, no network needed)"
    )
    screen.remark(*(f"left out  {what}" for what in found.left_out))
    screen.answer(
        {
            "wrote": str(args.output),
            "bytes": len(text.encode()),
            "left_out": list(found.left_out),
            "findings": [finding.as_json() for finding in found.proof.findings],
        }
    )
    return GOOD if found.proof.proven else NO


# --- eyes on the network ---------------------------------------------------------------------------------------------


def _observe(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.adapters.exporter import Exporter  # noqa: PLC0415 - as above
    from tagloom.adapters.history import History  # noqa: PLC0415 - as above
    from tagloom.pipeline import observing, operating  # noqa: PLC0415 - as above

    all_found = _Findings()
    if args.count is not None and args.count < 1:
        all_found.findings.append(Finding("--count", "1 or more", str(args.count)))
    every = all_found.of(lambda: _seconds(args.every)) if args.every else 0.0
    listening = all_found.of(lambda: _listening(args.prometheus)) if args.prometheus else ("", 0)
    all_found.end()
    count = args.count or (0 if args.every else 1)
    site = _site(args)
    fabric = observing.fabric_of(site.inventory)
    settings = _snmp_settings(args, site.inventory)
    agents = observing.agents_of(fabric, settings.addresses, settings.port)
    build = pipeline.read_build(args.against) if args.against else None
    shots, code = 0, GOOD
    with ExitStack() as stack:
        snmp = stack.enter_context(_snmp(args, settings))
        history = stack.enter_context(closing(History(args.output))) if args.output else None
        exporter = stack.enter_context(closing(Exporter(listening))) if args.prometheus else None
        before = history.last(fabric.name) if history else {}
        page: dict[str, Any] = {}
        try:
            while True:
                began = time.monotonic()
                with screen.waiting(f"reading {len(fabric.live)} switches"):
                    seen = observing.observe_all(fabric, agents, snmp.ask)
                    witnesses = [(build.fabric, build.state)] if build else []
                    if args.running:
                        witnesses.append((fabric, pipeline.parse(fabric, operating.read_back(fabric, site))[0]))
                    found = [finding for both in witnesses for finding in observing.second_witness(*both, seen)]
                at = time.time()
                page = observing.page(seen, observing.rates_between(before, seen), found, at)
                shots += 1
                if history:
                    history.append(fabric.name, at, seen)
                if exporter:
                    exporter.show(seen)
                code = DEVICE_FAILED if page["failed"] else NO if found else GOOD
                _show_observation(page, screen, args)
                before = seen
                if shots == count:
                    break
                time.sleep(max(0.0, every - (time.monotonic() - began)))
        except KeyboardInterrupt:
            if not shots or not args.every:
                raise
            code = GOOD  # it runs until it is told to end, and it was
    if args.output:
        screen.say(f"wrote     {args.output}, {shots} snapshot{'' if shots == 1 else 's'}")
    screen.answer({**page, "snapshots": shots, "wrote": str(args.output or "")})
    return code


def _show_observation(page: Mapping[str, Any], screen: Screen, args: argparse.Namespace) -> None:
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    screen.say(*terminal.observation_lines(page))
    findings = [Finding(**each) for each in page["findings"]]
    if args.against or args.running:
        what = "SNMP shows the same" if not findings else f"SNMP differs: {terminal.count(len(findings), 'finding')}"
        screen.say(*terminal.row("witness", what), *terminal.finding_lines(findings))


def _discover(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.pipeline import observing  # noqa: PLC0415 - as above
    from tagloom.read import format_fabric, read_fabric  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    settings = _snmp_settings(args, args.inventory or LAB)
    plan = read_fabric(args.against) if args.against else None
    observing.check_discovery(args.name, args.model)
    seeds = [observing.place(seed, settings.port, "--seed") for seed in args.seed]
    with _snmp(args, settings) as snmp, screen.waiting("walking LLDP"):
        found = observing.discover(args.name, seeds, snmp.ask, args.model)
    page = observing.discovery_page(found, plan)
    text = format_fabric(found.fabric)
    screen.say(*terminal.discovery_lines(page, str(args.against or "")))
    if args.output is not None:
        _write(args.output, text)
        screen.say(f"wrote     {args.output}", "next      add the hosts that LLDP does not show, then tagloom plan")
    elif plan is None:
        screen.say(text.rstrip())
    screen.answer({**page, "fabric": text, "wrote": str(args.output or "")})
    if page["missing"] or page["unexpected"]:
        return NO
    return DEVICE_FAILED if found.unreached else GOOD


def _snmp_settings(args: argparse.Namespace, inventory: Path) -> Any:
    from tagloom.read import read_snmp_settings  # noqa: PLC0415 - as above

    beside = (inventory if inventory.is_dir() else inventory.parent) / "snmp.yml"
    return read_snmp_settings(args.snmp or (beside if beside.is_file() else None), os.environ, args.snmp_version)


def _snmp(args: argparse.Namespace, settings: Any) -> Any:
    from tagloom.adapters.snmp import Snmp  # noqa: PLC0415 - as above

    limits = (("--in-flight", args.in_flight, 1), ("--timeout", args.timeout, 0.01), ("--retries", args.retries, 0))
    low = [Finding(flag, f"{least} or more", str(value)) for flag, value, least in limits if not value >= least]
    if low:
        raise InputError(low)
    return Snmp(settings.credentials, in_flight=args.in_flight, timeout=args.timeout, retries=args.retries)


def _seconds(text: str, where: str = "--every") -> float:
    unit = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(text[-1:], 0.0)
    try:
        value = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise InputError([Finding(where, "a time such as 30s, 5m or 1h", repr(text))])
    return value


def _listening(text: str, where: str = "--prometheus") -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise InputError([Finding(where, "[HOST:]PORT", repr(text))])
    return host.strip("[]") or "127.0.0.1", int(port)  # what switches say is nobody else's business unless told so


def _eee(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.predict import Eee, check_link, load_phy, one_link  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    all_found = _Findings()
    phy = all_found.of(lambda: load_phy(args.phy))

    def value(name: str, own: float | None, key: str, otherwise: float) -> float:
        known = own if own is not None or phy is None else getattr(phy, key)
        if known is None and phy is not None:
            all_found.findings.append(Finding(name, f"seconds: {phy.name} has none of its own", "nothing"))
        return otherwise if known is None else float(known)

    sleep = value("--ts", args.ts, "sleep_seconds", 0.0)
    eee = Eee(
        value("--timeout", args.timeout, "timeout_seconds", 0.0),
        sleep,
        value("--tw", args.tw, "wake_seconds", 0.0),
        phy.source if phy else "",
        phy is not None and phy.together and args.both_directions,
        value("--lpi-power", args.lpi_power, "lpi_power", 0.1),
    )
    all_found.of(lambda: check_link(eee, args.load, args.frame_bytes, phy.rate_bps if phy else 1.0))
    all_found.end()
    refresh = (phy.quiet_seconds, phy.refresh_seconds) if args.refresh else (0.0, 0.0)
    found = one_link(eee, args.load, args.frame_bytes, phy.rate_bps, *refresh)
    page = terminal.link_page(phy.name, eee, found, together=phy.together, both=args.both_directions)
    screen.say(*terminal.link_lines(page))
    screen.answer(page)
    return GOOD


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise InputError([Finding(str(path), "a file that can be written", error.strerror or str(error))]) from None


# --- switches --------------------------------------------------------------------------------------------------------


def _apply(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.pipeline import applying, operating  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    wishes = applying.Wishes(args.on_failure, args.drift, args.allow == "drain", args.limit)
    if args.resume:
        return _resume(args, screen, wishes)
    if args.build is None:
        raise InputError([Finding("apply", "a build or a rollout, or --resume", "neither")])
    site = _site(args)
    kind = "rollout" if (args.build / "rollout.json").exists() else "build"
    if kind == "rollout" and args.limit:
        raise InputError(
            [Finding("--limit", "a build: the waves of a rollout need all their switches", str(args.build))]
        )
    with screen.waiting("proving what would be pushed"):
        push = operating.prepare(args.build)
    if not push.proof.proven:
        screen.say(
            *terminal.proof_lines(push.proof, len(push.fabric.hosts)),
            "refused: nothing goes to a switch that was not proven",
        )
        screen.answer({**_pushed(None), **push.proof.as_json()})
        return NO
    names = [switch.name for switch in push.fabric.live]
    wanted = [n for n in names if not args.limit or n in args.limit.replace(":", ",").split(",")]
    with _desk(args, screen, site) as desk:
        if not args.check:
            applying.refuse_unfinished(desk, push.fabric.name, wishes)
        with screen.progress("switches read") as note:
            looks = len(wanted) * (push.waves if kind == "rollout" and args.check else 1)
            only = 0 if args.check else 1  # a look at the waves after the first takes what the ones before leave
            survey = operating.survey(
                push.directory, push.fabric, site, limit=args.limit, wave=only, on_progress=_counter(note, looks)
            )
        if args.diff or args.check:
            _show(survey, screen, diff=args.diff)
        if args.check:
            return _report(applying.preview(desk, push, survey, wishes), screen, args, desk, checked=True)
        with screen.progress("pushes") as note:
            on_progress = _counter(note, push.waves * len(wanted))
            result = applying.fresh(desk, push, survey, wishes, on_progress)
        return _report(result, screen, args, desk)


def _resume(args: argparse.Namespace, screen: Screen, wishes: Any) -> int:
    from tagloom.pipeline import applying  # noqa: PLC0415 - as above

    with _desk(args, screen, _site(args)) as desk:
        run = applying.interrupted(desk)
        if args.build is not None and str(args.build.absolute()) != run.source:
            raise InputError([Finding("--resume", f"{run.source}, which was interrupted", str(args.build))])
        screen.remark(f"resuming  {run.kind} {run.name} of {run.source}, in wave {run.wave} of {run.waves}")
        with screen.progress("pushes") as note:
            result = applying.resume(desk, run, wishes, _counter(note, None))
        return _report(result, screen, args, desk)


def _rollback(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.pipeline import applying  # noqa: PLC0415 - as above

    wishes = applying.Wishes(args.on_failure)
    with _desk(args, screen, _site(args)) as desk, screen.progress("pushes") as note:
        result = applying.rollback(desk, args.build, wishes, _counter(note, None))
        return _report(result, screen, args, desk)


def _abort(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.apply import abort  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    home = abort.home_of(_inventory(args))
    asked = abort.ask_to_stop(home, now=args.now)
    if asked is not None:
        screen.remark(f"asked     {asked}", f"waiting   for {'its next line' if args.now else 'the end of its wave'}")
        with screen.waiting("waiting for it to stop"):
            while abort.at_work(home):
                time.sleep(ABORT_POLL_SECONDS)
    page = abort.standing_page(home, asked)
    page["resume_with"] = _next_words(args, "apply --resume") if page["unfinished"] else ""
    if asked is None:
        screen.say("abort     no command works on these switches; nothing to stop")
    screen.say(*terminal.row("stands", page["stands"]))
    if page["unfinished"]:
        screen.say(f"next      {page['resume_with']}", f"          or {_next_words(args, 'rollback')}")
    screen.answer(page)
    return GOOD


@contextmanager
def _desk(args: argparse.Namespace, screen: Screen, site: Any) -> Iterator[Any]:
    """Take the fabric's lock and open its journal, for one command at a time."""
    from tagloom.apply.abort import JOURNAL, LOCK  # noqa: PLC0415 - as above
    from tagloom.apply.journal import Journal  # noqa: PLC0415 - as above
    from tagloom.apply.lock import FabricLock  # noqa: PLC0415 - as above
    from tagloom.pipeline import runs  # noqa: PLC0415 - as above

    what = getattr(args, "build", None) or getattr(args, "timetable", None)
    words = " ".join(["tagloom", args.command, *([str(what)] if what else [])])
    with FabricLock(site.home / LOCK, words, screen.remark) as lock, Journal(site.home / JOURNAL) as journal:
        journal.interrupt()
        yield runs.Desk(site, journal, lock)


class _WallClock:
    """Tell the computer's own time, and wait by it."""

    @staticmethod
    def now() -> float:
        return time.time()

    @staticmethod
    def sleep(seconds: float) -> None:
        time.sleep(seconds)


def _run(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.adapters.clock_metrics import ClockMetrics  # noqa: PLC0415 - as above
    from tagloom.adapters.ledger import Ledger  # noqa: PLC0415 - as above
    from tagloom.pipeline import clock, observing, timetabling  # noqa: PLC0415 - as above
    from tagloom.read.calendar import read_timetable  # noqa: PLC0415 - as above
    from tagloom.records.timetable import Watch  # noqa: PLC0415 - as above

    all_found = _Findings()
    checked = all_found.of
    every = checked(lambda: _seconds(args.every), 0.0)
    hold = checked(lambda: _seconds(args.hold, "--hold"), 0.0)
    listening = checked(lambda: _listening(args.metrics_port, "--metrics-port"), None) if args.metrics_port else None
    if not 0 < args.lower_below < args.raise_above <= 1:
        shares = f"{args.lower_below:g} and {args.raise_above:g}"
        all_found.findings.append(
            Finding("--lower-below and --raise-above", "shares of 1, the first the lower", shares)
        )
    table = checked(lambda: read_timetable(args.timetable, args.timezone), None)
    site = checked(lambda: _site(args), None)
    fabric = checked(lambda: observing.fabric_of(site.inventory), None) if site is not None else None
    if table is not None and fabric is not None:
        with screen.waiting("planning and proving every setting"):
            checked(lambda: timetabling.check_settings(fabric, table, site.share / "templates"), None)
    all_found.end()
    assert fabric is not None  # noqa: S101 - else there are findings
    home = args.state or (site.inventory if site.inventory.is_dir() else site.inventory.parent) / "run"
    told: list[dict[str, Any]] = []

    def tell(at: float, text: str) -> None:
        told.append({"at": at, "text": text})
        del told[:-1000]
        screen.say(f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(at))}  {text}")

    with ExitStack() as stack:
        eyes = None
        if not args.no_watch:
            settings = _snmp_settings(args, site.inventory)
            agents = observing.agents_of(fabric, settings.addresses, settings.port)
            eyes = clock.Eyes(agents, stack.enter_context(_snmp(args, settings)).ask)
        memory = stack.enter_context(closing(Ledger(Path(":memory:") if args.dry_run else home / "state.db")))
        metrics = stack.enter_context(closing(ClockMetrics(listening, args.metrics_file)))
        watch = Watch(args.raise_above, args.lower_below, hold, table.dwell_seconds, table.changes_a_day)
        jobs = clock.Jobs(args.requests or home / "requests", args.profiles or args.timetable.parent / "profiles")
        keeper = clock.Keeper(
            *(
                fabric,
                table,
                site,
                lambda each: _desk(args, screen, each),
                home,
                memory,
                _WallClock(),
                watch,
                eyes,
                jobs,
                tell,
                metrics.show,
            ),
            every_seconds=every,
            dry_run=args.dry_run,
        )

        def end(*_: object) -> None:
            keeper.ending = True
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGTERM, end)
        stack.callback(signal.signal, signal.SIGTERM, before)
        stack.callback(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, end))
        try:
            keeper.run(once=args.once)
        except KeyboardInterrupt:
            tell(time.time(), "told to end: ended")
    screen.answer({"told": told, "dry_run": args.dry_run})
    return GOOD


def _site(args: argparse.Namespace) -> Any:
    from tagloom.pipeline import operating  # noqa: PLC0415 - as above
    from tagloom.share import share_directory  # noqa: PLC0415 - as above

    return operating.Site(_inventory(args), share_directory(), dict(os.environ), time.strftime("%Y%m%dT%H%M%S"))


def _inventory(args: argparse.Namespace) -> Path:
    inventory: Path | None = args.inventory or (LAB if LAB.exists() else None)
    if inventory is None or not inventory.exists():
        raise InputError(
            [Finding("-i", "an inventory, or a running lab (tagloom lab up FABRIC)", str(inventory or "none"))]
        )
    return inventory


def _inventory_words(args: argparse.Namespace) -> str:
    return f" -i {args.inventory}" if args.inventory else ""


def _counter(note: Callable[[int, int], None], of: int | None) -> Callable[[object], None]:
    """Count outcomes as they come, of as many as there will be, where that is known."""
    done = itertools.count(1)
    note(0, of or 1)
    return lambda _outcome: note(at := next(done), of or at)


def _show(survey: Outcomes, screen: Screen, *, diff: bool) -> None:
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    for outcome in survey.outcomes:
        if outcome.changed:
            screen.say(terminal.change_line(outcome.switch, outcome.diff))
            if diff:
                screen.say(*outcome.diff.splitlines())


def _report(result: Any, screen: Screen, args: argparse.Namespace, desk: Any, *, checked: bool = False) -> int:
    """Say what became of every switch, where the fabric stands, and what to type next."""
    from tagloom.apply.outcomes import Fault  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    outcomes, drifted = result.outcomes, bool(result.drift)
    unfinished = desk.journal.unfinished()
    resume = _next_words(args, "apply --resume") if unfinished and not checked else ""
    waves = max(outcomes.waves, 1)
    shown = replace(outcomes, outcomes=tuple(o for o in outcomes.outcomes if o.fault is not Fault.DRIFT))
    verb = args.command if args.command == "rollback" or not args.resume else "resume"
    screen.say(*terminal.outcome_lines(shown, checked=checked, waves=waves, verb=verb))
    screen.say(*(line for remark in result.remarks for line in terminal.row("remark", remark)))
    if drifted:
        screen.say(*terminal.drift_lines(result.drift))
    if result.run is not None and not result.good:
        screen.say(*terminal.row("stands", result.run.standing))
    if drifted and unfinished is None:
        screen.say(f"next      {_next_words(args, f'apply {args.build}')} --drift overwrite (or keep)")
    elif resume:
        screen.say(f"next      {resume}", f"          or {_next_words(args, 'rollback')}")
    elif checked and outcomes.changed:
        screen.say(f"next      {_next_words(args, f'apply {args.build}')}")
    screen.answer({**result.as_json(), "resume_with": resume})
    if drifted:
        return NO
    if outcomes.failed_by(*set(Fault) - {Fault.NONE, Fault.STOPPED}) or outcomes.error:
        return DEVICE_FAILED
    return NO if outcomes.stopped or outcomes.failed else GOOD


def _next_words(args: argparse.Namespace, what: str) -> str:
    return f"tagloom {what}{_inventory_words(args)}"


def _pushed(_: None) -> dict[str, Any]:
    return {"changed": [], "unchanged": [], "failed": [], "seconds": 0.0}


def _lab(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.lab import process  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    folder: Path = args.dir
    if args.lab == "up":
        from tagloom.lab.directory import Order  # noqa: PLC0415 - as above
        from tagloom.read import read_fabric  # noqa: PLC0415 - as above
        from tagloom.share import share_directory  # noqa: PLC0415 - as above

        fabric = read_fabric(args.fabric)
        with screen.waiting("starting the rack"):
            quirks = {"*": {"delay_seconds": args.delay}} if args.delay else {}
            templates, base_port = share_directory() / "templates", args.base_port
            order = Order(fabric, templates, quirks=quirks, base_port=base_port, dataplane=args.dataplane)
            info = process.up(order, folder)
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
            "next      tagloom plan FABRIC -o build, then tagloom apply build"
            + ("" if folder == LAB else f" -i {folder}"),
        )
        screen.answer({"pid": info.pid, "ports": info.ports, "inventory": str(folder)})
    elif args.lab == "status":
        page = process.status(folder)
        rows = [(n, s["model"], s["address"], str(s["sessions"])) for n, s in page["switches"].items()]
        screen.say(*terminal.table(("switch", "model", "address", "sessions"), rows, right=(3,)))
        screen.answer(page)
    elif args.lab == "ping":
        page = process.ping(folder, args.a, args.b)
        screen.say(*terminal.ping_lines(page))
        screen.answer(page)
        return GOOD if page["lost"] == 0 and not page["storm"] else NO
    elif args.lab == "fault":
        return _lab_fault(args, screen)
    elif args.lab == "mend":
        process.mend(folder, *args.switches)
        screen.say("the faults of " + (", ".join(args.switches) or "all switches") + " are mended")
        screen.answer({"mended": args.switches})
    elif args.lab == "traffic":
        page = process.traffic(folder, args.order, args.seed)
        screen.say(*terminal.traffic_lines(page))
        screen.answer(page)
        told = args.order != "start"
        return NO if told and any(page[what] for what in ("lost", "duplicated", "storms")) else GOOD
    else:
        process.down(folder)
        screen.say("the rack is down")
        screen.answer({"down": True})
    return GOOD


def _lab_fault(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.lab import process  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    if (args.switch is None) != (args.kind is None):
        raise InputError([Finding("fault", "SWITCH KIND, or neither to list faults", str(args.switch))])
    if args.switch is not None:
        said = {name: getattr(args, name) for name in ("at", "line", "after", "lasts", "port", "seed")}
        process.fault(args.dir, args.switch, args.kind, **{k: v for k, v in said.items() if v is not None})
    page = process.faults(args.dir)
    screen.say(*terminal.fault_lines(page))
    screen.answer(page)
    return GOOD


# --- measurements ----------------------------------------------------------------------------------------------------


def _measure_pingpong(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.measure import peer  # noqa: PLC0415 - without the other rooms a listening side is there at once
    from tagloom.measure.pause import Pauser  # noqa: PLC0415 - as above

    modes = [args.serve, args.local, args.connect, args.hosts, args.read, args.protocol == "mpi"]
    if sum(map(bool, modes)) != 1:
        words = "one of --local, --connect HOST, --hosts A B, --serve, --read FILE, --protocol mpi"
        raise InputError([Finding("measure pingpong", words, "none or several")])
    allowed = peer.networks(args.network)
    if args.serve:
        with peer.Server(peer.parse_place(args.listen, peer.PORT, "--listen"), allowed) as server:
            at = peer.format_place(server.place)
            screen.say(f"listening {at}", f"next      tagloom measure pingpong --connect {at}, on the other host")
            screen.answer({"listening": list(server.place)})
            sys.stdout.flush()
            with closing(Pauser(args.pause)) if args.pause else nullcontext() as pause:
                server.serve(screen.remark, once=args.once, pause=pause)
        return GOOD
    from tagloom.pipeline import measuring  # noqa: PLC0415 - as above

    if args.meter and not (args.local or args.connect):
        raise InputError([Finding("--meter", "--local or --connect: it is read beside the connecting side", "neither")])
    trace = None
    with ExitStack() as stack:
        kept = stack.enter_context(_keeping(args))
        if args.read:
            run = measuring.np_out_run(_text(args.read), str(args.read))
        elif args.hosts:
            stack.enter_context(screen.waiting(f"measuring between {' and '.join(args.hosts)}"))
            run = measuring.control(args.hosts, args.ssh, args.remote, args.network, _forwarded(args))
        else:
            plan = _ping_pong_plan(args)
            clocks, watching = measuring.Clocks(), _watching(args)
            note = stack.enter_context(screen.progress("sizes measured"))
            if args.protocol == "mpi":
                found = measuring.ping_pong_mpi(plan, clocks, note)
                if found is None:
                    return GOOD  # rank 1, which only answers
                run = found
            else:
                run, trace = measuring.ping_pong(
                    measuring.Ends(args.connect, allowed, args.ipv6),
                    plan,
                    args.protocol,
                    clocks,
                    note,
                    buffer_bytes=args.buffer,
                    poll=args.busy_poll,
                    watching=watching,
                )
        kept(run.began_wall_seconds, measuring.kept_ping_pong(run, args.fabric))
    if args.np_out:
        _write(args.np_out, measuring.np_out_text(run))
    return _show_points(measuring.ping_pong_page(run, trace), args, screen)


def _ping_pong_plan(args: argparse.Namespace) -> Any:
    from tagloom.pipeline import measuring  # noqa: PLC0415 - as above

    target = measuring.METER_TARGET_SECONDS if args.meter else measuring.TARGET_SECONDS
    plan = measuring.Plan(
        args.min_bytes,
        measuring.MAX_BYTES[args.protocol] if args.max_bytes is None else args.max_bytes,
        (0 if args.meter else 3) if args.perturbation is None else args.perturbation,
        args.trials,
        target if args.target is None else args.target,
        args.time_limit,
        args.max_rate,
        check_content=not args.no_content,
        percentiles=not args.no_percentiles,
    )
    measuring.check_plan(plan, args.protocol)
    return plan


def _show_points(page: dict[str, Any], args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.report import measured  # noqa: PLC0415 - as above

    screen.say(*measured.pingpong_lines(page, everything=bool(args.verbose)))
    if args.csv:
        _write(args.csv, measured.points_csv(page["points"]))
    if args.plot:
        measured.plot_points(page["points"], args.plot, f"{page['protocol']} to {page['peer']}")
    for path in filter(None, (args.np_out, args.csv, args.plot, args.keep)):
        screen.say(f"wrote     {path}")
    screen.answer(page)
    if any(point["content"] is False for point in page["points"]):
        return NO
    return _measured(page)


def _measured(page: Mapping[str, Any]) -> int:
    """Give the exit status of a measurement: its own bounds are no failure, a clock that was set is a no."""
    if page["complete"] or page["why"].startswith(("the time limit", "a message of")):
        return GOOD
    return NO if page["why"].startswith("the wall clock") else DEVICE_FAILED


def _measure_idle_gap(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.lab import sleeping_link  # noqa: PLC0415 - as above
    from tagloom.measure import namespaces, peer  # noqa: PLC0415 - as above
    from tagloom.pipeline import measuring  # noqa: PLC0415 - as above
    from tagloom.records.measurement import GapPoint  # noqa: PLC0415 - as above
    from tagloom.report import measured  # noqa: PLC0415 - as above

    if bool(args.connect) == bool(args.emulate) or (args.namespaces and not args.emulate):
        words = "--connect HOST, or --emulate TIMEOUT,TS,TW, which --namespaces does with real frames"
        raise InputError([Finding("measure idle-gap", words, "none or both")])
    began, clocks = time.time(), measuring.Clocks()
    gaps = measuring.Gaps(args.first, args.last, args.repeats, args.gaps, args.time_limit)
    measuring.check_gaps(gaps)
    baseline = measuring.baseline_of(_text(args.baseline), str(args.baseline)) if args.baseline else []
    emulated = _policy(args.emulate, "--emulate") if args.emulate else None
    about = {"peer": args.connect or f"emulated {args.emulate}", "protocol": args.protocol}
    with ExitStack() as stack:
        kept = stack.enter_context(_keeping(args))
        note = stack.enter_context(screen.progress("gaps tried"))
        if emulated is not None and not args.namespaces:
            host = sleeping_link.virtual_host(emulated)

            def virtual(gap: float, repeats: int) -> GapPoint:
                spaces, trips = host(gap, repeats)
                return GapPoint(tuple(spaces), tuple(trips))

            ask: Callable[[float, int], GapPoint] = virtual
        else:
            if emulated is not None:
                bench = stack.enter_context(namespaces.Bench(bridged=False))
                policy = map(str, (emulated.timeout_seconds, emulated.sleep_seconds, emulated.wake_seconds))
                bench.start(bench.middle, [sys.executable, "-m", "tagloom.lab.sleeping_link", "near", "far", *policy])
                far = stack.enter_context(measuring.over_bench(bench))
            else:
                ends = measuring.Ends(args.connect, peer.networks(args.network), args.ipv6)
                far = stack.enter_context(measuring.connected(ends))
            measuring.opened(far, args.protocol)
            ask = measuring.gap_asker(far, gaps, clocks)
        page = measuring.sleep_policy(ask, gaps, note, baseline)
        kept(began, measuring.kept_policy(page, args.fabric, about))
    screen.say(*measured.policy_lines(page))
    if args.output:
        _write(args.output, measuring.eee_text(page, f"idle-gap probe of {about['peer']}"))
        screen.say(f"wrote     {args.output}", f"next      tagloom predict BUILD --eee {args.output}")
    screen.answer(page)
    return _measured(page)


def _measure_rps(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.measure import peer  # noqa: PLC0415 - as above
    from tagloom.pipeline import measuring, observing  # noqa: PLC0415 - as above
    from tagloom.report import measured  # noqa: PLC0415 - as above

    if bool(args.connect) == args.namespaces:
        words = "--namespaces, or --connect HOST where tagloom measure pingpong --serve --pause INTERFACE runs"
        raise InputError([Finding("measure rps", words, "none or both")])
    if bool(args.counter) and not args.connect:
        raise InputError([Finding("--counter", "--connect: the namespaces have counters of their own", args.counter)])
    began, blocked = time.time(), tuple(ms / 1e3 for ms in args.block)
    files = measuring.Files(tuple(args.protocols), blocked, args.seconds, args.rate)
    measuring.check_files(files)
    with ExitStack() as stack:
        kept = stack.enter_context(_keeping(args))
        note = stack.enter_context(screen.progress("files sent"))
        block = received = None
        if args.namespaces:
            far, block, received = stack.enter_context(measuring.blocked_bench(args.rate))
        else:
            ends = measuring.Ends(args.connect, peer.networks(args.network), args.ipv6)
            far = stack.enter_context(measuring.connected(ends))
            if args.counter:
                host, _, index = args.counter.rpartition("/")
                if not index.isdigit():
                    raise InputError([Finding("--counter", "HOST[:PORT]/IFINDEX", repr(args.counter))])
                agent = observing.place(host, 161, "--counter")
                from tagloom.adapters.snmp import Snmp  # noqa: PLC0415 - as above

                snmp = stack.enter_context(Snmp(_snmp_settings(args, LAB).credentials))
                received = measuring.unicast_counter(snmp.ask, agent, int(index))
        page = measuring.transfers(far, files, measuring.Clocks(), note, block, received)
        kept(began, measuring.kept_transfers(page, args.fabric, {"rate_bps": args.rate, "complete": page["complete"]}))
    screen.say(*measured.transfer_lines(page))
    screen.answer(page)
    return _measured(page)


def _policy(text: str, where: str) -> Any:
    """Read a sleep policy: TIMEOUT,TS,TW in seconds, or a file of fit or of measure idle-gap. Raises InputError."""
    from tagloom.pipeline.fitting import read_parameters  # noqa: PLC0415 - as above
    from tagloom.predict.eee import check_policy  # noqa: PLC0415 - as above
    from tagloom.records.sleep import Eee  # noqa: PLC0415 - as above

    try:
        timeout, sleep, wake = (float(x) for x in text.split(","))
    except ValueError:
        if Path(text).suffix in {".yml", ".yaml"}:
            return read_parameters(Path(text))
        expected = "TIMEOUT,TS,TW in seconds, or a YAML file of tagloom fit or measure idle-gap -o"
        raise InputError([Finding(where, expected, repr(text))]) from None
    check_policy(timeout, sleep, wake, f"{where} {text}")
    return Eee(timeout, sleep, wake, together=True)  # host links are 1000BASE-T


def _measure_power(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.pipeline import measuring  # noqa: PLC0415 - as above
    from tagloom.report import measured  # noqa: PLC0415 - as above

    began = time.time()
    if not 0 < args.seconds <= 86400:
        raise InputError([Finding("--seconds", "above 0, at most 86400", f"{args.seconds:g}")])
    with ExitStack() as stack:
        kept = stack.enter_context(_keeping(args))
        watching = _watching(args)
        note = stack.enter_context(screen.progress("seconds measured"))
        page = measuring.power_page(measuring.watch(watching, args.seconds, measuring.Clocks(), note))
        kept(began, measuring.kept_power(page, args.fabric))
    screen.say(*measured.power_lines(page))
    if args.csv:
        _write(args.csv, measured.samples_csv(page["samples"]))
    for path in filter(None, (args.csv, args.keep)):
        screen.say(f"wrote     {path}")
    screen.answer(page)
    return _measured(page)


def _watching(args: argparse.Namespace) -> Any:
    """Open the meter that was asked for; None without one. Its SNMP credentials are read only where it needs them."""
    from tagloom.adapters.meters import open_meter  # noqa: PLC0415 - as above
    from tagloom.pipeline import measuring  # noqa: PLC0415 - as above

    if not args.meter:
        return None
    if not 0.05 <= args.interval <= 3600:
        raise InputError([Finding("--interval", "seconds from 0.05 to 3600", f"{args.interval:g}")])

    def credentials() -> Any:
        return _snmp_settings(args, LAB).credentials

    meter = open_meter(args.meter, interval_seconds=args.interval, credentials=credentials, clock=time.monotonic)
    return measuring.Watching(meter, args.calibrate)


@contextmanager
def _keeping(args: argparse.Namespace) -> Iterator[Callable[[float, Sequence[Any]], None]]:
    """Open the file that measurements are kept in, before anything is measured; without one nothing is kept."""
    from tagloom.adapters.measurements import Measurements  # noqa: PLC0415 - as above

    if not args.keep:
        yield lambda _at, _rows: None
        return
    with closing(Measurements(args.keep)) as store:
        yield store.append


def _forwarded(args: argparse.Namespace) -> list[str]:
    """Give the options of a ping-pong as words for the connecting side."""
    names = (
        "min-bytes",
        "max-bytes",
        "perturbation",
        "trials",
        "target",
        "time-limit",
        "max-rate",
        "protocol",
        "buffer",
    )
    given = [(name, getattr(args, name.replace("-", "_"))) for name in names]
    flags = [
        f"--{name}" for name in ("busy-poll", "no-content", "no-percentiles") if getattr(args, name.replace("-", "_"))
    ]
    return [*(word for name, value in given if value is not None for word in (f"--{name}", str(value))), *flags]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([Finding(str(path), "a readable file", str(error))]) from None


def _demo(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import demo  # noqa: PLC0415 - as above
    from tagloom.share import share_directory  # noqa: PLC0415 - as above

    start = time.monotonic()
    good = demo.run(args.dir, share_directory(), dict(os.environ), screen.say, screen.progress)
    screen.say(
        "",
        f"{'everything held' if good.held else 'not everything held: see NO above'}, {time.monotonic() - start:.0f} s",
    )
    screen.answer(good.page)
    return GOOD if good.held else NO


# --- the parser ------------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Parse arguments; what is wrong with them is a finding like any other."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError instead of printing and exiting."""
        raise InputError([Finding(self.prog, "arguments as in --help", message)])


EXAMPLES = {
    "tagloom": "tagloom demo",
    "new": "tagloom new torus --dims 4 4 --parallel 2 -o fabric.yml",
    "plan": "tagloom plan fabric.yml -o build",
    "verify": "tagloom verify build   (or: tagloom verify --fabric fabric.yml --configs build/configs)",
    "rollout": "tagloom rollout build build-night -o to-night",
    "apply": "tagloom apply build --check --diff",
    "rollback": "tagloom rollback",
    "abort": "tagloom abort",
    "regulate": "tagloom regulate fabric.yml --traffic matrix.csv -o night.json",
    "timetable": "tagloom timetable fabric.yml --traffic day/ --settings 3 -o day.yml",
    "predict": "tagloom predict build --traffic matrix.csv --seconds 3600 --settings night.json",
    "export": "tagloom export simgrid build -o platform.xml",
    "score": "tagloom score --measured watts_after=401.5 seconds_predicted=3630",
    "fit": "tagloom fit --pairs pairs.csv -o switch.yml",
    "sweep": "tagloom sweep sweep.yml -o sweep.csv",
    "report": "tagloom report build --traffic matrix.csv --seconds 3600 -o report.html",
    "observe": "tagloom observe -o history.db --every 30s",
    "discover": "tagloom discover --seed 192.0.2.10 -o fabric.yml",
    "eee": "tagloom eee --phy 10GBASE-T --load 0.1 --timeout 0 --frame-bytes 1500",
    "measure": "tagloom measure pingpong --local",
    "measure pingpong": "tagloom measure pingpong --local --np-out np.out --keep lab.db",
    "measure idle-gap": "tagloom measure idle-gap --emulate 1e-3,182e-6,60e-6 -o eee.yml",
    "measure rps": "tagloom measure rps --namespaces",
    "measure power": "tagloom measure power --meter wattsup:/dev/ttyUSB0 --calibrate --seconds 60",
    "run": "tagloom run day.yml -i inventory/testbed --dry-run --once",
    "lab": "tagloom lab up fabric.yml",
    "demo": "tagloom demo",
}


def parser() -> argparse.ArgumentParser:
    """Make the parser of the whole command line."""
    common = _Parser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON object and nothing else on standard output")
    common.add_argument(
        "-v", "--verbose", action="count", default=0, help="more detail; an unexpected error's traceback"
    )
    routing = _Parser(add_help=False)
    routing.add_argument(
        "--routing",
        default="auto",
        metavar="METHOD",
        help="auto, dor, dor-r1, dor-r7, north-last, west-first, negative-first, direct, fat-tree, double-star, any, "
        "up-down or tree (default auto)",
    )
    routing.add_argument("--assignment", default="fixed", metavar="KIND", help="fixed or renamed (default fixed)")

    top = _Parser(
        prog="tagloom",
        description=_about(
            "tagloom", "Deadlock-free multipath routing over commodity Ethernet switches with VLAN tags alone."
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"tagloom {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(
        name: str, run: Callable[[argparse.Namespace, Screen], int], what: str, *parents: _Parser
    ) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = commands.add_parser(
            name,
            help=what,
            description=_about(name, what[0].upper() + what[1:] + "."),
            parents=[common, *parents],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.set_defaults(run=run)
        return added

    new = command("new", _new, "write a fabric file of a regular family")
    new.add_argument(
        "family", metavar="FAMILY", help="mesh, torus, hypercube, ring, fat-tree, clos, complete, tree or dragonfly"
    )
    new.add_argument("--dims", type=int, nargs="+", required=True, metavar="N", help="the family's numbers, e.g. 4 4")
    new.add_argument("--parallel", type=int, default=1, metavar="N", help="links between neighbours (default 1)")
    new.add_argument("--lag", action="store_true", help="make the parallel links of two neighbours one aggregated link")
    new.add_argument(
        "--hosts", type=int, default=1, metavar="N", help="hosts on each switch, in a fat tree on each leaf (default 1)"
    )
    new.add_argument("--model", default=DEFAULT_MODEL, metavar="M", help=f"switch model (default {DEFAULT_MODEL})")
    new.add_argument("--name", metavar="NAME", help="name of the fabric (default: the family)")
    new.add_argument("-o", "--output", type=Path, metavar="FILE", help="write here instead of to standard output")

    plan = command("plan", _plan, "route a fabric, weave its VLANs, prove them and render the configurations", routing)
    plan.add_argument("fabric", type=Path, metavar="FABRIC", help="fabric file")
    plan.add_argument("-o", "--output", type=Path, required=True, metavar="BUILD", help="directory to write")
    plan.add_argument(
        "--prefer",
        choices=["vlans", "load"],
        help="few VLANs, or little load on the busiest channel by spreading hosts over parallel links and trees "
        "(default vlans; load with --traffic)",
    )
    plan.add_argument("--traffic", type=Path, metavar="FILE", help="traffic matrix whose bytes are spread")
    plan.add_argument("--placement", default="", metavar="HOW", help="ranks on hosts, as for regulate")
    plan.add_argument("--off", nargs="+", default=[], metavar="SWITCH:PORT", help="links to turn off, named by one end")
    plan.add_argument("--settings", type=Path, metavar="FILE", help="links to turn off, chosen by tagloom regulate")
    plan.add_argument(
        "--previous",
        type=Path,
        metavar="BUILD",
        help="keep its VLAN numbers where nothing changed, and use none of them otherwise",
    )

    plan.add_argument(
        "--no-texts", action="store_true", help="write plan.json only: the planned states are proven, no texts are"
    )

    plan.add_argument(
        "--effort", type=int, default=1, metavar="N", help="how long routing any searches; 0 = one order (default 1)"
    )

    plan.add_argument(
        "--root",
        metavar="SWITCH",
        help="the root of --routing up-down; best = the central switch with the shortest paths (default)",
    )

    plan.add_argument(
        "--static-arp",
        action="store_true",
        help="renamed: where flooding repeats broadcasts, give the hosts static ARP and the switches no group entries",
    )

    plan.add_argument(
        "--learning",
        action="store_true",
        help="fixed: also write hosts/learning.sh, by which hosts teach the switches in place of static entries",
    )

    verify = command("verify", _verify, "prove a fabric from configuration texts alone")
    verify.add_argument(
        "build", type=Path, nargs="?", metavar="BUILD", help="a build; frames must keep to its planned paths"
    )
    verify.add_argument("--fabric", type=Path, metavar="FABRIC", help="fabric file, where there is no build")
    verify.add_argument(
        "--configs", type=Path, metavar="DIR", help="directory of SWITCH.cfg; with BUILD, instead of its own"
    )

    verify.add_argument(
        "--what-if", action="store_true", help="also say what the loss of each static entry, alone, would do"
    )

    rollout = command("rollout", _rollout, "order the change from one build to another into proven waves")
    rollout.add_argument(
        "builds", type=Path, nargs="+", metavar="BUILD", help="OLD NEW: the build that runs, the one that shall run"
    )
    rollout.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="directory to write")
    rollout.add_argument(
        "--strategy",
        default="auto",
        metavar="NAME",
        help="auto (default: the shortest that proves), direct, batches, park, per-port, slides, pause-off or drain",
    )
    rollout.add_argument(
        "--allow",
        action="append",
        choices=["drain", "duplicates"],
        help="drain: hosts may be paused, where nothing gentler can be proven; duplicates: broadcasts may come twice",
    )
    rollout.add_argument(
        "--greenfield",
        action="store_true",
        help="from factory default, loops cabled and spanning tree running, to the one BUILD",
    )
    rollout.add_argument(
        "--root", metavar="SWITCH", help="greenfield: the running spanning tree's root (default: the first switch)"
    )
    rollout.add_argument(
        "--blocked",
        nargs="+",
        default=[],
        metavar="SWITCH:PORT",
        help="greenfield: the ports it blocks, read from the switches (default: as 802.1D would, and said so)",
    )

    site = _Parser(add_help=False)
    site.add_argument(
        "-i", "--inventory", type=Path, metavar="INVENTORY", help=f"Ansible inventory (default {LAB}, where a lab runs)"
    )
    failing = _Parser(add_help=False)
    failing.add_argument(
        "--on-failure",
        choices=["stop", "finish", "undo"],
        default="stop",
        help="where a switch fails: stop after its wave (default), finish what proves without it, or undo the wave",
    )
    apply = command("apply", _apply, "push a build or a rollout with ansible-playbook through netmiko", site, failing)
    apply.add_argument(
        "build",
        type=Path,
        nargs="?",
        metavar="BUILD-or-ROLLOUT",
        help="directory made by tagloom plan or tagloom rollout",
    )
    apply.add_argument("--check", action="store_true", help="read every switch and say what would change; send nothing")
    apply.add_argument("--diff", action="store_true", help="show every change as a diff of configurations")
    apply.add_argument("--limit", default="", metavar="S", help="of a build: only these switches, separated by commas")
    apply.add_argument("--resume", action="store_true", help="go on with the run that was interrupted")
    apply.add_argument("--allow", choices=["drain"], help="drain: the rollout may pause hosts")
    apply.add_argument(
        "--drift",
        choices=["keep", "overwrite"],
        default="",
        help="what was changed by hand since the last run: keep it, where the whole proves with it, or overwrite it "
        "(default: show it and refuse)",
    )

    rollback = command(
        "rollback", _rollback, "undo the last rollout by the inverse of its waves, each proven", site, failing
    )
    rollback.add_argument("build", type=Path, nargs="?", metavar="BUILD", help="what was applied last, to be sure")

    abort = command("abort", _abort, "ask the running apply to stop, and say where the fabric stands", site)
    abort.add_argument("--now", action="store_true", help="before the next line, not at the end of the wave")

    regulate = command("regulate", _regulate, "choose links that traffic does not need", routing)
    regulate.add_argument("fabric", type=Path, metavar="FABRIC", help="fabric file")
    source = regulate.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--traffic",
        type=Path,
        metavar="FILE",
        help="traffic by host or by rank: CSV, Open MPI .prof, TAU, paraprof, mpiP, nfdump -o csv; a history that "
        "tagloom observe -o wrote; or pattern:NAME",
    )
    source.add_argument(
        "--prometheus", metavar="URL", help="the traffic that a Prometheus kept of tagloom observe --prometheus"
    )
    regulate.add_argument(
        "--span",
        type=float,
        metavar="S",
        help="of a history, the last S seconds (default: all; of a Prometheus, an hour)",
    )
    regulate.add_argument(
        "--method",
        default="static",
        choices=["static", "greedy", "optimal"],
        help="static: the paper's; greedy: moves trees and hosts too; optimal: until the bound or the time limit "
        "(none lets a channel get busier than the busiest was)",
    )
    regulate.add_argument(
        "--levels", default="off", metavar="L,..", help="what a link may become: off, 10, 100, 1000, eee (default off)"
    )
    regulate.add_argument(
        "--allow-cut", action="store_true", help="greedy, optimal: a link may become the only way between two switches"
    )
    regulate.add_argument(
        "--headroom", type=float, metavar="SHARE", help="of every channel's capacity, to stay free (needs seconds)"
    )
    regulate.add_argument(
        "--time-limit", type=float, default=60.0, metavar="S", help="seconds for optimal and its bound (default 60)"
    )
    regulate.add_argument("--power", type=Path, metavar="FILE", help="watts of models, YAML, before tagloom's own")
    regulate.add_argument(
        "--seconds", type=float, metavar="S", help="how long the traffic took, where its file does not say"
    )
    regulate.add_argument("--ranks", type=int, metavar="N", help="how many ranks ran, for paraprof's summary")
    regulate.add_argument(
        "--placement",
        default="",
        metavar="HOW",
        help="ranks on hosts: block, spread or a file of rank,host lines (default: rank i on host i where there are as "
        "many); for nfdump a file of address,host lines",
    )
    regulate.add_argument(
        "-o", "--output", type=Path, metavar="SETTINGS", help="write the settings, for plan --settings"
    )

    timetable = command("timetable", _timetable, "find the few link settings worth having over a day, and when")
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
        "--calendar", type=Path, metavar="FILE", help="rules in cron words instead, to check, prove and preview"
    )
    timetable.add_argument(
        "--settings", type=int, default=3, metavar="N", help="different settings at most (default 3)"
    )
    timetable.add_argument("--dwell", default="15m", metavar="TIME", help="least time between changes (default 15m)")
    timetable.add_argument("--changes", type=int, default=12, metavar="N", help="changes a day at most (default 12)")
    timetable.add_argument(
        "--headroom",
        type=float,
        default=0.5,
        metavar="SHARE",
        help="of channels, free while links are off (default 0.5)",
    )
    timetable.add_argument(
        "--change-seconds", type=float, default=60.0, metavar="S", help="a change takes, charged (default 60)"
    )
    timetable.add_argument("--allow-cut", action="store_true", help="as for regulate")
    timetable.add_argument("--power", type=Path, metavar="FILE", help="watts of models, YAML, before tagloom's own")
    timetable.add_argument("--placement", default="", metavar="HOW", help="ranks on hosts, as for regulate")
    timetable.add_argument("--timezone", metavar="ZONE", help="of the times, such as Europe/Berlin (default UTC)")
    timetable.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the timetable, and its settings beside"
    )

    predict = command("predict", _predict, "say what a build costs in time and saves in watts")
    predict.add_argument("build", type=Path, metavar="BUILD", help="a build")
    predict.add_argument("--traffic", type=Path, metavar="FILE", help="traffic matrix, by host or by rank")
    predict.add_argument("--placement", default="", metavar="HOW", help="as for regulate")
    predict.add_argument(
        "--seconds", type=float, metavar="S", help="how long the traffic took, where its file does not say"
    )
    predict.add_argument(
        "--eee",
        metavar="TIMEOUT,TS,TW",
        help="sleep policy of the host ports in seconds, or a YAML file of tagloom fit or measure idle-gap "
        "(default: PowerConnect 5548, 1e-3,182e-6,60e-6)",
    )
    predict.add_argument("--settings", type=Path, metavar="F", help="links to turn off, besides those off in the build")
    predict.add_argument(
        "--eee-links",
        default="hosts",
        choices=["hosts", "all"],
        help="which links sleep: those of hosts (default), or those between switches as well",
    )
    predict.add_argument(
        "--profile",
        type=Path,
        metavar="FILE",
        help="what a run was made of, computation and communication: mpiP, TAU or paraprof --dumpmpisummary",
    )
    predict.add_argument("--ranks", type=int, metavar="N", help="how many ranks ran, for paraprof's summary")
    predict.add_argument("--rollout", type=Path, metavar="DIR", help="a rollout, whose waves may interrupt hosts")
    predict.add_argument("--price", type=float, metavar="P", help="what a kWh costs")
    predict.add_argument("--co2", type=float, metavar="KG", help="kilograms of CO2 per kWh")
    predict.add_argument(
        "--host-watts", type=float, default=0.0, metavar="W", help="watts of one host, for the energy of a whole run"
    )
    predict.add_argument("--power", type=Path, metavar="FILE", help="watts of models, YAML, before tagloom's own")
    predict.add_argument("--csv", type=Path, metavar="FILE", help="write all numbers, with intervals and sources")

    export = command("export", _export, "write a build in another tool's format")
    export.add_argument(
        "format", choices=["simgrid", "graphml", "dot"], metavar="FORMAT", help="simgrid (with routes), graphml or dot"
    )
    export.add_argument("build", type=Path, metavar="BUILD", help="a build")
    export.add_argument("-o", "--output", type=Path, metavar="FILE", help="write here instead of to standard output")

    predict.add_argument("--record", action="store_true", help=f"keep the forecast in {FORECASTS} beside the build")
    predict.add_argument("--store", type=Path, metavar="FILE", help="keep the forecast in this file")
    predict.add_argument("--figures", type=Path, metavar="DIR", help="draw figures for papers, PDF and PNG")

    score = command("score", _score, "say how wrong kept forecasts were, part by part and over time")
    score.add_argument(
        "--store",
        type=Path,
        default=Path(FORECASTS),
        metavar="FILE",
        help=f"file of predict --record (default {FORECASTS})",
    )
    score.add_argument(
        "--measured",
        nargs="+",
        default=[],
        metavar="WHAT",
        help="quantity=value, a CSV file (quantity,value[,at][,fabric]), or what observe or measure wrote",
    )
    score.add_argument(
        "--tolerance",
        type=float,
        default=10.0,
        metavar="PERCENT",
        help="error that is still good, where a forecast has no interval (default 10)",
    )

    fit = command("fit", _fit, "fit a link's sleep to measurements")
    fit.add_argument("--pairs", type=Path, metavar="FILE", help="CSV of gap_seconds,overhead_seconds")
    fit.add_argument("--regular", action="store_true", help="each pair's gaps were all alike, not random of that mean")
    fit.add_argument("--known-timeout", type=float, metavar="S", help="the time-out, where it is known")
    fit.add_argument("--probe", type=Path, metavar="FILE", help="instead, what tagloom measure idle-gap kept")
    fit.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the parameters, for predict --eee")

    sweep = command("sweep", _sweep, "forecast all combinations of time-outs, traffic and settings")
    sweep.add_argument("sweep", type=Path, metavar="SWEEP", help="YAML: build, and lists: traffic, settings, timeouts")
    sweep.add_argument("--jobs", type=int, metavar="N", help="processes (default: one for each core)")
    sweep.add_argument("--scheduler", metavar="ADDRESS", help="a Dask cluster's scheduler instead, tcp://host:port")
    sweep.add_argument("-o", "--output", type=Path, metavar="FILE", help="write all figures, .csv or .json")

    report = command("report", _report_page, "write a build, its proof and its forecast as one HTML page")
    report.add_argument("build", type=Path, metavar="BUILD", help="a build")
    report.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the page to write")
    report.add_argument("--traffic", type=Path, metavar="F", help="traffic matrix, by host or by rank")
    report.add_argument("--placement", default="", metavar="HOW", help="as for regulate")
    report.add_argument("--seconds", type=float, metavar="S", help="how long the traffic took, as for predict")
    report.add_argument("--settings", type=Path, metavar="F", help="links to turn off, besides those off in the build")
    report.add_argument("--rollout", type=Path, metavar="DIR", help="show the waves that lead to the build")
    report.add_argument("--timetable", type=Path, metavar="F", help="show power over a day of this timetable")

    snmp = _Parser(add_help=False)
    snmp.add_argument(
        "--snmp",
        type=Path,
        metavar="FILE",
        help="SNMP settings (default: snmp.yml beside the inventory; secrets also from TAGLOOM_SNMP_*)",
    )
    snmp.add_argument("--snmp-version", choices=["3", "2c"], help="instead of the settings' (default 3, authPriv)")
    snmp.add_argument("--in-flight", type=int, default=64, metavar="N", help="switches read at a time (default 64)")
    snmp.add_argument("--timeout", type=float, default=1.0, metavar="S", help="seconds for one answer (default 1)")
    snmp.add_argument("--retries", type=int, default=2, metavar="N", help="times asked again (default 2)")
    snmp.add_argument(
        "-i", "--inventory", type=Path, metavar="INVENTORY", help=f"inventory (default {LAB}, where a lab runs)"
    )

    observe = command("observe", _observe, "read counters, VLANs and neighbours over SNMP", snmp)
    observe.add_argument("-o", "--output", type=Path, metavar="FILE", help="append the reading to this SQLite history")
    observe.add_argument("--every", metavar="TIME", help="read again every 30s, 5m or 1h, until Ctrl-C")
    observe.add_argument("--count", type=int, metavar="N", help="end after N readings")
    observe.add_argument(
        "--prometheus", metavar="[HOST:]PORT", help="show the last reading to Prometheus (on loopback by default)"
    )
    observe.add_argument("--against", type=Path, metavar="BUILD", help="compare what SNMP shows with a build")
    observe.add_argument(
        "--running", action="store_true", help="read running configurations over SSH too, and compare SNMP with them"
    )

    discover = command("discover", _discover, "walk LLDP from a switch and write a fabric file", snmp)
    discover.add_argument(
        "--seed", nargs="+", required=True, metavar="ADDRESS", help="where to begin: host or host:port"
    )
    discover.add_argument("-o", "--output", type=Path, metavar="FABRIC", help="write the fabric file here")
    discover.add_argument("--against", type=Path, metavar="FABRIC", help="compare the cabling with this fabric file")
    discover.add_argument("--name", default="discovered", metavar="NAME", help="name of the fabric")
    discover.add_argument("--model", metavar="M", help="model of switches that do not say theirs")

    run = command("run", _run, "keep a running fabric to a timetable, and to its load", snmp)
    run.add_argument(
        "timetable", type=Path, metavar="TIMETABLE", help="rules in cron words, as tagloom timetable writes"
    )
    run.add_argument("--dry-run", action="store_true", help="say what would be done; send and remember nothing")
    run.add_argument("--once", action="store_true", help="apply what should hold now, and end")
    run.add_argument("--every", default="30s", metavar="TIME", help="look every 30s, 5m or 1h (default 30s)")
    run.add_argument("--no-watch", action="store_true", help="do not read load over SNMP: clock and jobs alone")
    run.add_argument(
        "--raise-above", type=float, default=0.7, metavar="SHARE", help="of a channel: all links come on (default 0.7)"
    )
    run.add_argument(
        "--lower-below", type=float, default=0.35, metavar="SHARE", help="of all channels, before links go off (0.35)"
    )
    run.add_argument("--hold", default="10m", metavar="TIME", help="so long below it, after a raise (default 10m)")
    run.add_argument("--requests", type=Path, metavar="DIR", help="where jobs ask (default: requests in --state)")
    run.add_argument(
        "--profiles",
        type=Path,
        metavar="DIR",
        help="their settings, NAME.json (default: profiles beside the timetable)",
    )
    run.add_argument(
        "--state", type=Path, metavar="DIR", help="what outlives a restart (default: run in the inventory)"
    )
    run.add_argument("--timezone", metavar="ZONE", help="instead of the timetable's")
    run.add_argument("--metrics-port", metavar="[HOST:]PORT", help="show how it stands to Prometheus")
    run.add_argument("--metrics-file", type=Path, metavar="FILE", help="or in a file, FILE.prom for node_exporter")

    eee = command("eee", _eee, "say what sleep saves and costs on one link")
    eee.add_argument("--phy", required=True, metavar="PHY", help="1000BASE-T, 10GBASE-T, ..., or PowerConnect-5548")
    eee.add_argument(
        "--load", type=float, required=True, metavar="R", help="share of the time it sends, from 0, below 1"
    )
    eee.add_argument("--timeout", type=float, metavar="S", help="idle seconds before it sleeps (0: at once)")
    eee.add_argument("--ts", type=float, metavar="S", help="seconds to fall asleep (default: the PHY's)")
    eee.add_argument("--tw", type=float, metavar="S", help="seconds to wake (default: the PHY's)")
    eee.add_argument(
        "--lpi-power", type=float, metavar="F", help="power asleep over power awake (default: 0.1, or the PHY's)"
    )
    eee.add_argument("--frame-bytes", type=float, default=1500, metavar="N", help="bytes of every frame (default 1500)")
    eee.add_argument(
        "--both-directions",
        action="store_true",
        help="both directions carry the load, and 1000BASE-T sleeps only when both are idle",
    )
    eee.add_argument("--refresh", action="store_true", help="charge the refresh signals sent while asleep")

    lab = command("lab", _lab, "run a virtual rack: every switch an SSH console on loopback")
    verbs = lab.add_subparsers(dest="lab", metavar="up|status|ping|traffic|fault|mend|down", required=True)
    for name, what, more in (
        ("up", "start a rack", ""),
        ("status", "say what runs", ""),
        ("ping", "send a frame for every ordered host pair, or from A to B", ""),
        ("traffic", "let all hosts send frames all the time, and say what became of them", ""),
        ("fault", "rehearse a fault: order one on a switch, or list what was ordered", _faults_that_there_are()),
        ("mend", "end the faults of switches, or of all", ""),
        ("down", "end the rack", ""),
    ):
        about = what[0].upper() + what[1:] + "." + more
        raw = argparse.RawDescriptionHelpFormatter
        verb = verbs.add_parser(name, help=what, description=about, parents=[common], formatter_class=raw)
        verb.add_argument(
            "--dir", type=Path, default=LAB, metavar="DIR", help=f"the rack's directory, an inventory (default {LAB})"
        )
        if name == "up":
            verb.add_argument("fabric", type=Path, metavar="FABRIC", help="fabric file")
            verb.add_argument(
                "--base-port", type=int, default=0, metavar="N", help="SSH port of the first switch (default: any free)"
            )
        if name == "up":
            verb.add_argument(
                "--dataplane",
                choices=("frames", "kernel"),
                default="frames",
                help="what carries frames: the rack itself, one by one (default), or a real Linux kernel's bridges",
            )
            verb.add_argument(
                "--delay", type=float, default=0.0, metavar="S", help="seconds every command takes (default 0)"
            )
        if name == "ping":
            verb.add_argument("a", nargs="?", metavar="A", help="sending host")
            verb.add_argument("b", nargs="?", metavar="B", help="receiving host")
        if name == "traffic":
            verb.add_argument("order", choices=("start", "stop", "report"), help="counts begin anew at each start")
        if name in ("traffic", "fault"):
            verb.add_argument("--seed", type=int, default=0, metavar="N", help="makes chance repeat itself (default 0)")
        if name == "fault":
            verb.add_argument("switch", nargs="?", metavar="SWITCH", help="a switch of the rack")
            verb.add_argument("kind", nargs="?", metavar="KIND", help="what goes wrong, see above")
            verb.add_argument("--at", type=int, metavar="N", help="strike at the Nth line from now on")
            verb.add_argument("--line", metavar="REGEX", help="count these lines only (default: lines that configure)")
            verb.add_argument("--after", type=float, metavar="S", help="strike after seconds, where there is no --at")
            verb.add_argument("--for", type=float, dest="lasts", metavar="S", help="how long (default: until mended)")
            verb.add_argument("--port", metavar="P", help="the port whose cable is pulled")
        if name == "mend":
            verb.add_argument("switches", nargs="*", metavar="SWITCH", help="whose faults (default: all)")

    _measure_parsers(command("measure", _measure_pingpong, "measure hosts, links and power"), common)

    demo = command("demo", _demo, "run the whole mission on the virtual rack")
    demo.add_argument(
        "--dir", type=Path, default=Path("demo"), metavar="DIR", help="where to keep builds and the rack (default demo)"
    )
    return top


def _faults_that_there_are() -> str:
    from tagloom.lab.faults import KINDS  # noqa: PLC0415 - as above

    return (
        "\n\n"
        + "\n".join(f"  {kind:<13} {what}" for kind, what in KINDS.items())
        + "\n\n"
        + ("example:\n  tagloom lab fault s2 reboot --at 7 --for 20")
    )


def _measure_parsers(measure: argparse.ArgumentParser, common: _Parser) -> None:
    verbs = measure.add_subparsers(dest="measure", metavar="pingpong|power|idle-gap|rps", required=True)
    keep = _Parser(add_help=False)
    keep.add_argument("--keep", type=Path, metavar="FILE", help="append the numbers to this SQLite file")
    keep.add_argument("--fabric", default="", metavar="NAME", help="what is measured, as the kept rows shall call it")
    keep.add_argument("--csv", type=Path, metavar="FILE", help="write the numbers as CSV")
    meter = _Parser(add_help=False)
    meter.add_argument(
        "--meter",
        metavar="KIND:WHERE",
        help="wattsup:/dev/ttyUSB0, rapl, apc:HOST/OUTLET, shelly:HOST, ... (docs/measure.md)",
    )
    meter.add_argument(
        "--interval", type=float, default=1.0, metavar="S", help="seconds between two samples (default 1)"
    )
    meter.add_argument(
        "--calibrate",
        type=float,
        nargs="?",
        const=60.0,
        default=0.0,
        metavar="S",
        help="first find the meter's lag, by loading this machine's processors on and off for S seconds (default 60)",
    )
    meter.add_argument("--snmp", type=Path, metavar="FILE", help="SNMP settings (secrets also from TAGLOOM_SNMP_*)")
    meter.add_argument("--snmp-version", choices=["3", "2c"], help="instead of the settings' (default 3, authPriv)")
    other = _Parser(add_help=False)
    other.add_argument(
        "--connect", metavar="HOST[:PORT]", help="the other end: tagloom measure pingpong --serve, there"
    )
    other.add_argument(
        "--network",
        action="append",
        default=[],
        metavar="CIDR",
        help="a network that may be loaded; loopback always may",
    )
    other.add_argument("-6", "--ipv6", action="store_true", help="over IPv6")

    def verb(
        name: str, run: Callable[[argparse.Namespace, Screen], int], what: str, *parents: _Parser
    ) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = verbs.add_parser(
            name,
            help=what,
            description=_about(f"measure {name}", what[0].upper() + what[1:] + "."),
            parents=[common, *parents],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.set_defaults(run=run)
        return added

    ping = verb(
        "pingpong", _measure_pingpong, "latency, bandwidth and energy by message size, as NetPIPE", keep, meter, other
    )
    ping.add_argument("--local", action="store_true", help="both ends here, on loopback")
    ping.add_argument("--serve", action="store_true", help="be the listening side")
    ping.add_argument("--once", action="store_true", help="with --serve: end after one measurement")
    ping.add_argument(
        "--listen",
        default="127.0.0.1",
        metavar="HOST[:PORT]",
        help="with --serve: address, one of a --network (default loopback)",
    )
    ping.add_argument(
        "--hosts", nargs=2, metavar=("A", "B[=ADDRESS]"), help="start both ends over SSH, by keys; B listens at ADDRESS"
    )
    ping.add_argument("--ssh", default="", metavar="COMMAND", help="with --hosts: ssh and its options")
    ping.add_argument("--remote", default="tagloom", metavar="COMMAND", help="with --hosts: tagloom there")
    ping.add_argument(
        "--protocol", choices=["tcp", "udp", "mpi"], default="tcp", help="default tcp; mpi under mpirun -np 2"
    )
    ping.add_argument("--min-bytes", type=int, default=1, metavar="N", help="least message (default 1)")
    ping.add_argument("--max-bytes", type=int, metavar="N", help="largest message (default 131072; udp 65504)")
    ping.add_argument(
        "--perturbation", type=int, metavar="N", help="bytes beside each size (default 3; with --meter 0)"
    )
    ping.add_argument("--trials", type=int, default=3, metavar="N", help="of every size; the best counts (default 3)")
    ping.add_argument(
        "--target", type=float, metavar="S", help="one-way seconds of a trial (default 0.1; with --meter 1)"
    )
    ping.add_argument(
        "--time-limit", type=float, default=300.0, metavar="S", help="seconds of the whole run (default 300)"
    )
    ping.add_argument(
        "--max-rate", type=float, metavar="BPS", help="mean rate of the run, b/s (default 1e9 beyond loopback)"
    )
    ping.add_argument("--buffer", type=int, default=0, metavar="BYTES", help="socket buffers (default: the system's)")
    ping.add_argument(
        "--busy-poll", action="store_true", help="poll instead of sleeping: needs a processor for each end"
    )
    ping.add_argument("--no-content", action="store_true", help="do not check that bytes come as they were sent")
    ping.add_argument("--no-percentiles", action="store_true", help="do not time single messages")
    ping.add_argument(
        "--pause",
        metavar="INTERFACE",
        help="with --serve: let measure rps ask for PAUSE frames to this interface's switch",
    )
    ping.add_argument("--np-out", type=Path, metavar="FILE", help="write NetPIPE's file")
    ping.add_argument("--read", type=Path, metavar="FILE", help="show a file of NetPIPE's instead of measuring")
    ping.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw bandwidth, latency and energy rate (needs matplotlib)"
    )

    gap = verb("idle-gap", _measure_idle_gap, "the sleep policy (EEE) of the links to a host", keep, other)
    gap.add_argument(
        "--emulate",
        metavar="TIMEOUT,TS,TW",
        help="practise on a link that sleeps so: in virtual time, or with --namespaces",
    )
    gap.add_argument("--namespaces", action="store_true", help="emulate with real frames in network namespaces (root)")
    gap.add_argument("--protocol", choices=["udp", "tcp"], default="udp", help="default udp")
    gap.add_argument("--from", dest="first", type=float, default=0.5e-3, metavar="S", help="least gap (default 0.0005)")
    gap.add_argument("--to", dest="last", type=float, default=4e-3, metavar="S", help="longest gap (default 0.004)")
    gap.add_argument("--gaps", type=int, default=36, metavar="N", help="gaps in the first look (default 36)")
    gap.add_argument("--repeats", type=int, default=40, metavar="N", help="messages after each gap (default 40)")
    gap.add_argument("--time-limit", type=float, default=300.0, metavar="S", help="seconds of the probe (default 300)")
    gap.add_argument("--baseline", type=Path, metavar="FILE", help="what --json printed of the same links with EEE off")
    gap.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the policy, for predict --eee FILE")

    files = verb(
        "rps", _measure_rps, "file transfers while the link is blocked for a moment once a second", keep, other
    )
    files.add_argument("--namespaces", action="store_true", help="over a bridge in network namespaces (root)")
    files.add_argument(
        "--block", type=float, nargs="+", default=[0, 1, 10, 20], metavar="MS", help="milliseconds (default 0 1 10 20)"
    )
    files.add_argument("--protocols", nargs="+", choices=["tcp", "udp"], default=["tcp", "udp"], help="default both")
    files.add_argument("--seconds", type=float, default=5.0, metavar="S", help="length of one file (default 5)")
    files.add_argument("--rate", type=float, default=100e6, metavar="BPS", help="of a file, b/s (default 1e8)")
    files.add_argument(
        "--counter",
        metavar="HOST[:PORT]/IFINDEX",
        help="count what came by SNMP ifInUcastPkts (default: the far end's count)",
    )
    files.add_argument("--snmp", type=Path, metavar="FILE", help="SNMP settings (secrets also from TAGLOOM_SNMP_*)")
    files.add_argument("--snmp-version", choices=["3", "2c"], help="instead of the settings' (default 3, authPriv)")

    watts = verb("power", _measure_power, "a power meter's samples on our clock, and its lag", keep, meter)
    watts.add_argument("--seconds", type=float, default=60.0, metavar="S", help="how long (default 60)")


def _about(name: str, what: str) -> str:
    return f"{what}\n\nexample:\n  {EXAMPLES[name]}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; give its exit status: 0 good, 1 the answer is no, 2 bad input, 3 a device failed."""
    words = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in words
    screen = Screen(as_json=as_json)
    verbose = any(w in {"-v", "-vv", "-vvv", "--verbose"} for w in words)
    try:
        args = parser().parse_args(words)
        screen = Screen(as_json=args.json, verbose=args.verbose)
        run: Callable[[argparse.Namespace, Screen], int] = args.run
        return run(args, screen)
    except InputError as error:
        screen.remark(*map(str, error.findings))
        count = len(error.findings)
        screen.remark(f"{count} finding{'' if count == 1 else 's'}; nothing was changed")
        screen.answer({"findings": [finding.as_json() for finding in error.findings]})
        return BAD_INPUT
    except PlanError as error:
        screen.remark(
            f"no        {error.rule}",
            *([f"witness   {error.witness}"] if error.witness else []),
            *([f"next      {error.way_out}"] if error.way_out else []),
        )
        finding = Finding("plan", error.rule, error.witness or "otherwise")
        screen.answer(
            {"findings": [finding.as_json()], "refused": error.rule, "witness": error.witness, "next": error.way_out}
        )
        return NO
    except DeviceError as error:
        screen.remark(str(error))
        page = {"switch": error.switch, "command": error.command, "text": error.text}
        screen.answer({**_pushed(None), "failed": [error.switch], "error": page})
        return DEVICE_FAILED
    except TagloomError as error:
        screen.remark(str(error))
        return error.exit_status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has seen enough
        return GOOD
    except KeyboardInterrupt:
        screen.remark("interrupted")
        return 128 + signal.SIGINT
    except Exception as error:
        if verbose:
            raise
        screen.remark(
            f"tagloom has a fault: {type(error).__name__}: {error}",
            "next      the same command with -v, and report what it prints",
        )
        return NO


if __name__ == "__main__":
    sys.exit(main())
