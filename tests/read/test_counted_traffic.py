"""Traffic from counters: a history of observe's and a Prometheus lead to settings, and say what they cannot know."""

import json
import socket
import subprocess
import time
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom import platforms
from tagloom.adapters.exporter import Exporter
from tagloom.adapters.history import History
from tagloom.cli import main
from tagloom.graph.paths import channel_load
from tagloom.read import format_fabric
from tagloom.records.observation import Counters, Observation
from tagloom.route import route
from waiting import until

SECONDS = 300.0


@pytest.fixture(scope="module")
def torus():
    return make_fabric("torus", 3, 3, model="powerconnect-5324")


@pytest.fixture(scope="module")
def volume():
    matrix = np.random.default_rng(7).integers(0, 9, (9, 9)) * 1e6
    np.fill_diagonal(matrix, 0.0)
    return matrix


def readings(fabric, volume, at, times):
    """Show the counters of all switches after `times` times the matrix went over the planned routes."""
    load = channel_load(fabric, route(fabric, "auto"), volume)
    ports = {switch.name: {} for switch in fabric.switches}
    for h, host in enumerate(fabric.hosts):
        ports[fabric.switches[host.switch].name][host.port] = volume[h].sum(), volume[:, h].sum()
    for i, link in enumerate(fabric.links):
        ports[fabric.switches[link.a].name][link.a_port] = load[2 * i + 1], load[2 * i]
        ports[fabric.switches[link.b].name][link.b_port] = load[2 * i], load[2 * i + 1]
    name_of = platforms.load("powerconnect-5324").port_name
    return {
        switch: Observation(
            switch,
            at,
            uptime_seconds=1e5 + at,
            ports=tuple(
                Counters(n, name_of(n), speed_bps=10**9, in_octets=500 + int(times * a), out_octets=int(times * b))
                for n, (a, b) in sorted(mine.items())
            ),
        )
        for switch, mine in ports.items()
    }


@pytest.fixture
def told(torus, volume, tmp_path):
    """Write the fabric file and a history of three readings."""
    path = tmp_path / "history.sqlite"
    with closing(History(path)) as history:
        for shot in range(3):
            history.append(torus.name, 1e6 + SECONDS * shot, readings(torus, volume, 1e6 + SECONDS * shot, shot))
    (tmp_path / "fabric.yml").write_text(format_fabric(torus))
    return tmp_path / "fabric.yml", path


@pytest.mark.kernel
@pytest.mark.slow
def test_a_history_leads_to_settings_and_says_what_it_cannot_know(told, torus, volume, answer):
    status, page = answer("regulate", told[0], "--traffic", told[1], "--method", "greedy")
    assert status == 0
    load = channel_load(torus, route(torus, "auto"), volume)
    assert page["max_channel_load_before"] == pytest.approx(2 * load.max(), rel=1e-6)
    assert page["max_channel_load_after"] <= page["max_channel_load_before"]
    remarks = " ".join(page["remarks"])
    for words in ("who sent to whom", "2 intervals, 600 s", "octets hold", "pairs' bytes free", "within"):
        assert words in remarks
    status, page = answer("regulate", told[0], "--traffic", told[1], "--span", "300", "--headroom", "0.1")
    assert status == 0
    assert page["max_channel_load_before"] == pytest.approx(load.max(), rel=1e-6)


@pytest.mark.kernel
def test_plan_and_predict_take_a_history_too(told, torus, volume, tmp_path, answer):
    status, page = answer("plan", told[0], "--traffic", told[1], "-o", tmp_path / "b")
    assert status == 0
    bytes_there = channel_load(torus, route(torus, "auto"), 2 * volume).max()
    assert 0.1 * bytes_there < page["max_channel_load"] <= bytes_there * (1 + 1e-6)
    status, page = answer("predict", tmp_path / "b", "--traffic", told[1])
    assert status == 0
    assert "who sent to whom" in " ".join(page["assumed"])


def test_a_switch_that_was_not_read_once_is_told_and_the_rest_stands_for_it(torus, volume, tmp_path, answer):
    path = tmp_path / "history.sqlite"
    with closing(History(path)) as history:
        for shot in range(4):
            seen = readings(torus, volume, 1e6 + SECONDS * shot, shot)
            if shot == 1:
                seen["s4"] = Observation("s4", 1e6 + SECONDS, error="no answer")
            history.append(torus.name, 1e6 + SECONDS * shot, seen)
    (tmp_path / "fabric.yml").write_text(format_fabric(torus))
    status, page = answer("regulate", tmp_path / "fabric.yml", "--traffic", path)
    assert status == 0
    assert "between some readings s4 gave no rates" in " ".join(page["remarks"])
    assert page["max_channel_load_before"] == pytest.approx(
        3 * channel_load(torus, route(torus, "auto"), volume).max(), rel=1e-6
    )


def test_too_little_history_and_every_other_fault_are_found_at_once(told, torus, volume, tmp_path, capsys):
    one = tmp_path / "one.sqlite"
    with closing(History(one)) as history:
        history.append("another", 1e6, readings(torus, volume, 1e6, 0))
    words = ["--levels", "off,7", "--headroom", "2", "--time-limit", "-1", "--power", str(tmp_path / "none.yml")]
    assert main(["regulate", str(told[0]), "--traffic", str(one), *words]) == 2
    shown = capsys.readouterr().err
    for expected in ("two readings or more", "--levels", "--headroom", "--time-limit", "none.yml"):
        assert expected in shown
    with closing(History(one)) as history:
        history.append(torus.name, 1e6, readings(torus, volume, 1e6, 0))
    assert main(["regulate", str(told[0]), "--traffic", str(one)]) == 2
    assert "actual one" in capsys.readouterr().err
    assert main(["regulate", str(told[0]), "--traffic", str(told[1]), "--span", "0"]) == 2
    assert "--span" in capsys.readouterr().err
    assert main(["regulate", "none.yml", "--traffic", "none.csv", "--levels", "loud"]) == 2
    shown = capsys.readouterr().err
    assert "none.yml" in shown
    assert "--levels" in shown


