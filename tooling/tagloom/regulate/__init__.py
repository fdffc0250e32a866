"""Choose the links that traffic does not need."""

from tagloom.regulate.forest import routes_of
from tagloom.regulate.greedy import Choice, Rules, greedy
from tagloom.regulate.optimal import optimal
from tagloom.regulate.program import Program
from tagloom.regulate.rerouted import rerouted
from tagloom.regulate.static import connected, static, two_connected
from tagloom.regulate.timetable import covering, groups, schedules

__all__ = [
    "Choice",
    "Program",
    "Rules",
    "connected",
    "covering",
    "greedy",
    "groups",
    "optimal",
    "rerouted",
    "routes_of",
    "schedules",
    "static",
    "two_connected",
]
