"""Hear SNMP notifications, traps and informs of v2c and v3, by pysnmp's own receiver: a word that something changed."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import warnings
from threading import Thread
from typing import TYPE_CHECKING, Any

from pysnmp.carrier.asyncio.dgram import udp
from pysnmp.entity import config, engine
from pysnmp.entity.rfc3413 import ntfrcv
from pysnmp.proto.api import v2c

from tagloom.adapters.snmp import AUTH, PRIV
from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Self

    from tagloom.records.snmp import Address, Credentials, Oid

TRAP_OID: Oid = (1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0)  # snmpTrapOID.0, RFC 3418
HEARD: dict[Oid, str] = {  # RFC 3418 section 2, RFC 2863
    (1, 3, 6, 1, 6, 3, 1, 1, 5, 1): "coldStart",
    (1, 3, 6, 1, 6, 3, 1, 1, 5, 2): "warmStart",
    (1, 3, 6, 1, 6, 3, 1, 1, 5, 3): "linkDown",
    (1, 3, 6, 1, 6, 3, 1, 1, 5, 4): "linkUp",
}
MOST_ENGINES = 4096


class TrapReceiver:
    """Listen for notifications, and call `heard` with what each is named and where it came from, from another thread.

    A notification is only a reason to look, never evidence. The receiver accepts the SNMP version and the community or
    user that agents are read by, and drops all others. A v3 trap must come from an engine passed to `trust`; an inform
    needs none, and is answered. Raises InputError if the address cannot be used.
    """

    def __init__(self, credentials: Credentials, listen: Address, heard: Callable[[str, Address], None]) -> None:
        self._credentials, self._heard = credentials, heard
        self._trusted = set[bytes]()
        try:
            self._socket = _bound(listen)
        except OSError as error:
            where = f"{listen[0]}:{listen[1]}"
            raise InputError([Finding("traps.listen", "a UDP address to listen at", f"{where}: {error}")]) from error
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _loop, _context: None)  # a message that cannot be read is none
        self._thread = Thread(target=self._loop.run_forever, name="traps", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()

    def __enter__(self) -> Self:
        """Return it as it is."""
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._end()

    @property
    def address(self) -> Address:
        """Return where it listens."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def trust(self, engines: Iterable[bytes]) -> None:
        """Hear v3 traps of the agents whose engines have these ids, too."""
        new = set(engines) - self._trusted
        if new and self._credentials.version == "3" and len(self._trusted) + len(new) <= MOST_ENGINES:
            self._trusted |= new
            for each in sorted(new):
                self._loop.call_soon_threadsafe(self._add_user, each)

    async def _open(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of pysnmp's own imports
            self._engine = engine.SnmpEngine()
        transport = udp.UdpAsyncioTransport(loop=self._loop).open_server_mode(sock=self._socket)
        config.add_transport(self._engine, udp.DOMAIN_NAME, transport)
        if self._credentials.version == "2c":
            config.add_v1_system(self._engine, "agents", self._credentials.community)
        else:
            self._add_user(None)
        ntfrcv.NotificationReceiver(self._engine, self._hear)

    def _add_user(self, engine_id: bytes | None) -> None:
        known = self._credentials
        config.add_v3_user(
            self._engine,
            known.user,
            AUTH[known.auth_protocol],
            known.auth_password,
            PRIV[known.priv_protocol],
            known.priv_password,
            securityEngineId=None if engine_id is None else v2c.OctetString(engine_id),
        )

    def _hear(self, engine: Any, reference: Any, *said: Any) -> None:
        *_, bindings, _ = said
        _, (host, port, *_) = engine.message_dispatcher.get_transport_info(reference)
        for name, value in bindings:
            if tuple(name) == TRAP_OID and (what := HEARD.get(tuple(value))):
                self._heard(what, (str(host), int(port)))

    async def _close(self) -> None:
        with contextlib.suppress(Exception):  # nothing that fails on the way out matters
            self._engine.close_dispatcher()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _bound(address: Address) -> socket.socket:
    """Return a UDP socket at an address. Raises OSError."""
    family, _, _, _, place = socket.getaddrinfo(*address, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE)[0]
    found = socket.socket(family, socket.SOCK_DGRAM)
    try:
        found.bind(place)
    except OSError:
        found.close()
        raise
    found.setblocking(False)
    return found
