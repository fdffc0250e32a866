"""The SNMP objects that are read, by their MIBs' names."""

from __future__ import annotations

from tagloom.records.snmp import Oid, Wanted

_MIB2 = (1, 3, 6, 1, 2, 1)
_SYSTEM, _IF, _IFX, _BRIDGE = (*_MIB2, 1), (*_MIB2, 2, 2, 1), (*_MIB2, 31, 1, 1, 1), (*_MIB2, 17)
_Q = (*_BRIDGE, 7, 1)
_LLDP = (1, 0, 8802, 1, 1, 2, 1)
_LAG = (1, 2, 840, 10006, 300, 43, 1)

SCALARS: dict[str, Oid] = {
    "sysDescr": (*_SYSTEM, 1, 0),
    "sysObjectID": (*_SYSTEM, 2, 0),
    "sysUpTime": (*_SYSTEM, 3, 0),
    "sysName": (*_SYSTEM, 5, 0),
}
_CHASSIS = {"lldpLocChassisIdSubtype": (*_LLDP, 3, 1, 0), "lldpLocChassisId": (*_LLDP, 3, 2, 0)}
_SPANNING = {
    "dot1dBaseBridgeAddress": (*_BRIDGE, 1, 1, 0),
    "dot1dStpDesignatedRoot": (*_BRIDGE, 2, 5, 0),
    "dot1dStpRootPort": (*_BRIDGE, 2, 7, 0),
}
SCALARS |= _CHASSIS | _SPANNING
COLUMNS: dict[str, Oid] = {
    # IF-MIB, RFC 2863
    "ifDescr": (*_IF, 2),
    "ifAdminStatus": (*_IF, 7),
    "ifOperStatus": (*_IF, 8),
    "ifLastChange": (*_IF, 9),
    "ifInErrors": (*_IF, 14),
    "ifOutErrors": (*_IF, 20),
    "ifName": (*_IFX, 1),
    "ifHCInOctets": (*_IFX, 6),
    "ifHCInUcastPkts": (*_IFX, 7),
    "ifHCOutOctets": (*_IFX, 10),
    "ifHCOutUcastPkts": (*_IFX, 11),
    "ifHighSpeed": (*_IFX, 15),
    # IF-MIB's 32-bit counters, for a switch without others
    "ifInOctets": (*_IF, 10),
    "ifOutOctets": (*_IF, 16),
    # BRIDGE-MIB, RFC 4188
    "dot1dBasePortIfIndex": (*_BRIDGE, 1, 4, 1, 2),
    "dot1dStpPortState": (*_BRIDGE, 2, 15, 1, 3),
    "dot1dStpPortEnable": (*_BRIDGE, 2, 15, 1, 4),
    "dot1dTpFdbPort": (*_BRIDGE, 4, 3, 1, 2),
    "dot1dTpFdbStatus": (*_BRIDGE, 4, 3, 1, 3),
    # Q-BRIDGE-MIB, RFC 4363
    "dot1qTpFdbPort": (*_Q, 2, 2, 1, 2),
    "dot1qTpFdbStatus": (*_Q, 2, 2, 1, 3),
    "dot1qStaticUnicastAllowedToGoTo": (*_Q, 3, 1, 1, 3),
    "dot1qVlanFdbId": (*_Q, 4, 2, 1, 3),
    "dot1qVlanCurrentEgressPorts": (*_Q, 4, 2, 1, 4),
    "dot1qVlanCurrentUntaggedPorts": (*_Q, 4, 2, 1, 5),
    "dot1qVlanStaticEgressPorts": (*_Q, 4, 3, 1, 2),
    "dot1qVlanStaticUntaggedPorts": (*_Q, 4, 3, 1, 4),
    "dot1qPvid": (*_Q, 4, 5, 1, 1),
    # IEEE8023-LAG-MIB, IEEE 802.1AX-2008 annex C
    "dot3adAggPortAttachedAggID": (*_LAG, 2, 1, 1, 13),
    # LLDP-MIB, IEEE 802.1AB-2005 clause 12
    "lldpLocPortId": (*_LLDP, 3, 7, 1, 3),
    "lldpLocPortDesc": (*_LLDP, 3, 7, 1, 4),
    "lldpRemChassisIdSubtype": (*_LLDP, 4, 1, 1, 4),
    "lldpRemChassisId": (*_LLDP, 4, 1, 1, 5),
    "lldpRemPortIdSubtype": (*_LLDP, 4, 1, 1, 6),
    "lldpRemPortId": (*_LLDP, 4, 1, 1, 7),
    "lldpRemPortDesc": (*_LLDP, 4, 1, 1, 8),
    "lldpRemSysName": (*_LLDP, 4, 1, 1, 9),
    "lldpRemSysDesc": (*_LLDP, 4, 1, 1, 10),
    "lldpRemSysCapSupported": (*_LLDP, 4, 1, 1, 11),
    "lldpRemSysCapEnabled": (*_LLDP, 4, 1, 1, 12),
    "lldpRemManAddrIfSubtype": (*_LLDP, 4, 2, 1, 3),
}


