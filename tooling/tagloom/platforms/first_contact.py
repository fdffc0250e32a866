"""Write what a switch from the factory is typed at its console, so that it can be logged in to over SSH."""

from __future__ import annotations

import ipaddress
import re
import shlex
import textwrap
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import jinja2

from tagloom import platforms
from tagloom.platforms.family import LIKELY, Firmware, family, relatives
from tagloom.platforms.grammar import Context, ContextKind, Grammar
from tagloom.records.fabric import Switch
from tagloom.records.snmp import Credentials
from tagloom.records.switch_state import DEFAULT_VLAN
from tagloom.share import share_directory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tagloom.platforms import Platform

FILE = "first-contact.j2"
_MANAGED_BY = ("eth0", "mgmt0", "mgmt1")  # the first that is no port of the switch
_OPENS = ("interface ", "crypto key pubkey-chain ", "user-key ", "local-user ", "line ", "user-interface ")
_INSIDE = " / "  # between the line that opens a block, and that of a block in it
_OUR_NAMES = {"tagloom", "Default", "DefaultRead"}  # stand where any name may
_NUMBER = re.compile(r"\d+(?:\.\d+){0,3}")
_PROPERTY = re.compile(r"(?<=[ (])([a-z][a-z-]*)=(\"(?:[^\"\\]|\\.)*\"|[^\s\]]+)")
KEY_ROW = 40  # characters of a key in a line, as a CBS350 writes its own (public GitHub file 13367031994)
ROUTEROS_AUTH, ROUTEROS_PRIV = ("SHA", "MD5"), ("AES", "DES")  # of SNMPv3: MikroTik's manual, SNMP, community
PASSWORD, AUTH_PASSWORD, PRIV_PASSWORD, COMMUNITY = (
    f"<{word}>" for word in ("password", "auth-password", "priv-password", "community")
)


@dataclass(frozen=True, slots=True)
class FirstContact:
    """How a switch is reached afterwards: its address in `vlan`, its user, and who may read it over SNMP, if anybody.

    `user_key` is the user's public RSA key in base 64; it and `gateway` are "" for none. `device` is the interface of a
    Linux machine that the address is given to, "" for the usual one. Secrets are kept out of its `repr`.
    """

    address: str
    mask: str
    user: str
    password: str = field(repr=False)
    gateway: str = ""
    user_key: str = ""
    snmp: Credentials | None = field(default=None, repr=False)
    vlan: int = DEFAULT_VLAN
    device: str = ""


def first_contact_lines(
    switch: Switch, ports: Sequence[int], contact: FirstContact, templates: Path
) -> tuple[str, ...]:
    """Return the lines for a switch, in order, from its first prompt on; none for a model without such a console.

    `ports` are those that the fabric uses: where a family tells LLDP to each port, it is told to these, and a RouterOS
    machine takes them off the factory's bridge.
    """
    platform = platforms.of(switch)
    if not platform.has_first_contact:
        return ()
    family = platform.grammar
    if platform.has_modes:
        grammar = Grammar.of(platform)
        names = [grammar.enter(Context(ContextKind.INTERFACE, (port,))) for port in ports]
    else:
        names = [platform.port_name(port) for port in ports]
    path = next(templates / each / FILE for each in relatives(family) if (templates / each / FILE).is_file())
    environment = jinja2.Environment(
        autoescape=False,  # noqa: S701 - switches read text, not HTML
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"quoted": _quoted, "shell": shlex.quote}
    text = environment.from_string(path.read_text("utf-8")).render(
        name=switch.name,
        user=contact.user,
        password=contact.password,
        address=contact.address,
        mask=contact.mask,
        vlan=contact.vlan,
        bits=ipaddress.IPv4Network(f"0.0.0.0/{contact.mask}").prefixlen,
        gateway=contact.gateway,
        snmp=contact.snmp,
        key_rows=textwrap.wrap(contact.user_key, KEY_ROW),
        family=family,
        firmware=dict(platform.firmware),
        ports=names,
        device=contact.device or next(each for each in _MANAGED_BY if each not in platform.port_names),
    )
    return tuple(line.strip() for line in text.splitlines() if line.strip())


@dataclass(frozen=True, slots=True)
class FirstLine:
    """A line of a first login, and where it is typed.

    `context` is that of a page of help: config, interface or interface-vlan, else the words of the line that opens its
    block; `opens` is the context that the line itself opens, "" for none. `parts` are its words, "" where a value
    stands, `typed` the same with examples of values, `shown` the line with ... for what differs from switch to switch.
    """

    context: str
    parts: tuple[str, ...]
    typed: tuple[str, ...]
    shown: str
    opens: str = ""

    @property
    def name(self) -> str:
        """Return the line with its place."""
        return self.shown if self.context == ContextKind.CONFIG else f"{self.context}: {self.shown}"

    def matches(self, line: str) -> bool:
        """Return whether a line is this one, whatever its values."""
        words = line.split()
        return len(words) == len(self.parts) and all(
            part in ("", word) for part, word in zip(self.parts, words, strict=True)
        )

    def names_in(self, line: str) -> tuple[str, ...]:
        """Return the values of a line that matches, but for numbers."""
        words = zip(self.parts, line.split(), strict=False)
        return tuple(word for part, word in words if not part and not _NUMBER.fullmatch(word))


