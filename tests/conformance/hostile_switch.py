"""Be switches that attack whoever logs in to them: honest up to a point, and hostile from there."""

import asyncio
import contextlib
import re
from dataclasses import dataclass

import asyncssh

from background_loop import BackgroundLoop
from tagloom import platforms
from tagloom.lab.console import Console
from tagloom.lab.device import Device
from tagloom.lab.server import new_console

LINE_ENDS = re.compile(r"\r\n|\r|\n")
FLOOD = 1 << 16  # bytes at a time
PROMPT = b"\r\ns0#"
QUESTIONS = "questions alone", "two questions"  # keyboard-interactive is all that SSH takes


@dataclass
class Wire:
    """What a hostile act may do to the session of its victim; `sent` counts the bytes it got rid of."""

    process: asyncssh.SSHServerProcess
    console: Console
    line: str = ""
    sent: int = 0

    async def say(self, data):
        self.process.stdout.write(data)
        self.sent += len(data)
        await self.process.stdout.drain()

    async def answer(self, data):
        """Echo the line, and answer it."""
        await self.say(self.line.encode() + b"\r\n" + data)

    async def flood(self, data):
        """Say the same for ever."""
        data *= max(1, FLOOD // len(data))
        while True:
            await self.say(data)

    async def trickle(self, data, seconds=0.1):
        for _ in range(10_000):
            await self.say(data)
            await asyncio.sleep(seconds)

    async def bytewise(self, data):
        """Answer a byte at a time, each of which the other end may read alone."""
        for byte in self.line.encode() + b"\r\n" + data:
            await self.say(bytes([byte]))
            await asyncio.sleep(0.002)

    async def silence(self):
        await asyncio.sleep(3600)

    def abort(self):
        self.process.get_extra_info("connection").abort()


class Owned(Device):
    """A switch that somebody set up."""

    def accepts(self, user, password):
        return (user.partition("+")[0], password) == ("lab", "hush-password")


class Switch(asyncssh.SSHServer):
    """One switch; `act(wire)` is what it does where `at` is typed, and every time after that."""

    def __init__(self, act, at, model="powerconnect-6224", ssh=None):
        self.act, self.at, self.ssh = act, at, ssh
        self.device = Owned("s0", platforms.load(model), lambda _: "")
        if model in ("powerconnect-5324", "powerconnect-6224"):
            self.device.foreign.take("", f"hostname {'x' * 10_000 if ssh == 'long name' else 's0'}")
        self.user = ""
        self.wires = []

    @property
    def asks_inside(self):
        """Whether name and password are asked for in the session."""
        inside = self.device.platform.netmiko_driver in ("dell_powerconnect", "cisco_s300")
        return inside and self.ssh not in ("password", "refused", *QUESTIONS)

    @property
    def sent(self):
        return sum(wire.sent for wire in self.wires)

    def begin_auth(self, username):
        self.user = username
        return not self.asks_inside

    def connection_made(self, conn):
        self.conn = conn

    def password_auth_supported(self):
        return self.ssh not in QUESTIONS

    def kbdint_auth_supported(self):
        return self.ssh in QUESTIONS

    def get_kbdint_challenge(self, _user, _language, _methods):
        questions = [("Password: ", False), ("Verification code: ", False)]
        return "", "", "", questions if self.ssh == "two questions" else questions[:1]

    def validate_kbdint_response(self, _user, responses):
        return list(responses) == ["hush-password"]

    async def validate_password(self, _user, password):
        if self.ssh == "auth banners":
            while not self.conn.is_closed():
                self.conn.send_auth_banner("x" * 10_000 + "\n")
                await asyncio.sleep(0)
        if self.ssh == "no answer to the password":
            await asyncio.sleep(3600)
        if self.ssh == "password expired":
            raise asyncssh.PasswordChangeRequired("Enter a new password")
        return password == "hush-password" and self.ssh != "refused"

    def session_requested(self):
        if self.ssh == "no session":
            return asyncio.get_running_loop().create_future()
        return asyncssh.SSHServerProcess(self.talk, None, 3, False) if self.ssh != "session refused" else False

    async def talk(self, process):
        console = new_console(self.device, user=self.user)
        wire = Wire(process, console)
        self.wires.append(wire)
        with contextlib.suppress(asyncssh.Error, OSError):
            if self.at == "login":
                await self.act(wire)
            await wire.say(console.start().encode())
            typed = ""
            while not console.closed:
                keys = (await process.stdin.read(4096)).decode()
                if not keys:
                    break
                typed += keys
                *lines, rest = LINE_ENDS.split(typed)
                for line in lines:
                    wire.line = line
                    if self.at and re.fullmatch(self.at, line):
                        await self.act(wire)
                    else:
                        await wire.say(console.feed(line + "\r").encode())
                typed = rest
                if rest in ("y", "Y", " ", "q"):  # keys that need no Return
                    wire.line, typed = rest, ""
                    if re.fullmatch(self.at, rest):
                        await self.act(wire)
                    else:
                        await wire.say(console.feed(rest).encode())
        process.exit(0)


async def tcp(act, reader, writer):
    """Do before the first word of SSH what `act(reader, writer)` does."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        await act(reader, writer)
    writer.close()


class Loop:
    """An event loop in a thread of its own, in which hostile switches listen on loopback."""

    def __init__(self):
        self._loop = BackgroundLoop()
        self._key = asyncssh.generate_private_key("ssh-ed25519")
        self._servers = []

    def serve(self, switch):
        """Listen for a `Switch`, or for the act of one that does not get as far as SSH; gives the port."""

        async def listen():
            if not isinstance(switch, Switch):
                return await asyncio.start_server(lambda reader, writer: tcp(switch, reader, writer), "127.0.0.1", 0)
            return await asyncssh.listen(
                "127.0.0.1",
                0,
                server_factory=lambda: switch,
                server_host_keys=[self._key],
                encoding=None,
                line_editor=False,
                kbdint_auth=switch.ssh in QUESTIONS,
                public_key_auth=False,
                rekey_bytes=2048 if switch.ssh == "rekeys" else 1 << 30,
            )

        server = self._loop.run(listen())
        self._servers.append(server)
        return server.sockets[0].getsockname()[1]

    def close(self):
        async def end():
            for server in self._servers:
                server.close()

        self._loop.run(end())
        self._loop.close()
