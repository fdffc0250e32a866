"""Send one switch the operator's own lines that it lacks, after its forwarding has been brought to its target."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tagloom.apply.journal import READ_BACK, SAVED
from tagloom.apply.outcomes import Fault, Outcome
from tagloom.apply.private_files import write_backup
from tagloom.apply.switch import StoppedError, cell_finding
from tagloom.errors import DeviceError, Finding, InputError, TagloomError
from tagloom.records.change import difference
from tagloom.records.site_lines import MASK, SECRET, SiteLine, masked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tagloom.apply.switch import Language, SwitchConnection, SwitchJournal
    from tagloom.records.switch_state import SwitchState


@dataclass(frozen=True, slots=True)
class OwnLines:
    """The operator's own lines of one switch: all that are `wanted`, and how they are compared and sent.

    `missing` names those that a running configuration does not show, `commands` writes what sends some; both leave the
    marks of secrets in their places. `secrets` are what these stand for: nothing that is kept or shown may hold one.
    """

    wanted: tuple[SiteLine, ...]
    missing: Callable[[str, Sequence[SiteLine], Mapping[str, str]], tuple[SiteLine, ...]]
    commands: Callable[[Sequence[SiteLine]], tuple[str, ...]]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def lacking(self, text: str) -> tuple[SiteLine, ...]:
        """Return the lines that a running configuration does not show."""
        return self.missing(text, self.wanted, self.secrets)

    def hide(self, text: str) -> str:
        """Return a text without any of the secrets."""
        for secret in sorted(self.secrets.values(), key=len, reverse=True):
            text = text.replace(secret, MASK)
        return text


def checked_secrets(switch: str, wanted: Sequence[SiteLine], known: object) -> dict[str, str]:
    """Return the secrets that some lines name, of what the inventory has `known` of them.

    Raises InputError, which says nothing of a value, for one that is not there, or that would be more than one word.
    """
    values = known if isinstance(known, dict) else {}
    found: dict[str, str] = {}
    findings = []
    for name in sorted({name for line in wanted for name in line.secrets}):
        value = values.get(name)
        where, text = f"{switch}: tagloom_secrets.{name}", str(value)
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            findings.append(Finding(where, "a value, from a vault", "none" if value is None else type(value).__name__))
        elif not text or not (text.isascii() and text.isprintable()) or set(text) & set("\"'? "):
            rule = "one word of plain characters, without quotes and question marks"
            findings.append(Finding(where, rule, "another, which is not shown"))
        else:
            found[name] = text
    if findings:
        raise InputError(findings)
    return found


def send_own_lines(  # noqa: PLR0913 - as configure_switch
    connection: SwitchConnection,
    switch: str,
    language: Language,
    own: OwnLines,
    *,
    backups: Path,
    wave: str = "",
    number: int = 1,
    wave_journal: SwitchJournal | None = None,
    stop: Callable[[], bool] = lambda: False,
    released: Callable[[], bool] = lambda: True,
    agree: Callable[[bool], bool] = lambda good: good,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Send the operator's own lines that a switch lacks, read it back, and save it.

    What is read back must hold in every cell what was there before, and show every line: else it is not saved, and the
    outcome says which. Arguments as in `configure_switch`. Secrets are sent, and stand nowhere else. Never raises a
    TagloomError: a failing switch is an outcome.
    """
    began = clock()
    outcome = Outcome(switch, wave, number)
    commands: tuple[str, ...] = ()

    def before_line(line: str) -> None:
        if stop():
            raise StoppedError(switch, line, "stopped before this line, as asked")

    connection.before_line = before_line
    try:
        with connection:
            if wrong := language.mistaken(connection.identity()):
                error = f"refused, nothing was sent: {wrong[0]}"
                return replace(outcome, error=error, findings=wrong, fault=Fault.REFUSED, seconds=clock() - began)
            waited = clock()
            if not released():
                return outcome
            began += clock() - waited
            text = connection.running_configuration()
            before, _ = language.parse(text)
            lacking = own.lacking(text)
            commands = own.commands(lacking)
            said = language.text(before)
            shown = tuple(map(masked, commands))
            titles = tuple(line.title for line in lacking)
            outcome = replace(outcome, commands=shown, read=True, before=said, after=said, own_lines=titles)
            waited = clock()
            agreed = agree(True)
            began += clock() - waited
            if not agreed:
                return replace(outcome, error="nothing was sent: another switch failed", fault=Fault.STOPPED)
            if commands:
                outcome = replace(outcome, backup=str(write_backup(backups, switch, text)))
                if wave_journal is not None:
                    wave_journal.intend(shown, said, said)
                connection.send([SECRET.sub(lambda found: own.secrets[found[1]], line) for line in commands])
                outcome = replace(outcome, changed=True)
                text = connection.running_configuration()
                if missed := _missed(switch, language, own, before, text):
                    error = f"accepted every line, but {missed[0]}; not saved"
                    outcome = replace(outcome, error=error, findings=missed, fault=Fault.DEVICE)
                else:
                    if wave_journal is not None:
                        wave_journal.note(READ_BACK, len(connection.sent))
                    outcome = replace(outcome, volatile=not connection.save(said), saved=True)
            if wave_journal is not None and not outcome.failed:
                wave_journal.note(SAVED, len(connection.sent))
    except StoppedError as error:
        outcome = replace(outcome, error=error.text, command=own.hide(error.command), fault=Fault.STOPPED)
    except DeviceError as error:
        said = own.hide(error.text)
        outcome = replace(outcome, error=said, command=own.hide(error.command), fault=Fault.DEVICE)
    except (InputError, OSError) as error:  # the journal or the backup could not be written
        nothing = "" if connection.sent else "nothing was sent: "
        outcome = replace(outcome, error=f"{nothing}{error}", fault=Fault.CONTROLLER)
    sent = tuple(map(masked, commands[: len(connection.sent)]))
    outcome = replace(outcome, sent=sent, changed=outcome.changed or bool(sent), seconds=clock() - began)
    if wave_journal is not None and outcome.failed:
        with contextlib.suppress(TagloomError):  # the intention stands in the journal, if anything was sent
            wave_journal.note("failed", len(sent), outcome.error)
    return outcome


def _missed(switch: str, language: Language, own: OwnLines, before: SwitchState, text: str) -> tuple[Finding, ...]:
    """Find the cells that own lines have changed, and the lines that are not shown after they were sent."""
    found, _ = language.parse(text)
    cells = difference(before, found) if found != before else ()
    rule = "the running configuration to show it as it was sent (a switch that encrypts a secret shows that form)"
    return (
        *(cell_finding(switch, each, language.port_name) for each in cells),
        *(Finding(f"{switch}: {line.title}", rule, "not there") for line in own.lacking(text)),
    )
