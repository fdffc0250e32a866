"""Serve one page over HTTP, read-only, renewed when what it shows changes."""

from __future__ import annotations

import ipaddress
import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.records.snmp import Address

    Page = tuple[str, str]  # its version, and the HTML document

SECONDS = 10.0  # for a request to arrive whole
LONGEST_HOST = 255
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


class LivePage(ThreadingHTTPServer):
    """A server of `/` and `/version` that asks `page` for the newest page at every request.

    Raises InputError where nobody can listen. Requests for other hosts' names are refused: a name that an attacker
    points here (DNS rebinding) lets no foreign page read ours.
    """

    daemon_threads = True

    def __init__(self, address: Address, page: Callable[[], Page]) -> None:
        self._page, self._one = page, Lock()
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        try:
            super().__init__(address, _Handler)
        except OSError as error:
            where = f"--serve {address[0]}:{address[1]}"
            raise InputError([Finding(where, "a free port", error.strerror or str(error))]) from None
        self._names = {"localhost", address[0].lower()}

    @property
    def url(self) -> str:
        """Return where a browser finds it."""
        host, port = self.server_address[:2]
        return f"http://[{host!s}]:{port}/" if self.address_family == socket.AF_INET6 else f"http://{host!s}:{port}/"

    def newest(self) -> Page:
        """Return the newest page, made once even where several ask."""
        with self._one:
            return self._page()

    def is_for_us(self, host: str) -> bool:
        """Return whether a request's Host names this server: an address, localhost, or the name it was told."""
        name, _, port = host.rpartition(":") if host[-1:] != "]" and ":" in host else (host, "", "80")
        name = name.strip("[]").lower()
        if len(host) > LONGEST_HOST or port != str(self.server_address[1]):
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return True

    def handle_error(self, request: object, client_address: object) -> None:
        """Pass over clients that go away: their trouble, not the server's."""


class _Handler(BaseHTTPRequestHandler):
    timeout = SECONDS
    server: LivePage
    server_version, sys_version = "tagloom", ""
    error_content_type, error_message_format = "text/plain; charset=utf-8", "%(code)d %(message)s\n"

    def do_GET(self) -> None:
        """Answer the page, its version, or that there is nothing else."""
        if not self.server.is_for_us(self.headers.get("Host", "")):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return
        if self.path not in {"/", "/version"}:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        version, text = self.server.newest()
        kind, body = ("text/html", text) if self.path == "/" else ("text/plain", version)
        data = body.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    do_HEAD = do_GET  # noqa: N815 - as http.server calls it

    def end_headers(self) -> None:
        """Add the headers that every answer has."""
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing: what clients write steers no terminal."""
