"""Lead the records through the verbs: the only room that knows the order of the steps."""

from tagloom.pipeline.files import read_build, read_texts, write_build, write_rollout, write_texts
from tagloom.pipeline.planning import (
    Build,
    link_ends,
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
    settings_page,
    traffic_of,
    with_links_off,
)

__all__ = [
    "Build",
    "link_ends",
    "parse",
    "plan",
    "predict",
    "prove",
    "read_build",
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
