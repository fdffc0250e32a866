"""Serve one page over HTTP, read-only, renewed when what it shows changes."""

from __future__ import annotations

import socket
from threading import Lock
from typing import TYPE_CHECKING

from tagloom.adapters.guarded_server import GuardedServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import Message

    from tagloom.adapters.guarded_server import Answer
    from tagloom.records.snmp import Address

    Page = tuple[str, str]  # its version, and the HTML document

# The document carries its own styles and scripts; it may ask us for its version, and nobody for anything else.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class LivePage(GuardedServer):
    """A server of `/` and `/version` that asks `page` for the newest page at every request.

    Raises InputError where nobody can listen.
    """

    def __init__(self, address: Address, page: Callable[[], Page]) -> None:
        self._page, self._one = page, Lock()
        super().__init__("--serve", address, self._at, HEADERS)

    @property
    def url(self) -> str:
        """Return where a browser finds it."""
        host = self.server_address[0]
        where = f"[{host!s}]" if self.address_family == socket.AF_INET6 else f"{host!s}"
        return f"http://{where}:{self.port}/"

    def _at(self, path: str, _headers: Message) -> Answer | None:
        if path not in {"/", "/version"}:
            return None
        with self._one:  # made once even where several ask
            version, text = self._page()
        kind, body = ("text/html", text) if path == "/" else ("text/plain", version)
        return {"Content-Type": f"{kind}; charset=utf-8"}, body.encode()
