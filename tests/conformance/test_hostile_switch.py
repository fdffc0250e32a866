"""A switch that attacks whoever logs in costs bounded bytes and time, is an error of its own, and nobody else's."""

import asyncio
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from hostile_switch import FLOOD, PROMPT, Loop, Switch
from tagloom import platforms
from tagloom.adapters import ssh
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access, SshSwitch
from tagloom.errors import DeviceError
from tagloom.platforms import iproute2, secrets

ANSWER_BYTES, SESSION_BYTES = 1 << 20, 4 << 20  # of the tests, so that a flood need not take long
WINDOW = 4 << 20  # what is under way when the client hangs up: SSH's window, and the buffers of TCP
LINES = ("vlan database", "vlan 100", "exit")
CPU_SECONDS = 20.0  # of one victim; what is quadratic takes minutes
PATIENT_SECONDS = 60.0  # where it is not time that ends it
HUSH = "hush-password"


def read(switch):
    return switch.running_configuration()


def send(switch):
    return switch.send(LINES)


def save(switch):
    return switch.save()


def identify(switch):
    return switch.identity()


def rename(switch):
    switch.send(("hostname a-name-of-more-than-twenty-characters",))
    return "renamed\n"


def begin_bridge(switch):
    switch.send(("/interface bridge add name=x",))
    return "begun\n"


# --- what they do before SSH has begun -------------------------------------------------------------------------------


async def say_nothing(_, __):
    await asyncio.sleep(3600)


async def hang_up(_, __):
    pass


async def endless_line(_, writer):
    while True:
        writer.write(b"x" * FLOOD)
        await writer.drain()


async def trickled_line(_, writer):
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def endless_lines(_, writer):
    while True:
        writer.write(b"hello\r\n" * 1000)
        await writer.drain()


async def no_keys(_, writer):
    writer.write(b"SSH-2.0-slow\r\n")
    await writer.drain()
    await asyncio.sleep(3600)


async def garbage_keys(_, writer):
    writer.write(b"SSH-2.0-x\r\n" + bytes(range(256)) * 100)
    await writer.drain()
    await asyncio.sleep(3600)


async def huge_packet(_, writer):
    writer.write(b"SSH-2.0-x\r\n\x7f\xff\xff\xfc")
    while True:
        writer.write(bytes(FLOOD))
        await writer.drain()


async def no_ssh(_, writer):
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await writer.drain()


# --- what they do in a session ---------------------------------------------------------------------------------------


def flood(data):
    return lambda wire: wire.flood(data)


HEAD, END = b"!Current Configuration:\r\nconfigure\r\n", b"\r\nexit\r\ns0#"  # of what a switch shows


def whole(line):
    """Return the configuration that a line stands in; "" = that of the honest switch."""
    inner = f"configure\n{line}" if line else "\nhostname s0"
    return f"!Current Configuration:\n{inner}\nexit"


def answer(data):
    return lambda wire: wire.answer(data)


LOG = b"01-Jan-2026 01:02:03 %LINK-W-Down:  g1\r\n"


def logging(between, times):
    """Answer with a log line in the middle of one of the first `times` answers, each time elsewhere in it."""
    left = list(range(times))

    async def act(wire):
        words = b"name xy" if not left else b"name x"[: 2 + left.pop() % 4] + between + LOG + b"y"
        await wire.answer(HEAD + words + END)

    return act


async def echo_and(wire, then):
    await wire.answer(b"")
    await then


async def endless_pager(wire):
    await wire.answer(b"--More-- or (q)uit")
    while await wire.process.stdin.read(4096):
        await wire.say(b"\r                  \rline\r\n" * 20 + b"--More-- or (q)uit")


async def slow_pager(wire):
    await wire.answer(b"--More-- or (q)uit")
    while await wire.process.stdin.read(4096):
        await asyncio.sleep(0.2)
        await wire.say(b"\r                  \rline\r\n--More-- or (q)uit")


async def cut(wire):
    wire.abort()


async def end(wire):
    wire.process.exit(0)
    await wire.silence()


async def late(wire):
    await asyncio.sleep(1.2)
    await wire.answer(b"" + PROMPT)


async def say_more_after_exit(wire):
    await wire.flood(b"still here\r\n")


