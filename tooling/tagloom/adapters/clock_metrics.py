"""Show how a running timetable stands to Prometheus: over HTTP, or in a file for node_exporter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, write_to_textfile
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from tagloom.adapters.metrics_server import MetricsServer
from tagloom.errors import Finding, InputError
from tagloom.storage.outputs import FORCE, RULE
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prometheus_client.metrics_core import Metric

    from tagloom.records.snmp import Address
    from tagloom.records.timetable import ClockStatus


class ClockMetrics(Collector):
    """The last status, serve it until closed, and write it where asked (node_exporter's textfile collector).

    Raises InputError where nobody can listen there, or the file cannot be written.
    """

    def __init__(self, address: Address | None, file: Path | None, *, force: bool = False) -> None:
        self._status: ClockStatus | None = None
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self._file = file
        if file is not None and not force:
            self.refuse_other(file)
        self._write()
        self._server = MetricsServer(address, self._registry) if address is not None else None

    @property
    def port(self) -> int:
        """Return the TCP port that is listened on, 0 for none."""
        return self._server.port if self._server is not None else 0

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.end()

    def show(self, status: ClockStatus) -> None:
        """Take the next status."""
        self._status = status
        self._write()

    def _write(self) -> None:
        if self._file is not None:
            try:
                write_to_textfile(str(self._file), self._registry)
            except OSError as error:
                expected = "a file that can be written"
                raise InputError([Finding(f"--metrics-file {self._file}", expected, str(error))]) from None

    @staticmethod
    def refuse_other(file: Path) -> None:
        """Raise InputError for a file that has anything but metrics of tagloom's; an empty one may be overwritten."""
        if not file.is_file() or not (text := read_text(file, "a file of metrics")):
            return
        helps = re.findall(r"^# HELP (\S+)", text, re.MULTILINE)
        if not helps or not all(name.startswith("tagloom_") for name in helps):
            raise InputError([Finding(str(file), RULE, f"a file that tagloom has no record of ({FORCE})")])

    def collect(self) -> Iterator[Metric]:
        """Yield every metric of the last status."""
        s = self._status
        if s is None:
            return
        names = GaugeMetricFamily("tagloom_run_settings", "1 for the settings that hold", labels=["settings"])
        names.add_metric([" + ".join(s.settings) or "unknown"], 1)
        yield names
        plan = GaugeMetricFamily("tagloom_run_scheduled", "1 for what the timetable says", labels=["settings"])
        plan.add_metric([s.scheduled], 1)
        yield plan
        blind = GaugeMetricFamily("tagloom_run_look_failed", "1 while looks fail, with the error", labels=["error"])
        blind.add_metric([s.look.error], float(bool(s.look.error)))
        yield blind
        gauges = {
            "raised": (float(s.raised), "1 while load keeps all links on"),
            "links_off": (s.links_off, "Links that the settings leave off"),
            "watts": (s.watts, "What the switches draw with the settings, by the model"),
            "full_watts": (s.full_watts, "What they draw with all links on, by the model"),
            "busiest_channel_share": (s.busiest_share, "Of its speed, on the busiest channel at the last reading"),
            "jobs": (s.jobs, "Jobs that ask for settings"),
            "next_change_timestamp_seconds": (s.next_at, "When the timetable next begins something"),
            "dead_links": (s.dead.dead_links, "Links that are dead"),
            "dead_switches": (s.dead.dead_switches, "Switches that are dead"),
            "pairs_cut": (s.dead.pairs_cut, "Ordered pairs of hosts that are cut off, after the last repair"),
            "woven": (float(s.reweave.woven), "1 while paths are those planned for measured traffic"),
            "reweave_gain": (s.reweave.gain, "Share by which the busiest channel's load would fall, by the forecast"),
            "looked_timestamp_seconds": (s.at, "When it last looked"),
            "good_look_timestamp_seconds": (s.look.good_at, "When it last saw the fabric"),
        }
        for name, (value, what) in gauges.items():
            if value is not None:
                yield GaugeMetricFamily(f"tagloom_run_{name}", what, value=value)
        yield CounterMetricFamily("tagloom_run_changes", "Changes of settings", value=s.changes)
        yield CounterMetricFamily("tagloom_run_failures", "Changes that failed", value=s.failures)
        yield CounterMetricFamily("tagloom_run_repairs", "Repairs since the start", value=s.dead.repairs)
        yield CounterMetricFamily("tagloom_run_repair_failures", "Repairs that failed", value=s.dead.failures)
        yield CounterMetricFamily("tagloom_run_reweaves", "Changes of paths for traffic", value=s.reweave.changes)
        yield CounterMetricFamily("tagloom_run_reweave_failures", "Those that failed", value=s.reweave.failures)
