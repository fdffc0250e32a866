"""Write chosen link settings as JSON, and read them: links off or slowed, routes, ports that may sleep."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.platforms.port_names import link_at, link_ends, links_near, parts_at, too_fast
from tagloom.records.forms import SettingsForm
from tagloom.regulate.forest import routes_of
from tagloom.storage.document import checked, read_json, shown

if TYPE_CHECKING:
    from collections.abc import Collection

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.settings import LinkSettings, NetworkSettings
    from tagloom.records.timetable import Timetable

EXPECTED = "settings made by tagloom regulate"
GIGABIT_BYTES = 1e9 / 8  # per second, to which loads are scaled
OF_WATTS = ("watts_before", "watts_after", "saving_percent", "lower_bound_watts", "gap_percent", "survive_watts")


def to_json(fabric: Fabric, settings: LinkSettings) -> dict[str, Any]:
    """Return chosen settings with the keys of the command line; `off`, `slowed`, `asleep` name links by both ends."""
    after = settings.watts_after
    lower = settings.lower_bound_watts
    payload = {
        "method": settings.method,
        "links_off": len(settings.links_off),
        "links_slowed": len(settings.links_slowed),
        "links_asleep": len(settings.links_asleep),
        "hosts_asleep": len(settings.hosts_asleep),
        "watts_before": round(settings.watts_before, 6),
        "watts_after": round(after, 6),
        "saving_percent": round(settings.saving_percent, 6),
        "max_channel_load_before": round(settings.max_channel_load_before),
        "max_channel_load_after": round(settings.max_channel_load_after),
        **_shares(settings),
        "average_hops_before": _rounded(settings.average_hops_before),
        "average_hops_after": _rounded(settings.average_hops_after),
        "max_hops_before": settings.max_hops_before,
        "max_hops_after": settings.max_hops_after,
        "lower_bound_watts": round(lower, 6),
        "gap_percent": round(100.0 * (after - lower) / after, 6) if after else 0.0,
        "bound_source": settings.bound_source,
        "bound_holds_for": settings.bound_holds_for,
        "two_connected": settings.two_connected,
        "survive": "none" if settings.survive_watts is None else "link",
        "survive_watts": None if settings.survive_watts is None else round(settings.survive_watts, 6),
        "remarks": list(settings.remarks),
        "off": [{"ends": list(link_ends(fabric, i))} for i in settings.links_off],
        "slowed": [{"ends": list(link_ends(fabric, i)), "mbps": s} for i, s in settings.links_slowed],
        "asleep": [{"ends": list(link_ends(fabric, i))} for i in settings.links_asleep],
        "sleeping_hosts": [fabric.hosts[h].name for h in settings.hosts_asleep],
        "trees": [list(tree) for tree in settings.forest],
        "tree_of_host": list(settings.tree_of_host),
        "networks": {network.name: _network(network) for network in settings.networks},
        "power_unknown": list(settings.power_unknown),
    }
    return payload | (dict.fromkeys(OF_WATTS) if settings.power_unknown else {})


def _shares(settings: LinkSettings) -> dict[str, Any]:
    """Return the busiest channel's load afterwards as a share of its speed, and how sure it is."""
    bound, missing, notes = settings.headroom.bound, settings.headroom.missing, settings.headroom.notes
    capacity = GIGABIT_BYTES * settings.seconds if settings.seconds else None
    share = settings.max_channel_load_after / capacity if capacity else None
    most = bound / capacity if capacity and bound is not None else None
    return {
        "max_channel_load_bound": None if bound is None else round(bound),
        "max_channel_share": None if share is None else round(share, 6),
        "max_channel_share_bound": None if most is None else round(most, 6),
        "headroom_is": settings.headroom.kind,
        "headroom_missing": list(missing),
        "headroom_notes": list(notes),
    }


def _network(network: NetworkSettings) -> dict[str, Any]:
    after = network.max_channel_load_after
    return {
        "max_channel_load_before": round(network.max_channel_load_before),
        "max_channel_load_after": None if after is None else round(after),
        "average_hops_before": _rounded(network.average_hops_before),
        "average_hops_after": _rounded(network.average_hops_after),
        "max_hops_before": network.max_hops_before,
        "max_hops_after": network.max_hops_after,
    }


def _rounded(hops: float | None) -> float | None:
    return None if hops is None else round(hops, 6)


def settings_routes(fabric: Fabric, settings: LinkSettings) -> Routes | None:
    """Return the routes chosen with settings, None if the method left them to the planner. Raises ValueError."""
    if not settings.forest:
        return None
    forest = [list(tree) for tree in settings.forest]
    reason = f"{len(forest)} trees chosen for the traffic with the links ({settings.method})"
    return routes_of(fabric, forest, np.array(settings.tree_of_host), "regulated", reason)


@dataclass(frozen=True, eq=False)
class RegulateResult:
    """What a plan reads from a settings file besides links off: the routes, and ports that may sleep by switch."""

    routes: Routes | None
    asleep: dict[str, set[int]]
    sleeping_hosts: tuple[str, ...]


