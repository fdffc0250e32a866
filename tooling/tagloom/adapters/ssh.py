"""Talk to one switch over SSH, through netmiko's own driver for its family."""

from __future__ import annotations

import contextlib
import logging
import math
import re
import time
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import paramiko
from netmiko import ConnectHandler, NetmikoAuthenticationException
from netmiko.channel import SSHChannel
from netmiko.exceptions import NetmikoBaseException
from pydantic import TypeAdapter

from tagloom.adapters.metered import Allowance, MeteredSocket, TerminalText
from tagloom.errors import DeviceError, Finding, InputError
from tagloom.plain_text import printable
from tagloom.platforms.grammar import Grammar
from tagloom.platforms.secrets import scrub

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from netmiko import BaseConnection

    from tagloom.platforms import Platform

# What paramiko and netmiko raise, beside the errors of sockets. netmiko's time-outs are paramiko's SSHException.
_WIRE_ERRORS = (NetmikoBaseException, paramiko.SSHException, OSError, EOFError, ValueError)
LOGIN_SECONDS = 30.0
ANSWER_SECONDS = 120.0
SSH_PORT = 22
LOGIN_ROUNDS = 4  # connection, keys, password, prompt: each may take the seconds of a login
LOGIN_BYTES = 256 << 10  # keys, banners and prompts of one login; a real one takes some 10 kB
ANSWER_BYTES = 8 << 20  # of one answer; 32,000 static entries are 4 MB of JSON, 2 MB of a PowerConnect's lines
SESSION_BYTES = 128 << 20  # of all answers; a push reads the configuration three times
LINE_SECONDS = 5.0  # of a line on average: a 5324 takes a tenth of that, and a few lines of a batch take minutes
PROMPT_CHARACTERS = 128  # a host name has 63 at most (RFC 1123), a prompt of ROS 58
SHOWN_CHARACTERS = 1000  # of an answer, in an error
_PIECE_BYTES = 65536
# No pattern below may match more than so many characters: what is further back has been searched for good.
_TAIL = 512
# Every repetition is bounded or cannot fail once begun: the time to search a text is a multiple of its length.
_ERASED = re.compile(r"\x08+ *\x08*")
_LOG_TIME = r"\d\d-\w{3}-\d{4} \d\d:\d\d:\d\d"
_LOG_LINE = re.compile(rf"^{_LOG_TIME} {{0,4}}:? {{0,4}}%.*\n?", re.MULTILINE)  # a switch speaks unasked
_LOGGED_IN = re.compile(r"[\w)\].-][>#] ?$", re.MULTILINE)  # a line of # alone is a banner
_LOGIN_REFUSED = re.compile(
    r"user ?name: ?$|^[^\w\n]{0,32}(?:authentication|login) failed", re.IGNORECASE | re.MULTILINE
)
_LOGIN_SAYS = re.compile(f"(?m:{_LOGGED_IN.pattern})|(?im:{_LOGIN_REFUSED.pattern}|password: ?$)")
_PAGER = r"(?:More: <space>.{0,80}<return> ?|--More-- or \(q\)uit)"
_SAVE_QUESTION = r"\(Y/N\)(?:\[[YN]\])? ?\??|\[Yes/press any key for no\]\.*"
_SAVED = re.compile(r"(?<!un)succe(?:eded|ssful)|Configuration Saved", re.IGNORECASE)
_NOT_SAVED = re.compile(r"unsuccessful|not saved|copy.{0,80}fail", re.IGNORECASE)
_ECHO_ENDS = re.compile(r"[ \t]{0,256}\n")
_SUBMODES_DEEP = 4
_ERASE = "\x08"
_NO_WORD = "zzqq"  # is refused by every command line, alone and behind any line of ours
_CONFIG_MODE = "(config)"
_NOT_ENABLED_BY = "cisco_s300"  # the one driver of a PowerConnect's kin that does not enter privileged exec by itself
_NAMES_HOST = "hostname "
_FLAG = TypeAdapter(bool)  # from a command line's key=value it comes as text

