"""Read a build once for all hosts: its waves, and each switch's model, firmware and ports."""  # noqa: INP001 - Ansible loads plugins by path

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.plugins.action import ActionBase

from tagloom.apply.build import between, fabric_file, read_waves
from tagloom.apply.playbook import WORD, RunDirectory
from tagloom.errors import Finding, InputError
from tagloom.read import read_fabric

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tagloom.apply.build import WaveOrder
    from tagloom.records.fabric import Fabric


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """Unpack the arguments, read, and see that the play's hosts and the build's switches are the same."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write the order that `tagloom_push` reads; give `waves` in brief, and the absolute `directory` of the run."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "build": {"type": "path", "required": True},
                "directory": {"type": "path", "required": True},
                "first_wave": {"type": "int", "default": 0},
                "last_wave": {"type": "int", "default": 0},
                "controller": {"type": "int", "default": -1},
            }
        )
        if arguments["controller"] >= 0 and not os.read(arguments["controller"], len(WORD)):
            return result | {"failed": True, "msg": "Ended before it began: the command that started it did not go on."}
        variables = task_vars or {}
        build, files = Path(arguments["build"]).absolute(), RunDirectory(Path(arguments["directory"]).absolute())
        if arguments["controller"] < 0:  # else the command that started this has begun it
            files.start()
        play = list(variables["ansible_play_hosts_all"])
        try:
            waves, fabric = read_waves(build), read_fabric(fabric_file(build))
            same_switches(fabric, play, variables["groups"]["all"])
        except InputError as error:
            files.findings.write_text(json.dumps([finding.as_json() for finding in error.findings]), "utf-8")
            return result | {"failed": True, "msg": str(error)}
        files.hosts.write_text(json.dumps(play), "utf-8")
        names = [switch.name for switch in fabric.switches]
        wanted = between(waves, arguments["first_wave"], arguments["last_wave"], check=self._task.check_mode)
        first = max(1, arguments["first_wave"])
        order = {
            "waves": {
                str(wave.number): wave.as_json()
                | {"switches": reached(wave, play), "ahead": self._task.check_mode and wave.number > first}
                for wave in wanted
            },
            "models": {switch.name: switch.model for switch in fabric.switches},
            "firmware": {switch.name: dict(switch.firmware) for switch in fabric.switches},
            "ports": dict(zip(names, map(list, fabric.used_ports), strict=True)),
            "in_band": fabric.management is not None,
        }
        files.order.write_text(json.dumps(order), "utf-8")
        brief = [{"number": w.number, "name": w.name, "drain_seconds": w.drain_seconds} for w in wanted]
        return result | {"changed": False, "waves": brief, "directory": str(files.path)}


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