def read_result(fabric: Fabric, path: Path) -> RegulateResult:
    """Return the routes and sleeping ports of a settings file for the fabric with its links off. Raises InputError."""
    expected = "settings made by tagloom regulate for this fabric"
    payload = checked(SettingsForm, read_json(path, expected), str(path))
    asleep: dict[str, set[int]] = {}
    wrong: list[Finding] = []
    for end in (end for each in payload.asleep for end in each.ends):
        name, _, word = end.partition(":")
        known = name in fabric.index
        port = platforms.of(fabric.switches[fabric.index[name]]).port_number(word) if known else None
        if port is None:
            wrong.append(Finding(f"{path}: asleep", "switch:port of this fabric", shown(end)))
        else:
            asleep.setdefault(name, set()).add(port)
    hosts = {host.name: host for host in fabric.hosts}
    for name in payload.sleeping_hosts:
        if name in hosts:
            asleep.setdefault(fabric.switches[hosts[name].switch].name, set()).add(hosts[name].port)
        else:
            wrong.append(Finding(f"{path}: sleeping_hosts", "a host of this fabric", shown(name)))
    routes = None
    if payload.trees:
        links = [i for tree in payload.trees for i in tree]
        if len(payload.tree_of_host) != len(hosts) or max(payload.tree_of_host, default=0) >= len(payload.trees):
            wrong.append(Finding(f"{path}: tree_of_host", "one of the trees for every host of this fabric", "others"))
        elif max(links, default=0) >= len(fabric.links) or not all(fabric.links[i].up for i in links):
            wrong.append(Finding(f"{path}: trees", "trees over links of this fabric that are up", "others"))
        else:
            reason = f"{len(payload.trees)} trees chosen for the traffic with the links ({payload.method})"
            try:
                routes = routes_of(fabric, payload.trees, np.array(payload.tree_of_host, np.int64), "regulated", reason)
            except ValueError as error:
                wrong.append(Finding(f"{path}: trees", "trees that lead to every host", str(error)))
    if wrong:
        raise InputError(wrong)
    return RegulateResult(routes, asleep, tuple(payload.sleeping_hosts))


def read_settings(fabric: Fabric, table: Timetable, name: str) -> tuple[Fabric, RegulateResult]:
    """Return a fabric under settings of a timetable, and their routes; other names are paths of settings files.

    Raises InputError.
    """
    if (ends := table.links.get(name)) is not None:
        return with_links_off(fabric, ends, None), RegulateResult(None, {}, ())
    path = table.files.get(name) or Path(name)
    smaller = with_links_off(fabric, [], path)
    return smaller, read_result(smaller, path)


def with_links_off(fabric: Fabric, ends: Collection[str], settings: Path | None) -> Fabric:
    """Return a fabric with the links of `ends` and of a settings file down; the file may slow others.

    The name of a switch turns off all its links: it is dead from then on, and its hosts are removed. Raises InputError.
    """
    findings: list[Finding] = []
    off, dead, unknown = parts_at(fabric, ends)
    off |= {i for i, link in enumerate(fabric.links) if link.a in dead or link.b in dead}
    slowed: dict[int, int] = {}
    rule = "switch:port of a link of the fabric, or a switch"
    findings += [Finding("--off", f"{rule}{links_near(fabric, word)}", repr(word)) for word in unknown]
    if dead.issuperset(i for i, switch in enumerate(fabric.switches) if switch.up):
        findings.append(Finding("--off", "a switch that is left", "all are named"))
    if settings is not None:
        payload = checked(SettingsForm, read_json(settings, EXPECTED), str(settings))
        named = [(each.ends, 0) for each in payload.off] + [(each.ends, each.mbps) for each in payload.slowed]
        for ends_of_link, mbps in named:
            links = {link_at(fabric, end) for end in ends_of_link}
            link = links.pop()
            if link is None or links:
                findings.append(Finding(str(settings), "both ends of one link of the fabric", shown(ends_of_link)))
            elif mbps:
                slowed[link] = mbps
                of = fabric.links[link]
                a, b = fabric.switches[of.a], fabric.switches[of.b]
                both = [(end.name, end.model, pair[side]) for pair in of.cables for side, end in enumerate((a, b))]
                if most := too_fast(both, mbps):
                    findings.append(Finding(f"{settings}: slowed", most, str(mbps)))
            else:
                off.add(link)
    kept = fabric.management.links if fabric.management is not None else ()
    for i in sorted(off.intersection(kept)):
        name, port = fabric.switches[fabric.links[i].a], fabric.links[i].a_port
        where = f"{name.name}:{platforms.of(name).port_name(port)}"
        findings.append(Finding("--off, --settings", "links that do not carry the management VLAN", where))
    if findings:
        raise InputError(findings)
    less = fabric.with_links_down(off).with_speeds(slowed)
    return less.with_switches_down(dead) if dead else less
