"""A console that writes its log over its prompt, offers a wizard and asks before it acts is typed to all the same."""

import contextlib
import os
import re
import socket
import threading
import tty
from dataclasses import replace

import netmiko
import pytest

from tagloom import platforms
from tagloom.adapters.channels import SerialLine, TelnetLine
from tagloom.adapters.console_switch import NewSwitch
from tagloom.adapters.greeting import TAIL, EnableGreeting, Greeting, last_lines
from tagloom.adapters.ssh import Access
from tagloom.errors import DeviceError, InputError

ACCESS = Access("192.0.2.1", user="ops", password="secret-9", login_seconds=3.0)
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
    line = NewSwitch("s0", platforms.load("powerconnect-5324"), ACCESS, lambda: SerialLine(path))
    with line:
        line.type(["hostname s0", "crypto key generate rsa", "username ops password secret-9 level 15"])
        with pytest.raises(DeviceError, match="Unrecognized") as raised:
            line.type(["shutdown", "ip ssh server"])
    assert "secret-9" not in str(raised.value)
    said = [each for each in typed if each and not each.startswith("terminal ")]
    wanted = ["n", "hostname s0", "crypto key generate rsa", "Y", "username ops password secret-9 level 15"]
    assert said[: len(wanted) + 1] == [*wanted, "shutdown"]
    assert set(said[len(wanted) + 1 :]) <= {"exit"}


def closing(channel):
    """Return a conversation over a channel that is there already."""
    return NewSwitch("s0", platforms.load("powerconnect-5324"), ACCESS, lambda: channel)


def test_a_serial_line_whose_other_end_is_gone_is_not_waited_for():
    ours, theirs = os.openpty()
    line = SerialLine(os.ttyname(theirs))
    os.close(theirs)
    os.close(ours)
    with pytest.raises(DeviceError, match=r"dropped|gone|Input/output"), closing(line):
        pytest.fail("nobody is there")


def test_netmikos_own_driver_of_serial_lines_refuses_one_that_the_system_does_not_list():
    """Why netmiko's channel alone is used: its lists have the machine's own ports, no pseudo-terminals."""
    ours, theirs = os.openpty()
    with pytest.raises(ValueError, match="not found"):
        netmiko.ConnectHandler(
            device_type="cisco_ios_serial", serial_settings={"port": os.ttyname(theirs)}, auto_connect=False
        )
    SerialLine(os.ttyname(theirs)).close()
    os.close(ours)
    os.close(theirs)


