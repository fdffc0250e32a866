"""Prometheus is shown what was read, as text over HTTP, and what is missing is left out."""

import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tagloom.adapters.exporter import Exporter
from tagloom.errors import InputError
from test_history import SEEN


def shown(exporter):
    with urllib.request.urlopen(f"http://127.0.0.1:{exporter.port}/metrics", timeout=5) as page:
        text = page.read().decode()
    return {
        (sample.name, *(sample.labels[key] for key in ("switch", "port") if key in sample.labels)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_reading_is_shown_and_what_is_missing_is_not():
    exporter = Exporter(("127.0.0.1", 0))
    try:
        assert shown(exporter) == {}
        exporter.show(SEEN)
        found = shown(exporter)
        assert found["tagloom_switch_up", "s0"] == 1
        assert found["tagloom_switch_up", "s1"] == 0
        assert found["tagloom_port_in_octets_total", "s0", "g1"] == float(2**64 - 1)
        assert found["tagloom_port_oper_up", "s0", "g1"] == 0
        assert found["tagloom_switch_neighbours", "s0"] == 1
        assert ("tagloom_port_in_octets_total", "s0", "g2") not in found
        assert ("tagloom_switch_uptime_seconds", "s1") not in found
        assert ("tagloom_differences",) not in found
        exporter.show(SEEN, 3)
        assert shown(exporter)["tagloom_differences",] == 3
        with pytest.raises(InputError, match="expected a free port"):
            Exporter(("127.0.0.1", exporter.port))
    finally:
        exporter.close()
