"""Show the last readings to a Prometheus that asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from tagloom.adapters.metrics_server import MetricsServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prometheus_client.metrics_core import Metric

    from tagloom.records.observation import Observation
    from tagloom.records.snmp import Address

_COUNTERS = {
    "in_octets": "Octets received (ifHCInOctets)",
    "out_octets": "Octets sent (ifHCOutOctets)",
    "in_packets": "Unicast packets received (ifHCInUcastPkts)",
    "out_packets": "Unicast packets sent (ifHCOutUcastPkts)",
    "in_errors": "Packets received with errors (ifInErrors)",
    "out_errors": "Packets not sent for errors (ifOutErrors)",
}
_GAUGES = {
    "oper_up": "1 where the port has link (ifOperStatus)",
    "admin_up": "1 where the port is not shut (ifAdminStatus)",
    "speed_bps": "Speed in bits per second (ifHighSpeed)",
}


class Exporter(Collector):
    """The last readings, and serve them over HTTP until the process ends.

    What a switch does not have is left out, as Prometheus wants it. Raises InputError where nobody can listen there.
    """

    def __init__(self, address: Address) -> None:
        self._seen: Mapping[str, Observation] = {}
        self._differences: int | None = None
        registry = CollectorRegistry()
        registry.register(self)
        self._server = MetricsServer(address, registry)

    @property
    def port(self) -> int:
        """Return the TCP port that is listened on."""
        return self._server.port

    def close(self) -> None:
        """Stop listening."""
        self._server.end()

    def show(self, seen: Mapping[str, Observation], differences: int | None = None) -> None:
        """Take the next readings, and in how much they differ from what they were compared with, if anything."""
        self._seen, self._differences = seen, differences

    def collect(self) -> Iterator[Metric]:
        """Yield every metric of the last readings."""
        answered = GaugeMetricFamily("tagloom_switch_up", "1 where the switch answered", labels=["switch"])
        read = GaugeMetricFamily("tagloom_switch_read_seconds", "When it was read, since the epoch", labels=["switch"])
        uptime = GaugeMetricFamily(
            "tagloom_switch_uptime_seconds", "Time since its boot (sysUpTime)", labels=["switch"]
        )
        neighbours = GaugeMetricFamily("tagloom_switch_neighbours", "LLDP neighbours", labels=["switch"])
        for switch, each in self._seen.items():
            answered.add_metric([switch], 0 if each.error else 1)
            if not each.error:
                read.add_metric([switch], each.at)
                neighbours.add_metric([switch], len(each.neighbours))
                if each.uptime_seconds is not None:
                    uptime.add_metric([switch], each.uptime_seconds)
        yield from (answered, read, uptime, neighbours)
        if self._differences is not None:
            differ = GaugeMetricFamily("tagloom_differences", "Findings against the build or running configurations")
            differ.add_metric([], self._differences)
            yield differ
        for name, what in (_COUNTERS | _GAUGES).items():
            family = CounterMetricFamily if name in _COUNTERS else GaugeMetricFamily
            metric = family(f"tagloom_port_{name}", what, labels=["switch", "port"])
            for switch, each in self._seen.items():
                for port in each.ports:
                    value = getattr(port, name)
                    if value is not None:
                        metric.add_metric([switch, port.name], value)
            yield metric
