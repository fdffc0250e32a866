"""Present plans, proofs, forecasts and outcomes as lines for a terminal."""

from __future__ import annotations

import math
import re
from dataclasses import asdict
from itertools import islice
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom import platforms
from tagloom.report.decimals import decimal
from tagloom.units import format_ranges, number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tagloom.apply.outcomes import Outcomes
    from tagloom.errors import Finding
    from tagloom.records.change_way import ChangeWay
    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings, MissingEntry
    from tagloom.records.forecast import Figure, Forecast, Interruption, LinkForecast, NetworkForecast
    from tagloom.records.frame_path import FramePath
    from tagloom.records.interrupted import Interrupted
    from tagloom.records.sleep import Eee

WIDTH = 80
LABEL = 10
SHOWN_FINDINGS = 20
SCREEN_LINES = 23  # of 24; the prompt takes one
VAGUE_TIMES, VAGUE_POINTS = 10.0, 5.0  # times a slow-down, and points, that its interval may be wide without a warning
OF_WATTS = (
    "watts_before",
    "watts_after",
    "saved_watts",
    "eee_saved_watts",
    "saving_percent",
    "joules_before",
    "joules",
    "transition_joules",
    "kwh_saved_per_year",
    "kwh",
)  # keys of a forecast that are null where a model's watts are not known
NAMED_NETWORKS = 3  # of several, on one screen
JOULES_PER_KWH = 3.6e6
MOST_HOST_WATTS = 100_000.0  # no host draws more

BROADCAST_WORDS = {
    "tree": "broadcasts (DHCP, ARP) take one tree, by entries for ff:ff:ff:ff:ff:ff; other group addresses (multicast, "
    "IPv6 neighbour discovery) may come several times",
    "static-arp": "broadcasts may come several times (DHCP, ARP: the hosts need static ARP), and so may other group "
    "addresses (multicast, IPv6 neighbour discovery)",
}
ASSIGNMENT_WORDS = {
    "fixed": "fixed assignment",
    "renamed": "renamed assignment, most in one switch",
    "pinned": "pinned assignment",
}


count = number_of


def row(label: str, text: str) -> list[str]:
    """Return a label with its text, which wraps in its own column."""
    lines = wrap(text, WIDTH - LABEL) or [""]
    return [f"{label:<{LABEL}}{lines[0]}".rstrip(), *(" " * LABEL + line for line in lines[1:])]


def frame_path_lines(path: FramePath) -> list[str]:
    """Return the path of a frame, a line for each switch, and the reason if it does not arrive."""
    end = "arrives" if path.reaches else f"does not arrive: {path.why}"
    lines = row("path", f"{path.source} -> {path.destination}: {end}")
    for hop in path.hops:
        out = ", ".join(port.partition(":")[2] for port in hop.ports_out) or "nothing"
        how = "" if hop.by == "entry" else " (flooded: no entry)" if hop.by else ""
        why = f"; {hop.why}" if hop.why and path.reaches else ""
        lines += row("", f"{hop.switch} VLAN {hop.vlan}: {hop.port_in.partition(':')[2]} -> {out}{how}{why}")
    return lines


def plan_lines(fabric: Fabric, summary: Mapping[str, Any], unit: str = "host pair") -> list[str]:
    """Return a plan's summary: the fabric, its paths, its load (in `unit`), its VLANs."""
    models = ", ".join(sorted({switch.model for switch in fabric.switches}))
    off = f" ({summary['links_off']} off)" if summary["links_off"] else ""
    dead = f" ({summary['switches_down']} down)" if summary["switches_down"] else ""
    room = min(platforms.load(switch.model).mac_table for switch in fabric.switches)
    vlans = f"{ASSIGNMENT_WORDS[summary['assignment']]}: {count(summary['vlans'], 'VLAN')}"
    entries = f"{count(summary['fdb_entries_max'], 'static entry')} in a switch"
    if (without := summary["fdb_entries_max_without"]) < summary["fdb_entries_max"]:
        entries += f", {without} without detours"
    return [
        *row(
            fabric.name[: LABEL - 1],
            f"{count(summary['switches'], 'switch')}{dead} ({models}), {count(summary['links'], 'link')}{off}, "
            f"{count(summary['hosts'], 'host')}",
        ),
        *row(
            "routes",
            f"{summary['routing_reason']}; {summary['average_hops']:.2f} switches on a path",
        ),
        *row(
            "load",
            f"max channel load {count(summary['max_channel_load'], unit)}, "
            f"best possible >= {summary['max_channel_load_bound']:,}, over this plan's paths >= "
            f"{summary['max_channel_load_bound_of_paths']:,}",
        ),
        *row("vlans", f"{vlans}; at most {entries} (room for {room:,})"),
        *(row("floods", BROADCAST_WORDS[summary["broadcast"]]) if summary["broadcast"] != "flood" else ()),
        *(row("site", site_words(summary["site_lines"])) if summary["site_lines"] else ()),
        *(line for remark in summary["remarks"] for line in row("remark", remark)),
    ]


def site_words(lines: int) -> str:
    """Return the number of the operator's own lines, and what was proven of them."""
    return f"{count(lines, 'line')} of your own, which touch nothing that tagloom plans"


