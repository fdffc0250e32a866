"""Read what is run on a fabric, from files of all networks of hosts, or of each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.inputs import placement_of, traffic_given
from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from tagloom.cli.inputs import Findings
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.simulation import Program
    from tagloom.records.traffic import Run, Traffic

    Given = tuple[Traffic | None, Program | None, tuple[Run, ...]]

OPTIONS = ("--traffic", "--profile", "--trace")
NOTHING_RUNS: Given = (None, None, ())


def words_of(args: argparse.Namespace) -> dict[str, list[str]]:
    """Return the words of each option that says what runs."""
    return {option: getattr(args, option[2:]) or [] for option in OPTIONS}


def exclusive(words: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Return a finding where messages in their order are given beside others."""
    both = words["--trace"] and (words["--traffic"] or words["--profile"])
    return [Finding("--trace", "the messages of a run, or --traffic and --profile", "both")] if both else []


def files_in(words: Sequence[str]) -> list[Path]:
    """Return the files in words [NETWORK=]FILE, whatever the networks."""
    return [Path(word if Path(word).exists() else word.partition("=")[2] or word) for word in words]


def what_runs(args: argparse.Namespace, build: Build, all_found: Findings) -> Given:
    """Return the traffic of all networks, the messages if their order is known, and each network's run if given so."""
    from tagloom.read.runs import files_by_network

    words, fabric = words_of(args), build.fabric
    files = {
        option: all_found.of(partial(files_by_network, option, words[option], fabric), dict[str, Path]())
        for option in OPTIONS
    }
    if files["--profile"].keys() == {""} and files["--traffic"].keys() - {""}:
        expected = "NETWORK=FILE, as --traffic has it, or one file each for all networks"
        all_found.findings.append(Finding("--profile", expected, str(files["--profile"][""])))
    if not any(files[option].keys() - {""} for option in OPTIONS):
        whole = {option: each.get("") for option, each in files.items()}
        traffic, program = _of_hosts(args, fabric, whole, None, all_found, lambda _: build.routes)
        if traffic is not None and traffic.unknown and len(fabric.networks) > 1:
            expected = "what was sent, where hosts are in several networks: --traffic FILE"
            all_found.findings.append(Finding("--profile", expected, "times and calls alone"))
        return traffic, program, ()
    return _of_each(args, build, files, all_found)


def _of_each(args: argparse.Namespace, build: Build, files: dict[str, dict[str, Path]], all_found: Findings) -> Given:
    """Read the files of each network for its hosts alone: rank i runs on the network's host i."""
    from tagloom.read.runs import program_of, run_of, silent_runs
    from tagloom.records.simulation import joined_programs
    from tagloom.records.traffic import together

    fabric = build.fabric
    parts = dict(zip(fabric.networks, fabric.by_network, strict=True))
    all_of, whole = files["--traffic"].get(""), None
    if all_of is not None:
        place = placement_of(args), args.seconds, args.ranks
        whole = all_found.of(lambda: traffic_given(all_of, fabric, lambda: build.routes, *place))
    found: dict[str, Run] = {}
    programs: list[Program] = []
    for name, part in parts.items():
        own = {option: named.get(name) for option, named in files.items()}
        start = None if whole is None else whole.of_hosts(fabric.networks[name].tolist())
        if not any(own.values()) and start is None:
            continue
        traffic, program = _of_hosts(args, part, own, start, all_found, _no_history)
        if traffic is None:
            continue
        if traffic.unknown:
            expected = f"what was sent beside times and calls: --traffic {name}=FILE"
            all_found.findings.append(Finding(f"--profile {name}", expected, "nothing said"))
        if traffic.seconds is None and program is None and traffic.messages.any():
            expected = "how long it took (a line '# seconds: N', or --seconds)"
            all_found.findings.append(Finding(f"traffic of {name}", expected, "nothing said"))
        found[name] = run_of(fabric, name, traffic)
        if program is not None:
            programs.append(program_of(fabric, name, program))
    all_found.end()
    return together([*found.values()]), joined_programs(programs) if programs else None, silent_runs(fabric, found)


def _of_hosts(
    args: argparse.Namespace,
    fabric: Fabric,
    files: dict[str, Path | None],
    traffic: Traffic | None,
    all_found: Findings,
    routes: Callable[[Path], Any],
) -> tuple[Traffic | None, Program | None]:
    """Read one file of each option for the hosts of a fabric; `routes` returns those that a file's counters saw."""
    from tagloom import pipeline
    from tagloom.read import read_messages
    from tagloom.read.runs import with_profile

    place, program = (placement_of(args), args.seconds, args.ranks), None
    if file := files["--traffic"]:
        traffic = all_found.of(lambda: traffic_given(file, fabric, lambda: routes(file), *place))
    if trace := files["--trace"]:
        both: Any = all_found.of(lambda: read_messages(trace, fabric, placement_of(args)))
        program, traffic = both if both is not None else (None, None)
        if traffic is not None and args.seconds is not None:
            traffic = replace(traffic, seconds=args.seconds)
    if profile_file := files["--profile"]:
        profile = all_found.of(lambda: pipeline.traffic_of(profile_file, fabric, *place, profile=True))
        if profile is not None:
            given = traffic
            traffic = all_found.of(lambda: with_profile(given, profile, f"--profile {profile_file}"))
    return traffic, program


def _no_history(file: Path) -> Any:
    expected = "a file of messages or bytes; counters are of all networks (--traffic FILE, without NETWORK=)"
    raise InputError([Finding(str(file), expected, "a history of observe")])
