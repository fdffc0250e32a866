"""One session with a switch in a wave: what it waits for, what it records, and its outcome."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Self

from tagloom.apply.journal import READ_BACK, SAVED
from tagloom.apply.outcomes import Fault, Outcome
from tagloom.apply.private_files import write_backup
from tagloom.errors import DeviceError, Finding, InputError, PlanError, TagloomError
from tagloom.platforms.secrets import scrub
from tagloom.units import clock_time

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class SwitchConnection(Protocol):
    """A connection to one switch; entering logs in, leaving logs out, everything raises DeviceError.

    `sent` lists the configuration lines the switch has accepted since the login, also after a failure. `before_line` is
    called before each of them is sent, and may raise to stop there.
    """

    sent: list[str]
    before_line: Callable[[str], None]

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def identity(self) -> str:
        """Return the switch's self-description, "" if it has none."""
        ...

    def running_configuration(self) -> str:
        """Return the whole running configuration."""
        ...

    def startup_configuration(self) -> str | None:
        """Return the saved configuration; None if the switch keeps none of its own."""
        ...

    def send(self, lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Send configuration lines up to the first one refused; return (line, answer) pairs."""
        ...

    def save(self, text: str) -> bool:
        """Save the running configuration, whose text is `text`; return False if the switch cannot."""
        ...

    def batch_seconds(self, lines: int) -> float:
        """Return how long so many lines, a look at what they did and a save may take at most."""
        ...

    def why_no_reload(self) -> str:
        """Return why the switch is not told to reload at a set time, "" where it can be."""
        ...

    def schedule_reload(self, minutes: int) -> str:
        """Make the switch reload from what it saved, in so many minutes; return why it will not, "" where it will."""
        ...

    def call_off_reload(self) -> None:
        """Call off the reload that is scheduled, if one is, and see that none is left."""
        ...


class Reload(Protocol):
    """What is written down of a switch's reload at a set time. Methods raise InputError if it cannot be written."""

    @property
    def seconds(self) -> float:
        """Return how long it waits at least; 0 = no reload is scheduled."""
        ...

    @property
    def pending(self) -> bool:
        """Return whether an older push may have left one scheduled."""
        ...

    def arm(self, until: float) -> None:
        """Record that the switch is about to be told to reload by `until`, in seconds since the epoch; synced."""
        ...

    def called_off(self) -> None:
        """Record that no reload is scheduled; synced."""
        ...


class SwitchJournal(Protocol):
    """One switch's part in one wave of the journal. Methods raise InputError if it cannot be written."""

    def intend(self, lines: Sequence[str], before: str, after: str) -> None:
        """Record what is about to be sent, synced."""
        ...

    def note(self, state: str, sent: int = 0, error: str = "") -> None:
        """Record the progress."""
        ...


_SAVE_SECONDS = 30.0  # what a save may take, before a reload that is scheduled


def _said(configuration: str) -> list[str]:
    """Return the lines of a configuration without remarks, which a switch may write anew each time."""
    lines = (line.strip() for line in configuration.splitlines())
    return [line for line in lines if line and not line.startswith("!")]


class StoppedError(DeviceError):
    """An immediate stop was requested."""


class Session:
    """One session with a switch; its `outcome` is kept up to date however it ends.

    wave, number  name the outcome
    backups       takes the running configuration before the first line; if that fails, nothing is sent
    wave_journal  takes what is about to be sent, synced; if that fails, nothing is sent
    stop          is called before every line; True ends the session there
    released      is called after the login and may wait; if it returns False, the switch is not read
    agree         is called before the first line with whether the switch holds what it must, and waits for all others
                  of the wave; if it returns False, one of them failed, and nothing is sent
    reload        has the switch reload from what it has saved, unless the session ends well: armed before the first
                  line, called off once all is saved or has failed; None = it is not told so
    clock         measures the outcome's seconds, without the time that `released` and `agree` waited
    """

    def __init__(  # noqa: PLR0913 - who is asked and what is written, all given by the caller
        self,
        connection: SwitchConnection,
        switch: str,
        *,
        backups: Path,
        wave: str = "",
        number: int = 1,
        wave_journal: SwitchJournal | None = None,
        stop: Callable[[], bool] = lambda: False,
        released: Callable[[], bool] = lambda: True,
        agree: Callable[[bool], bool] = lambda good: good,
        reload: Reload | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.connection, self.switch, self.outcome = connection, switch, Outcome(switch, wave, number)
        self._backups, self._journal, self._stop, self._clock = backups, wave_journal, stop, clock
        self._released, self._agree = released, agree
        self._reload, self._reloads_at, self._save_by = reload, 0.0, math.inf
        self._waited = 0.0

    def note(self, **what: Any) -> None:
        """Set fields of the outcome."""
        self.outcome = replace(self.outcome, **what)

    def refuse(self, findings: Sequence[Finding], fault: Fault = Fault.REFUSED) -> None:
        """Record that nothing was sent, and why."""
        self.note(error=f"refused, nothing was sent: {findings[0]}", findings=tuple(findings), fault=fault)

    def run(self, steps: Callable[[], None], hide: Callable[[str], str] = str) -> Outcome:
        """Log in, call `steps` and return the outcome; a failing switch is an outcome, never a TagloomError.

        `hide` masks secrets in reported lines; those that a line shows of itself are hidden too.
        """

        def shown(line: str) -> str:
            return scrub(hide(line))

        began = self._clock()
        self.connection.before_line = self._before_line
        try:
            with self.connection:
                try:
                    steps()
                finally:
                    self._call_off_anyway()
        except StoppedError as error:
            self.note(error=error.text, command=shown(error.command), fault=Fault.STOPPED)
        except DeviceError as error:
            self.note(error=hide(error.text), command=shown(error.command), fault=Fault.DEVICE)
        except PlanError as error:  # the model has no command for a change
            self.note(error=f"refused, nothing was sent: {error}", fault=Fault.REFUSED)
        except (InputError, OSError) as error:  # the journal or the backup could not be written
            nothing = "" if self.connection.sent else "nothing was sent: "
            self.note(error=f"{nothing}{error}", fault=Fault.CONTROLLER)
        sent = tuple(map(shown, self.connection.sent))
        seconds = self._clock() - began - self._waited
        self.note(sent=sent, changed=self.outcome.changed or bool(sent), seconds=seconds)
        if self.outcome.failed:
            with contextlib.suppress(TagloomError):  # the intention is in the journal, if anything was sent
                self._write("failed", self.outcome.error)
        if self._reloads_at:
            self._call_off_again()
        return self.outcome

    def released(self) -> bool:
        """Wait until the switch may be read, and return whether it may."""
        return self._wait(self._released)

    def agreed(self, good: bool) -> bool:
        """Wait until all switches of the wave have reported, and return whether lines may be sent."""
        return self._wait(lambda: self._agree(good))

    def send(self, running: str, lines: Sequence[str], secretly: Sequence[str] | None = None) -> None:
        """Send lines, after a backup of the `running` configuration and a journal record.

        The journal records the outcome's `before` and `after`. `secretly` are the lines as sent to the switch, if they
        contain secrets that must not be recorded.
        """
        self.note(backup=str(write_backup(self._backups, self.switch, running)))
        self._arm(running, len(lines))
        if self._journal is not None:
            self._journal.intend(lines, self.outcome.before, self.outcome.after)
        self.connection.send(lines if secretly is None else secretly)
        self.note(changed=True)

    def save(self, *, after_reading: bool) -> None:
        """Save the running configuration; `after_reading` records first that the read-back was right."""
        if after_reading:
            self._write(READ_BACK)
        if self._reloads_at and self._reloads_soon():
            raise DeviceError(self.switch, "", "not saved: it reloads in a moment, as it was told before its lines")
        self.note(volatile=not self.connection.save(self.outcome.after), saved=True)
        self._call_off()

    def done(self) -> None:
        """Record that the switch is where the wave wants it."""
        self._write(SAVED)

    def call_off_older(self) -> None:
        """Call off what an older push may have left scheduled."""
        if self._reload is not None and self._reload.pending:
            self.connection.call_off_reload()
            self._reload.called_off()

    def _arm(self, running: str, lines: int) -> None:
        """Schedule a reload from what the switch holds before the first line, which it saves first where it has not."""
        if self._reload is None or not self._reload.seconds:
            return
        if why := self.connection.why_no_reload():
            self.note(reload=f"none: {why}")
            return
        startup = self.connection.startup_configuration()
        if startup is None or (_said(startup) != _said(running) and not self.connection.save(self.outcome.before)):
            self.note(reload="none: it cannot save what it holds")
            return
        minutes = math.ceil(max(self._reload.seconds, self.connection.batch_seconds(lines)) / 60)
        self._reloads_at = time.time() + 60 * minutes
        self._save_by = self._clock() + 60 * minutes - _SAVE_SECONDS
        self._reload.arm(self._reloads_at)
        if why := self.connection.schedule_reload(minutes):
            self._reload.called_off()
            self._reloads_at = 0.0
            self.note(reload=f"none: {why}")

    def _reloads_soon(self) -> bool:
        """Return whether a save might not end in time, by whichever clock says so.

        The clock on the wall may be set back, and the other stands still while a computer sleeps.
        """
        return time.time() > self._reloads_at - _SAVE_SECONDS or self._clock() > self._save_by

    def _call_off(self) -> None:
        if self._reload is not None and self._reloads_at:
            self.connection.call_off_reload()
            self._reload.called_off()
            self._reloads_at = 0.0
            self.note(reload="called off")

    def _call_off_anyway(self) -> None:
        """Call off the reload where the session still stands, whatever else went wrong in it."""
        with contextlib.suppress(DeviceError):
            self._call_off()

    def _call_off_again(self) -> None:
        """Call off the reload in a session of its own; a switch that cannot be reached is left to it."""
        try:
            with self.connection:
                self._call_off()
        except (TagloomError, OSError) as error:
            at = clock_time(self._reloads_at, time.time())
            self.note(reload=f"reloads at {at}: {error}")
            if self.outcome.failed:
                self.note(error=f"{self.outcome.error}; reloads at {at} from what it held before the wave")

    def _before_line(self, line: str) -> None:
        if self._stop():
            raise StoppedError(self.switch, line, "stopped before this line, as asked")

    def _wait(self, requested: Callable[[], bool]) -> bool:
        since = self._clock()
        answer = requested()
        self._waited += self._clock() - since
        return answer

    def _write(self, state: str, error: str = "") -> None:
        if self._journal is not None:
            self._journal.note(state, len(self.connection.sent), error)
