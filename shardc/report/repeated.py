"""The work that devices repeat although annotations divide it, as the planner found it."""

from __future__ import annotations

from msgspec import Struct

from shardc.analysis.text import title
from shardc.planning.program import Plan
from shardc.report.traffic import place

MILLION = 10**6  # femtoseconds of a nanosecond


class RepeatedOperation(Struct, frozen=True):
    """`operation` in `where` (file:line) runs in so many parts and could run in more; nanoseconds that it
    repeats in a run of the program."""

    operation: str
    where: str
    parts: str
    could: str
    repeated_ns: int


class RepeatedWork(Struct, frozen=True):
    """What is repeated on a machine, the most first; dividing it takes `saved_ns` more. In nanoseconds."""

    machine: str
    repeated_ns: int
    saved_ns: int
    operations: tuple[RepeatedOperation, ...]


def repeated_work(plan: Plan) -> RepeatedWork | None:
    """That of a plan; None if it is nothing."""
    found = plan.less_divided()
    if found is None:
        return None
    operations = tuple(
        RepeatedOperation(
            title(each.variable.node),
            place(each.variable.node.loc),
            str(each.parts),
            str(each.could),
            each.repeated_fs // MILLION,
        )
        for each in found.operations
    )
    return RepeatedWork(found.machine, found.repeated_fs // MILLION, found.saved_fs // MILLION, operations)
