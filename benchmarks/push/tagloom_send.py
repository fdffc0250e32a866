"""Send lines to all switches as `tagloom apply` does, without its read-back, journal and save."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ansible.plugins.action import ActionBase

from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.host_variables import host_variables
from tagloom.adapters.ssh import Access
from tagloom.adapters.worker_pool import run_parallel

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.adapters.worker_pool import Released


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """Unpack the arguments and send."""

    TRANSFERS_FILES = False
    BYPASS_HOST_LOOP = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send `lines` to every host of the play."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        hosts = list((task_vars or {})["ansible_play_hosts_all"])
        variables = partial(host_variables, self, task_vars or {}, names=(*Access.VARIABLES, "tagloom_model"))

        def prepare(switch: str) -> Callable[[Released], bool]:
            known = variables(host=switch)

            def send(_released: Released) -> bool:
                platform = platforms.load(str(known["tagloom_model"]))
                with connect(switch, platform, Access.of_host(known)) as connection:
                    return bool(connection.send(self._task.args["lines"]))

            return send

        sent = run_parallel(prepare, hosts)
        return result | {"changed": True, "failed": sorted(sent) != sorted(hosts)}
