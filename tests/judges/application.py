"""Forecast an application's run time with sleep from its profile: by the paper's model, and by calls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagloom.predict.eee import idle_seconds, overhead_seconds

if TYPE_CHECKING:
    from tagloom.records.sleep import Eee, Fit


@dataclass(frozen=True, slots=True)
class Profile:
    """One process's view of a run, and its host's.

    seconds              the whole run without sleep
    messages             what this process sent
    message_bits         the mean size of one, on the wire
    calls                how often its host began to send after computing: ranks that call together share one call
    call_bits            what its host's busier direction carried per call, on the wire
    variation            standard deviation over mean of the idle time between calls; 1 (exponential) where nobody knows
    skew_seconds         how much earlier the first frame of a call wakes the links that the last message of it needs
    """

    seconds: float
    messages: float
    message_bits: float
    calls: float
    call_bits: float
    variation: float = 1.0
    skew_seconds: float = 0.0


def predicted_seconds(seconds: float, messages: float, overhead: float, sleeping_links: float) -> float:
    """Return the run time with sleep, eq. 1-2: T + n f(I), counted on every link a message crosses that may sleep."""
    return seconds + messages * sleeping_links * overhead


def by_messages(profile: Profile, fit: Fit, bandwidth_bps: float) -> float:
    """Return the run time in seconds by Miwa et al. 2013, eq. 1-4: every message pays f of the mean gap."""
    gap = idle_seconds(profile.seconds, profile.messages, profile.message_bits, bandwidth_bps)
    return predicted_seconds(profile.seconds, profile.messages, fit.overhead_seconds(gap), 1)


def by_calls(profile: Profile, eee: Eee, bandwidth_bps: float, links: int = 2) -> float:
    """Return the run time in seconds from calls instead of messages: the messages of a call share one idle gap.

    Eq. 4 with calls for messages gives the gap before the last caller, whom the others wait for; the first caller has
    begun to wake the links `skew_seconds` before. On a path of `links`, each wakes when the first frame reaches it;
    where both directions sleep together, the receivers' own calls wake the path from its other end, and the wakes meet
    in the middle.
    """
    gap = idle_seconds(profile.seconds, profile.calls, profile.call_bits, bandwidth_bps)
    hops = (links + 1) // 2 if eee.together else links
    return predicted_seconds(profile.seconds, profile.calls, call_seconds(gap, eee, profile, hops), 1)


def call_seconds(gap_seconds: float, eee: Eee, profile: Profile, hops: int) -> float:
    """Return the mean wait of a call's last message, whose links began to wake a skew before it was sent.

    A wait that is the skew shorter is the wait of a port that wakes that much faster; where the skew is longer than
    the wake, only calls that come early while the port falls asleep still wait.
    """
    first = gap_seconds - profile.skew_seconds
    wake = hops * eee.wake_seconds - profile.skew_seconds
    quicker = replace(eee, wake_seconds=max(wake, 0.0), sleep_seconds=max(eee.sleep_seconds + min(wake, 0.0), 0.0))
    return overhead_seconds(first, quicker, profile.variation)