async def honest_but_slow(wire):
    await asyncio.sleep(0.7)
    await wire.say(wire.console.feed(wire.line + "\r").encode())


@dataclass
class Mode:
    """One attack: what is done where which line is typed, what the victim does, and what it says of it."""

    act: Any
    at: str = "show running-config"
    do: Any = read
    says: str = ""
    model: str = "powerconnect-6224"
    ssh: str = ""
    reads: str = ""  # where it is no error: the configuration
    echo: bool = True
    hurries: bool = False  # whether time ends it


def printed(data, status=0):
    """Answer as a shell does: what a command prints, and its status."""
    data = data.replace(b"BRIDGE", iproute2.commands().bridge.encode())
    return lambda wire: wire.say(data + b"\r\ntagloom-status=%d\r\n" % status)


def unforeseen(data, lines, **attack):
    """Wait behind `data`; the error shows `lines`, within the time-out."""
    says = f"no answer in 1 s; the console's last lines: .*{re.escape(lines)}$"
    return Mode(answer(data), says=says, hurries=True, **attack)


def one_page(pager):
    """Show half of an answer, and the rest behind a blank."""

    async def act(wire):
        await wire.answer(HEAD + pager)
        while b" " not in await wire.process.stdin.read(4096):
            pass
        await wire.say(b"\r        \rname x" + END)

    return act


async def reason_and_cut(wire, data):
    await wire.answer(data)
    wire.abort()


LOGS = {
    "ROS": b"01-Jan-2000 00:00:05 %LINK-I-Up:  g1",
    "FASTPATH": b"<189> JAN 01 00:00:05 10.0.0.2-1 TRAPMGR[209899264]: traputil.c(614) 4 %% Link Up: 1/0/1",
    "Comware": b"%Jan  1 00:00:05:123 2013 s0 IFNET/3/PHY_UPDOWN: Physical state on the interface changed to up.",
    "VRP": b"Jan  1 2013 00:00:05+00:00 s0 %%01IFPDT/4/IF_STATE(l)[0]:Interface Eth0/0/1 has turned into UP state.",
    "Comware's traps": b"#Jan  1 00:00:05:123 2013 s0 SHELL/4/LOGIN: Trap 1.3.6.1.4.1.25506.2.2.1.1.3.0.1: login",
    "VRP's traps": b"Jan  1 2013 00:00:05-08:00 s0 DS/4/DATASYNC_CFGCHANGE:OID 1.3.6.1.4.1.2011.5.25.191.3.1 changed.",
    "RouterOS": b"2026-11-29 10:00:00 system,error,critical login failure for user root from 192.0.2.1 via ssh",
    "RouterOS 6": b"jan/02/1970 00:00:05 system,error,critical router was rebooted without proper shutdown",
    "EOS": b"Jan  1 00:00:05 s0 Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet1, changed state to up",
}

shell = partial(Mode, at="ip .*", model="linux-bridge")

