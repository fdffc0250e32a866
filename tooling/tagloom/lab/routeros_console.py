"""One login's conversation with a RouterOS console: keys in, text out, and no wire in between (sans-I/O)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tagloom.lab import routeros_pages
from tagloom.lab.returns import Returns
from tagloom.lab.routeros_help import inspected
from tagloom.lab.routeros_system import System
from tagloom.platforms.interpreter import OutcomeKind
from tagloom.platforms.routeros import EXPORT, HOSTS, RESOURCE
from tagloom.records.transcript import HELP, SHOW

if TYPE_CHECKING:
    from tagloom.lab.device import Device
    from tagloom.lab.faults import Fault

_RETURN = "\r\n"
_PUT = re.compile(r':put \(?((?:"[^"]*"|\d+)(?: ?\. ?(?:"[^"]*"|\d+))*)\)?')
_LOGIN, _PASSWORD = "Login: ", "Password: "
_LICENSE, _NEW, _AGAIN = "Do you want to see the software license? [Y/n]: ", "new password> ", "repeat new password> "
_CONTROL_C = "\x03"
_BANNER = ("", "  MikroTik RouterOS 7.18 (c) 1999-2025       https://www.mikrotik.com/", "", "Press F1 for help", "")


class RouterOsConsole:
    """Answer the keys of one session on `device`, as `Console` does for switches with a command line of modes.

    Of the console there is what a login needs: its prompt, `:put` of strings, the three pages, `/console inspect`, and
    lines that set. A transcript that it plays answers before it. A
    serial line or telnet asks who it is; who has the factory's password is asked for another, as over SSH (`user`).
    """

    def __init__(self, device: Device, *, serial: bool = False, user: str = "") -> None:
        self.device = device
        self.closed = False
        self._serial, self._user = serial, user.partition("+")[0] or device.user
        self._question = ""  # what the login asks; "" at the prompt
        self._new = ""  # the password that was typed once
        self._line = ""
        self._commands = 0
        self._returns = Returns()
        self._instead = ""

    @property
    def _prompt(self) -> str:
        return f"[{self._user}@{self.device.hostname}] > "

    @property
    def at_prompt(self) -> bool:
        """Return whether it waits for a command."""
        return not self._question

    @property
    def waits_with(self) -> str:
        """Return what ends the screen."""
        return self._question or self._prompt

    def start(self) -> str:
        """Greet with banner and prompt, where SSH has asked for the password; else ask who it is."""
        if self._serial:
            return f"{_RETURN}MikroTik 7.18 (stable){_RETURN}" + self._ask(f"{self.device.hostname} {_LOGIN}")
        return self._welcome()

    def _ask(self, question: str) -> str:
        self._question = question
        return question

    def _welcome(self) -> str:
        """Greet who has logged in, and who has the factory's password with the questions of a first login."""
        if self.device.is_renewed(self._user):
            self._question = ""
            return _RETURN.join((*_BANNER, self._prompt))
        return _RETURN.join((*_BANNER, self._ask(_LICENSE)))

    def _answered(self, line: str) -> str:
        """Take the answer to a question of the login."""
        question = self._question
        if question == _LICENSE:
            return self._ask_new()
        if question.endswith(_LOGIN):
            self._user = line.partition("+")[0]
            return self._ask(_PASSWORD if line else question)
        if question == _PASSWORD:
            if self.device.accepts(self._user, line):
                return self._welcome()
            return f"Login failed, incorrect username or password{_RETURN}{_RETURN}" + self._ask(
                f"{self.device.hostname} {_LOGIN}"
            )
        if question == _NEW:
            self._new = line
            return self._ask(_AGAIN)
        if line != self._new or not line:
            return f"Try again, error: New passwords do not match!{_RETURN}" + self._ask_new()
        self.device.renew(self._user, line)
        self._question = ""
        return f"{_RETURN}Password changed{_RETURN}{self._prompt}"

    def _ask_new(self) -> str:
        return f"{_RETURN}Change your password (Ctrl-C to skip){_RETURN}{_RETURN}" + self._ask(_NEW)

    @property
    def pause_seconds(self) -> float:
        """Return how long the machine thinks before it takes the next line."""
        return self.device.quirks.delay_seconds

    def due(self, typed: str) -> Fault | None:
        """Return which fault strikes at the line that `typed` completes."""
        line = (self._line + typed).strip()
        return self.device.faults.due(line, configures=_sets(line)) if line and not self._question else None

    def instead(self, kind: str) -> None:
        """Answer the next line that sets something with an error ("reject"), or as if it were done ("ignore")."""
        self._instead = kind

    def close(self) -> None:
        """Hang up."""
        self.closed = True

    def feed(self, keys: str) -> str:
        """Take keys as they come, whole lines or one at a time, and return what the screen shows for them."""
        return "".join(self._key(key) for key in keys if not self.closed)

    def _key(self, key: str) -> str:
        if self._returns.is_second(key):
            return ""
        if self._question == _LICENSE and key.isprintable():  # one key, no Return
            return key + self._answered(key)
        if self._question and key == _CONTROL_C:
            self._question, self._line = "", ""
            return _RETURN + self._prompt
        if self._question and key in _RETURN:
            line, self._line = self._line, ""
            return _RETURN + self._answered(line)
        if key in _RETURN:
            line, self._line = self._line.strip(), ""
            text = self._run(line) if line else ""
            # The line is painted once more when it is taken, which is how the real one shows it.
            again = f"\r{self._prompt}{line}" if line else ""
            shown = f"{text}\n" if text else ""
            return "" if self.closed else again + _RETURN + shown.replace("\n", _RETURN) + self._prompt
        if not key.isprintable():
            return ""
        self._line += key
        if self._question in (_PASSWORD, _NEW, _AGAIN):
            return "" if self._question == _PASSWORD else "*"
        return key

    def _run(self, line: str) -> str:
        if line in ("quit", "/quit"):
            self.close()
            return ""
        if said := _PUT.fullmatch(line):
            return "".join(part.strip('"') for part in re.findall(r'"[^"]*"|\d+', said[1]))
        self._commands += 1
        device = self.device
        if (played := self._played(line)) is not None:
            return played
        pages = {
            EXPORT: lambda: routeros_pages.export(device),
            HOSTS: lambda: routeros_pages.hosts(device),
            RESOURCE: lambda: routeros_pages.resource(device),
        }
        text = pages[line]().rstrip("\n") if line in pages else self._set(line)
        if 0 < device.quirks.drop_after <= self._commands:
            device.drop_done()
            self.close()
        return text

    def _played(self, line: str) -> str | None:
        """Return what a transcript has for a line, else what the menus say of themselves; None for any other line."""
        kept = self.device.transcript
        answers = (kept.answer(kind, "", line) for kind in (SHOW, HELP)) if kept is not None else ()
        said = next((each for each in answers if each is not None), None)
        return inspected(self.device.platform, line) if said is None else said

    def _set(self, line: str) -> str:
        quirks, menus = self.device.quirks, self.device.shell
        instead, self._instead = self._instead, ""
        if instead == "reject" or (quirks.reject_line and re.search(quirks.reject_line, line)):
            return "failure: not permitted"
        if menus is None or instead or (quirks.ignore_line and re.search(quirks.ignore_line, line)):
            return ""
        if (said := System(self.device.foreign).feed(line)) is not None:
            return said
        outcome = menus.feed(line)
        self.device.last_line = line
        self.device.changed()
        if outcome.kind is OutcomeKind.UNKNOWN:
            return "bad command name (line 1 column 1)"
        return "" if outcome.accepted else outcome.text


def _sets(line: str) -> bool:
    return re.search(r" (?:add|set|remove) ", line) is not None
