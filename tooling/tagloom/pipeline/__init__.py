"""Call the verbs in order, from records to records: only this package knows the steps."""

from tagloom.pipeline.files import read_build, write_build, write_rollout
from tagloom.pipeline.forecasting import Question, interruption_of, predict_build, traffic_from, traffic_of
from tagloom.pipeline.planning import (
    plan,
    refuse_plan,
    regulate,
    routings,
    summary_of,
)
from tagloom.pipeline.proving import prove
from tagloom.pipeline.rollouts import greenfield, rollout, rollout_between
from tagloom.pipeline.route_sets import prove_paths, prove_tables, write_certificate
from tagloom.read.build_directory import folder_of_texts, occupied, read_texts, write_texts
from tagloom.records.build import Build
from tagloom.render import host_pages, parse, render, site_lines, with_trusted_lines
from tagloom.rollout import unfit
from tagloom.route import own_routes
from tagloom.verify import assumptions, frame_path

__all__ = [
    "Build",
    "Question",
    "assumptions",
    "folder_of_texts",
    "frame_path",
    "greenfield",
    "host_pages",
    "interruption_of",
    "occupied",
    "own_routes",
    "parse",
    "plan",
    "predict_build",
    "prove",
    "prove_paths",
    "prove_tables",
    "read_build",
    "read_texts",
    "refuse_plan",
    "regulate",
    "render",
    "rollout",
    "rollout_between",
    "routings",
    "site_lines",
    "summary_of",
    "traffic_from",
    "traffic_of",
    "unfit",
    "with_trusted_lines",
    "write_build",
    "write_certificate",
    "write_rollout",
    "write_texts",
]