TOO_LONG = "an answer of more than 1,048,576 bytes"
NO_ANSWER = "no answer in 1 s"
DROPPED = "the session was dropped"
NO_BANNER = "^Error reading SSH protocol banner|^No existing session"
NO_PASSWORD, NO_SESSION = "^Authentication timeout", "the login took more than 4 s"
TIMES_OUT = NO_ANSWER, NO_BANNER, NO_PASSWORD, NO_SESSION
MODES = {
    # before SSH, and in it
    "silence for a version": Mode(say_nothing, says=NO_BANNER),
    "hang up": Mode(hang_up, says="^Error reading SSH protocol banner"),
    "version line without end": Mode(endless_line, says="it sent more than 262,144 bytes"),
    "version line, byte by byte": Mode(trickled_line, says=NO_BANNER),
    "lines before the version without end": Mode(endless_lines, says="^Indecipherable protocol version"),
    "no keys": Mode(no_keys, says=NO_BANNER),
    "garbage for keys": Mode(garbage_keys, says="^Invalid packet blocking"),
    "a packet of 2 GB": Mode(huge_packet, says="it sent more than 262,144 bytes"),
    "no SSH at all": Mode(no_ssh, says="^Error reading SSH protocol banner"),
    "password refused": Mode(None, ssh="refused", says="refused for user 'lab'"),
    "password expired": Mode(None, ssh="password expired", says="it wants another password of user 'lab'"),
    "password of SSH, not of ROS's console": Mode(
        None, at="", model="powerconnect-5324", ssh="password", reads="hostname s0"
    ),
    "password of SSH refused, not of ROS's console": Mode(
        None, model="powerconnect-5324", ssh="refused", says="refused for user 'lab'"
    ),
    "password not answered": Mode(None, ssh="no answer to the password", says=NO_PASSWORD),
    "authentication banners without end": Mode(None, ssh="auth banners", says="it sent more than 262,144 bytes"),
    "session refused": Mode(None, ssh="session refused", says="Connect failed"),
    "session not answered": Mode(None, ssh="no session", says=NO_SESSION),
    # at the login
    "banner without end": Mode(flood(b"welcome\r\n"), at="login", says="it sent more than 262,144 bytes"),
    "banner of one line": Mode(flood(b"#"), at="login", says="it sent more than 262,144 bytes"),
    "banner of ROS, without end": Mode(
        flood(b"-\r\n"), at="login", model="powerconnect-5324", says="it sent more than 262,144 bytes"
    ),
    "banner of ROS, trickled": Mode(
        lambda wire: wire.trickle(b"."), at="login", model="powerconnect-5324", says=NO_ANSWER
    ),
    "silence for a prompt": Mode(lambda wire: wire.silence(), at="login", says=NO_ANSWER),
    "a prompt of 10 kB": Mode(None, ssh="long name", says="a prompt of 10000 characters"),
    "asks for the name for ever": Mode(
        lambda wire: wire.trickle(b"\r\nUser Name:"), at="login", model="powerconnect-5324", says="refused for user"
    ),
    "asks for the password twice": Mode(
        lambda wire: wire.trickle(b"\r\nPassword:"), at="login", model="powerconnect-5324", says="refused for user"
    ),
    # in answers
    "silence": Mode(lambda wire: wire.silence(), says=NO_ANSWER),
    "silence after the echo": Mode(lambda wire: echo_and(wire, wire.silence()), says=NO_ANSWER),
    "trickled beyond the deadline": Mode(lambda wire: echo_and(wire, wire.trickle(b"x")), says=NO_ANSWER),
    "trickled lines": Mode(lambda wire: echo_and(wire, wire.trickle(b"x\r\n")), says=NO_ANSWER),
    "echo of something else": Mode(flood(b"show startup-config\r\n"), says=TOO_LONG),
    "the echo again and again, without end": Mode(flood(b"show running-config \x01"), says=TOO_LONG),
    "one line without end": Mode(lambda wire: echo_and(wire, wire.flood(b"x")), says=TOO_LONG),
    "lines without end": Mode(lambda wire: echo_and(wire, wire.flood(b"vlan 7\r\n")), says=TOO_LONG),
    "empty lines without end": Mode(lambda wire: echo_and(wire, wire.flood(b"\r\n")), says=TOO_LONG),
    "carriage returns without end": Mode(lambda wire: echo_and(wire, wire.flood(b"\r")), says=TOO_LONG),
    "NULs without end": Mode(lambda wire: echo_and(wire, wire.flood(b"\0")), says=TOO_LONG),
    "backspaces without end": Mode(lambda wire: echo_and(wire, wire.flood(b"\b \b")), says=TOO_LONG),
    "no UTF-8": Mode(lambda wire: echo_and(wire, wire.flood(b"\xff\xfe\xc3(")), says=TOO_LONG),
    "escapes without end": Mode(lambda wire: echo_and(wire, wire.flood(b"\x1b[")), says=TOO_LONG),
    "a title without end": Mode(lambda wire: echo_and(wire, wire.flood(b"\x1b]0;x")), says=TOO_LONG),
    "log lines of blanks": Mode(
        lambda wire: echo_and(wire, wire.flood(b"01-Jan-2026 01:02:03" + b" " * 5000)), says=TOO_LONG
    ),
    "pagers in one line": Mode(lambda wire: echo_and(wire, wire.flood(b"More: <space>")), says=TOO_LONG),
    "new keys again and again": Mode(
        lambda wire: echo_and(wire, wire.flood(b"vlan 7\r\n")), ssh="rekeys", says=f"{TOO_LONG}|{DROPPED}"
    ),
    "half prompts without end": Mode(lambda wire: echo_and(wire, wire.flood(b"\r\ns0(config")), says=TOO_LONG),
    "a pager without end": Mode(endless_pager, says=TOO_LONG),
    "a slow pager without end": Mode(slow_pager, says=NO_ANSWER),
    "cut at once": Mode(cut, says=DROPPED),
    "cut in the answer": Mode(lambda wire: echo_and(wire, cut(wire)), says=DROPPED),
    "the session ends": Mode(end, says=DROPPED),
    "answers too late": Mode(late, says=NO_ANSWER),
    "no echo, and a flood": Mode(flood(b"vlan 7\r\n"), echo=False, says=TOO_LONG),
    "an identity without end": Mode(
        lambda wire: echo_and(wire, wire.flood(b"Model 5324 ")), at="show system", do=identify, says=TOO_LONG
    ),
    "lines that begin like the prompt": Mode(
        answer(HEAD + b"banner\r\ns0#is mine\r\ns0(config)# too\r\nend" + END),
        reads=whole("banner\ns0#is mine\ns0(config)# too\nend"),
    ),
    "an answer byte by byte": Mode(lambda wire: wire.bytewise(HEAD + b"name x" + END), reads=whole("name x")),
    "sequences cut in two": Mode(
        lambda wire: wire.bytewise(HEAD + b"a\x1b[1;31mb\x1b]0;title\x07c\x1b]2;x\x1b\\d\xc2\x9b0me\x1b=f\0g" + END),
        reads=whole("abcdefg"),
    ),
    **{
        f"{said or 'nothing'!r} for a configuration": Mode(
            answer(said.encode() + PROMPT),
            says=f"no whole configuration, which has .*: {said or 'an empty answer'}",
            model=model,
        )
        for model, said in (
            ("powerconnect-6224", ""),
            ("powerconnect-6224", "Permission denied"),
            ("powerconnect-6224", "% Authorization failed"),
            ("powerconnect-6224", "Building configuration..."),
            ("powerconnect-5324", "System is busy, please try later"),
            ("powerconnect-5324", "interface configuration is locked by another session"),
        )
    },
    "a banner with the prompt": Mode(
        answer(HEAD + b"banner x\r\nexit\r\ns0#\r\nvlan 8" + PROMPT), says="one of its lines is like the prompt"
    ),
    "a log line that breaks the first answer": Mode(logging(b"\r\n", 1), reads=whole("name xy")),
    "a log line inside a line of the first answer": Mode(logging(b"", 1), reads=whole("name xy")),
    "the name of another switch": Mode(
        answer(HEAD + b'hostname "s7"' + END),
        says=r"calls itself s7, the name of another .* of S7\? .*tagloom_own_name",
    ),
    "the name of no switch": Mode(answer(HEAD + b"hostname s70" + END), reads=whole("hostname s70")),
    "log lines that break every answer": Mode(logging(b"\r\n", 9), says="log lines break each of 5 readings"),
    "sequences that are none": Mode(
        answer(HEAD + b"a\x1b\x1b[\x07\xe2\x80\xae\xc2\x85b\xff" + END),
        reads=whole("a\\x1b\\x1b[\\x07\\u202e\\x85b\ufffd"),
    ),
    "log lines in the answer": Mode(
        answer(HEAD + b"01-Jan-2026 01:02:03 :%LINK-W-Down:  g1\r\nname x" + END + b" 01-Jan-2026 01:02:03 %X: y\r\n"),
        reads=whole("name x"),
    ),
    "goes on after the exit": Mode(say_more_after_exit, at="exit", reads=whole("")),
    **{
        f"a log line of {family} in the answer and behind the prompt": Mode(
            answer(HEAD + log + b"\r\nname x" + END + log + b"\r\n"), reads=whole("name x")
        )
        for family, log in LOGS.items()
    },
    **{
        f"a log line of {family} behind the first prompt": Mode(
            answer(b"\r\ns0>\r\n" + log + b"\r\n"), at="(?:)", reads=whole("")
        )
        for family, log in LOGS.items()
    },
    **{
        f"a log line of {family} in the echo": Mode(
            lambda wire, log=log: wire.say(b"show run\r\n" + log + b"\r\nning-config\r\n" + HEAD + b"name x" + END),
            reads=whole("name x"),
        )
        for family, log in LOGS.items()
    },
    "a new name that the prompt cuts": Mode(
        answer(b"\r\na-name-of-more-than-(config)#"), at="hostname .*", do=rename, reads="renamed"
    ),
    **{
        f"a pager {pager.decode()}": Mode(one_page(pager), reads=whole("\n        \nname x"), hurries=True)
        for pager in (b"-- more --", b"--More-- (12%)")
    },
    # questions that nobody foresaw
    "a question instead of the configuration": unforeseen(b"Proceed? (y/n) ", "Proceed? (y/n)"),
    "a question behind a long answer": unforeseen(
        b"username ops password hush-key\r\n" * 100 + b"Go on with the rest? ", "Go on with the rest?"
    ),
    "a long answer that stops": Mode(
        answer(b"x" * 2000 + b"\r\n" + b"hush/base64+of/a/key\r\n" * 99), says="no answer in 1 s$", hurries=True
    ),
    "a secret that stops": unforeseen(
        b"vlan 7\r\nusername ops password hush-key", "vlan 7 / username ops password <hidden>"
    ),
    "a question to a line": unforeseen(
        b"The ports of VLAN 100 go down.\r\nDelete it? [confirm]",
        at="vlan 100",
        do=send,
        lines="go down. / Delete it? [confirm]",
    ),
    "a password that expired": unforeseen(
        b"It has expired.\r\nEnter old password: ",
        at="configure",
        do=send,
        lines="It has expired. / Enter old password:",
    ),
    "cut behind its reason": Mode(
        lambda wire: reason_and_cut(wire, b"Idle time-out\r\n"),
        says=f"{DROPPED}; the console's last lines: Idle time-out",
    ),
    "configure leads nowhere, and says why": Mode(
        answer(b"Locked by admin" + PROMPT), at="configure", do=send, says=r"\(config\) .*last lines: Locked by admin"
    ),
    # to configuration lines
    "configure leads nowhere": Mode(answer(PROMPT), at="configure", do=send, says=r"not that of \(config\)"),
    "configure leads to another's prompt": Mode(answer(b"\r\ns1(config)#"), at="configure", do=send, says=NO_ANSWER),
    "a line is never answered": Mode(lambda wire: wire.silence(), at="vlan 100", do=send, says=NO_ANSWER),
    "an error without end": Mode(
        lambda wire: echo_and(wire, wire.flood(b"% Invalid input radius-server ")),
        at="vlan 100",
        do=send,
        says=TOO_LONG,
    ),
    "a long error": Mode(
        answer(b"% Invalid input\r\n" + b"radius-server " * 50_000 + b"\r\ns0(config-vlan)#"),
        at="vlan 100",
        do=send,
        says=r"% Invalid input radius-server .{0,1000} \.\.\.$",
    ),
    "an error of blank lines": Mode(
        answer(b"\r\n" * 200_000 + b"% Invalid input\r\ns0(config-vlan)#"), at="vlan 100", do=send, says="% Invalid"
    ),
    "an error that steers the terminal": Mode(
        answer("\r\n% Invalid input \x07 \x9b \u202e\r\ns0(config-vlan)#".encode()),
        at="vlan 100",
        do=send,
        says=r"\\x07 \\x9b \\u202e",
    ),
    "an error that shows secrets": Mode(
        answer(b"\r\n% Invalid input radius-server host 192.0.2.1 key hush-key\r\ns0(config-vlan)#"),
        at="vlan 100",
        do=send,
        says="key <hidden>",
    ),
    # to saving
    "a save that asks for a name": unforeseen(
        b"Destination filename [startup-config]?", at="copy.*", do=save, lines="Destination filename [startup-config]?"
    ),
    "a save that asks again and again": Mode(
        answer(b"Overwrite? (Y/N) " * 9), at="copy.*", do=save, says="asks more than 3 questions; .*Overwrite"
    ),
    "a save that says nothing": Mode(answer(PROMPT), at="copy.*", do=save, says="did not say that it saved"),
    "a save that is never answered": Mode(lambda wire: wire.silence(), at="copy.*", do=save, says=NO_ANSWER),
    "a save that failed": Mode(
        answer(b"\r\nConfiguration Not Saved!" + PROMPT), at="copy.*", do=save, says="Configuration Not Saved!"
    ),
    "a save without success": Mode(
        answer(b"\r\nCopy unsuccessful" + PROMPT), at="copy.*", do=save, says="Copy unsuccessful"
    ),
    "a save that began well": Mode(
        answer(b"\r\nCopy succeeded in part; copy of the rest failed" + PROMPT), at="copy.*", do=save, says="failed"
    ),
    "a save of which no word comes": Mode(
        lambda wire: wire.say(PROMPT), at="y", do=save, says="did not say that it saved"
    ),
    "a save that asks for ever": Mode(
        lambda wire: wire.trickle(b"\r\nAre you sure (y/n) "), at="copy.*|y", do=save, says=NO_ANSWER
    ),
    # by a Linux machine's shell, which echoes nothing and ends every answer with a status
    "shell: silence": shell(lambda wire: wire.silence(), says=NO_ANSWER),
    "shell: silence at the login": shell(lambda wire: wire.silence(), at="stty .*", says=NO_ANSWER),
    "shell: banner without end": shell(flood(b"welcome\r\n"), at="login", says="it sent more than 262,144 bytes"),
    "shell: lines without end": shell(flood(b"[]\r\n"), says=TOO_LONG),
    "shell: one line without end": shell(flood(b"["), says=TOO_LONG),
    "shell: half a status without end": shell(flood(b"\r\ntagloom-status="), says=TOO_LONG),
    "shell: a status that is no number": shell(flood(b"tagloom-status=9999\r\n"), says=TOO_LONG),
    "shell: trickled beyond the deadline": shell(lambda wire: wire.trickle(b"["), says=NO_ANSWER),
    "shell: cut at once": shell(cut, says=DROPPED),
    "shell: the session ends": shell(end, says=DROPPED),
    "shell: lists within lists": shell(printed(b"[" * 200_000), says="no JSON of links"),
    "shell: links that are none": shell(printed(b"[1, [], null]"), says="no JSON of links"),
    "shell: more ports than there are": shell(
        printed(b"[" + b", ".join(b'{"ifname": "p%d", "master": "BRIDGE"}' % port for port in range(2000)) + b"]"),
        says="2000 ports on one bridge",
    ),
    "shell: an error that steers the terminal": shell(
        printed("no \x07 \x9b \u202e".encode(), 1), at="vlan database.*", do=send, says=r"\\x07 \\x9b \\u202e"
    ),
    "shell: an error that shows secrets": shell(
        printed(b"radius-server host 192.0.2.1 key hush-key", 1), at="vlan database.*", do=send, says="key <hidden>"
    ),
    "shell: a long error": shell(
        printed(b"radius-server " * 50_000, 1), at="vlan database.*", do=send, says=r"radius-server .{0,1000} \.\.\.$"
    ),
}

