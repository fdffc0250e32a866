"""Push one wave to one switch. Loaded before Ansible forks its workers, and netmiko with it."""  # noqa: INP001 - Ansible loads plugins by path

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase

from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access
from tagloom.apply.journal import Journal
from tagloom.apply.outcomes import Fault, Outcome
from tagloom.apply.playbook import RunDirectory
from tagloom.apply.switch import Language, bring
from tagloom.errors import Finding, InputError, TagloomError
from tagloom.platforms.detect import mistaken
from tagloom.platforms.grammar import switchwide
from tagloom.render import parse_configuration, read_state, render_commands, render_configuration
from tagloom.share import share_directory

gc.freeze()  # what Ansible holds by now is of no use to a worker: its collector would walk, and so copy, all of it


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible ships no types
    """Unpack the arguments, call tagloom.apply, leave the outcome in the run's directory, give Ansible its diff.

    Passwords are read from the host's variables here, and so never are arguments that Ansible could show.
    """

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Bring this host to the wave's target; in check mode say what that would take."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "wave": {"type": "int", "required": True},
                "directory": {"type": "path", "required": True},
                "journal": {"type": "path"},
                "run": {"type": "int", "default": 0},
            }
        )
        variables = task_vars or {}
        switch, files = str(variables["inventory_hostname"]), RunDirectory(Path(arguments["directory"]))
        order = json.loads(files.order.read_text("utf-8"))
        wave = order["waves"][str(arguments["wave"])]
        if switch not in wave["switches"]:
            return result | {"skipped": True, "skip_reason": "the wave changes nothing on it"}
        model, firmware, ports = order["models"][switch], order["firmware"][switch], order["ports"][switch]
        platform, templates = platforms.load(model, tuple(sorted(firmware.items()))), share_directory() / "templates"

        def target_of(directory: str) -> Any:
            path = Path(directory) / f"{switch}.cfg"
            try:
                parsed = parse_configuration(platform, path.read_text("utf-8"))
            except OSError as error:
                raise InputError([Finding(str(path), "a configuration", str(error))]) from error
            if parsed.unknown:
                raise InputError(Finding(f"{path}:{line.number}", "a known line", line.text) for line in parsed.unknown)
            return parsed.state

        access = {name: self._templar.template(variables[name]) for name in Access.VARIABLES if name in variables}
        language = Language(
            parse=lambda text: read_state(platform, text, switch, ports),
            text=lambda state: render_configuration(platform, state, templates),
            commands=lambda changes, before: render_commands(platform, changes, templates, before),
            mistaken=lambda text: mistaken(model, text, switch),
            port_name=platform.port_name,
            physical_ports=platform.physical_ports,
            switchwide=switchwide(platform),
        )
        out_of_band = boolean(self._templar.template(variables.get("tagloom_out_of_band", False)), strict=False)
        # A rollout's waves are proven never to cut the declared way to a switch; a set-up in one go is not.
        led = order["in_band"] and (bool(wave["expected"]) or self._task.check_mode)
        try:
            journal = Journal(Path(arguments["journal"])) if arguments["journal"] else None
            outcome = bring(
                connect(switch, platform, Access.of_host(access)),
                switch,
                language,
                target_of(wave["configs"]) if wave["number"] else None,
                ports,
                check=self._task.check_mode,
                backups=files.backups,
                out_of_band=out_of_band or led,
                expected=target_of(wave["expected"]) if wave["expected"] else None,
                ahead=wave["ahead"],
                wave=wave["name"],
                number=wave["number"],
                ledger=journal.ledger(arguments["run"], wave["number"], switch) if journal else None,
                stop=files.stop_now.exists,
            )
        except (TagloomError, OSError) as error:  # no target, or no journal: nothing was sent
            outcome = Outcome(switch, wave["name"], wave["number"], error=str(error), fault=Fault.CONTROLLER)
        files.write(outcome)
        at = f" at {outcome.command!r}" if outcome.command else ""
        return result | {
            "changed": outcome.changed,
            "commands": list(outcome.commands),
            "sent": list(outcome.sent),
            **({"diff": _difference(outcome)} if self._task.diff else {}),
            **({"failed": True, "msg": f"{switch}{at}: {outcome.error}"} if outcome.failed else {}),
        }


def _difference(outcome: Outcome) -> dict[str, str]:
    """Give what Ansible shows as a diff."""
    headers = {"before_header": outcome.switch, "after_header": f"{outcome.switch} ({outcome.wave})"}
    return {"before": outcome.before, "after": outcome.after, **headers}
