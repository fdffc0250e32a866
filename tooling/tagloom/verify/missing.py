"""Determine what the loss of each static entry, alone, would do to the flows that use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.rows import places
from tagloom.records.findings import MissingEntry
from tagloom.records.tagged_ports import without_tags
from tagloom.verify.forwarding import NOWHERE, forwarding
from tagloom.verify.looked_up import looked_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState
    from tagloom.verify.forwarding import Forwarding
    from tagloom.verify.looked_up import LookedUp

CASES = 1 << 13  # losses followed at once; bounds memory to cases x the egresses of one flood
NO_ENTRY = 0


def missing_entry(fabric: Fabric, state: FabricState) -> MissingEntry:
    """Return the effects of removing every static entry alone, on all copies of the frames that would have met it.

    A frame floods where its entry is missing, and each copy continues by the entries of the other switches, flooding
    again where there is none. The outcome depends on the entry and the port of arrival, not on the source, so each such
    case is followed once and counted as often as host pairs meet it; a sender that some switch may drop frames of is a
    case of its own (see `looked_up`). Unused entries change nothing. Where ports carry
    several networks, those who hear a frame are of its own: `isolation` judges the others.
    """
    seen = [without_tags(part, state) for part in fabric.by_network] if fabric.tagged_hosts else [(fabric, state)]
    found = [_of_hosts(forwarding(part, held)) for part, held in seen]
    entries, worst = sum(each for each, _, _ in found), max(most for _, most, _ in found)
    total, heard, lost, duplicated, storms = np.sum([totals for _, _, totals in found], axis=0).tolist()
    return MissingEntry(entries, total, heard / total if total else 0.0, worst, lost, duplicated, storms)


def _of_hosts(model: Forwarding) -> tuple[int, int, NDArray[np.int64]]:
    """Return the entries in use, the most extra hosts, and (flows, extra hosts, lost, duplicated, storms), int64[5]."""
    fabric = model.fabric
    ports = max(fabric.ports, default=0) + 1
    pin = np.zeros((len(fabric.hosts), model.nodes), np.int32)
    pin[model.entry_host, model.entry_node] = model.entry_port
    table, looked, senders = model.egress_table(), looked_up(model), len(fabric.hosts) + 1
    case, flows = _cases(model, pin, table, looked)
    totals, worst, entries = np.zeros(5, np.int64), 0, set[int]()  # flows, extra hosts, lost, duplicated, storms
    for low in range(0, len(case), CASES):
        some, weight = case[low : low + CASES], flows[low : low + CASES]
        met, sender = np.divmod(some, senders)
        entry, in_port = np.divmod(met, ports)
        destination, node = np.divmod(entry, model.nodes)
        extra, copies, storm = _follow(model, pin, table, looked, destination, node, in_port, sender)
        totals += [int(weight @ of) for of in (np.ones_like(extra), extra, copies == 0, copies > 1, storm)]
        worst = max(worst, int(extra.max(initial=0)))
        entries.update(entry.tolist())
    return len(entries), worst, totals


def _cases(
    model: Forwarding, pin: NDArray[np.int32], table: NDArray[np.int32], looked: LookedUp
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each (destination, node, in-port, sender) at which frames meet an entry, as one number, and the pairs.

    The sender is H for all those whose frames no switch drops for their sender.
    """
    fabric, hosts = model.fabric, len(model.fabric.hosts)
    ports = max(fabric.ports, default=0) + 1
    met: dict[int, NDArray[np.int64]] = {}
    for d in range(hosts):
        source = np.flatnonzero((np.arange(hosts) != d) & (model.inject != NOWHERE))
        node, in_port = model.inject[source].astype(np.int64), fabric.host_port[source]
        sender = looked.told_apart(source, node)
        keys: list[NDArray[np.int64]] = []
        for _ in range(model.nodes + 1):  # a frame forwarded more often is in a loop
            taken = ~looked.drops(sender, node, in_port)
            sender, node, in_port = sender[taken], node[taken], in_port[taken]
            port = pin[d, node]
            egress = table[node, port]
            keys.append((((d * model.nodes + node) * ports + in_port) * (hosts + 1) + sender)[port != NO_ENTRY])
            good = (port != NO_ENTRY) & (egress != NOWHERE) & (port != in_port)
            sender, egress = sender[good], egress[good]
            on = (model.egress_channel[egress] >= 0) & (model.egress_to[egress] != NOWHERE)
            sender, egress = sender[on], egress[on]
            node, in_port = model.egress_to[egress].astype(np.int64), fabric.head_port[model.egress_channel[egress]]
            if not len(node):
                break
        met[d] = np.concatenate(keys)
    case, flows = np.unique(np.concatenate(list(met.values())) if met else np.empty(0, np.int64), return_counts=True)
    return case, flows


def _follow(
    model: Forwarding,
    pin: NDArray[np.int32],
    table: NDArray[np.int32],
    looked: LookedUp,
    destination: NDArray[np.int64],
    gone: NDArray[np.int64],
    in_port: NDArray[np.int64],
    sender: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return per case the extra hosts that hear the frame, the copies at its destination, and whether it storms."""
    fabric = model.fabric
    cases, egresses, hosts = len(destination), len(model.egress_node), len(fabric.hosts)
    heard = np.zeros((cases, hosts), np.bool_)
    copies = np.zeros(cases, np.int64)
    case, node, came, times = np.arange(cases), gone, in_port, np.ones(cases, np.int64)
    for _ in range(egresses + 1):
        taken = ~looked.drops(sender[case], node, came)
        case, node, came, times = case[taken], node[taken], came[taken], times[taken]
        port = np.where(node == gone[case], NO_ENTRY, pin[destination[case], node])
        floods = port == NO_ENTRY
        count = np.where(floods, model.egress_start[node + 1] - model.egress_start[node], 1)
        index = np.repeat(np.arange(len(case)), count)
        egress = np.where(floods[index], places(model.egress_start[node], count), table[node[index], port[index]])
        egress[egress == NOWHERE] = egresses  # led nowhere
        kept = np.flatnonzero(egress < egresses)
        kept = kept[model.egress_port[egress[kept]] != came[index[kept]]]
        kept = kept[~floods[index[kept]] | model.egress_floods[egress[kept]]]
        egress, case, times = egress[kept], case[index[kept]], times[index[kept]]
        host = model.egress_host[egress]
        heard[case[host >= 0], host[host >= 0]] = True
        np.add.at(copies, case[host == destination[case]], times[host == destination[case]])
        on = (model.egress_channel[egress] >= 0) & (model.egress_to[egress] != NOWHERE)
        # Copies on one egress of one case behave alike: count them together, so that a storm cannot fill memory.
        key, where = np.unique(case[on] * (egresses + 1) + egress[on], return_inverse=True)
        times = np.minimum(np.bincount(where, times[on], len(key)), 1 << 30).astype(np.int64)
        case, egress = np.divmod(key, egresses + 1)
        node, came = (
            model.egress_to[egress].astype(np.int64),
            fabric.head_port[model.egress_channel[egress]].astype(np.int64),
        )
        if not len(key):
            break
    storm = np.zeros(cases, np.int64)
    storm[case] = 1  # still in transit after more steps than there are egresses
    return heard.sum(axis=1) - heard[np.arange(cases), destination], copies, storm
