"""Send one switch the operator's own lines that it lacks, after its forwarding reached its target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tagloom.apply.outcomes import Fault
from tagloom.apply.switch import cell_finding
from tagloom.errors import Finding, InputError
from tagloom.records.change import difference
from tagloom.records.site_lines import MASK, SECRET, SiteLine, masked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tagloom.apply.outcomes import Outcome
    from tagloom.apply.session import Session
    from tagloom.apply.switch import Language
    from tagloom.records.switch_state import SwitchState


@dataclass(frozen=True, slots=True)
class OwnLines:
    """The operator's own lines of one switch: all that are `wanted`, and how they are compared and sent.

    `missing` returns those that a running configuration lacks, `commands` the commands that send some; both keep the
    marks of secrets. `secrets` are their values, which must never be stored or shown.
    """

    wanted: tuple[SiteLine, ...]
    missing: Callable[[str, Sequence[SiteLine], Mapping[str, str]], tuple[SiteLine, ...]]
    commands: Callable[[Sequence[SiteLine]], tuple[str, ...]]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def lacking(self, text: str) -> tuple[SiteLine, ...]:
        """Return the lines that a running configuration lacks."""
        return self.missing(text, self.wanted, self.secrets)

    def hide(self, text: str) -> str:
        """Return a text with all secrets masked."""
        for secret in sorted(self.secrets.values(), key=len, reverse=True):
            text = text.replace(secret, MASK)
        return text


def checked_secrets(switch: str, wanted: Sequence[SiteLine], known: object) -> dict[str, str]:
    """Return the secrets that some lines name, from the inventory's `known` ones.

    Raises InputError for one that is missing or is not a single word; it never shows a value.
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


def send_own_lines(session: Session, language: Language, own: OwnLines) -> Outcome:
    """Send the operator's own lines that a switch lacks, read it back, and save it.

    The read-back must equal the state before in every cell, and show every line; else it is not saved, and the outcome
    says why. Secrets appear in what is sent and nowhere else. Never raises a TagloomError: a failing switch is an
    outcome.
    """

    def steps() -> None:
        if wrong := language.mistaken(connection.identity()):
            session.refuse(wrong)
            return
        if not session.released():
            return
        text = connection.running_configuration()
        before, _ = language.parse(text)
        lacking = own.lacking(text)
        commands = own.commands(lacking)
        said = language.text(before)
        shown = tuple(map(masked, commands))
        titles = tuple(line.title for line in lacking)
        session.note(commands=shown, read=True, before=said, after=said, own_lines=titles)
        if not session.agreed(True):
            session.note(error="nothing was sent: another switch failed", fault=Fault.STOPPED)
            return
        if commands:
            filled = [SECRET.sub(lambda found: own.secrets[found[1]], line) for line in commands]
            session.send(text, shown, filled)
            if missed := _missed(session.switch, language, own, before, connection.running_configuration()):
                error = f"accepted every line, but {missed[0]}; not saved"
                session.note(error=error, findings=missed, fault=Fault.DEVICE)
                return
            session.save(after_reading=True)
        session.done()

    connection = session.connection
    return session.run(steps, own.hide)


def _missed(switch: str, language: Language, own: OwnLines, before: SwitchState, text: str) -> tuple[Finding, ...]:
    """Return findings for cells that own lines have changed, and for lines that are missing after they were sent."""
    found, _ = language.parse(text)
    cells = difference(before, found) if found != before else ()
    rule = "the running configuration to show it as it was sent (a switch that encrypts a secret shows that form)"
    return (
        *(cell_finding(switch, each, language.port_name) for each in cells),
        *(Finding(f"{switch}: {line.title}", rule, "not there") for line in own.lacking(text)),
    )
