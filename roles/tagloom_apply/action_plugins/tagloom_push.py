"""Push one wave to all switches that it changes, side by side."""  # noqa: INP001 - Ansible loads plugins by path

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from tagloom.adapters.connect import connect
from tagloom.adapters.host_variables import host_variables
from tagloom.adapters.ssh import Access
from tagloom.adapters.worker_pool import run_parallel
from tagloom.apply.build import proven_texts
from tagloom.apply.controller import Controller
from tagloom.apply.gate import Gate
from tagloom.apply.outcomes import Fault, Outcome
from tagloom.apply.private_files import write_fault
from tagloom.apply.run_directory import RunDirectory
from tagloom.apply.switch_locks import SwitchLocks
from tagloom.errors import InputError, TagloomError
from tagloom.operate.one_switch import Reach, configure_one
from tagloom.share import share_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tagloom.adapters.worker_pool import Turn
    from tagloom.platforms import Platform

SECRETS = "tagloom_secrets"


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """Unpack the arguments, call tagloom.apply, leave each switch's outcome in the run's directory.

    Passwords are read from the hosts' variables here, and so never are arguments that Ansible could show.
    """

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:  # noqa: C901 - every way that a push can end, one after the other
        """Bring the wave's switches to its target, in check mode say what that would take.

        What changed or failed is another host's than this task's: `tagloom_outcome` tells of it.
        """
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "wave": {"type": "int", "required": True},
                "directory": {"type": "path", "required": True},
                "controller": {"type": "int", "default": -1},
            }
        )
        files = RunDirectory(Path(arguments["directory"]))
        order = json.loads(files.order.read_text("utf-8"))
        controller = Controller(arguments["controller"])
        gate = Gate(files, order, arguments["wave"], controller)
        if not gate.reached:
            return result | {"changed": False, "skipped": True}
        if controller.by_hand and gate.first:  # all waves are pushed by this process
            try:
                SwitchLocks().take(json.loads(files.addresses.read_text("utf-8")))  # until this process ends
            except TagloomError as error:
                return result | {"failed": True, "msg": str(error)}
        if not gate.approach():
            return result | {"failed": True, "msg": gate.reason}
        own = order["templates"].items()
        wave, held = gate.wave, {} if order["check"] else files.last_read()
        try:
            texts = [
                proven_texts(Path(directory), order["switches"], proven, own) if directory else {}
                for directory, proven in zip((wave["configs"], wave["expected"]), wave["proven"], strict=True)
            ]
        except InputError as error:
            return result | {"failed": True, "msg": f"stopped before wave {wave['number']}: {error}"}
        names = (*Access.VARIABLES, Access.OUT_OF_BAND, *([SECRETS] if order["own_lines"] else []))
        variables = partial(host_variables, self, task_vars or {}, names=names)

        def prepare(switch: str) -> Callable[[Turn], Outcome | None]:
            def push(turn: Turn) -> Outcome | None:
                try:
                    outcome = configure_one(switch, order, wave, texts, reach_of(known), files, turn, held.get(switch))
                except (TagloomError, OSError) as error:  # no target, or no journal: nothing was sent
                    outcome = failed(str(error))
                except Exception as error:  # noqa: BLE001 - a fault of ours is one switch's, and is told like any other
                    said = write_fault(files.fault(switch), error)
                    outcome = failed(f"{said}; what it was about to send is in the journal")
                return written(outcome, turn)

            def failed(error: str) -> Outcome:
                return Outcome(switch, wave["name"], wave["number"], error=error, fault=Fault.CONTROLLER)

            try:
                known = variables(host=switch)
            except AnsibleError as error:
                return partial(written, failed(f"nothing was sent: {error}"))
            return push

        def written(outcome: Outcome, turn: Turn) -> Outcome | None:
            if not turn():  # the wave has not begun: nothing became of its switches
                return None
            files.write(outcome)
            return outcome

        outcomes = run_parallel(prepare, wave["switches"], gate.wait_for_wave)
        if gate.reason:
            return result | {"failed": True, "msg": gate.reason}
        if len(outcomes) == len(wave["switches"]) and not any(
            each is None or each.failed for each in outcomes.values()
        ):
            gate.close()
        return result | {"changed": False}


def reach_of(variables: Mapping[str, Any]) -> Reach:
    """Return how a switch of these variables is reached."""

    def connection(switch: str, platform: Platform) -> Any:
        return connect(switch, platform, Access.of_host(variables))

    return Reach(connection, share_directory() / "templates", Access.out_of_band(variables), variables.get(SECRETS))
