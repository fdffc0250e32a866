"""Choose paths: a deadlock-free tree of channels from every source."""

from tagloom.route.choose import METHODS, route

__all__ = ["METHODS", "route"]
