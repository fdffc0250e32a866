"""Check the bounds of the HTTP server: connections, time and host names."""

import contextlib
import http.client
import socket

import pytest
from prometheus_client import CollectorRegistry, Gauge

from tagloom.adapters import guarded_server
from tagloom.adapters.metrics_server import MetricsServer
from waiting import until


@pytest.fixture
def server():
    registry = CollectorRegistry()
    Gauge("weight", "of something", registry=registry).set(3)
    found = MetricsServer(("127.0.0.1", 0), registry)
    yield found
    found.end()


def asked(server, path="/metrics", host=""):
    """Return the status and the text of an answer; of one that does not come, None and nothing."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as wire:
        try:
            wire.putrequest("GET", path, skip_host=True)
            wire.putheader("Host", host or f"127.0.0.1:{server.port}")
            wire.endheaders()
            answer = wire.getresponse()
        except (OSError, http.client.HTTPException):
            return None, ""
        return answer.status, answer.read().decode()


@pytest.fixture
def idle(server):
    """Return a function that connects so many clients that never say a word."""
    with contextlib.ExitStack() as stack:
        yield lambda count: [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(count)
        ]


def test_metrics_are_told_in_the_form_that_prometheus_asks_for(server):
    assert "weight 3.0" in asked(server)[1]
    assert asked(server, "/plan.json")[0] == 404


@pytest.mark.parametrize("host", ["evil.example:{}", "{}.evil.example:{}", "127.0.0.1:1"])
def test_a_name_of_another_computer_is_refused(server, host):
    assert asked(server, host=host.format(server.port, server.port))[0] == 421


def test_the_name_of_this_computer_is_served(server):
    assert asked(server, host=f"{socket.gethostname()}:{server.port}")[0] == 200


def test_idle_clients_take_no_more_than_their_places_and_are_hung_up_on_after_their_time(server, idle, monkeypatch):
    clients = idle(3 * guarded_server.AT_ONCE)
    until(lambda: len(server._open) == guarded_server.AT_ONCE)
    assert asked(server) == (None, "")  # too many are there
    monkeypatch.setattr(guarded_server, "SECONDS", 0.0)
    until(lambda: asked(server)[0] == 200)
    assert len(server._open) <= guarded_server.AT_ONCE
    assert clients[0].recv(1) == b""
