"""Put consoles on SSH ports of the loopback interface; the only import of asyncssh."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING

import asyncssh

from tagloom.lab.console import FAMILIES, Console
from tagloom.lab.shell_console import ShellConsole
from tagloom.platforms.grammar import Grammar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tagloom.lab.device import Device

LOOPBACK = "127.0.0.1"
RSA_BITS = 2048
# What a PowerConnect of its time speaks and nothing newer; paramiko 5 offers none of it.
LEGACY = {
    "kex_algs": ["diffie-hellman-group14-sha1"],
    "encryption_algs": ["aes128-cbc", "3des-cbc"],
    "mac_algs": ["hmac-sha1"],
}
LEGACY_HOST_KEY = b"ssh-rsa"  # an RSA key that signs with SHA-1
_RETURNS = ("\r\n", "\r", "\n")
_LINE_ENDS = re.compile(r"(\r\n|\r|\n)")


def host_keys(*, legacy: bool = False) -> list[asyncssh.SSHKey]:
    """Make the host keys of a rack: ed25519 and RSA, or RSA alone for a rack of old switches."""
    rsa = asyncssh.generate_private_key("ssh-rsa", key_size=RSA_BITS)
    return [rsa] if legacy else [asyncssh.generate_private_key("ssh-ed25519"), rsa]


def known_hosts(keys: Sequence[asyncssh.SSHKey], ports: Sequence[int]) -> str:
    """Write the known_hosts lines of a rack's switches, every key at every port."""
    public = [key.export_public_key().decode().strip() for key in keys]
    return "".join(f"[{LOOPBACK}]:{port} {key}\n" for port in ports for key in public)


class _Login(asyncssh.SSHServer):
    """Let clients in the way the family does, and keep count of who is connected."""

    def __init__(self, device: Device, connections: set[asyncssh.SSHServerConnection]) -> None:
        self._device, self._connections = device, connections

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        del username  # ROS takes authentication "none" of anyone, and asks inside the shell
        if self._device.is_linux:
            return True
        return not FAMILIES[Grammar.of(self._device.platform).code].login_in_shell

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return self._device.accepts(username, password)


async def _talk(process: asyncssh.SSHServerProcess[str], device: Device) -> None:
    console = ShellConsole(device) if device.is_linux else Console(device)
    process.stdout.write(console.start())
    try:
        while not console.closed:
            try:
                keys = await process.stdin.read(4096)
            except (asyncssh.TerminalSizeChanged, asyncssh.BreakReceived, asyncssh.SignalReceived):
                continue
            if not keys:
                break
            for part in _LINE_ENDS.split(keys):
                if part in _RETURNS and (pause := console.pause_seconds):
                    await asyncio.sleep(pause)
                process.stdout.write(console.feed(part))
            await process.stdout.drain()
    except (asyncssh.Error, OSError):  # the client went away, which a switch does not mind
        pass
    finally:
        console.close()
    process.exit(0)


async def serve(
    device: Device,
    keys: Sequence[asyncssh.SSHKey],
    connections: set[asyncssh.SSHServerConnection],
    port: int = 0,
    *,
    legacy: bool = False,
) -> asyncssh.SSHAcceptor:
    """Listen for one switch on loopback; port 0 lets the system choose. Raises OSError for a port in use."""
    pairs = asyncssh.load_keypairs(list(keys))
    if legacy:
        for pair in pairs:
            pair.host_key_algorithms = [LEGACY_HOST_KEY]
    return await asyncssh.listen(
        LOOPBACK,
        port,
        server_factory=partial(_Login, device, connections),
        server_host_keys=pairs,
        process_factory=partial(_talk, device=device),
        line_editor=False,
        encoding="utf-8",
        errors="replace",
        kbdint_auth=False,
        public_key_auth=False,
        **(LEGACY if legacy else {}),
    )
