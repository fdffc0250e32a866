"""The location of switches, and the directories of a command's runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from tagloom.apply.abort import home_of
from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Site:
    """The location of the switches and how to reach them.

    inventory    Ansible inventory, a directory or a file; runs leave their outcomes and backups in `runs` beside it
    share        the directory with playbooks, roles and templates
    environment  the process's own, for ansible-playbook
    run          the prefix of this command's run names
    """

    inventory: Path
    share: Path
    environment: Mapping[str, str]
    run: str

    @property
    def home(self) -> Path:
        """Return the directory of all runs, with the journal and the lock."""
        return home_of(self.inventory)

    @property
    def log(self) -> Path:
        """Return the file for ansible-playbook's output."""
        return self.home / f"{self.run}-ansible.log"

    def open_log(self) -> BinaryIO:
        """Open the log for appending; only the user may read it. Raises InputError if it cannot be opened."""
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.fdopen(os.open(self.log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "ab")
        except OSError as error:
            raise InputError([Finding(str(self.log), "a file that can be written", error.strerror or "")]) from error

    def place(self, what: str) -> Path:
        """Return where the directory of one run is, which need not be there."""
        return self.home / f"{self.run}-{what}"

    def directory(self, what: str) -> Path:
        """Return the directory of one run; its backups contain the switches' secrets, so only the user may read it.

        Raises InputError if it cannot be created.
        """
        path = self.place(what)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            actual = error.strerror or str(error)
            raise InputError([Finding(str(path), "a directory that can be made", actual)]) from error
        return path
