"""Be what a Linux machine is beside its bridge: its files, users, address and services, as its first login sets them.

Of the shell there is what those lines type: `||`, one pipe into chpasswd, `>` and `>>`, and a handful of programs. What
lasts is in files, as on a real one.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tagloom.lab.device import UnmanagedConfig

_SHADOW, _UNITS, _HOST_KEY = "/etc/shadow", "/etc/systemd/system/", "/etc/ssh/ssh_host_rsa_key"
_ADDRESS = "/etc/tagloom/address.sh"
_IS = re.compile(
    r"(?:hostname|id|useradd|printf|mkdir|grep|chown|chmod -R|chmod 755 /etc/tagloom/address\.sh|ssh-keygen|systemctl) "
    rf"|{re.escape(_ADDRESS)}$"
)
_TEE = re.compile(r"\| (?:sudo -n )?tee ")
_Answer = tuple[str, int]


@dataclass(frozen=True, slots=True)
class LinuxSystem:
    """What is kept of a machine beside its bridge; `foreign` is what runs, and `files` what lasts."""

    files: dict[str, str]
    foreign: UnmanagedConfig

    @property
    def lines(self) -> list[str]:
        """Return what runs, a line each."""
        return self.foreign.blocks.setdefault("", [])

    @property
    def users(self) -> dict[str, str]:
        """Return each user's password, root's among them."""
        rows = (line.partition(":") for line in self.files.get(_SHADOW, "").splitlines())
        return {"root": ""} | {user: password for user, _, password in rows}

    @property
    def user_keys(self) -> dict[str, str]:
        """Return each user's public RSA key, in base 64."""
        rows = {user: self.files.get(f"{_home(user)}/.ssh/authorized_keys", "").split() for user in self.users}
        return {user: words[1] for user, words in rows.items() if len(words) > 1}

    @property
    def serves_ssh(self) -> bool:
        """Return whether its SSH server runs, has a key, and is reached."""
        reached = any(line.startswith("address ") for line in self.lines)
        return "service ssh" in self.lines and _HOST_KEY in self.files and reached

    @property
    def lets_root_in(self) -> bool:
        """Return whether root may log in over SSH by a password."""
        return any("PermitRootLogin yes" in text for path, text in self.files.items() if "/sshd_config.d/" in path)

    def boot(self) -> None:
        """Start what is enabled."""
        self.lines[:] = [f"hostname {self.files.get('/etc/hostname', 'debian').strip()}"]
        for unit in ("ssh", "snmpd", "lldpd"):
            if f"{_UNITS}wants/{unit}" in self.files:
                self.run(f"systemctl restart {unit}")
        if f"{_UNITS}wants/tagloom" in self.files and f"{_UNITS}tagloom.service" in self.files:
            self.run(_ADDRESS)

    @staticmethod
    def knows(command: str) -> bool:
        """Return whether a command is one of these."""
        return bool(_IS.match(command)) and not _TEE.search(command)

    def run(self, command: str) -> _Answer | None:
        """Carry out a command, and return what it prints and its exit status; None for one that is none of these."""
        if not self.knows(command):
            return None
        answer: _Answer = ("", 1)
        for each in command.split(" || "):
            answer = self._one(each)
            if not answer[1]:
                break
        return answer

    def _one(self, command: str) -> _Answer:
        whole, _, pipe = command.partition(" | ")
        words, quiet, target, appends = _redirected(shlex.split(whole))
        program = self._PROGRAMS.get(words[0])
        if program is None:
            return f"-sh: {words[0]}: command not found", 127
        text, status = program(self, words[1:])
        if pipe == "chpasswd" and not status:
            for user, _, password in (line.partition(":") for line in text.splitlines()):
                if user not in self.users:
                    return f"chpasswd: line 1: user '{user}' does not exist", 1
                self._keep_user(user, password)
            return "", 0
        if target:
            self.files[target] = (self.files.get(target, "") if appends else "") + text
        return ("" if quiet or target else text.rstrip("\n")), status

    def _keep_user(self, user: str, password: str) -> None:
        users = self.users | {user: password}
        self.files[_SHADOW] = "".join(f"{name}:{word}\n" for name, word in users.items())

    def _hostname(self, words: Sequence[str]) -> _Answer:
        self.lines[:] = [*(line for line in self.lines if not line.startswith("hostname ")), f"hostname {words[0]}"]
        return "", 0

    def _id(self, words: Sequence[str]) -> _Answer:
        return ("uid=1000", 0) if words[0] in self.users else (f"id: '{words[0]}': no such user", 1)

    def _useradd(self, words: Sequence[str]) -> _Answer:
        self._keep_user(words[-1], "!")
        return "", 0

    def _printf(self, words: Sequence[str]) -> _Answer:
        return "".join(f"{word}\n" for word in words[1:]), 0

    def _grep(self, words: Sequence[str]) -> _Answer:
        return "", 0 if words[1] in self.files.get(words[2], "") else 1

    def _nothing(self, _: Sequence[str]) -> _Answer:
        return "", 0

    def _ssh_keygen(self, _: Sequence[str]) -> _Answer:
        self.files.setdefault(_HOST_KEY, "a key\n")
        return "ssh-keygen: generating new host keys: RSA", 0

    def _systemctl(self, words: Sequence[str]) -> _Answer:
        verb, unit = [*words, ""][:2]
        if verb == "enable":
            self.files[f"{_UNITS}wants/{unit}"] = ""
            return f"Created symlink {unit}", 0
        line = "snmp-server on" if unit == "snmpd" else f"service {unit}"
        runs = [each for each in self.lines if each != line]
        configured = unit != "snmpd" or "/etc/snmp/snmpd.conf.d/tagloom.conf" in self.files
        self.lines[:] = [*runs, line] if verb == "restart" and configured else runs
        return "", 0

    def _address(self, _: Sequence[str]) -> _Answer:
        found = re.findall(r"(?m)^ip address replace (\S+ dev \S+)$", self.files.get(_ADDRESS, ""))
        runs = [line for line in self.lines if not line.startswith("address ")]
        self.lines[:] = [*runs, *(f"address {each}" for each in found)]
        return ("", 0) if found else (f"-sh: {_ADDRESS}: not found", 127)

    _PROGRAMS: ClassVar[dict[str, Callable[[LinuxSystem, Sequence[str]], _Answer]]] = {
        "hostname": _hostname,
        "id": _id,
        "useradd": _useradd,
        "printf": _printf,
        "grep": _grep,
        "mkdir": _nothing,
        "chown": _nothing,
        "chmod": _nothing,
        "ssh-keygen": _ssh_keygen,
        "systemctl": _systemctl,
        _ADDRESS: _address,
    }


def _home(user: str) -> str:
    return "/root" if user == "root" else f"/home/{user}"


def _redirected(words: Sequence[str]) -> tuple[list[str], bool, str, bool]:
    """Return words without redirections, whether output is thrown away, the file it goes to, and whether to its end.

    `~user` stands for a home.
    """
    left: list[str] = []
    quiet, target, appends, take = False, "", False, ""
    for raw in words:
        word = re.sub(r"^~(\w+)", lambda found: _home(found[1]), raw)
        if take:
            target, appends, take = word, take == ">>", ""
        elif word in (">", ">>"):
            take = word
        elif word in (">/dev/null", "2>/dev/null", "2>&1"):
            quiet = quiet or word.startswith(">")
        else:
            left.append(word)
    return left, quiet, target, appends
