"""What a run without sleep tells of an application: time, calls, messages, and how regular the calls are."""

from __future__ import annotations

from dataclasses import dataclass


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
