"""Changing the sharding of one tensor: `plan(type, source, target)` is the way in.

One search per pair of shardings, over layouts of numbered pieces of axes. Nothing here knows of programs.
"""

from shardc.planning.reshard.planner import (
    Reshard,
    TooLittleMemory,
    least_memory,
    plan,
    preferred_plan,
)
from shardc.planning.reshard.steps import ReshardStep

__all__ = ["Reshard", "ReshardStep", "TooLittleMemory", "least_memory", "plan", "preferred_plan"]
