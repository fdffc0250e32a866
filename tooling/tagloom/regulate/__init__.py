"""Choose the links that traffic does not need."""

from tagloom.regulate.forest import routes_of
from tagloom.regulate.greedy import Rules, greedy
from tagloom.regulate.optimal import optimal
from tagloom.regulate.program import Program
from tagloom.regulate.static import connected, static, two_connected

__all__ = ["Program", "Rules", "connected", "greedy", "optimal", "routes_of", "static", "two_connected"]
