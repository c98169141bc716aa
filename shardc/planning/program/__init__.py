"""Planning a program: which form each operation runs in, and where values are resharded.

`plan_program(graph)` is the way in; the search behind it is the rest of this folder.
"""

from shardc.planning.program.plan import Counted, Plan, PlannedCopy, Planner, plan_program
from shardc.planning.program.problem.variables import Proof
from shardc.planning.program.repeated import LessDivided, PlanTime, seconds_text
from shardc.planning.program.search.data_first import splits_both

__all__ = [
    "Counted",
    "LessDivided",
    "Plan",
    "PlanTime",
    "PlannedCopy",
    "Planner",
    "Proof",
    "plan_program",
    "seconds_text",
    "splits_both",
]
