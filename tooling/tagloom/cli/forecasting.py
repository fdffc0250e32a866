"""Answer the commands that forecast, and those that hold forecasts to account."""

from __future__ import annotations

import json
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.inputs import Findings, add_placement_options, placement_findings, sleep_policy, traffic_findings
from tagloom.cli.runs import NOTHING_RUNS, exclusive, files_in, what_runs, words_of
from tagloom.cli.screen import GOOD, NO, Screen
from tagloom.errors import Finding, InputError
from tagloom.storage.outputs import check_outputs, write_output
from tagloom.storage.text import unreadable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from tagloom.cli.words import Commands


FORECASTS = "forecasts.db"  # where predict --record keeps forecasts, beside the build
BURSTY = 100  # frames in a burst: the largest of predict.BURSTS, which --help does not load


def _predict(args: argparse.Namespace, screen: Screen) -> int:
    import csv
    import io

    from tagloom import pipeline
    from tagloom.read import messages
    from tagloom.regulate import settings_file
    from tagloom.report import terminal

    all_found = Findings(args)
    rates, eee, power = assumptions_of(args, all_found)
    build = all_found.of(lambda: pipeline.read_build(args.build, states=False))
    words = {option: files_in(each) for option, each in words_of(args).items()}
    all_found.findings += exclusive(words_of(args))
    all_found.findings += traffic_findings([*words["--traffic"], *words["--profile"]], args.seconds, args.ranks)
    all_found.findings += placement_findings(args)
    if args.lpi_power is not None and not 0 <= args.lpi_power <= 1:
        all_found.findings.append(Finding("--lpi-power", "from 0 to 1", f"{args.lpi_power:g}"))
    all_found.of(lambda: _check_figures(args))
    traffic, program, runs = NOTHING_RUNS
    if build is not None:
        fabric = build.fabric
        all_found.of(lambda: settings_file.with_links_off(fabric, [], args.settings))
        traffic, program, runs = what_runs(args, build, all_found)
    else:
        files = [(args.settings, settings_file.EXPECTED), *((file, messages.EXPECTED) for file in words["--trace"])]
        for file, expected in files:
            all_found.findings += unreadable(file, expected) if file else []
    all_found.end()
    assert build is not None  # noqa: S101 - else there are findings
    every = args.eee_links == "all"
    question = pipeline.Question(
        traffic, args.settings, eee, every, rates, power, args.rollout, program, runs, args.lpi_power
    )
    with screen.waiting("forecasting"):
        payload = terminal.forecast_payload(pipeline.predict_build(build, question), build.fabric)
    lines = terminal.forecast_lines(payload)
    traffic = None if traffic is not None and traffic.unknown else traffic  # loads of guessed messages are no forecast
    kept, said = _kept(args, payload, build, traffic)
    figures, drawn = _figures(args, eee, screen, traffic if program is None else None)
    payload |= kept | figures
    if args.csv is not None:
        table = io.StringIO()
        csv.writer(table, lineterminator="\n").writerows(terminal.forecast_rows(payload))
        write_output(args.csv, table.getvalue(), force=args.force)
    screen.say(*lines, *said, *drawn, *([f"wrote     {args.csv}"] if args.csv is not None else []))
    screen.answer(payload)
    return GOOD


def assumptions_of(args: argparse.Namespace, all_found: Findings) -> tuple[Any, Any, Any]:
    """Read what a forecast assumes: rates, the sleep policy and watts of models, None where not given."""
    from tagloom.platforms.power import read_power
    from tagloom.predict.energy import Rates

    rates = Rates(args.price, args.co2, args.host_watts, args.currency)
    all_found.findings += rates.findings()
    eee = all_found.of(lambda: sleep_policy(args.eee, "--eee")) if args.eee is not None else None
    power = all_found.of(lambda: read_power(args.power)) if args.power else None
    return rates, eee, power


def _kept(
    args: argparse.Namespace, payload: Mapping[str, Any], build: Any, traffic: Any
) -> tuple[dict[str, Any], list[str]]:
    """Keep a forecast where that was asked for; returns what the answer says of it, and its lines."""
    from tagloom.adapters.forecasts import Forecasts
    from tagloom.predict.score import quantities_of

    if not args.record and args.store is None:
        return {}, []
    store = args.store or args.build.parent / FORECASTS
    with closing(Forecasts(store, new=True)) as file:
        quantities = quantities_of(payload, build.fabric, build.routes, build.assignment, traffic)
        number = file.keep(time.time(), build.fabric.name, str(args.build), quantities)
    example = "seconds_predicted=S" if payload["power_unknown"] else "watts_after=W"
    return {"recorded": number, "store": str(store)}, [
        f"kept      forecast {number} in {store}, {len(quantities)} quantities",
        f"next      tagloom score --store {store} --measured {example}   (or FILE.csv, history.db)",
    ]


