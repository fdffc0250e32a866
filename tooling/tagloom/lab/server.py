"""Put consoles on SSH ports of the loopback interface; the only import of asyncssh."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import TYPE_CHECKING, Protocol

import asyncssh

from tagloom.lab.comware_console import ComwareConsole
from tagloom.lab.console import FAMILIES, Console
from tagloom.lab.directory import LOOPBACK
from tagloom.lab.eos_console import EosConsole
from tagloom.lab.faults import BOOTS, LASTING
from tagloom.lab.huawei_console import HuaweiConsole
from tagloom.lab.manners import Mannered, manner
from tagloom.lab.routeros_console import RouterOsConsole
from tagloom.lab.shell_console import ShellConsole
from tagloom.platforms.grammar import Grammar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from tagloom.lab.device import Device

    _Process: TypeAlias = asyncssh.SSHServerProcess[str]
    _Console: TypeAlias = Console | ShellConsole | RouterOsConsole | Mannered

RSA_BITS = 2048
# What a PowerConnect of its time speaks and nothing newer; paramiko 5 offers none of it.
LEGACY = {
    "kex_algs": ["diffie-hellman-group14-sha1"],
    "encryption_algs": ["aes128-cbc", "3des-cbc"],
    "mac_algs": ["hmac-sha1"],
}
LEGACY_HOST_KEY = b"ssh-rsa"  # an RSA key that signs with SHA-1
_LINE_ENDS = re.compile(r"(\r\n|\r|\n)")
_POLL_SECONDS = 0.01


def host_keys(*, legacy: bool = False) -> list[asyncssh.SSHKey]:
    """Make the host keys of a rack: ed25519 and RSA, or RSA alone for a rack of old switches."""
    rsa = asyncssh.generate_private_key("ssh-rsa", key_size=RSA_BITS)
    return [rsa] if legacy else [asyncssh.generate_private_key("ssh-ed25519"), rsa]


def known_hosts(keys: Sequence[asyncssh.SSHKey], ports: Sequence[int]) -> str:
    """Write the known_hosts lines of a rack's switches, every key at every port."""
    public = [key.export_public_key().decode().strip() for key in keys]
    return "".join(f"[{LOOPBACK}]:{port} {key}\n" for port in ports for key in public)


class Wire(Protocol):
    """A connection to a switch, which ends where the switch does."""

    def abort(self) -> None:
        """Cut it."""
        ...


class _Login(asyncssh.SSHServer):
    """The login of a switch's family, and a count of who is connected."""

    def __init__(self, device: Device, connections: set[Wire]) -> None:
        self._device, self._connections = device, connections

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        if self._device.down or not self._device.serves_ssh:
            conn.abort()
            return
        self._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        # ROS takes authentication "none" of anyone, and asks inside the shell, unless a key says who it is
        if not self._device.has_modes or (self._device.key_is_enough and username in self._device.user_keys):
            return True
        return not FAMILIES[Grammar.of(self._device.platform).code].login_in_shell

    def password_auth_supported(self) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return bool(self._device.user_keys)

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        user = username.partition("+")[0] if self._device.is_routeros else username
        known = self._device.user_keys.get(user, "")
        shown = key.export_public_key().decode().split()[1]
        if shown == known:
            self._connection.set_extra_info(known=self._device.key_is_enough)
        return shown == known

    def validate_password(self, username: str, password: str) -> bool:
        if self._device.is_routeros and username.partition("+")[0] in self._device.user_keys:
            return False  # who has a key logs in with that over SSH, by the manual's default
        refused = self._device.is_linux and self._device.foreign.from_factory and not password
        if refused or (username == "root" and self._device.is_linux and not self._device.linux.lets_root_in):
            return False  # sshd_config(5): PermitEmptyPasswords no, PermitRootLogin prohibit-password
        return self._device.accepts(username, password)


def mannered(device: Device, console: Console | ShellConsole | RouterOsConsole) -> _Console:
    """Return a console with its switch's manner."""
    named = device.manner or ("asks-to-enable" if device.has_modes and device.enable_password else "")
    return Mannered(console, manner(named, shell=not device.has_modes)) if named else console


