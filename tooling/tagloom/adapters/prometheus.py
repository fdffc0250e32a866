"""Ask a Prometheus for the readings it kept of tagloom's exporter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

from tagloom.errors import DeviceError, Finding, InputError
from tagloom.records.observation import Counters, Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIMEOUT_SECONDS = 30.0
POINTS = 240  # times asked for; Prometheus itself answers at most 11,000
LEAST_STEP_SECONDS = 1.0
_OF_PORT = {
    "in_octets": "tagloom_port_in_octets_total",
    "out_octets": "tagloom_port_out_octets_total",
    "speed_bps": "tagloom_port_speed_bps",
}
_OF_SWITCH = {"at": "tagloom_switch_read_seconds", "uptime": "tagloom_switch_uptime_seconds"}


def snapshots(
    url: str, seconds: float, now: float, number_of: Callable[[str, str], int | None]
) -> Iterator[dict[str, Observation]]:
    """Yield what was read in the last `seconds`, oldest first: a snapshot at every step of a range query.

    All series are asked for at the same times (GET /api/v1/query_range), so that a port's counters stand beside the
    time and the uptime of the same reading; a reading that Prometheus shows at several steps is the same one.
    `number_of(switch, port)` gives our number of a port by its name, None for switches and ports of other fabrics. A
    sample is a float64: counters beyond 2^53 bytes lose their last digits. Raises InputError for a URL that is none,
    DeviceError where the server does not answer as Prometheus does.
    """
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise InputError([Finding("--prometheus", "http://HOST:PORT of a Prometheus", repr(url))])
    step = max(LEAST_STEP_SECONDS, seconds / POINTS)
    ports: dict[float, dict[tuple[str, int], dict[str, float]]] = {}
    switches: dict[float, dict[str, dict[str, float]]] = {}
    names: dict[tuple[str, int], str] = {}
    for key, metric in (_OF_PORT | _OF_SWITCH).items():
        for labels, values in _series(url, metric, now - seconds, now, step):
            switch, port = str(labels.get("switch", "")), str(labels.get("port", ""))
            number = number_of(switch, port)
            if number is None:
                continue
            names[switch, number] = port
            for at, value in values:
                if key in _OF_PORT:
                    ports.setdefault(float(at), {}).setdefault((switch, number), {})[key] = float(value)
                else:
                    switches.setdefault(float(at), {}).setdefault(switch, {})[key] = float(value)
    for at in sorted(switches):
        seen: dict[str, list[Counters]] = {}
        for (switch, number), reported in sorted(ports.get(at, {}).items()):
            whole = {key: round(value) for key, value in reported.items()}
            into, out, speed = (whole.get(key) for key in _OF_PORT)
            seen.setdefault(switch, []).append(
                Counters(number, names[switch, number], speed_bps=speed, in_octets=into, out_octets=out)
            )
        yield {
            switch: Observation(
                switch, reported["at"], uptime_seconds=reported.get("uptime"), ports=tuple(seen.get(switch, ()))
            )
            for switch, reported in switches[at].items()
            if "at" in reported
        }


def _series(url: str, query: str, start: float, end: float, step: float) -> Iterator[tuple[dict[str, Any], Any]]:
    words = urlencode({"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"})
    address = f"{url.rstrip('/')}/api/v1/query_range?{words}"
    try:
        with urlopen(address, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - the scheme was checked
            page = json.load(answer)
        if page["status"] != "success" or page["data"]["resultType"] != "matrix":
            raise ValueError(page.get("error", "another answer than a matrix"))  # noqa: TRY301 - a fault like the others
        found = [
            (each["metric"], [(float(at), float(v)) for at, v in each["values"]]) for each in page["data"]["result"]
        ]
    except (URLError, OSError, ValueError, KeyError, TypeError) as error:
        raise DeviceError(url, f"GET /api/v1/query_range {query}", str(error)) from None
    yield from found
