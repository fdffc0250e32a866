"""Bring one switch to the target of a wave, as a run's order says: what every push does, whoever begins it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tagloom import platforms
from tagloom.apply.journal import Journal
from tagloom.apply.own_lines import OwnLines, checked_secrets, send_own_lines
from tagloom.apply.scheduled_reloads import Armed, ScheduledReloads
from tagloom.apply.session import Session
from tagloom.apply.switch import Language, configure_switch
from tagloom.errors import Finding, InputError
from tagloom.platforms.detect import mistaken
from tagloom.platforms.grammar import switchwide
from tagloom.platforms.secrets import scrub
from tagloom.records.site_lines import SiteLine
from tagloom.render import (
    missing_lines,
    parse_configuration,
    read_state,
    render_commands,
    render_configuration,
    site_commands,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tagloom.apply.outcomes import Outcome
    from tagloom.apply.run_directory import RunDirectory
    from tagloom.apply.session import SwitchConnection
    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchState


class Turn(Protocol):
    """One switch's turn among all of a wave."""

    def __call__(self) -> bool:
        """Wait for the word to begin, and return it."""
        ...

    def agree(self, good: bool) -> bool:
        """Wait until all have said how they stand, and return whether lines may be sent."""
        ...


@dataclass(frozen=True)
class Reach:
    """How one switch is reached: what makes its connection, and whether that is a way that no VLAN can cut.

    `secrets` are what the operator's own lines name, as the inventory has them.
    """

    connect: Callable[[str, Platform], SwitchConnection]
    templates: Path
    out_of_band: bool = False
    secrets: object = None


def configure_one(
    switch: str,
    order: Mapping[str, Any],
    wave: Mapping[str, Any],
    texts: Sequence[Mapping[str, str]],
    reach: Reach,
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
    platform, templates = platforms.load(model, tuple(sorted(firmware.items())), own), reach.templates

    def target_of(texts: Mapping[str, str], directory: str) -> SwitchState:
        path = Path(directory) / f"{switch}.cfg"
        if switch not in texts:
            raise InputError([Finding(str(path), "a configuration", "none")])
        parsed = parse_configuration(platform, texts[switch])
        if parsed.unknown:
            unknown = [Finding(f"{path}:{line.number}", "a known line", scrub(line.text)) for line in parsed.unknown]
            raise InputError(unknown)
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
        secrets=checked_secrets(switch, wanted, reach.secrets),
    )
    session = Session(
        reach.connect(switch, platform),
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
        reload=_reload(switch, order),
    )
    if wave["only_own"]:
        return send_own_lines(session, language, mine)
    # A rollout's waves are proven never to cut the declared way to a switch; a set-up in one go is not.
    led = order["in_band"] and (bool(wave["expected"]) or check)
    return configure_switch(
        session,
        language,
        target_of(texts[0], wave["configs"]) if wave["number"] else None,
        ports,
        check=check,
        out_of_band=reach.out_of_band or led,
        expected=target_of(texts[1], wave["expected"]) if wave["expected"] else None,
        held=parse_configuration(platform, held).state if held is not None and wave["number"] else None,
        ahead=wave["ahead"],
        own_lines=lambda text: tuple(line.title for line in mine.lacking(text)) if check and not wave["ahead"] else (),
        pruned=[(vlan, port) for vlan, port in order["pruned"].get(switch, ())],
    )


def _reload(switch: str, order: Mapping[str, Any]) -> Armed | None:
    """Return how a switch is told to reload unless its lines go well, None where nothing of that is asked."""
    pending = switch in order["call_off"]
    if not order["journal"] or not (order["reload_seconds"] or pending):
        return None
    seconds = 0.0 if order["check"] else order["reload_seconds"]
    return Armed(ScheduledReloads(Journal(Path(order["journal"]))), switch, order["run"], seconds, pending)
