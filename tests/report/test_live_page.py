"""The report as a page that is served: it follows observe and run, answers nothing else, and ends when told to."""

import http.client
import re
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from browser import Browser

from command_line.terminal import HEARS_INTERRUPTS
from fabrics import make_fabric
from tagloom import platforms
from tagloom.adapters.history import History
from tagloom.apply.abort import home_of
from tagloom.operate.clock_document import written
from tagloom.read import format_fabric
from tagloom.records.observation import Counters, Observation
from tagloom.records.timetable import ClockStatus
from waiting import until

RING = make_fabric("ring", 4, model="powerconnect-5324")
STATUS = ClockStatus(0.0, ("night.json",), "night", False, 1, 0.0, 0.0, 0.0, 0, None, 0, 0)


def reading(at, lost=()):
    """Show all ports of the ring up and sending, but for those that lost their link."""
    name_of = platforms.load("powerconnect-5324").port_name
    count = int(1e6 * (at % 1e6))
    return {
        switch.name: Observation(
            switch.name,
            at,
            uptime_seconds=at,
            ports=tuple(
                Counters(n, name_of(n), True, (s, n) not in lost, 10**9, in_octets=count, out_octets=count)
                for n in RING.used_ports[s]
            ),
        )
        for s, switch in enumerate(RING.switches)
    }


class Served:
    """A process that serves the page of a ring, its history, and the inventory whose run it follows."""

    def __init__(self, home):
        from tagloom.cli import main  # noqa: PLC0415 - beside its one use

        self.history, self.inventory = home / "h.db", home / "inventory"
        self.ahead = time.time() - time.monotonic()  # readings are one after another, though the clock be set
        self.inventory.mkdir()
        (home / "f.yml").write_text(format_fabric(RING))
        assert main(["plan", str(home / "f.yml"), "-o", str(home / "b")]) == 0
        for n in range(2):
            self.read(seconds_ago=60 * (2 - n))
        words = ["report", home / "b", "--serve", "0", "--traffic", self.history, "-i", self.inventory]
        self.process = subprocess.Popen(
            [*HEARS_INTERRUPTS, sys.executable, "-m", "tagloom.cli", *map(str, words)],
            stdout=subprocess.PIPE,
            text=True,
        )
        first = self.process.stdout.readline()
        self.url = re.search(r"http://127\.0\.0\.1:\d+/", first)[0]
        self.port = int(self.url.rstrip("/").rpartition(":")[2])

    def read(self, lost=(), seconds_ago=0):
        """Write a reading, as observe does."""
        at = self.ahead + time.monotonic() - seconds_ago
        with closing(History(self.history)) as history:
            history.append(RING.name, at, reading(at, lost))

    def ask(self, path="/", host=None, method="GET"):
        """Return the status, the headers and the text that a request is answered with."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as wire:
            wire.putrequest(method, path, skip_host=True)
            wire.putheader("Host", host or f"127.0.0.1:{self.port}")
            wire.endheaders()
            answer = wire.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()


@contextmanager
def serving(home):
    found = Served(home)
    try:
        yield found
    finally:
        found.process.terminate()
        found.process.wait()
        found.process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def served(server):
    """The process of all tests here, after a reading in which every link is up."""
    server.read()
    return server


def test_every_answer_has_the_headers_that_keep_a_page_to_itself(served):
    for path, expected in (("/", 200), ("/version", 200), ("/none", 404)):
        status, headers, _ = served.ask(path)
        assert status == expected
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Server"].strip() == "tagloom"
    assert served.ask("/")[2].startswith("<!doctype html>")
    assert served.ask("/", method="HEAD")[2] == ""


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/%2e%2e/b/plan.json", "/plan.json", "//etc/passwd", "/?x", "*"])
def test_no_path_leads_to_a_file(served, path):
    status, _, text = served.ask(path)
    assert (status, text) == (404, "404 Not Found\n")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{}", "127.0.0.1:1", "127.0.0.1", "[", "localhost:{}:{}"]
)
def test_a_request_for_another_name_is_refused(served, host):
    assert served.ask("/", host=host.format(served.port, served.port))[0] == 421


def test_the_names_of_this_computer_are_served(served):
    for host in ("localhost:{}", "LOCALHOST:{}", "127.0.0.1:{}", "[::1]:{}"):
        assert served.ask("/version", host=host.format(served.port))[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_written(served, method):
    assert served.ask("/", method=method)[0] == 501


def test_the_page_follows_what_observe_reads_and_what_run_does(served):
    before = served.ask("/version")[2]
    assert served.ask("/version")[2] == before  # nothing changed
    assert "s-off" not in served.ask()[2].partition('id="links"')[2].partition("</g>")[0]
    link = RING.links[1]
    served.read(lost={(link.a, link.a_port), (link.b, link.b_port)})
    text = served.ask()[2]
    assert served.ask("/version")[2] != before
    drawn = text.partition('id="links"')[2].partition("</g>")[0]
    assert [int(n) for n in re.findall(r'id="k(\d+)" class="link l\d s-off"', drawn)] == [1]
    assert "4 switches, just now" in text
    home_of(served.inventory).mkdir(exist_ok=True)
    with written(home_of(served.inventory), served.inventory / "day.yml", lambda _: None) as show:
        show(replace(STATUS, at=time.time()))
        assert "night.json, 1 link off" in " ".join(served.ask()[2].split())
    assert "night.json" not in served.ask()[2]


def test_a_file_that_is_damaged_leaves_the_page_as_it_was(served):
    whole, before = served.history.read_bytes(), served.ask("/version")[2]
    served.history.write_bytes(b"no history")
    assert served.ask("/version")[::2] == (200, before)
    served.history.write_bytes(whole)
    assert served.ask("/")[0] == 200


@pytest.mark.needs("chromium")
def test_a_browser_shows_it_light_and_dark_and_loads_it_anew_when_it_changed(served, tmp_path):
    browser = Browser(tmp_path)
    try:
        colours = []
        for dark in (False, True):
            browser.open(served.url, dark=dark)
            colours.append(browser.ask("getComputedStyle(document.body).backgroundColor"))
            assert browser.ask("document.querySelector('#now').checkVisibility()")
            assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
        assert len(set(colours)) == 2
        shown = browser.ask("document.querySelector('#now').dataset.version")
        served.read(lost={(RING.links[0].a, RING.links[0].a_port), (RING.links[0].b, RING.links[0].b_port)})
        loaded = "document.readyState === 'complete' && document.querySelector('#k0.s-off') !== null"
        until(lambda: browser.ask(loaded), seconds=60)
        assert browser.ask("document.querySelector('#now').dataset.version") != shown
        assert {url for url in browser.asked if not url.startswith(served.url)} == set()
    finally:
        browser.close()


@pytest.mark.slow
def test_it_ends_when_it_is_interrupted(tmp_path):
    with serving(tmp_path) as served:
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(60) == 0


@pytest.mark.slow
def test_neither_a_file_nor_a_port_and_a_port_that_is_none_are_findings(served, run, tmp_path):
    home = served.inventory.parent
    assert "expected -o FILE or --serve" in run("report", home / "b")[2]
    status, _, err = run("report", home / "b", "--serve", "none", "--traffic", tmp_path / "none.csv")
    assert status == 2
    assert "--serve: expected [HOST:]PORT" in err
    assert "none.csv" in err
