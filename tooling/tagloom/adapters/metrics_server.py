"""Serve metrics to a Prometheus that asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.exposition import choose_encoder

from tagloom.adapters.guarded_server import GuardedServer

if TYPE_CHECKING:
    from email.message import Message

    from prometheus_client import CollectorRegistry

    from tagloom.adapters.guarded_server import Answer
    from tagloom.records.snmp import Address

PATHS = ("/", "/metrics")


class MetricsServer(GuardedServer):
    """A server of what a registry collects, in the format that is asked for.

    Raises InputError where nobody can listen.
    """

    def __init__(self, address: Address, registry: CollectorRegistry) -> None:
        self._registry = registry
        super().__init__("--metrics-port", address, self._at, {})
        self.begin()

    def _at(self, path: str, headers: Message) -> Answer | None:
        if path.partition("?")[0] not in PATHS:
            return None
        encoder, kind = choose_encoder(headers.get("Accept", ""))
        return {"Content-Type": kind}, encoder(self._registry)
