"""Lead the records through the verbs: the only room that knows the order of the steps."""

from tagloom.pipeline.counting import port_numbers, traffic_from
from tagloom.pipeline.files import occupied, read_build, read_texts, write_build, write_rollout, write_texts
from tagloom.pipeline.forecasting import Question, interruption_of, predict, predict_build, traffic_of, with_profile
from tagloom.pipeline.planning import (
    Build,
    greenfield,
    host_pages,
    may_finish,
    own_routes,
    parse,
    plan,
    prove,
    regulate,
    render,
    rollout,
    rollout_between,
    rollout_page,
    routings,
    with_links_off,
)
from tagloom.pipeline.regulating import Wish, chosen, link_ends, read_levels, settings_page, wish_findings
from tagloom.pipeline.timetabling import DayWish
from tagloom.platforms.power import read_power
from tagloom.rollout import unfit
from tagloom.verify import assumptions

__all__ = [
    "Build",
    "DayWish",
    "Question",
    "Wish",
    "assumptions",
    "chosen",
    "greenfield",
    "host_pages",
    "interruption_of",
    "link_ends",
    "may_finish",
    "occupied",
    "own_routes",
    "parse",
    "plan",
    "port_numbers",
    "predict",
    "predict_build",
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
    "traffic_from",
    "traffic_of",
    "unfit",
    "wish_findings",
    "with_links_off",
    "with_profile",
    "write_build",
    "write_rollout",
    "write_texts",
]
