"""Lead the records through the verbs: the only room that knows the order of the steps."""

from tagloom.pipeline.counting import port_numbers
from tagloom.pipeline.files import read_build, read_texts, write_build, write_rollout, write_texts
from tagloom.pipeline.planning import (
    Build,
    host_pages,
    parse,
    plan,
    predict,
    prove,
    regulate,
    render,
    rollout,
    rollout_between,
    rollout_page,
    routings,
    traffic_counted,
    traffic_of,
    with_links_off,
)
from tagloom.pipeline.regulating import Wish, chosen, link_ends, read_levels, settings_page, wish_findings
from tagloom.platforms.power import read_power

__all__ = [
    "Build",
    "Wish",
    "chosen",
    "host_pages",
    "link_ends",
    "parse",
    "plan",
    "port_numbers",
    "predict",
    "prove",
    "read_build",
    "read_levels",
    "read_power",
    "read_texts",
    "regulate",
    "render",
    "rollout",
    "rollout_between",
    "rollout_page",
    "routings",
    "settings_page",
    "traffic_counted",
    "traffic_of",
    "wish_findings",
    "with_links_off",
    "write_build",
    "write_rollout",
    "write_texts",
]
