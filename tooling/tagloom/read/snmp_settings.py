"""Read how SNMP agents are reached: a YAML page beside the inventory, secrets from it or from the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tagloom.errors import Finding, InputError, one_of
from tagloom.records.snmp import AUTH_PROTOCOLS, PRIV_PROTOCOLS, SNMP_PORT, Credentials
from tagloom.storage.document import read_yaml, shown
from tagloom.units import split_address

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tagloom.records.fabric import Fabric
    from tagloom.records.snmp import Address

MIN_PASSWORD = 8  # RFC 3414 section 11.2
# What the environment says goes before what the page says.
VARIABLES = {
    "TAGLOOM_SNMP_USER": "user",
    "TAGLOOM_SNMP_AUTH_PASSWORD": "auth_password",
    "TAGLOOM_SNMP_PRIV_PASSWORD": "priv_password",
    "TAGLOOM_SNMP_COMMUNITY": "community",
}


class SnmpSettings(BaseModel):
    """The page: who asks, where agents listen, and where one switch's is, if not where it is managed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    version: Literal["3", "2c"] = "3"
    user: str = ""
    auth_protocol: str = "SHA"
    auth_password: str = ""
    priv_protocol: str = "AES"
    priv_password: str = ""
    community: str = ""
    port: int = Field(default=SNMP_PORT, ge=1, le=65535)
    addresses: dict[str, str] = {}

    @property
    def credentials(self) -> Credentials:
        """Return who asks."""
        return Credentials(**{name: getattr(self, name) for name in Credentials.__dataclass_fields__})

    def agents(self, fabric: Fabric) -> dict[str, Address]:
        """Return where every switch's agent is: the address that is set for it, else where it is managed.

        Raises InputError for addresses of switches that do not exist.
        """
        return self.agents_of({switch.name: switch.address for switch in fabric.switches})

    def agents_of(self, managed: Mapping[str, str]) -> dict[str, Address]:
        """Return the agents of switches by name, `managed` at these addresses, or by their names where one is "".

        Raises InputError as `agents` does, and for what is no address.
        """
        strangers = [name for name in self.addresses if name not in managed]
        if strangers:
            raise InputError(Finding(f"snmp.addresses.{name}", "a switch of the fabric", name) for name in strangers)
        found = {}
        for name, address in managed.items():
            if name in self.addresses:
                found[name] = agent_at(self.addresses[name], self.port, f"snmp.addresses.{name}")
            elif address:  # the port of a management address is SSH's
                found[name] = agent_at(address, self.port, f"{name}: address")[0], self.port
            else:
                found[name] = name, self.port
        return found


def agent_at(text: str, port: int, where: str) -> Address:
    """Read where an agent is: ``host``, ``host:port`` or ``[2001:db8::1]:port``. Raises InputError for anything else.

    >>> agent_at("192.0.2.1", 161, "--start"), agent_at("[2001:db8::1]:1161", 161, "--start")
    (('192.0.2.1', 161), ('2001:db8::1', 1161))
    """
    try:
        host, number = split_address(text)
    except ValueError:
        raise InputError([Finding(where, "HOST or HOST:PORT", repr(text))]) from None
    return host, number or port


def read_snmp_settings(path: Path | None, environment: Mapping[str, str], version: str | None = None) -> SnmpSettings:
    """Read the page (None: nothing but the environment). Raises InputError with everything wrong with it at once."""
    where = str(path or "SNMP")
    document: Any = {}
    if path is not None:
        document = read_yaml(path) or {}
        if not isinstance(document, dict):
            raise InputError([Finding(where, "a mapping", type(document).__name__)])
        if isinstance(document.get("version"), int):
            document["version"] = str(document["version"])
    document = document | {key: environment[name] for name, key in VARIABLES.items() if environment.get(name)}
    if version is not None:
        document["version"] = version
    try:
        settings = SnmpSettings.model_validate(document)
    except ValidationError as error:
        raise InputError(
            Finding(
                f"{where}: {'.'.join(map(str, each['loc']))}",
                each["msg"].removeprefix("Input should be "),
                _shown(each),
            )
            for each in error.errors()
        ) from None
    findings = list(_missing(settings, where))
    if findings:
        raise InputError(findings)
    return settings


def _shown(error: Any) -> str:
    """Return what stood there; a secret is not repeated."""
    secret = any("password" in str(step) or step == "community" for step in error["loc"])
    return "something else" if secret else shown(error["input"])


def _missing(settings: SnmpSettings, where: str) -> list[Finding]:
    name = {key: variable for variable, key in VARIABLES.items()}
    found: list[Finding] = []
    if settings.version == "2c":
        if not settings.community:
            found.append(Finding(f"{where}: community", f"a community, here or in {name['community']}", "none"))
        return found
    if not settings.user:
        found.append(Finding(f"{where}: user", f"a user, here or in {name['user']}", "none"))
    for key in ("auth_password", "priv_password"):
        size = len(getattr(settings, key))
        if size < MIN_PASSWORD:
            expected = f"{MIN_PASSWORD} characters or more, here or in {name[key]}"
            found.append(Finding(f"{where}: {key}", expected, f"{size} characters"))
    for key, known in (("auth_protocol", AUTH_PROTOCOLS), ("priv_protocol", PRIV_PROTOCOLS)):
        if getattr(settings, key) not in known:
            found.append(
                Finding(f"{where}: {key}", one_of(known, getattr(settings, key)), repr(getattr(settings, key)))
            )
    return found