def first_lines(platform: Platform) -> tuple[FirstLine, ...]:
    """Return the lines of a first login that are typed in configuration; none of a shell, which is asked for none.

    The line that opens a port is left out: it is one of the grammar's own. RouterOS's lines all name their menus.
    """
    if not platform.has_first_contact or platform.is_shell:
        return ()
    if not platform.has_modes:
        return _first_lines_of_menus(platform.model)
    return _first_lines(platform.model, platform.firmware)


def mark_of(platform: Platform, line: FirstLine) -> str:
    """Return how well a line of a first login is known: confirmed, confirmed-kin or likely."""
    known: dict[str, dict[str, str]] = family(platform.grammar, platform.firmware).get("first_lines", {})
    return known.get(line.name, {}).get("mark", LIKELY)


def first_context(platform: Platform, openers: Sequence[str]) -> str:
    """Return the context of a page of help inside blocks, by the lines that opened them, from the outermost on."""
    return next(
        (line.opens for line in first_lines(platform) if line.opens and _is_opened(line, openers)), " / ".join(openers)
    )


def _is_opened(line: FirstLine, openers: Sequence[str]) -> bool:
    return line.matches(openers[-1]) and line.opens.count(_INSIDE) == len(openers) - 1


@cache
def _first_lines(model: str, firmware: Firmware) -> tuple[FirstLine, ...]:
    platform = platforms.load(model, firmware)
    grammar = Grammar.of(platform)
    port = grammar.enter(Context(ContextKind.INTERFACE, (1,)))
    places = {port: ContextKind.INTERFACE.value}
    if "interface_vlan" in grammar.lines:
        places[grammar.enter(Context(ContextKind.INTERFACE_VLAN, vlan=1))] = ContextKind.INTERFACE_VLAN.value
    found: dict[FirstLine, None] = {}
    for version in ("3", "2c"):
        stack = [ContextKind.CONFIG.value]
        one, other = (_lines_in_configuration(platform, version, digit) for digit in (1, 2))
        for line, same in zip(one, other, strict=True):
            if line == grammar.session.leave:
                stack.pop()
                continue
            pairs = list(zip(line.split(), same.split(), strict=True))
            shown = " ".join(a if a == b else "..." for a, b in pairs)
            parts = tuple("" if a != b or a in _OUR_NAMES or _NUMBER.fullmatch(a) else a for a, b in pairs)
            opens = ""
            if _opens(line):
                inside = f"{stack[-1]}{_INSIDE}" if len(stack) > 1 else ""
                opens = places.get(line, f"{inside}{shown}")
            if line != port:
                found[FirstLine(stack[-1], parts, tuple(line.split()), shown, opens)] = None
            stack += [opens] if opens else []
    return tuple(found)


def _opens(line: str) -> bool:
    of_user = line.startswith("local-user ") and " class " not in line  # of Huawei, inside aaa
    return line == "aaa" or (line.startswith(_OPENS) and not of_user)


@cache
def _first_lines_of_menus(model: str) -> tuple[FirstLine, ...]:
    platform = platforms.load(model)
    found: dict[FirstLine, None] = {}
    for version in ("3", "2c"):
        one, other = (_example(platform, version, digit) for digit in (1, 2))
        for line, same in zip(one, other, strict=True):
            values = iter(_PROPERTY.findall(same))
            shown = _PROPERTY.sub(lambda found: _shown_property(found, next(values)[1]), line)  # noqa: B023 - used at once
            parts = tuple("" if "..." in word else word for word in shown.split())
            found[FirstLine(ContextKind.CONFIG.value, parts, tuple(line.split()), shown)] = None
    return tuple(found)


def _shown_property(found: re.Match[str], other: str) -> str:
    return found[0] if found[2] == other and found[2].strip('"') not in _OUR_NAMES else f"{found[1]}=..."


def _lines_in_configuration(platform: Platform, version: str, digit: int) -> list[str]:
    """Return the lines between entering configuration and leaving it, with values that end with a digit."""
    lines = _example(platform, version, digit)
    words, found, depth = Grammar.of(platform).session, [], 0
    for line in lines[lines.index(words.configure) + 1 :]:
        if line in (words.leave, words.end) and depth == 0:
            break
        found.append(line)
        depth += -1 if line == words.leave else int(_opens(line))
    return found


def _example(platform: Platform, version: str, digit: int) -> tuple[str, ...]:
    """Return the lines of a first login with values that end with a digit."""
    word, address = f"word-{digit}", f"192.0.2.{digit}"
    snmp = Credentials(
        version, word, auth_password=f"pass{word}", priv_password=f"pass-{word}", community=f"read-{word}"
    )
    contact = FirstContact(
        address, f"255.255.{256 - digit}.0", word, f"login-{word}", f"198.51.100.{digit}", "A" * 4 * digit, snmp
    )
    switch = Switch(f"switch-{digit}", platform.model, firmware=platform.firmware)
    port = 1 if platform.has_modes else digit
    return first_contact_lines(switch, (port,), contact, share_directory() / "templates")


def _quoted(text: str) -> str:
    r"""Write a word as a string of RouterOS's console, in which $ names a variable.

    >>> print(_quoted("a$b"))
    "a\$b"
    """
    return '"' + "".join(f"\\{key}" if key in '"\\$' else key for key in text) + '"'
