"""What a report says of each of several networks: its hosts, VLANs and loads, and when its bytes are moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.report.decimals import decimal
from tagloom.report.terminal import network_payload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.records.report import Report

# What the forecast says of each network.
FORECAST = (
    "volume_bytes",
    "communication_seconds_before",
    "communication_seconds_after",
    "seconds_base",
    "seconds_predicted",
    "seconds_predicted_low",
    "seconds_predicted_high",
    "slowdown_percent",
)


def networks_payload(report: Report) -> dict[str, dict[str, Any]]:
    """Return each network by its name, with the keys of the command line; {} if there is but one.

    Its bytes and seconds are None where no traffic, or no run, is known.
    """
    forecasts = {each.name: network_payload(each) for each in report.forecast.networks}
    used = np.array([network.load > 0 for network in report.networks])
    several = used.sum(axis=0) > 1 if len(used) else used
    found = {}
    for network, own in zip(report.networks, used, strict=True):
        busiest = int(network.load.argmax()) if own.any() else -1
        found[network.name] = {
            "hosts": network.hosts,
            "pairs": network.pairs,
            "vlans": list(network.vlans),
            "max_channel_load": float(network.load.max(initial=0.0)),
            "busiest_channel": _channel(report, busiest) if busiest >= 0 else None,
            "channel_load_of_all": float(report.load[busiest]) if busiest >= 0 else 0.0,
            "channels": int(own.sum()),
            "shared_channels": int((own & several).sum()),
            **{key: forecasts.get(network.name, {}).get(key) for key in FORECAST},
        }
    return found


def network_rows(report: Report) -> list[dict[str, str]]:
    """Return a row of the page's table for each network; without traffic, no bytes, without a run, no seconds of it."""
    rows = []
    found = networks_payload(report)
    for name, network in found.items():
        most, of_all = network["max_channel_load"], network["channel_load_of_all"]
        row = {
            "name": name,
            "hosts": f"{network['hosts']:,}",
            "pairs": f"{network['pairs']:,}",
            "vlans": ", ".join(map(str, network["vlans"])),
            "most": f"{most:,.0f}",
            "share": f"{decimal(100 * most / of_all, 2)} %" if of_all else "-",
            "channel": network["busiest_channel"] or "-",
            "shared": f"{network['shared_channels']:,} of {network['channels']:,}",
            "bytes": "",
            "run_before": "",
        }
        if network["volume_bytes"] is not None:
            row["bytes"] = f"{network['volume_bytes']:,.0f}"
            for when in ("before", "after"):
                seconds = network[f"communication_seconds_{when}"]
                row[when] = "not followed" if seconds is None else f"{decimal(seconds)} s"
        if any(each["seconds_base"] is not None for each in found.values()):
            row["run_before"], row["run_after"] = _run(network)
        rows.append(row)
    return rows


def _run(network: Mapping[str, Any]) -> tuple[str, str]:
    """Return how long a network's run takes with all links on, and as forecast with its interval."""
    if network["seconds_base"] is None:
        return "-", "-"
    low, high = (decimal(network[f"seconds_predicted_{end}"]) for end in ("low", "high"))
    between = f" ({low} to {high})" if low != high else ""
    return f"{decimal(network['seconds_base'])} s", f"{decimal(network['seconds_predicted'])} s{between}"


def owners_of_vlans(report: Report) -> dict[int, list[str]]:
    """Return the networks that each VLAN is of, by its id."""
    owners: dict[int, list[str]] = {}
    for network in report.networks:
        for vlan in network.vlans:
            owners.setdefault(vlan, []).append(network.name)
    return owners


def _channel(report: Report, channel: int) -> str:
    a, b = report.link_names[channel // 2]
    return f"{a} -> {b}" if channel % 2 == 0 else f"{b} -> {a}"
