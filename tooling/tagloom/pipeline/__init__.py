"""Lead the records through the verbs: the only room that knows the order of the steps."""

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
    traffic_of,
    with_links_off,
)
from tagloom.pipeline.regulating import Wish, chosen, link_ends, read_levels, settings_page
from tagloom.pipeline.timetabling import DayWish
from tagloom.platforms.power import read_power

__all__ = [
    "Build",
    "DayWish",
    "Wish",
    "chosen",
    "host_pages",
    "link_ends",
    "parse",
    "plan",
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
    "traffic_of",
    "with_links_off",
    "write_build",
    "write_rollout",
    "write_texts",
]
