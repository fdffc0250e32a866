"""Write what a switch from the factory is typed at its console, so that it can be logged in to over SSH."""

from __future__ import annotations

import ipaddress
import textwrap
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import jinja2

from tagloom import platforms
from tagloom.platforms.family import Firmware, relatives
from tagloom.platforms.grammar import Context, ContextKind, Grammar
from tagloom.records.fabric import Switch
from tagloom.records.snmp import Credentials
from tagloom.share import share_directory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tagloom.platforms import Platform

FILE = "first-contact.j2"
_OPENS = ("interface ", "crypto key pubkey-chain ", "user-key ", "local-user ", "line ", "user-interface ")
KEY_ROW = 40  # characters of a key in a line, as a CBS350 writes its own (public GitHub file 13367031994)
ROUTEROS_AUTH, ROUTEROS_PRIV = ("SHA", "MD5"), ("AES", "DES")  # of SNMPv3: MikroTik's manual, SNMP, community
PASSWORD, AUTH_PASSWORD, PRIV_PASSWORD, COMMUNITY = (
    f"<{word}>" for word in ("password", "auth-password", "priv-password", "community")
)


@dataclass(frozen=True, slots=True)
class FirstContact:
    """How a switch is reached afterwards: its address in VLAN 1, its user, and who may read it over SNMP, if anybody.

    `user_key` is the user's public RSA key in base 64; it and `gateway` are "" for none. Secrets are kept out of its
    `repr`.
    """

    address: str
    mask: str
    user: str
    password: str = field(repr=False)
    gateway: str = ""
    user_key: str = ""
    snmp: Credentials | None = field(default=None, repr=False)


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
    environment.filters["quoted"] = _quoted
    text = environment.from_string(path.read_text("utf-8")).render(
        name=switch.name,
        user=contact.user,
        password=contact.password,
        address=contact.address,
        mask=contact.mask,
        bits=ipaddress.IPv4Network(f"0.0.0.0/{contact.mask}").prefixlen,
        gateway=contact.gateway,
        snmp=contact.snmp,
        key_rows=textwrap.wrap(contact.user_key, KEY_ROW),
        family=family,
        firmware=dict(platform.firmware),
        ports=names,
    )
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def configuration_lines(platform: Platform) -> tuple[tuple[str, ...], ...]:
    """Return the lines of a first login that are typed at (config)#, word by word, "" where a value stands.

    Those inside the blocks that some of them open are left out; none where a console has no modes.
    """
    if not (platform.has_modes and platform.has_first_contact):
        return ()
    return _configuration_lines(platform.model, platform.firmware)


@cache
def _configuration_lines(model: str, firmware: Firmware) -> tuple[tuple[str, ...], ...]:
    platform = platforms.load(model, firmware)
    found: dict[tuple[str, ...], None] = {}
    for version in ("3", "2c"):
        both = (_global_lines(platform, version, digit) for digit in "12")
        for one, other in zip(*both, strict=True):
            found[tuple(a if a == b else "" for a, b in zip(one.split(), other.split(), strict=True))] = None
    return tuple(found)


def _global_lines(platform: Platform, version: str, digit: str) -> list[str]:
    """Return the lines at (config)# with values that end with a digit."""
    word, address = f"word-{digit}", f"192.0.2.{digit}"
    snmp = Credentials(
        version, word, auth_password=f"pass{word}", priv_password=f"pass-{word}", community=f"read-{word}"
    )
    contact = FirstContact(address, "255.255.255.0", word, f"login-{word}", f"198.51.100.{digit}", "AAAA", snmp)
    switch = Switch(f"switch-{digit}", platform.model, firmware=platform.firmware)
    lines = first_contact_lines(switch, (), contact, share_directory() / "templates")
    at_config, depth, words = [], 0, Grammar.of(platform).session
    for line in lines[lines.index(words.configure) + 1 :]:
        if line in (words.leave, words.end) and depth == 0:
            break
        if depth == 0:
            at_config.append(line)
        depth += -1 if line == words.leave else int(line == "aaa" or line.startswith(_OPENS))
    return at_config


def _quoted(text: str) -> str:
    r"""Write a word as a string of RouterOS's console, in which $ names a variable.

    >>> print(_quoted("a$b"))
    "a\$b"
    """
    return '"' + "".join(f"\\{key}" if key in '"\\$' else key for key in text) + '"'
