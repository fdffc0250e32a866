"""Open the power meter that a word names: KIND:WHERE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tagloom.adapters import meters_csv, meters_http, meters_ipmi, meters_powercap, meters_serial, meters_snmp
from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.records.measurement import Meter
    from tagloom.records.snmp import Credentials

KINDS = {
    "wattsup": "wattsup:/dev/ttyUSB0, a Watts Up? PRO",
    "rapl": "rapl, this machine's processors and memory",
    "apc": "apc:HOST[:PORT][/OUTLET], an APC rPDU2",
    "raritan": "raritan:HOST[:PORT][/OUTLET], a Raritan PX2 or PX3",
    "entity": "entity:HOST[:PORT], a switch's own power sensors (ENTITY-SENSOR-MIB)",
    "poe": "poe:HOST[:PORT], what a switch gives to its PoE ports",
    "oid": "oid:HOST[:PORT]/1.3.6...[*SCALE], any object in watts after scaling",
    "ipmi": "ipmi[:HOST], DCMI by ipmitool",
    "shelly": "shelly:HOST[:PORT][/CHANNEL], a Shelly plug",
    "tasmota": "tasmota:HOST[:PORT], a plug under Tasmota",
    "csv": "csv:FILE, recorded seconds,watts played again",
}


def open_meter(
    word: str, *, interval_seconds: float, credentials: Callable[[], Credentials], clock: Callable[[], float]
) -> Meter:
    """Open a meter. Raises InputError where the word is none, DeviceError where the meter does not answer."""
    kind, _, where = word.partition(":")
    if kind not in KINDS or (not where and kind not in {"rapl", "ipmi"}):
        raise InputError([Finding("--meter", "one of " + "; ".join(KINDS.values()), repr(word))])
    if kind == "wattsup":
        return meters_serial.WattsUp(where, clock)
    if kind == "rapl":
        return meters_powercap.Powercap(Path(where or meters_powercap.ROOT), interval_seconds, clock)
    if kind == "ipmi":
        return meters_ipmi.Dcmi(where, interval_seconds, clock)
    if kind == "csv":
        return meters_csv.Replay(Path(where), clock)
    if kind in meters_http.PLUGS:
        return meters_http.Plug(kind, where, interval_seconds, clock)
    return meters_snmp.SnmpMeter(kind, where, credentials(), interval_seconds, clock)
