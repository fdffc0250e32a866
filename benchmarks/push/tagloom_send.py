"""Send lines to one switch as `tagloom apply` does, without its read-back, journal and save."""

from __future__ import annotations

import gc
from typing import Any

from ansible.plugins.action import ActionBase

from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access

gc.freeze()  # what Ansible holds by now is of no use to a worker: its collector would walk, and so copy, all of it


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """Unpack the arguments and send."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send `lines`. Raises DeviceError."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        access = {name: self._templar.template(variables[name]) for name in Access.VARIABLES if name in variables}
        platform = platforms.load(str(variables["tagloom_model"]))
        with connect(str(variables["inventory_hostname"]), platform, Access.of_host(access)) as connection:
            connection.send(self._task.args["lines"])
        return result | {"changed": True}
