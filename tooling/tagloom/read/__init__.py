"""Read what people and tools write: fabric files, family names, traffic."""

from tagloom.read.fabric_file import read_fabric
from tagloom.read.fabric_text import format_fabric, format_family
from tagloom.read.families import FAMILIES
from tagloom.read.messages import read_messages
from tagloom.read.snmp_settings import SnmpSettings, read_snmp_settings
from tagloom.read.traffic import place, read_traffic

__all__ = [
    "FAMILIES",
    "SnmpSettings",
    "format_fabric",
    "format_family",
    "place",
    "read_fabric",
    "read_messages",
    "read_snmp_settings",
    "read_traffic",
]