def _wanted(scalars: str, *tables: str) -> Wanted:
    return Wanted(
        tuple(SCALARS[name] for name in scalars.split()),
        tuple(tuple(COLUMNS[name] for name in table.split()) for table in tables),
    )


_NAMES = "ifName ifDescr"
_COUNTERS = (
    "ifAdminStatus ifOperStatus ifLastChange ifHighSpeed ifHCInOctets ifHCOutOctets ifHCInUcastPkts ifHCOutUcastPkts"
)
_LLDP_REMOTE = (
    "lldpRemChassisIdSubtype lldpRemChassisId lldpRemPortIdSubtype lldpRemPortId lldpRemPortDesc lldpRemSysName "
    "lldpRemSysDesc lldpRemSysCapSupported lldpRemSysCapEnabled"
)
_AGGREGATED = "dot3adAggPortAttachedAggID"
_LLDP_TABLES = ("lldpLocPortId lldpLocPortDesc", _LLDP_REMOTE, "lldpRemManAddrIfSubtype")
_LEARNED_TABLES = ("dot1qTpFdbPort dot1qTpFdbStatus", "dot1dTpFdbPort dot1dTpFdbStatus")
_SYSTEM_NAMES = "sysDescr sysObjectID sysUpTime sysName"

COUNTERS = _wanted("sysUpTime", _COUNTERS)  # for a traffic poll
CARRIER = _wanted("sysUpTime", _NAMES, "ifAdminStatus ifOperStatus ifLastChange")  # what is up, and since when
PASSING = _wanted(  # the same with unicast counters
    "sysUpTime", _NAMES, "ifAdminStatus ifOperStatus ifLastChange ifHCInUcastPkts ifHCOutUcastPkts"
)
PORTS = _wanted("sysUpTime", _NAMES, _COUNTERS)  # the same with the ports' names, which give the port numbers
LEARNED = _wanted(  # addresses by port
    "sysUpTime sysName", _NAMES, "dot1dBasePortIfIndex dot1qPvid", "dot1qVlanFdbId", *_LEARNED_TABLES
)
LINKS = _wanted(
    f"{_SYSTEM_NAMES} {' '.join(_CHASSIS)} dot1dBaseBridgeAddress",
    _NAMES,
    "ifOperStatus",
    "dot1dBasePortIfIndex",
    _AGGREGATED,
    *_LLDP_TABLES,
)
NETWORK = _wanted(  # what adopt takes over: models, cabling, learnt addresses, spanning tree
    f"{_SYSTEM_NAMES} {' '.join((*_CHASSIS, *_SPANNING))}",
    _NAMES,
    "ifAdminStatus ifOperStatus",
    "dot1dBasePortIfIndex dot1qPvid",
    "dot1qVlanFdbId",
    *_LEARNED_TABLES,
    "dot1dStpPortState dot1dStpPortEnable",
    _AGGREGATED,
    *_LLDP_TABLES,
)
EVERYTHING = _wanted(
    f"{_SYSTEM_NAMES} {' '.join(_CHASSIS)}",
    _NAMES,
    f"{_COUNTERS} ifInErrors ifOutErrors",
    "ifInOctets ifOutOctets",
    "dot1dBasePortIfIndex dot1qPvid",
    "dot1qVlanStaticEgressPorts dot1qVlanStaticUntaggedPorts",
    "dot1qVlanFdbId dot1qVlanCurrentEgressPorts dot1qVlanCurrentUntaggedPorts",
    "dot1qStaticUnicastAllowedToGoTo",
    *_LEARNED_TABLES,
    _AGGREGATED,
    *_LLDP_TABLES,
)
