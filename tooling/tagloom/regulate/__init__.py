"""Choose the links that traffic does not need."""

from tagloom.regulate.forest import routes_of
from tagloom.regulate.greedy import Choice, Rules, greedy
from tagloom.regulate.optimal import optimal
from tagloom.regulate.program import Program
from tagloom.regulate.rerouted import rerouted
from tagloom.regulate.static import connected, static, two_connected

__all__ = [
    "Choice",
    "Program",
    "Rules",
    "connected",
    "greedy",
    "optimal",
    "rerouted",
    "routes_of",
    "static",
    "two_connected",
]
