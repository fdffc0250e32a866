"""The events of an MPI run become the program that it was: its bytes, its waits, and what it computed meanwhile."""

import json
import os
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from judges.networks import exchange, star
from judges.simulate import simulate
from tagloom.errors import InputError
from tagloom.measure.message_log import logger, next_commands
from tagloom.predict.trace import replay
from tagloom.read import read_messages
from tagloom.read.event_log import is_event_log, read_event_log

pytestmark = pytest.mark.kernel

RING = ROOT / "tests" / "data" / "traces" / "ring.trace"
MICROSECOND = 1000  # ticks


def expected_bytes():
    """Add up by hand what tests/data/traces/ring.c sends from rank to rank, trees and rounds as the page says."""
    sent = np.zeros((4, 4))
    ranks = range(4)
    for a in ranks:
        sent[a, (a + 1) % 4] += 65536
        for step in (1, 2):  # ALLREDUCE of three doubles; BARRIER sends none
            sent[a, (a + step) % 4] += 24
        sent[a, (a + 2) % 4] += 4096
        for b in ranks:
            sent[a, b] += 100 * (b + 1) + 40
        sent[a, a ^ 1] += 10
        sent[a, 3] += 20
        sent[0, a] += 30
    for a, b in ((1, 3), (1, 2), (3, 0)):  # BCAST from 1: places 0 to 2, 0 to 1, 2 to 3
        sent[a, b] += 1000
    for a, b in ((3, 2), (1, 0), (0, 2)):  # REDUCE to 2: places 1 to 0, 3 to 2, 2 to 0
        sent[a, b] += 100
    for a, b in ((0, 1), (2, 3)):
        sent[a, b] += 2 * 50
    for a, b in ((0, 2), (1, 3)):
        sent[a, b] += 60
    np.fill_diagonal(sent, 0)
    return sent


def check_ring(path):
    program, traffic = read_messages(path, make_fabric("torus", 2, 2))
    assert traffic.volume_bytes.tolist() == expected_bytes().tolist()
    assert 0.002 < traffic.seconds < 60
    assert 0.002 <= program.compute_seconds.sum(axis=0).max() <= traffic.seconds
    assert np.isfinite(replay(star(4, 1e9, None), program))


def test_a_logged_run_has_the_bytes_that_its_program_sends():
    check_ring(RING)


def test_communicators_of_the_longest_numbers_are_told_apart(tmp_path):
    text = RING.read_text("utf-8")
    for number, longest in (("36858174452435229", str(2**64 - 1)), ("37037051250414327", "1140046738853625568")):
        text = text.replace(number, longest)
    (tmp_path / "run.trace").write_text(text, "utf-8")
    check_ring(tmp_path / "run.trace")


def logged(folder, compiler, source):
    """Compile the logger and a program, and return the file that it logs on four ranks."""
    (folder / "message_log.c").write_text(logger())
    strict = ["-O2", "-Wall", "-Wextra", "-Werror"]
    shared = ["mpicc", *strict, "-shared", "-fPIC", "-o", "message_log.so", "message_log.c"]
    for words in (shared, [compiler, "-O2", "-o", "program", source]):
        subprocess.run(words, cwd=folder, check=True)
    preload = f"LD_PRELOAD={folder / 'message_log.so'}"
    words = ["mpirun", "--oversubscribe", "-np", "4", "-x", "TAGLOOM_TRACE", "-x", preload, "./program"]
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    trace = folder / "run.trace"
    environment = os.environ | allowed | {"TAGLOOM_TRACE": str(trace)}
    done = subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True, text=True, timeout=120)
    assert "wrote the messages of 4 ranks" in done.stderr
    return trace


@pytest.mark.needs("mpicc", "mpirun")
def test_the_logger_compiles_and_logs_what_a_program_sends(tmp_path):
    check_ring(logged(tmp_path, "mpicc", RING.with_suffix(".c")))