# Without a handler of its own, paramiko's tracebacks of every refused connection would reach standard error.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


@cache
def _host_keys(path: Path, changed_ns: int) -> paramiko.HostKeys:
    """Read a known_hosts file once: to read n keys for each of n switches takes longer than to talk to them."""
    del changed_ns  # another file by the same name
    return paramiko.HostKeys(str(path))


_reading_host_keys = Lock()


def known_name(host: str, port: int) -> str:
    """Return what a known_hosts file calls an SSH server."""
    return host if port == SSH_PORT else f"[{host}]:{port}"


def _introduce_host(wire: BaseConnection, access: Access) -> None:
    """Load into a connection the keys that known_hosts has of its host, and no others."""
    path = Path(access.known_hosts or "~/.ssh/known_hosts").expanduser()
    name = known_name(access.host, access.port)
    with _reading_host_keys:
        keys = _host_keys(path, path.stat().st_mtime_ns).lookup(name) if path.is_file() else None
    build = wire._build_ssh_client  # noqa: SLF001 - netmiko itself can only be told of a file, which it reads whole

    def build_and_introduce() -> paramiko.SSHClient:
        client = build()
        for kind, key in (keys or {}).items():
            client.get_host_keys().add(name, kind, key)
        return client

    wire._build_ssh_client = build_and_introduce  # type: ignore[method-assign]  # noqa: SLF001 - as above


def shown(answer: str) -> str:
    """Return the beginning of an answer as one line for an error: without secrets, and of printable characters."""
    words = " ".join(scrub(answer.lstrip()[: 64 * SHOWN_CHARACTERS]).split())
    return printable(words if len(words) <= SHOWN_CHARACTERS else f"{words[:SHOWN_CHARACTERS]} ...")


def _prompt_of(*names: str) -> re.Pattern[str]:
    """Return the prompt of a switch of one of some names.

    A line of an answer may begin like the prompt: nothing but a log line stands behind the prompt itself.
    """
    any_of = "|".join(map(re.escape, names))
    behind = rf"(?=[ \t]{{0,8}}(?:$|{_LOG_TIME}))"
    return re.compile(rf"^(?:{any_of})(\([^)\n]{{0,64}}\))?[#>]{behind}", re.MULTILINE)


class _OnePiece(SSHChannel):
    """netmiko's channel, read one piece at a time: its own reads on for as long as the switch goes on to send."""

    heard: Callable[[bytes], object] = staticmethod(len)

    def read_bytes(self) -> bytes:
        """Return what has come, b"" for nothing yet. Raises EOFError where nothing more can come."""
        channel = self.remote_conn
        hung_up = channel is None or channel.closed or channel.eof_received
        if channel is not None and channel.recv_ready():
            data = bytes(channel.recv(_PIECE_BYTES))
            self.heard(data)
            return data
        if hung_up:
            raise EOFError("the session was dropped")
        return b""

    def read_channel(self) -> str:
        return self.read_bytes().decode(self.encoding, "ignore")


