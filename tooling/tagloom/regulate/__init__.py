"""Choose the links that traffic does not need."""

from tagloom.regulate.forest import routes_of
from tagloom.regulate.greedy import Rules, greedy
from tagloom.regulate.optimal import optimal
from tagloom.regulate.program import lower_bound
from tagloom.regulate.static import connected, static, two_connected
from tagloom.regulate.timetable import covering, groups, schedules

__all__ = [
    "Rules",
    "connected",
    "covering",
    "greedy",
    "groups",
    "lower_bound",
    "optimal",
    "routes_of",
    "schedules",
    "static",
    "two_connected",
]
