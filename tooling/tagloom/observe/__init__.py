"""Turn SNMP answers into records, and compare them with earlier ones, plans and cabling."""

from tagloom.observe.addresses import import_list, learn, learned_addresses, refuse_other_hosts, with_changes
from tagloom.observe.cabling import Cabling, Unreached, cabling_of, differences, discovery_payload, next_agents
from tagloom.observe.compare import disagreements
from tagloom.observe.dead_parts import dead_parts, ports_up
from tagloom.observe.factory_tables import doubtful, judged_by_command_line
from tagloom.observe.interpret import interpret
from tagloom.observe.links import link_findings
from tagloom.observe.objects import CARRIER, COUNTERS, EVERYTHING, LEARNED, LINKS, NETWORK, PASSING, PORTS, SCALARS
from tagloom.observe.one_way import OneWayWatch, with_links_lost
from tagloom.observe.rates import busiest_link, counted_interval, rates, rates_between
from tagloom.observe.readings import findings_of, observe_all, snapshot_payload

__all__ = [
    "CARRIER",
    "COUNTERS",
    "EVERYTHING",
    "LEARNED",
    "LINKS",
    "NETWORK",
    "PASSING",
    "PORTS",
    "SCALARS",
    "Cabling",
    "OneWayWatch",
    "Unreached",
    "busiest_link",
    "cabling_of",
    "counted_interval",
    "dead_parts",
    "differences",
    "disagreements",
    "discovery_payload",
    "doubtful",
    "findings_of",
    "import_list",
    "interpret",
    "judged_by_command_line",
    "learn",
    "learned_addresses",
    "link_findings",
    "next_agents",
    "observe_all",
    "ports_up",
    "rates",
    "rates_between",
    "refuse_other_hosts",
    "snapshot_payload",
    "with_changes",
    "with_links_lost",
]
