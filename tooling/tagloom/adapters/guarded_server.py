"""Serve read-only HTTP with bounds on connections and time, and only for names and addresses of this computer."""

from __future__ import annotations

import ipaddress
import socket
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from email.message import Message

    from tagloom.records.snmp import Address

    Answer = tuple[dict[str, str], bytes]  # headers, and the body

SECONDS = 10.0  # for a request to arrive whole and its answer to be taken
AT_ONCE = 32  # clients; further ones are hung up on, unless one has had its seconds
LONGEST_HOST = 255


class GuardedServer(ThreadingHTTPServer):
    """A server that calls `answer` with the path and the headers of each request; None means 404.

    The server refuses requests for another host's name, so a web page cannot read it through DNS rebinding. Raises
    InputError, which names `option`, if the address cannot be used.
    """

    daemon_threads = True
    request_queue_size = AT_ONCE

    def __init__(
        self,
        option: str,
        address: Address,
        answer: Callable[[str, Message], Answer | None],
        headers: Mapping[str, str],
    ) -> None:
        self.answer, self.headers = answer, headers
        self._open: dict[Any, float] = {}  # connections, and when each began
        self._counting = Lock()
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        try:
            super().__init__(address, _Handler)
        except OSError as error:
            where = f"{option} {address[0]}:{address[1]}"
            raise InputError([Finding(where, "a free port", error.strerror or str(error))]) from None
        name = socket.gethostname().lower()
        self._names = {"localhost", address[0].lower(), name, name.partition(".")[0]}

    def begin(self) -> None:
        """Serve from a thread of its own until closed."""
        Thread(target=self.serve_forever, name="http", daemon=True).start()

    def end(self) -> None:
        """Stop what `begin` began, and listen no more."""
        self.shutdown()
        self.server_close()

    @property
    def port(self) -> int:
        """Return the TCP port that is listened on."""
        return int(self.server_address[1])

    def is_for_us(self, host: str) -> bool:
        """Return whether a request's Host names this server: an address, or a name of this computer."""
        name, _, port = host.rpartition(":") if host[-1:] != "]" and ":" in host else (host, "", "80")
        name = name.strip("[]").lower()
        if len(host) > LONGEST_HOST or port != str(self.port):
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return True

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve one more client, or hang up where too many are served already."""
        now = time.monotonic()
        with self._counting:
            if len(self._open) >= AT_ONCE:
                for late in [each for each, began in self._open.items() if now - began > SECONDS]:
                    del self._open[late]
                    _hang_up(late)  # its thread ends
            has_place = len(self._open) < AT_ONCE
            if has_place:
                self._open[request] = now
        if has_place:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """Hang up on a client, whose place is free then."""
        with self._counting:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Pass over clients that go away: their trouble, not the server's."""


def _hang_up(request: socket.socket) -> None:
    try:
        request.shutdown(socket.SHUT_RDWR)
    except OSError:  # it has hung up itself
        return


class _Handler(BaseHTTPRequestHandler):
    timeout = SECONDS
    server: GuardedServer
    server_version, sys_version = "tagloom", ""
    error_content_type, error_message_format = "text/plain; charset=utf-8", "%(code)d %(message)s\n"

    def do_GET(self) -> None:
        """Answer what stands at the path, or that nothing does."""
        if not self.server.is_for_us(self.headers.get("Host", "")):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return
        found = self.server.answer(self.path, self.headers)
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        headers, body = found
        self.send_response(HTTPStatus.OK)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - as http.server calls it

    def end_headers(self) -> None:
        """Add the headers that every answer has."""
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing: what clients write steers no terminal."""