def routing_lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the cost of each routing of one fabric, indented to the column of the routes."""
    cells = [(r["method"], str(r["vlans"]), f"{r['average_hops']:.2f}", f"{r['max_channel_load']:,}") for r in rows]
    lines = table(("routing", "VLANs", "switches on a path", "pairs on the busiest channel"), cells, (1, 2, 3))
    return [" " * LABEL + line for line in lines]


def proof_lines(proof: Findings, hosts: int, *, taught: bool = False) -> list[str]:
    """Return what was proven, what was not, and the witnesses; `taught`: hosts tag frames, and no port sends PAUSE."""
    on_path = proof.reachable_pairs - proof.off_path_pairs
    once = proof.broadcast_exactly_once or not proof.duplicates_allowed
    storm = "no storm, each broadcast exactly once" if once else "no storm; repeated broadcasts are allowed"
    channels = f"no deadlock: {count(proof.channels, 'channel')}, {count(proof.dependencies, 'dependency')}"
    missing = any(finding.where.startswith("broadcast") for finding in proof.findings)
    good_broadcast = proof.storm_free and (proof.broadcast_exactly_once or (proof.duplicates_allowed and not missing))
    broadcasts = f"{count(hosts, 'host')}" if good_broadcast else ("storm" if not proof.storm_free else "copies differ")
    lines = [
        *verdict(
            "proof",
            f"every pair arrives on its own path{', once taught' if proof.learned_entries_max else ''}",
            f"{max(on_path, 0):,} of {proof.pairs:,}",
            on_path == proof.pairs,
        ),
        *verdict("", storm, broadcasts, good_broadcast),
        *verdict("", channels, "cycle" if proof.deadlock_cycle else "no cycle", proof.deadlock_free),
    ]
    if proof.networks:
        figure = f"{len(proof.networks)} networks" if proof.isolated else count(len(proof.leaks), "leak")
        lines += verdict("", "no frame of a network at ports of others", figure, proof.isolated)
    if proof.uplinks:
        once = proof.storm_free and not any("address behind it" in finding.actual for finding in proof.findings)
        figure = count(proof.uplinks, "uplink") if once else "copies differ"
        lines += verdict("", "frames to unknown addresses reach uplinks once", figure, once)
        takes = f"{count(proof.flood_links_max, 'channel')} and {count(proof.flood_ports_max, 'port')} of hosts"
        lines += row("floods", f"each frame to an unknown address takes up to {takes}")
    if proof.learned_entries_max:
        lines += row(
            "assumed",
            f"no static entries: switches learn up to {proof.learned_entries_max:,} addresses each from hosts that run "
            "hosts/learning.sh, in any order, and again within the aging time. Until then, and for a host that is "
            "forgotten, frames go to all hosts, and arrive once",
        )
    if proof.tagged_frames_safe:
        takes = "takes" if proof.tagged_frames_ports == 1 else "take"
        figure = f"{count(proof.tagged_frames_ports, 'port')} {takes} them" if proof.tagged_frames_ports else "refused"
        lines += verdict("", "no harm by frames that hosts tag themselves", figure, good=True)
    else:
        around = "; ".join(proof.tagged_frames_cycle)
        ports = count(proof.tagged_frames_ports, "port")
        only = (
            "no PAUSE on any port: frames that hosts tag" if taught else "hosts send untagged frames only: tagged ones"
        )
        lines += row("assumed", f"{only}, which {ports} take, go round {around}")
    if proof.foreign_vlans:
        vlans = f"VLAN {format_ranges(list(proof.foreign_vlans))}"
        lines += verdict("", "VLANs of others neither storm nor reach a host", vlans, proof.foreign_safe)
    if proof.latent:
        rings = " | ".join(map(str, proof.latent))
        lines += row("latent", f"no spanning tree breaks these rings: the first frame that enters one storms: {rings}")
    if proof.foreign_cycle and proof.deadlock_free:
        around = "; ".join(proof.foreign_cycle)
        lines += row("assumed", f"no PAUSE on all of these channels: frames of VLANs of others close a cycle, {around}")
    if proof.foreign_unguarded:
        those = "; ".join(proof.foreign_unguarded)
        lines += row(
            "assumed", f"not joined outside the fabric too, where no spanning tree would see the loop: {those}"
        )
    if proof.invented_addresses:
        those = f"{proof.invented_addresses:,} of {count(hosts, 'host')}"
        lines += row("assumed", f"MAC addresses that tagloom made up, of {those}: no real host answers to one")
    if proof.paste_order is not None:
        wrong = len({finding.where.partition(":")[0] for finding in proof.paste_refused})
        figure = f"not at {count(wrong, 'switch')}" if wrong else "all lines taken"
        lines += verdict("paste", "works top to bottom from factory default", figure, proof.paste_order)
    if proof.missing_entry is not None:
        lines += missing_lines(proof.missing_entry)
    return lines + finding_lines(proof.findings)


def text_lines(proof: Findings) -> list[str]:
    """Return the result of a proof of texts: lines left out, lines a paste would lose, the next command."""
    unknown = proof.unknown_lines or ()
    lines = []
    if proof.paste_refused:
        lines += ["pasted by hand, these lines would be refused:", *finding_lines(proof.paste_refused)]
    if unknown and proof.proven_but_for_unknown_lines:
        named = [f"{line.switch}:{line.line}" for line in unknown[:SHOWN_FINDINGS]]
        more = [f"and {len(unknown) - SHOWN_FINDINGS:,} more"] if len(unknown) > SHOWN_FINDINGS else []
        lines += finding_lines([line.finding() for line in unknown]) if proof.proven else []
        lines += [f"yes, except for lines I do not know: {', '.join([*named, *more])}"]
        trust = ["next      mend them, or where they are harmless: tagloom verify --trust-foreign"]
        return lines if proof.proven else lines + trust
    return lines if proof.proven else [*lines, "not proven", "next      tagloom plan, or mend the lines above"]


def assumption_lines(assumptions: Sequence[Mapping[str, str]]) -> list[str]:
    """Return what a proof assumes, how likely that is, and how to check it."""
    lines: list[str] = []
    for each in assumptions:
        lines += row("assumes", each["name"])
        lines += row("", each["likelihood"])
        lines += row("", f"check: {each['check']}")
    return lines


def missing_lines(loss: MissingEntry) -> list[str]:
    """Return the effect of losing any one static entry."""
    troubles = {"lost": loss.lost_flows, "duplicated": loss.duplicated_flows, "in a storm": loss.storm_flows}
    said = ", ".join(f"{count(number, 'flow')} {what}" for what, number in troubles.items() if number)
    return row(
        "what if",
        f"any one of {loss.entries:,} entries were missing: {loss.extra_hosts_average:.1f} more hosts would hear its "
        f"flows on average, {loss.extra_hosts_worst} at worst; {said or 'every frame would still arrive exactly once'}",
    )


def verdict(label: str, what: str, figure: str, good: bool) -> list[str]:
    """Return what was proven, a figure, and yes or no: one line, or more where words and figure need them.

    >>> verdict("proof", "every pair arrives", "12 of 12", good=True)
    ['proof     every pair arrives                                     12 of 12  yes']
    """
    answer = "  yes" if good else "  NO"
    room = WIDTH - 2 - LABEL - len("  yes")  # words begin in one column, figures end in one
    lines = wrap(what, room)
    if len(lines[-1]) + 1 + len(figure) > room:
        lines += [""]
    *above, last = wrap(figure, room)
    if above:
        lines[-1:] = [*above, ""]
    lines[-1] += f"{last:>{room - len(lines[-1])}}{answer}"
    return [f"{label if n == 0 else '':<{LABEL}}{line}".rstrip() for n, line in enumerate(lines)]


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """Return findings, one line each."""
    lines = [str(finding) for finding in findings[:SHOWN_FINDINGS]]
    if len(findings) > SHOWN_FINDINGS:
        lines.append(f"and {count(len(findings) - SHOWN_FINDINGS, 'more finding')} (all with --json)")
    return lines


def table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return a table with columns as wide as their widest cell; `right` lists columns flushed right."""
    cells = [list(header), *(list(r) for r in rows)]
    width = [max(len(r[c]) for r in cells) for c in range(len(header))]
    lines = []
    for n, r in enumerate(cells):
        line = "  ".join(
            cell.rjust(w) if c in right else cell.ljust(w) for c, (cell, w) in enumerate(zip(r, width, strict=True))
        )
        lines.append(line.rstrip())
        if n == 0:
            lines.append("  ".join("-" * w for w in width))
    return lines


