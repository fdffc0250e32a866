"""Report to Ansible what became of one switch in all waves of a run."""  # noqa: INP001 - Ansible loads plugins by path

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.plugins.action import ActionBase

from tagloom.apply.run_directory import RunDirectory

if TYPE_CHECKING:
    from tagloom.apply.outcomes import Outcome


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """Read the outcomes that `tagloom_push` left of this host."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return `changed`, `failed`, the lines as `commands` and `sent`, and a `diff` for each wave."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec({"directory": {"type": "path", "required": True}})
        switch = str((task_vars or {})["inventory_hostname"])
        files = RunDirectory(Path(arguments["directory"]))
        outcomes = files.read_switch(switch)
        wrong = [outcome.trouble for outcome in outcomes if outcome.failed]
        last = files.begun.read_text("utf-8")
        reached = json.loads(files.order.read_text("utf-8"))["waves"][last]["switches"]
        if switch in reached and int(last) not in [outcome.number for outcome in outcomes]:
            wrong.append(f"{switch}: no word from it: the process that spoke to it is gone")
        return result | {
            "changed": any(_differs(outcome) for outcome in outcomes),
            "commands": [line for outcome in outcomes for line in outcome.commands],
            "sent": [line for outcome in outcomes for line in outcome.sent],
            **({"diff": [_difference(each) for each in outcomes if _differs(each)]} if self._task.diff else {}),
            **({"failed": True, "msg": "; ".join(wrong)} if wrong else {}),
        }


def _differs(outcome: Outcome) -> bool:
    """Return whether a switch was changed, or would be."""
    return outcome.changed or bool(outcome.own_lines and not outcome.failed)


def _difference(outcome: Outcome) -> dict[str, str]:
    """Return what Ansible shows as a diff."""
    headers = {"before_header": outcome.switch, "after_header": f"{outcome.switch} ({outcome.wave})"}
    own_lines = "".join(f"{line}\n" for line in outcome.own_lines)
    return {"before": outcome.before, "after": outcome.after + own_lines, **headers}
