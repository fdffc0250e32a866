"""The gate before a wave: when it opens, and what it takes for the end of the command that began."""

import socket
from contextlib import contextmanager

import pytest

from tagloom.apply.controller import GO, LOCK, Controller
from tagloom.apply.gate import Gate
from tagloom.apply.run_directory import RunDirectory

WAIT = 3600.0


@contextmanager
def before(number, tmp_path, drain_seconds=0.0, last_seconds=0.0):
    """Stand before a wave of two, with the command's end of the line."""
    waves = {
        "1": {"after": None, "last": False, "drain_seconds": drain_seconds},
        "2": {"after": 1, "last": True, "drain_seconds": last_seconds},
    }
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    files = RunDirectory(tmp_path)
    if number == 2:
        files.complete(1)
    with ours, theirs:
        yield Gate(files, {"waves": waves, "check": False, "journal": ""}, number, Controller(theirs.fileno())), ours


def test_the_word_to_go_that_is_said_early_is_not_taken_for_the_end(tmp_path):
    with before(1, tmp_path) as (gate, command):
        command.send(LOCK)
        command.send(GO)
        assert gate.approach()
        assert gate.wait_for_wave()
    assert RunDirectory(tmp_path).begun.read_text() == "1"


@pytest.mark.parametrize("said", [(), (LOCK,), (LOCK, GO)], ids=["nothing", "the lock", "to go"])
def test_a_command_that_ended_begins_no_wave_whatever_it_said_before(tmp_path, said):
    with before(1, tmp_path) as (gate, command):
        for word in said:
            command.send(word)
        command.shutdown(socket.SHUT_RDWR) if not said else command.close()
        assert not (gate.approach() and gate.wait_for_wave())
        assert gate.reason.startswith("stopped before wave 1: the command that began ")
    assert not RunDirectory(tmp_path).begun.exists()


def test_a_command_that_ends_while_old_frames_leave_begins_no_further_wave(tmp_path):
    with before(2, tmp_path, drain_seconds=WAIT) as (gate, command):
        command.close()
        assert not gate.approach()
        assert gate.reason == "stopped before wave 2: the command that began is gone"


def test_a_later_wave_waits_for_no_word(tmp_path):
    with before(2, tmp_path) as (gate, _command):
        assert gate.approach()
        assert gate.wait_for_wave()


@pytest.mark.parametrize("early", [True, False])
def test_a_wait_for_links_ends_where_they_are_seen_up(tmp_path, early):
    with before(2, tmp_path, drain_seconds=WAIT) as (gate, command):
        gate.early = lambda: early
        if not early:
            command.close()
        assert gate.approach() == early
        assert not early or gate.wait_for_wave()


@pytest.mark.parametrize("only_links", [True, False])
def test_a_wait_for_links_alone_ends_where_the_files_say_that_they_are_up(tmp_path, only_links):
    with before(2, tmp_path, drain_seconds=WAIT) as (gate, command):
        gate.order["waves"]["1"]["until_up"] = only_links
        gate.files.links_up(1).touch()
        if not only_links:  # old frames are under way, too
            command.close()
        assert gate.approach() == only_links


@pytest.mark.parametrize("number", [1, 2])
def test_after_the_last_wave_links_are_waited_for_until_they_are_seen_up(tmp_path, number):
    looks = iter([False, False, True])
    with before(number, tmp_path, last_seconds=WAIT) as (gate, _command):
        gate.close(lambda: next(looks))
    assert RunDirectory(tmp_path).completed_at(number) is not None
    assert list(looks) == ([] if number == 2 else [False, False, True])  # before another wave, that one's gate waits
