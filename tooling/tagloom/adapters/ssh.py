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
from netmiko.exceptions import NetmikoBaseException
from pydantic import TypeAdapter

from tagloom import platforms
from tagloom.adapters import scheduled_reload
from tagloom.adapters.channels import OnePiece
from tagloom.adapters.echoes import ERASED, SLACK, damaged, echo_end, is_shown
from tagloom.adapters.greeting import (
    LOG_BEGINS,
    LOG_LINE,
    PAGER,
    TAIL,
    VAGUE_PAGER,
    EnableGreeting,
    Greeting,
    holds_log,
    last_lines,
    last_of_answer,
    with_last_lines,
    without_log,
    without_whole_log,
)
from tagloom.adapters.host_variables import OTHERS
from tagloom.adapters.metered import Allowance, MeteredSocket, TerminalText
from tagloom.adapters.steady_clock import measure_by_steady_clock
from tagloom.errors import DeviceError, Finding, InputError
from tagloom.plain_text import printable
from tagloom.platforms.configuration_texts import what_is_missing
from tagloom.platforms.grammar import Grammar
from tagloom.platforms.secrets import secrets_in, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from netmiko import BaseConnection

    from tagloom.adapters.channels import Channel
    from tagloom.platforms import Platform

measure_by_steady_clock()

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
# No pattern below may match more than so many characters: what is further back has been searched for good.
_TAIL = 512
# Every repetition is bounded or cannot fail once begun: the time to search a text is a multiple of its length.
_SAVE_QUESTION = r"\(Y/N\)(?:\[[YN]\])? ?\??|\[Yes/press any key for no\]\.*|\[Y/N\]:?|\[[\w.-]{1,64}\.(?:zip|cfg)\]:"
_OF_FILE = re.compile(r"\[[\w.-]+\]:$")  # what to call it: as it is called
_ASKED = r"\[Y/N\]:?"  # behind a line, by families whose session `confirms`
_LENGTH = "modulus"  # of an RSA key, Comware and VRP
_LENGTH_QUESTION, _KEY_BITS = rf"{_LENGTH}(?: length)? ?\[default ?= ?\d{{1,5}}:?\] ?:?", "2048"
_SAVED = re.compile(r"(?<!un)succe(?:eded|ssful)|Configuration Saved", re.IGNORECASE)
_CONFIG_MODE, _SYSTEM_VIEW = "(config)", "[]"
_NOT_SAVED = re.compile(r"unsuccessful|not saved|copy.{0,80}fail", re.IGNORECASE)
_SUBMODES_DEEP = 4
_QUESTIONS = 3  # of one command
_ERASE = "\x08"
_LEAST_OF_NAME = 12  # characters of a long name that a prompt shows, at least
_NO_WORD = "zzqq"  # is refused by every command line, alone and behind any line of ours
# What makes answers come whole, as netmiko's drivers have it; a line that a firmware does not know is refused, no more.
_PAGING_OFF = {
    "dell_powerconnect": ("terminal datadump", "terminal length 0"),  # 34xx and 53xx; 55xx
    "cisco_s300": ("terminal width 511", "terminal datadump"),
    "dell_os6": ("terminal length 0",),
    "hp_comware": ("screen-length disable",),
    "huawei": ("screen-length 0 temporary",),
    "arista_eos": ("terminal width 511", "terminal length 0"),
}
# A console that has said what it waits for says no more for so long, where the inventory calls it fast and where not.
_FAST_SILENCE_SECONDS, _SILENCE_SECONDS = 0.05, 0.3
_ECHO_SECONDS = 1.0  # until more of what was typed is shown; ten times what a 5324 takes
_HELP_SECONDS = 5.0  # until some of it is shown
_NEWLINE = re.compile("\n")
_TYPINGS = 8  # of one line, of which the console loses characters
_TYPED_AT_ONCE = 8  # characters, once some were lost: a UART keeps 16
_ADVICE = "say tagloom_careful: true if it loses what is typed, tagloom_echo: false if it only shows it so"
_READINGS = 5  # of a configuration that log lines stand in
_BELLS = re.compile(r"^\a+", re.MULTILINE)  # before an error
_ANSWERS = TypeAdapter(dict[str, bool | str])
_ANSWERS_EXPECTED = "what to type by words of the console: {consent: y}"
_FLAG = TypeAdapter(bool)  # from a command line's key=value it comes as text

# Without a handler of its own, paramiko's tracebacks of every refused connection would reach standard error.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class _Questioned(paramiko.SSHClient):
    """A client that gives the password where the switch asks for it: keyboard-interactive, RFC 4256."""

    def _auth(self, username: str, password: str, *_others: Any) -> None:
        transport = self.get_transport()
        assert transport is not None  # noqa: S101 - it has just connected

        def answer(_title: str, _instructions: str, questions: Sequence[tuple[str, bool]]) -> list[str]:
            if len(questions) > 1 or any(shows for _, shows in questions):  # such as a code besides
                raise paramiko.SSHException(
                    f"SSH asks {len(questions)} questions; tagloom answers one, by the password"
                )
            return [password] * len(questions)

        transport.auth_interactive(username, answer)


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


_BEHIND = rf"(?=[ \t]{{0,8}}(?:$|{LOG_BEGINS}))"  # what stands behind a prompt: nothing, or a log line


