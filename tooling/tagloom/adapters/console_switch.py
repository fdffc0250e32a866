"""Talk to one switch at its own console, over a serial line or telnet, as over SSH."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom.adapters.greeting import LOG_LINE, TAIL, WAITS, FirstGreeting, Greeting
from tagloom.adapters.routeros import GREETED, NO_LOGIN, RouterOsGreeting, RouterOsSwitch
from tagloom.adapters.shell import QUIET, LinuxSwitch
from tagloom.adapters.ssh import Session, SshSwitch
from tagloom.errors import DeviceError
from tagloom.platforms.secrets import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tagloom.adapters.channels import ConsoleChannel
    from tagloom.adapters.ssh import Access
    from tagloom.platforms import Platform

_GREETING_SECONDS = 1.0
_LINUX_WAITS = re.compile(r"(?:^|[ \n])(?:login|[Pp]assword): ?\Z|[#$] ?\Z")
_MOST_QUESTIONS = 12


class _AtConsole(Session):
    """A session at a console, which it wakes: a serial line says nothing of itself."""

    _open_line: Callable[[], ConsoleChannel]
    _line: ConsoleChannel | None = None

    def _open(self) -> None:
        self._channel = self._line = self._open_line()
        self._line.heard = self.heard

    def _wake(self, waits: re.Pattern[str], keys: str) -> None:
        allowance = self._allowance(self._access.login_seconds)
        said = self._until_quiet("login", allowance, _GREETING_SECONDS)
        if waits.search(said, max(0, len(said) - TAIL)):
            self._unread = said
        else:
            self._write(keys, "login")

    def _hang_up(self) -> None:
        super()._hang_up()
        if self._line is not None:
            self._line.close()
            self._line = None


class ConsoleSwitch(_AtConsole, SshSwitch):
    """Speak to a switch at its console; every line is looked at before Return, since a serial line loses characters.

    `line` opens it, and raises what it raises where there is none.
    """

    def __init__(self, name: str, platform: Platform, access: Access, line: Callable[[], ConsoleChannel]) -> None:
        super().__init__(name, platform, replace(access, careful=True))
        self._open_line = line

    def _greeting(self) -> Greeting:
        access = self._access
        return Greeting(
            self.name, access.user, access.password, ends_view=self._ends_view, answers=access.console_answers
        )

    @property
    def _ends_view(self) -> str:
        return self._words.end if self._words.brackets else ""

    def _log_in(self) -> None:
        self._wake(WAITS, "\n")
        super()._log_in()


class NewSwitch(ConsoleSwitch):
    """Speak at its console to a switch that may be as from its factory, as the inventory's user or the factory's.

    Where it wants other credentials than the factory's, they become the inventory's: `renewed`.
    """

    def __init__(self, name: str, platform: Platform, access: Access, line: Callable[[], ConsoleChannel]) -> None:
        super().__init__(name, platform, access, line)
        self.renewed = False

    def type(self, lines: Sequence[str]) -> None:
        """Type lines, say yes to what the switch asks, and end at the first that is refused.

        Raises DeviceError, without secrets.
        """
        for line in lines:
            if line == self._words.enable and not self._mode:  # the login has done it
                continue
            try:
                self._follow_name(line)
                answer = LOG_LINE.sub("", self.agree(line))
                self._check(line, answer)
            except DeviceError as error:
                raise DeviceError(self.name, shown(line), error.text) from None

    def _greeting(self) -> Greeting:
        user, password, factory = self._access.user, self._access.password, self._platform.factory_login
        answers = self._access.console_answers
        self._first = FirstGreeting(self.name, user, password, factory, self._ends_view, answers)
        return self._first

    def _log_in(self) -> None:
        super()._log_in()
        self.renewed = self._first.renewed


class LinuxConsole(_AtConsole, LinuxSwitch):
    """Speak to a Linux machine at its console, as root: by its first password, or the inventory's.

    `factory` is root's name and password. `renewed` is no: no password is asked for anew.
    """

    renewed = False

    def __init__(
        self,
        name: str,
        platform: Platform,
        access: Access,
        line: Callable[[], ConsoleChannel],
        factory: tuple[str, str],
    ) -> None:
        super().__init__(name, platform, replace(access, become=""))
        self._open_line = line
        self._logins = list(dict.fromkeys((factory, (factory[0], access.password))))

    def type(self, lines: Sequence[str]) -> None:
        """Type lines, and end at the first that is refused. Raises DeviceError, without secrets."""
        for line in lines:
            try:
                self.send([line])
            except DeviceError as error:
                raise DeviceError(self.name, shown(line), error.text) from None

    def _log_in(self) -> None:
        self._wake(_LINUX_WAITS, "\n")
        left, password = list(self._logins), ""
        for _ in range(_MOST_QUESTIONS):
            said = self._until_still(_LINUX_WAITS, self._allowance(self._access.login_seconds)).rstrip()
            if said.endswith("login:"):
                if not left:
                    break
                user, password = left.pop(0)
                self._write(f"{user}\n", "login")
            elif said.endswith(("assword:", "assword: ")):
                self._write(f"{password}\n", "login")
            else:
                self._request(QUIET, plain=True)
                return
        raise DeviceError(self.name, "login", NO_LOGIN)


class RouterOsConsole(_AtConsole, RouterOsSwitch):
    """Speak to a RouterOS switch at its console, as the inventory's user, or as the factory's where it knows none.

    `factory` is the user and password that it has from its factory. Whose password it wants to be another then gets the
    inventory's: `renewed`.
    """

    def __init__(
        self,
        name: str,
        platform: Platform,
        access: Access,
        line: Callable[[], ConsoleChannel],
        factory: tuple[str, str],
    ) -> None:
        super().__init__(name, platform, access)
        self._open_line, self._factory = line, factory
        self.renewed = False

    def type(self, lines: Sequence[str]) -> None:
        """Type lines, and end at the first that is refused. Raises DeviceError, without secrets."""
        for line in lines:
            try:
                self.send([line])
            except DeviceError as error:
                raise DeviceError(self.name, shown(line), error.text) from None

    def _log_in(self) -> None:
        self._wake(GREETED, "\r\n")
        own = self._access.user, self._access.password
        logins = dict.fromkeys((own, self._factory, (self._factory[0], self._access.password)))
        greeting = RouterOsGreeting(self.name, tuple(logins), self._access.password)
        self._greet(greeting)
        self.renewed = greeting.renewed