def _pairs_of_both(payload: Mapping[str, Any]) -> list[str]:
    said = (
        f"{payload['pairs_kept']:,} in both fabrics, {payload['pairs_added']:,} added, {payload['pairs_removed']:,} "
        "removed"
    )
    return row("pairs", said)


def rollout_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return a rollout's waves and what was proven."""
    if not payload["waves"]:
        return row("rollout", "nothing to change: both states are equal")
    waves = ", ".join(
        f"{name} ({count(switches, 'switch')})"
        for name, switches in zip(payload["wave_names"], payload["switches_by_wave"], strict=True)
    )
    down = payload["downtime_seconds"]
    harm = f"hosts are paused for about {down:.0f} s" if down else "no host pair loses connectivity"
    proven = (
        f"{count(payload['proven_states'], 'state')} of single switches, in every interleaving of their lines; {harm}"
    )
    return [
        *row("rollout", f"{payload['strategy']}: {count(payload['waves'], 'wave')}: {waves}"),
        *(row("", f"not shorter: {payload['reason']}") if payload["reason"] else []),
        *(row("assumes", payload["assumed"]) if payload["assumed"] else []),
        *(_pairs_of_both(payload) if payload["pairs_added"] or payload["pairs_removed"] else []),
        *row("proof", proven),
        *row(
            "time",
            f"about {payload['expected_seconds']:.0f} s, {payload['drain_seconds']:.0f} s of them waiting for "
            f"old frames to "
            f"leave and links to come up; {count(payload['changes'], 'cell')} change",
        ),
    ]


def _conditions_of_bound(payload: Mapping[str, Any]) -> str:
    """Return the conditions on link settings under which the lower bound on watts holds, besides the load."""
    conditions = ["all switches stay connected"]
    if payload["two_connected"] and payload["method"] != "static":  # the program of `static` lacks this condition
        conditions.append("no link becomes the only way")
    if payload.get("survive") == "link":
        conditions.append("a repair wakes one link at most")
    return f"if {' and '.join(conditions)}"


def share_words(share: float, headroom: Mapping[str, Any]) -> str:
    """Return how busy the busiest channel is, and how sure that is; `share` alone where traffic was measured."""
    kind, bound = headroom["headroom_is"], headroom["max_channel_share_bound"]
    if kind == "measured":
        return f"{100 * share:.0f} %"
    if bound is None:
        return f"unknown (estimated {100 * share:.0f} %): {'; '.join(headroom['headroom_missing'])}"
    return f"{100 * share:.0f} % ({kind}; at most {upward_percent(bound)} % with these counts)"


def upward_percent(share: float) -> int:
    """Return a share in whole percent that is not less than it."""
    return math.ceil(round(100 * share, 3))


def _sure_load(payload: Mapping[str, Any]) -> str:
    """Return the busiest channel's bytes under settings, and how sure they are."""
    load = count(payload["max_channel_load_after"], "byte")
    kind, bound = payload["headroom_is"], payload["max_channel_load_bound"]
    if kind == "measured":
        return load
    return f"{load} ({kind})" if bound is None else f"{load} ({kind}; at most {bound:,} with these counts)"


def _headroom_rows(payload: Mapping[str, Any]) -> list[str]:
    """Return the busiest channel's share, and what stands between an estimate from counters and a guarantee."""
    kind = payload["headroom_is"]
    if kind == "measured":
        return []
    why = {
        "guaranteed": "guaranteed: the busiest channel is within its limit, whatever traffic the counts allow",
        "estimated": "NOT GUARANTEED: some traffic that the counts allow makes a channel busier than its limit",
        "unknown": f"UNKNOWN: {'; '.join(payload['headroom_missing'])}",
    }[kind]
    return [
        *row("busiest", f"{share_words(payload['max_channel_share'], payload)}, on average over the time"),
        *row("headroom", why),
        *(line for note in payload["headroom_notes"] for line in row("", note)),
    ]