def console_of(device: Device, *, serial: bool = False, known: bool = False) -> Console:
    """Return a session at a console of modes, of the kind that the switch's family has."""
    kinds: dict[str, type[Console]] = {"comware": ComwareConsole, "huawei": HuaweiConsole, "eos": EosConsole}
    kind = kinds.get(Grammar.of(device.platform).code, Console)
    return kind(device, serial=serial, known=known)


def new_console(
    device: Device, *, serial: bool = False, known: bool = False, user: str = ""
) -> Console | ShellConsole | RouterOsConsole:
    """Return a new session of the kind that a switch's login opens, over SSH by `user`, or at a serial line or telnet.

    One who is `known` is asked nothing.
    """
    if device.has_modes:
        return console_of(device, serial=serial, known=known)
    return ShellConsole(device, serial=serial) if device.is_linux else RouterOsConsole(device, serial=serial, user=user)


async def _show(process: _Process, console: _Console, text: str) -> None:
    """Send what a screen shows, as its manner has it."""
    if not isinstance(console, Mannered):
        process.stdout.write(text)
        return
    for seconds, piece in console.pieces(text):
        await asyncio.sleep(seconds)
        process.stdout.write(piece)
        await process.stdout.drain()


async def _talk(process: _Process, device: Device) -> None:
    console = mannered(
        device,
        new_console(device, known=bool(process.get_extra_info("known")), user=str(process.get_extra_info("username"))),
    )
    device.logins += 1
    device.sessions += 1
    device.most_sessions = max(device.most_sessions, device.sessions)
    await _show(process, console, console.start())
    try:
        while not console.closed:
            try:
                keys = await process.stdin.read(4096)
            except (asyncssh.TerminalSizeChanged, asyncssh.BreakReceived, asyncssh.SignalReceived):
                continue
            if not keys:
                break
            parts = _LINE_ENDS.split(console.arrives(keys) if isinstance(console, Mannered) else keys)
            for typed, end in zip(parts[::2], [*parts[1::2], ""], strict=True):
                await _take(process, console, device, typed, end)
            await process.stdout.drain()
    except (asyncssh.Error, OSError):  # the client went away, which a switch does not mind
        pass
    finally:
        console.close()
        device.sessions -= 1
    process.exit(0)


async def _take(process: _Process, console: _Console, device: Device, typed: str, end: str) -> None:
    """Show what is typed and, where a Return ends it, what the switch answers, through the fault that is due."""
    fault = console.due(typed) if end else None
    if fault is not None:
        device.struck(fault, typed)
    if fault is not None and fault.kind in BOOTS:
        console.close()
    elif fault is None or fault.kind in LASTING:
        pause = console.pause_seconds if end else 0.0
        if pause:
            await _show(process, console, console.feed(typed))
            await asyncio.sleep(pause)
            await _show(process, console, console.feed(end))
        else:
            await _show(process, console, console.feed(typed + end))
    elif fault.kind in ("drop-before", "drop-inside", "drop-after"):
        if fault.kind == "drop-inside":
            process.stdout.write(console.feed(typed[: fault.cut(typed)]))
            await process.stdout.drain()
        elif fault.kind == "drop-after":
            console.feed(typed + end)
        console.close()
        process.get_extra_info("connection").abort()
    elif fault.kind in ("slow", "late"):
        shown = console.feed(typed + end) if fault.kind == "late" else console.feed(typed)
        if fault.kind == "slow":
            process.stdout.write(shown)
        if await _held(process, device, fault.lasts):
            process.stdout.write(shown if fault.kind == "late" else console.feed(end))
    else:
        if fault.kind in ("reject", "ignore"):
            console.instead(fault.kind)
        echo, answer = console.feed(typed), console.feed(end)
        shown = answer if fault.kind == "no-echo" else echo + answer
        process.stdout.write(fault.garbled(shown) if fault.kind == "garble" else shown)


async def _held(process: _Process, device: Device, seconds: float) -> bool:
    """Wait for some seconds or until the switch's faults are mended; tell whether the session is still there."""
    mended, loop = device.faults.mended, asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end and device.faults.mended == mended and not process.channel.is_closing():  # noqa: ASYNC110 - of three things any
        await asyncio.sleep(min(_POLL_SECONDS, max(0.0, end - loop.time())))
    return not process.channel.is_closing()


async def serve(
    device: Device,
    keys: Sequence[asyncssh.SSHKey],
    connections: set[Wire],
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
        public_key_auth=True,
        **(LEGACY if legacy else {}),
    )
