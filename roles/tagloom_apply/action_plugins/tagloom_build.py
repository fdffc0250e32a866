"""Read a build once for all hosts: its waves, and each switch's model, firmware and ports."""  # noqa: INP001 - Ansible loads plugins by path

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from tagloom.adapters.host_variables import host_variables, hosts_taking_part
from tagloom.adapters.ssh import SSH_PORT, Access
from tagloom.apply.build import refuse_unallowed
from tagloom.apply.controller import Controller, check_package
from tagloom.apply.run_directory import Job, RunDirectory
from tagloom.errors import Finding, InputError
from tagloom.operate.push_order import order_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STRATEGIES = ("linear", "debug")  # those under which a task that runs once runs once


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """Unpack the arguments, read, and see that the play's hosts and the build's switches are the same."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write the order that `tagloom_push` reads; give `waves` in brief, and the absolute `directory` of the run.

        `refused` says why a push would be refused that check mode looks at, "" if it would not.

        With a `controller`, what is to be done is asked of that, and there may be more (`again`) until it has ended.
        To one that asks how switches are logged in to that is told over its line, and nothing is written.
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
                "registered": {"type": "str", "default": ""},
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
        if files.read_job().access:
            controller.tell_access(access_of(self, variables))
            return result | {"changed": False, "waves": [], "directory": "", "again": True}
        try:
            check_package(arguments["package"])
            refused = refusal_of(Path(arguments["build"]), arguments["allow"]) if controller.by_hand else None
            if refused is not None and not self._task.check_mode:
                raise refused
            inventory = variables["groups"]["all"]
            if controller.by_hand:
                play = hosts_taking_part(variables, arguments["registered"])
                check_strategy(self._task.get_play().strategy)
            else:
                play = list(variables["ansible_play_hosts_all"])
            order = order_of(files.read_job(), play, inventory, by_hand=controller.by_hand)
        except InputError as error:
            files.findings.write_text(json.dumps([finding.to_json() for finding in error.findings]), "utf-8")
            return result | {"failed": True, "msg": str(error)}
        hosts = order.pop("hosts")
        files.hosts.write_text(json.dumps(hosts), "utf-8")
        files.addresses.write_text(json.dumps(addresses_of(self, variables, hosts)), "utf-8")
        files.order.write_text(json.dumps(order), "utf-8")
        how = ": a look" if order["check"] else ""
        brief = [{"number": wave["number"], "name": f"{wave['name']}{how}"} for wave in order["waves"].values()]
        again = not controller.by_hand
        page = {"waves": brief, "directory": str(files.path), "again": again, "refused": str(refused or "")}
        return result | {"changed": False} | page


def refusal_of(build: Path, allow: str) -> InputError | None:
    """Return why a push is refused that needs more than is allowed, None if it is not."""
    try:
        refuse_unallowed(build, allow)
    except InputError as error:
        return error
    return None


def check_strategy(strategy: str) -> None:
    """Raise InputError for a strategy of Ansible under which each host would push for all of them."""
    if strategy.rpartition(".")[2] not in STRATEGIES:
        raise InputError([Finding("strategy of the play", " or ".join(STRATEGIES), strategy)])


def addresses_of(
    action: ActionModule, variables: Mapping[str, Any], hosts: Sequence[str]
) -> dict[str, tuple[str, int]]:
    """Return where hosts are reached; without those whose variables fail, as their pushes will."""
    found = {}
    for host in hosts:
        try:
            known = host_variables(action, variables, host, ("ansible_host", "ansible_port"))
            found[host] = str(known.get("ansible_host") or host), int(known.get("ansible_port") or SSH_PORT)
        except (AnsibleError, TypeError, ValueError):
            continue
    return found


def access_of(action: ActionModule, variables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return by host how it is logged in to, as Ansible's templates give it; without those whose variables fail."""
    found = {}
    for host in variables["ansible_play_hosts_all"]:
        try:
            found[host] = host_variables(action, variables, host, (*Access.VARIABLES, Access.OUT_OF_BAND))
        except AnsibleError:
            continue
    return found
