"""Open tagloom's own SQLite files; detect foreign, damaged, newer, locked and unwritable ones."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar
from urllib.parse import quote_from_bytes

from pydantic import Field, TypeAdapter, ValidationError

from tagloom.errors import Finding, InputError
from tagloom.storage.document import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")
CHECKED_BYTES = 1 << 26  # every page of a file up to this size is checked when it is opened
BUSY_SECONDS = 5.0
NEXT_STEP = "move it away, or name another file"
LAST_SECOND = 253_402_300_799  # since the epoch, the end of the year 9999 (UTC): the last that Python's calendar knows
EpochSeconds = Annotated[float, Field(ge=0, le=LAST_SECOND)]


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of file: the mark and version in its header (sqlite.org/fileformat.html), and its tables.

    what            its name in findings
    application_id  0 if files of this kind bear no mark and are known by their tables alone
    """

    what: str
    application_id: int
    version: int
    schema: str


def connected(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open an existing file, or ":memory:", without implicit transactions. Raises sqlite3.Error."""
    memory = str(path) == ":memory:"
    # As Path.as_uri has it, which from Python 3.14 on imports five modules at its first call, perhaps in a thread.
    uri = f"file://{quote_from_bytes(os.fsencode(path.absolute()))}?mode=rw"  # read-only if the file system demands it
    return sqlite3.connect(":memory:" if memory else uri, uri=not memory, timeout=busy_seconds, isolation_level=None)


@contextmanager
def transaction(wire: sqlite3.Connection) -> Iterator[None]:
    """Commit all writes of the context, or none. Raises sqlite3.Error."""
    wire.execute("BEGIN IMMEDIATE")
    try:
        yield
        wire.execute("COMMIT")
    except BaseException:
        if wire.in_transaction:
            wire.execute("ROLLBACK")
        raise


class Store:
    """One open file of a form; every method raises InputError if the file is damaged or unusable.

    new           create the file, or the tables of an empty one
    parents       create missing parent directories, too
    owner_only    make what is created readable by its owner alone
    busy_seconds  how long to wait for other writers
    exclusive     lock all others out until it is closed
    deep          check every page unless the file is large; otherwise only header and tables
    """

    def __init__(
        self,
        path: Path,
        form: Form,
        *,
        new: bool = False,
        parents: bool = False,
        owner_only: bool = False,
        busy_seconds: float = BUSY_SECONDS,
        exclusive: bool = False,
        deep: bool = True,
    ) -> None:
        self.path, self.form = path, form
        memory = str(path) == ":memory:"
        with self.reported():
            if not memory:
                self._check_file(new=new)
                if new and parents:
                    path.parent.mkdir(mode=0o700 if owner_only else 0o777, parents=True, exist_ok=True)
                if new:
                    with suppress(FileExistsError):
                        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600 if owner_only else 0o666))
            self.wire = connected(path, busy_seconds)
        try:
            with self.reported():
                if exclusive:
                    self.wire.execute("PRAGMA locking_mode = EXCLUSIVE")
                    self.wire.execute("BEGIN EXCLUSIVE")
                    self.wire.execute("COMMIT")
                self._check_tables(new=new, deep=deep)
        except BaseException:
            self.wire.close()
            raise

    def __enter__(self) -> Self:
        """Return the open store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file and release its lock."""
        self.wire.close()

    def rows(self, types: type[T], query: str, values: Sequence[object] = ()) -> list[T]:
        """Return the rows of a query; `types` is a tuple type with the type of each cell."""
        return list(self.each(types, query, values))

    def each(self, types: type[T], query: str, values: Sequence[object] = ()) -> Iterator[T]:
        """Yield the rows of a query one by one, as `rows` does."""
        row_of: TypeAdapter[T] = _adapter(types)  # type: ignore[arg-type] # a type is hashable
        with self.reported(), closing(self.wire.execute(query, values)) as found:
            for row in found:
                yield row_of.validate_python(row, strict=True)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Return the connection inside one transaction: either all writes are committed or none."""
        with self.reported(), transaction(self.wire):
            yield self.wire

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Turn errors of SQLite, of the disk and of cell types into a finding about the file."""
        try:
            yield
        except ValidationError as error:
            cell = error.errors(include_url=False)[0]
            expected = cell["msg"].removeprefix("Input should be ")
            raise self._wrong(f"{self.form.what}, its cells whole: {expected}", shown(cell["input"])) from None
        except sqlite3.OperationalError as error:
            raise self._wrong(*self._unusable(str(error))) from None
        except sqlite3.Error as error:
            if _is_no_database(error):
                raise self._wrong(self.form.what, f"another kind of file ({NEXT_STEP})") from None
            raise self._wrong(f"{self.form.what}, whole", f"{error} ({NEXT_STEP})") from None
        except UnicodeError as error:
            raise self._wrong(f"{self.form.what}, its texts in UTF-8", str(error)) from None
        except OverflowError as error:
            raise self._wrong(f"{self.form.what}, numbers of 64 bits", str(error)) from None
        except OSError as error:
            raise self._wrong(f"{self.form.what} that can be used", error.strerror or str(error)) from None

    def _unusable(self, text: str) -> tuple[str, str]:
        if "locked" in text or "busy" in text:
            return f"{self.form.what}, and no other tagloom that keeps it", text
        if "decode" in text:
            return f"{self.form.what}, its texts in UTF-8", "others"
        if any(word in text for word in ("no such", "malformed", "schema", "syntax", "corrupt", "unsupported")):
            return f"{self.form.what}, whole", f"{text} ({NEXT_STEP})"
        return f"{self.form.what} that can be used", text

    def _wrong(self, expected: str, actual: str) -> InputError:
        return InputError([Finding(str(self.path), expected, actual)])

    def _check_file(self, *, new: bool) -> None:
        """Raise InputError before SQLite opens what is no file or, unless it may be new, an empty one."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            if new:
                return
            raise self._wrong(self.form.what, "no such file") from None
        if stat.S_ISDIR(found.st_mode):
            raise self._wrong(f"{self.form.what} that can be used", os.strerror(errno.EISDIR))
        if not stat.S_ISREG(found.st_mode):
            raise self._wrong(self.form.what, "no file")
        if not os.access(self.path, os.R_OK):
            raise self._wrong(f"{self.form.what} that can be used", os.strerror(errno.EACCES))
        if not found.st_size and not new:
            raise self._wrong(self.form.what, "an empty file")

    def _check_tables(self, *, new: bool, deep: bool) -> None:
        """Compare mark, version and tables with the form's, and create the tables of an empty file."""
        form = self.form
        (application,), (version,) = (
            self.wire.execute(f"PRAGMA {pragma}").fetchone() for pragma in ("application_id", "user_version")
        )
        (tables,) = self.wire.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if new and not tables and not version:
            with self.writing():
                if self.wire.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    return  # another process created them first
                for line in _statements(form.schema):
                    self.wire.execute(line)
                if form.application_id:
                    self.wire.execute(f"PRAGMA application_id = {form.application_id}")
                self.wire.execute(f"PRAGMA user_version = {form.version}")
            return
        if application != form.application_id:
            raise self._wrong(form.what, f"another program's file ({NEXT_STEP})")
        if version != form.version:
            newer = ", made by a newer tagloom" if version > form.version else ""
            raise self._wrong(f"{form.what} of version {form.version}", f"version {version}{newer}")
        odd = [name for name, columns in _tables(form.schema).items() if columns != _columns(self.wire, name)]
        odd += [name for (name,) in self.wire.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        if odd:
            raise self._wrong(f"{form.what} with its own tables", f"others: {', '.join(map(str, odd))} ({NEXT_STEP})")
        if deep and str(self.path) != ":memory:" and self.path.stat().st_size <= CHECKED_BYTES:
            reported = self.wire.execute("PRAGMA quick_check(1)").fetchone()
            if reported != ("ok",):
                raise self._wrong(f"{form.what}, whole", f"{shown(reported and reported[0])} ({NEXT_STEP})")


def mark_of(path: Path) -> int | None:
    """Return the application id of an SQLite file, 0 if it cannot be read now, None if it is no such file.

    SQLite itself reads the header. If a descriptor of ours were closed, this process would lose all locks that it holds
    on the file, and another process would take its write-ahead log for one that nobody needs any more
    (sqlite.org/howtocorrupt.html, section 2.2).
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or not found.st_size or not os.access(path, os.R_OK):
            return None
        with closing(connected(path, BUSY_SECONDS)) as wire:
            return int(wire.execute("PRAGMA application_id").fetchone()[0])
    except sqlite3.Error as error:
        return None if _is_no_database(error) else 0
    except OSError:
        return None


def _is_no_database(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB  # errors of Python's own have none


@cache
def _tables(schema: str) -> dict[str, tuple[str, ...]]:
    """Return the columns of a schema's tables."""
    with closing(sqlite3.connect(":memory:")) as wire:
        wire.executescript(schema)
        names = [name for (name,) in wire.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: _columns(wire, name) for name in names}


def _columns(wire: sqlite3.Connection, table: str) -> tuple[str, ...]:
    return tuple(str(name) for _, name, *_ in wire.execute(f"PRAGMA table_info({table})"))


def _statements(schema: str) -> Iterator[str]:
    """Split a schema into statements; `executescript` would end the transaction around them."""
    text = ""
    for part in schema.split(";"):
        text += part + ";"
        if sqlite3.complete_statement(text):
            yield text
            text = ""


@cache
def _adapter(types: Any) -> TypeAdapter[Any]:
    return TypeAdapter(types)
