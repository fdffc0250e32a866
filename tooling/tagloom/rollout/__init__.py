"""Lead a fabric from one state to another through waves that each end in a proven state."""

from tagloom.rollout.direct import direct

__all__ = ["direct"]