def _check_figures(args: argparse.Namespace) -> None:
    """Raise InputError where figures would overwrite other files."""
    from tagloom.report.figures import FORMATS, NAMES

    if args.figures is not None:
        files = (args.figures / f"{name}.{kind}" for name in NAMES for kind in FORMATS)
        check_outputs(*files, force=args.force)


def _figures(args: argparse.Namespace, eee: Any, screen: Screen, traffic: Any) -> tuple[dict[str, Any], list[str]]:
    """Draw figures where that was asked for; returns what the answer says of them, and its lines."""
    if args.figures is None:
        return {}, []
    from tagloom.pipeline.reporting import report
    from tagloom.report.figures import figures

    with screen.waiting("drawing"):
        file = None if traffic is None else args.build
        given = {"traffic_file": file, "read_traffic": lambda *_: traffic, "settings": args.settings, "eee": eee}
        found = report(args.build, at_seconds=time.time(), **given)
        drawn = figures(found)
    for name, content in drawn.items():
        write_output(args.figures / name, content, force=args.force)
    return {"figures": list(drawn)}, [f"wrote     {args.figures}/ ({', '.join(drawn)})"]


def _score(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.adapters.forecasts import Forecasts
    from tagloom.adapters.measurement_input import read_measured
    from tagloom.predict.score import score, score_payload
    from tagloom.report.scores import score_lines

    all_found = Findings()
    file = all_found.of(lambda: Forecasts(args.store, new=False))
    if not 0 <= args.tolerance < float("inf"):
        all_found.findings.append(Finding("--tolerance", "percent from 0", f"{args.tolerance:g}"))
    fresh = all_found.of(lambda: read_measured(args.measured), [])
    if file is None:
        all_found.end()
    with closing(file):
        kept = file.forecasts()
        names = {name for forecast in kept for name in forecast.quantities}
        for each in fresh:
            if each.origin == "given" and each.quantity not in names:
                known = ", ".join(sorted(name for name in names if "/" not in name)) or "none: predict --record first"
                where, expected = f"--measured {each.quantity}", f"a quantity forecast: {known}"
                all_found.findings.append(Finding(where, expected, "another"))
        all_found.end()
        listed = {(m.quantity, m.value, m.origin, m.fabric) for m in file.measured()}
        now = time.time()  # without a time, a measurement is as old as its first mention: later forecasts know it
        news = [m for m in fresh if m.at is not None or (m.quantity, m.value, m.origin, m.fabric) not in listed]
        file.measure([m if m.at is not None else replace(m, at=now) for m in news])
        payload = score_payload(*score(kept, file.measured(), args.tolerance), len(kept), args.tolerance)
    screen.say(*score_lines(payload))
    screen.answer(payload)
    skilled = not any(each["worse_than_unchanged"] for each in payload["by_quantity"])
    return GOOD if payload["scored"] and payload["good"] == payload["scored"] and skilled else NO


def _fit(args: argparse.Namespace, screen: Screen) -> int:
    import yaml

    from tagloom.adapters.measurement_input import read_pairs, read_policy
    from tagloom.predict.parameters import fit_payload, policy_payload
    from tagloom.report.scores import fit_lines

    findings = []
    if (args.pairs is None) == (args.probe is None):
        findings.append(Finding("fit", "--pairs FILE or --probe FILE", "both" if args.pairs else "neither"))
    if args.known_timeout is not None and not 0 < args.known_timeout <= 3600:
        findings.append(Finding("--known-timeout", "seconds above 0, up to 3600", f"{args.known_timeout:g}"))
    if findings:
        raise InputError(findings)
    if args.pairs is not None:
        pairs = read_pairs(args.pairs)
        with screen.waiting("fitting"):
            payload = fit_payload(pairs, args.pairs.name, regular=args.regular, timeout_seconds=args.known_timeout)
    else:
        times, ends = read_policy(args.probe)
        payload = policy_payload(times, f"measured, {args.probe.name}", ends)
    if args.output is not None:
        write_output(args.output, yaml.safe_dump(payload, sort_keys=False), force=args.force)
    screen.say(*fit_lines(payload))
    if args.output is not None:
        screen.say(f"wrote     {args.output}", f"next      tagloom predict BUILD --traffic F --eee {args.output}")
    screen.answer({**payload, "wrote": str(args.output or "")})
    return GOOD


def _sweep(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.adapters.workers import workers
    from tagloom.pipeline.forecasting import run_cell
    from tagloom.predict.sweep import csv_text, read_sweep, sweep
    from tagloom.report.scores import sweep_lines

    all_found = Findings(args)
    if args.jobs is not None and args.jobs < 1:
        all_found.findings.append(Finding("--jobs", "1 or more", str(args.jobs)))
    if args.output is not None and args.output.suffix not in {".csv", ".json"}:
        all_found.findings.append(Finding("--output", "a file that ends in .csv or .json", str(args.output)))
    cells = all_found.of(lambda: read_sweep(args.sweep))
    all_found.end()
    with screen.progress("forecasts") as note, workers(args.scheduler, args.jobs) as executor:
        rows = sweep(cells, executor, run_cell, note)
    failed = sum(bool(row["error"]) for row in rows)
    if args.output is not None:
        as_csv = args.output.suffix == ".csv"
        text = csv_text(rows) if as_csv else json.dumps({"cells": rows}, indent=2) + "\n"
        write_output(args.output, text, force=args.force)
    screen.say(*sweep_lines(rows))
    if args.output is not None:
        screen.say(f"wrote     {args.output}")
    screen.answer({"cells": rows, "count": len(rows), "failed": failed, "wrote": str(args.output or "")})
    return NO if failed else GOOD


def _eee(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.predict import BURSTS, Eee, check_link, evenly_spaced, load_phy, one_link
    from tagloom.report import terminal

    all_found = Findings()
    phy = all_found.of(lambda: load_phy(args.phy))

    def value(name: str, own: float | None, key: str, otherwise: float) -> float:
        known = own if own is not None or phy is None else getattr(phy, key)
        if known is None and phy is not None:
            all_found.findings.append(Finding(name, f"seconds: {phy.name} has none of its own", "nothing"))
        return otherwise if known is None else float(known)

    sleep = value("--ts", args.ts, "sleep_seconds", 0.0)
    eee = Eee(
        value("--idle-timeout", args.timeout, "timeout_seconds", 0.0),
        sleep,
        value("--tw", args.tw, "wake_seconds", 0.0),
        phy.source if phy else "",
        phy is not None and phy.together and args.both_directions,
        value("--lpi-power", args.lpi_power, "lpi_power", 0.1),
    )
    frames = 1 if args.burst is None else args.burst
    all_found.of(lambda: check_link(eee, args.load, args.frame_bytes, phy.rate_bps if phy else 1.0, frames=frames))
    all_found.end()
    quiet, refresh = (phy.quiet_seconds, phy.refresh_seconds) if args.refresh else (0.0, 0.0)
    link = (eee, args.load, args.frame_bytes, phy.rate_bps)
    found = one_link(*link, quiet, refresh, frames)
    others = {}
    if args.burst is None:
        others = {0: evenly_spaced(*link), 1: found} | {n: one_link(*link, quiet, refresh, n) for n in BURSTS}
    payload = terminal.link_payload(phy.name, eee, found, together=phy.together, both=args.both_directions)
    payload |= terminal.burst_payload(args.burst, others)
    screen.say(*terminal.link_lines(payload))
    screen.answer(payload)
    return GOOD


# One statement for each option.
def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    predict = commands.add("predict", _predict, "forecast the run time a build costs and the watts it saves")
    predict.add_argument("build", type=Path, metavar="BUILD", help="a build")
    predict.add_argument(
        "--traffic",
        action="append",
        metavar="[NETWORK=]FILE",
        help="traffic, as for regulate; a file for each of several networks has a run of its hosts alone",
    )
    add_placement_options(predict)
    predict.add_argument("--seconds", type=float, metavar="S", help="duration of the traffic, if its file has none")
    predict.add_argument(
        "--eee",
        "--eee-fit",
        metavar="TIMEOUT,TS,TW",
        help="EEE parameters of the host ports in seconds, or a YAML file that tagloom fit or measure idle-gap wrote "
        "(default: PowerConnect 5548, 1e-3,182e-6,60e-6)",
    )
    predict.add_argument(
        "--lpi-power",
        type=float,
        metavar="F",
        help="power asleep divided by power awake (default: that of the --eee file, or 0.1)",
    )
    predict.add_argument(
        "--settings", type=Path, metavar="F", help="links to turn off, in addition to those off in the build"
    )
    predict.add_argument(
        "--eee-links",
        default="hosts",
        choices=["hosts", "all"],
        help="which links sleep: those to hosts (default) or all",
    )
    predict.add_argument(
        "--profile",
        action="append",
        metavar="[NETWORK=]FILE",
        help="profile of a run: mpiP, TAU or paraprof --dumpmpisummary, which has times and calls only: without "
        "--traffic beside it, the forecast is an interval from messages that cost nothing to those that cost most",
    )
    predict.add_argument(
        "--trace",
        action="append",
        metavar="[NETWORK=]FILE",
        help="messages of a run, replayed: what otf2-print or the logger of tagloom measure messages wrote, or CSV of "
        "step,source,destination,bytes,compute_seconds",
    )
    predict.add_argument("--ranks", type=int, metavar="N", help="number of ranks, for a paraprof summary")
    predict.add_argument("--rollout", type=Path, metavar="DIR", help="a rollout, whose waves may interrupt hosts")
    predict.add_argument("--price", type=float, metavar="P", help="price of a kWh")
    predict.add_argument("--currency", default="", metavar="C", help="what the price is in, such as EUR")
    predict.add_argument("--co2", type=float, metavar="KG", help="kilograms of CO2 per kWh")
    predict.add_argument(
        "--host-watts", type=float, default=0.0, metavar="W", help="watts of one host, to count its energy over the run"
    )
    predict.add_argument(
        "--power", type=Path, metavar="FILE", help="YAML file of watts by model, used before tagloom's own figures"
    )
    predict.add_output("--csv", gathered=True, help="write all numbers, with intervals and sources")
    predict.add_argument("--record", action="store_true", help=f"keep the forecast in {FORECASTS} beside the build")
    predict.add_argument("--store", type=Path, metavar="FILE", help="keep the forecast in this file")
    predict.add_argument("--figures", type=Path, metavar="DIR", help="draw figures, PDF and PNG")

    score = commands.add("score", _score, "compare recorded forecasts with measurements, quantity by quantity")
    score.add_argument(
        "--store",
        type=Path,
        default=Path(FORECASTS),
        metavar="FILE",
        help=f"file that predict --record wrote (default {FORECASTS})",
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
        help="largest good error of a forecast that has no interval (default 10)",
    )

    fit = commands.add("fit", _fit, "fit EEE parameters to measurements")
    fit.add_argument("--pairs", type=Path, metavar="FILE", help="CSV of gap_seconds,overhead_seconds")
    fit.add_argument(
        "--regular", action="store_true", help="the gaps of a pair were all equal, not random with that mean"
    )
    fit.add_argument("--known-timeout", type=float, metavar="S", help="the time-out, if it is known")
    fit.add_argument(
        "--probe", type=Path, metavar="FILE", help="a file of tagloom measure idle-gap, instead of --pairs"
    )
    fit.add_output("-o", "--output", help="write the parameters here, for predict --eee")

    sweep = commands.add("sweep", _sweep, "forecast all combinations of time-outs, traffic and settings")
    sweep.add_argument("sweep", type=Path, metavar="SWEEP", help="YAML: build, and lists: traffic, settings, timeouts")
    sweep.add_argument("--jobs", type=int, metavar="N", help="processes (default: one for each core)")
    sweep.add_argument("--scheduler", metavar="ADDRESS", help="a Dask cluster's scheduler instead, tcp://host:port")
    sweep.add_output("-o", "--output", gathered=True, help="write all figures, .csv or .json")

    eee = commands.add("eee", _eee, "compute what EEE saves and costs on one link")
    eee.add_argument("--phy", required=True, metavar="PHY", help="1000BASE-T, 10GBASE-T, ..., or PowerConnect-5548")
    eee.add_argument(
        "--load", type=float, required=True, metavar="R", help="share of the time the link sends, from 0, below 1"
    )
    eee.add_argument(
        "--idle-timeout",
        "--timeout",
        dest="timeout",
        type=float,
        metavar="S",
        help="idle seconds before the link sleeps (0: at once)",
    )
    eee.add_argument("--ts", type=float, metavar="S", help="seconds to fall asleep (default: the PHY's)")
    eee.add_argument("--tw", type=float, metavar="S", help="seconds to wake (default: the PHY's)")
    eee.add_argument(
        "--lpi-power", type=float, metavar="F", help="power asleep divided by power awake (default: 0.1, or the PHY's)"
    )
    eee.add_argument("--frame-bytes", type=float, default=1500, metavar="N", help="bytes of every frame (default 1500)")
    eee.add_argument(
        "--both-directions",
        action="store_true",
        help="both directions carry the load; 1000BASE-T sleeps only when both are idle",
    )
    bursts = eee.add_mutually_exclusive_group()
    bursts.add_argument(
        "--burst",
        type=int,
        metavar="N",
        help="frames that follow one another without a gap, at random times (default: frames at random times, and the "
        "range from evenly spaced frames to bursts of 100)",
    )
    bursts.add_argument(
        "--bursty", dest="burst", action="store_const", const=BURSTY, help=f"the same as --burst {BURSTY}"
    )
    eee.add_argument("--refresh", action="store_true", help="count the refresh signals sent while asleep")