def _prompt_of(*names: str, brackets: bool = False) -> re.Pattern[str]:
    """Return the prompt of a switch of one of some names: ``NAME(mode)#``; `brackets`: ``<NAME>``, ``[NAME-mode]``.

    A line of an answer may begin like the prompt: nothing but a log line stands behind the prompt itself. The group is
    the mode, with its parentheses, or without brackets and None where it is none. VRP of two stages marks that a change
    waits for its commit or may be made: ``[*NAME]``, ``[~NAME]``; the mode has the mark.
    """
    any_of = "|".join(map(re.escape, names))
    if brackets:
        inside = rf"<(?:{any_of})>|\[((?:[~*](?={any_of}))?)(?:{any_of})((?:-[^\]\n]{{0,64}})?)\]"
        return re.compile(rf"^\a{{0,4}}(?:{inside}){_BEHIND}", re.MULTILINE)
    return re.compile(rf"^\a{{0,4}}(?:{any_of})(\([^)\n]{{0,64}}\))?[#>]{_BEHIND}", re.MULTILINE)


def _console_answers(said: object) -> tuple[tuple[str, str], ...]:
    """Read the keys to type by words of a console; YAML's yes is y. Raises ValueError for what is no such mapping."""
    found = _ANSWERS.validate_json(said) if isinstance(said, str) else _ANSWERS.validate_python(said or {})
    if not all(words.strip() for words in found):
        raise ValueError("an answer to nothing")
    return tuple((words, "ny"[keys] if isinstance(keys, bool) else keys) for words, keys in found.items())


