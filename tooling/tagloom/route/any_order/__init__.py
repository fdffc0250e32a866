"""Route any connected graph along one order of its channels: short paths, evenly loaded, free of deadlock."""

from tagloom.route.any_order.plan import any_relation, any_trees

__all__ = ["any_relation", "any_trees"]