@pytest.mark.needs("mpifort", "gfortran", "mpicc", "mpirun")
def test_the_logger_logs_what_fortran_sends_and_hands_back_what_it_asks_for(tmp_path):
    """The program itself stops with an error where a status, an IN_PLACE or what it receives is wrong."""
    trace = logged(tmp_path, "mpifort", RING.with_suffix(".f90"))
    _, traffic = read_messages(trace, make_fabric("torus", 2, 2))
    sent = np.zeros((4, 4))
    for a in range(4):
        sent[a, (a + 1) % 4] += 8192 * 8
        for step in (1, 2):
            sent[a, (a + step) % 4] += 3 * 8
        sent[a, a ^ 1] += 8
    for a, b in ((0, 2), (0, 1), (2, 3)):
        sent[a, b] += 10 * 8
    sent[0, 1] += 100 * 8
    assert traffic.volume_bytes.tolist() == sent.tolist()


def test_the_command_writes_the_logger_and_says_how_to_use_it(tmp_path, run):
    status, out, _ = run("measure", "messages", "-o", tmp_path / "log.c", "--json")
    assert status == 0
    assert (tmp_path / "log.c").read_text("utf-8") == logger()
    assert json.loads(out)["commands"] == list(next_commands(tmp_path / "log.c"))
    assert run("measure", "messages", "-o", tmp_path / "log.txt")[0] == 2


def printed(program, *, names=False):
    """Print a program's events as otf2-print does: each rank computes, sends, and awaits what is sent to it."""
    steps, ranks = program.compute_seconds.shape
    first, to = program.first_message, program.destination
    comm = 'Communicator: "MPI_COMM_WORLD" <0>' if names else "Communicator: <0>"
    lines = ["=== OTF2-PRINT ===", "CLOCK_PROPERTIES  Ticks per Seconds: 1000000000, Global Offset: 0, Length: 9"]
    for me in range(ranks):
        now, place = 1000, 10 * me + 3  # locations are not numbered as ranks are
        lines.append(f'LEAVE  {place}  {now}  Region: "MPI_Init" <1>')
        for k in range(steps):
            now += round(program.compute_seconds[k, me] * 1e9)
            lines.append(f'ENTER  {place}  {now}  Region: "MPI_Isend" <2>')
            for m in range(first[k * ranks + me], first[k * ranks + me + 1]):
                other = f'{to[m]} ("Rank {to[m]}" <{to[m]}>)' if names else to[m]
                rest = f"{comm}, Tag: {k}, Length: {program.volume_bytes[m]:.0f}"
                lines.append(f"MPI_ISEND {place} {now} Receiver: {other}, {rest}")
            now += 50 * MICROSECOND  # however long it waits
            sources = np.repeat(range(ranks), np.diff(first[k * ranks : (k + 1) * ranks + 1]))
            mine = to[first[k * ranks] : first[(k + 1) * ranks]] == me
            rest = f"{comm}, Tag: {k}, Length: 1, Request: 5"
            lines += [f"MPI_IRECV {place} {now} Sender: {source}, {rest}" for source in sources[mine]]
            lines.append(f'LEAVE  {place}  {now}  Region: "MPI_Isend" <2>')
        lines.append(f'ENTER  {place}  {now}  Region: "MPI_Finalize" <3>')
    return lines


@given(st.integers(0, 10_000), st.booleans())
def test_a_program_that_is_printed_and_read_takes_as_long_as_before(seed, names):
    chance = np.random.default_rng(seed)
    steps, ranks = int(chance.integers(1, 6)), int(chance.integers(2, 6))
    volume = np.where(
        chance.random((steps, ranks, ranks)) < 0.5, chance.integers(0, 90_000, (steps, ranks, ranks)), np.nan
    )
    for k in range(steps):
        np.fill_diagonal(volume[k], np.nan)
    volume[0, 0, 1] = 1000
    compute = chance.integers(13, 900, (steps, ranks)) * 1e-6
    program = exchange(list(range(ranks)), compute, volume)
    log = read_event_log(printed(program, names=names), "t")
    links = star(ranks, 1e9, None)
    assert replay(links, log.program) == pytest.approx(replay(links, program), rel=1e-12)
    assert log.program.volume_bytes.sum() == program.volume_bytes.sum()
    longest = compute.sum(axis=0).max() + steps * 50e-6
    assert log.seconds == pytest.approx(longest)


CLOCK = "CLOCK_PROPERTIES  Ticks per Seconds: 1000000000, Global Offset: 0, Length: 9"


