"""Put a forecast together: watts before and after, run time with sleep, what a change of links costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.predict.eee import POWERCONNECT_5548, Eee, idle_seconds, overhead_seconds, predicted_seconds
from tagloom.records.forecast import Figure, Forecast

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.records.fabric import Fabric
    from tagloom.records.traffic import Traffic

HOST_BANDWIDTH_BPS = 1e9
SLEEPING_LINKS = 2  # a message leaves over its host's link and arrives over another's; both sleep


def forecast(
    before: Fabric,
    after: Fabric,
    traffic: Traffic | None,
    watts: Callable[[Fabric], float],
    toggle_seconds: Callable[[str], float],
    eee: Eee = POWERCONNECT_5548,
) -> Forecast:
    """Forecast the change from `before` to `after` (the same fabric with other links up).

    The run time is that of the host that sends most messages: they are all sent in its own time, so it is the one
    that waits longest (Miwa et al. count n per process). Without traffic the seconds are 0. Raises InputError where
    the traffic does not say how long it took, or does not fit into that time.
    """
    changed = {
        before.switches[s].model
        for old, new in zip(before.links, after.links, strict=True)
        if old.up != new.up
        for s in (old.a, old.b)
    }
    toggles = max((toggle_seconds(model) for model in changed), default=0.0)
    base, predicted, gap, overhead = _run_time(traffic, eee) if traffic is not None else (0.0, 0.0, 0.0, 0.0)
    table_2 = "chassis + ports by speed, Koibuchi et al. 2011, table 2"
    return Forecast(
        watts_before=Figure(watts(before), "W", table_2),
        watts_after=Figure(watts(after), "W", table_2),
        seconds_base=Figure(base, "s", "given with the traffic"),
        seconds_predicted=Figure(predicted, "s", f"T + n f(I) on {SLEEPING_LINKS} links, Miwa et al. 2013, eq. 1-2"),
        idle_seconds=Figure(gap, "s", "Miwa et al. 2013, eq. 4"),
        overhead_seconds=Figure(overhead, "s", f"closed form in place of eq. 3, exponential gaps; {eee.source}"),
        toggle_seconds=Figure(toggles, "s", "Koibuchi et al. 2011, table 6"),
        lost_bytes=Figure(0.0, "B", "paths are moved away before a link is shut"),
    )


def _run_time(traffic: Traffic, eee: Eee) -> tuple[float, float, float, float]:
    if traffic.seconds is None:
        raise InputError([Finding("traffic", "how long it took (a line '# seconds: N')", "nothing said")])
    sent = traffic.messages.sum(axis=1)
    busiest = int(np.argmax(sent))
    messages = float(sent[busiest])
    if messages == 0:
        return traffic.seconds, traffic.seconds, 0.0, 0.0
    bits = 8.0 * float(traffic.volume_bytes[busiest].sum()) / messages
    try:
        gap = idle_seconds(traffic.seconds, messages, bits, HOST_BANDWIDTH_BPS)
    except ValueError:
        expected = f"at most {traffic.seconds * HOST_BANDWIDTH_BPS / 8:.0f} bytes sent by one host in its seconds"
        actual = f"{messages * bits / 8:.0f} bytes"
        raise InputError([Finding("traffic", expected, actual)]) from None
    overhead = overhead_seconds(gap, eee)
    return traffic.seconds, predicted_seconds(traffic.seconds, messages, overhead, SLEEPING_LINKS), gap, overhead
