"""Be one virtual switch: its running and startup configuration, the lines that are none of ours, and its quirks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

from tagloom.errors import Finding, InputError
from tagloom.lab import comware_pages, huawei_pages, linux_pages, routeros_pages, routeros_system
from tagloom.lab.faults import Faults
from tagloom.lab.linux_system import LinuxSystem
from tagloom.platforms import iproute2, routeros
from tagloom.platforms.factory import factory
from tagloom.platforms.grammar import Context, ContextKind, Grammar
from tagloom.records.switch_state import PortMode, SwitchEditor

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from tagloom.lab.faults import Fault
    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchState
    from tagloom.records.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Quirks:
    """How a switch misbehaves; all of it by count and pattern, none by chance.

    delay_seconds  pause before every command is taken
    refuse_login   no password is right
    reject_line    a regular expression; configuration lines it finds are answered with the family's error
    ignore_line    a regular expression; configuration lines it finds are answered as done, and are not
    drop_after     the session that sends this many commands is cut before the last is answered, once; 0 = never
    raw            prompts with the control bytes of a 5500
    locked         `configure` is always refused: another application holds the configuration database
    exclusive      `configure` is refused while another session is in it
    mute           its SNMP agent answers nothing
    keeps_factory  the user of the factory stays when others are made, until `no username` names it
    printed        the password of the factory's user where it is printed on the box: as it leaves its factory
    hide           a regular expression; objects whose identifiers it finds are not there for SNMP
    """

    delay_seconds: float = 0.0
    refuse_login: bool = False
    reject_line: str = ""
    ignore_line: str = ""
    drop_after: int = 0
    raw: bool = False
    locked: bool = False
    exclusive: bool = False
    mute: bool = False
    keeps_factory: bool = False
    printed: str = ""
    hide: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str = "quirks") -> Quirks:
        """Read quirks from plain values. Raises InputError on unknown names, wrong types or patterns."""
        kinds: dict[str, type] = {f.name: type(f.default) for f in fields(cls)}
        findings: list[Finding] = []
        for name, value in values.items():
            kind = kinds.get(name)
            if kind is None:
                findings.append(Finding(f"{where}.{name}", "one of " + ", ".join(kinds), repr(name)))
            elif not isinstance(value, (int, float) if kind is float else kind) or (
                isinstance(value, bool) and kind is not bool
            ):
                findings.append(Finding(f"{where}.{name}", kind.__name__, repr(value)))
            elif isinstance(value, str):
                try:
                    re.compile(value)
                except re.error as error:
                    findings.append(Finding(f"{where}.{name}", "a regular expression", f"{value!r} ({error})"))
        if findings:
            raise InputError(findings)
        return cls(**values)


USER_KEYS = "crypto key pubkey-chain ssh"  # the block of users' keys
# Lines of which a later one replaces an earlier one.
_SINGLE = re.compile(r"hostname|sysname|description|mtu|ip address|enable password|username \S+")


@dataclass(slots=True)
class UnmanagedConfig:
    """Configuration that is not tagloom's, as typed: lines by the block they stand in, "" being global.

    `from_factory` says that nobody has configured the switch since it left its factory: who may log in is then what
    these lines say, and not the rack's own user.
    """

    blocks: dict[str, list[str]] = field(default_factory=dict)
    from_factory: bool = False

    def copy(self) -> UnmanagedConfig:
        """Return a copy that changes on its own."""
        return UnmanagedConfig({header: list(lines) for header, lines in self.blocks.items()}, self.from_factory)

    def take(self, header: str, line: str) -> None:
        """Keep a typed line, or remove what its `no` form names."""
        words = " ".join(line.split())
        bare = words.removeprefix("no ").removeprefix("undo ")
        lines = self.blocks.setdefault(header, [])
        single = _SINGLE.match(bare)
        if words != bare or single:
            stem = single[0] if single else bare
            lines[:] = [old for old in lines if not f"{old} ".startswith(f"{stem} ")]
        if words == bare and words not in lines and words != "configure":
            lines.append(words)
        if not lines:
            del self.blocks[header]

    def shown(self, leave: str = "exit") -> str:
        """Return the lines as a running configuration shows them: blocks first, each left by a word, then others."""
        parts = [
            "\n".join([header, *lines, leave, *([leave] if header == USER_KEYS else [])])
            for header, lines in sorted(self.blocks.items())
            if header and lines
        ]
        return "\n".join([*parts, *self.blocks.get("", [])]) + "\n"

    @classmethod
    def born(cls, name: str, number: int, platform: Platform, used_ports: Collection[int]) -> UnmanagedConfig:
        """Return what the plant's people had on switch `number` (from 0) before tagloom came.

        The encrypted password is thirty-two digits of nothing; addresses are of TEST-NET-1 (RFC 5737).
        """
        if not platform.has_modes:  # what else such a machine does is not in its bridge
            return cls({"": [f"hostname {name}"]})
        address = f"ip address 192.0.2.{number % 250 + 1} 255.255.255.0"
        users = f"username plant password {number:032x} level 15 encrypted"
        everywhere = [users, "snmp-server community watchtower ro", "logging 192.0.2.254", f"hostname {name}"]
        grammar = Grammar.of(platform)
        if grammar.code in _DISPLAYS:
            return cls(_born_with_views(name, number, grammar, used_ports))
        if grammar.code == "eos":
            user, server = f"username plant secret sha512 $6${number:032x}", "logging host 192.0.2.254"
            everywhere = [user, "snmp-server community watchtower ro", server, f"hostname {name}"]
        # 62xx: the address of VLAN 1 is a global line
        blocks = {"": [address, *everywhere] if grammar.code == "fastpath" else everywhere}
        if grammar.code == "ros":
            blocks[grammar.enter(Context(ContextKind.INTERFACE_VLAN, vlan=1))] = [address]
        elif grammar.code == "eos":
            blocks["interface Vlan1"] = [address]
        spare = tuple(port for port in range(1, platform.physical_ports + 1) if port not in used_ports)
        if spare:
            blocks[grammar.enter(Context(ContextKind.INTERFACE, spare[-1:]))] = ["description spare-for-plant"]
        return cls(blocks)


HASHED = "password hash $h$6$"
VRP_HASH = "$1c$"
_OF_ITSELF = "v3.2.1.1 / RCBS3.2_950_377_136\nCLI v1.0\nfile SSD indicator encrypted\n@"  # a CBS350, under its name
_DISPLAYS: dict[str, Callable[[str], str]] = {
    "comware": comware_pages.as_displayed,
    "huawei": huawei_pages.as_displayed,
}
_VRP_USER = re.compile(rf"local-user (\S+) password irreversible-cipher {re.escape(VRP_HASH)}((?:[0-9a-f]{{2}})*)")


def local_users(blocks: Mapping[str, list[str]]) -> dict[str, str]:
    """Return the users whom a switch with views lets in over SSH, with passwords, kept in hexadecimal behind a mark."""
    found = {}
    for header, lines in blocks.items():
        words = [line for line in lines if line.startswith(HASHED)]
        if header.startswith("local-user ") and words and any(re.match(r"service-type .*\bssh\b", x) for x in lines):
            found[header.split()[1]] = bytes.fromhex(words[-1].removeprefix(HASHED)).decode("utf-8", "replace")
    aaa = blocks.get("aaa", [])
    for line in aaa:
        user = _VRP_USER.fullmatch(line)
        if user and any(re.match(rf"local-user {re.escape(user[1])} service-type .*\bssh\b", x) for x in aaa):
            found[user[1]] = bytes.fromhex(user[2]).decode("utf-8", "replace")
    return found


def _born_with_views(name: str, number: int, grammar: Grammar, used_ports: Collection[int]) -> dict[str, list[str]]:
    """Return the lines by block that the plant's people had on a switch with views, as `UnmanagedConfig.born` does."""
    loghost, sysname = "info-center loghost 192.0.2.254", f"sysname {name}"
    address = [f"ip address 192.0.2.{number % 250 + 1} 255.255.255.0"]
    if grammar.code == "huawei":
        user = [
            f"local-user plant password irreversible-cipher {VRP_HASH}{number:032x}",
            "local-user plant service-type ssh",
        ]
        blocks = {
            "": ["snmp-agent community read cipher watchtower", loghost, sysname],
            "aaa": user,
            "interface Vlanif1": address,
        }
    else:
        blocks = {
            "": ["snmp-agent community read watchtower", loghost, sysname],
            "local-user plant class manage": [f"{HASHED}{number:032x}", "service-type ssh"],
            "interface Vlan-interface1": address,
        }
    ports = grammar.platform.physical_ports
    spare = tuple(port for port in range(1, ports + 1) if port not in used_ports)
    if spare:
        blocks[grammar.enter(Context(ContextKind.INTERFACE, spare[-1:]))] = ["description spare-for-plant"]
    return blocks


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a switch runs and what it would start with; `files` are those of a Linux machine."""

    state: SwitchState
    foreign: UnmanagedConfig
    startup_state: SwitchState
    startup_foreign: UnmanagedConfig
    files: dict[str, str]


def _no_carrier(port: int) -> bool:
    del port
    return False


def _nobody_minds(*_: object) -> None:
    pass


def _never() -> None:
    return None


@dataclass(eq=False)
class Device:
    """One switch while the rack runs; sessions share it, and change it by `editor` and `foreign` alone.

    `render` writes a state in the family's running-configuration form; `carrier` tells whether a port has link;
    `learned` holds the dynamic entries (VLAN, MAC) -> port that the data plane last saw; `editing` is the session
    inside `configure`, when that is exclusive. A Linux machine has a `shell`, which changes `editor`, and `files`; it
    starts with the lines of its file `BOOT`. The `shell` of RouterOS is its console, which keeps what it takes.

    `has_host_key` is lost with a reset to the factory's state; `reload` is called where a console asks for it,
    `schedule` where it asks for that in so many minutes, 0 = never; `reloads_in` returns in how many seconds it does.
    `down`, `refusing` and `locked` are lasting faults in effect; `changed` is called after every line that was taken,
    which is `last_line`, `struck` with a fault that strikes and the line it strikes at.
    Sessions that begin have its `manner` ("" = none).
    One that plays a `transcript` answers what was recorded there, and all else as its model.
    `logins` counts sessions since the rack came up, `sessions` those there are, `most_sessions` how many there were.
    """

    BOOT: ClassVar = "/etc/tagloom/bridge.sh"
    FOLDERS: ClassVar = ("/etc/tagloom", "/tmp")  # noqa: S108 - of the machine played

    name: str
    platform: Platform
    render: Callable[[SwitchState], str]
    foreign: UnmanagedConfig = field(default_factory=UnmanagedConfig)
    quirks: Quirks = field(default_factory=Quirks)
    user: str = "lab"
    password: str = "lab"  # noqa: S105 - the virtual rack is open to all who can reach its loopback
    carrier: Callable[[int], bool] = _no_carrier
    learned: dict[tuple[int, int], int] = field(default_factory=dict)
    editing: object | None = None
    files: dict[str, str] = field(default_factory=dict)
    shell: iproute2.Shell | routeros.Menus | None = None
    faults: Faults = field(default_factory=Faults)
    down: bool = False
    refusing: bool = False
    locked: bool = False
    changed: Callable[[], None] = _nobody_minds
    struck: Callable[[Fault, str], None] = _nobody_minds
    last_line: str = ""
    has_host_key: bool = True
    reload: Callable[[], None] = _nobody_minds
    schedule: Callable[[int], None] = _nobody_minds
    reloads_in: Callable[[], float | None] = _never
    transcript: Transcript | None = None
    manner: str = ""
    logins: int = 0
    sessions: int = 0
    most_sessions: int = 0

    def __post_init__(self) -> None:
        self._start(factory(self.platform))
        self.save()

    def _start(self, editor: SwitchEditor) -> None:
        self.editor = editor
        if self.is_linux:
            self.shell = iproute2.Shell(self.platform, editor)
        elif self.is_routeros:
            self.shell = routeros.Menus(self.platform, editor)

    @property
    def is_linux(self) -> bool:
        """Return whether the switch is a Linux machine."""
        return self.platform.is_shell

    @property
    def is_routeros(self) -> bool:
        """Return whether the switch is a RouterOS machine, which keeps each line as it takes it."""
        return not (self.has_modes or self.is_linux)

    @property
    def has_modes(self) -> bool:
        """Return whether its console has modes; one without is a bridge, and what stands outside that is apart."""
        return self.platform.has_modes

    def forwarding(self) -> SwitchState:
        """Return what frames find.

        A machine with a bridge forwards nothing between ports outside it, or while that is down; a switch that is down
        forwards nothing at all.
        """
        if self.has_modes and not self.down:
            return self.editor.freeze()
        seen = SwitchEditor.of(self.editor.freeze())
        ports = zip(seen.enabled, seen.mode, strict=True)
        bridging = self.shell is not None and self.shell.is_up
        seen.enabled = [
            not self.down and up and ((bridging and m is PortMode.GENERAL) or self.has_modes) for up, m in ports
        ]
        return seen.freeze()

    @property
    def hostname(self) -> str:
        """Return the name in the prompt; a switch without one says `console`, RouterOS `MikroTik`."""
        named = [line for line in self.foreign.blocks.get("", []) if line.startswith(("hostname ", "sysname "))]
        unnamed = {"routeros": "MikroTik", "comware": "HPE", "huawei": "HUAWEI", "eos": "localhost"}
        return named[-1].split(None, 1)[1].strip('"') if named else unnamed.get(self.platform.grammar, "console")

    def configuration(self) -> Configuration:
        """Return what the switch runs and starts with."""
        startup_state, startup_foreign = self._startup
        return Configuration(
            self.editor.freeze(), self.foreign.copy(), startup_state, startup_foreign.copy(), dict(self.files)
        )

    def configure(self, kept: Configuration) -> None:
        """Run and start with what is given, as if fresh from the box; logins and commands count from 0."""
        self._startup = kept.startup_state, kept.startup_foreign.copy()
        self.foreign, self.files = kept.foreign.copy(), dict(kept.files)
        self._start(SwitchEditor.of(kept.state))
        self.has_host_key = not kept.foreign.from_factory
        self.logins = self.most_sessions = self.faults.commands = 0

    def save(self) -> None:
        """Copy the running configuration to the startup configuration."""
        self._startup = self.editor.freeze(), self.foreign.copy()

    def reboot(self) -> None:
        """Come up again from the startup configuration, with nothing learned and nobody logged in."""
        if self.is_routeros:
            self.save()
        state, foreign = self._startup
        self._start(factory(self.platform) if self.is_linux else SwitchEditor.of(state))
        if self.shell is not None and self.is_linux:
            for line in self.startup_config().splitlines():
                self.shell.feed(line)
        self.foreign = foreign.copy()
        if self.is_linux and foreign.from_factory:
            self.linux.boot()
        self.learned, self.editing = {}, None

    def drop_done(self) -> None:
        """Forget the order to cut a session: it holds once."""
        self.quirks = replace(self.quirks, drop_after=0)

    def running_config(self) -> str:
        """Return the running configuration as text: the state in the family's shape, then the foreign lines.

        Of a Linux machine, the pages that tell of its state.
        """
        if self.is_linux:
            return linux_pages.transcript(self)
        if self.is_routeros:
            return routeros_pages.export(self)
        return self._text(self.editor.freeze(), self.foreign)

    def startup_config(self) -> str:
        """Return the startup configuration as text; of a Linux machine, the script it starts with."""
        if self.is_linux:
            return self.files.get(self.BOOT, "")
        if self.is_routeros:
            return routeros_pages.export(self)
        return self._text(*self._startup)

    def _text(self, state: SwitchState, foreign: UnmanagedConfig) -> str:
        body, tail = self.render(state).rstrip("\n"), ""
        if (display := _DISPLAYS.get(Grammar.of(self.platform).code)) is not None:
            return display(f"{body}\nquit\n{foreign.shown('quit')}")
        if (
            Grammar.of(self.platform).code == "fastpath"
        ):  # the whole stands between `configure` and this family's last `exit`
            body, tail = body.removesuffix("exit").rstrip("\n"), "exit\n"
        head, ends = Grammar.of(self.platform).whole.begins, Grammar.of(self.platform).whole.ends
        if head and head not in body:
            head = f"{head}\n" if head.startswith("!") else f"{head}\n{self.name}\n{_OF_ITSELF}\n"
            body = head + body
        text = f"{body}\n{foreign.shown()}{tail}"
        return text if text.split()[-1:] == [ends] or not ends else f"{text}!\n{ends}\n"

    def reset(self) -> None:
        """Delete the startup configuration, host keys and files: the next boot finds the switch as the factory made it.

        A Linux machine is then as newly installed: root alone logs in, at its console, without a password. RouterOS
        makes itself a host key as it boots.
        """
        lines = ["hostname debian"] if self.is_linux else []
        if self.is_routeros:
            lines = routeros_system.factory_lines(self.platform, self.factory_users)
        foreign = UnmanagedConfig({"": lines} if lines else {}, from_factory=True)
        self._startup = factory(self.platform).freeze(), foreign
        self.files, self.has_host_key = {}, not self.has_modes
        if self.is_routeros:  # which starts with what it runs
            self._start(factory(self.platform))
            self.foreign = foreign.copy()

    @property
    def never_saved(self) -> bool:
        """Return whether nothing was saved since the factory."""
        return self._startup[1].from_factory and not self._startup[1].blocks

    @property
    def serves_ssh(self) -> bool:
        """Return whether its SSH server runs: of one from the factory, once it has a key, an address and is told to."""
        if not self.foreign.from_factory:
            return True
        if self.is_linux:
            return self.linux.serves_ssh
        if self.is_routeros:  # the address at which the rack has it is the one that somebody gives it
            system = self.system
            return system.has_own_address and not system.of("no-ssh")
        lines = {line for block in self.foreign.blocks.values() for line in block}
        server = lines & {"ip ssh server", "ssh server enable", "stelnet server enable"}
        return self.has_host_key and bool(server) and any(each.startswith("ip address ") for each in lines)

    @property
    def users(self) -> dict[str, str]:
        """Return the passwords of users, of whom one from the factory has none."""
        if not self.foreign.from_factory:
            return {self.user: self.password}
        if self.is_linux:
            return self.linux.users
        if self.is_routeros:
            return self.system.users
        words = [line.split() for line in self.foreign.blocks.get("", []) if line.startswith("username ")]
        made = {each[1]: each[3].strip('"') for each in words if len(each) > 3 and each[2] == "password"}
        made |= local_users(self.foreign.blocks)
        if made and self.quirks.keeps_factory:
            return {**self.factory_users, **made}
        return made or self.factory_users

    @property
    def enable_password(self) -> str:
        """Return the password that privileged mode wants, "" if it wants none."""
        lines = [line for line in self.foreign.blocks.get("", []) if line.startswith("enable password ")]
        words = re.sub(r"^enable password (?:level \d+ )?", "", lines[-1]).split() if lines else []
        return words[0].strip('"') if words else ""

    @property
    def user_keys(self) -> dict[str, str]:
        """Return the public RSA keys of users, in base 64."""
        if self.is_linux:
            return self.linux.user_keys
        if self.is_routeros:
            return self.system.user_keys
        keys: dict[str, str] = {}
        user = ""
        for line in self.foreign.blocks.get(USER_KEYS, []):
            if line.startswith("user-key "):
                user = line.split()[1]
            elif user and line.startswith("key-string row "):
                keys[user] = keys.get(user, "") + line.split()[2]
        return keys

    @property
    def key_is_enough(self) -> bool:
        """Return whether a user who logs in with a key is asked nothing else."""
        return "ip ssh pubkey-auth auto-login" in self.foreign.blocks.get("", [])

    @property
    def factory_users(self) -> dict[str, str]:
        """Return the password of the user that the factory made, where it did."""
        if self.platform.factory_login is None:
            return {}
        user, password = self.platform.factory_login
        return {user: self.quirks.printed or password}

    @property
    def linux(self) -> LinuxSystem:
        """Return what a Linux machine is beside its bridge."""
        return LinuxSystem(self.files, self.foreign)

    @property
    def system(self) -> routeros_system.System:
        """Return what a RouterOS machine is beside its bridge."""
        return routeros_system.System(self.foreign)

    def is_renewed(self, user: str) -> bool:
        """Return whether a user of a RouterOS machine has another password than the factory's."""
        factory = self.factory_users if self.foreign.from_factory else {}
        return user not in factory or self.users.get(user) != factory[user]

    def renew(self, user: str, password: str) -> None:
        """Take another password of a user of a RouterOS machine, as its first login asks for it."""
        self.system.keep(f"user {user}", f"user {user} {password}")

    def accepts(self, user: str, password: str) -> bool:
        """Return whether a login is right."""
        if self.is_routeros:  # what it reads of a terminal stands behind the name
            user = user.partition("+")[0]
        return self.users.get(user) == password and not (self.quirks.refuse_login or self.refusing)
