"""Answer the command line: the only file that prints, reads the environment or exits."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tagloom import __version__
from tagloom.errors import DeviceError, Finding, InputError, PlanError, TagloomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tagloom.apply.outcomes import Outcomes
    from tagloom.pipeline import Build

GOOD, NO, BAD_INPUT, DEVICE_FAILED = 0, 1, 2, 3
LAB = Path("inventory/lab")
DEFAULT_MODEL = "powerconnect-5324"
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
        args.name or args.family, args.family, tuple(args.dims), args.parallel, args.hosts, args.model
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
    with screen.waiting("routing, weaving and proving"):
        build, proof, texts = pipeline.plan(
            fabric, templates, routing=args.routing, assignment=args.assignment, previous=previous
        )
        summary = build.summary(proof)
        if proof.proven:
            pipeline.write_build(build, summary, texts, args.output)
    screen.say(*terminal.plan_lines(fabric, summary), *terminal.proof_lines(proof, len(fabric.hosts)))
    if proof.proven:
        wrote = f"{args.output}/ ({terminal.count(len(texts), 'configuration')}, plan.json)"
        screen.say(
            f"wrote     {wrote} in {time.monotonic() - start:.1f} s",
            f"next      tagloom apply {args.output} --check --diff",
        )
    else:
        screen.say("the plan does not prove; nothing was written", "next      another --routing or --assignment")
    screen.answer(summary)
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
    else:
        fabric, routes, configs = read_fabric(args.fabric), None, args.configs
    with screen.waiting("proving"):
        _, proof = pipeline.prove(fabric, pipeline.read_texts(fabric, configs), routes)
    screen.say(*terminal.row("read", f"{terminal.count(len(fabric.switches), 'configuration')} of {configs}"))
    screen.say(*terminal.proof_lines(proof, len(fabric.hosts)))
    screen.say("" if proof.proven else "not proven", *([] if proof.proven else ["next      tagloom plan, or mend the lines above"]))
    screen.answer(proof.as_json())
    return GOOD if proof.proven else NO


def _rollout(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above
    from tagloom.share import share_directory  # noqa: PLC0415 - as above

    old, new = pipeline.read_build(args.old), pipeline.read_build(args.new)
    with screen.waiting("ordering and proving waves"):
        change = pipeline.rollout_between(old, new)
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
    traffic = pipeline.traffic_of(args.traffic, fabric, args.placement, None)
    with screen.progress("links tried") as note:
        settings = pipeline.regulate(fabric, traffic, args.routing, args.assignment, note)
    page = pipeline.settings_page(fabric, settings)
    screen.say(*terminal.settings_lines(page))
    if args.output is not None:
        _write(args.output, json.dumps(page, indent=2) + "\n")
        screen.say(f"wrote     {args.output}", f"next      tagloom plan {args.fabric} --settings {args.output} -o build")
    screen.answer(page)
    return GOOD


def _predict(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom import pipeline  # noqa: PLC0415 - as above
    from tagloom.predict.eee import POWERCONNECT_5548, Eee  # noqa: PLC0415 - as above
    from tagloom.report import terminal  # noqa: PLC0415 - as above

    build = pipeline.read_build(args.build)
    everything_on = build.fabric.with_links_up()
    after = pipeline.with_links_off(build.fabric, [], args.settings)
    traffic = pipeline.traffic_of(args.traffic, after, args.placement, args.seconds) if args.traffic else None
    eee = POWERCONNECT_5548
    if args.eee is not None:
        try:
            timeout, sleep, wake = (float(x) for x in args.eee.split(","))
        except ValueError:
            raise InputError([Finding("--eee", "TIMEOUT,TS,TW in seconds", repr(args.eee))]) from None
        if min(timeout, sleep, wake) < 0:
            raise InputError([Finding("--eee", "times from 0", repr(args.eee))])
        eee = Eee(timeout, sleep, wake)
    page = terminal.forecast_page(pipeline.predict(everything_on, after, traffic, eee))
    screen.say(*terminal.forecast_lines(page))
    screen.answer(page)
    return GOOD


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise InputError([Finding(str(path), "a file that can be written", error.strerror or str(error))]) from None
