"""Return what a push needs to know of its waves and switches, whoever sends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tagloom.apply.build import between, fabric_file, left_alone, own_wave, ports_of, pruned_of, read_waves
from tagloom.errors import Finding, InputError
from tagloom.read import read_fabric
from tagloom.render import site_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from tagloom.apply.build import WaveOrder
    from tagloom.apply.run_directory import Job
    from tagloom.records.fabric import Fabric


def order_of(job: Job, play: Sequence[str], inventory: Collection[str], *, by_hand: bool = False) -> dict[str, Any]:
    """Return what a push needs to know of a job's waves and switches, and the `hosts` it reaches for.

    `play` are the hosts that Ansible was limited to. A run `by_hand` sends the operator's own lines in a last wave of
    their own; a command has that done by a job of its own. It needs all switches that the waves change, since nothing
    proves what a part of them would do. Raises InputError.
    """
    waves, fabric = read_waves(job.build), read_fabric(fabric_file(job.build))
    aside = left_alone(job.build)
    same_switches(fabric, [host for host in play if host not in aside], inventory, named=len(play) < len(inventory))
    live = {switch.name for switch in fabric.live}  # a dead switch is never contacted
    play = [host for host in play if host in live and (not job.limit or host in job.limit)]
    wanted = between(waves, job.first_wave, job.last_wave, check=job.check)
    own_lines = job.own_lines
    if by_hand:
        whole_waves(wanted, fabric, play, job.build)
        target = job.build / "build" / "fabric.yml"
        led = site_lines(read_fabric(target) if target.is_file() else fabric)
        own_lines = {name: [line.to_json() for line in lines] for name, lines in led.items()}
    if job.only_own:
        wanted = [own_wave(waves, waves[-1].number)]
    elif by_hand and own_lines and not job.check:
        wanted.append(own_wave(waves, waves[-1].number + 1))
    first = max(1, job.first_wave)
    numbers = [wave.number for wave in wanted]
    befores = dict(zip(numbers, [None, *numbers[:-1]], strict=True))
    return {
        "hosts": play,
        "waves": {
            str(wave.number): wave.to_json()
            | {
                "switches": reached(wave, play),
                "ahead": job.check and wave.number > first,
                "proven": [job.proven[wave.number], job.proven[max(0, wave.number - 1)]] if job.proven else ["", ""],
                "after": befores[wave.number],
                "last": wave.number == numbers[-1],
            }
            for wave in wanted
        },
        "switches": [switch.name for switch in fabric.live],
        "own_lines": own_lines,
        "check": job.check,
        "journal": job.journal,
        "reload_seconds": job.reload_seconds,
        "call_off": list(job.call_off),
        "run": job.run,
        "models": {switch.name: switch.model for switch in fabric.switches},
        "firmware": {switch.name: dict(switch.firmware) for switch in fabric.switches},
        "templates": dict(fabric.templates),
        "ports": {name: list(ports) for name, ports in ports_of(job.build, fabric).items()},
        "pruned": pruned_of(job.build),
        "in_band": fabric.management is not None,
    }


def reached(wave: WaveOrder, play: Sequence[str]) -> list[str]:
    """List the hosts of the play that a wave reaches for, in the order in which they begin."""
    return list(play) if wave.switches is None else [name for name in wave.switches if name in play]


def whole_waves(waves: Sequence[WaveOrder], fabric: Fabric, play: Collection[str], build: Path) -> None:
    """See that a play has all switches that waves change. Raises InputError."""
    live = [switch.name for switch in fabric.live]
    needed = {name for wave in waves for name in (live if wave.switches is None else wave.switches)}
    advice = f"in the play, as the proof needs every switch; for a part of them: tagloom apply {build} --limit HOSTS"
    left_out = "left out by hosts, --limit, serial or a condition, or because it failed"
    if missing := [Finding(name, advice, left_out) for name in live if name in needed and name not in play]:
        raise InputError(missing)


def same_switches(fabric: Fabric, play: Collection[str], inventory: Collection[str], *, named: bool) -> None:
    """See that the inventory has all switches of the fabric. Raises InputError.

    Others in it, such as one that comes with the next build, are left alone: they are findings where the play was
    limited to some hosts that were `named`, or where switches of the fabric are missing.
    """
    names = [switch.name for switch in fabric.switches]
    strange = [Finding(host, f"a switch of fabric {fabric.name}", "none") for host in play if host not in fabric.index]
    missing = [
        Finding(name, "a switch that the inventory has", "no host of that name")
        for name in names
        if name not in inventory
    ]
    if missing or (strange and named):
        raise InputError([*strange, *missing])