@dataclass(frozen=True, slots=True)
class Access:
    """How a switch is reached; secrets are kept out of its `repr`.

    known_hosts        the OpenSSH file its host key must be in; "" = the user's own
    host_key_checking  false takes any key: only where the operator says so
    fast_cli           netmiko's short delays; a real 5324 needs the long ones to log in
    echo               wait for each line's echo before its answer; off for a switch that garbles echoes
    become             what a Linux machine's commands run by, such as ``sudo -n``; "" = the user is root
    save_to            the file of a Linux machine that its configuration is kept in; "" = a reboot forgets it
    login_seconds      how long the switch may take to answer at each step of a login
    answer_seconds     how long one line may take, its whole answer included; `vlan 2-4094` takes a 5500 minutes
    """

    host: str
    port: int = SSH_PORT
    user: str = ""
    password: str = field(default="", repr=False)
    enable_password: str = field(default="", repr=False)
    known_hosts: str = ""
    host_key_checking: bool = True
    fast_cli: bool = False
    echo: bool = True
    become: str = ""
    save_to: str = ""
    login_seconds: float = LOGIN_SECONDS
    answer_seconds: float = ANSWER_SECONDS

    OUT_OF_BAND: ClassVar = "tagloom_out_of_band"  # whether no VLAN can cut the way to it
    VARIABLES: ClassVar = (
        *("inventory_hostname", "ansible_host", "ansible_port"),
        *("ansible_user", "ansible_password", "ansible_become_password"),
        *("tagloom_known_hosts", "tagloom_host_key_checking", "tagloom_fast_cli", "tagloom_echo"),
        *("tagloom_login_seconds", "tagloom_answer_seconds", "tagloom_become", "tagloom_save_to"),
    )

    @classmethod
    def out_of_band(cls, variables: Mapping[str, Any]) -> bool:
        """Return whether a host is managed by a way that no VLAN can cut."""
        return str(variables.get(cls.OUT_OF_BAND) or "").lower() in {"true", "yes", "on", "1", "y", "t"}

    @classmethod
    def of_host(cls, variables: Mapping[str, Any]) -> Access:
        """Read `VARIABLES`, which Ansible has of a host, as they come out of its templates.

        Raises InputError for what is no number, and neither yes nor no.
        """
        say, host = variables.get, str(variables.get("ansible_host") or variables.get("inventory_hostname"))
        wrong: list[Finding] = []

        def read(name: str, otherwise: Any, of: Callable[[Any], Any], expected: str) -> Any:
            try:
                return of(variables.get(name, otherwise))
            except (TypeError, ValueError):
                wrong.append(Finding(f"{variables.get('inventory_hostname')}: {name}", expected, str(variables[name])))

        flag = partial(read, of=_FLAG.validate_python, expected="true or false")
        number = partial(read, of=float, expected="a number")
        access = cls(
            host=host,
            port=read("ansible_port", SSH_PORT, of=int, expected="a port"),
            user=str(say("ansible_user") or ""),
            password=str(say("ansible_password") or ""),
            enable_password=str(say("ansible_become_password") or ""),
            known_hosts=str(say("tagloom_known_hosts") or ""),
            host_key_checking=flag("tagloom_host_key_checking", True),
            fast_cli=flag("tagloom_fast_cli", False),
            echo=flag("tagloom_echo", True),
            become=str(say("tagloom_become") or ""),
            save_to=str(say("tagloom_save_to") or ""),
            login_seconds=number("tagloom_login_seconds", LOGIN_SECONDS),
            answer_seconds=number("tagloom_answer_seconds", ANSWER_SECONDS),
        )
        if wrong:
            raise InputError(wrong)
        return access


