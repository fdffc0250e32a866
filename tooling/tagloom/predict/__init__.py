"""Forecast the cost in time and the saving in watts of a configuration."""

from tagloom.predict.eee import delay_seconds, fit_overhead, idle_seconds, overhead_seconds, step_overhead_seconds
from tagloom.predict.forecast import forecast
from tagloom.predict.link import BURSTS, check_link, evenly_spaced, one_link
from tagloom.predict.phy import load_phy
from tagloom.records.sleep import Eee

__all__ = [
    "BURSTS",
    "Eee",
    "check_link",
    "delay_seconds",
    "evenly_spaced",
    "fit_overhead",
    "forecast",
    "idle_seconds",
    "load_phy",
    "one_link",
    "overhead_seconds",
    "step_overhead_seconds",
]
