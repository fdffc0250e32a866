"""Ping-pong loops over sockets of this process: they count what arrives, and say when nothing does."""

from socket import AF_INET, AF_UNIX, SOCK_DGRAM, create_connection, create_server, socketpair
from threading import Thread

import pytest

from tagloom.measure import loops

PATIENCE = 0.2
SIZE, REPEATS = 4096, 20


def room():
    return memoryview(bytearray(b"m" * SIZE)), memoryview(bytearray(SIZE))


@pytest.fixture
def wires():
    with create_server(("127.0.0.1", 0), family=AF_INET) as server:
        near = create_connection(server.getsockname())
        far, _ = server.accept()
    for wire in (near, far):
        loops.prepare(wire, PATIENCE, 64 << 10, busy_poll=True)
    with near, far:
        yield near, far


@pytest.fixture
def datagrams():
    near, far = socketpair(AF_UNIX, SOCK_DGRAM)
    for wire in (near, far):
        loops.prepare(wire, PATIENCE)
    with near, far:
        yield near, far


def beside(work, *given):
    """Start a loop at the far end, and return how to wait for what it came to."""
    came = []

    def run():
        try:
            came.append(work(*given))
        except OSError as error:
            came.append(error)

    thread = Thread(target=run)
    thread.start()

    def end():
        thread.join()
        return came[0]

    return end


@pytest.mark.parametrize(
    ("ping", "pong", "more"),
    [
        (loops.ping_stream, loops.pong_stream, ()),
        (loops.ping_polling, loops.pong_polling, (int(5e9),)),
    ],
    ids=["sleeping", "polling"],
)
def test_both_ends_of_a_stream_exchange_every_message_whole(wires, ping, pong, more):
    near, far = wires
    (out, into), (back, heard) = room(), room()
    end = beside(pong, far, back, heard, REPEATS, *more)
    assert ping(near, out, into, REPEATS, *more) > 0
    assert end() == REPEATS
    assert bytes(into) == bytes(heard) == b"m" * SIZE


@pytest.mark.parametrize("work", [loops.ping_stream, loops.pong_stream], ids=["ping", "pong"])
def test_silence_on_a_stream_is_told(wires, work):
    near, _ = wires
    with pytest.raises(loops.SilenceError, match="in time"):
        work(near, *room(), 1)


def test_silence_while_polling_is_told(wires):
    with pytest.raises(loops.SilenceError, match="no answer in time"):
        loops.poll(wires[0], room()[1], int(1e7))


def test_half_a_message_is_no_message(wires):
    near, far = wires
    far.sendall(b"m" * (SIZE // 2))
    out, into = room()
    with pytest.raises(loops.SilenceError):
        loops.ping_stream(near, out, into, 1)


def patiently(wire, out, into, repeats):
    return loops.ping_polling(wire, out, into, repeats, int(5e9))


@pytest.mark.parametrize("work", [loops.ping_stream, patiently])
def test_a_peer_that_closes_in_the_middle_of_a_message_is_told(wires, work):
    near, far = wires
    far.sendall(b"m" * (SIZE // 2))
    far.shutdown(1)
    with pytest.raises(ConnectionResetError, match="the peer closed"):
        work(near, *room(), 1)


def test_datagrams_that_are_lost_are_told_by_the_one_and_counted_by_the_other(datagrams):
    near, far = datagrams
    (out, into), (back, heard) = room(), room()
    end = beside(loops.pong_datagrams, far, back, heard, 3)
    loops.ping_datagrams(near, out, into, 2)
    assert end() == 2  # the third never came
    with pytest.raises(loops.SilenceError, match="a datagram was lost"):
        loops.ping_datagrams(near, out, into, 1)
