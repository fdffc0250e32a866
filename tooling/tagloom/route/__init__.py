"""Choose paths: a deadlock-free tree of channels from every source."""

from tagloom.route.choose import METHODS, chosen_root, route

__all__ = ["METHODS", "chosen_root", "route"]
