"""Begin a wave, once for all hosts, or say why it must not begin."""  # noqa: INP001 - Ansible loads plugins by path

from __future__ import annotations

import select
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

from tagloom.apply.journal import Journal
from tagloom.apply.playbook import RunDirectory
from tagloom.errors import TagloomError


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """Go on only where nobody asked the run to stop and whoever started it lives; write the wave down."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write the wave's number into the run's directory and, where there is one, the journal; `go` says that it did.

        After a wave that did not land on all its switches it does not: Ansible shows what became of each in the end.
        """
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "wave": {"type": "int", "required": True},
                "directory": {"type": "path", "required": True},
                "controller": {"type": "int", "default": -1},
                "journal": {"type": "path"},
                "run": {"type": "int", "default": 0},
            }
        )
        number, files = arguments["wave"], RunDirectory(Path(arguments["directory"]))
        if files.begun.exists() and not files.has_landed(int(files.begun.read_text("utf-8"))):
            return result | {"changed": False, "go": False}
        if files.stop.exists():
            return result | {"failed": True, "msg": f"Stopped before wave {number}, as asked."}
        # Nothing is ever written to this pipe: it is ready to be read once its other end is gone with its process.
        if arguments["controller"] >= 0 and select.select([arguments["controller"]], [], [], 0)[0]:
            return result | {"failed": True, "msg": f"Stopped before wave {number}: the command that began is gone."}
        try:
            files.begun.write_text(str(number), "utf-8")
            if arguments["journal"] and not self._task.check_mode:
                Journal(Path(arguments["journal"])).set_wave(arguments["run"], number)
        except (TagloomError, OSError) as error:
            return result | {"failed": True, "msg": f"Stopped before wave {number}: {error}"}
        return result | {"changed": False, "go": True}