for family, log in LOGS.items():
    if family.startswith("RouterOS"):
        MODES[f"a log line of {family} where a line answers nothing"] = Mode(
            lambda wire, log=log: wire.say(f"{wire.line}\r\n\r\n".encode() + log + b"\r\n[lab@s0] > "),
            at="/interface bridge add .*",
            do=begin_bridge,
            model="mikrotik-crs326-24g-2s",
            reads="begun",
        )
MODES["mikrotik-crs326-24g-2s: a log line over the prompt"] = Mode(
    lambda wire: wire.say(f"{wire.line}\r\n[lab@s0] > ".encode() + LOGS["RouterOS"] + b"\r\n"),
    at="/interface bridge add .*",
    do=begin_bridge,
    model="mikrotik-crs326-24g-2s",
    reads="begun",
)


def export(logs):
    """Answer an export, in the first of which a log line breaks a row."""
    left = list(logs)

    async def act(wire):
        cut = b"\r\n" + left.pop() + b"\r\n" if left else b""
        rows = b"# 2026-11-29 01:02:03 by RouterOS 7.18\r\n/interface bridge add na" + cut + b"me=x"
        await wire.say(f"{wire.line}\r\n".encode() + rows + b"\r\n[lab@s0] > ")

    return act


MODES["mikrotik-crs326-24g-2s: a log line that breaks the first answer"] = Mode(
    export([LOGS["RouterOS"]]),
    at="/export terse",
    model="mikrotik-crs326-24g-2s",
    reads="# 2026-11-29 01:02:03 by RouterOS 7.18\n/interface bridge add name=x",
)
for rows, missing in {
    b"": "at the beginning",
    b"# a note\r\n/ip dns set servers=192.0.2.1": "at the beginning",
    b'# 2026-11-29 01:02:03 by RouterOS 7.18\r\n#error exporting "/interface/bridge/port" (timeout)': "more than",
    b"# nov/29/2026 01:02:03 by RouterOS 6.48\r\n#error exporting /interface bridge vlan": "more than",
    b"# 2026-11-29 01:02:03 by RouterOS 7.18\r\n#interrupted": "more than `#interrupted`",
    b"# 2026-11-29 by RouterOS 7.18\r\n/system identity set name=s8.example.org": "",
}.items():
    MODES[f"mikrotik-crs326-24g-2s: {rows.decode() or 'nothing'} for an export"] = Mode(
        lambda wire, rows=rows: wire.say(f"{wire.line}\r\n".encode() + rows + b"\r\n[lab@s0] > "),
        at="/export terse",
        model="mikrotik-crs326-24g-2s",
        says="no export" if not rows else f"whole configuration, which has .*{missing}" if missing else "itself s8.exa",
    )
