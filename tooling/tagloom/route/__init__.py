"""Choose paths: a deadlock-free tree of channels from every source."""

from tagloom.route.choose import METHODS, chosen_root, route, unknown_method
from tagloom.route.few_vlans import balanced, kept_routes, own_routes
from tagloom.route.plannable import plannable

__all__ = ["METHODS", "balanced", "chosen_root", "kept_routes", "own_routes", "plannable", "route", "unknown_method"]
