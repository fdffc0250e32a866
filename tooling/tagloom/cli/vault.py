"""Pass the password of a vault to Ansible: from a file, or typed at the terminal."""

from __future__ import annotations

import getpass
import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

FILE = "ANSIBLE_VAULT_PASSWORD_FILE"
_TYPED = "TAGLOOM_VAULT_PASSWORD"
# Ansible runs a password file that is executable: what was typed is in no file.
_SCRIPT = f"#!/bin/sh\nprintf '%s\\n' \"${_TYPED}\"\n"


def add_vault_words(parser: argparse.ArgumentParser) -> None:
    """Add the options by which a command that runs Ansible gets the password of a vault."""
    vault = parser.add_mutually_exclusive_group()
    vault.add_argument("--ask-vault-pass", action="store_true", help="ask for the password of the inventory's vault")
    vault.add_argument(
        "--vault-password-file",
        type=Path,
        metavar="FILE",
        help=f"file with the password of the inventory's vault (default: {FILE} of the environment)",
    )


@contextmanager
def vault_password(args: argparse.Namespace) -> Iterator[None]:
    """Set the environment by which Ansible decrypts a vault, as the options say. Raises InputError for no password.

    A command that another one started, which was typed the password, has it from there.
    """
    file = getattr(args, "vault_password_file", None)
    if file is not None:
        if not os.access(file, os.R_OK) or not file.is_file():
            raise InputError([Finding("--vault-password-file", "a file that can be read", str(file))])
        with _environment({FILE: str(file.absolute())}):
            yield
    elif getattr(args, "ask_vault_pass", False) or os.environ.get(_TYPED):
        with tempfile.TemporaryDirectory(prefix="tagloom-vault-") as place:
            script = Path(place) / "password"
            script.write_text(_SCRIPT, "utf-8")
            script.chmod(0o700)
            with _environment({FILE: str(script), _TYPED: os.environ.get(_TYPED) or _typed()}):
                yield
    else:
        yield


def _typed() -> str:
    """Ask for the password at the terminal. Raises InputError where there is no terminal, or nothing is typed."""
    if not sys.stdin.isatty():
        rule = f"a terminal to type the password at, or --vault-password-file, or {FILE}"
        raise InputError([Finding("--ask-vault-pass", rule, "none")])
    typed = getpass.getpass("Vault password: ")
    if not typed:
        raise InputError([Finding("--ask-vault-pass", "a password", "nothing was typed")])
    return typed


@contextmanager
def _environment(more: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in more}
    os.environ.update(more)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