def read_log(lines):
    return read_event_log([*lines, CLOCK], "t")


def overlap(computing):
    """Print two ranks that exchange a megabyte and compute before they wait for it."""
    lines = []
    for me in (0, 1):
        after = 100 + round(computing * 1e9)
        lines += [
            f'LEAVE {me} 0 Region: "MPI_Init"',
            f'ENTER {me} 50 Region: "MPI_Isend"',
            f"MPI_ISEND {me} 60 Receiver: {1 - me}, Communicator: <0>, Tag: 1, Length: 1000000",
            f'LEAVE {me} 100 Region: "MPI_Isend"',
            f'ENTER {me} {after} Region: "MPI_Wait"',
            f"MPI_IRECV {me} {after + 10} Sender: {1 - me}, Communicator: <0>, Tag: 1, Length: 1000000",
            f'LEAVE {me} {after + 20} Region: "MPI_Wait"',
        ]
    return lines


def test_computing_while_a_message_is_on_its_way_hides_it():
    links = star(2, 1e9, None)
    alone = replay(links, read_log(overlap(0.0)).program)
    assert 0.008 < alone < 0.01
    assert replay(links, read_log(overlap(0.005)).program) == pytest.approx(alone, rel=0.01)
    assert replay(links, read_log(overlap(0.05)).program) == pytest.approx(0.05, rel=0.01)
    assert simulate(links, read_log(overlap(0.0)).program).seconds == pytest.approx(alone, rel=0.05)


def refused(lines):
    with pytest.raises(InputError) as found:
        read_log(lines)
    return str(found.value)


def test_what_is_wrong_with_events_is_said_with_its_line():
    good = overlap(0.0)
    assert "a receive for each send" in refused([line for line in good if not line.startswith("MPI_IRECV 1")])
    assert "t:3" in refused([*good[:2], good[2].replace("Length", "Size"), *good[3:]])
    assert "a rank of its communicator" in refused(
        [*good[:2], good[2].replace("Receiver: 1", "Receiver: 7"), *good[3:]]
    )
    assert "outside of one" in refused([good[2]])
    assert "none" in refused(good[:2])
    crossed = [
        line.replace("MPI_ISEND", "x").replace("MPI_IRECV", "MPI_ISEND").replace("x", "MPI_IRECV") for line in good
    ]
    swapped = [line.replace("Sender", "y").replace("Receiver", "Sender").replace("y", "Receiver") for line in crossed]
    assert "wait for each other" in refused(swapped)
    call = "MPI_COLLECTIVE_END {} 60 Operation: {}, Communicator: <0>, Root: 0, Sent: 8, Received: 8"
    both = [line for me in (0, 1) for line in (f'ENTER {me} 50 Region: "MPI_X"', call.format(me, "BCAST"))]
    assert read_log(both).program.volume_bytes.tolist() == [8]
    assert "the same collective" in refused([*both[:3], call.format(1, "REDUCE")])
    two = ["GROUP 0 Type: COMM_LOCATIONS, 2 Members: 0, 1", "COMM 0 Group: <0>"]
    assert "the same collective" in refused([*two, *both[:2]])
    assert "one of OTF2's" in refused([*both[:3], call.format(1, "BROADCAST")])
    assert "a Root from 0 to 1" in refused([line.replace("Root: 0", "Root: 2") for line in both])


def test_other_files_are_no_event_logs():
    assert not is_event_log(["step,source,destination,bytes", "0,h0,h1,5"])
    assert not is_event_log([])
    assert is_event_log(RING.read_text("utf-8").splitlines())


def test_ticks_of_unknown_length_are_no_seconds():
    """Score-P counts a processor's cycles: without the clock's properties a trace has no unit of time."""
    slow = read_event_log([*overlap(0.05), CLOCK.replace("1000000000", "2500000000")], "t")
    assert slow.seconds == pytest.approx(read_log(overlap(0.05)).seconds / 2.5)
    for clock in ([], [CLOCK.replace("1000000000", "0")], ["CLOCK_PROPERTIES  Length: 9"]):
        with pytest.raises(InputError, match="Ticks per Seconds"):
            read_event_log([*overlap(0.05), *clock], "t")
