"""A console that writes its log over its prompt, offers a wizard and asks before it acts is typed to all the same."""

import contextlib
import os
import socket
import threading
import tty

import pytest

from tagloom import platforms
from tagloom.adapters.console_line import ConsoleLine, SerialStream, TelnetStream
from tagloom.errors import DeviceError

LOG = "01-Jan-2000 00:00:01 %LINK-I-Up:  g1\r\n"
WIZARD = "\r\nWould you like to enter the Setup Wizard? (you must answer within 60 seconds) (Y/N)[Y] "
ANSWERS = {
    "n": "console# ",
    "": "console# ",
    "hostname s0": f"s0# \r\n{LOG}",
    "crypto key generate rsa": "Overwrite? (y/n) ",
}
REFUSED = {"shutdown": "% Unrecognized command\r\nconsole# "}


@pytest.fixture
def console():
    """Return a terminal's path, behind which a switch of bad manners answers, and what was typed to it."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    typed = []

    def play():
        line, greeted = "", False
        while key := os.read(ours, 1).decode():
            if key != "\r":
                line += key
                os.write(ours, key.encode())
                continue
            typed.append(line)
            answer = (ANSWERS | REFUSED).get(line, "console# ") if greeted else WIZARD
            os.write(ours, f"\r\n{answer}".encode())
            line, greeted = "", True
            if typed[-1] == "exit for good":
                return

    player = threading.Thread(target=play, daemon=True)
    player.start()
    yield os.ttyname(theirs), typed
    os.write(theirs, b"exit for good\r")
    player.join()
    os.close(ours)
    os.close(theirs)


def test_wizards_logs_and_questions_are_lived_with_and_a_refusal_ends_it(console):
    path, typed = console
    line = ConsoleLine("s0", platforms.load("powerconnect-5324"), SerialStream(path), "ops", "secret-9")
    with line:
        line.type(["hostname s0", "crypto key generate rsa", "username ops password secret-9 level 15"])
        with pytest.raises(DeviceError, match="Unrecognized") as raised:
            line.type(["shutdown", "ip ssh server"])
    assert "secret-9" not in str(raised.value)
    wanted = ["", "n", "hostname s0", "", "crypto key generate rsa", "y"]
    assert typed == [*wanted, "username ops password secret-9 level 15", "shutdown"]


@pytest.mark.parametrize(
    ("said", "complaint"), [(b"", "the console is gone"), (b"x" * 4096, "the console is never quiet")]
)
def test_a_console_that_hangs_up_or_never_rests_fails_alone(said, complaint):
    """A telnet server that ends the session at once, or sends without end."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def play():
            with contextlib.suppress(OSError), server.accept()[0] as session:
                while said:
                    session.sendall(said)

        player = threading.Thread(target=play, daemon=True)
        player.start()
        line = ConsoleLine(
            "s0",
            platforms.load("powerconnect-5324"),
            TelnetStream("127.0.0.1", server.getsockname()[1], 5.0),
            "ops",
            "secret-9",
        )
        with pytest.raises(DeviceError, match=complaint):
            line.__enter__()
        line.__exit__()
        player.join()


class Unplugged:
    """A console that asks for a login, and whose cable is pulled as the password goes out."""

    def __init__(self):
        self._says = [b"", b"\r\nUser Name:"]

    def read(self, seconds):
        del seconds
        return self._says.pop(0) if self._says else b""

    def write(self, data):
        if data == b"secret-9\r":
            raise OSError("Input/output error")
        if data == b"ops\r":
            self._says = [b"\r\nPassword:"]

    def close(self):
        pass


def test_a_password_that_could_not_be_sent_is_not_named():
    line = ConsoleLine("s0", platforms.load("powerconnect-5324"), Unplugged(), "ops", "secret-9")
    with pytest.raises(DeviceError, match="the console is gone") as raised:
        line.__enter__()
    assert "secret-9" not in str(raised.value)
    assert "login" in str(raised.value)
