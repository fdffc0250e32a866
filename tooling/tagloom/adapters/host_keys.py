"""Enrol the host keys of switches in a known_hosts file, and never take another key for one that is there."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

import paramiko

from tagloom.adapters.ssh import SSH_PORT
from tagloom.errors import DeviceError, Finding, InputError

if TYPE_CHECKING:
    from pathlib import Path

_POLL_SECONDS = 0.5


def fetch(name: str, host: str, port: int, seconds: float) -> paramiko.PKey:
    """Return the key that a switch shows, once its SSH server runs; nobody is logged in. Raises DeviceError."""
    end = time.monotonic() + seconds
    while True:
        try:
            return _shown_now(name, host, port, seconds)
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


def enrol(path: Path, host: str, port: int, key: paramiko.PKey) -> bool:
    """Add a switch's key to a known_hosts file; False where it is there. Raises InputError where another one is."""
    label = host if port == SSH_PORT else f"[{host}]:{port}"
    try:
        keys = paramiko.HostKeys(str(path)) if path.is_file() else paramiko.HostKeys()
        known = keys.lookup(label)
        if known is not None and any(each == key for each in known.values()):
            return False
        if known:
            expected = f"no key of {label}, or the one that it shows ({key.fingerprint})"
            actual = "another: where the switch was replaced, type: "
            actual += f"ssh-keygen -R '{label}' -f {path}, then tagloom bootstrap again"
            raise InputError([Finding(str(path), expected, actual)])
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{label} {key.get_name()} {key.get_base64()}\n")
    except OSError as error:
        raise InputError([Finding(str(path), "a known_hosts file that can be written", str(error))]) from None
    return True
