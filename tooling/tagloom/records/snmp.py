"""Requests to SNMP agents and their answers, before interpretation."""

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
    """SNMP credentials: for version "3" a user with authentication and privacy (RFC 3414), for "2c" a community."""

    version: str = "3"
    user: str = ""
    auth_protocol: str = "SHA"
    auth_password: str = field(default="", repr=False)
    priv_protocol: str = "AES"
    priv_password: str = field(default="", repr=False)
    community: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to read from every agent: single instances, and tables as columns that are walked together."""

    scalars: tuple[Oid, ...] = ()
    tables: tuple[tuple[Oid, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Raw:
    """One agent's answers.

    `at` is the time, in seconds since the epoch, when its single instances came (sysUpTime among them), or of the end
    if none were requested; `seconds` is the duration of the reading. `error` says why there is no reading, or "";
    `complaints` what was wrong with one. `scalars` holds the instances that exist, `columns` the rows of every
    requested column, in the order of the walk.
    """

    at: float
    seconds: float = 0.0
    scalars: Rows = field(default_factory=dict)
    columns: dict[Oid, Rows] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()
    error: str = ""


Ask = Callable[[Mapping[str, Address], Wanted], dict[str, Raw]]  # agents by the name of their switch