# --- Prometheus ------------------------------------------------------------------------------------------------------


@contextmanager
def serving(answer_of):
    """Answer HTTP on a free loopback port."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            status, text = answer_of(self.path)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def kept(fabric, volume, now):
    """Answer range queries as Prometheus documents them: readings at two times, repeated until the next."""
    shots = [
        (now - 200.0, readings(fabric, volume, now - 200.0, 0)),
        (now - 50.0, readings(fabric, volume, now - 50.0, 1)),
    ]

    def samples(metric, seen):
        for switch, each in seen.items():
            if metric == "tagloom_switch_read_seconds":
                yield {"switch": switch}, each.at
            elif metric == "tagloom_switch_uptime_seconds":
                yield {"switch": switch}, each.uptime_seconds
            for port in each.ports if metric.startswith("tagloom_port_") else ():
                name = metric.removeprefix("tagloom_port_").removesuffix("_total")
                yield {"switch": switch, "port": port.name}, getattr(port, name)

    def answer_of(path):
        assert urlsplit(path).path == "/api/v1/query_range"
        asked = {key: words[0] for key, words in parse_qs(urlsplit(path).query).items()}
        series = {}
        for at in np.arange(float(asked["start"]), float(asked["end"]), float(asked["step"])):
            for since, seen in shots[::-1]:
                if since <= at:
                    for labels, value in samples(asked["query"], seen):
                        found = series.setdefault(json.dumps(labels), {"metric": labels, "values": []})
                        found["values"].append([at, str(value)])
                    break
        page = {"status": "success", "data": {"resultType": "matrix", "result": list(series.values())}}
        return 200, json.dumps(page)

    return answer_of


def test_a_prometheus_leads_to_the_same_settings(told, torus, volume, answer):
    with serving(kept(torus, volume, time.time())) as url:
        status, page = answer("regulate", told[0], "--prometheus", url, "--span", "240")
    assert status == 0
    load = channel_load(torus, route(torus, "auto"), volume)
    assert page["max_channel_load_before"] == pytest.approx(load.max(), rel=1e-6)
    assert "1 interval, 150 s" in " ".join(page["remarks"])


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ((500, "out of memory"), "500"),
        ((200, "<html>"), "Expecting value"),
        ((200, '{"status": "error", "error": "bad query"}'), "bad query"),
        ((200, '{"status": "success", "data": {"resultType": "vector", "result": []}}'), "another answer"),
    ],
    ids=["status", "html", "error", "vector"],
)
def test_what_is_no_prometheus_is_told_with_what_it_answered(told, capsys, reply, words):
    with serving(lambda _path: reply) as url:
        assert main(["regulate", str(told[0]), "--prometheus", url]) == 3
    shown = capsys.readouterr().err
    assert url in shown
    assert words in shown


def test_a_url_that_is_none_and_an_empty_prometheus_are_findings(told, capsys):
    assert main(["regulate", str(told[0]), "--prometheus", "ftp://x"]) == 2
    assert "http://HOST:PORT" in capsys.readouterr().err
    nothing = '{"status": "success", "data": {"resultType": "matrix", "result": []}}'
    with serving(lambda _path: (200, nothing)) as url:
        assert main(["regulate", str(told[0]), "--prometheus", url]) == 2
    assert "two readings or more" in capsys.readouterr().err


@pytest.mark.needs("prometheus")
def test_a_real_prometheus_that_scrapes_the_real_exporter(told, torus, volume, tmp_path, answer):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with closing(Exporter(("127.0.0.1", 0))) as exporter:
        began = time.time()
        exporter.show(readings(torus, volume, began, 0))
        target = f"127.0.0.1:{exporter.port}"
        (tmp_path / "p.yml").write_text(
            f"scrape_configs: [{{job_name: t, scrape_interval: 1s, static_configs: [{{targets: ['{target}']}}]}}]\n"
        )
        words = [f"--config.file={tmp_path}/p.yml", f"--storage.tsdb.path={tmp_path}/data"]
        process = subprocess.Popen(
            ["prometheus", *words, f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            until(lambda: _value(url, "min(tagloom_switch_read_seconds)") == pytest.approx(began, rel=0, abs=0.1))
            until(
                lambda: _value(url, SOME_TIME_AGO) == pytest.approx(began, rel=0, abs=0.1)
            )  # a step of the range query sees it
            again = time.time()
            exporter.show(readings(torus, volume, again, 1))
            until(lambda: _value(url, "min(tagloom_switch_read_seconds)") == pytest.approx(again, rel=0, abs=0.1))
            until(lambda: _value(url, SOME_TIME_AGO) == pytest.approx(again, rel=0, abs=0.1))
            status, page = answer("regulate", told[0], "--prometheus", url, "--span", "20")
        finally:
            process.terminate()
            process.wait(30)
    assert status == 0
    load = channel_load(torus, route(torus, "auto"), volume)
    assert page["max_channel_load_before"] == pytest.approx(load.max(), rel=1e-6)


SOME_TIME_AGO = "min(tagloom_switch_read_seconds%20offset%202s)"


def _value(url, query):
    try:
        with urlopen(f"{url}/api/v1/query?query={query}") as found:  # noqa: S310 - loopback
            (result,) = json.load(found)["data"]["result"]
            return float(result["value"][1])
    except (OSError, ValueError):
        return None
