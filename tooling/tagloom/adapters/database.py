"""Open SQLite files of tagloom's own, told by the mark in their header, and make new ones."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Form:
    """Say what a kind of file is: the mark and version in its header (sqlite.org/fileformat.html), its tables.

    expected  what is asked for where a file is none at all; `versioned`, where it is another version or program's
    """

    application_id: int
    version: int
    schema: str
    expected: str
    versioned: str


def open_file(path: Path, form: Form, *, new: bool = True) -> sqlite3.Connection:
    """Open a file of a form; where `new`, an empty one gets its tables. Raises InputError for anything else."""
    try:
        file = sqlite3.connect(path)
        (version,) = file.execute("PRAGMA user_version").fetchone()
        (application,) = file.execute("PRAGMA application_id").fetchone()
        tables = file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    except sqlite3.Error as error:
        raise InputError([Finding(str(path), form.expected, str(error))]) from None
    if new and tables == 0 and version == 0:
        marks = f"PRAGMA application_id = {form.application_id}; PRAGMA user_version = {form.version};"
        file.executescript(marks + form.schema)
    elif (application, version) != (form.application_id, form.version):
        file.close()
        actual = f"version {version}" if application == form.application_id else "another program's file"
        raise InputError([Finding(str(path), f"{form.versioned} of version {form.version}", actual)])
    return file