MODES["mikrotik-crs326-24g-2s: an export without a menu of buttons"] = Mode(
    lambda wire: wire.say(
        f"{wire.line}\r\n".encode()
        + b'# 2026-11-29 01:02:03 by RouterOS 7.18\r\n#error exporting "/system/routerboard/mode-button"\r\n[lab@s0] > '
    ),
    at="/export terse",
    model="mikrotik-crs326-24g-2s",
    reads='# 2026-11-29 01:02:03 by RouterOS 7.18\n#error exporting "/system/routerboard/mode-button"',
)
for asks, why in {"questions alone": "", "two questions": "SSH asks 2 questions; tagloom answers one"}.items():
    MODES |= {
        f"SSH: {asks}": Mode(None, at="", ssh=asks, reads="" if why else whole(""), says=why),
        f"SSH: {asks}, where the console asks": Mode(
            *(None, "", read, why, "powerconnect-5324", asks), reads="" if why else "hostname s0"
        ),
    }
for mark in "~*":
    MODES[f"lines that wait for a commit: {mark}"] = Mode(
        lambda wire, mark=mark: wire.answer(f"\r\n[{mark}{wire.console.device.hostname}]".encode()),
        at="system-view",
        do=send,
        model="huawei-s5731-s24t4x",
        says=rf"wait for a commit \(prompt \[\{mark}\w+\]\)",
    )

