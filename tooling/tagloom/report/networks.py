"""What a report says of each of several networks: its hosts, VLANs and loads, and when its bytes are moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.report.decimals import decimal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.records.report import Report


def networks_payload(report: Report) -> dict[str, dict[str, Any]]:
    """Return each network by its name, with the keys of the command line; {} if there is but one."""
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
        }
    return found


def network_rows(report: Report, forecast: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return a row of the page's table for each network; `forecast` is the forecast's payload."""
    rows = []
    for name, network in networks_payload(report).items():
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
        }
        if moved := forecast["networks"].get(name):
            row["bytes"] = f"{moved['volume_bytes']:,.0f}"
            for when in ("before", "after"):
                seconds = moved[f"communication_seconds_{when}"]
                row[when] = "not followed" if seconds is None else f"{decimal(seconds)} s"
        rows.append(row)
    return rows


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
