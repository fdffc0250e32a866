"""Lead a fabric from one state to another through waves whose every state is proven."""

from tagloom.rollout.choose import STRATEGIES, choose
from tagloom.rollout.finish import finish
from tagloom.rollout.judge import Judge

__all__ = ["STRATEGIES", "Judge", "choose", "finish"]
