"""Read one switch's running configuration into a file. Loaded before Ansible forks, and netmiko with it."""  # noqa: INP001 - Ansible loads plugins by path

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access
from tagloom.apply.keep import write_private
from tagloom.errors import TagloomError
from tagloom.platforms.detect import mistaken

gc.freeze()  # what Ansible holds by now is of no use to a worker: its collector would walk, and so copy, all of it


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """Unpack the arguments, read, write. Passwords are read from the host's variables, never from arguments."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write ``SWITCH.cfg``, also in check mode: it changes no switch."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {"model": {"type": "str", "required": True}, "directory": {"type": "path", "required": True}}
        )
        variables = task_vars or {}
        switch = str(variables["inventory_hostname"])
        path = Path(arguments["directory"]).absolute() / f"{switch}.cfg"
        access = {name: self._templar.template(variables[name]) for name in Access.VARIABLES if name in variables}
        try:
            with connect(switch, platforms.load(arguments["model"]), Access.of_host(access)) as connection:
                if wrong := mistaken(arguments["model"], connection.identity(), switch):
                    return result | {"failed": True, "msg": str(wrong[0])}
                write_private(path, connection.running_configuration())
        except TagloomError as error:
            return result | {"failed": True, "msg": str(error)}
        return result | {"changed": False, "path": str(path)}