NEWER = {  # the line that asks for the configuration, and what stands between screens
    "cisco-cbs350-24t-4g": ("show running-config", b"More: <space>,  Quit: q or CTRL+Z, One line: <return> "),
    "cisco-sg300-28": ("show running-config", b"More: <space>,  Quit: q, One line: <return> "),
    "hpe-5130-24g-4sfp": ("display current-configuration", b"---- More ----"),
    "huawei-s5731-s24t4x": ("display current-configuration", b"  ---- More ----"),
    "arista-7010t-48": ("show running-config", b"--More--"),
    "mikrotik-crs326-24g-2s": ("/export terse", b"-- [Q quit|D dump|down]"),
}
for model, (show, pager) in NEWER.items():
    newer = partial(Mode, model=model, at=f"{re.escape(show)}.*")
    MODES |= {
        f"{model}: silence": newer(lambda wire: wire.silence(), says=NO_ANSWER),
        f"{model}: trickled": newer(lambda wire: echo_and(wire, wire.trickle(b"x")), says=NO_ANSWER),
        f"{model}: one line without end": newer(lambda wire: echo_and(wire, wire.flood(b"x")), says=TOO_LONG),
        f"{model}: lines without end": newer(lambda wire: echo_and(wire, wire.flood(b"vlan 7\r\n")), says=TOO_LONG),
        f"{model}: brackets without end": newer(lambda wire: echo_and(wire, wire.flood(b"[<(")), says=TOO_LONG),
        f"{model}: pagers without end": newer(
            lambda wire, pager=pager: echo_and(wire, wire.flood(b"\r\n" + pager)), says=TOO_LONG
        ),
        f"{model}: cut": newer(lambda wire: echo_and(wire, cut(wire)), says=DROPPED),
        f"{model}: the session ends": newer(end, says=DROPPED),
        f"{model}: banner without end": newer(
            flood(b"welcome\r\n"), at="login", says="it sent more than 262,144 bytes"
        ),
    }