@dataclass(frozen=True, slots=True)
class Access:
    """How a switch is reached; secrets are kept out of its `repr`.

    key_file           the operator's private key, offered before the password; "" = none
    known_hosts        the OpenSSH file its host key must be in; "" = the user's own
    host_key_checking  false takes any key: only where the operator says so
    fast_cli           short silences at the login; a real 5324 needs the long ones
    echo               wait for each line's echo before its answer; off for a switch that garbles echoes
    console_answers    what to type at a console's questions, by words of its last lines: the operator's consent
    careful            press Return only where a line was echoed whole: for a console that loses what is typed
    become             what a Linux machine's commands run by, such as ``sudo -n``; "" = the user is root
    own_name           what the switch calls itself where that is the inventory's name of another; "" = not so
    others             the names of the inventory's other hosts
    save_to            the file of a Linux machine that its configuration is kept in; "" = a reboot forgets it
    login_seconds      how long the switch may take to answer at each step of a login
    answer_seconds     how long one line may take, its whole answer included; `vlan 2-4094` takes a 5500 minutes
    """

    host: str
    port: int = SSH_PORT
    user: str = ""
    password: str = field(default="", repr=False)
    enable_password: str = field(default="", repr=False)
    key_file: str = ""
    known_hosts: str = ""
    host_key_checking: bool = True
    fast_cli: bool = False
    echo: bool = True
    careful: bool = False
    console_answers: tuple[tuple[str, str], ...] = ()
    become: str = ""
    own_name: str = ""
    others: frozenset[str] = frozenset()
    save_to: str = ""
    login_seconds: float = LOGIN_SECONDS
    answer_seconds: float = ANSWER_SECONDS

    OUT_OF_BAND: ClassVar = "tagloom_out_of_band"  # whether no VLAN can cut the way to it
    VARIABLES: ClassVar = (
        *("inventory_hostname", "ansible_host", "ansible_port"),
        *("ansible_user", "ansible_password", "ansible_become_password", "ansible_ssh_private_key_file"),
        *("tagloom_known_hosts", "tagloom_host_key_checking", "tagloom_fast_cli", "tagloom_echo"),
        *("tagloom_careful", "tagloom_console_answers"),
        *("tagloom_login_seconds", "tagloom_answer_seconds", "tagloom_become", "tagloom_save_to"),
        "tagloom_own_name",
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
            key_file=str(say("ansible_ssh_private_key_file") or ""),
            known_hosts=str(say("tagloom_known_hosts") or ""),
            host_key_checking=flag("tagloom_host_key_checking", True),
            fast_cli=flag("tagloom_fast_cli", False),
            echo=flag("tagloom_echo", True),
            careful=flag("tagloom_careful", False),
            console_answers=read("tagloom_console_answers", {}, of=_console_answers, expected=_ANSWERS_EXPECTED),
            become=str(say("tagloom_become") or ""),
            own_name=str(say("tagloom_own_name") or ""),
            others=frozenset(map(str, say(OTHERS) or ())),
            save_to=str(say("tagloom_save_to") or ""),
            login_seconds=number("tagloom_login_seconds", LOGIN_SECONDS),
            answer_seconds=number("tagloom_answer_seconds", ANSWER_SECONDS),
        )
        if access.key_file and not Path(access.key_file).expanduser().is_file():
            where = f"{variables.get('inventory_hostname')}: ansible_ssh_private_key_file"
            wrong.append(Finding(where, "a private key", access.key_file))
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
        self._channel: Channel | None = None
        self._batch_ends = math.inf
        self._unread = ""
        self._identity = ""  # what the switch has said of itself since the login
        self._terminal = TerminalText()
        self._logged = False  # whether a log line stood in the last answer, or in its echo
        self._echoing = True  # whether what is said may still be the echo of what was typed
        self._said, self._said_characters = "", 0  # the end of what was said since keys were last typed, and its size

    def __enter__(self) -> Self:
        """Log in, and make the session ready for commands."""
        self.sent = []
        if self.is_open:
            if self._socket is not None:
                self._socket.allow(SESSION_BYTES)
            return self
        self._hang_up()
        self._identity = ""
        try:
            self._open()
            self._unread, self._terminal = "", TerminalText()
            self._forget()
            self._log_in()
            if self._socket is not None:
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

    def _open(self) -> None:
        """Connect to the switch by SSH, and make `_channel` of that.

        Where netmiko's driver gives SSH no password, since the console asks for it, the switch may want it all the
        same: ``ip ssh password-auth`` of ROS. One that takes the password as the answer to a question alone, and hangs
        up where a second method is tried, is connected to again.
        """
        client: type[paramiko.SSHClient] | None = None
        while True:
            try:
                self._connect(client)
            except NetmikoAuthenticationException as error:
                refused = error.__context__
                if not isinstance(refused, paramiko.BadAuthenticationType) or client is _Questioned:
                    raise
                client = _Questioned if "password" not in refused.allowed_types else paramiko.SSHClient
                self._hang_up()
            else:
                return

    def _connect(self, client: type[paramiko.SSHClient] | None = None) -> None:
        access = self._access
        keys = self._platform.netmiko_driver == "linux" and not access.password
        login_seconds = LOGIN_ROUNDS * access.login_seconds
        self._socket = MeteredSocket((access.host, access.port), login_seconds, LOGIN_BYTES)
        self._wire = ConnectHandler(
            device_type=self._platform.netmiko_driver,
            host=access.host,
            port=access.port,
            username=access.user,
            password=access.password,
            use_keys=keys or bool(access.key_file),
            key_file=access.key_file or None,
            allow_agent=keys,
            conn_timeout=access.login_seconds,
            banner_timeout=access.login_seconds,
            auth_timeout=access.login_seconds,
            sock=self._socket,
            auto_connect=False,
            ssh_strict=access.host_key_checking,  # netmiko takes any host key unless it is told not to
        )
        if client is not None:
            self._wire._get_ssh_client_instance = client  # type: ignore[method-assign]  # noqa: SLF001 - its seam
        if access.host_key_checking:
            _introduce_host(self._wire, access)
        # netmiko's own dialog presses Return where a switch is slow, after the name too: that is a wrong password.
        self._wire.special_login_handler = lambda *_, **__: None  # type: ignore[method-assign]
        self._wire.establish_connection()
        channel = OnePiece(cast("Any", self._wire.remote_conn), self._wire.encoding)
        channel.heard = self.heard
        self._channel = channel

    def __exit__(self, *error: object) -> None:
        """Leave what a lost batch stood in, and log out; one that is kept stays where nothing failed."""
        if self.kept and not any(error) and self.is_open:
            return
        with contextlib.suppress(DeviceError):
            if self._channel is not None:
                self._leave()
        self._hang_up()

    @property
    def is_open(self) -> bool:
        """Return whether it is logged in and nobody has hung up, as far as this end knows."""
        return self._channel is not None and self._channel.is_open

    def identity(self) -> str:
        """Return what the switch says of itself, asked once in a login: another one would have ended the session."""
        self._identity = self._identity or self._ask_identity()
        return self._identity

    def _ask_identity(self) -> str:
        raise NotImplementedError

    def still_answers(self) -> None:
        """Have a word with the switch, which keeps it from ending the session. Raises DeviceError."""
        raise NotImplementedError

    def batch_seconds(self, lines: int) -> float:
        """Return how long so many lines, a look at what they did and a save may take at most."""
        return (lines + 3) * self._access.answer_seconds

    def why_no_reload(self) -> str:
        """Return why the switch is not told to reload at a set time, "" where it can be."""
        return self._platform.why_no_reload

    def schedule_reload(self, minutes: int) -> str:
        """Make the switch reload from what it saved, in so many minutes; return why it will not, "" where it will."""
        del minutes
        return self.why_no_reload()

    def call_off_reload(self) -> None:
        """Call off the reload that is scheduled; nothing where none ever is."""

    def _log_in(self) -> None:
        raise NotImplementedError

    def _leave(self) -> None:
        self._write("exit\n", "exit")

    def _why_no_login(self, error: Exception) -> str:
        access, cause = self._access, error.__context__ or error
        if self._socket is not None and self._socket.why:
            return self._socket.why
        if isinstance(cause, paramiko.BadHostKeyException):
            known, path = known_name(access.host, access.port), access.known_hosts or "~/.ssh/known_hosts"
            return (
                f"the host key of {access.host}:{access.port} is not the one in known_hosts; where a new box is in its "
                f"place: tagloom replace {self.name} --new-key; where you have made a new key: ssh-keygen -R '{known}' "
                f"-f {path}, then tagloom bootstrap"
            )
        if "not found in known_hosts" in str(cause):
            port = "" if access.port == SSH_PORT else f"-p {access.port} "
            return (
                f"host key of {known_name(access.host, access.port)} not found in known_hosts. Add it: "
                f"ssh-keyscan {port}{access.host} >> {access.known_hosts or '~/.ssh/known_hosts'}; "
                "then compare its fingerprint with the one at the switch's console"
            )
        if isinstance(error, NetmikoAuthenticationException) and "timeout" not in str(cause):
            return f"refused for user {access.user!r}"
        if "Illegal info request" in str(cause):  # RFC 4252 section 8: SSH_MSG_USERAUTH_PASSWD_CHANGEREQ
            return f"it wants another password of user {access.user!r}: log in once and set it"
        if isinstance(cause, OSError):
            return f"cannot reach {access.host}:{access.port} ({cause.strerror or cause})"
        return shown(next(iter(str(cause).strip().splitlines()), type(cause).__name__))

    def _hang_up(self) -> None:
        if self._wire is not None:
            with contextlib.suppress(Exception):  # nothing that fails on the way out changes what was done
                self._wire.paramiko_cleanup()
        self._wire = self._channel = None
        if self._socket is not None:
            self._socket.close()

    def _write(self, text: str, command: str) -> None:
        if self._channel is None:
            raise DeviceError(self.name, command, "no session")
        if command != "login":
            self._forget()
            self._echoing = True
        try:
            self._channel.write_channel(text)
        except _WIRE_ERRORS as error:
            raise self._lost(command, "the session was dropped") from error

    def _allowance(self, seconds: float = 0.0) -> Allowance:
        """Return what the next answer may cost."""
        limit = seconds or self._access.answer_seconds
        return Allowance(min(limit, max(0.0, self._batch_ends - time.monotonic())), ANSWER_BYTES)

    def _until(
        self, pattern: re.Pattern[str], command: str, allowance: Allowance, waits: re.Pattern[str] | None = None
    ) -> tuple[str, str]:
        """Read until `pattern`, or until `waits` ends what has come and nothing comes behind it for a while.

        Return the text before the match, and the match; what comes after it is kept. Every character is searched a
        bounded number of times, in whatever pieces it comes: what stands before the last line, and before the last
        `_TAIL` characters of that, is not searched again.
        """
        text, self._unread, searched = self._unread, "", 0
        while not (match := pattern.search(text, searched)):
            searched = max(text.rfind("\n") + 1, len(text) - _TAIL)
            waiting = waits.search(text, max(0, len(text) - TAIL)) if waits is not None else None
            began = time.monotonic()
            more = self._read_more(command, allowance, _SILENCE_SECONDS if waiting else math.inf)
            if waiting and not more and time.monotonic() - began >= _SILENCE_SECONDS:
                match = waiting
                break
            text += more
        self._unread = text[match.end() :]
        return text[: match.start()], match[0]

    def _until_still(
        self, waits: re.Pattern[str], allowance: Allowance, is_clear: Callable[[str], bool] = lambda _: False
    ) -> str:
        """Read until what has come ends with `waits`, nothing comes behind it for a while, and return all of it.

        What the switch writes into its log meanwhile is left out.
        """
        silence = _FAST_SILENCE_SECONDS if self._access.fast_cli else _SILENCE_SECONDS
        text, self._unread, since = self._unread, "", time.monotonic()
        while True:
            said = without_log(text[-2 * TAIL :])
            still = silence if waits.search(said, max(0, len(said) - TAIL)) else math.inf
            if still == silence and is_clear(said):
                return without_log(text)
            if more := self._read_more("login", allowance, since + still - time.monotonic()):
                text, since = text + more, time.monotonic()
            elif time.monotonic() - since >= still:
                return without_log(text)

    def _until_quiet(self, command: str, allowance: Allowance, seconds: float) -> str:
        """Return all that comes until nothing comes for so long."""
        text, until = "", time.monotonic() + seconds
        while time.monotonic() < until:
            if more := self._read_more(command, allowance, until - time.monotonic()):
                text, until = text + more, time.monotonic() + seconds
        return text

    def _read_more(self, command: str, allowance: Allowance, at_most: float = math.inf) -> str:
        """Return what the switch has said by now, or wait until it says something, so many seconds at most.

        Raises DeviceError where it has hung up, or takes longer or says more than it is allowed. What has come by the
        deadline is returned all the same, once: whoever looks late has not been answered late.
        """
        if self._channel is None:
            raise DeviceError(self.name, command, "no session")
        try:
            data = self._channel.read_bytes()
        except _WIRE_ERRORS as error:
            raise self._lost(command, "the session was dropped") from error
        left = allowance.deadline - time.monotonic()
        if left < 0 and (not data or allowance.over):
            raise self._lost(command, f"no answer in {allowance.seconds:.0f} s")
        allowance.over = left < 0
        allowance.left -= len(data)
        if allowance.left < 0:
            raise self._lost(command, f"an answer of more than {allowance.limit:,} bytes")
        if not data:
            self._channel.wait(min(left, at_most))
        text = self._terminal.feed(data)
        self._remember(text)
        return text

    def _remember(self, text: str) -> None:
        self._said, self._said_characters = (self._said + text)[-4 * TAIL :], self._said_characters + len(text)

    def _forget(self, unread: str = "") -> None:
        """Remember what is said from here on, beginning with what has come and was not read."""
        self._said, self._said_characters = "", 0
        self._remember(unread)

    def _settled(self, command: str, read: Callable[[], str]) -> str:
        """Read a configuration until no log line stands in it, or two readings agree. Raises DeviceError."""
        before = [""]
        for _ in range(_READINGS):
            text = read()
            lines = [line for line in text.split("\n") if line.strip() and line[0] not in "!#"]  # such as the time
            if not self._logged or (lines == before and not holds_log(text)):
                return text
            before = lines
        why = f"log lines break each of {_READINGS} readings, which differ; turn off the log in sessions"
        raise DeviceError(self.name, command, why)

    def refuse_part(self, command: str, text: str, missing: str) -> None:
        """Raise DeviceError where a configuration lacks what a whole one has: `missing`, "" = nothing."""
        if missing:
            why = f"no whole configuration, which has {missing}: {shown(text) or 'an empty answer'}"
            raise DeviceError(self.name, command, why)

    def refuse_another(self, command: str, called: Sequence[str]) -> None:
        """Raise DeviceError where all that a switch calls itself is the name of another of the inventory.

        Their addresses may be swapped, and each would be sent what is the other's.
        """
        others = {name.lower(): name for name in self._access.others}
        own = {self.name.lower(), self._access.own_name.lower()}
        found = {said: {said.lower(), said.lower().partition(".")[0]} for said in called}
        if not found or any(own & each for each in found.values()):
            return
        said, each = found.popitem()
        if other := next((others[name] for name in sorted(each) if name in others), ""):
            why = f"calls itself {said}, the name of another switch: is this the address, or the console, of {other}?"
            raise DeviceError(self.name, command, f"{why} (if not: tagloom_own_name: {said} for {self.name})")

    def _lost(self, command: str, how: str) -> DeviceError:
        """Hang up, and return the error, which shows the console's last lines: they may be a question."""
        why = self._socket.why if self._socket is not None else ""
        how = with_last_lines(how, self._last_lines(command))
        self._hang_up()  # so that nobody waits for this session a second time
        return DeviceError(self.name, command, why or how)

    def _last_lines(self, command: str) -> str:
        """Return the last lines of what was said since keys were typed, without secrets, "" for none to be shown."""
        secrets = self._access.password, self._access.enable_password
        if command == "login":
            return last_lines(self._said, *secrets)
        own = secrets_in(command)
        if own and self._echoing:  # a narrow screen breaks what it shows
            return ""
        last = last_of_answer(self._said, self._said_characters, *secrets, *own)
        return "" if last == " ".join(command.split()) else last  # no more than the echo


