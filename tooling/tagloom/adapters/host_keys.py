"""Enrol the host keys of switches in a known_hosts file; another key than the one there only if told to."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

import paramiko

from tagloom.adapters.ssh import known_name
from tagloom.errors import DeviceError, Finding, InputError
from tagloom.storage.whole import write_whole

if TYPE_CHECKING:
    from pathlib import Path

_POLL_SECONDS = 0.5


def fetch(name: str, host: str, port: int, seconds: float, answer_seconds: float = 0.0) -> paramiko.PKey:
    """Return the key that a switch shows, once its SSH server runs; nobody is logged in. Raises DeviceError.

    It is asked for so many seconds again and again, and may take `answer_seconds` each time (as many, if 0).
    """
    end = time.monotonic() + seconds
    while True:
        try:
            return _shown_now(name, host, port, answer_seconds or seconds)
        except DeviceError:
            if time.monotonic() > end:
                raise
            time.sleep(_POLL_SECONDS)


def _shown_now(name: str, host: str, port: int, seconds: float) -> paramiko.PKey:
    try:
        with socket.create_connection((host, port), seconds) as wire:
            transport = paramiko.Transport(wire)
            try:
                transport.start_client(timeout=seconds)
                return transport.get_remote_server_key()
            finally:
                transport.close()
    except (paramiko.SSHException, OSError, EOFError) as error:
        raise DeviceError(name, "host key", f"{host}:{port} shows none ({error})") from None


def enrolled(path: Path, host: str, port: int) -> tuple[str, ...]:
    """Return the fingerprints of the keys that a known_hosts file has of a switch. Raises InputError."""
    return tuple(key.fingerprint for key in _known(path, host, port).values())


def enrol(path: Path, host: str, port: int, key: paramiko.PKey, *, instead: bool = False) -> bool:
    """Add a switch's key to a known_hosts file; False where it is there.

    With `instead` the operator has said that it takes the place of the keys that are there: these go, and nothing else
    of the file does. Raises InputError where another one is there, otherwise.
    """
    known = _known(path, host, port)
    if any(each == key for each in known.values()):
        return False
    if known and not instead:
        expected = f"no key of {known_name(host, port)}, or the one that it shows ({key.fingerprint})"
        actual = "another: where the switch was replaced, type: "
        actual += f"ssh-keygen -R '{known_name(host, port)}' -f {path}, then tagloom bootstrap again"
        raise InputError([Finding(str(path), expected, actual)])
    entry = f"{known_name(host, port)} {key.get_name()} {key.get_base64()}\n"
    try:
        text = path.read_text("utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([Finding(str(path), "a known_hosts file that can be read", str(error))]) from None
    lines = [kept for line in text.splitlines(keepends=True) if (kept := _without(line, known_name(host, port)))]
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    write_whole(path, "".join([*lines, entry]))
    return True


def _known(path: Path, host: str, port: int) -> dict[str, paramiko.PKey]:
    try:
        keys = paramiko.HostKeys(str(path)) if path.is_file() else paramiko.HostKeys()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([Finding(str(path), "a known_hosts file that can be read", str(error))]) from None
    return dict(keys.lookup(known_name(host, port)) or {})


def _without(line: str, label: str) -> str:
    """Return a line of a known_hosts file that does not name a host; "" where it names no other."""
    names, blank, rest = line.partition(" ")
    if line.startswith(("#", "@")) or not blank:
        return line
    left = [name for name in names.split(",") if name != label and not _is_hash_of(name, label)]
    return f"{','.join(left)} {rest}" if left else ""


def _is_hash_of(name: str, label: str) -> bool:
    return name.startswith("|1|") and paramiko.HostKeys.hash_host(label, name) == name
