"""Talk to one Linux switch over SSH: commands of iproute2 and ethtool, each with its exit status."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from tagloom.adapters.ssh import Session
from tagloom.errors import DeviceError
from tagloom.plain_text import printable
from tagloom.platforms.iproute2 import ETHTOOL_PAGES, PAGES, commands
from tagloom.platforms.secrets import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARK = "tagloom-status"
_ASK = f"echo {_MARK}=$?"
_DONE = re.compile(rf"{_MARK}=(\d{{1,3}})[^\w\n]{{0,32}}\n")  # never its own echo, in which no digit follows
_GREETED = re.compile(r"\S[ \t]{0,8}\Z")
_PORTS = 1024  # of one machine; a bridge of the kernel has as many at most (BR_PORT_BITS)
# No echo and no prompt among the answers, English errors, nothing in the user's history.
QUIET = "stty -echo; unset HISTFILE; export LC_ALL=C; PS1= PS2="
_LINES_A_WRITE = 16  # a terminal takes 4095 characters in one line (termios(3), canonical mode)


class LinuxSwitch(Session):
    """Speak to a machine's shell, a POSIX one.

    Every command is followed by a question for its exit status, and the answer to that ends it; so no output can be
    taken for a prompt. Where the user is not root, `Access.become` goes before every command.
    """

    def _ask_identity(self) -> str:
        """Return the name of the kernel and its release."""
        return self._request("uname -sr")

    def still_answers(self) -> None:
        """Run what does nothing."""
        self._run(":", plain=True)

    def running_configuration(self) -> str:
        """Return what the machine says of its bridge and ports, page by page, each behind its command."""
        pages = [(command, self._request(command)) for command in PAGES]
        try:
            links = json.loads(pages[0][1])
            ports = [str(link["ifname"]) for link in links if link.get("master") == commands().bridge]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise DeviceError(self.name, PAGES[0], f"no JSON of links: {pages[0][1][:60]!r}") from error
        if len(ports) > _PORTS:
            raise DeviceError(self.name, PAGES[0], f"{len(ports)} ports on one bridge")
        requested = [page.format(port=shlex.quote(port)) for port in ports for page in ETHTOOL_PAGES]
        pages += [(command, self._run(command)[0]) for command in requested]  # virtual ports: Operation not supported
        return "".join(f"$ {command}\n{answer.strip()}\n" for command, answer in pages)

    def address_table(self) -> str:
        """Return the addresses that the machine's bridge has learnt or been told, as JSON."""
        return self._request(PAGES[2])

    def startup_configuration(self) -> str | None:
        """Return the script that `save` keeps; None where the inventory names no file, "" where there is none yet."""
        if not self._access.save_to:
            return None
        text, status = self._run(f"cat {shlex.quote(self._access.save_to)}")
        return "" if status else text

    def send(self, lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Send the lines one by one up to the first one refused; return (line, answer) pairs.

        A line that is done says nothing: whatever is printed is a refusal, and so is an exit status other than 0.
        """
        for line in lines:
            self.before_line(line)
            answer, status = self._run(line)
            if status or answer.strip():
                raise DeviceError(self.name, line, shown(answer) or f"exit status {status}")
            self.sent.append(line)
        return tuple((line, "") for line in lines)

    def save(self, text: str = "") -> bool:
        """Keep `text`, a shell script, where the inventory says; False where it names no file: a reboot forgets all."""
        path = self._access.save_to
        if not path:
            return False
        new, old = shlex.quote(f"{path}.new"), shlex.quote(path)
        self._request(f"rm -f {new}")
        tee = f"{self._access.become} tee -a {new} >/dev/null".lstrip()
        lines = [shlex.quote(line) for line in text.splitlines()]
        for at in range(0, len(lines), _LINES_A_WRITE):
            self._request(f"printf '%s\\n' {' '.join(lines[at : at + _LINES_A_WRITE])} | {tee}", plain=True)
        self._request(f"chmod 755 {new}")
        self._request(f"mv {new} {old}")
        return True

    def _log_in(self) -> None:
        """Wait for the prompt, whatever it is and whatever stands before it, and do without it from then on."""
        self._until_still(_GREETED, self._allowance(self._access.login_seconds))
        self._request(QUIET, plain=True)

    def _request(self, command: str, *, plain: bool = False) -> str:
        answer, status = self._run(command, plain=plain)
        if status:
            raise DeviceError(self.name, command, shown(answer) or f"exit status {status}")
        return answer

    def _run(self, command: str, *, plain: bool = False) -> tuple[str, int]:
        """Run a command, give what it printed and its exit status; `plain` runs it as the user who logged in."""
        whole = command if plain else f"{self._access.become} {command}".lstrip()
        self._write(f"{whole}; {_ASK}\n", command)
        text, found = self._until(_DONE, command, self._allowance())
        done = _DONE.match(found)
        assert done is not None  # noqa: S101 - it was found by the same pattern
        return printable(text.rpartition(_ASK)[2].lstrip("\n")), int(done[1])
