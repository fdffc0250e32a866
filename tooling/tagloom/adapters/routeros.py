"""Talk to one RouterOS switch over SSH: lines that name their menus, and pages as its own console prints them."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

from tagloom.adapters.greeting import LOG_LINE, holds_log
from tagloom.adapters.ssh import Session
from tagloom.errors import DeviceError
from tagloom.plain_text import printable
from tagloom.platforms.routeros import EXPORT, HOSTS, RESOURCE, what_is_missing
from tagloom.platforms.secrets import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_RETURN = "\r\n"
_NAMED = re.compile(r"^\[[^@\]\n]{1,128}@([^\]\n]{1,128})\]", re.MULTILINE)
_IDENTITY = re.compile(r"^/system[ /]identity set name=\"?([\w.-]+)\"?[ \t]*$", re.MULTILINE)
_MARK = "tagloom-end-"
_PROMPT = re.compile(r"^\[[^\]\n]{1,128}\][^>\n]{0,128}> ?", re.MULTILINE)
_LICENSE = r"software license\? ?\[Y/n\]:? ?"
_NEW_PASSWORD = r"new password> ?"  # noqa: S105 - what is asked
_ANY_KEY = r'press "Enter" to continue!|remove this default configuration[^\n]{0,160}'
_NAME, _PASSWORD = r"login: ?", r"^password: ?"  # at a console
GREETED = re.compile(
    rf"(?:{_LICENSE}|{_NEW_PASSWORD}|{_ANY_KEY}|{_NAME}|{_PASSWORD}|^\[[^\]\n]{{1,128}}\][^>\n]{{0,128}}> ?)\Z",
    re.MULTILINE | re.IGNORECASE,
)
_MOST_QUESTIONS = 24
NO_LOGIN = "the console takes neither the inventory's login nor the factory's (TAGLOOM_FACTORY_PASSWORD)"
_INTERRUPT = "\x03"
_COLUMNS = 511
_PLAIN = f"+ct{_COLUMNS}w4098h"  # behind a user's name: no colours, and as wide as netmiko asks for it over SSH


class RouterOsGreeting:
    """What to type until RouterOS is at its prompt (sans-I/O); `answer` raises DeviceError where it will never be.

    `logins` are users and passwords for a console that asks who it is, tried in their order. A first login is asked for
    another password: `password` becomes that of its user, "" = another time; `renewed` says whether it did.
    """

    def __init__(self, switch: str, logins: Sequence[tuple[str, str]] = (), password: str = "") -> None:
        self.renewed = False
        self._switch, self._logins, self._new = switch, list(logins), [password] * 2 if password else []
        self._given = ""
        self._answers = 0

    def answer(self, said: str) -> str | None:
        """Return the keys to type at what was said; None where that ends with the prompt."""
        self._answers += 1
        if self._answers > _MOST_QUESTIONS:
            raise DeviceError(self._switch, "login", "asks without end")
        if _ends(said, _LICENSE):
            return "n"
        if _ends(said, _NEW_PASSWORD):
            if not self._new:
                return _INTERRUPT
            self.renewed = len(self._new) == 1
            return f"{self._new.pop()}{_RETURN}"
        if _ends(said, _ANY_KEY):
            return _RETURN
        if _ends(said, _NAME):
            if not self._logins:
                raise DeviceError(self._switch, "login", NO_LOGIN)
            user, self._given = self._logins.pop(0)
            return f"{user}{_PLAIN}{_RETURN}"
        return f"{self._given}{_RETURN}" if _ends(said, _PASSWORD) else None


def _ends(said: str, pattern: str) -> bool:
    return re.search(rf"(?:{pattern})\Z", said, re.IGNORECASE | re.MULTILINE) is not None


class RouterOsSwitch(Session):
    """Speak to RouterOS's console.

    Behind every line goes another, which prints a mark that its own echo has not; what stands between is the answer. So
    no output can be taken for a prompt, and no repainted prompt for output. netmiko asks for a plain terminal of 511
    columns by what it adds to the user's name.
    """

    _marks: Iterator[int]

    def _ask_identity(self) -> str:
        """Return the page that names the board."""
        return self._request(RESOURCE)

    def still_answers(self) -> None:
        """Print nothing but the mark."""
        self._request(":put 0")

    def running_configuration(self) -> str:
        """Return the export of the whole configuration, a line for each row; secrets are not in it by default.

        It is read again where a log line may have broken one of its rows. One without its head, or without a menu that
        did not answer the switch in time, is an error.
        """

        def read() -> str:
            text = self._checked(EXPORT)
            self.refuse_part(EXPORT, text, what_is_missing(text))
            self.refuse_another(EXPORT, _IDENTITY.findall(text))
            return text.strip("\n") + "\n"

        return self._settled(EXPORT, read)

    def ask(self, line: str) -> str:
        """Return the answer to a line that changes nothing, an error among them; a broken row of it is whole again."""
        return self._request(line)

    def address_table(self) -> str:
        """Return the hosts that the bridges have learnt or been told."""
        return self._request(HOSTS)

    def startup_configuration(self) -> str | None:
        """Return the running configuration: RouterOS keeps each line as it takes it, and boots with all of them."""
        return self.running_configuration()

    def send(self, lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Send the lines one by one up to the first one refused; return (line, answer) pairs.

        A line that is done says nothing: whatever is printed is a refusal.
        """
        for line in lines:
            self.before_line(line)
            answer = self._request(line)
            if answer.strip():
                raise DeviceError(self.name, line, shown(answer))
            self.sent.append(line)
        return tuple((line, "") for line in lines)

    def save(self, text: str = "") -> bool:
        """Do nothing, and say that it is kept: RouterOS has no configuration beside the one that runs."""
        del text
        return True

    def _log_in(self) -> None:
        """Answer what stands before the prompt, and see that lines are carried out behind it."""
        self._greet(RouterOsGreeting(self.name))

    def _greet(self, greeting: RouterOsGreeting) -> None:
        while True:
            said = self._until_still(GREETED, self._allowance(self._access.login_seconds))
            keys = greeting.answer(said)
            if keys is None:
                break
            self._write(keys, "login")
        self.refuse_another("login", _NAMED.findall(said)[-1:])
        self._marks = count(1)
        self._request(":put 0")

    def _leave(self) -> None:
        self._write(f"quit{_RETURN}", "quit")

    def _checked(self, command: str) -> str:
        answer = self._request(command)
        if not answer.lstrip().startswith("#"):
            raise DeviceError(self.name, command, shown(answer) or "no export")
        return answer

    def _request(self, command: str) -> str:
        """Run a command and return what it printed, without echoes and prompts."""
        number = next(self._marks)
        asks = f':put ("{_MARK}" . {number})'
        self._write(f"{command}{_RETURN}{asks}{_RETURN}", command)
        done = re.compile(rf"^{_MARK}{number}[ \t\r]{{0,8}}$", re.MULTILINE)
        text, _ = self._until(done, command, self._allowance())
        self._logged = holds_log(text)
        text = LOG_LINE.sub("", text.replace("\r\n", "\n"))
        rows = (row.rpartition("\r")[2].rstrip() for row in text.split("\n"))
        said: list[str] = []
        broken = False  # a row as wide as the terminal goes on in the next one (tik4net's notes on 7.24)
        for row in rows:
            if broken and not _PROMPT.match(row):
                said[-1] += row
            elif not (_PROMPT.match(row) or row.strip() == asks or (row.strip() and row.strip() in command)):
                said.append(row)
            else:
                continue
            broken = len(row) == _COLUMNS
        return printable("\n".join(said).strip("\n"))
