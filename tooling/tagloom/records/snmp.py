"""What is asked of SNMP agents and what they answered, before anybody says what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Oid = tuple[int, ...]
Address = tuple[str, int]  # host and UDP port
Value = int | bytes | Oid  # INTEGER, counters and ticks; octet strings and addresses; object identifiers
Rows = dict[Oid, Value]  # one column: value by index

SNMP_PORT = 161
AUTH_PROTOCOLS = ("SHA", "SHA-224", "SHA-256", "SHA-384", "SHA-512", "MD5")
PRIV_PROTOCOLS = ("AES", "AES-192", "AES-256", "DES")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who asks: by version "3" a user with authentication and privacy (RFC 3414), by "2c" a community."""

    version: str = "3"
    user: str = ""
    auth_protocol: str = "SHA"
    auth_password: str = field(default="", repr=False)
    priv_protocol: str = "AES"
    priv_password: str = field(default="", repr=False)
    community: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to read of every agent: single instances, and tables as columns that are walked together."""

    scalars: tuple[Oid, ...] = ()
    tables: tuple[tuple[Oid, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Raw:
    """What one agent answered.

    `at` is the time in seconds since the epoch when its single instances came (sysUpTime among them), or the reading
    ended where none were asked for; `seconds` how long all of it took. `error` says why
    there is no reading, or "" ; `complaints` what was wrong with one that there is. `scalars` holds the instances that
    exist; `columns` the rows of every column that was asked for, in the order of their walk.
    """

    at: float
    seconds: float = 0.0
    scalars: Rows = field(default_factory=dict)
    columns: dict[Oid, Rows] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()
    error: str = ""


Ask = Callable[[Mapping[str, Address], Wanted], dict[str, Raw]]  # agents by the name of their switch
