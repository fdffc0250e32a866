"""Forecast how long a rollout interrupts each host pair, and the bytes lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.forecast import Figure, Interruption

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState
    from tagloom.records.traffic import Traffic

TRAINING = ("enabled", "speed_mbps", "negotiation", "flow_control", "eee")
MOST_BUFFER_BYTES = 9e3  # largest buffering seen on a path: Blanquicet and Christensen's Table II implies 0 to 9 kB
SOURCE = (
    "waves that pause hosts, host ports that train anew (at least: Koibuchi et al. 2011, table 6); "
    "L = max(0, min(B, R T) - S)"
)


def interruption(
    fabric: Fabric,
    states: Sequence[FabricState],
    waves: Sequence[tuple[str, str, float]],
    toggle_seconds: Callable[[str], float],
    traffic: Traffic | None,
) -> Interruption:
    """Return the interruptions by all waves; `states` are those before the first wave and after each.

    `waves` are (name, why, seconds for which hosts are paused). A pause cuts every pair of one network. A host port
    whose speed, negotiation, flow control, EEE or enabled state changes retrains its link and cuts its host's pairs.
    Links between switches carry nothing when they change (the rollout's proof). What a pair sends meanwhile at its mean
    rate is lost; buffers are taken as 0.
    """
    hosts = len(fabric.hosts)
    seconds = np.zeros((hosts, hosts))
    lost = np.zeros((hosts, hosts)) if traffic is not None and traffic.seconds else None
    interrupting = []
    for (name, why, paused), old, new in zip(waves, states[:-1], states[1:], strict=True):
        bounced = np.array([toggle_seconds(m) if t else 0.0 for t, m in _trained(fabric, old, new)])
        away = np.maximum(np.maximum(bounced[:, None], bounced[None, :]), paused)
        np.fill_diagonal(away, 0.0)
        if fabric.within_networks is not None:
            away = away * fabric.within_networks
        if not away.any():
            continue
        seconds += away
        interrupting.append((name, why, float(away.max())))
        if lost is not None and traffic is not None and traffic.seconds:
            lost += _lost(traffic.volume_bytes, traffic.seconds, away)
    return Interruption(seconds, lost, tuple(interrupting), SOURCE)


def lost_figure(found: Interruption, traffic: Traffic | None) -> Figure:
    """Return the bytes that all pairs lose together; low: a buffer of 9 kB for each, high: none."""
    if not found.seconds.any():
        return Figure(0.0, "B", "no wave of the rollout interrupts a pair", 0.0, 0.0)
    if found.lost_bytes is None or traffic is None:
        return Figure(0.0, "B", "pairs are interrupted, but no traffic says how fast they send", 0.0, 0.0)
    value = float(found.lost_bytes.sum())
    kept = np.minimum(found.lost_bytes, MOST_BUFFER_BYTES * len(found.waves)).sum()
    return Figure(value, "B", SOURCE, value - float(kept), value)


def _trained(fabric: Fabric, old: FabricState, new: FabricState) -> list[tuple[bool, str]]:
    """Return for every host whether its port retrains, and the switch's model."""
    found = []
    for host in fabric.hosts:
        switch, at = fabric.switches[host.switch], host.port - 1
        a, b = old[switch.name], new[switch.name]
        changed = any(getattr(a, cell)[at] != getattr(b, cell)[at] for cell in TRAINING)
        found.append((changed, switch.model))
    return found


def _lost(volume: NDArray[np.float64], run_seconds: float, away: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `rate_switch.lost_bytes` for every pair, at its mean rate and without buffers."""
    return np.minimum(volume, volume / run_seconds * away)
