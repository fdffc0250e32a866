"""Be what RouterOS is beside its switching bridge: its name, users, addresses, SNMP, and the factory's own bridge.

What was typed is kept among the machine's lines that are none of tagloom's, a word or two each, so that it is kept and
restored with them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tagloom.platforms.routeros import PORT, parse_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tagloom.lab.device import UnmanagedConfig
    from tagloom.platforms import Platform
    from tagloom.platforms.routeros import Line, Values

BRIDGE = "bridge"  # the factory's, which holds every port (public exports with comment=defconf)
FACTORY_ADDRESS = "192.168.88.1/24"
_IF = re.compile(r":if \(\[:len \[(/[a-z /-]{1,40}?) find (.{1,200}?)\]\] = 0\) do=\{ (.{1,1200}) \}")
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}/\d{1,2}")
_MENUS = (
    "system identity",
    "user",
    "user ssh-keys",
    "ip address",
    "ip route",
    "ip service",
    "ip neighbor discovery-settings",
    "snmp",
    "snmp community",
)


class _WrongError(Exception):
    """Refuse a line with the answer the console shows for it; never leaves this module."""


def factory_lines(platform: Platform, users: Mapping[str, str]) -> list[str]:
    """Return what a machine holds as it leaves the factory: its users, its address, and a bridge of all ports."""
    ports = [f"bridged {platform.port_name(port)}" for port in range(1, platform.physical_ports + 1)]
    known = [f"user {user} {password}" for user, password in users.items()]
    return [*known, f"address {FACTORY_ADDRESS} {BRIDGE}", "snmp community public", *ports]


@dataclass(frozen=True, slots=True)
class System:
    """What is kept of a machine beside its switching bridge; `lines` begin with the word that says of what."""

    foreign: UnmanagedConfig

    @property
    def lines(self) -> list[str]:
        """Return what is kept."""
        return self.foreign.blocks.setdefault("", [])

    def of(self, word: str) -> list[str]:
        """Return what is kept behind a word."""
        return [line.removeprefix(f"{word} ") for line in self.lines if line.startswith(f"{word} ")]

    @property
    def users(self) -> dict[str, str]:
        """Return each user's password."""
        return {each.partition(" ")[0]: each.partition(" ")[2] for each in self.of("user")}

    @property
    def user_keys(self) -> dict[str, str]:
        """Return each user's public RSA key, in base 64."""
        return {each.partition(" ")[0]: each.partition(" ")[2] for each in self.of("user-key")}

    @property
    def has_own_address(self) -> bool:
        """Return whether anybody has given it an address."""
        return any(not each.startswith(f"{FACTORY_ADDRESS} ") for each in self.of("address"))

    def keep(self, old: str, new: str) -> None:
        """Keep a line in place of those that begin as the old one."""
        self.lines[:] = [line for line in self.lines if not f"{line} ".startswith(f"{old} ")]
        if new:
            self.lines.append(new)

    def feed(self, text: str) -> str | None:
        """Carry out a line, and return what the console prints; None for one of other menus."""
        if condition := _IF.fullmatch(text):
            menu, sought, then = condition.groups()
            wanted = parse_line(f"{menu} set [ find {sought} ]")
            known = wanted is not None and wanted.found and self._has(wanted.menu, wanted.found)
            return "" if known else self.feed(then)
        line = parse_line(text)
        if line is None or line.menu not in (*_MENUS, PORT):
            return None
        return self._of_bridge_port(line) if line.menu == PORT else self._carry_out(line)

    def _carry_out(self, line: Line) -> str:
        handler = self._HANDLERS.get((line.menu, line.verb))
        if handler is None:
            return "bad command name (line 1 column 1)"
        try:
            handler(self, line.values, line.found or {})
        except KeyError as missing:
            return f"missing value(s) of argument(s) {missing.args[0]}"
        except _WrongError as wrong:
            return str(wrong)
        return ""

    def _has(self, menu: str, sought: Values) -> bool:
        """Return whether a menu has a row; by one property, as our lines seek it."""
        value = next(iter(sought.values()))
        rows = {
            "user": self.users,
            "user ssh-keys": self.user_keys,
            "ip address": [each.partition(" ")[0] for each in self.of("address")],
            "ip route": self.of("route"),
        }
        return value in rows.get(menu, ())

    def _of_bridge_port(self, line: Line) -> str | None:
        """Take a port out of the factory's bridge; refuse one that is there to another bridge."""
        if line.verb == "remove" and line.found is not None and line.found.get("bridge") == BRIDGE:
            self.keep(f"bridged {line.found.get('interface')}", "")  # what is not found is not removed, and no error
            return ""
        if line.verb == "add" and line.values.get("interface") in self.of("bridged"):
            return "failure: device already added as bridge port"
        return None

    def _name(self, values: Values, _: Values) -> None:
        self.keep("hostname", f"hostname {values['name']}")

    def _add_user(self, values: Values, _: Values) -> None:
        name = values["name"]
        if name in self.users:
            raise _WrongError("failure: user with the same name already exists")
        if values["group"] not in ("full", "read", "write"):
            raise _WrongError("input does not match any value of group")
        self.keep(f"user {name}", f"user {name} {values.get('password', '')}")

    def _set_user(self, values: Values, found: Values) -> None:
        if found["name"] in self.users:
            self.keep(f"user {found['name']}", f"user {found['name']} {values['password']}")

    def _add_key(self, values: Values, _: Values) -> None:
        kind, *rest = values["key"].split(" ")
        if values["user"] not in self.users or kind != "ssh-rsa" or not rest:
            raise _WrongError("input does not match any value of user, or is no key")
        self.keep(f"user-key {values['user']}", f"user-key {values['user']} {rest[0]}")

    def _add_address(self, values: Values, _: Values) -> None:
        if not _ADDRESS.fullmatch(values["address"]):
            raise _WrongError("value of address expects IP address/netmask")
        if values["interface"] != BRIDGE:
            raise _WrongError("input does not match any value of interface")
        self.lines.append(f"address {values['address']} {values['interface']}")

    def _add_route(self, values: Values, _: Values) -> None:
        self.lines.append(f"route {values['gateway']}")

    def _set_service(self, values: Values, found: Values) -> None:
        if found["name"] == "ssh":
            self.keep("no-ssh", "no-ssh" if values["disabled"] == "yes" else "")

    def _set_neighbors(self, values: Values, _: Values) -> None:
        heard = values["discover-interface-list"] != "none" and "lldp" in values.get("protocol", "lldp").split(",")
        self.keep("lldp", "lldp on" if heard else "lldp off")

    def _set_agent(self, values: Values, _: Values) -> None:
        self.keep("snmp-server", "snmp-server on" if values["enabled"] == "yes" else "")

    def _set_community(self, values: Values, found: Values) -> None:
        if found["default"] != "yes":
            raise _WrongError("input does not match any value of default")
        secret = values["security"] == "private"
        needed = ("authentication-password", "encryption-password") if secret else ()
        if any(len(values[name]) < 8 for name in needed):  # RFC 3414, 11.2, of a password that a key is made of
            raise _WrongError("input does not match any value of password")
        protocols = values.get("authentication-protocol", "MD5"), values.get("encryption-protocol", "DES")
        if protocols[0] not in ("MD5", "SHA1") or protocols[1] not in ("DES", "AES"):
            raise _WrongError("input does not match any value of protocol")
        self.keep("snmp community", f"snmp community {values['name']} security={values['security']}")

    _HANDLERS: ClassVar[dict[tuple[str, str], Callable[[System, Values, Values], None]]] = {
        ("system identity", "set"): _name,
        ("user", "add"): _add_user,
        ("user", "set"): _set_user,
        ("user ssh-keys", "add"): _add_key,
        ("ip address", "add"): _add_address,
        ("ip route", "add"): _add_route,
        ("ip service", "set"): _set_service,
        ("ip neighbor discovery-settings", "set"): _set_neighbors,
        ("snmp", "set"): _set_agent,
        ("snmp community", "set"): _set_community,
    }
