"""Read the running configurations of all switches into files, side by side."""  # noqa: INP001 - Ansible loads plugins by path

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.host_variables import host_variables, hosts_taking_part
from tagloom.adapters.ssh import Access
from tagloom.adapters.worker_pool import run_parallel
from tagloom.apply.controller import check_package
from tagloom.apply.private_files import write_fault, write_private
from tagloom.errors import Finding, InputError, TagloomError
from tagloom.platforms.detect import mistaken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tagloom.adapters.worker_pool import Turn

MODEL = "tagloom_model"


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """Unpack the arguments, read, write. Passwords are read from the hosts' variables, never from arguments."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write ``SWITCH.cfg``, also in check mode: it changes no switch. `unread` says of the others why not."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "directory": {"type": "path", "required": True},
                "package": {"type": "str", "default": ""},
                "registered": {"type": "str", "default": ""},
            }
        )
        try:
            check_package(arguments["package"])
        except InputError as error:
            return result | {"failed": True, "msg": str(error)}
        directory = Path(arguments["directory"]).absolute()
        by_hand = not arguments["package"]
        hosts = hosts_taking_part(task_vars or {}, arguments["registered"] if by_hand else "")
        variables = partial(host_variables, self, task_vars or {}, names=(*Access.VARIABLES, MODEL))

        def prepare(switch: str) -> Callable[[Turn], str]:
            try:
                return partial(fetch, switch, variables(host=switch), directory)
            except AnsibleError as error:
                return lambda _turn, said=str(error): said

        found = run_parallel(prepare, hosts)
        unread = {host: said for host in hosts if (said := found.get(host, "the process that spoke to it is gone"))}
        write_private(directory / "unread.json", json.dumps(unread))
        return result | {"changed": False, "unread": unread}


def fetch(switch: str, variables: Mapping[str, Any], directory: Path, _turn: Turn) -> str:
    """Write one switch's running configuration, or say why that could not be done."""
    model = str(variables.get(MODEL, ""))
    if not platforms.is_model(model):
        return str(Finding(f"{switch}: {MODEL}", "a model that tagloom knows", model or "none"))
    try:
        with connect(switch, platforms.load(model), Access.of_host(variables)) as connection:
            if wrong := mistaken(model, connection.identity(), switch):
                return str(wrong[0])
            write_private(directory / f"{switch}.cfg", connection.running_configuration())
    except (TagloomError, OSError) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a fault of ours is one switch's, and is told like any other
        return write_fault(directory / "faults" / f"{switch}.txt", error)
    return ""
