"""Read power over SNMP: rack PDUs of APC and Raritan, and what switches say of themselves."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from tagloom.adapters.snmp import Snmp
from tagloom.errors import DeviceError, Finding, InputError
from tagloom.records.measurement import Sample
from tagloom.records.snmp import SNMP_PORT, Wanted
from tagloom.units import split_address

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.records.snmp import Credentials, Oid, Raw, Value


def _oid(text: str) -> Oid:
    return tuple(map(int, text.split(".")))


# PowerNet-MIB: rPDU2DeviceStatusPower in hundredths of kW (so in steps of 10 W), rPDU2OutletMeteredStatusPower in W;
# -1 where the model cannot.
APC_DEVICE, APC_OUTLET = _oid("1.3.6.1.4.1.318.1.1.26.4.3.1.5"), _oid("1.3.6.1.4.1.318.1.1.26.9.4.3.1.7")
# PDU2-MIB: measurementsInletSensorValue and measurementsOutletSensorValue, by PDU, inlet or outlet, and sensor
# activePower(5), in units of 10^-digits W by inletSensorDecimalDigits and outletSensorDecimalDigits.
RARITAN_INLET, RARITAN_INLET_DIGITS = _oid("1.3.6.1.4.1.13742.6.5.2.3.1.4"), _oid("1.3.6.1.4.1.13742.6.3.3.4.1.7")
RARITAN_OUTLET, RARITAN_OUTLET_DIGITS = _oid("1.3.6.1.4.1.13742.6.5.4.3.1.4"), _oid("1.3.6.1.4.1.13742.6.3.5.4.1.7")
ACTIVE_POWER = 5
# ENTITY-SENSOR-MIB (RFC 3433): entPhySensorType, -Scale, -Precision, -Value; type watts(6), scale units(9) in steps of
# 10^3, value in units of 10^-precision.
ENTITY_TYPE, ENTITY_SCALE, ENTITY_PRECISION, ENTITY_VALUE = (_oid(f"1.3.6.1.2.1.99.1.1.1.{i}") for i in (1, 2, 3, 4))
ENTITY_WATTS, ENTITY_UNITS = 6, 9
POE = _oid("1.3.6.1.2.1.105.1.3.1.1.4")  # POWER-ETHERNET-MIB (RFC 3621): pethMainPseConsumptionPower in W
SEES = {
    "apc": "all that hangs on the PDU, or on the outlet that was named",
    "raritan": "all that hangs on the PDU, or on the outlet that was named",
    "entity": "what the switch's own sensors see of it",
    "poe": "what the switch gives to others over PoE, nothing of its own",
    "oid": "whatever this object means",
}


class SnmpMeter:
    """Watts by one GET or walk a sample."""

    paces_itself = False

    def __init__(
        self, kind: str, where: str, credentials: Credentials, interval_seconds: float, clock: Callable[[], float]
    ) -> None:
        self.name, self.sees = f"{kind} at {where}", SEES[kind]
        self.interval_seconds, self._clock = interval_seconds, clock
        host, _, rest = where.partition("/")
        try:
            self._agent = split_address(host, SNMP_PORT)
        except ValueError:
            raise InputError([Finding("--meter", f"{kind}:HOST[:PORT]", f"{kind}:{where}")]) from None
        self._kind, self._scale = kind, 1.0
        self._object: Oid = ()
        self._outlet = 0
        if kind == "oid":
            found = re.fullmatch(r"\.?(\d+(?:\.\d+)+)(?:\*([0-9.eE+-]+))?", rest)
            if found is None:
                raise InputError([Finding("--meter", "oid:HOST/1.3.6...[*SCALE]", f"{kind}:{where}")])
            self._object, self._scale = _oid(found[1]), float(found[2] or 1)
        elif rest and not (kind in {"apc", "raritan"} and rest.isdigit()):
            raise InputError(
                [Finding("--meter", f"{kind}:HOST[:PORT], or an outlet's number of a PDU", f"{kind}:{where}")]
            )
        else:
            self._outlet = int(rest or 0)
        self._snmp = Snmp(credentials, clock=time.monotonic)
        self._wanted = self._wishes()
        try:
            self.read()
        except DeviceError:
            self.close()
            raise

    def _wishes(self) -> Wanted:
        if self._kind == "apc":
            return Wanted(((*(APC_OUTLET if self._outlet else APC_DEVICE), self._outlet or 1),))
        if self._kind == "raritan":
            value, digits = (
                (RARITAN_OUTLET, RARITAN_OUTLET_DIGITS) if self._outlet else (RARITAN_INLET, RARITAN_INLET_DIGITS)
            )
            index = (1, self._outlet or 1, ACTIVE_POWER)
            return Wanted(((*value, *index), (*digits, *index)))
        if self._kind == "entity":
            return Wanted(tables=((ENTITY_TYPE, ENTITY_SCALE, ENTITY_PRECISION, ENTITY_VALUE),))
        if self._kind == "poe":
            return Wanted(tables=((POE,),))
        return Wanted((self._object,))

    def read(self) -> Sample:
        """Return the reading. Raises DeviceError where the agent is silent, refuses, or has no such object."""
        began = self._clock()
        raw = self._snmp.ask({self.name: self._agent}, self._wanted)[self.name]
        if raw.error:
            raise DeviceError(self.name, "read", raw.error)
        watts = self._watts(raw)
        if watts is None:
            raise DeviceError(self.name, "read", "; ".join(raw.complaints) or "it has no power reading there")
        return Sample((began + self._clock()) / 2, watts)

    def _watts(self, raw: Raw) -> float | None:
        if self._kind in {"entity", "poe"}:
            return self._sum(raw)
        values = [raw.scalars.get(name) for name in self._wanted.scalars]
        if not all(isinstance(value, int) for value in values):
            return None
        first = float(_number(values[0]))
        if self._kind == "apc":
            return None if first < 0 else first * (1 if self._outlet else 10)
        if self._kind == "raritan":
            return first / 10.0 ** _number(values[1])
        return first * self._scale

    def _sum(self, raw: Raw) -> float | None:
        if self._kind == "poe":
            rows = raw.columns.get(POE, {})
            return float(sum(map(_number, rows.values()))) if rows else None
        types, scales, precisions, values = (
            raw.columns.get(column, {}) for column in (ENTITY_TYPE, ENTITY_SCALE, ENTITY_PRECISION, ENTITY_VALUE)
        )
        watts = [index for index, kind in types.items() if kind == ENTITY_WATTS and index in values]
        if not watts:
            return None
        return sum(
            _number(values[i])
            * 1000.0 ** (_number(scales.get(i, ENTITY_UNITS)) - ENTITY_UNITS)
            / 10.0 ** _number(precisions.get(i, 0))
            for i in watts
        )

    def close(self) -> None:
        """Close the sockets."""
        self._snmp.__exit__(None, None, None)


def _number(value: Value | None) -> int:
    return value if isinstance(value, int) else 0