@pytest.fixture(scope="module")
def attacked():
    """Let all of them attack at once, and an honest switch answer beside them; gives outcome and cost of each."""
    loop = Loop()

    def victim(name):
        mode = MODES[name]
        switch = Switch(mode.act, mode.at, mode.model, mode.ssh) if mode.ssh or takes_wire(mode.act) else mode.act
        port = loop.serve(switch)
        hurries = mode.hurries or mode.says in TIMES_OUT
        in_session = mode.at != "login" and takes_wire(mode.act) and mode.act
        access = Access(
            *("127.0.0.1", port, "lab", HUSH),
            host_key_checking=False,
            fast_cli=True,
            echo=mode.echo,
            others=frozenset(("S7", "s8")),
            login_seconds=1.0 if hurries and not in_session else PATIENT_SECONDS,
            answer_seconds=1.0 if hurries else PATIENT_SECONDS,
        )
        began = time.thread_time()
        try:
            with connect("s0", platforms.load(mode.model), access) as session:
                outcome = mode.do(session)
        except DeviceError as error:
            outcome = error
        return outcome, time.thread_time() - began, getattr(switch, "sent", 0)

    def honest():
        switch = Switch(None, "")
        access = Access("127.0.0.1", loop.serve(switch), "lab", HUSH, host_key_checking=False, fast_cli=True)
        with SshSwitch("honest", platforms.load(switch.device.platform.model), access) as session:
            session.send(LINES)
            session.save()
            return session.running_configuration(), switch.device.editor.vlans

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(16) as pool:
        patch.setattr(ssh, "ANSWER_BYTES", ANSWER_BYTES, raising=False)
        patch.setattr(ssh, "SESSION_BYTES", SESSION_BYTES, raising=False)
        good = pool.submit(honest)
        found = {name: pool.submit(victim, name) for name in MODES}
        yield {name: future.result(120) for name, future in found.items()} | {"honest": good.result(120)}
        loop.close()


