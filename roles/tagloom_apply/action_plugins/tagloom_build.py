"""Read a build once for all hosts: its waves, and each switch's model, firmware and ports."""  # noqa: INP001 - Ansible loads plugins by path

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from tagloom.adapters.host_variables import host_variables
from tagloom.adapters.ssh import SSH_PORT
from tagloom.apply.build import (
    between,
    fabric_file,
    left_alone,
    own_wave,
    ports_of,
    pruned_of,
    read_waves,
    refuse_unallowed,
)
from tagloom.apply.controller import Controller, check_package
from tagloom.apply.run_directory import Job, RunDirectory
from tagloom.errors import Finding, InputError
from tagloom.read import read_fabric
from tagloom.render import site_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tagloom.apply.build import WaveOrder
    from tagloom.records.fabric import Fabric


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """Unpack the arguments, read, and see that the play's hosts and the build's switches are the same."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write the order that `tagloom_push` reads; give `waves` in brief, and the absolute `directory` of the run.

        With a `controller`, what is to be done is asked of that, and there may be more (`again`) until it has ended.
        """
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "build": {"type": "path", "required": True},
                "directory": {"type": "path", "required": True},
                "first_wave": {"type": "int", "default": 0},
                "last_wave": {"type": "int", "default": 0},
                "controller": {"type": "int", "default": -1},
                "package": {"type": "str", "default": ""},
                "allow": {"type": "str", "default": "", "choices": ["", "drain", "interrupt"]},
            }
        )
        controller = Controller(arguments["controller"])
        if controller.by_hand:
            files = RunDirectory(Path(arguments["directory"]).absolute())
            waves = {name: arguments[name] for name in ("first_wave", "last_wave")}
            files.start(Job(Path(arguments["build"]).absolute(), check=self._task.check_mode, **waves))
        elif directory := controller.job():
            files = RunDirectory(directory)
        else:
            return result | {"changed": False, "waves": [], "directory": "", "again": False}
        variables = task_vars or {}
        try:
            check_package(arguments["package"])
            if controller.by_hand and not self._task.check_mode:
                refuse_unallowed(Path(arguments["build"]), arguments["allow"])
            play, inventory = list(variables["ansible_play_hosts_all"]), variables["groups"]["all"]
            order = order_of(files.read_job(), play, inventory, by_hand=controller.by_hand)
        except InputError as error:
            files.findings.write_text(json.dumps([finding.to_json() for finding in error.findings]), "utf-8")
            return result | {"failed": True, "msg": str(error)}
        files.hosts.write_text(json.dumps(order.pop("hosts")), "utf-8")
        files.addresses.write_text(json.dumps(addresses_of(self, variables)), "utf-8")
        files.order.write_text(json.dumps(order), "utf-8")
        how = ": a look" if order["check"] else ""
        brief = [{"number": wave["number"], "name": f"{wave['name']}{how}"} for wave in order["waves"].values()]
        again = not controller.by_hand
        return result | {"changed": False, "waves": brief, "directory": str(files.path), "again": again}


def addresses_of(action: ActionModule, variables: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """Return where each host of the play is reached; without those whose variables fail, as their pushes will."""
    found = {}
    for host in variables["ansible_play_hosts_all"]:
        try:
            known = host_variables(action, variables, host, ("ansible_host", "ansible_port"))
            found[host] = str(known.get("ansible_host") or host), int(known.get("ansible_port") or SSH_PORT)
        except (AnsibleError, TypeError, ValueError):
            continue
    return found


def order_of(job: Job, play: Sequence[str], inventory: Collection[str], *, by_hand: bool = False) -> dict[str, Any]:
    """Return what a push needs to know of a job's waves and switches, and the `hosts` it reaches for.

    `play` are the hosts that Ansible was limited to. A run `by_hand` sends the operator's own lines in a last wave of
    their own; a command has that done by a job of its own. Raises InputError.
    """
    waves, fabric = read_waves(job.build), read_fabric(fabric_file(job.build))
    aside = left_alone(job.build)
    play = [host for host in play if host not in aside]
    same_switches(fabric, play, inventory)
    live = {switch.name for switch in fabric.live}  # a dead switch is never contacted
    play = [host for host in play if host in live and (not job.limit or host in job.limit)]
    wanted = between(waves, job.first_wave, job.last_wave, check=job.check)
    own_lines = job.own_lines
    if by_hand:
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


def same_switches(fabric: Fabric, play: Collection[str], inventory: Collection[str]) -> None:
    """See that the play has switches of the fabric alone, and the inventory all of them. Raises InputError."""
    names = [switch.name for switch in fabric.switches]
    strange = [Finding(host, f"a switch of fabric {fabric.name}", "none") for host in play if host not in fabric.index]
    missing = [Finding(name, "a host of the inventory", "none of that name") for name in names if name not in inventory]
    if strange or missing:
        raise InputError([*strange, *missing])
