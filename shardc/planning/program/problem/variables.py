"""What is decided in planning: how operations run, and the layouts that loops carry values in; and costs.

Costs are tuples that compare lexicographically: ticks on the machine (rates.py) of communication and uneven
work, collectives, steps (collectives and local ones), elements of work on one device, a preference for
reducing late, and last how many of the ticks are work that no device does again.
"""

from __future__ import annotations

from fractions import Fraction
from typing import cast

from msgspec import Struct

from shardc.forms.choice import Choice, Ways
from shardc.graph import Node, Op, Region
from shardc.layout import Sharding
from shardc.ops.rule import FactorRule
from shardc.planning.program.costs.work import OpWork
from shardc.planning.program.problem.wanted import Wanted

Total = tuple[int, int, int, int, int, int]

End = tuple[int, list[int], list[int]]
"""A value, the operands of one operation that it is, and the results."""


class Variable(Struct, eq=False):
    """One operation: how it runs now, and whether that may change."""

    node: Node
    op: Op
    rule: FactorRule | None
    choice: Choice
    fixed: bool
    trips: int
    region: Region
    least_parts: int | Fraction = 1  # a product that annotations divide stays divided
    stated: Choice | None = None  # as annotations divide it, which is how it starts
    signature: int = -1  # the same for equal operations
    ways: Ways | None = None  # the same object for them
    flows: tuple[tuple[str, frozenset[int]], ...] = ()  # kinds of partial results, and the operands they pass
    size: int = 0  # elements of its operands and results
    work: OpWork | None = None  # what it takes, where that is counted
    touched: tuple[int, ...] = ()  # the values whose cost its choice may change
    told: tuple[Wanted, ...] = ()  # who is told of another choice

    def __setattr__(self, name: str, value: object) -> None:
        if name == "choice":
            for wanted in self.told:
                wanted.change(self, cast(Choice, value))
        super().__setattr__(name, value)


class Slot(Struct, eq=False):
    """One value that a loop carries: an operand and result of the loop, an argument of its bodies, and what
    the body returns. All four have one layout."""

    loop: Variable
    index: int
    args: tuple[int, ...]
    end: Variable

    def layout(self) -> Sharding:
        return self.loop.choice.results[self.index]


class Proof(Struct, frozen=True):
    """No plan of the choices known for each operation takes fewer than `ticks`; `method` says who says so."""

    ticks: int
    method: str


def work_of(variable: Variable, choice: Choice) -> int:
    """Elements that one device reads and writes, where the operation runs so."""
    return 0 if variable.fixed else variable.size // choice.parts


def kept(layout: Sharding, found: Sharding, strict: bool) -> bool:
    """Whether a tensor is split as `layout` has it; if not `strict`, but for axes over which it is a partial
    sum."""
    if found.dims is layout.dims or found.dims == layout.dims:
        return True
    if strict or not found.unreduced:
        return False
    waiting = found.unreduced
    return all(
        dim.axes == tuple(axis for axis in stated.axes if not any(axis.overlaps(other) for other in waiting))
        for dim, stated in zip(found.dims, layout.dims, strict=True)
    )
