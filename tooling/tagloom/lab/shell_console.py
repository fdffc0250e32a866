"""One login's conversation with a Linux machine's shell: keys in, text out, and no wire in between (sans-I/O)."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from tagloom.lab import linux_pages
from tagloom.lab.linux_system import LinuxSystem
from tagloom.lab.returns import Returns
from tagloom.platforms.interpreter import OutcomeKind

if TYPE_CHECKING:
    from tagloom.lab.device import Device
    from tagloom.lab.faults import Fault

KERNEL = "Linux 6.1.0-lab"
_RETURN = "\r\n"
_LOGIN, _PASSWORD = "login: ", "Password: "
_SETS = re.compile(r"(?:export )?(?:[A-Z]\w*=\S*\s*)+|unset \w+")
_SHOWS = re.compile(r"(?:ip|bridge) -j |ethtool (?:--show-|[^-])")
_UNKNOWN = {  # what each program prints for words it does not know, and its exit status
    "ip": ('Object "{word}" is unknown, try "ip help".', 255),
    "bridge": ('Object "{word}" is unknown, try "bridge help".', 255),
    "ethtool": ("ethtool: bad command line argument(s)\nFor more information run ethtool -h", 1),
}


class ShellConsole:
    """Answer the keys of one session on `device`, as `Console` does for switches with a command line of their own.

    Of the shell there is what a login needs: several commands in a line, `$?`, one pipe into `tee -a`, and `stty`; of a
    first login `LinuxSystem` knows more. A serial line or telnet asks who it is.
    """

    def __init__(self, device: Device, *, serial: bool = False) -> None:
        self.device = device
        self.closed = False
        self._line = ""
        self._echo = True
        self._prompt = f"{device.user}@{device.hostname}:~# "
        self._question = _LOGIN if serial else ""  # what the console asks; "" at the prompt
        self._user = ""
        self._status = 0
        self._commands = 0
        self._returns = Returns()
        self._instead = ""

    @property
    def at_prompt(self) -> bool:
        """Return whether it waits for a command."""
        return not self._question

    @property
    def waits_with(self) -> str:
        """Return what ends the screen."""
        return self._question or self._prompt

    def start(self) -> str:
        """Greet with the prompt, where SSH has asked for the password; else ask who it is."""
        if self._question:
            return f"{_RETURN}{KERNEL} {self.device.hostname} ttyS0{_RETURN}{_RETURN}{self._question}"
        return f"{KERNEL}{_RETURN}{self._prompt}"

    @property
    def pause_seconds(self) -> float:
        """Return how long the machine thinks before it takes the next line."""
        return self.device.quirks.delay_seconds

    def due(self, typed: str) -> Fault | None:
        """Return which fault strikes at the line that `typed` completes."""
        line = (self._line + typed).strip()
        command = line.removeprefix("sudo ").removeprefix("-n ")
        sets = command.partition(" ")[0] in _UNKNOWN and not _SHOWS.match(command)
        return self.device.faults.due(line, configures=sets) if line else None

    def instead(self, kind: str) -> None:
        """Answer the next command that sets something with an error ("reject"), or as if it were done ("ignore")."""
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
        if key in "\r\n" and self._question:
            line, self._line = self._line, ""
            return _RETURN + self._answered(line)
        if key in "\r\n":
            line, self._line = self._line, ""
            echo = _RETURN if self._echo else ""
            shown = "".join(self._typed(each) for each in _split(line, ";"))
            return "" if self.closed else echo + shown.replace("\n", _RETURN) + self._prompt
        if not key.isprintable():
            return ""
        self._line += key
        return key if self._echo and self._question != _PASSWORD else ""

    def _answered(self, line: str) -> str:
        """Take the answer to a question of the login; root of a machine that was just installed has no password."""
        asks_user = self._question == _LOGIN
        if asks_user:
            if not line:
                return _LOGIN
            self._user = line
        known = self.device.users
        if asks_user and known.get(self._user) != "":
            self._question = _PASSWORD
        elif asks_user or known.get(self._user) == line:
            self._question = ""
            self._prompt = f"{self._user}@{self.device.hostname}:~# "
            return self._prompt
        else:
            self._question = _LOGIN
            return f"{_RETURN}Login incorrect{_RETURN}{self._question}"
        return self._question

    def _typed(self, command: str) -> str:
        """Run one command of a line; what it prints ends with a newline."""
        if self.closed or not command:
            return ""
        text, self._status = self._run(command)
        return f"{text}\n" if text else ""

    def _run(self, command: str) -> tuple[str, int]:
        if command.startswith("echo "):
            return command.removeprefix("echo ").replace("$?", str(self._status)), 0
        if command in ("exit", "logout"):
            self.close()
        elif command in ("stty -echo", "stty echo"):
            self._echo = command == "stty echo"
        elif _SETS.fullmatch(command):
            if " PS1=" in f" {command}":
                self._prompt = ""
        else:
            self._commands += 1
            answer = self._program(command.removeprefix("sudo ").removeprefix("-n "))
            if 0 < self.device.quirks.drop_after <= self._commands:
                self.device.drop_done()
                self.close()
            return answer
        return "", 0

    def _program(self, command: str) -> tuple[str, int]:
        if command == "uname -sr":
            return KERNEL, 0
        if LinuxSystem.knows(command) and re.search(self.device.quirks.reject_line or "(?!)", command):
            return "-sh: Operation not permitted", 1
        if (done := self.device.linux.run(command)) is not None:
            return done
        word = command.split(maxsplit=1)[0]
        if word in ("rm", "mv", "chmod", "printf", "cat"):
            return self._file(command)
        if word not in _UNKNOWN:
            return f"-sh: {word}: command not found", 127
        if (page := linux_pages.page(self.device, command)) is not None:
            return page, 0
        return self._set(word, command)

    def _set(self, word: str, command: str) -> tuple[str, int]:
        quirks, shell = self.device.quirks, self.device.shell
        instead, self._instead = self._instead, ""
        if instead == "reject" or (quirks.reject_line and re.search(quirks.reject_line, command)):
            return "RTNETLINK answers: Operation not permitted", 2
        if shell is None or instead or (quirks.ignore_line and re.search(quirks.ignore_line, command)):
            return "", 0
        outcome = shell.feed(command)
        self.device.last_line = command
        self.device.changed()
        if outcome.kind is OutcomeKind.UNKNOWN:
            text, status = _UNKNOWN[word]
            return text.format(word=[*command.split(), ""][1]), status
        return (outcome.text, 0) if outcome.accepted else (outcome.text, 2)

    def _file(self, command: str) -> tuple[str, int]:
        """Run the few commands on files that keeping a configuration takes."""
        files, stages = self.device.files, _split(command, "|")
        words = shlex.split(stages[0])
        if words[0] == "printf" and len(stages) > 1:
            target = shlex.split(stages[1].removeprefix("sudo ").removeprefix("-n "))
            path = target[2] if target[:2] == ["tee", "-a"] else ""
            if path.rpartition("/")[0] not in self.device.FOLDERS:
                return f"tee: {path}: No such file or directory", 1
            files[path] = files.get(path, "") + "".join(f"{line}\n" for line in words[2:])
        elif words[0] == "rm":
            files.pop(words[-1], None)
        elif words[-1] not in files and (words[0] != "mv" or words[1] not in files):
            return f"{words[0]}: cannot access '{words[-1]}': No such file or directory", 1
        elif words[0] == "mv":
            files[words[2]] = files.pop(words[1])
        elif words[0] == "cat":
            return files[words[-1]].rstrip("\n"), 0
        return "", 0


def _split(line: str, mark: str) -> list[str]:
    """Split a line at a mark that stands outside of quotes, parts stripped."""
    parts, quoted = [""], False
    for key in line:
        quoted ^= key == "'"
        if key == mark and not quoted:
            parts.append("")
        else:
            parts[-1] += key
    return [part.strip() for part in parts]