def settings_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return which links are turned off and what that saves."""
    before = payload["max_channel_load_before"]
    routing = "routing" if payload["bound_holds_for"] == "any" else f"{payload['bound_holds_for']} assignment"
    connected = "any one link may still fail" if payload["two_connected"] else "some links are now the only way"
    saving, costs = watts_unknown(payload), ""
    if not saving:
        saving = (
            f"{payload['saving_percent']:.1f} %: {payload['watts_before']:.1f} W -> {payload['watts_after']:.1f} W "
            f"(no {routing} within this load draws less than {payload['lower_bound_watts']:.1f} W "
            f"{_conditions_of_bound(payload)}: gap {payload['gap_percent']:.1f} %)"
        )
    if payload["survive_watts"] is not None:
        costs = f"; costs {payload['survive_watts']:.1f} W"
    lines = [
        *row("saving", saving),
        *row("links", f"{count(payload['links_off'], 'link')} off ({payload['method']}); {connected}"),
        *(
            row("survives", f"any one link: a repair wakes one other at most{costs}")
            if payload.get("survive") == "link"
            else []
        ),
        *(row("slowed", count(payload["links_slowed"], "link")) if payload["links_slowed"] else []),
        *(
            row(
                "asleep",
                f"{count(payload['links_asleep'], 'link')}, {count(payload['hosts_asleep'], 'host port')} by EEE",
            )
            if payload["links_asleep"] or payload["hosts_asleep"]
            else []
        ),
        *row("load", f"busiest channel {count(before, 'byte')} -> {_sure_load(payload)}"),
        *_headroom_rows(payload),
    ]
    if payload["average_hops_after"] is not None:
        hops = f"{payload['average_hops_before']:.2f} -> {payload['average_hops_after']:.2f}"
        longest = f"{payload['max_hops_before']} -> {payload['max_hops_after']} on the longest"
        lines += row("paths", f"{hops} switches on average, a host to itself among them; {longest}")
    for number, (name, network) in enumerate(payload["networks"].items()):
        if number < NAMED_NETWORKS and network["max_hops_after"] is not None:
            load = f"{network['max_channel_load_before']:,} -> {network['max_channel_load_after']:,}"
            hops = f"{network['max_hops_before']} -> {network['max_hops_after']}"
            said = f"{name}: at most {load} bytes on a channel, {hops} switches on the longest path"
            lines += row("" if number else "networks", said)
    names = ", ".join("-".join(link["ends"]) for link in payload["off"])
    notes = [line for remark in payload["remarks"] for line in row("note", remark)]
    return lines + (row("off", names) if names else []) + notes


def forecast_figures(forecast: Forecast) -> dict[str, Figure]:
    """Return all figures of a forecast that exist, by their keys of the command line."""
    performance, energy = forecast.performance, forecast.energy
    figures: dict[str, Figure | None] = {
        "watts_before": forecast.watts_before,
        "watts_after": forecast.watts_after,
        "seconds_base": forecast.seconds_base,
        "seconds_predicted": forecast.seconds_predicted,
        "computation_seconds": forecast.computation_seconds,
        "idle_seconds": forecast.idle_seconds,
        "overhead_seconds": forecast.overhead_seconds,
        "fitted_overhead_seconds": forecast.fitted_overhead_seconds,
        "seconds_by_fit": forecast.seconds_by_fit,
        "toggle_seconds": forecast.toggle_seconds,
        "lost_bytes": forecast.lost_bytes,
        "eee_saved_watts": forecast.eee_saved_watts,
        "saved_watts": forecast.saved_watts,
    }
    if performance is not None:
        figures |= {
            "communication_seconds_before": performance.communication_before,
            "communication_seconds_after": performance.communication_after,
            "relative_bandwidth_before": performance.bandwidth_before,
            "relative_bandwidth_after": performance.bandwidth_after,
            "latency_seconds_before": performance.latency_before,
            "latency_seconds_after": performance.latency_after,
        }
    if energy is not None:
        figures |= {
            "joules_before": energy.joules_before,
            "joules": energy.joules_after,
            "transition_joules": energy.transition_joules,
            "pays_after_seconds": energy.pays_after_seconds,
            "kwh_saved_per_year": energy.kwh_saved_per_year,
            "cost_before": energy.cost_before,
            "cost_after": energy.cost_after,
            "co2_kg_before": energy.co2_kg_before,
            "co2_kg_after": energy.co2_kg_after,
            "break_even_host_watts": energy.break_even_host_watts,
        }
    return {key: figure for key, figure in figures.items() if figure is not None}


def forecast_payload(forecast: Forecast, fabric: Fabric | None = None) -> dict[str, Any]:
    """Return a forecast with the keys of the command line; `sources` has every figure's source.

    `fabric` names the pairs that a rollout interrupts, and the channels.
    """
    base, predicted = forecast.seconds_base.value, forecast.seconds_predicted.value
    figures = forecast_figures(forecast)
    payload: dict[str, Any] = {key: round(figure.value, 12) for key, figure in figures.items()}
    payload["lost_bytes"] = round(forecast.lost_bytes.value)
    payload["slowdown_percent"] = round(100.0 * (predicted - base) / base, 6) if base else 0.0
    payload["power_unknown"] = list(forecast.power_unknown)
    payload |= dict.fromkeys(OF_WATTS) if forecast.watts_before is None else {}
    if "cost_before" in figures:
        payload["currency"] = figures["cost_before"].unit
    payload["sources"] = {key: figure.source for key, figure in figures.items()}
    payload["model"] = payload["sources"]["seconds_predicted"]
    bounded = {key: (f.low, f.high) for key, f in figures.items() if f.low is not None and f.high is not None}
    payload["intervals"] = {
        key: [None if end is None else round(end, 12) for end in (f.low, f.high)]
        for key, f in figures.items()
        if f.low is not None or f.high is not None
    }
    ends = bounded.get("seconds_predicted", (predicted, predicted))
    if (performance := forecast.performance) is not None:
        payload |= {"sending_pairs": performance.pairs, "rerouted_pairs": performance.rerouted_pairs}
    payload["seconds_predicted_low"], payload["seconds_predicted_high"] = (round(end, 12) for end in ends)
    slower = [round(100.0 * (end / base - 1), 6) for end in ends] if base else [0.0, 0.0]
    payload["slowdown_percent_low"], payload["slowdown_percent_high"] = slower
    if base and "seconds_predicted" in bounded:
        payload["intervals"]["slowdown_percent"] = slower
    if forecast.watts_before is not None and forecast.watts_after is not None:
        before, after = forecast.watts_before.value, forecast.watts_after.value
        payload["saving_percent"] = round(100.0 * (before - after) / before, 6) if before else 0.0
        payload.setdefault("joules", round(after * predicted, 6))
        payload["kwh"] = payload["joules"] / JOULES_PER_KWH
        if before and "saved_watts" in bounded:
            payload["intervals"]["saving_percent"] = [round(100.0 * end / before, 6) for end in bounded["saved_watts"]]
    payload["causes"] = {what: [list(part) for part in parts] for what, parts in forecast.causes.items()}
    payload["assumed"] = list(forecast.assumed)
    payload["ports"] = [asdict(port) for port in forecast.ports]
    payload["switches"] = [asdict(switch) for switch in (forecast.energy.switches if forecast.energy else ())]
    cut = forecast.interruption
    payload["interruptions"] = [] if cut is None else _interrupted(cut, fabric)
    ordered = forecast.replay is not None and forecast.replay.orders == 1
    replayed = None if forecast.replay is None else asdict(forecast.replay)
    if replayed is not None:
        del replayed["networks"], replayed["asleep"]  # each network's part has its own; watts follow from the sleep
    payload["trace" if ordered else "orders"] = replayed
    payload["orders" if ordered else "trace"] = None
    payload["warnings"] = _warnings(payload)
    payload["rate_switch"] = None if forecast.rate_switch is None else asdict(forecast.rate_switch)
    payload["networks"] = {network.name: network_payload(network) for network in forecast.networks}
    return payload


def network_payload(network: NetworkForecast) -> dict[str, Any]:
    """Return one network's part of a forecast, by its keys of the command line."""
    found = asdict(network)
    del found["name"]
    base, seconds = network.seconds_base, network.seconds_predicted
    found["slowdown_percent"] = 100.0 * (seconds - base) / base if base and seconds is not None else None
    return {key: round(value, 12) if isinstance(value, float) else value for key, value in found.items()}


