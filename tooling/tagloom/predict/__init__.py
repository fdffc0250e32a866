"""Forecast what a configuration will cost in time and save in watts."""

from tagloom.predict.eee import delay_seconds, fit_overhead, idle_seconds, overhead_seconds, step_overhead_seconds
from tagloom.predict.forecast import forecast
from tagloom.predict.link import check_link, one_link
from tagloom.predict.phy import load_phy
from tagloom.records.sleep import Eee

__all__ = [
    "Eee",
    "check_link",
    "delay_seconds",
    "fit_overhead",
    "forecast",
    "idle_seconds",
    "load_phy",
    "one_link",
    "overhead_seconds",
    "step_overhead_seconds",
]
