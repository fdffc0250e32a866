"""Push one wave to all switches that it changes, side by side."""  # noqa: INP001 - Ansible loads plugins by path

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.errors import AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase

from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.host_variables import host_variables
from tagloom.adapters.ssh import Access
from tagloom.adapters.worker_pool import run_parallel
from tagloom.apply.build import proven_texts
from tagloom.apply.controller import Controller
from tagloom.apply.gate import Gate
from tagloom.apply.journal import Journal
from tagloom.apply.outcomes import Fault, Outcome
from tagloom.apply.own_lines import OwnLines, checked_secrets, send_own_lines
from tagloom.apply.private_files import write_fault
from tagloom.apply.run_directory import RunDirectory
from tagloom.apply.session import Session
from tagloom.apply.switch import Language, configure_switch
from tagloom.apply.switch_locks import SwitchLocks
from tagloom.errors import Finding, InputError, TagloomError
from tagloom.platforms.detect import mistaken
from tagloom.platforms.grammar import switchwide
from tagloom.records.site_lines import SiteLine
from tagloom.render import (
    missing_lines,
    parse_configuration,
    read_state,
    render_commands,
    render_configuration,
    site_commands,
)
from tagloom.share import share_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tagloom.adapters.worker_pool import Turn
    from tagloom.records.switch_state import SwitchState

OUT_OF_BAND, SECRETS = "tagloom_out_of_band", "tagloom_secrets"


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
        names = (*Access.VARIABLES, OUT_OF_BAND, *([SECRETS] if order["own_lines"] else []))
        variables = partial(host_variables, self, task_vars or {}, names=names)

        def prepare(switch: str) -> Callable[[Turn], Outcome | None]:
            def push(turn: Turn) -> Outcome | None:
                try:
                    outcome = configure_one(switch, order, wave, texts, known, files, turn, held.get(switch))
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


def configure_one(
    switch: str,
    order: Mapping[str, Any],
    wave: Mapping[str, Any],
    texts: Sequence[Mapping[str, str]],
    variables: Mapping[str, Any],
    files: RunDirectory,
    turn: Turn,
    held: str | None,
) -> Outcome:
    """Bring one switch to a wave's target.

    `texts` are the configurations that the wave leads to and those that it expects, by switch, `held` is the text of a
    state, which it was last read to hold. Raises TagloomError and OSError before anything is sent.
    """
    check, journal = order["check"], order["journal"]
    model, firmware, ports = order["models"][switch], order["firmware"][switch], order["ports"][switch]
    own = tuple(sorted(order["templates"].items()))
    platform, templates = platforms.load(model, tuple(sorted(firmware.items())), own), share_directory() / "templates"

    def target_of(texts: Mapping[str, str], directory: str) -> SwitchState:
        path = Path(directory) / f"{switch}.cfg"
        if switch not in texts:
            raise InputError([Finding(str(path), "a configuration", "none")])
        parsed = parse_configuration(platform, texts[switch])
        if parsed.unknown:
            raise InputError(Finding(f"{path}:{line.number}", "a known line", line.text) for line in parsed.unknown)
        return parsed.state

    language = Language(
        parse=lambda text: read_state(platform, text, switch, ports),
        text=lambda state: render_configuration(platform, state, templates),
        commands=lambda changes, before: render_commands(platform, changes, before),
        mistaken=lambda text: mistaken(model, text, switch),
        port_name=platform.port_name,
        physical_ports=platform.physical_ports,
        switchwide=switchwide(platform),
    )
    wanted = tuple(map(SiteLine.from_json, order["own_lines"].get(switch, ())))
    mine = OwnLines(
        wanted,
        missing=partial(missing_lines, platform),
        commands=partial(site_commands, platform),
        secrets=checked_secrets(switch, wanted, variables.get(SECRETS)),
    )
    session = Session(
        connect(switch, platform, Access.of_host(variables)),
        switch,
        backups=files.backups,
        wave=wave["name"],
        number=wave["number"],
        wave_journal=Journal(Path(journal)).wave_journal(order["run"], wave["number"], switch)
        if journal and not check
        else None,
        stop=files.stop_now.exists,
        released=turn,
        agree=(lambda good: good) if check else turn.agree,
    )
    if wave["only_own"]:
        return send_own_lines(session, language, mine)
    out_of_band = boolean(variables.get(OUT_OF_BAND, False), strict=False)
    # A rollout's waves are proven never to cut the declared way to a switch; a set-up in one go is not.
    led = order["in_band"] and (bool(wave["expected"]) or check)
    return configure_switch(
        session,
        language,
        target_of(texts[0], wave["configs"]) if wave["number"] else None,
        ports,
        check=check,
        out_of_band=out_of_band or led,
        expected=target_of(texts[1], wave["expected"]) if wave["expected"] else None,
        held=parse_configuration(platform, held).state if held is not None and wave["number"] else None,
        ahead=wave["ahead"],
        own_lines=lambda text: tuple(line.title for line in mine.lacking(text)) if check and not wave["ahead"] else (),
        pruned=[(vlan, port) for vlan, port in order["pruned"].get(switch, ())],
    )
