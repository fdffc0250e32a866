"""Bring together what is known of runs: traffic and profile, and a file for each of several networks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.records.traffic import Run, Traffic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tagloom.records.fabric import Fabric
    from tagloom.records.simulation import Program

TIMES_ONLY = "of the profile, times and calls count: what was sent is the traffic's"
UNNAMED = "--traffic beside the profile names partners, and narrows the interval"


def files_by_network(option: str, words: Sequence[str], fabric: Fabric) -> dict[str, Path]:
    """Read [NETWORK=]FILE, each network once: its files by name, or one file of all, named "". Raises InputError."""
    found: dict[str, Path] = {}
    findings = []
    for word in words:
        name, equals, file = word.partition("=")
        named = bool(equals) and name in fabric.networks
        if len(words) > 1 and not named:
            known = " ".join(fabric.networks) if len(fabric.networks) > 1 else "one network, and so one file"
            findings.append(Finding(option, f"NETWORK=FILE, of {known}", repr(word)))
        elif named and name in found:
            findings.append(Finding(option, f"one file of {name}", f"{found[name]} and {file}"))
        else:
            found[name if named else ""] = Path(file if named else word)
    if findings:
        raise InputError(findings)
    return found


def run_of(fabric: Fabric, network: str, traffic: Traffic) -> Run:
    """Return a run of the hosts of one network, whose `traffic` is in arrays of those hosts alone."""
    hosts, everyone = fabric.networks[network], (len(fabric.hosts),) * 2
    volume, messages = np.zeros(everyone), np.zeros(everyone)
    volume[np.ix_(hosts, hosts)], messages[np.ix_(hosts, hosts)] = traffic.volume_bytes, traffic.messages
    remarks = tuple(f"{network}: {remark}" for remark in traffic.remarks)
    return Run(hosts, replace(traffic, volume_bytes=volume, messages=messages, remarks=remarks))


def program_of(fabric: Fabric, network: str, program: Program) -> Program:
    """Return a program on the hosts of the fabric, from one on those of one network alone."""
    return program._replace(host=fabric.networks[network][program.host])


def silent_runs(fabric: Fabric, runs: Mapping[str, Run]) -> tuple[Run, ...]:
    """Return a run for each network, in order: of those that have none, one that sends nothing."""
    nothing = np.zeros((len(fabric.hosts),) * 2)
    return tuple(runs.get(name, Run(hosts, Traffic(nothing, nothing, 0.0))) for name, hosts in fabric.networks.items())


def with_profile(traffic: Traffic | None, profile: Traffic, where: str) -> Traffic:
    """Return traffic with the run time of a profile and its split; without traffic, the profile's own messages.

    What a profile cannot say of messages is said where they are its own; if it names no partners, what does. One of
    times and calls alone (paraprof) has no messages; `predict.unknown_messages` guesses them.

    Raises InputError if the profile has no run time, or no time inside MPI calls.
    """
    findings = []
    if profile.seconds is None:
        findings.append(Finding(where, "a profile that says how long the run took, or --seconds", "nothing said"))
    if profile.communication_seconds is None:
        expected = "a profile with times inside MPI calls: mpiP, TAU or paraprof --dumpmpisummary"
        findings.append(Finding(where, expected, "none"))
    if traffic is None and not profile.messages.any() and profile.ranks is None:
        expected = "what was sent: --traffic FILE beside a profile that does not say it"
        findings.append(Finding(where, expected, "no messages between hosts"))
    if findings:
        raise InputError(findings)
    if traffic is None:
        return replace(profile, remarks=(*profile.remarks, *((UNNAMED,) if profile.spread else ())))
    own = (TIMES_ONLY,) if profile.messages.any() else profile.remarks
    inside, remarks = profile.communication_seconds, traffic.remarks + own
    return replace(traffic, seconds=profile.seconds, communication_seconds=inside, remarks=remarks, calls=profile.calls)
