"""Turn what SNMP agents answered into records, and compare them with earlier ones, plans and cabling."""

from tagloom.observe.addresses import learned_addresses
from tagloom.observe.cabling import Cabling, Unreached, cabling_of, differences, next_agents
from tagloom.observe.compare import disagreements
from tagloom.observe.dead_parts import dead_parts
from tagloom.observe.factory_tables import doubtful, judged_by_command_line
from tagloom.observe.interpret import interpret
from tagloom.observe.links import link_findings
from tagloom.observe.objects import CARRIER, COUNTERS, EVERYTHING, LEARNED, LINKS, PORTS, SCALARS
from tagloom.observe.rates import rates

__all__ = [
    "CARRIER",
    "COUNTERS",
    "EVERYTHING",
    "LEARNED",
    "LINKS",
    "PORTS",
    "SCALARS",
    "Cabling",
    "Unreached",
    "cabling_of",
    "dead_parts",
    "differences",
    "disagreements",
    "doubtful",
    "interpret",
    "judged_by_command_line",
    "learned_addresses",
    "link_findings",
    "next_agents",
    "rates",
]
