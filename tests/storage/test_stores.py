"""Every SQLite store tells what is wrong with its file in one sentence, and loses nothing that was in it."""

import os
import resource
import signal
import sqlite3
from contextlib import closing
from types import SimpleNamespace

import pytest

from tagloom.adapters.forecasts import Forecasts
from tagloom.adapters.history import History
from tagloom.adapters.measurements import Measurements
from tagloom.adapters.timetable_memory import TimetableMemory
from tagloom.apply.journal import Journal
from tagloom.errors import InputError
from tagloom.records.kept import Measured, Quantity
from tagloom.records.observation import Counters, Observation
from tagloom.records.timetable import TimetableProgress
from tagloom.storage.database import connected


def history(path):
    with closing(History(path)) as file:
        ports = (Counters(1, "g1", in_octets=2**64 - 1, out_octets=5),)
        file.append("ring", 10.0, {"s0": Observation("s0", 10.0, ports=ports)})
        return file.last("ring"), list(file.snapshots("ring"))


def ledger(path):
    with closing(TimetableMemory(path)) as file:
        file.note(1.0, "done", ("night",), "")
        file.remember(TimetableProgress(("night",), lowered_at=(1.0,)))
        return file.standing(), file.counts()


def forecasts(path):
    with closing(Forecasts(path, new=True)) as file:
        file.keep(1.0, "ring", "b", {"watts_after": Quantity(4.0, 3.0, None, "table")})
        file.measure([Measured("watts_after", 4.0, "given")])
        return file.forecasts(), file.measured()


def journal(path):
    order = path.with_name("order")
    order.mkdir(exist_ok=True)
    words = {"name": "r", "kind": "apply", "fabric": "ring", "source": "b", "command": "c", "operator": "o"}
    with Journal(path) as file:
        run = file.begin(**words, waves=1, proven=True, order=order)
        file.wave_journal(run.id, 1, "s0").intend(["vlan 2"], "a", "b")
        file.unpack(run.id, path.with_name("unpacked"))
        return file.runs(), file.switches(run.id)


def measurements(path):
    with closing(Measurements(path)) as file:
        file.append(
            1.0,
            [
                SimpleNamespace(
                    kind="power", fabric="ring", parameters={}, quantity="watts", value=1.0, unit="W", uncertainty=None
                )
            ],
        )


def read_ledger(path):
    file = TimetableMemory(path)
    return file.standing(), file.counts()


def read_forecasts(path):
    file = Forecasts(path, new=False)
    return file.forecasts(), file.measured()


def read_journal(path):
    file = Journal(path)
    return file.runs(), file.switches(1), file.unpack(1, path.with_name("u"))  # type: ignore[func-returns-value]


READING = {
    "history": lambda path: History(path).last("ring"),
    "ledger": read_ledger,
    "forecasts": read_forecasts,
    "journal": read_journal,
}
STORES = {use.__name__: use for use in (history, ledger, forecasts, journal, measurements)}
CELLS = {
    "history": (
        "UPDATE port SET in_octets = 'many'",
        "UPDATE port SET number = x'00'",
        "UPDATE reading SET at = 'now'",
    ),
    "ledger": (
        "UPDATE standing SET page = '[]'",
        "UPDATE standing SET page = x'ff'",
        "UPDATE event SET kind = x'00'",
    ),
    "forecasts": ("UPDATE forecast SET quantities = '{\"a\": 1}'", "UPDATE measured SET value = 9e999"),
    "journal": ("UPDATE runs SET state = 'lost'", "UPDATE runs SET pack = 'none'", "UPDATE switches SET lines = '{'"),
}


@pytest.fixture(params=STORES)
def use(request):
    return STORES[request.param]


def refused(use, path):
    with pytest.raises(InputError) as caught:
        use(path)
    (finding,) = caught.value.findings
    assert str(path) in finding.where
    return str(finding)


def test_what_is_no_store_is_refused_and_left_alone(use, tmp_path):
    path = tmp_path / "s.db"
    path.write_text("quantity,value\n" * 100)
    assert "another kind of file" in refused(use, path)
    assert path.read_text() == "quantity,value\n" * 100
    os.mkfifo(tmp_path / "pipe")
    assert "no file" in refused(use, tmp_path / "pipe")
    assert "Is a directory" in refused(use, tmp_path)


def test_another_version_or_program_is_refused(use, tmp_path):
    path = tmp_path / "s.db"
    use(path)
    with closing(sqlite3.connect(path)) as file:
        (version,) = file.execute("PRAGMA user_version").fetchone()
        file.execute(f"PRAGMA user_version = {version + 1}")
    assert "made by a newer tagloom" in refused(use, path)
    with closing(sqlite3.connect(tmp_path / "other.db")) as file:
        file.execute("CREATE TABLE mine (x)")
    before = (tmp_path / "other.db").read_bytes()
    refused(use, tmp_path / "other.db")
    assert (tmp_path / "other.db").read_bytes() == before


def test_damage_is_told(use, tmp_path):
    path = tmp_path / "s.db"
    use(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "whole" in refused(use, path)
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    assert "whole" in refused(use, path)


@pytest.mark.parametrize(("name", "sql"), [(name, sql) for name, each in CELLS.items() for sql in each])
def test_a_cell_of_another_type_is_told(name, sql, tmp_path):
    path = tmp_path / "s.db"
    STORES[name](path)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(sql)
        file.execute("DELETE FROM standing") if name == "ledger" and "event" in sql else None
    with pytest.raises(InputError, match=r"s\.db"):
        READING[name](path)


def test_another_process_that_keeps_it_is_told(tmp_path):
    path = tmp_path / "s.db"
    ledger(path)
    with closing(TimetableMemory(path)):
        assert "no other tagloom that keeps it" in refused(ledger, path)


def test_a_full_disk_is_told_and_what_was_there_stays(use, tmp_path):
    path = tmp_path / "s.db"
    use(path)
    size = max(each.stat().st_size for each in tmp_path.glob("s.db*"))
    child = os.fork()
    if child == 0:
        status = 9
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            for _ in range(2000):
                use(path)
        except InputError:
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    use(path)
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("name", ["a b", "c?d#e&f=1", "100%41", "grün", os.fsdecode(b"\xff")], ids=ascii)
def test_a_file_of_any_name_is_opened(tmp_path, name):
    path = tmp_path / name / "kept.db"
    path.parent.mkdir()
    path.touch()
    with closing(connected(path, 1.0)) as wire:
        wire.execute("create table seen (at)")
    with closing(sqlite3.connect(path)) as wire:
        assert wire.execute("select name from sqlite_master").fetchall() == [("seen",)]
    assert [each.name for each in tmp_path.iterdir()] == [name]
