"""Answer the command line: the only file that prints, reads the environment or exits."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tagloom import __version__
from tagloom.errors import DeviceError, Finding, InputError, PlanError, TagloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tagloom.apply.outcomes import Outcomes

GOOD, NO, BAD_INPUT, DEVICE_FAILED = 0, 1, 2, 3
LAB = Path("inventory/lab")
DEFAULT_MODEL = "powerconnect-5324"
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

    old, new = pipeline.read_build(args.old), pipeline.read_build(args.new)
    with screen.waiting("ordering and proving waves"):
        change = pipeline.rollout_between(old, new, strategy=args.strategy, allow_drain=args.allow == "drain")
        page = pipeline.write_rollout(new, change, share_directory() / "templates", args.output)
    screen.say(*terminal.rollout_lines(page), f"wrote     {args.output}/ (waves and the target, {args.output}/build)")
    screen.say(f"next      tagloom apply {args.output} --check --diff")
    screen.answer(page)
    return GOOD


def _regulate(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.read import read_fabric  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    fabric = read_fabric(args.fabric)
    levels, sleep = pipeline.read_levels(args.levels)
    power = pipeline.read_power(args.power) if args.power else None
    traffic = pipeline.traffic_of(args.traffic, fabric, args.placement, args.seconds, args.ranks)
    if not traffic.volume_bytes.any():
        raise InputError([Finding(str(args.traffic), "some bytes between two hosts", "none: nothing to choose by")])
    wish = pipeline.Wish(args.method, levels, sleep, args.allow_cut, args.headroom, args.time_limit, power)
    with screen.progress("links tried") as note:
        settings = pipeline.regulate(fabric, traffic, args.routing, args.assignment, note, wish, time.monotonic)
    page = pipeline.settings_page(fabric, settings)
    screen.say(*terminal.settings_lines(page))
    if args.output is not None:
        _write(args.output, json.dumps(page, indent=2) + "\n")
        screen.say(
            f"wrote     {args.output}", f"next      tagloom plan {args.fabric} --settings {args.output} -o build"
        )
    screen.answer(page)
    return GOOD


def _predict(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.predict.eee import POWERCONNECT_5548  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    build = pipeline.read_build(args.build)
    everything_on = build.fabric.with_links_up()
    after = pipeline.with_links_off(build.fabric, [], args.settings)
    traffic = pipeline.traffic_of(args.traffic, after, args.placement, args.seconds) if args.traffic else None
    eee = POWERCONNECT_5548
    if args.eee is not None:
        eee = _policy(args.eee)
    routes = build.routes if args.eee_links == "all" else None
    if routes is not None and after.links != build.fabric.links:
        where = "--eee-links all with --settings"
        raise InputError([Finding(where, "a build planned with these settings: its paths carry the traffic", "none")])
    page = terminal.forecast_page(pipeline.predict(everything_on, after, traffic, eee, routes))
    screen.say(*terminal.forecast_lines(page))
    page |= _kept(args, page, build, traffic, screen) | _figures(args, eee, screen)
    screen.answer(page)
    return GOOD


def _policy(text: str) -> Any:
    """Read --eee: three times, or a file of tagloom fit."""
    from tagloom.pipeline.fitting import read_parameters  # noqa: PLC0415 - as above
    from tagloom.predict.eee import check_policy  # noqa: PLC0415 - as above
    from tagloom.records.sleep import Eee  # noqa: PLC0415 - as above

    try:
        timeout, sleep, wake = (float(x) for x in text.split(","))
    except ValueError:
        if Path(text).suffix in {".yml", ".yaml"}:
            return read_parameters(Path(text))
        expected = "TIMEOUT,TS,TW in seconds, or a YAML file of tagloom fit"
        raise InputError([Finding("--eee", expected, repr(text))]) from None
    check_policy(timeout, sleep, wake, f"--eee {text}")
    return Eee(timeout, sleep, wake, together=True)  # host links are 1000BASE-T


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

    every, listening, findings = 0.0, ("", 0), []
    if args.count is not None and args.count < 1:
        findings.append(Finding("--count", "1 or more", str(args.count)))
    try:
        every = _seconds(args.every) if args.every else 0.0
    except InputError as error:
        findings += error.findings
    try:
        listening = _listening(args.prometheus) if args.prometheus else listening
    except InputError as error:
        findings += error.findings
    if findings:
        raise InputError(findings)
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


def _seconds(text: str) -> float:
    unit = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(text[-1:], 0.0)
    try:
        value = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise InputError([Finding("--every", "a time such as 30s, 5m or 1h", repr(text))])
    return value


def _listening(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise InputError([Finding("--prometheus", "[HOST:]PORT", repr(text))])
    return host.strip("[]") or "127.0.0.1", int(port)  # what switches say is nobody else's business unless told so


def _eee(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.predict import Eee, load_phy, one_link  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    phy = load_phy(args.phy)
    given = {"--ts": (args.ts, phy.sleep_seconds), "--timeout": (args.timeout, phy.timeout_seconds)}
    values = {name: own if own is not None else known for name, (own, known) in given.items()}
    unknown = [
        Finding(name, f"seconds: {phy.name} has none of its own", "nothing") for name, v in values.items() if v is None
    ]
    if unknown:
        raise InputError(unknown)
    eee = Eee(
        values["--timeout"] or 0.0,
        values["--ts"] or 0.0,
        phy.wake_seconds if args.tw is None else args.tw,
        phy.source,
        phy.together and args.both_directions,
        phy.lpi_power if args.lpi_power is None else args.lpi_power,
    )
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
    from tagloom.pipeline import operating  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    site = _site(args)
    kind = "rollout" if (args.build / "rollout.json").exists() else "build"
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
    with screen.progress("switches read") as note:
        looks = len(wanted) * (push.waves if kind == "rollout" else 1)
        survey = operating.survey(push, site, limit=args.limit, on_progress=_counter(note, looks))
    # One switch that fails does not keep a build from the others; a rollout needs every switch it changes.
    if survey.error or (survey.failed and (args.check or kind == "rollout" or not survey.changed)):
        return _report(survey, screen, checked=True)
    push = operating.order(push, survey, site)
    if args.check or not survey.changed:
        _show(survey, screen, diff=args.diff)
        code = _report(survey, screen, checked=args.check, waves=push.waves)
        if args.check and survey.changed:
            screen.say(f"next      tagloom apply {args.build}{_inventory_words(args)}")
        return code
    if args.diff:
        _show(survey, screen, diff=True)
    with screen.progress("pushes") as note:
        pushes = push.waves * len(wanted)
        outcomes = operating.push(push, site, limit=args.limit, on_progress=_counter(note, pushes))
    return _report(outcomes, screen, checked=False, waves=push.waves)


def _site(args: argparse.Namespace) -> Any:
    from tagloom.pipeline import operating  # noqa: PLC0415 - as above
    from tagloom.share import share_directory  # noqa: PLC0415 - as above

    inventory = args.inventory or (LAB if LAB.exists() else None)
    if inventory is None or not inventory.exists():
        raise InputError(
            [Finding("-i", "an inventory, or a running lab (tagloom lab up FABRIC)", str(inventory or "none"))]
        )
    return operating.Site(inventory, share_directory(), dict(os.environ), time.strftime("%Y%m%dT%H%M%S"))


def _inventory_words(args: argparse.Namespace) -> str:
    return f" -i {args.inventory}" if args.inventory else ""


def _counter(note: Callable[[int, int], None], of: int) -> Callable[[object], None]:
    done = itertools.count(1)
    note(0, of)
    return lambda _outcome: note(next(done), of)


def _show(survey: Outcomes, screen: Screen, *, diff: bool) -> None:
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    for outcome in survey.outcomes:
        if outcome.changed:
            screen.say(terminal.change_line(outcome.switch, outcome.diff))
            if diff:
                screen.say(*outcome.diff.splitlines())


def _report(outcomes: Outcomes, screen: Screen, *, checked: bool, waves: int = 1) -> int:
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    screen.say(*terminal.outcome_lines(outcomes, checked=checked, waves=waves))
    screen.answer(outcomes.as_json())
    if outcomes.failed or outcomes.error:
        return DEVICE_FAILED
    return NO if outcomes.stopped else GOOD


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
    else:
        process.down(folder)
        screen.say("the rack is down")
        screen.answer({"down": True})
    return GOOD


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
    "regulate": "tagloom regulate fabric.yml --traffic matrix.csv -o night.json",
    "predict": "tagloom predict build --traffic matrix.csv --seconds 3600 --settings night.json",
    "score": "tagloom score --measured watts_after=401.5 seconds_predicted=3630",
    "fit": "tagloom fit --pairs pairs.csv -o switch.yml",
    "sweep": "tagloom sweep sweep.yml -o sweep.csv",
    "report": "tagloom report build --traffic matrix.csv --seconds 3600 -o report.html",
    "observe": "tagloom observe -o history.db --every 30s",
    "discover": "tagloom discover --seed 192.0.2.10 -o fabric.yml",
    "eee": "tagloom eee --phy 10GBASE-T --load 0.1 --timeout 0 --frame-bytes 1500",
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
    rollout.add_argument("old", type=Path, metavar="OLD", help="the build that runs")
    rollout.add_argument("new", type=Path, metavar="NEW", help="the build that shall run")
    rollout.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="directory to write")
    rollout.add_argument(
        "--strategy",
        default="auto",
        metavar="NAME",
        help="auto (default: the shortest that proves), direct, batches, park, slides or drain",
    )
    rollout.add_argument(
        "--allow", choices=["drain"], help="drain: hosts may be paused, where nothing gentler can be proven"
    )

    apply = command("apply", _apply, "push a build or a rollout with ansible-playbook through netmiko")
    apply.add_argument(
        "build", type=Path, metavar="BUILD-or-ROLLOUT", help="directory made by tagloom plan or tagloom rollout"
    )
    apply.add_argument(
        "-i", "--inventory", type=Path, metavar="INVENTORY", help=f"Ansible inventory (default {LAB}, where a lab runs)"
    )
    apply.add_argument("--check", action="store_true", help="read every switch and say what would change; send nothing")
    apply.add_argument("--diff", action="store_true", help="show every change as a diff of configurations")
    apply.add_argument("--limit", default="", metavar="S", help="only these switches, separated by commas")

    regulate = command("regulate", _regulate, "choose links that traffic does not need", routing)
    regulate.add_argument("fabric", type=Path, metavar="FABRIC", help="fabric file")
    regulate.add_argument(
        "--traffic",
        type=Path,
        required=True,
        metavar="FILE",
        help="traffic by host or by rank: CSV, Open MPI .prof, TAU, paraprof, mpiP, nfdump -o csv; or pattern:NAME",
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
        help="sleep policy of the host ports in seconds, or a YAML file of tagloom fit "
        "(default: PowerConnect 5548, 1e-3,182e-6,60e-6)",
    )
    predict.add_argument("--settings", type=Path, metavar="F", help="links to turn off, besides those off in the build")
    predict.add_argument(
        "--eee-links",
        default="hosts",
        choices=["hosts", "all"],
        help="which links sleep: those of hosts (default), or those between switches as well",
    )

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
    verbs = lab.add_subparsers(dest="lab", metavar="up|status|ping|down", required=True)
    for name, what in (
        ("up", "start a rack"),
        ("status", "say what runs"),
        ("ping", "send a frame for every ordered host pair, or from A to B"),
        ("down", "end the rack"),
    ):
        verb = verbs.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".", parents=[common])
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

    demo = command("demo", _demo, "run the whole mission on the virtual rack")
    demo.add_argument(
        "--dir", type=Path, default=Path("demo"), metavar="DIR", help="where to keep builds and the rack (default demo)"
    )
    return top


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