class Session:
    """One login to one switch; enter it as a context to log in, leave it to log out.

    Every method raises DeviceError: with the line and the switch's answer where one was refused, and with what
    happened to the session where it was lost. `sent` lists the configuration lines the switch has accepted so far;
    `before_line` is called before each is sent, and what it raises ends the batch there. One that is `kept` stays
    logged in where it is left, unless something failed, and is entered again without a login.
    """

    def __init__(self, name: str, platform: Platform, access: Access) -> None:
        self.name = name
        self.kept = False
        self.sent: list[str] = []
        self.before_line: Callable[[str], None] = lambda _line: None
        self.heard: Callable[[bytes], object] = len  # what takes all that the switch sends, as it comes
        self._platform = platform
        self._access = access
        self._wire: BaseConnection | None = None
        self._socket: MeteredSocket | None = None
        self._channel: _OnePiece | None = None
        self._batch_ends = math.inf
        self._unread = ""
        self._identity = ""  # what the switch has said of itself since the login
        self._terminal = TerminalText()

    def __enter__(self) -> Self:
        """Log in, and make the session ready for commands."""
        self.sent = []
        if self.is_open:
            assert self._socket is not None  # noqa: S101 - it is open
            self._socket.allow(SESSION_BYTES)
            return self
        self._hang_up()
        self._identity = ""
        access = self._access
        keys = self._platform.netmiko_driver == "linux" and not access.password
        try:
            login_seconds = LOGIN_ROUNDS * access.login_seconds
            self._socket = MeteredSocket((access.host, access.port), login_seconds, LOGIN_BYTES)
            self._wire = ConnectHandler(
                device_type=self._platform.netmiko_driver,
                host=access.host,
                port=access.port,
                username=access.user,
                password=access.password,
                secret=access.enable_password,
                use_keys=keys,
                allow_agent=keys,
                fast_cli=access.fast_cli,
                conn_timeout=access.login_seconds,
                banner_timeout=access.login_seconds,
                auth_timeout=access.login_seconds,
                read_timeout_override=access.login_seconds,
                sock=self._socket,
                auto_connect=False,
                ssh_strict=access.host_key_checking,  # netmiko takes any host key unless it is told not to
            )
            if access.host_key_checking:
                _introduce_host(self._wire, access)
            # netmiko's own dialog presses Return where a switch is slow, after the name too: that is a wrong password.
            self._wire.special_login_handler = lambda *_, **__: None  # type: ignore[method-assign]
            self._wire.establish_connection()
            self._channel = self._wire.channel = _OnePiece(cast("Any", self._wire.remote_conn), self._wire.encoding)
            self._channel.heard = self.heard
            self._log_in(self._wire)
            self._socket.allow(SESSION_BYTES)
        except DeviceError as error:
            why = self._socket.why if self._socket is not None else ""
            self._hang_up()
            raise (DeviceError(self.name, "login", why) if why else error) from error
        except Exception as error:
            # Whatever a switch sends ends its own login alone: paramiko raises what its thread met, of any type.
            why = self._why_no_login(error)
            self._hang_up()
            raise DeviceError(self.name, "login", why) from error
        return self

    def __exit__(self, *error: object) -> None:
        """Leave what a lost batch stood in, and log out; one that is kept stays where nothing failed."""
        if self.kept and not any(error) and self.is_open:
            return
        with contextlib.suppress(DeviceError):
            if self._wire is not None:
                self._leave()
        self._hang_up()

    @property
    def is_open(self) -> bool:
        """Return whether it is logged in and nobody has hung up, as far as this end knows."""
        channel = self._channel.remote_conn if self._channel is not None else None
        return self._wire is not None and channel is not None and not (channel.closed or channel.eof_received)

    def identity(self) -> str:
        """Return what the switch says of itself, asked once in a login: another one would have ended the session."""
        self._identity = self._identity or self._ask_identity()
        return self._identity

    def _ask_identity(self) -> str:
        raise NotImplementedError

    def still_answers(self) -> None:
        """Have a word with the switch, which keeps it from ending the session. Raises DeviceError."""
        raise NotImplementedError

    def _log_in(self, wire: BaseConnection) -> None:
        raise NotImplementedError

    def _leave(self) -> None:
        self._write("exit\n", "exit")

    def _why_no_login(self, error: Exception) -> str:
        access, cause = self._access, error.__context__ or error
        if self._socket is not None and self._socket.why:
            return self._socket.why
        if isinstance(cause, paramiko.BadHostKeyException):
            return f"the host key of {access.host}:{access.port} is not the one in known_hosts"
        if isinstance(error, NetmikoAuthenticationException) and "timeout" not in str(cause):
            return f"refused for user {access.user!r}"
        if isinstance(cause, OSError):
            return f"cannot reach {access.host}:{access.port} ({cause.strerror or cause})"
        return shown(next(iter(str(cause).strip().splitlines()), type(cause).__name__))

    def _hang_up(self) -> None:
        if self._wire is not None:
            with contextlib.suppress(Exception):  # nothing that fails on the way out changes what was done
                self._wire.paramiko_cleanup()
            self._wire = None
        if self._socket is not None:
            self._socket.close()

    def _write(self, text: str, command: str) -> None:
        if self._wire is None:
            raise DeviceError(self.name, command, "no session")
        try:
            self._wire.write_channel(text)
        except _WIRE_ERRORS as error:
            raise self._lost(command, "the session was dropped") from error

    def _allowance(self, seconds: float = 0.0) -> Allowance:
        """Return what the next answer may cost."""
        limit = seconds or self._access.answer_seconds
        return Allowance(min(limit, max(0.0, self._batch_ends - time.monotonic())), ANSWER_BYTES)

    def _until(self, pattern: re.Pattern[str], command: str, allowance: Allowance) -> tuple[str, str]:
        """Read until `pattern`; return the text before the match, and the match. Keeps what comes after it.

        Every character is searched a bounded number of times, in whatever pieces it comes: what stands before the last
        line, and before the last `_TAIL` characters of that, is not searched again.
        """
        text, self._unread, searched = self._unread, "", 0
        while not (match := pattern.search(text, searched)):
            searched = max(text.rfind("\n") + 1, len(text) - _TAIL)
            text += self._read_more(command, allowance)
        self._unread = text[match.end() :]
        return text[: match.start()], match[0]

    def _read_more(self, command: str, allowance: Allowance) -> str:
        """Return what the switch has said by now, or wait until it says something.

        Raises DeviceError where it has hung up, or takes longer or says more than it is allowed.
        """
        if self._wire is None or self._channel is None:
            raise DeviceError(self.name, command, "no session")
        try:
            data = self._channel.read_bytes()
        except _WIRE_ERRORS as error:
            raise self._lost(command, "the session was dropped") from error
        left = allowance.deadline - time.monotonic()
        if left < 0:
            raise self._lost(command, f"no answer in {allowance.seconds:.0f} s")
        allowance.left -= len(data)
        if allowance.left < 0:
            raise self._lost(command, f"an answer of more than {allowance.limit:,} bytes")
        if not data:
            self._wait(self._wire.remote_conn, left)
        return self._terminal.feed(data)

    @staticmethod
    def _wait(channel: Any, seconds: float) -> None:
        """Wait until the switch has said more or hung up: to receive no bytes waits as to receive some does."""
        before = channel.gettimeout()
        channel.settimeout(max(seconds, 0.001))
        with contextlib.suppress(TimeoutError):
            channel.recv(0)
        channel.settimeout(before)

    def _lost(self, command: str, how: str) -> DeviceError:
        why = self._socket.why if self._socket is not None else ""
        self._hang_up()  # so that nobody waits for this session a second time
        return DeviceError(self.name, command, why or how)


