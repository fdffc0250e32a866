"""Write the systemd unit by which tagloom run repairs a fabric, and read whether a unit was written here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_WRITTEN = "# Written by tagloom (sha256 {}). Change it with: systemctl edit UNIT\n"
_HARDENED = """\
UMask=0027
CapabilityBoundingSet=
PrivateDevices=yes
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=read-only
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectSystem=strict
# Runs, backups and state; the locks on switches, which all users of the computer share, are in /run/lock.
ReadWritePaths={inventory} -/run/lock
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
"""


@dataclass(frozen=True, slots=True)
class Service:
    """The command to keep running, and for whom.

    fabric     the fabric's name
    command    the program and its arguments
    home       the directory of the project, in which it starts; tagloom.env there may hold secrets
    inventory  the directory with the inventory, which it writes to
    user       who runs it; "" in a unit of the user's own systemd, whose sandbox needs more than a user may do
    vault      a file with the password of the inventory's vault, if any
    """

    fabric: str
    command: tuple[str, ...]
    home: Path
    inventory: Path
    user: str = ""
    vault: Path | None = None

    @property
    def name(self) -> str:
        """Return the unit's file name."""
        return f"tagloom-{re.sub(r'[^A-Za-z0-9_.-]', '-', self.fabric) or 'fabric'}.service"


def service_unit(service: Service) -> str:
    """Return the text of a unit, whose first line holds the digest of all others."""
    vault = service.vault or "/etc/tagloom/vault-password"
    off = "" if service.vault is not None else "#"
    network = "Wants=network-online.target\nAfter=network-online.target\n" if service.user else ""
    user = f"User={service.user}\n" if service.user else ""
    text = f"""\
[Unit]
Description=Repair the fabric {_escaped(service.fabric)} after failures (tagloom run)
{network}
[Service]
Type=exec
{user}WorkingDirectory={_escaped(str(service.home))}
ExecStart={command_line(service.command)}
# Secrets, one NAME=value a line, mode 0600: TAGLOOM_PASSWORD, TAGLOOM_SNMP_AUTH_PASSWORD, TAGLOOM_SNMP_PRIV_PASSWORD.
EnvironmentFile=-{_escaped(str(service.home / "tagloom.env"))}
# The password of the inventory's vault, from a file that only root can read.
{off}LoadCredential=vault-password:{_escaped(str(vault))}
{off}Environment=ANSIBLE_VAULT_PASSWORD_FILE=%d/vault-password
# Compiled loops and Ansible's files outlive a restart.
CacheDirectory=tagloom
Environment=NUMBA_CACHE_DIR=%C/tagloom/loops ANSIBLE_HOME=%C/tagloom/ansible
# The wave under way is finished, read back and saved; the next start continues from there.
KillMode=mixed
KillSignal=SIGTERM
TimeoutStopSec=10min
Restart=always
RestartSec=5s

NoNewPrivileges=yes
{_HARDENED.format(inventory=_quoted(str(service.inventory))) if service.user else ""}
[Install]
WantedBy={"multi-user.target" if service.user else "default.target"}
"""
    return _WRITTEN.format(sha256(text.encode()).hexdigest()) + text


def is_written_here(text: str) -> bool:
    """Return whether a unit's text is as `service_unit` wrote it, unchanged since."""
    first, end, rest = text.partition("\n")
    return first + end == _WRITTEN.format(sha256(rest.encode()).hexdigest())


def command_line(words: Sequence[str]) -> str:
    """Return words as ExecStart= takes them: quoted where they need it, % and $ doubled.

    >>> command_line(["/opt/my tools/python", "-m", "tagloom.cli", "run", "50%"])
    '"/opt/my tools/python" -m tagloom.cli run 50%%'
    """
    return " ".join(_quoted(word).replace("$", "$$") for word in words)


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_@%+=:,./$-]+", word):
        return _escaped(word)
    return '"' + _escaped(word).replace("\\", "\\\\").replace('"', '\\"') + '"'