def _network_lines(networks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line or two for each of the first networks."""
    lines: list[str] = []
    for name, network in islice(networks.items(), NAMED_NETWORKS):
        ends = network["communication_seconds_before"], network["communication_seconds_after"]
        seconds = "" if ends[0] is None else f"moved in {decimal(ends[0])} s -> {decimal(ends[1])} s; "
        shared = count(network["shared_channels"], "channel")
        load = f"{network['max_channel_load_before']:,.0f} -> {network['max_channel_load_after']:,.0f}"
        run = ""
        if (base := network["seconds_base"]) is not None:
            low, high = (decimal(network[f"seconds_predicted_{end}"]) for end in ("low", "high"))
            between = f" ({low} to {high})" if low != high else ""
            run = f"a run of {decimal(base)} s -> {decimal(network['seconds_predicted'])} s{between}; "
        said = f"{run}{network['volume_bytes']:,.0f} bytes, "
        said += f"{seconds}at most {load} on a channel, {shared} shared with others"
        lines += row("" if lines else "networks", f"{name}: {said}")
    more = len(networks) - NAMED_NETWORKS
    return lines + (row("", f"and {count(more, 'network')} more (--json)") if more > 0 else [])


def _warnings(payload: Mapping[str, Any]) -> list[str]:
    """Return warnings of an interval that says little, and of a saving that costs more than it saves."""
    return _vague(payload) + _dear(payload)


def _vague(payload: Mapping[str, Any]) -> list[str]:
    """Return a warning, with the input that helps, if the slow-down's interval is over ten times it and five points."""
    value, low, high = (payload[f"slowdown_percent{end}"] for end in ("", "_low", "_high"))
    if high - low <= max(VAGUE_TIMES * abs(value), VAGUE_POINTS):
        return []
    known = ("--traffic (partners), " if (payload["orders"] or {}).get("partners_drawn") else "") + "--trace (order)"
    return [f"slow-down uncertain by {high - low:,.0f} points; to narrow it: {known}"]


def _dear(payload: Mapping[str, Any]) -> list[str]:
    """Return a warning if a saving costs more than it saves."""
    if payload["power_unknown"]:
        return []
    before, after = payload.get("joules_before", 0.0), payload["joules"] - payload.get("transition_joules", 0.0)
    if (payload["saving_percent"] > 0 or payload["eee_saved_watts"]) and 0 < before < after:
        more = f"{100 * (after / before - 1):.1f} % more energy to the end of a run"
        return [f"the saving costs more than it saves: {more}, for the run is slower (Saravanan et al. 2013: 15 %)"]
    return []


def _interrupted(cut: Interruption, fabric: Fabric | None) -> list[dict[str, Any]]:
    """Return the interrupted pairs: one row if all are interrupted alike, else a row for each."""
    hosts = len(cut.seconds)
    within = fabric.within_networks if fabric is not None else None
    pairs = ~np.eye(hosts, dtype=bool) if within is None else within > 0
    if cut.seconds.any() and np.ptp(cut.seconds[pairs]) == 0:
        lost = None if cut.lost_bytes is None else float(cut.lost_bytes.sum())
        return [{"pairs": int(pairs.sum()), "seconds": float(cut.seconds.max()), "lost_bytes": lost}]
    names = [host.name for host in fabric.hosts] if fabric is not None else [str(h) for h in range(hosts)]
    return [
        {
            "source": names[a],
            "destination": names[b],
            "seconds": float(cut.seconds[a, b]),
            "lost_bytes": None if cut.lost_bytes is None else float(cut.lost_bytes[a, b]),
        }
        for a, b in zip(*(axis.tolist() for axis in np.nonzero(cut.seconds)), strict=True)
    ]


def forecast_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return a forecast on one screen: three numbers, what dominates each, the assumptions."""
    base = payload["seconds_base"]
    slow = "unknown: no traffic given"
    if base:
        slow = f"{payload['slowdown_percent']:.2f} %{_between(payload, 'slowdown_percent', 2)}: {decimal(base)} s -> "
        slow += f"{decimal(payload['seconds_predicted'])} s"
    loss = f"{payload['lost_bytes']:,} bytes{_between(payload, 'lost_bytes', 0)}"
    lines = [
        *row("slow-down", slow),
        *row("loss", loss),
        *row("saving", _saving(payload)),
        *(line for said in payload["warnings"] for line in row("warning", said)),
    ]
    lines += [""]
    if base:
        lines += row("slow by", _slow_by(payload))
        if "relative_bandwidth_after" in payload:
            lines += row(
                "network",
                f"{payload['rerouted_pairs']:,} of {count(payload['sending_pairs'], 'pair')} rerouted; "
                f"{100 * payload['relative_bandwidth_before']:.0f} % of one ideal switch's bandwidth -> "
                f"{100 * payload['relative_bandwidth_after']:.0f} % (max-min fair); switches add "
                f"{payload['latency_seconds_before'] * 1e6:.2f} us to a message -> "
                f"{payload['latency_seconds_after'] * 1e6:.2f} us",
            )
    lines += _network_lines(payload["networks"])
    if payload["interruptions"]:
        worst = max(cut["seconds"] for cut in payload["interruptions"])
        pairs = sum(cut.get("pairs", 1) for cut in payload["interruptions"])
        waves = "; ".join(
            f"{name.partition(':')[0]} {seconds:.1f} s" for name, seconds in payload["causes"]["loss"][:3]
        )
        lines += row("lost by", f"{count(pairs, 'pair')} cut off for up to {worst:.1f} s: {waves}")
    else:
        lines += row("lost by", f"nothing: {payload['sources']['lost_bytes']}")
    if switched := payload.get("rate_switch"):
        lines += row(
            "in place",
            f"{count(switched['links'], 'link')} that change speed under traffic, without a rollout, would lose "
            f"{switched['lost_bytes']:,.0f} bytes in up to {switched['outage_seconds']:.1f} s",
        )
    if traced := payload.get("trace") or payload.get("orders"):
        orders = f", {traced['orders']} orders of them" if traced["orders"] > 1 else ""
        lines += row(
            "replayed",
            f"{count(traced['messages'], 'message')} in {count(traced['steps'], 'step')}{orders}: "
            f"{traced['seconds']:.4g} s awake, {traced['network_seconds']:+.3g} s by paths and speeds, "
            f"{traced['sleep_seconds']:+.3g} s by sleep",
        )
    saved = [f"{name} {amount:.1f} W" for name, amount in payload["causes"].get("saving", ())]
    if not payload["power_unknown"]:
        lines += row("saved by", "; ".join(saved) or "nothing: every link is on, at its best speed")
        lines += _energy_lines(payload)
    lines += _sleep_lines(payload) if payload["overhead_seconds"] else []
    lines += _fit_lines(payload) if "seconds_by_fit" in payload else []
    if payload["toggle_seconds"]:
        lines += row(
            "toggle",
            f"{payload['toggle_seconds']:.1f} s for a link to come up again ({payload['sources']['toggle_seconds']})",
        )
    keys = (*(["seconds_predicted"] if base else []), *(["watts_after"] if not payload["power_unknown"] else []))
    lines += row("by", "; ".join(_brief(payload["sources"][key]) for key in keys)) if keys else []
    assumed = row("assumed", "; ".join(payload["assumed"])) if payload["assumed"] else []
    room = max(SCREEN_LINES - len(lines), 1)
    if len(assumed) > room:
        assumed = [*assumed[: room - 1], f"{'assumed' if room == 1 else '':{LABEL}}... (--json)"]
    return lines + assumed


def _slow_by(payload: Mapping[str, Any]) -> str:
    """Return the parts of the slow-down, or why there are none: the paths may be others all the same."""
    parts = payload["causes"].get("slow-down", ())
    if parts:
        return "; ".join(f"{name} {100 * seconds / payload['seconds_base']:.2f} %" for name, seconds in parts)
    asleep = "sleeping ports delay nothing" if payload["ports"] else "no port asleep"
    if moved := payload.get("rerouted_pairs"):
        return f"nothing: other paths of {moved:,} of {count(payload['sending_pairs'], 'pair')} are no slower; {asleep}"
    return f"nothing: same paths, {asleep}"


def watts_unknown(payload: Mapping[str, Any]) -> str:
    """Return whose watts nobody knows and how they are given, "" if all are known."""
    models = ", ".join(payload["power_unknown"])
    return f"unknown: no watts of {models} are known (--power FILE)" if models else ""


def _saving(payload: Mapping[str, Any]) -> str:
    """Return the share of power saved and the watts before and after, or whose watts nobody knows."""
    if unknown := watts_unknown(payload):
        return unknown
    watts = f"{payload['watts_before']:.1f} W -> {payload['watts_after']:.1f} W"
    return f"{payload['saving_percent']:.1f} %{_between(payload, 'saving_percent')}: {watts}"


def break_even(payload: Mapping[str, Any]) -> float:
    """Return how much a host would have to draw for a slower run to cost more than is saved; 0 where none does."""
    watts = float(payload.get("break_even_host_watts") or 0.0)
    return watts if watts < MOST_HOST_WATTS else 0.0


def _energy_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return a run's energy, and its cost and emission if there are rates."""
    base = payload["seconds_base"]
    lines: list[str] = []
    if base and "joules_before" in payload:
        energy = f"{payload['joules_before']:,.0f} J -> {payload['joules']:,.0f} J a run"
        if payload["transition_joules"]:
            energy += f", {payload['transition_joules']:.0f} J of them for links that change, there and back"
        if "pays_after_seconds" in payload:
            energy += f" (pays after {payload['pays_after_seconds']:.1f} s)"
        if even := break_even(payload):
            energy += f"; costs more than it saves where a host draws over {even:,.0f} W"
        lines += row("energy", energy)
    money = [
        f"{what} {decimal(payload[f'{key}_before'])} -> {decimal(payload[f'{key}_after'])}{unit} a run"
        for key, what, unit in (("cost", "cost", f" {payload.get('currency', '')}".rstrip()), ("co2_kg", "CO2", " kg"))
        if f"{key}_before" in payload and base
    ]
    money += [f"{payload['kwh_saved_per_year']:,.0f} kWh a year"] if payload.get("kwh_saved_per_year") else []
    return [*lines, *row("rates", "; ".join(money))] if money else lines


def _sleep_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return the cost of EEE, and the host ports at which it pays: each by itself, unlike in a replay."""
    lines = row(
        "eee",
        f"mean gap {payload['idle_seconds'] * 1e6:.1f} us, {payload['overhead_seconds'] * 1e6:.2f} us per "
        f"message and link (closed form)",
    )
    verdicts = [port["verdict"] for port in payload["ports"]]
    words = {"on": "sleep", "lengthen": "sleep, with a longer time-out,", "off": "no sleep"}
    said = [f"{word} at {verdicts.count(verdict)}" for verdict, word in words.items() if verdict in verdicts]
    first = f" host ports; {payload['ports'][0]['host']}: {payload['ports'][0]['reason']}"
    if replayed := payload["trace"] or payload["orders"]:
        first += f"; replayed, all ports cost the run {100 * replayed['sleep_seconds'] / payload['seconds_base']:.2f} %"
    lines += row("ports", "; ".join(said) + first)
    return lines


def _fit_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return the forecast by the fitted curve of eq. 3, beside that by the fitted times where the run is replayed."""
    base, replayed = payload["seconds_base"], payload["trace"] or payload["orders"]
    text = (
        f"{payload['fitted_overhead_seconds'] * 1e6:.2f} us per message by the fitted curve: "
        f"{100 * (payload['seconds_by_fit'] / base - 1):.2f} % of the run"
    )
    if replayed:
        text += f"; the fitted times, replayed: {100 * replayed['sleep_seconds'] / base:.2f} %"
    return row("eq. 3", text)


def _brief(source: str) -> str:
    """Return a source without parentheses and without the origin of its interval."""
    return re.sub(r" \([^)]*\)", "", source).partition("; interval")[0]


def _between(payload: Mapping[str, Any], key: str, digits: int = 1) -> str:
    """Return the interval of a figure in parentheses, "" if it has none."""
    low, high = payload["intervals"].get(key, (0.0, 0.0))
    return f" ({low:,.{digits}f} to {high:,.{digits}f})" if low != high else ""


def forecast_rows(payload: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Return all numbers of a forecast as rows of (name, value, low, high, source), for a table in CSV."""
    rows = [("name", "value", "low", "high", "source")]
    for key, source in payload["sources"].items():
        low, high = ("" if end is None else str(end) for end in payload["intervals"].get(key, (None, None)))
        rows.append((key, str(payload[key]), low, high, source))
    for key in ("slowdown_percent",) if payload["power_unknown"] else ("saving_percent", "slowdown_percent"):
        ends = payload["intervals"].get(key, ("", ""))
        rows.append((key, str(payload[key]), str(ends[0]), str(ends[1]), "from the figures above"))
    for what, parts in payload["causes"].items():
        rows += [(f"{what}: {name}", str(amount), "", "", _UNITS[what]) for name, amount in parts]
    for switch in payload["switches"]:
        name, table_2 = switch["switch"], payload["sources"]["watts_after"]  # there: else no switch is
        for when in ("watts_before", "watts_after"):
            rows.append((f"{name}: {when}", str(switch[when]), "", "", table_2))
        for port, both in switch["ports"].items():
            for when, watts in zip(("watts_before", "watts_after"), both, strict=True):
                rows.append((f"{name}:{port}: {when}", str(watts), "", "", table_2))
    for port in payload["ports"]:
        for key in ("slowdown", "lpi_share", "timeout_seconds"):
            rows.append((f"{port['host']}: {key}", str(port[key]), "", "", f"{port['verdict']}: {port['reason']}"))
    for cut in payload["interruptions"]:
        who = f"{cut['source']} to {cut['destination']}" if "source" in cut else "every pair"
        rows.append((f"{who}: interrupted seconds", str(cut["seconds"]), "", "", "the rollout's waves"))
        if cut["lost_bytes"] is not None:
            rows.append((f"{who}: lost bytes", str(cut["lost_bytes"]), "", "", payload["sources"]["lost_bytes"]))
    return rows


_UNITS = {"slow-down": "seconds of the run", "saving": "watts", "loss": "seconds of interruption"}


def link_payload(phy: str, eee: Eee, found: LinkForecast, *, together: bool, both: bool) -> dict[str, Any]:
    """Return one link's figures with the keys of the command line."""
    remarks = []
    if together and not both:
        remarks.append(f"{phy} sleeps only when both directions are idle: --both-directions says how much less that is")
    if 0 < eee.timeout_seconds < eee.sleep_seconds:
        remarks.append("the time-out is shorter than falling asleep takes")
    return {
        "phy": phy,
        "power_relative": found.power_relative,
        "lpi_share": found.lpi_share,
        "mean_delay_seconds": found.mean_delay_seconds,
        "wakes_per_second": found.wakes_per_second,
        "timeout_seconds": eee.timeout_seconds,
        "ts_seconds": eee.sleep_seconds,
        "tw_seconds": eee.wake_seconds,
        "lpi_power": eee.lpi_power,
        "source": f"exact for Poisson frames of one size; times: {eee.source}",
        "remarks": remarks,
    }


def burst_payload(frames: int | None, others: Mapping[int, LinkForecast]) -> dict[str, Any]:
    """Return how a link's figures depend on bursts: the range over `others`, by frames in a burst, 0 for even."""
    keys = ("power_relative", "lpi_share", "mean_delay_seconds")
    return {
        "model": f"{'single frames' if frames in {None, 1} else f'bursts of {frames} frames'}, at random times",
        "burst_frames": frames,
        "bursts": [{"frames": n, **asdict(found)} for n, found in others.items()],
        "intervals": {
            key: [pick(getattr(found, key) for found in others.values()) for pick in (min, max)]
            for key in keys
            if others
        },
    }


def link_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return the effect of sleep on one link."""
    return [
        *row(
            "power",
            f"{100 * payload['power_relative']:.2f} % of an awake port's; {100 * payload['lpi_share']:.2f} % asleep",
        ),
        *row("delay", f"{payload['mean_delay_seconds'] * 1e6:.2f} us of waiting on average"),
        *row("wakes", f"{payload['wakes_per_second']:,.1f} a second"),
        *(row("range", _range_of_bursts(payload)) if payload["bursts"] else []),
        *row(
            "assumed",
            f"time-out {payload['timeout_seconds'] * 1e6:g} us, Ts {payload['ts_seconds'] * 1e6:g} us, "
            f"Tw {payload['tw_seconds'] * 1e6:g} us, {payload['lpi_power']:g} of the power in LPI; {payload['source']}",
        ),
        *(line for remark in payload["remarks"] for line in row("remark", remark)),
    ]


def _range_of_bursts(payload: Mapping[str, Any]) -> str:
    low, high = (100 * end for end in payload["intervals"]["power_relative"])
    least, most = (1e6 * end for end in payload["intervals"]["mean_delay_seconds"])
    frames = max(each["frames"] for each in payload["bursts"])
    return (
        f"power {low:.2f} to {high:.2f} %, wait {least:.2f} to {most:.2f} us: the same load in evenly spaced frames up "
        f"to bursts of {frames} (--burst N)"
    )


def outcome_lines(
    outcomes: Outcomes, *, checked: bool, waves: int = 1, verb: str = "apply", nothing_sent: bool = False
) -> list[str]:
    """Return the outcome of every switch, failures first with their line; of a refusal, that `nothing_sent`."""
    lines: list[str] = []
    for outcome in outcomes.outcomes:
        if outcome.failed:
            at = f" at {outcome.command!r}" if outcome.command else ""
            lines += row(outcome.switch, f"failed{at}: {outcome.error}")
            lines += row(
                "",
                f"{len(outcome.sent)} of {count(len(outcome.commands), 'line')} had reached it"
                + (f", the last {outcome.sent[-1]!r}" if outcome.sent else ""),
            )
            lines += [f"{'':<{LABEL}}{finding}" for finding in outcome.findings]
    if outcomes.error:
        lines += row("stopped", outcomes.error)
    if outcomes.stopped:
        lines += row("stopped", f"after wave {outcomes.reached} of {outcomes.waves}, in a proven state, as asked")
    if volatile := sorted({outcome.switch for outcome in outcomes.outcomes if outcome.volatile}):
        lines += row("reboot", f"forgets it all on {', '.join(volatile)}: set tagloom_save_to in the inventory")
    changed = "would change" if checked else "changed"
    short = not checked and not outcomes.good and 0 < outcomes.reached < waves
    of_waves = f" up to wave {outcomes.reached} of {waves}" if short else f" in {count(waves, 'wave')}"
    of_waves = of_waves if outcomes.changed else ""
    text = f"{changed} {count(len(outcomes.changed), 'switch')}{of_waves}, {len(outcomes.unchanged)} unchanged"
    text = "nothing was sent" if nothing_sent else text
    if outcomes.failed:
        text += f", {len(outcomes.failed)} FAILED"
    lines += row(verb, f"{text}, {outcomes.seconds:.1f} s")
    return lines


def interrupted_lines(cut: Interrupted, *, checked: bool, refused: bool) -> list[str]:
    """Return which pairs a change cuts off, for a check or a refusal; else it was printed before the first line."""
    if not (checked or refused) or not cut.pairs:
        return []
    lines = row("hitless", cut.sentence) if cut.hitless else wrap(cut.sentence, WIDTH, subsequent_indent=" " * LABEL)
    lines += row("why", cut.why) if cut.why and not cut.hitless else []
    lines += row("", cut.no_way) if cut.no_way else []
    return lines + (row("refused", cut.rule) if refused else [])


def way_lines(way: ChangeWay) -> list[str]:
    """Return how a change leads to its target, what its end means for failover, and what takes it back."""
    lines = row("way", way.sentence) if way.returns else []
    if way.ends_spanning_tree:
        ends = "spanning tree is off afterwards, and its automatic failover with it. After a failure, tagloom repair"
        lines += row("failover", f"{ends} reroutes; the service does so by itself: tagloom run --install-service")
    if not way.returns:
        return lines + row("undo", "none: tagloom rollback can't undo a change in one go, which has no proven way back")
    to_tree = "tagloom rollback --allow drain returns to spanning tree; no traffic passes until it has settled"
    return lines + row("undo", to_tree if way.ends_spanning_tree else "tagloom rollback")


def drift_lines(findings: Sequence[Finding]) -> list[str]:
    """Return cell by cell what was changed by hand, completely."""
    lines = row("drift", f"{count(len(findings), 'cell')} changed by hand since the last run; nothing was sent")
    return lines + [f"{'':<{LABEL}}{finding}" for finding in findings]


def ping_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return which pairs the frames reached."""
    lines = row("ping", f"{payload['reached']} of {count(payload['pairs'], 'pair')} reached, {payload['lost']} lost")
    if payload.get("path"):
        lines += row("path", ", ".join(f"{switch} (VLAN {vlan})" for switch, _, vlan, _ in payload["path"]))
    if payload.get("lost_pairs"):
        shown = [f"{a} -> {b}" for a, b in payload["lost_pairs"][:SHOWN_FINDINGS]]
        lines += row("lost", ", ".join(shown))
    if payload["storm"]:
        lines += row("storm", payload["storm"])
    return lines


def traffic_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return what became of the frames of the virtual rack's hosts."""
    lines = row(
        "traffic",
        f"{payload['frames']:,} frames in {payload['seconds']:.1f} s while {count(payload['lines'], 'line')} landed: "
        f"{payload['lost']:,} lost, {payload['duplicated']:,} duplicated, {payload['flooded']:,} flooded, "
        f"{payload['storm'] or 'no storm'}",
    )
    for fault, lost in payload["by_fault"].items():
        lines += row("", f"{lost:,} lost to a fault of this rehearsal: {fault}")
    worst_first = ("storms", "lost", "duplicated", "flooded", "overheard")
    for each in sorted(payload["witnesses"], key=lambda w: worst_first.index(w["what"]))[:SHOWN_FINDINGS]:
        words = f"{each['what']}: {each['from']} -> {each['to']} {each['detail']}".rstrip()
        lines += row("", f"{words}, after {each['after'] or 'the start'}")
    return lines


def fault_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return the faults that wait, those in effect and those that have struck."""
    lines = []
    for switch, waiting in payload["waiting"].items():
        for each in waiting:
            which = f"those that match {each['line']!r}" if each["line"] else "those that configure"
            lines += row("waits", f"{switch}: {each['kind']} at line {each['at']} of {which}")
    for switch, kinds in payload["in_effect"].items():
        lines += [line for kind in kinds for line in row("now", f"{switch}: {kind}")]
    for each in payload["struck"]:
        lines += row("struck", f"{each['switch']}: {each['kind']}" + (f" at {each['line']!r}" if each["line"] else ""))
    return lines or ["no faults were ordered"]


def observation_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return the SNMP answers of switches: a row each, then what was wrong with any."""
    rows = []
    for name, shown in payload["switches"].items():
        up = sum(port["oper_up"] is True for port in shown["ports"])
        rates = payload["rates"].get(name, {}).get("ports", [])
        busiest = max(rates, key=lambda each: max(each["in_bps"], each["out_bps"]), default=None)
        rows.append(
            (
                name,
                "failed" if shown["error"] else f"{up} of {len(shown['ports'])}",
                str(len(shown["neighbours"])) if not shown["error"] else "",
                _bps(sum(each["in_bps"] for each in rates)) if rates else "",
                f"{busiest['name']} {_bps(max(busiest['in_bps'], busiest['out_bps']))}" if busiest else "",
            )
        )
    lines = table(("switch", "ports up", "neighbours", "received", "busiest port"), rows, (1, 2, 3))
    for name, shown in payload["switches"].items():
        for what in [shown["error"]] if shown["error"] else shown["complaints"]:
            lines += row(name[: LABEL - 1], what)
    without = {name: rates["why_none"] for name, rates in payload["rates"].items() if rates["why_none"]}
    return lines + [line for name, why in without.items() for line in row(name[: LABEL - 1], f"no rates: {why}")]


def _bps(value: float) -> str:
    for unit, size in (("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.0f} b/s"


def remark_lines(remarks: Sequence[str]) -> list[str]:
    """Return remarks, one row each, and how many there are beyond those."""
    lines = [line for what in remarks[:SHOWN_FINDINGS] for line in row("remark", what)]
    if len(remarks) > SHOWN_FINDINGS:
        lines += row("", f"and {count(len(remarks) - SHOWN_FINDINGS, 'more remark')} (all with --json)")
    return lines


def discovery_lines(payload: Mapping[str, Any], against: str) -> list[str]:
    """Return what LLDP showed, what was not reached, and how it compares with the plan."""
    lines = row(
        "found",
        f"{count(payload['switches'], 'switch')}, {count(payload['links'], 'link')}, {count(payload['hosts'], 'host')} "
        "(hosts that speak LLDP)",
    )
    for each in payload["unreached"]:
        lines += row("unreached", f"{each['name']} (told by {each['told_by']}): {each['why']}")
    lines += remark_lines(payload["complaints"])
    if against:
        for kind in ("missing", "unexpected"):
            for what in payload[kind]:
                lines += row(kind[: LABEL - 1], what)
        same = not payload["missing"] and not payload["unexpected"]
        lines += row("cabling", f"as {against} has it" if same else f"not as {against} has it")
    return lines


def address_lines(payload: Mapping[str, Any], findings: Sequence[Finding]) -> list[str]:
    """Return the hosts' new addresses, those that differ from the file's, and what needs attention."""
    lines = []
    for label in ("learned", "changed"):
        rows = payload[label]
        for each in rows[:SHOWN_FINDINGS]:
            before = ", moved" if each["moved"] else f", before {each['before']}" if each["before"] else ""
            if each["migrated"]:
                before = ", from another host" if each["mac"] in each["macs"] else ", no longer here"
            lines += row(label, f"{each['host']:<10} {each['mac']}  ({each['where']}{before})")
        if len(rows) > SHOWN_FINDINGS:
            lines += row(label, f"and {len(rows) - SHOWN_FINDINGS} more (all with --json)")
    beside = [each for each in payload["unknown"] if each["host"]]
    for each in beside[:SHOWN_FINDINGS]:
        lines += row("remark", f"{each['mac']} at {each['where']} too, where {each['host']} is")
    silent = payload["silent"]
    if silent:
        named = ", ".join(silent[:5]) + (", ..." if len(silent) > 5 else "")
        lines += row("silent", f"{count(len(silent), 'host')} of which no address was seen: {named}")
    if payload["made_up"]:
        hosts = count(len(payload["made_up"]), "host")
        lines += row("made up", f"{hosts} with the address that tagloom made up, as those of the virtual rack have")
    for name, why in payload["unread"].items():
        lines += row("failed", f"{name}: {why}")
    lines += finding_lines(findings)
    known = payload["hosts"] - payload["invented"]
    return lines + row(
        "hosts", f"{known} of {payload['hosts']} have addresses of their own (read: {payload['source']})"
    )