class SshSwitch(Session):
    """Speak to a switch with a command line of modes: privileged exec, configuration, and its sub-modes.

    netmiko brings the connection, the login dialogs, `enable` and the paging commands. The conversation after that
    is ours, because netmiko does not notice sub-modes, waits its whole time-out after a session has been cut, and
    spends seconds of silence on every change of mode.
    """

    def __init__(self, name: str, platform: Platform, access: Access) -> None:
        super().__init__(name, platform, access)
        self._is_error, self._words = Grammar.of(platform).is_error, Grammar.of(platform).session
        self._host = ""  # what the prompt begins with
        self._careful = access.careful
        self._log_in_echo = False
        self._lossy = False  # whether it has lost characters that came at once
        self._prompt = re.compile("")
        self._mode = ""  # what the last prompt had between its parentheses, with them; "" = privileged exec

    def _ask_identity(self) -> str:
        """Return the pages in which it says what it is, of those that it has."""
        pages = [self._exchange(page) for page in self._words.versions]
        return "\n".join(page for page in pages if not self._is_error(page))

    def still_answers(self) -> None:
        """Ask what time it is; a switch that has no clock says so, which is as good."""
        self._exchange(self._words.clock)

    def running_configuration(self) -> str:
        """Return the running configuration as the switch shows it, secrets and all.

        A log line may break or replace a line of it: it is read until none comes, or two readings agree. An answer that
        is no configuration is an error of the switch: read as one, it would be that of a switch from its factory.
        """
        command = self._words.running

        def read() -> str:
            text = self._exchange(command)
            self._check(command, text)
            self.refuse_part(command, text, what_is_missing(text, Grammar.of(self._platform)))
            self._see_end(command)
            named = re.findall(rf"^{self._words.names_host} [\"']?([\w.-]+)[\"']?[ \t]*$", text, re.MULTILINE)
            self.refuse_another(command, named)
            return text.strip("\n") + "\n"

        return self._settled(command, read)

    def _see_end(self, command: str) -> None:
        """See that a configuration has ended where its prompt came, and not in a banner that looks like one."""
        if not self._access.echo:
            return
        self._unread += self._until_quiet(command, self._allowance(), _FAST_SILENCE_SECONDS)
        behind = self._prompt.sub("", without_log(self._unread))
        if behind.strip():
            raise DeviceError(self.name, command, "one of its lines is like the prompt, and others follow: rename one")

    def address_table(self) -> str:
        """Return the page of addresses that the switch has learnt or been told."""
        command = Grammar.of(self._platform).shows_addresses
        text = self._exchange(command)
        self._check(command, text)
        return text

    def is_error(self, text: str) -> bool:
        """Return whether an answer reports an error."""
        return self._is_error(text)

    @property
    def mode(self) -> str:
        """Return what the last prompt had between its parentheses, with them; "" in privileged exec."""
        return self._mode

    def ask(self, line: str) -> str:
        """Return the answer to a line, an error among them. The line must be one that changes nothing."""
        return self._exchange(line)

    def erases(self) -> bool:
        """Return whether Backspace takes back what was typed: only then `help` may be asked for at lines that act."""
        allowance = self._allowance()
        clock = self._words.clock
        self._write_paced(f"{clock}{_ERASE * len(clock)}{_NO_WORD}\n", "Backspace", allowance)
        while True:
            text = self._until(self._prompt, "Backspace", allowance)[0]
            if _NO_WORD in text or not self._access.echo:  # else it is a prompt of before
                break
        said = without_log(text)
        return self._is_error(said) and not re.search(r"\d\d:\d\d", said)

    def help(self, typed: str) -> str:
        """Return what the switch says where a `?` is typed behind a line begun, which is never sent.

        The line is taken back; a word that no switch knows is sent in its place, so that it would be refused even where
        it was not.
        """
        what = f"{typed}?"
        if not self._access.echo:
            self._write(typed, what)
        elif typed:
            self._put(typed, self._allowance())
        self._unread = ""  # what is shown from here on is the help
        self._question_mark(what)
        again = re.compile(rf"^{self._any_prompt}[ \t]{{0,8}}{re.escape(typed.strip())}{_BEHIND}", re.MULTILINE)
        allowance, pieces = self._allowance(), []
        stop = re.compile(f"{again.pattern}|{PAGER}", re.MULTILINE)
        while True:
            text, found = self._until(stop, what, allowance, VAGUE_PAGER)
            pieces.append(text)
            if again.match(found):
                break
            self._write(" ", what)
        self._take_back(typed, what, self._allowance())
        said = ERASED.sub("", LOG_LINE.sub("", "".join(pieces)))
        echo, _, rest = said.lstrip(" ").partition("\n")
        return printable(rest if echo.rstrip() in (what, "?") else said)

    def _question_mark(self, what: str) -> None:
        """Type a `?`; at a console that may lose what is typed, again where no line is shown for it."""
        for _ in range(_TYPINGS if self._careful else 1):
            self._write("?", what)
            if self._careful and self._comes(_NEWLINE, what):
                return

    @property
    def _any_prompt(self) -> str:
        return self._prompt.pattern.removeprefix("^").removesuffix(_BEHIND)

    def startup_configuration(self) -> str | None:
        """Return the startup configuration as the switch shows it, "" where it has none or does not show it."""
        text = self._exchange(self._words.startup)
        return "" if self._is_error(text) else text.strip("\n") + "\n"

    def send(self, lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Enter configuration, send the lines one by one, return to privileged exec; return (line, answer) pairs.

        `lines` begin and end at ``(config)#``. The first line that is refused ends the batch.
        """
        if not lines:
            return ()
        self._batch_ends = time.monotonic() + self._batch_seconds(len(lines))
        try:
            return self._send(lines)
        finally:
            self._batch_ends = math.inf

    def _send(self, lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
        transcript: list[tuple[str, str]] = []
        enters, config = self._words.configure, _SYSTEM_VIEW if self._words.brackets else _CONFIG_MODE
        said = self._exchange(enters)
        self._check(enters, said)
        if self._mode != config:
            why = f"the prompt is not that of {config} afterwards"
            if self._mode[1:] in ("~]", "*]"):
                why = f"its lines wait for a commit (prompt {self._mode[:2]}{self._host}]), which tagloom doesn't type"
            raise DeviceError(self.name, enters, with_last_lines(why, shown(said)))
        for line in lines:
            self.before_line(line)
            self._follow_name(line)
            answer = self._exchange(line, agrees=self._words.confirms)
            if self._is_error(answer):
                with contextlib.suppress(DeviceError):
                    self._leave_configuration()
            self._check(line, answer)
            self.sent.append(line)
            transcript.append((line, answer))
        left_in = self._mode
        self._leave_configuration()
        if left_in != config:
            raise DeviceError(self.name, lines[-1], f"the batch ended in {left_in or 'exec'}, not at {config}")
        return tuple(transcript)

    def _follow_name(self, line: str) -> None:
        """Know the prompt that answers a line which names the switch; some show the beginning of a long name alone."""
        first, _, named = line.partition(" ")
        if first == self._words.names_host:
            name = named.strip().strip("\"'")
            cut = (name[:size] for size in range(len(name), min(len(name), _LEAST_OF_NAME) - 1, -1))
            self._prompt = _prompt_of(self._host, *cut, brackets=self._words.brackets)

    def save(self, text: str = "") -> bool:
        """Copy the running to the startup configuration, answer the switch's question, and see that it was done."""
        del text  # the switch knows what it holds
        command = self._words.save
        said = self.agree(command)
        if not _SAVED.search(said) or _NOT_SAVED.search(said) or self._is_error(said):
            raise DeviceError(self.name, command, shown(said) or "the switch did not say that it saved")
        return True

    def agree(self, command: str) -> str:
        """Type a command, say yes where the switch asks, and return what it answers."""
        yes = "Y" if Grammar.of(self._platform).code == "ros" else "y"
        allowance = self._type(command)
        requested = re.compile(f"(?m:{self._prompt.pattern})|{_SAVE_QUESTION}|{_LENGTH_QUESTION}", re.IGNORECASE)
        text, found = self._until(requested, command, allowance)
        for _ in range(_QUESTIONS):  # such as whether to lose what is not saved
            if self._prompt.match(found):
                break
            says = _KEY_BITS if found.startswith(_LENGTH) else "" if _OF_FILE.match(found) else yes
            self._write(f"{says}\n", command)  # FASTPATH takes the one key; the Return is an empty command to it
            text, found = self._until(requested, command, self._allowance())
            if self._prompt.match(found) and not self._access.echo:
                self._settle(command)
        prompt = self._prompt.match(found)
        if prompt is None:
            asks = last_of_answer(f"{text}{found}", len(text) + len(found), *secrets_in(command))
            raise DeviceError(self.name, command, with_last_lines(f"asks more than {_QUESTIONS} questions", asks))
        self._mode = self._mode_of(prompt)
        return text

    def batch_seconds(self, lines: int) -> float:
        """Return how long so many lines, a look at what they did and a save may take at most."""
        return self._batch_seconds(lines) + 3 * self._access.answer_seconds

    def _batch_seconds(self, lines: int) -> float:
        return 2 * self._access.answer_seconds + LINE_SECONDS * lines

    def why_no_reload(self) -> str:
        """Return why the switch is not told to reload at a set time, "" where it can be."""
        words = Grammar.of(self._platform).scheduled_reload
        return super().why_no_reload() if words is None else scheduled_reload.why_not(self, words)

    def schedule_reload(self, minutes: int) -> str:
        """Make the switch reload from what it saved, in so many minutes; return why it will not, "" where it will."""
        words = Grammar.of(self._platform).scheduled_reload
        return super().schedule_reload(minutes) if words is None else scheduled_reload.schedule(self, words, minutes)

    def call_off_reload(self) -> None:
        """Call off the reload that is scheduled, if one is, and see that none is left."""
        self._leave_configuration()
        if (words := Grammar.of(self._platform).scheduled_reload) is not None:
            scheduled_reload.call_off(self, words)

    # The session

    def _log_in(self) -> None:
        """Reach privileged exec: whatever the console asks, shows and waits for before, and see that no pager stops it.

        netmiko takes any line of a banner that ends like a prompt for the prompt, and asks for no name inside SSH.
        """
        access = self._access
        self._careful, self._lossy = access.careful, False
        greeting = self._greet(self._greeting())
        if len(greeting.name) > PROMPT_CHARACTERS:
            raise DeviceError(self.name, "login", f"a prompt of {len(greeting.name)} characters")
        brackets = self._words.brackets
        self._host = greeting.name.removeprefix("<") if brackets else greeting.name
        self.refuse_another("login", [self._host])
        self._prompt, self._mode = _prompt_of(self._host, brackets=brackets), greeting.mode
        self._leave_configuration()
        if greeting.sign == ">" and self._words.enable:
            self._write("enable\n", "enable")
            group = platforms.group_of(self._platform.model)
            self._greet(EnableGreeting(self.name, access.enable_password, greeting.name, group))
        for line in _PAGING_OFF.get(self._platform.netmiko_driver, ()):
            if access.echo:  # these lines show whether characters are lost, before it matters
                self._careful |= self._type_carefully(line, self._allowance())
                self._until(self._prompt, line, self._allowance())
            else:
                self._exchange(line)

    def _greeting(self) -> Greeting:
        tries = 2 if self._careful else 1  # a password is not shown, so that what was lost of it is not seen
        access = self._access
        return Greeting(self.name, access.user, access.password, tries=tries, answers=access.console_answers)

    def _greet(self, greeting: Greeting) -> Greeting:
        """Answer what the console says until it is at its prompt."""
        while True:
            said = self._until_still(greeting.waits, self._allowance(self._access.login_seconds), greeting.is_clear)
            keys = greeting.answer(said)
            if keys is None:
                return greeting
            self._write(keys, "login")

    def _leave(self) -> None:
        self._leave_configuration()
        self._write(f"{self._words.leave}\n", self._words.leave)

    def _settle(self, command: str) -> None:
        """Forget what is printed yet: where nothing is echoed, the prompt of an empty command is like the next one."""
        self._until_quiet(command, self._allowance(), _SILENCE_SECONDS)
        self._unread = ""

    def _leave_configuration(self) -> None:
        said = ""
        for _ in range(_SUBMODES_DEEP):
            if not self._mode:
                return
            said = self._exchange(self._words.leave)
        raise DeviceError(self.name, self._words.leave, with_last_lines(f"does not leave {self._mode}", shown(said)))

    # One line and its answer

    def _exchange(self, line: str, *, agrees: bool = False) -> str:
        """Type a line, give what is printed up to the next prompt, without log lines and pagers.

        One that `agrees` says yes where the switch asks whether to go on.
        """
        allowance = self._type(line)
        pieces: list[str] = []
        question = f"|{_ASKED}" if agrees else ""
        stop = re.compile(f"{self._prompt.pattern}|{PAGER}{question}", re.MULTILINE)
        while True:
            text, found = self._until(stop, line, allowance, VAGUE_PAGER)
            pieces.append(text)
            if prompt := self._prompt.match(found):
                self._mode = self._mode_of(prompt)
                break
            if question and re.fullmatch(_ASKED, found):
                self._write("y\n", line)
                continue
            self._write(" ", line)  # old firmware without a way to turn paging off
        answer = "".join(pieces)
        self._logged = self._log_in_echo or holds_log(answer)
        if not self._access.echo:
            answer = answer.replace(line, "", 1)
        return printable(_BELLS.sub("", ERASED.sub("", LOG_LINE.sub("", answer))))

    def _mode_of(self, prompt: re.Match[str]) -> str:
        """Return what a prompt says of where the session stands, "" for where nothing can be configured."""
        if self._words.brackets:
            return "" if prompt[1] is None else f"[{prompt[1]}{prompt[2]}]"
        mode = prompt[1] or ""
        return mode.lower() if mode.lower() == _CONFIG_MODE else mode  # FASTPATH's own: (Config)

    def _check(self, line: str, answer: str) -> None:
        if self._is_error(answer):
            raise DeviceError(self.name, line, shown(answer))

    def _type(self, line: str) -> Allowance:
        """Type a line and its Return, read past its echo, and return what is left for its answer."""
        allowance, self._log_in_echo = self._allowance(), False
        if not self._access.echo:
            self._write(f"{line}\n", line)
        elif self._careful:
            self._type_carefully(line, allowance)
        else:
            self._write(f"{line}\n", line)
            self._until_echo(line, allowance)
        if self._access.echo:
            self._forget(self._unread)
            self._echoing = False
        return allowance

    def _until_echo(self, line: str, allowance: Allowance) -> None:
        """Read past the echo of a line. Raises DeviceError where another was echoed, which it hopes was refused."""
        text, self._unread, instead = self._unread, "", ""
        while True:
            if (end := echo_end(text, line)) >= 0:
                self._unread = text[end:]
                return
            if "\n" in text:
                found, behind = damaged(text, line)
                instead = instead or found
                if instead and self._prompt.search(text, behind):
                    what = "otherwise, which may be a secret" if secrets_in(line) else f"as {shown(instead)}"
                    raise self._lost(line, f"was shown {what}; {_ADVICE}")
            # The line may have begun in what is kept, and blanks may follow it: all before that is no echo.
            kept = text[max(0, len(text) - 2 * len(line) - SLACK) :]
            came = kept + self._read_more(line, allowance)
            text = without_whole_log(came)
            self._log_in_echo |= text != came

    def _type_carefully(self, line: str, allowance: Allowance) -> bool:
        """Press Return where a line is shown whole; return whether some of it was lost on the way."""
        lost = self._put(line, allowance)
        self._write("\n", line)
        self._until_echo(line, allowance)
        return lost

    def _put(self, line: str, allowance: Allowance) -> bool:
        """Type a line, without Return, until it is shown whole; return whether some of it was lost on the way.

        What is shown otherwise is taken back, and a word that no switch knows sent in its place. A screen that shows
        nothing before Return is taken as it is.
        """
        for typing in range(_TYPINGS):
            step = _TYPED_AT_ONCE if typing or self._lossy else len(line)
            text, self._unread, whole = self._unread, "", True
            for at in range(0, len(line), step):
                self._write(line[at : at + step], line)
                text, whole = self._until_shown(text, line[: at + step], allowance)
                if not whole:
                    break
            if whole or not text.strip():
                self._unread = text
                return typing > 0
            self._lossy = True
            self._take_back(line, line, allowance)
        raise self._lost(line, f"was never shown whole, {_TYPINGS} times; {_ADVICE}")

    def _take_back(self, line: str, command: str, allowance: Allowance) -> None:
        """Take back a line begun: erase it, and send a word that no switch knows in its place.

        A busy console reads keys at once that were sent one after the other, so one that loses characters may lose the
        Return, too. If no prompt comes, type all of it again.
        """
        for _ in range(_TYPINGS if self._lossy else 1):
            self._write_paced(f"{_ERASE * len(line)}{_NO_WORD}\n", command, allowance)
            if self._lossy and self._comes(self._prompt, command):
                break
        self._until(self._prompt, command, allowance)

    def _comes(self, pattern: re.Pattern[str], command: str) -> bool:
        """Read for _HELP_SECONDS at most; return whether `pattern` is in what has come. All of it stays unread."""
        until = time.monotonic() + _HELP_SECONDS
        while not (found := bool(pattern.search(self._unread))) and time.monotonic() < until:
            self._unread += self._read_more(command, self._allowance(), until - time.monotonic())
        return found

    def _write_paced(self, keys: str, command: str, allowance: Allowance) -> None:
        """Type keys of which not all are shown; where those that come at once are lost, a few at a time."""
        step = _TYPED_AT_ONCE if self._lossy else len(keys)
        for at in range(0, len(keys), step):
            self._write(keys[at : at + step], command)
            if at + step < len(keys):
                self._unread += self._until_quiet(command, allowance, _FAST_SILENCE_SECONDS)

    def _until_shown(self, text: str, typed: str, allowance: Allowance) -> tuple[str, bool]:
        """Read until what was typed is shown, for as long as more comes; return the screen, and whether it is."""
        until = time.monotonic() + (_ECHO_SECONDS if self._careful else _SILENCE_SECONDS)
        while not is_shown(text, typed):
            if more := self._read_more(typed, allowance, until - time.monotonic()):
                text = without_whole_log(text + more)[-2 * len(typed) - SLACK :]
                until = time.monotonic() + _ECHO_SECONDS
            elif time.monotonic() >= until:
                return text, False
        return text, True
