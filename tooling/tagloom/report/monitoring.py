"""Export what watches a fabric by the metrics of observe and run: rules for Prometheus, a dashboard for Grafana."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tagloom.records.fabric import Fabric

# Name, expression, how long it must hold, severity, what is wrong.
RULES = (
    (
        "TagloomSwitchSilent",
        "tagloom_switch_up == 0",
        "5m",
        "critical",
        "{{ $labels.switch }} does not answer over SNMP",
    ),
    (
        "TagloomReadingsOld",
        "time() - max(tagloom_switch_read_seconds) > 900",
        "5m",
        "warning",
        "tagloom observe has read no switch for a quarter of an hour",
    ),
    (
        "TagloomSwitchRestarted",
        "tagloom_switch_uptime_seconds < 600",
        "0m",
        "warning",
        "{{ $labels.switch }} restarted in the last ten minutes: is its configuration saved?",
    ),
    (
        "TagloomDiffers",
        "tagloom_differences > 0",
        "10m",
        "critical",
        "{{ $value }} findings against the build: tagloom status says which",
    ),
    (  # a port that was shut on purpose is not lost, and one that never had a link in the last day is free
        "TagloomPortLost",
        "tagloom_port_oper_up == 0 and tagloom_port_admin_up == 1 and max_over_time(tagloom_port_oper_up[1d]) == 1",
        "5m",
        "critical",
        "{{ $labels.switch }}:{{ $labels.port }} lost its link: tagloom repair --check",
    ),
    (
        "TagloomPortErrors",
        "increase(tagloom_port_in_errors_total[15m]) + increase(tagloom_port_out_errors_total[15m]) > 10",
        "15m",
        "warning",
        "{{ $labels.switch }}:{{ $labels.port }} has errors: its cable?",
    ),
    (
        "TagloomPortFull",
        "8 * rate(tagloom_port_out_octets_total[10m]) / tagloom_port_speed_bps > 0.9",
        "15m",
        "warning",
        "{{ $labels.switch }}:{{ $labels.port }} sends at over 90 % of its speed",
    ),
    (
        "TagloomPairsCut",
        "tagloom_run_pairs_cut > 0",
        "1m",
        "critical",
        "{{ $value }} pairs of hosts are cut off, after the last repair",
    ),
    (
        "TagloomPartsDead",
        "tagloom_run_dead_links + tagloom_run_dead_switches > 0",
        "5m",
        "warning",
        "{{ $value }} links and switches are dead",
    ),
    (
        "TagloomChangeFailed",
        "increase(tagloom_run_failures_total[15m]) + increase(tagloom_run_repair_failures_total[15m]) > 0",
        "0m",
        "critical",
        "tagloom run failed to change the fabric: tagloom status says how it stands",
    ),
    (
        "TagloomRunStopped",
        "time() - tagloom_run_looked_timestamp_seconds > 900",
        "5m",
        "critical",
        "tagloom run has not looked for a quarter of an hour",
    ),
)
# Title, unit as Grafana names it, and the queries with their legends.
PANELS = (
    ("Switches that answer", "none", (("sum(tagloom_switch_up)", "answer"), ("count(tagloom_switch_up)", "all"))),
    ("Findings against the build", "none", (("tagloom_differences", "findings"),)),
    (
        "Power by the model",
        "watt",
        (("tagloom_run_watts", "with the settings"), ("tagloom_run_full_watts", "all links on")),
    ),
    ("Links off", "none", (("tagloom_run_links_off", "off"), ("tagloom_run_dead_links", "dead"))),
    (
        "Busiest ports",
        "percentunit",
        (
            (
                "topk(10, 8 * rate(tagloom_port_out_octets_total[$__rate_interval]) / tagloom_port_speed_bps)",
                "{{switch}}:{{port}}",
            ),
            ("tagloom_run_busiest_channel_share", "busiest, as run sees it"),
        ),
    ),
    (
        "Traffic of all ports",
        "bps",
        (("8 * sum by (switch) (rate(tagloom_port_in_octets_total[$__rate_interval]))", "{{switch}}"),),
    ),
    (
        "Errors",
        "pps",
        (
            ("topk(10, rate(tagloom_port_in_errors_total[$__rate_interval]) > 0)", "in {{switch}}:{{port}}"),
            ("topk(10, rate(tagloom_port_out_errors_total[$__rate_interval]) > 0)", "out {{switch}}:{{port}}"),
        ),
    ),
    (
        "Changes and repairs",
        "none",
        (
            ("increase(tagloom_run_changes_total[1h])", "changes"),
            ("increase(tagloom_run_repairs_total[1h])", "repairs"),
            ("increase(tagloom_run_reweaves_total[1h])", "paths woven anew"),
            ("increase(tagloom_run_failures_total[1h])", "failed changes"),
            ("increase(tagloom_run_repair_failures_total[1h])", "failed repairs"),
            ("increase(tagloom_run_reweave_failures_total[1h])", "failed changes of paths"),
        ),
    ),
    ("Pairs of hosts cut off", "none", (("tagloom_run_pairs_cut", "pairs"),)),
    ("Settings that hold", "none", (("tagloom_run_settings", "{{settings}}"),)),
)
PANEL_WIDTH, PANEL_HEIGHT = 12, 8  # of a sheet that is 24 wide


def alert_rules(fabric: Fabric) -> str:
    """Return a rule file of Prometheus."""
    rules = [
        {
            "alert": name,
            "expr": expression,
            "for": held,
            "labels": {"severity": severity},
            "annotations": {"summary": summary},
        }
        for name, expression, held, severity, summary in RULES
    ]
    return yaml.safe_dump({"groups": [{"name": f"tagloom {fabric.name}", "rules": rules}]}, sort_keys=False, width=120)


def dashboard(fabric: Fabric) -> str:
    """Return a dashboard of Grafana, to be imported; its data source and its switches are chosen there."""
    page = {
        "title": f"tagloom {fabric.name}",
        "tags": ["tagloom"],
        "timezone": "browser",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [{"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"}]
        },
        "panels": list(_panels()),
    }
    return json.dumps(page, indent=1) + "\n"


def _panels() -> Iterator[dict[str, Any]]:
    source = {"type": "prometheus", "uid": "${source}"}
    for n, (title, unit, queries) in enumerate(PANELS):
        row, column = divmod(n, 24 // PANEL_WIDTH)
        yield {
            "id": n + 1,
            "type": "timeseries",
            "title": title,
            "datasource": source,
            "gridPos": {"x": column * PANEL_WIDTH, "y": row * PANEL_HEIGHT, "w": PANEL_WIDTH, "h": PANEL_HEIGHT},
            "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
            "targets": [
                {"refId": chr(ord("A") + i), "datasource": source, "expr": expression, "legendFormat": legend}
                for i, (expression, legend) in enumerate(queries)
            ],
        }
