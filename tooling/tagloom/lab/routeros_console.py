"""One login's conversation with a RouterOS console: keys in, text out, and no wire in between (sans-I/O)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tagloom.lab import routeros_pages
from tagloom.lab.returns import Returns
from tagloom.platforms.interpreter import OutcomeKind
from tagloom.platforms.routeros import EXPORT, HOSTS, RESOURCE

if TYPE_CHECKING:
    from tagloom.lab.device import Device
    from tagloom.lab.faults import Fault

_RETURN = "\r\n"
_PUT = re.compile(r':put \(?((?:"[^"]*"|\d+)(?: ?\. ?(?:"[^"]*"|\d+))*)\)?')
_BANNER = ("", "  MikroTik RouterOS 7.18 (c) 1999-2025       https://www.mikrotik.com/", "", "Press F1 for help", "")


class RouterOsConsole:
    """Answer the keys of one session on `device`, as `Console` does for switches with a command line of modes.

    Of the console there is what a login needs: its prompt, `:put` of strings, the three pages, and lines that set.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.closed = False
        self._line = ""
        self._commands = 0
        self._returns = Returns()
        self._instead = ""

    @property
    def _prompt(self) -> str:
        return f"[{self.device.user}@{self.device.hostname}] > "

    @property
    def at_prompt(self) -> bool:
        """Return whether it waits for a command."""
        return True

    @property
    def waits_with(self) -> str:
        """Return what ends the screen."""
        return self._prompt

    def start(self) -> str:
        """Greet with banner and prompt; SSH has asked for the password."""
        return _RETURN.join((*_BANNER, self._prompt))

    @property
    def pause_seconds(self) -> float:
        """Return how long the machine thinks before it takes the next line."""
        return self.device.quirks.delay_seconds

    def due(self, typed: str) -> Fault | None:
        """Return which fault strikes at the line that `typed` completes."""
        line = (self._line + typed).strip()
        return self.device.faults.due(line, configures=_sets(line)) if line else None

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
        return key

    def _run(self, line: str) -> str:
        if line in ("quit", "/quit"):
            self.close()
            return ""
        if said := _PUT.fullmatch(line):
            return "".join(part.strip('"') for part in re.findall(r'"[^"]*"|\d+', said[1]))
        self._commands += 1
        device = self.device
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

    def _set(self, line: str) -> str:
        quirks, menus = self.device.quirks, self.device.shell
        instead, self._instead = self._instead, ""
        if instead == "reject" or (quirks.reject_line and re.search(quirks.reject_line, line)):
            return "failure: not permitted"
        if menus is None or instead or (quirks.ignore_line and re.search(quirks.ignore_line, line)):
            return ""
        outcome = menus.feed(line)
        self.device.last_line = line
        self.device.changed()
        if outcome.kind is OutcomeKind.UNKNOWN:
            return "bad command name (line 1 column 1)"
        return "" if outcome.accepted else outcome.text


def _sets(line: str) -> bool:
    return re.search(r" (?:add|set|remove) ", line) is not None
