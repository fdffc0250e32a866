"""Change a fabric from one state to another in waves of which every state is proven."""

from tagloom.rollout.choose import STRATEGIES, choose, from_factory, keeping, unfit
from tagloom.rollout.finish import finish
from tagloom.rollout.greenfield import factory_like, leads_from, why_not_from
from tagloom.rollout.readmit import isolation, readmission
from tagloom.rollout.services import ProofServices
from tagloom.rollout.spanning import read_back, settled

__all__ = [
    "STRATEGIES",
    "ProofServices",
    "choose",
    "factory_like",
    "finish",
    "from_factory",
    "isolation",
    "keeping",
    "leads_from",
    "read_back",
    "readmission",
    "settled",
    "unfit",
    "why_not_from",
]
