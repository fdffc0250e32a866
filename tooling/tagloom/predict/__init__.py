"""Say beforehand what a configuration will cost in time and save in watts."""

from tagloom.predict.eee import Eee, idle_seconds, overhead_seconds, step_overhead_seconds
from tagloom.predict.forecast import forecast

__all__ = ["Eee", "forecast", "idle_seconds", "overhead_seconds", "step_overhead_seconds"]