@contextlib.contextmanager
def telnet_server(play):
    """Listen, and have `play` talk to whoever comes; yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk():
            with contextlib.suppress(OSError), server.accept()[0] as session:
                play(session)

        player = threading.Thread(target=talk, daemon=True)
        player.start()
        yield server.getsockname()[1]
        player.join(10.0)


def test_netmikos_own_telnet_login_says_yes_to_a_wizard_where_ours_declines_it():
    """Why netmiko's channel alone is used: its dialog presses Return, which is the wizard's yes."""
    answers = []

    def play(session):
        session.sendall(WIZARD.encode())
        said = b""
        while not said.endswith((b"\r", b"\n")) and (more := session.recv(64)):
            said += more
        answers.append(said.strip())
        session.sendall(b"\r\nconsole# ")

    with telnet_server(play) as port, contextlib.suppress(EOFError, OSError):  # the session ends behind the answer
        netmiko.ConnectHandler(
            device_type="generic_telnet", host="127.0.0.1", port=port, username="ops", password="secret-9"
        )
    with telnet_server(play) as port:
        line = closing(TelnetLine("127.0.0.1", port, 5.0))
        with pytest.raises(DeviceError):
            line.__enter__()
    assert answers == [b"", b"n"]


def test_a_telnet_server_may_echo_as_netmikos_driver_would_not_have_it_and_do_nothing_else():
    """RFC 857: who is told DONT ECHO shows nothing of what is typed."""
    said = bytearray()

    def play(session):
        session.sendall(b"\xff\xfb\x01\xff\xfb\x03\xff\xfb\x22\xff\xfd\x18\xff\xfa\x18\x01\xff\xf0a\xff")
        session.sendall(b"\xffb")
        while len(said) < 12:
            said.extend(session.recv(64))

    with telnet_server(play) as port:
        line = TelnetLine("127.0.0.1", port, 5.0)
        shown = b""
        while not shown.endswith(b"b"):
            line.wait(5.0)
            shown += line.read_bytes()
        line.close()
    assert shown == b"a\xffb"
    assert bytes(said) == b"\xff\xfd\x01\xff\xfd\x03\xff\xfe\x22\xff\xfc\x18"


def test_a_telnet_server_that_negotiates_without_end_fails_alone():
    def play(session):
        while True:
            session.sendall(b"\xff\xf1" * 512 + b"\xff\xfa" + b"x" * 512)

    with telnet_server(play) as port:
        line = closing(TelnetLine("127.0.0.1", port, 5.0))
        with pytest.raises(DeviceError, match="no answer in"):
            line.__enter__()


@pytest.mark.parametrize(("said", "complaint"), [(b"", "dropped"), (b"x" * 4096, "no answer in")])
def test_a_console_that_hangs_up_or_never_rests_fails_alone(said, complaint):
    """A telnet server that ends the session at once, or sends without end."""

    def play(session):
        while said:
            session.sendall(said)

    with telnet_server(play) as port:
        line = closing(TelnetLine("127.0.0.1", port, 5.0))
        with pytest.raises(DeviceError, match=complaint):
            line.__enter__()


def test_a_password_that_could_not_be_sent_is_not_named():
    """A console that asks for a login, and whose cable is pulled as the password goes out."""

    def play(session):
        session.sendall(b"\r\nUser Name:")
        said = b""
        while b"ops" not in said:
            said += session.recv(64)
        session.sendall(b"ops\r\nPassword:")

    with telnet_server(play) as port:
        line = closing(TelnetLine("127.0.0.1", port, 5.0))
        with pytest.raises(DeviceError, match="dropped") as raised:
            line.__enter__()
    assert "secret-9" not in str(raised.value)
    assert "login" in str(raised.value)


LEGAL = "Without permission no access.\n****\nPress Y or ENTER to continue, N to exit.\n"
MOTD = "Planned work tonight\n\nPress 'y' to continue"
TERMS = "Authorised use only.\nDo you accept the terms (y/n)? "
# what a console says last, the operator's answers, and the keys or the error
SAID = [
    (LEGAL, {}, "wants consent"),
    (LEGAL, {"consent": "y"}, ["\n"]),
    (LEGAL, {"press y  or ENTER": "y"}, ["\n"]),
    (LEGAL, {"another banner": "y"}, "wants consent"),
    ("Please input Y or press ENTER to agree", {"consent": "y"}, ["\n"]),
    (MOTD, {}, "Planned work tonight / Press 'y' to continue"),
    (MOTD, {"consent": "y"}, ["y"]),
    ("Press 'y' to continue (within 30 seconds) (y/n)", {"consent": "y"}, ["y"]),
    *(("Type 'yes' to accept: ", {"consent": keys}, ["yes\n"]) for keys in ("y", "yes")),
    ("Enter Y to accept or N to decline: ", {"consent": "y"}, ["y\n"]),
    ("Press any key to acknowledge", {}, "its last lines: Press any key to acknowledge"),
    *(
        (f"Do you agree {choices}", {"consent": "y"}, ["y\n"])
        for choices in ("(yes/no) [no]: ", "[Y/n/?]: ", "(y/n/q):", "[Y]es/[N]o? ", "(y/n) (n)?")
    ),
    *((f"Enter {words}", {}, ["pw\n"]) for words in ("password for admin:", "Password (admin): ", "password of ops: ")),
    *(
        (words, {}, "wants another password")
        for words in ("Enter new password for user admin: ", "Enter Password (again):", "Old password for admin: ")
    ),
    ("Press ENTER to accept the conditions.\n", {}, "wants consent"),
    ("Press ENTER to accept the conditions.\n", {"consent": ""}, ["\n"]),
    *((said, {}, "wants consent") for said in (TERMS, "I agree [yes/no]: ", "Continue? (Y or N) ", "Proceed <y/n>:")),
    (TERMS, {"consent": "y"}, ["y\n"]),
    (TERMS, {"accept the terms": "y\n"}, ["y\n"]),
    ("Please Press ENTER.\n", {}, ["\n"]),
    ("Press ENTER to get started.\n\n", {}, ["\n"]),
    ("Press any key to continue", {}, ["\n"]),
    ("Would you like to enter the Setup Wizard (Y/N)[Y] ", {"consent": "y"}, ["n\n"]),
    ("The password needs to be changed. Change now? [Y/N]:", {}, ["n\n"]),
    ("Do you want to change the password (Y/N)[N] ?", {}, ["n\n"]),
    ("Please change your password.\nEnter old password  :", {}, "wants another password"),
    ("(current) UNIX password: ", {}, "wants another password"),
    ("Enter new password:", {}, "wants another password"),
    ("Retype new password: ", {}, "wants another password"),
    ("Your role [admin/guest]: ", {"Your role": "guest"}, ["guest\n"]),
    ("Password:", {"password": "x"}, ["pw\n"]),
    *(
        (f"\n{prompt}", {}, ["\n", None])
        for prompt in ("(Core) #", "(Core) >", "sw1~#", '"sw 1"#', "sw 1>", "sw1*#", "core=#", "[~sw1]")
    ),
]


@pytest.mark.parametrize(("said", "answers", "keys"), SAID)
def test_a_question_at_a_login_is_answered_as_configured_or_named(said, answers, keys):
    """Consent is the operator's; what waits for nothing but a key, and offers, are tagloom's own to answer."""
    greeting = Greeting("s0", "ops", "pw", answers=answers.items())
    assert greeting.waits.search(said, max(0, len(said) - TAIL))
    if isinstance(keys, list):
        assert [greeting.answer(said) for _ in keys] == keys
    else:
        with pytest.raises(DeviceError, match=re.escape(keys)) as raised:
            greeting.answer(said)
        assert last_lines(said) in raised.value.text


@pytest.mark.parametrize(
    ("password", "said", "shows"),
    [
        ("", ["enable\n% No access here\ns0>", "s0>"], "enable / % No access here / s0>"),
        ("", ["enable\nUser:", "\nNot you\ns0>", "s0>"], "User: / Not you / s0>"),
        ("pw", ["enable\nPassword:", "pw\n% Locked out\ns0>", "s0>"], "<hidden> / % Locked out / s0>"),
        ("pw", ["enable\nPassword:", "\ns0>", "s0>"], ""),
        ("", ["enable\nPassword:"], ""),
    ],
)
def test_a_console_that_does_not_let_in_to_enable_is_shown_where_it_says_why(password, said, shows):
    greeting = EnableGreeting("s0", password, "s0", "group")
    with pytest.raises(DeviceError, match="ansible_become_password") as raised:
        list(map(greeting.answer, said))
    assert raised.value.text.partition("; the console's last lines: ")[2].endswith(shows)
    assert ("last lines" in raised.value.text) == bool(shows)
    assert "pw" not in raised.value.text


def test_a_prompt_that_was_drawn_again_before_enable_is_no_refusal():
    greeting = EnableGreeting("s0", "", "s0", "group")
    assert greeting.answer("g1\ns0>") == "\n"
    assert greeting.answer("enable\ns0#") is None
    refused = EnableGreeting("s0", "", "s0", "group")
    assert refused.answer("g1\ns0>") == "\n"
    with pytest.raises(DeviceError, match="a password is wanted"):
        refused.answer("enable\n% No access\ns0>")


def test_a_console_that_asks_or_speaks_without_end_is_shown_without_the_password():
    for said in ("pw is wrong\nPassword token-{}:\nlogin: ", "pw {}#"):
        greeting = Greeting("s0", "ops", "pw", tries=99)
        with pytest.raises(DeviceError) as raised:
            list(map(greeting.answer, map(said.format, range(30))))
        assert "pw" not in raised.value.text


def test_an_agreement_is_given_once():
    greeting = Greeting("s0", "ops", "pw", answers=[("consent", "y")])
    assert (greeting.answer(MOTD), greeting.answer(TERMS)) == ("y", "y\n")
    with pytest.raises(DeviceError, match="asks again after 'y'"):
        greeting.answer(MOTD)


@pytest.mark.parametrize(
    ("said", "answers"),
    [
        ({"consent": True, "Your role": "guest"}, (("consent", "y"), ("Your role", "guest"))),
        ('{"consent": "y"}', (("consent", "y"),)),
        ({}, ()),
    ],
)
def test_answers_to_a_console_come_from_the_inventory(said, answers):
    variables = {"inventory_hostname": "s0", "tagloom_console_answers": said}
    assert Access.of_host(variables).console_answers == answers


@pytest.mark.parametrize("said", ["y", ["y"], {"": "y"}, {"consent": ["y"]}])
def test_what_is_no_answer_to_a_console_is_refused(said):
    with pytest.raises(InputError, match="s0: tagloom_console_answers: expected what to type by words of the console"):
        Access.of_host({"inventory_hostname": "s0", "tagloom_console_answers": said})


@pytest.mark.parametrize("prompt", ["(Core) #", '"sw 1"#', "sw1~#"])
def test_a_console_is_known_by_a_prompt_of_any_signs_behind_a_banner_that_was_agreed_to(prompt):
    typed = []

    def play(session):
        session.sendall(f"\r\n{MOTD}".encode())
        typed.append(session.recv(64))
        session.sendall(f"y\r\n\r\n{prompt}".encode())
        while said := session.recv(512):
            lines = re.split(r"\r\n|\r\0|\r|\n", said.decode())
            session.sendall(f"\r\n{prompt}".join(lines).encode())

    access = replace(ACCESS, console_answers=(("consent", "y"),))
    with telnet_server(play) as port:
        line = NewSwitch("s0", platforms.load("n-series"), access, lambda: TelnetLine("127.0.0.1", port, 5.0))
        line.__enter__()
        assert (line._host + "#", line.mode) == (prompt, "")
        line._hang_up()
    assert typed == [b"y"]


def test_a_console_that_waits_for_nobody_knows_what_ends_with_its_last_lines():
    """Within the time-out, and without the password that it echoes."""

    def play(session):
        session.sendall(b"\r\nUser Name:")
        said = b""
        while b"\r" not in said:
            said += session.recv(64)
        session.sendall(b"ops\r\nPassword:")
        session.recv(64)
        session.sendall(b"secret-9\r\nEnter the code of your token\r\n...")
        while session.recv(64):
            pass

    with telnet_server(play) as port:
        line = NewSwitch(
            "s0",
            platforms.load("n-series"),
            replace(ACCESS, login_seconds=1.5),
            lambda: TelnetLine("127.0.0.1", port, 5.0),
        )
        with pytest.raises(DeviceError, match=r"no answer in .* Enter the code of your token / \.\.\.") as raised:
            line.__enter__()
    assert "secret-9" not in str(raised.value)
