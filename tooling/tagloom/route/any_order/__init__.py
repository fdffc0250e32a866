"""Route any connected graph along one order of its channels: short, evenly loaded, deadlock-free in one lane."""

from tagloom.route.any_order.plan import any_relation, any_trees

__all__ = ["any_relation", "any_trees"]