def takes_wire(act):
    return act is None or act.__code__.co_varnames[0] == "wire"


@pytest.mark.slow
@pytest.mark.parametrize("name", MODES)
def test_an_attack_is_its_switchs_own_error(attacked, name):
    outcome, cpu_seconds, sent = attacked[name]
    says = MODES[name].says
    if MODES[name].reads:
        assert outcome == MODES[name].reads + "\n"
    else:
        assert isinstance(outcome, DeviceError), outcome
        assert re.search(says, outcome.text), outcome.text
        assert outcome.switch == "s0"
        assert outcome.text.isprintable()
        assert len(outcome.text) <= secrets.SHOWN_CHARACTERS + 10
        assert "hush" not in str(outcome)
    assert cpu_seconds < CPU_SECONDS
    assert sent < SESSION_BYTES + WINDOW


@pytest.mark.slow
def test_the_switch_beside_them_is_served(attacked):
    text, vlans = attacked["honest"]
    assert text == whole("") + "\n"
    assert 100 in vlans


def test_a_batch_that_is_slow_at_every_line_ends(monkeypatch):
    """Each answer comes within its own deadline, and all of them together would take hours."""
    monkeypatch.setattr(ssh, "LINE_SECONDS", 0.0)
    loop = Loop()
    switch = Switch(honest_but_slow, "description .*|interface .*|exit")
    access = Access("127.0.0.1", loop.serve(switch), "lab", HUSH, host_key_checking=False, fast_cli=True)
    access = replace(access, answer_seconds=1.0)
    with (
        SshSwitch("s0", platforms.load("powerconnect-6224"), access) as session,
        pytest.raises(DeviceError, match="no answer in"),
    ):
        session.send(("interface ethernet 1/g1", *("description x",) * 40, "exit"))
    assert len(session.sent) < 5
    loop.close()
