"""Read what people and tools write: fabric files, family names, traffic."""

from tagloom.read.fabric_file import read_fabric
from tagloom.read.fabric_text import format_fabric, format_family
from tagloom.read.families import FAMILIES
from tagloom.read.inventory import fabric_of, fabric_path
from tagloom.read.messages import read_messages
from tagloom.read.snmp_settings import SnmpSettings, agent_at, read_snmp_settings
from tagloom.read.traffic import place, read_profile, read_traffic

__all__ = [
    "FAMILIES",
    "SnmpSettings",
    "agent_at",
    "fabric_of",
    "fabric_path",
    "format_fabric",
    "format_family",
    "place",
    "read_fabric",
    "read_messages",
    "read_profile",
    "read_snmp_settings",
    "read_traffic",
]