class SshSwitch(Session):
    """Speak to a switch with a command line of modes: privileged exec, configuration, and its sub-modes.

    netmiko brings the connection, the login dialogs, `enable` and the paging commands. The conversation after that
    is ours, because netmiko does not notice sub-modes, waits its whole time-out after a session has been cut, and
    spends seconds of silence on every change of mode.
    """

    def __init__(self, name: str, platform: Platform, access: Access) -> None:
        super().__init__(name, platform, access)
        self._is_error = Grammar.of(platform).is_error
        self._prompt = re.compile("")
        self._mode = ""  # what the last prompt had between its parentheses, with them; "" = privileged exec

    def _ask_identity(self) -> str:
        """Return `show system`, and `show version` of those that have no such page."""
        pages = (self._exchange("show system"), self._exchange("show version"))
        return "\n".join(page for page in pages if not self._is_error(page))

    def still_answers(self) -> None:
        """Ask what time it is; a switch that has no clock says so, which is as good."""
        self._exchange("show clock")

    def running_configuration(self) -> str:
        """Return the running configuration as the switch shows it, secrets and all."""
        text = self._exchange("show running-config")
        self._check("show running-config", text)
        return text.strip("\n") + "\n"

    def address_table(self) -> str:
        """Return the page of addresses that the switch has learnt or been told."""
        command = Grammar.of(self._platform).shows_addresses
        text = self._exchange(command)
        self._check(command, text)
        return text

    @property
    def mode(self) -> str:
        """Return what the last prompt had between its parentheses, with them; "" in privileged exec."""
        return self._mode

    def ask(self, line: str) -> str:
        """Return the answer to a line, an error among them. The line must be one that changes nothing."""
        return self._exchange(line)

    def erases(self) -> bool:
        """Return whether Backspace takes back what was typed: only then `help` may be asked for at lines that act."""
        self._write(f"show clock{_ERASE * len('show clock')}{_NO_WORD}\n", "Backspace")
        text, _ = self._until(self._prompt, "Backspace", self._allowance())
        return self._is_error(text) and not re.search(r"\d\d:\d\d", text)

    def help(self, typed: str) -> str:
        """Return what the switch says where a `?` is typed behind a line begun, which is never sent.

        The line is taken back; a word that no switch knows is sent in its place, so that it would be refused even where
        it was not.
        """
        what = f"{typed}?"
        self._write(what, what)
        again = re.compile(rf"^{self._any_prompt}[ \t]{{0,8}}{re.escape(typed.strip())}[ \t]{{0,8}}$", re.MULTILINE)
        allowance, pieces = self._allowance(), []
        while True:
            text, found = self._until(re.compile(f"{again.pattern}|{_PAGER}", re.MULTILINE), what, allowance)
            pieces.append(text)
            if again.match(found):
                break
            self._write(" ", what)
        self._write(f"{_ERASE * len(typed)}{_NO_WORD}\n", what)
        self._until(self._prompt, what, self._allowance())
        said = _ERASED.sub("", _LOG_LINE.sub("", "".join(pieces)))
        return printable(said.partition("\n")[2] if said.lstrip().startswith(typed.strip()) else said)

    @property
    def _any_prompt(self) -> str:
        return self._prompt.pattern.removeprefix("^").partition("(?=")[0]

    def startup_configuration(self) -> str | None:
        """Return the startup configuration as the switch shows it, "" where it has none or does not show it."""
        text = self._exchange("show startup-config")
        return "" if self._is_error(text) else text.strip("\n") + "\n"

    def send(self, lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Enter configuration, send the lines one by one, return to privileged exec; return (line, answer) pairs.

        `lines` begin and end at ``(config)#``. The first line that is refused ends the batch.
        """
        if not lines:
            return ()
        self._batch_ends = time.monotonic() + 2 * self._access.answer_seconds + LINE_SECONDS * len(lines)
        try:
            return self._send(lines)
        finally:
            self._batch_ends = math.inf

    def _send(self, lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
        transcript: list[tuple[str, str]] = []
        self._check("configure", self._exchange("configure"))
        if self._mode != _CONFIG_MODE:
            raise DeviceError(self.name, "configure", f"the prompt is not that of {_CONFIG_MODE} afterwards")
        for line in lines:
            self.before_line(line)
            if line.startswith(_NAMES_HOST) and self._wire is not None:  # the prompt that answers has the new name
                self._prompt = _prompt_of(self._wire.base_prompt, line.removeprefix(_NAMES_HOST).strip().strip("\"'"))
            answer = self._exchange(line)
            if self._is_error(answer):
                with contextlib.suppress(DeviceError):
                    self._leave_configuration()
            self._check(line, answer)
            self.sent.append(line)
            transcript.append((line, answer))
        left_in = self._mode
        self._leave_configuration()
        if left_in != _CONFIG_MODE:
            raise DeviceError(self.name, lines[-1], f"the batch ended in {left_in or 'exec'}, not at {_CONFIG_MODE}")
        return tuple(transcript)

    def save(self, text: str = "") -> bool:
        """Copy the running to the startup configuration, answer the switch's question, and see that it was done."""
        del text  # the switch knows what it holds
        command = "copy running-config startup-config"
        yes = "Y" if Grammar.of(self._platform).code == "ros" else "y"
        self._write(f"{command}\n", command)
        allowance = self._allowance()
        if self._access.echo:
            self._until_echo(command, allowance)
        requested = re.compile(f"(?m:{self._prompt.pattern})|{_SAVE_QUESTION}", re.IGNORECASE)
        text, found = self._until(requested, command, allowance)
        if not self._prompt.match(found):
            self._write(f"{yes}\n", command)  # FASTPATH takes the one key; the Return is an empty command to it
            text, _ = self._until(self._prompt, command, self._allowance())
            self._settle()
        if not _SAVED.search(text) or _NOT_SAVED.search(text) or self._is_error(text):
            raise DeviceError(self.name, command, shown(text) or "the switch did not say that it saved")
        return True

    # The session

    def _log_in(self, wire: BaseConnection) -> None:
        self._introduce()
        wire.write_channel(wire.RETURN)
        wire.session_preparation()
        if self._platform.netmiko_driver == _NOT_ENABLED_BY and not wire.check_enable_mode():
            wire.enable()  # a user of level 15 is there already
        wire.ansi_escape_codes = False  # `_terminal` leaves them out from here on
        self._settle()
        if len(wire.base_prompt) > PROMPT_CHARACTERS:
            raise DeviceError(self.name, "login", f"a prompt of {len(wire.base_prompt)} characters")
        self._prompt = _prompt_of(wire.base_prompt)

    def _introduce(self) -> None:
        """Answer what the ROS family asks inside the session, each question not before it was asked.

        A password is given once. Some firmware asks for the name twice before it (netmiko, cisco_s300).
        """
        names, passwords = [self._access.user] * 2, [self._access.password]
        while True:
            _, found = self._until(_LOGIN_SAYS, "login", self._allowance(self._access.login_seconds))
            if _LOGGED_IN.search(found):
                return
            said = found.lower()
            answers = [] if "failed" in said or not passwords else passwords if "password" in said else names
            if not answers:
                raise DeviceError(self.name, "login", f"refused for user {self._access.user!r}")
            self._write(f"{answers.pop()}\n", "login")

    def _leave(self) -> None:
        self._leave_configuration()
        super()._leave()

    def _settle(self) -> None:
        """Forget what is printed yet and answers nothing we asked: prompts of empty commands."""
        if self._wire is not None:
            try:
                self._wire.clear_buffer()
            except _WIRE_ERRORS as error:
                raise self._lost("login", "the session was dropped") from error
        self._unread, self._terminal = "", TerminalText()

    def _leave_configuration(self) -> None:
        for _ in range(_SUBMODES_DEEP):
            if not self._mode:
                return
            self._exchange("exit")
        raise DeviceError(self.name, "exit", f"does not leave {self._mode}")

    # One line and its answer

    def _exchange(self, line: str) -> str:
        """Type a line, give what is printed up to the next prompt, without log lines and pagers."""
        self._write(f"{line}\n", line)
        allowance = self._allowance()
        if self._access.echo:
            self._until_echo(line, allowance)
        pieces: list[str] = []
        stop = re.compile(f"(?m:{self._prompt.pattern})|{_PAGER}")
        while True:
            text, found = self._until(stop, line, allowance)
            pieces.append(text)
            if prompt := self._prompt.match(found):
                self._mode = prompt[1] or ""
                break
            self._write(" ", line)  # old firmware without a way to turn paging off
        answer = "".join(pieces)
        if not self._access.echo:
            answer = answer.replace(line, "", 1)
        return printable(_ERASED.sub("", _LOG_LINE.sub("", answer)))

    def _check(self, line: str, answer: str) -> None:
        if self._is_error(answer):
            raise DeviceError(self.name, line, shown(answer))

    def _until_echo(self, line: str, allowance: Allowance) -> None:
        """Read past the echo of a line, which nothing but blanks may end.

        A pattern for each line would be plain, and take half the time of a push to compile.
        """
        text, self._unread = self._unread, ""
        while True:
            at = text.find(line)
            while at >= 0:
                if end := _ECHO_ENDS.match(text, at + len(line)):
                    self._unread = text[end.end() :]
                    return
                at = text.find(line, at + 1)
            # The line may have begun in what is kept, and blanks may follow it: all before that is no echo.
            text = text[max(0, len(text) - len(line) - _TAIL) :] + self._read_more(line, allowance)
